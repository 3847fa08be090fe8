//! Which flights were not over at a place in the journal stream, kept in a file: what a start need not read.
//!
//! A cache. Of the flights that it does not name, nothing has to be read that is before its place; whatever was
//! appended since is looked at. A file that is missing, damaged, of another build, another stream or other trust roots
//! counts for nothing, and everything is read.
//!
//! It also says what this orchestrator saw of its fleet's journals: a broker that has lost them is found out by it.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use holdpoint_bus::{auth::TrustRoots, handoffs, journal::ReadError};
use holdpoint_protocol::{Digest, ids::FlightId, journal::Sequence, streams};
use holdpoint_runtime::telemetry::ErrorChain;
use serde::{Deserialize, Serialize};

use crate::shell::Shell;

const FILE: &str = "open-flights.json";

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Checkpoint {
    /// Up to where the journals were read.
    pub(crate) until: Sequence,
    /// The flights that were not over there, and where each was submitted.
    pub(crate) open: BTreeMap<FlightId, Sequence>,
}

/// The file: a checkpoint and what it counts for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// The program that folded: another one may read the same entries in another way.
    build: String,
    /// Whose signatures counted.
    trust: Digest,
    /// The fleet, by the key of its agents' account.
    fleet: String,
    /// The signature of the entry at the checkpoint's place: in another stream another entry is there.
    signature: String,
    checkpoint: Checkpoint,
}

impl Checkpoint {
    /// The one in the file, if it counts; else the beginning of the stream.
    ///
    /// # Errors
    /// The broker does not answer.
    pub(crate) async fn load(shell: &Shell, dir: &Path, roots: &TrustRoots) -> Result<Self, ReadError> {
        let Some(kept) = Kept::read(dir) else { return Ok(Self::default()) };
        let signature = signature(shell, kept.checkpoint.until).await?;
        if kept.counts(roots, signature.as_deref()) {
            return Ok(kept.checkpoint);
        }
        tracing::info!("the checkpoint is of another build, stream or trust: all flights are read");
        Ok(Self::default())
    }

    /// Writes the file. One that cannot be written makes the next start slower.
    pub(crate) async fn keep(self, shell: &Shell, dir: &Path, roots: &TrustRoots) {
        // Of an empty stream there is nothing to keep.
        let Ok(Some(signature)) = signature(shell, self.until).await else { return };
        let (build, trust, fleet) = (build(), trust(roots), roots.agents_account.clone());
        let kept = Kept { build, trust, fleet, signature, checkpoint: self };
        let dir = dir.to_owned();
        let written = tokio::task::spawn_blocking(move || kept.write(&dir)).await.unwrap_or_else(|e| Err(e.into()));
        if let Err(error) = written {
            tracing::warn!(error = %ErrorChain(&error), "cannot write the checkpoint of flights");
        }
    }
}

/// The last entry of this fleet's journals that was seen when the file in `dir` was written, and its signature.
pub(crate) fn seen(dir: &Path, roots: &TrustRoots) -> Option<(Sequence, String)> {
    let kept = Kept::read(dir).filter(|kept| kept.fleet == roots.agents_account)?;
    Some((kept.checkpoint.until, kept.signature))
}

/// The file in `dir`.
pub(crate) fn file(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

impl Kept {
    fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(file(dir)).ok()?).ok()
    }

    fn counts(&self, roots: &TrustRoots, signature: Option<&str>) -> bool {
        self.build == build() && self.trust == trust(roots) && signature == Some(&self.signature)
    }

    /// Whole or not at all.
    fn write(&self, dir: &Path) -> io::Result<()> {
        std::fs::create_dir_all(dir)?;
        let mut begun = tempfile::NamedTempFile::new_in(dir)?;
        serde_json::to_writer(&mut begun, self)?;
        begun.persist(file(dir)).map_err(|error| error.error).map(drop)
    }
}

fn build() -> String {
    format!("{}/{}", env!("CARGO_PKG_VERSION"), holdpoint_protocol::version::CURRENT)
}

/// Which entries of journals count: of whose keys, and since when some of them do not.
fn trust(roots: &TrustRoots) -> Digest {
    let mut text = String::new();
    for key in &roots.orchestrators {
        let revoked = roots.revoked.get(key).map_or_else(String::new, u64::to_string);
        text.push_str(&format!("{key} {revoked}\n"));
    }
    Digest::of(text.as_bytes())
}

async fn signature(shell: &Shell, at: Sequence) -> Result<Option<String>, ReadError> {
    if at == Sequence(0) {
        return Ok(None);
    }
    Ok(handoffs::get(&shell.bus, streams::JOURNAL, at).await?.and_then(|stored| stored.signature))
}

#[cfg(test)]
mod tests {
    use holdpoint_bus::auth::Authority;

    use super::*;

    fn kept(roots: &TrustRoots) -> Kept {
        let open = BTreeMap::from([("f".parse().unwrap(), Sequence(3))]);
        let checkpoint = Checkpoint { until: Sequence(7), open };
        let (build, trust, fleet) = (build(), trust(roots), roots.agents_account.clone());
        Kept { build, trust, fleet, signature: "s".to_owned(), checkpoint }
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_written_and_a_damaged_one_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("made");
        assert_eq!(Kept::read(&folder), None);
        let kept = kept(Authority::create().trust_roots());
        kept.write(&folder).unwrap();
        kept.write(&folder).unwrap();
        assert_eq!(Kept::read(&folder), Some(kept));
        let file = std::fs::OpenOptions::new().write(true).open(folder.join(FILE)).unwrap();
        file.set_len(9).unwrap();
        assert_eq!(Kept::read(&folder), None);
    }

    #[test]
    fn what_was_seen_is_said_of_the_same_fleet_only_also_after_a_revocation() {
        let (dir, mut authority) = (tempfile::tempdir().unwrap(), Authority::create());
        let orchestrator = authority.mint_orchestrator(&"o".parse().unwrap());
        assert_eq!(seen(dir.path(), authority.trust_roots()), None);
        kept(authority.trust_roots()).write(dir.path()).unwrap();
        authority.revoke(orchestrator.public_key());
        assert_eq!(seen(dir.path(), authority.trust_roots()), Some((Sequence(7), "s".to_owned())));
        assert_eq!(seen(dir.path(), Authority::create().trust_roots()), None);
    }

    #[test]
    fn a_checkpoint_counts_for_its_build_stream_and_trust_only() {
        let mut authority = Authority::create();
        let orchestrator = authority.mint_orchestrator(&"o".parse().unwrap());
        let roots = authority.trust_roots().clone();
        assert!(kept(&roots).counts(&roots, Some("s")));
        assert!(!kept(&roots).counts(&roots, Some("of another stream")));
        assert!(!kept(&roots).counts(&roots, None));
        assert!(!Kept { build: "another".to_owned(), ..kept(&roots) }.counts(&roots, Some("s")));
        authority.revoke(orchestrator.public_key());
        assert!(!kept(&roots).counts(authority.trust_roots(), Some("s")));
    }
}
