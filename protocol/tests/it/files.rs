//! The stored files that the tests compare with.

use std::{env, fs, path::PathBuf};

/// Set to rewrite the stored files in place of comparing with them.
pub(crate) const UPDATE: &str = "HOLDPOINT_UPDATE_GOLDEN";

/// The file `name` of a folder of this crate.
pub(crate) fn path(folder: &str, name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder).join(name)
}

/// The bytes of a stored file, after it was rewritten where that is asked for.
pub(crate) fn stored(folder: &str, name: &str, fresh: &[u8]) -> Vec<u8> {
    let file = path(folder, name);
    if env::var_os(UPDATE).is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, fresh).unwrap();
    }
    fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}; run with {UPDATE}=1 to write it", file.display()))
}

/// The bytes of a file that people write.
pub(crate) fn stored_only(folder: &str, name: &str) -> Vec<u8> {
    let file = path(folder, name);
    fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The names of all files in a folder of this crate, sorted.
pub(crate) fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(path(folder, "")).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
