//! The folders of a repository, as deep as they can all be named.

use std::collections::BTreeMap;

use super::{MapFile, counted, language};

/// Folders that are named.
const FOLDERS_MAX: usize = 120;
/// How deep folders are named at most.
const DEPTH_MAX: usize = 6;

/// What a folder has, with everything below it.
#[derive(Default)]
struct Folder<'a> {
    files: usize,
    languages: BTreeMap<&'a str, usize>,
}

/// A line for each folder down to the depth at which all of them fit, and at least those in the root.
pub(super) fn lines(files: &[MapFile<'_>]) -> Vec<String> {
    let mut shown = folders(files, 1);
    for depth in 2..=DEPTH_MAX {
        let deeper = folders(files, depth);
        if deeper.len() > FOLDERS_MAX || deeper.len() == shown.len() {
            break;
        }
        shown = deeper;
    }
    let more = shown.len().saturating_sub(FOLDERS_MAX);
    let mut lines: Vec<String> = shown.iter().take(FOLDERS_MAX).map(|(path, folder)| line(path, folder)).collect();
    if more > 0 {
        lines.push(format!("and {more} more folders"));
    }
    lines
}

/// All folders at most `depth` below the root, by their paths.
fn folders<'a>(files: &[MapFile<'a>], depth: usize) -> BTreeMap<&'a str, Folder<'a>> {
    let mut folders: BTreeMap<&str, Folder<'_>> = BTreeMap::new();
    for file in files {
        for (end, _) in file.path.match_indices('/').take(depth) {
            let Some(path) = file.path.get(..=end) else { continue };
            let folder = folders.entry(path).or_default();
            folder.files += 1;
            if let Some(language) = language(file.path) {
                *folder.languages.entry(language.name).or_default() += 1;
            }
        }
    }
    folders
}

fn line(path: &str, folder: &Folder<'_>) -> String {
    let most = folder.languages.iter().max_by_key(|(_, count)| **count);
    let language = most.map(|(name, _)| format!(", mostly {name}")).unwrap_or_default();
    format!("{path} {}{language}", counted(folder.files, "file"))
}
