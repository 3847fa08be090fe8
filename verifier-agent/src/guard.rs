//! Keeps new files of the work from being imported in place of what a check's Python programs need, and has their test
//! runners watched.
//!
//! A folder with starters for the programs that a check names goes before the others in `PATH`. A starter puts a module
//! of ours on Python's path, which is imported before anything of the tree can be; it looks at every import of a
//! [new module](holdpoint_evidence::paths::new_modules) and ends the process where the import is not the tree's own. Where
//! runs are to be observed, pytest and unittest are started through the [observer](holdpoint_sandbox::observer), and
//! the module reports to it what they do; where a run is made for it, the module watches for lines that run. The
//! programs run with the arguments, the path and the environment that they would have had. All files are read-only for
//! them, and gone after the run.

pub(crate) mod cargo;
pub(crate) mod go;
pub(crate) mod node;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use holdpoint_evidence::checks::unrun;

use crate::{error::VerifyError, folder::make_dir, unrun::Watch};

/// How every starter begins: it finds the program to start, with placeholders.
const FIND: &str = include_str!("guard/find.sh");
/// What starts a program of Python's, with placeholders.
const STARTER: &str = include_str!("guard/start.sh");
/// What Python imports first.
const MODULE: &str = include_str!("guard/sitecustomize.py");
/// What reports tests to the observer.
const OBSERVER: &str = include_str!("guard/holdpoint_observer.py");
/// The same for pytest, as its plug-in.
const PLUGIN: &str = include_str!("guard/holdpoint_pytest.py");
/// Runners that are programs of Python's.
const RUNNERS: [&str; 4] = ["pytest", "py.test", "coverage", "nose2"];
/// Separators of a shell's words, quotes among them: a program may be in a line for another shell.
const SEPARATORS: [char; 12] = [' ', '\t', '\n', ';', '&', '|', '(', ')', '{', '}', '"', '\''];

/// The programs that a shell line names and that a guard can start: runners of Python's, and Python itself, looked for
/// in `PATH`.
pub(crate) fn programs(command: &str) -> BTreeSet<&str> {
    let python = |word: &str| {
        let version = word.strip_prefix("python").or_else(|| word.strip_prefix("pypy"));
        version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    };
    command.split(SEPARATORS).filter(|word| python(word) || RUNNERS.contains(word)).collect()
}

/// A guard in a folder of its own.
#[derive(Debug)]
pub(crate) struct Guard {
    folder: PathBuf,
}

impl Guard {
    /// Writes a guard for these programs on a tree at `root` with these new modules, which may watch for lines as well. With
    /// an observer, its program and its socket, their runners are started through it.
    pub(crate) fn write(
        folder: &Path,
        programs: &BTreeSet<&str>,
        root: &Path,
        new: &BTreeSet<String>,
        watch: Option<&Watch>,
        observer: Option<&[PathBuf; 2]>,
    ) -> Result<Self, VerifyError> {
        let guard = Self { folder: folder.to_owned() };
        let (starters, modules) = (guard.starters(), guard.modules());
        make_dir(&starters)?;
        make_dir(&modules)?;
        put(&modules.join("sitecustomize.py"), MODULE)?;
        if !new.is_empty() || watch.is_some() {
            let lines: Vec<String> = std::iter::once(root.display().to_string()).chain(new.iter().cloned()).collect();
            put(&modules.join("new"), &lines.join("\n"))?;
        }
        if let Some(watch) = watch {
            put(&modules.join("watched"), &format!("{}\n{}", watch.mark, unrun::listed(&watch.lines)))?;
        }
        let mut observe = ":".to_owned();
        if let Some([program, socket]) = observer {
            put(&modules.join("holdpoint_observer.py"), OBSERVER)?;
            put(&modules.join("holdpoint_pytest.py"), PLUGIN)?;
            observe = format!("exec {} {} \"$@\"", quoted(program), quoted(socket));
        }
        for program in programs {
            let text = STARTER.replace("@OBSERVE@", &observe).replace("@MODULES@", &quoted(&modules));
            put_starter(&starters, program, &text)?;
        }
        Ok(guard)
    }

    /// What the programs have to read.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// `PATH` with the starters before the others.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}:{path}", self.starters().display())
    }

    fn starters(&self) -> PathBuf {
        self.folder.join("bin")
    }

    fn modules(&self) -> PathBuf {
        self.folder.join("modules")
    }
}

/// Writes what finds the program of this name behind this folder in `PATH` and goes on with `text`.
fn put_starter(folder: &Path, name: &str, text: &str) -> Result<(), VerifyError> {
    let text = format!("{FIND}{text}").replace("@NAME@", name).replace("@BIN@", &quoted(folder));
    let starter = folder.join(name);
    put(&starter, &text)?;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&starter, mode).map_err(VerifyError::io("make executable", &starter))
}

/// Puts a folder before the others in a program's `PATH`.
fn put_first(folder: &Path, env: &mut BTreeMap<String, String>) {
    let path = env.get("PATH").cloned().unwrap_or_default();
    env.insert("PATH".to_owned(), format!("{}:{path}", folder.display()));
}

fn put(path: &Path, text: &str) -> Result<(), VerifyError> {
    fs::write(path, text).map_err(VerifyError::io("write", path))
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_that_path_leads_to() {
        let of = |command: &str| programs(command).into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(of("cd a && PYTHONPATH=. python3 -m unittest; py.test"), ["py.test", "python3"]);
        assert_eq!(of("sh -c 'python3.11 -m pytest' || pypy3 x.py"), ["pypy3", "pytest", "python3.11"]);
        assert!(of("make test; .venv/bin/pytest; pythonic; cat pytest.ini").is_empty());
    }

    #[test]
    fn a_path_stays_one_word() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
