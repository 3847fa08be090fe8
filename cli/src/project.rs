//! What a repository is: read from its base, or from a folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use holdpoint_core::environment::Project;
use holdpoint_runtime::mirror::wire_path;
use holdpoint_workspace::{ObjectId, RepoPath, UserRepo};

use crate::{bounded, failure::Failure};

/// The most bytes of a project's file that are looked at: lock files can be large.
const FILE_BYTES_MAX: usize = 32 << 20;
/// Names that are looked at in each folder.
const NAMES_MAX: usize = 10_000;
/// Folders below each other that are looked into.
const DEPTH_MAX: usize = 3;
/// Folders in which nothing is a project's own.
const PASSED_OVER: [&str; 5] = ["node_modules", "target", "build", "dist", "venv"];

/// What the files of a base say.
pub(crate) async fn of_base(repo: &UserRepo, base: &ObjectId) -> Result<Project, Failure> {
    let entries = repo.list_tree(base).await?;
    let paths: Vec<String> = entries.iter().map(|entry| wire_path(&entry.path)).collect();
    let paths: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let mut texts = BTreeMap::new();
    for name in Project::READ.into_iter().filter(|name| paths.contains(name)) {
        let Ok(path) = RepoPath::new(name.as_bytes()) else { continue };
        if let Some(bytes) = repo.file_at(base, &path, FILE_BYTES_MAX).await? {
            texts.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(Project::of(&paths, &|path| texts.get(path).cloned()))
}

/// What the files of a folder and of those in it say.
pub(crate) fn of_folder(root: &Path) -> Project {
    let (mut paths, mut folders) = (BTreeSet::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in root.join(&folder).read_dir().into_iter().flatten().flatten().take(NAMES_MAX) {
            let (name, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type());
            let path = folder.join(&name);
            if kind.is_ok_and(|kind| kind.is_dir()) {
                let is_own = !PASSED_OVER.contains(&name.as_str()) && (!name.starts_with('.') || name == ".cargo");
                if is_own && folder.components().count() < DEPTH_MAX {
                    folders.push(path);
                }
            } else {
                paths.insert(path.to_string_lossy().into_owned());
            }
        }
    }
    let paths: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let read = |path: &str| {
        let bytes = bounded::read(&root.join(path), FILE_BYTES_MAX).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    Project::of(&paths, &read)
}

/// A project's environment in words; `None`: it has none.
pub(crate) fn environment_in_words(project: &Project) -> Option<String> {
    let setup = project.environment.setup.as_deref()?;
    Some(format!("{setup}    (by {})", project.locks.join(", ")))
}
