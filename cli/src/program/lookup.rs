//! Which program a command line certainly starts, and whether that can be started.
//!
//! A shell understands far more than this does. Everything but a simple command of plain words is left to the shell.

use std::{
    ffi::OsStr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// What a shell does itself: no file has to be there for it.
const BUILT_IN: [&str; 56] = [
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "declare", "do", "done", "echo", "elif",
    "else", "esac", "eval", "exec", "exit", "export", "false", "fg", "fi", "for", "function", "getopts", "hash", "if",
    "jobs", "kill", "let", "local", "printf", "pwd", "read", "readonly", "return", "select", "set", "shift", "source",
    "test", "then", "time", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until",
    "wait", "while",
];

/// Why a program cannot be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    /// There is no such file.
    Missing,
    /// There is one that nobody may execute, or a folder.
    NotExecutable,
}

/// The program of a simple command: the first word behind assignments. `None` where a shell might start something else,
/// go on without it, or look elsewhere.
pub(super) fn first_program(command: &str) -> Option<&str> {
    if !is_simple(command) {
        return None;
    }
    let mut words = command.split_whitespace();
    let program = words.by_ref().find_map(|word| match word.split_once('=') {
        Some((name, value)) if is_name(name) => (name == "PATH" || !is_plain(value)).then_some(None),
        _ => Some(Some(word)),
    })??;
    (is_plain(program) && !BUILT_IN.contains(&program)).then_some(program)
}

/// Whether a program can be started by this path.
pub(super) fn at_path(path: &Path) -> Result<(), Lack> {
    match path.metadata() {
        Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => Ok(()),
        Ok(_) => Err(Lack::NotExecutable),
        Err(_) => Err(Lack::Missing),
    }
}

/// Whether a program can be started by its name. As a shell does, one that cannot be executed is passed over.
pub(super) fn in_folders(name: &str, folders: &OsStr) -> Result<(), Lack> {
    let mut lack = Lack::Missing;
    for folder in std::env::split_paths(folders) {
        match at_path(&folder.join(name)) {
            Ok(()) => return Ok(()),
            Err(Lack::NotExecutable) if folder.join(name).is_file() => lack = Lack::NotExecutable,
            Err(_) => {}
        }
    }
    Err(lack)
}

/// The file that a relative path means from one of these folders, the first first.
pub(super) fn below<'a>(folders: impl IntoIterator<Item = &'a Path>, path: &str) -> Option<PathBuf> {
    folders.into_iter().map(|folder| folder.join(path)).find(|file| file.exists())
}

/// Whether this is one command: nothing before it or after it that would also run, or run instead.
fn is_simple(command: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    let mut characters = command.trim().chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(characters.next()),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '&') if matches!(before, '>' | '<') || characters.peek() == Some(&'>') => {}
            (None, ';' | '|' | '&' | '(' | ')' | '\n' | '`') => return false,
            (None, _) => {}
        }
        before = character;
    }
    quote.is_none()
}

/// Whether a shell takes this word as it stands.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || "/._-+,@%:=".contains(c))
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_simple_command_is_its_first_word_behind_assignments() {
        for (command, program) in [
            ("claude -p --permission-mode acceptEdits", "claude"),
            ("  A=1 B_2=/x,y ./agent.sh 'a; b' 2>&1", "./agent.sh"),
            ("agent \"$(cat task)\" > log", "agent"),
            ("agent 'it'\\''s; fine' &> log", "agent"),
            ("A= agent", "agent"),
        ] {
            assert_eq!(first_program(command), Some(program), "{command}");
        }
    }

    #[test]
    fn what_a_shell_might_understand_otherwise_is_left_to_it() {
        for command in [
            "",
            "   ",
            "cd x && agent",
            "agent || other",
            "agent; other",
            "agent | other",
            "agent & other",
            "agent\nother",
            "(agent)",
            "{ agent; }",
            "exec agent",
            "true",
            "if agent; then x; fi",
            "! agent",
            "'my agent' x",
            "my\\ agent",
            "~/agent",
            "$AGENT x",
            "${AGENT} x",
            "`which agent` x",
            "A=\"x y\" agent",
            "A=$B agent",
            "PATH=/x agent",
            "agent 'not closed",
            "<in agent",
            "f() { agent; }",
            "# nothing",
        ] {
            assert_eq!(first_program(command), None, "{command}");
        }
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        let write = |folder: &Path, name: &str, mode| {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(name), "").unwrap();
            std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        write(&one, "agent", 0o644);
        write(&one, "text", 0o644);
        write(&two, "agent", 0o755);
        std::fs::create_dir(one.join("folder")).unwrap();
        let folders = std::env::join_paths([&one, &two]).unwrap();
        assert_eq!(in_folders("agent", &folders), Ok(()));
        assert_eq!(in_folders("text", &folders), Err(Lack::NotExecutable));
        assert_eq!(in_folders("none", &folders), Err(Lack::Missing));
        assert_eq!(in_folders("folder", &folders), Err(Lack::Missing));
        assert_eq!(at_path(&two.join("agent")), Ok(()));
        assert_eq!(at_path(&one.join("folder")), Err(Lack::NotExecutable));
        assert_eq!(at_path(&one.join("none")), Err(Lack::Missing));
        assert_eq!(below([one.as_path(), two.as_path()], "./agent"), Some(one.join("./agent")));
    }
}
