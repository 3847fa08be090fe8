//! Submodules in a clone. A handoff takes over neither their files nor a link to another commit of theirs, so that a change
//! there is refused by name and never dropped. The submodule's own repository is never opened: its commit is read into an
//! index of ours by a confined git.

use std::path::{Path, PathBuf};

use super::Mirror;
use super::capture::names;
use super::elsewhere::head_of;
use crate::droppings::exclude_file;
use crate::error::{InputRefusal, WorkspaceError};
use crate::files::{start_of, write};
use crate::oid::ObjectId;
use crate::path::{RepoPath, escaped};
use crate::tree::{TreeEntry, gitlinks};

/// The file that names submodules.
pub(super) const MODULES: &str = ".gitmodules";
/// Bytes of `.gitmodules` that are read, and of the file that says where a submodule's git folder is.
const MODULES_BYTES_MAX: usize = 1 << 20;
const LINK_BYTES_MAX: usize = 4 << 10;
/// Files of a submodule's folder that are looked at until one is found that is none of git's.
const ENTRIES_MAX: usize = 10_000;

impl Mirror {
    /// Refuses a working tree in which a submodule of the base was changed: files in its folder, or its commit.
    ///
    /// # Errors
    /// [`InputRefusal::Submodule`]; the base cannot be read.
    pub async fn check_submodules(&self, dir: &Path, base: &ObjectId) -> Result<(), WorkspaceError> {
        for link in gitlinks(&self.list_tree(base).await?) {
            if let Some(change) = self.change_in(dir, link).await? {
                return Err(InputRefusal::Submodule { path: link.path.clone(), change }.into());
            }
        }
        Ok(())
    }

    /// What was changed in a submodule's folder, in words.
    async fn change_in(&self, dir: &Path, link: &TreeEntry) -> Result<Option<String>, WorkspaceError> {
        let Some(folder) = real_folder(dir, &link.path) else { return Ok(None) };
        let Some(git_dir) = git_dir_of(dir, &folder) else {
            return Ok(first_file(&folder).map(|file| format!("{file} was written there")));
        };
        let head = head_of(&git_dir);
        if head.as_ref() != Some(&link.oid) {
            let now = head.map_or_else(|| "no commit".to_owned(), |head| head.to_string());
            return Ok(Some(format!("it stands on {now} instead of {}", link.oid)));
        }
        let scratch = self.scratch()?;
        write(&scratch.exclude_file(), exclude_file(&[]))?;
        let objects = git_dir.join("objects");
        let listed = async {
            scratch.git_with("read-tree", &objects).arg(&link.oid).long().run_ok().await?;
            let git = scratch.git_with("ls-files", &objects).work_tree(&folder).long();
            git.args(["-z", "--modified", "--others", "--exclude-standard"]).run_ok().await
        };
        Ok(match listed.await {
            Ok(changed) => names(&changed).next().map(|name| format!("{} was changed there", escaped(name))),
            Err(error) if error.is_retryable() => return Err(error),
            Err(_) => Some("its commit cannot be compared with its files".to_owned()),
        })
    }
}

/// Whether `.gitmodules` of a working tree names a submodule with this path.
pub(super) fn is_named_submodule(dir: &Path, path: &RepoPath) -> bool {
    let text = start_of(&dir.join(MODULES), MODULES_BYTES_MAX).unwrap_or_default();
    text.split(|byte| *byte == b'\n').any(|line| {
        let value = line.trim_ascii().strip_prefix(b"path").map(<[u8]>::trim_ascii_start);
        value.and_then(|value| value.strip_prefix(b"=")).is_some_and(|value| value.trim_ascii() == path.as_bytes())
    })
}

/// The folder, if there is one and no link leads to it.
fn real_folder(dir: &Path, path: &RepoPath) -> Option<PathBuf> {
    let mut folder = dir.to_owned();
    for name in path.as_path() {
        folder.push(name);
        folder.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    }
    Some(folder)
}

/// The git folder of a submodule that is checked out; one outside the clone is none.
fn git_dir_of(dir: &Path, folder: &Path) -> Option<PathBuf> {
    let own = folder.join(".git");
    let is_dir = own.symlink_metadata().ok()?.is_dir();
    let git_dir = if is_dir {
        own
    } else {
        let link = String::from_utf8(start_of(&own, LINK_BYTES_MAX)?).ok()?;
        folder.join(link.strip_prefix("gitdir:")?.trim())
    };
    let (git_dir, dir) = (git_dir.canonicalize().ok()?, dir.canonicalize().ok()?);
    git_dir.starts_with(dir).then_some(git_dir)
}

/// The first file in a folder and below; tools' own folders do not count.
fn first_file(folder: &Path) -> Option<String> {
    let (mut folders, mut left) = (vec![folder.to_owned()], ENTRIES_MAX);
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = entry.path();
                let below = path.strip_prefix(folder).unwrap_or(&path);
                return Some(escaped(below.as_os_str().as_encoded_bytes()));
            }
            folders.push(entry.path());
        }
    }
    None
}
