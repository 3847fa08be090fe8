//! Where a program that is named without a path is installed, and what of that it must be able to read to start.
//!
//! Looks at the file system and changes nothing. Beyond the program's own folder it knows two ways to install one: npm, whose
//! programs need the packages around them, and virtual environments of Python.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::program::{program_words, readable};

/// Where npm puts packages.
const NODE_MODULES: &str = "node_modules";
/// What marks a virtual environment (PEP 405).
const ENVIRONMENT: &str = "pyvenv.cfg";

/// The program of a command line by its absolute path, if it is named without one and is in these folders.
#[must_use]
pub fn find(command: &str, path_var: &str) -> Option<PathBuf> {
    let word = program_words(command).pop()?.text;
    if word.is_empty() || word.contains('/') {
        return None;
    }
    let folders = std::env::split_paths(path_var).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(&word)).find(|file| is_program(file))
}

/// What a program that is named without a path must be able to read; nothing above the home.
#[must_use]
pub fn readable_of(command: &str, path_var: &str, home: &Path) -> Vec<PathBuf> {
    let Some(file) = find(command, path_var) else { return Vec::new() };
    let around = file.canonicalize().map(|target| around(&target)).unwrap_or_default();
    let mut read = readable(&with_targets(vec![file]), home);
    read.extend(around.into_iter().filter(|path| !home.starts_with(path)));
    read
}

/// The files, and what they lead to where they are links: a program finds its parts next to its real self.
#[must_use]
pub fn with_targets(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let targets: Vec<PathBuf> = files.iter().filter_map(|file| file.canonicalize().ok()).collect();
    files.into_iter().chain(targets).collect()
}

/// What is around a program, by its real path, that it does not start without.
#[must_use]
pub fn around(target: &Path) -> Vec<PathBuf> {
    let packages =
        target.ancestors().filter(|folder| folder.file_name().is_some_and(|name| name == NODE_MODULES)).last();
    let environment = target.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    let environment = environment.filter(|whole| whole.join(ENVIRONMENT).is_file());
    let python = environment.and_then(|whole| whole.join("bin/python").canonicalize().ok());
    // The interpreter brings its library: `…/bin/python3.12` and `…/lib`.
    let python =
        python.as_deref().and_then(Path::parent).filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    [packages, environment, python]
        .into_iter()
        .flatten()
        .filter(|path| path.parent().is_some())
        .map(Path::to_owned)
        .collect()
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_is_found_in_path_with_what_is_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let npm = dir.join("lib/node_modules/@openai/codex/bin/codex.js");
        program(&npm);
        fs::create_dir_all(dir.join("bin")).unwrap();
        std::os::unix::fs::symlink(&npm, dir.join("bin/codex")).unwrap();
        fs::write(dir.join("bin/data"), "").unwrap();
        let path = format!("relative:{}:/nonexistent", dir.join("bin").display());
        let found = find("A=1 codex exec -", &path).unwrap();
        assert_eq!(around(&found.canonicalize().unwrap()), [dir.join("lib/node_modules")]);
        for command in ["data", "missing -p", "./codex", "/x/codex", ""] {
            assert_eq!(find(command, &path), None, "{command}");
        }
        let python = dir.join("tools/aider/bin/aider");
        program(&python);
        fs::write(dir.join("tools/aider/pyvenv.cfg"), "").unwrap();
        assert_eq!(around(&python), [dir.join("tools/aider")]);
    }
}
