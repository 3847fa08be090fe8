//! A program's own settings in a turn: copies of the files that its preset names, in a folder that dies with the turn.
//!
//! The user's folder itself stays out of reach, so that a program can change its copies only. A login is copied only where that
//! is asked for. Nothing here is stored or printed.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink},
    path::Path,
};

use holdpoint_runtime::config::presets::SettingsFolder;

/// The longest file that is copied, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What of a program's settings a turn gets.
#[derive(Debug, Clone, Copy)]
pub struct SettingsCopy<'a> {
    /// What the preset says of them.
    pub folder: &'a SettingsFolder,
    /// The user's own, if there are any.
    pub from: Option<&'a Path>,
    /// The login, too.
    pub with_login: bool,
    /// Where conversations are kept, if they are.
    pub sessions: Option<&'a Path>,
}

/// Makes the folder `to`. One that is there is of an earlier run in the same turn and stays as it is: the program may have changed
/// whatever is in it.
///
/// # Errors
/// The folder or a copy cannot be made, or a file of the user's is there and cannot be read.
pub fn lay_out(wanted: SettingsCopy<'_>, to: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    let SettingsCopy { folder, from, with_login, sessions } = wanted;
    let to = &to.join(folder.within);
    DirBuilder::new().recursive(true).mode(0o700).create(to)?;
    if let Some(sessions) = sessions {
        let link = to.join(folder.sessions);
        link.parent().map_or(Ok(()), |folder| DirBuilder::new().recursive(true).mode(0o700).create(folder))?;
        symlink(sessions, link)?;
    }
    let login = if with_login { folder.login } else { &[] };
    for name in folder.files.iter().chain(login) {
        if let Some(from) = from {
            copy(&from.join(name), &to.join(name))?;
        }
    }
    for (name, text) in folder.instead {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(to.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?.write_all(text.as_bytes())?,
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let file = match File::open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let about = file.metadata()?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        tracing::warn!(file = %from.display(), "a program's settings are no file of at most 1 MiB: its turns go without them");
        return Ok(());
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;
    use holdpoint_runtime::config::presets::PresetName;

    #[test]
    fn the_files_are_where_the_program_looks_in_the_folder_that_its_variable_names() {
        let dir = tempfile::tempdir().unwrap();
        let (own, turn) = (dir.path().join("own"), dir.path().join("turn"));
        fs::create_dir(&own).unwrap();
        fs::write(own.join("oauth_creds.json"), "{}").unwrap();
        let folder = PresetName::Gemini.preset().settings.as_ref().unwrap();
        let wanted = SettingsCopy { folder, from: Some(&own), with_login: true, sessions: Some(dir.path()) };
        lay_out(wanted, &turn).unwrap();
        assert_eq!(fs::read(turn.join(".gemini/oauth_creds.json")).unwrap(), b"{}");
        assert!(turn.join(".gemini/tmp").is_symlink());
        assert!(
            fs::read_to_string(turn.join(".gemini/settings.json")).unwrap().contains("gemini-api-key"),
            "there are none"
        );
        fs::write(own.join("settings.json"), "{}").unwrap();
        let other = dir.path().join("other");
        lay_out(wanted, &other).unwrap();
        assert_eq!(fs::read(other.join(".gemini/settings.json")).unwrap(), b"{}");
    }

    #[test]
    fn a_turn_gets_named_files_only_and_the_login_if_it_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("codex");
        fs::create_dir_all(from.join("sessions")).unwrap();
        for (name, text) in [("config.toml", "model = \"m\""), ("auth.json", "secret"), ("history.jsonl", "private")] {
            fs::write(from.join(name), text).unwrap();
        }
        let folder = PresetName::Codex.preset().settings.as_ref().unwrap();
        let names = |to: &Path| {
            let mut names: Vec<_> = fs::read_dir(to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let sessions = dir.path().join("kept");
        let wanted = SettingsCopy { folder, from: Some(&from), with_login: false, sessions: Some(&sessions) };
        let to = dir.path().join("one");
        lay_out(wanted, &to).unwrap();
        assert_eq!(names(&to), ["config.toml", "sessions"]);
        assert_eq!(fs::read_link(to.join("sessions")).unwrap(), sessions);
        assert_eq!(to.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let to = dir.path().join("other");
        lay_out(SettingsCopy { with_login: true, sessions: None, ..wanted }, &to).unwrap();
        assert_eq!(names(&to), ["auth.json", "config.toml"]);
        assert_eq!(to.join("auth.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn conversations_are_linked_below_other_folders_too() {
        let dir = tempfile::tempdir().unwrap();
        let (kept, to) = (dir.path().join("kept"), dir.path().join("to"));
        let folder = PresetName::VibeAcp.preset().settings.as_ref().unwrap();
        lay_out(SettingsCopy { folder, from: None, with_login: false, sessions: Some(&kept) }, &to).unwrap();
        assert_eq!(fs::read_link(to.join("logs/session")).unwrap(), kept);
    }

    #[test]
    fn what_a_program_left_in_its_folder_is_never_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to, target) = (dir.path().join("claude"), dir.path().join("to"), dir.path().join("target"));
        fs::create_dir_all(&from).unwrap();
        fs::write(from.join("settings.json"), "{}").unwrap();
        fs::create_dir(&to).unwrap();
        symlink(&target, to.join("settings.json")).unwrap();
        let folder = PresetName::Claude.preset().settings.as_ref().unwrap();
        lay_out(SettingsCopy { folder, from: Some(&from), with_login: false, sessions: None }, &to).unwrap();
        assert!(!target.exists());
    }
}
