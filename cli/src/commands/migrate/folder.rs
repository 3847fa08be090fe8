//! The folder of a copy: a snapshot per stream, and what they are, which is written last.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use holdpoint_bus::migrator::{StreamContent, StreamShape};
use holdpoint_protocol::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    failure::{Failure, chain},
    state::write_private,
};

/// What says that a copy is whole.
const MANIFEST: &str = "migration.json";
/// How a copy is written.
const FORMAT: u32 = 1;
/// Bytes that are read at once.
const READ_LEN: usize = 1 << 20;
/// Longest name of a stream (the broker's own bound is as long).
const NAME_LEN_MAX: usize = 255;

/// What was saved.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    format: u32,
    /// The account whose streams they are.
    pub(super) account: String,
    /// The streams, in the order in which they are loaded.
    pub(super) streams: Vec<Snapshot>,
}

/// One stream.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Snapshot {
    pub(super) name: String,
    pub(super) file_bytes: u64,
    pub(super) file_digest: Digest,
    pub(super) shape: StreamShape,
    pub(super) content: StreamContent,
}

/// A folder with a copy, or for one.
#[derive(Debug)]
pub(super) struct Folder {
    dir: PathBuf,
}

impl Folder {
    /// An empty folder, made if need be, that is its owner's alone.
    pub(super) fn begin(dir: &Path) -> Result<Self, Failure> {
        let own = Self { dir: dir.to_owned() };
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        let empty = made.and_then(|()| Ok(fs::read_dir(dir)?.next().is_none()));
        if !empty.map_err(|error| own.unusable(&error))? {
            let message = format!("{} is not empty", dir.display());
            return Err(Failure::usage("not_empty", message, "name a folder that is empty or not there"));
        }
        Ok(own)
    }

    /// The folder of a copy, whose files are what was saved.
    pub(super) fn open(dir: &Path) -> Result<(Self, Saved), Failure> {
        let own = Self { dir: dir.to_owned() };
        let bytes = fs::read(dir.join(MANIFEST)).map_err(|error| {
            let message = format!("{} holds no copy that is whole: {MANIFEST}: {error}", dir.display());
            Failure::usage("no_copy", message, "`holdpoint migrate save DIR` writes one")
        })?;
        let saved: Saved = serde_json::from_slice(&bytes).map_err(|error| own.damaged(MANIFEST, &error.to_string()))?;
        if saved.format != FORMAT {
            let message = format!("{} was written by a later version (format {})", dir.display(), saved.format);
            return Err(Failure::usage("no_copy", message, "load it with the version that wrote it"));
        }
        for Snapshot { name, file_digest, .. } in &saved.streams {
            if !is_name(name) {
                return Err(own.damaged(MANIFEST, "it names a stream that cannot be"));
            }
            let found = digest(&own.path(name)).map_err(|error| own.damaged(&file(name), &error.to_string()))?;
            if found != *file_digest {
                return Err(own.damaged(&file(name), "its digest is another"));
            }
        }
        Ok((own, saved))
    }

    /// A file for the snapshot of a stream.
    pub(super) async fn create(&self, name: &str) -> Result<(tokio::fs::File, PathBuf), Failure> {
        let path = self.path(name);
        let mut options = tokio::fs::OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o600).open(&path).await;
        opened.map(|file| (file, path)).map_err(|error| self.unusable(&error))
    }

    /// Removes a snapshot that is of no use.
    pub(super) async fn discard(&self, path: &Path) -> Result<(), Failure> {
        tokio::fs::remove_file(path).await.map_err(|error| self.unusable(&error))
    }

    /// Has a snapshot on the disk; its length and digest, read back.
    pub(super) async fn finish(
        &self,
        name: &str,
        mut file: tokio::fs::File,
        path: &Path,
    ) -> Result<(u64, Digest), Failure> {
        use tokio::io::AsyncWriteExt as _;
        let synced = async {
            file.flush().await?;
            file.sync_all().await?;
            Ok((file.metadata().await?.len(), digest(path)?))
        };
        synced.await.map_err(|error: io::Error| self.unusable(&error).also(&format!("the copy of {name} is not whole")))
    }

    /// Says that all snapshots are there.
    pub(super) fn conclude(&self, account: &str, streams: Vec<Snapshot>) -> Result<Saved, Failure> {
        let saved = Saved { format: FORMAT, account: account.to_owned(), streams };
        let bytes = serde_json::to_vec_pretty(&saved).expect("plain data with text keys");
        write_private(&self.dir.join(MANIFEST), &bytes)?;
        let synced = fs::File::open(&self.dir).and_then(|dir| dir.sync_all());
        synced.map_err(|error| self.unusable(&error))?;
        Ok(saved)
    }

    /// The snapshot of a stream.
    pub(super) async fn read(&self, name: &str) -> Result<tokio::fs::File, Failure> {
        tokio::fs::File::open(self.path(name)).await.map_err(|error| self.unusable(&error))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(file(name))
    }

    fn unusable(&self, error: &io::Error) -> Failure {
        let message = format!("cannot use {}: {}", self.dir.display(), chain(error));
        Failure::environment("migration", message, "name another folder, or make room")
    }

    fn damaged(&self, file: &str, why: &str) -> Failure {
        let message = format!("{} in {} is damaged: {why}", file, self.dir.display());
        Failure::usage("damaged_copy", message, "nothing was loaded: copy the folder again, or save the fleet again")
    }
}

fn file(name: &str) -> String {
    format!("{name}.snapshot")
}

/// A copy may come from anywhere: its names must not lead out of the folder.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= NAME_LEN_MAX && name.chars().all(plain)
}

fn digest(path: &Path) -> io::Result<Digest> {
    let mut file = BufReader::with_capacity(READ_LEN, fs::File::open(path)?);
    let mut hasher = Sha256::new();
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(Digest::of_hash(hasher));
        }
        hasher.update(bytes);
        let len = bytes.len();
        file.consume(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_streams_stay_in_the_folder() {
        assert!(is_name("HP_JOURNAL") && is_name("HP_HANDOFF_CODE-REVIEW"));
        for name in ["", "../x", "a/b", "a.b", "ü", &"x".repeat(256)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_folder_that_holds_something_takes_no_copy_and_one_without_a_manifest_gives_none() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("a/b");
        Folder::begin(&new).unwrap();
        assert!(Folder::open(&new).unwrap_err().message().contains("no copy that is whole"));
        fs::write(new.join("x"), "").unwrap();
        assert!(Folder::begin(&new).unwrap_err().message().contains("not empty"));
    }
}
