//! The `PATH` of a turn in login shells. The system's profile replaces it there, and `holdpoint-ask` and the toolchains are no
//! longer found: Codex runs each command in such a shell. A profile in the program's home, where it has none, brings it back.

use std::{fs, io::Write as _, path::Path};

use crate::ask::PATH_VARIABLE;

/// What login shells read: bash and those like sh, and zsh.
const PROFILES: [&str; 2] = [".profile", ".zprofile"];

/// Writes the profiles that are not there into a home that is. Its program may have closed the home to us: then login shells do
/// without, and nothing else does.
pub fn keep_path(home: &Path) {
    let text = format!(
        "# Written by Holdpoint: a login shell replaces PATH, and this brings the turn's back.\nif [ -n \"${PATH_VARIABLE}\" ]; then PATH=\"${PATH_VARIABLE}\"; fi\n"
    );
    for name in PROFILES {
        // A new file alone: what the program put there, a link included, is left as it is.
        let file = fs::OpenOptions::new().write(true).create_new(true).open(home.join(name));
        if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
            tracing::debug!(%error, name, "no profile is written for login shells");
        }
    }
}
