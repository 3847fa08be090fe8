//! Has go start its test programs through the observer.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use holdpoint_sandbox::observer::GO;

use super::{put_first, put_starter, quoted};
use crate::{error::VerifyError, folder::make_dir};

/// What starts go, with placeholders.
const STARTER: &str = include_str!("go.sh");
/// Runs of one line that are heard at once: go starts one for each core.
const AT_ONCE: usize = 256;

/// Whether a shell line may have go run tests, with a program to start them that it does not name itself.
pub(crate) fn may_test(command: &str) -> bool {
    let words = || command.split(super::SEPARATORS);
    words().any(|word| word == "go") && words().any(|word| word == "test") && !command.contains("-exec")
}

/// How many runs of a shell line can be heard at once.
pub(crate) fn at_once(command: &str) -> usize {
    if may_test(command) { AT_ONCE } else { 1 }
}

/// Writes a starter for go into a folder of its own, and puts it first in `PATH`. Gives what the program has to read;
/// `None`: go cannot be told of the observer's path.
pub(crate) fn start_through(
    observer: &[PathBuf; 2],
    folder: &Path,
    env: &mut BTreeMap<String, String>,
) -> Result<Option<PathBuf>, VerifyError> {
    let [program, socket] = observer.each_ref().map(|path| path.display().to_string());
    if program.contains('\'') || socket.contains('\'') {
        return Ok(None);
    }
    make_dir(folder)?;
    // Go splits it into words, as a shell does; around it is the shell's own.
    let through = quoted(Path::new(&format!("'{program}' '{socket}' {GO}")));
    put_starter(folder, "go", &STARTER.replace("@EXEC@", &through))?;
    put_first(folder, env);
    Ok(Some(folder.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

    use super::*;

    #[test]
    fn only_lines_that_may_run_gos_tests_are_heard() {
        for command in ["go test ./...", "cd a && go test -v", "sh -c 'go -C a test'"] {
            assert!(may_test(command) && at_once(command) > 1, "{command}");
        }
        for command in ["go build", "cargo test", "go test -exec qemu ./...", "make test"] {
            assert!(!may_test(command) && at_once(command) == 1, "{command}");
        }
    }

    #[test]
    fn go_keeps_its_arguments_and_its_path() {
        let temp = tempfile::tempdir().unwrap();
        let (real, folder) = (temp.path().join("real"), temp.path().join("start er"));
        fs::create_dir(&real).unwrap();
        let go = real.join("go");
        fs::write(&go, "#!/bin/sh\nprintf '%s|' \"$PATH\" \"$@\"\n").unwrap();
        fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).unwrap();
        let path = real.display().to_string();
        let mut env = BTreeMap::from([("PATH".to_owned(), path.clone())]);
        let read = start_through(&["/o o/observe", "/o/socket"].map(PathBuf::from), &folder, &mut env).unwrap();
        assert_eq!(read.as_deref(), Some(folder.as_path()));
        let started = |args: &[&str], flags: &str| {
            let output =
                Command::new(folder.join("go")).args(args).env_clear().envs(&env).env("GOFLAGS", flags).output();
            let said = String::from_utf8(output.unwrap().stdout).unwrap();
            said.strip_prefix(&format!("{path}|")).unwrap().to_owned()
        };
        let through = "-exec|'/o o/observe' '/o/socket' go|-count=1|";
        assert_eq!(started(&["test", "-v", "a b"], ""), format!("test|{through}-v|a b|"));
        assert_eq!(started(&["test"], "-mod=mod"), format!("test|{through}"));
        for args in [&["-C", "a b", "test", "x"][..], &["test", "-C", "a b", "x"], &["test", "-C=a b", "x"]] {
            assert_eq!(started(args, ""), format!("test|-C|a b|{through}x|"));
        }
        assert_eq!(started(&["vet", "test"], ""), "vet|test|");
        assert_eq!(started(&["test", "x"], "-exec=qemu"), "test|x|", "the project has its own");
        let none = start_through(&["/o'/observe", "/o/socket"].map(PathBuf::from), &folder, &mut env).unwrap();
        assert_eq!(none, None);
    }
}
