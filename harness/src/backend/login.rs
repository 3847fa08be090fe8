//! The `PATH` of a turn in login shells. The system's profile replaces it there, and `holdpoint-ask` and the toolchains are no
//! longer found: Codex runs each command in such a shell. A profile in the program's home, where it has none, brings it back.

use std::{fs, io, path::Path};

use crate::ask::PATH_VARIABLE;

/// What login shells read: bash and those like sh, and zsh.
const PROFILES: [&str; 2] = [".profile", ".zprofile"];

/// Writes the profiles that are not there into a home that is.
///
/// # Errors
/// The home cannot be written.
pub fn keep_path(home: &Path) -> io::Result<()> {
    let text = format!(
        "# Written by Holdpoint: a login shell replaces PATH, and this brings the turn's back.\nif [ -n \"${PATH_VARIABLE}\" ]; then PATH=\"${PATH_VARIABLE}\"; fi\n"
    );
    for name in PROFILES {
        let file = fs::OpenOptions::new().write(true).create_new(true).open(home.join(name));
        match file.and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes())) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
