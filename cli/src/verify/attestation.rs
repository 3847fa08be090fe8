//! The signed statement on a verdict, and the key that signs it.

use std::{
    fs::{self, DirBuilder},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use holdpoint_account::attest::{JudgedChange, of_change};
use holdpoint_bus::auth::Signer;
use holdpoint_protocol::attestation::PAYLOAD_TYPE;

use super::verdict::ChangeVerdict;
use crate::{
    failure::Failure,
    output,
    state::{self, unusable},
};

/// The key of this user, in the folder of all state.
const OWN_KEY: &str = "verify.key";
/// What the predicate has besides SLSA's fields, under a name that no other producer uses.
const VERDICT_FIELD: &str = "holdpointVerdict";

/// A key that signs, and the file that no check may read.
pub(crate) struct AttestationKey {
    pub(crate) signer: Signer,
    pub(crate) file: PathBuf,
}

impl AttestationKey {
    /// The key in a file; without one that of this user, which is made on first use.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self, Failure> {
        let (file, text) = match file {
            Some(file) => {
                let file = std::path::absolute(file).map_err(|error| unreadable(file, &error))?;
                let text = fs::read_to_string(&file).map_err(|error| unreadable(&file, &error))?;
                (file, text)
            }
            None => own()?,
        };
        let Some(signer) = Signer::from_text(&text) else {
            let message = format!("{} has no seed of a user (a line SU…)", file.display());
            return Err(Failure::usage("no_key", message, "name a .creds file or one with a seed, or leave --key out"));
        };
        Ok(Self { signer, file })
    }

    /// The envelope of the statement on a verdict, in one line.
    pub(crate) fn envelope(&self, change: &JudgedChange<'_>, verdict: &ChangeVerdict) -> String {
        let plain = "plain data with text keys";
        let mut statement = serde_json::to_value(of_change(change, env!("CARGO_PKG_VERSION"))).expect(plain);
        statement["predicate"][VERDICT_FIELD] = serde_json::to_value(verdict).expect(plain);
        let envelope = self.signer.envelope(PAYLOAD_TYPE, statement.to_string().as_bytes());
        serde_json::to_string(&envelope).expect(plain) + "\n"
    }
}

/// The key of this user, with its file.
fn own() -> Result<(PathBuf, String), Failure> {
    let root = state::root()?;
    let file = root.join(OWN_KEY);
    if !file.exists() {
        make(&root, &file).map_err(|error| unusable("make the key", &file, &error))?;
    }
    let text = fs::read_to_string(&file).map_err(|error| unusable("read", &file, &error))?;
    Ok((file, text))
}

/// Makes the key, unless somebody else did meanwhile.
fn make(root: &Path, file: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    let (signer, seed) = Signer::generate();
    let mut made = tempfile::NamedTempFile::new_in(root)?;
    writeln!(made, "{seed}")?;
    match made.persist_noclobber(file) {
        Ok(_) => output::err(&format!("note: made the key {}, which signs as {}", file.display(), signer.public_key())),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error),
    }
    Ok(())
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot read the key {}: {error}", file.display());
    Failure::usage("key_unreadable", message, "name a .creds file or one with a seed (SU…), or leave --key out")
}
