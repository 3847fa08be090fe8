//! Where git objects are, and work on them in this process.
//!
//! Starting git costs more than reading a few objects. So what a confined `git index-pack` accepted, or this process wrote, is read
//! and written here, with gitoxide. Nothing here checks again whether objects are well-formed or have the name that they
//! should; no pack is taken in, and only small ones are made. Since their makers are not trusted, work on them has bounds: bytes of an allocation, of a listing
//! and its time, and how many run at once.

mod edit;
mod list;
mod pack;
mod read;
mod tree;
mod write;

use std::path::{Path, PathBuf};

use gix_odb::store::init::Options;
use tokio::sync::Semaphore;

pub(crate) use read::Odb;

use crate::allowance::Work;
use crate::error::WorkspaceError;
use crate::oid::{ObjectFormat, ObjectId};

/// Folders of objects that others refer to, each referring to the next: git follows no more.
const ALTERNATES_DEPTH: usize = 5;
/// Bytes that reading an object may allocate: for itself, the one that it is a difference of, and the differences.
const ALLOCATION_MAX: usize = 128 << 20;
/// Pieces of work at once in this process.
const AT_ONCE: usize = 4;

static PLACES: Semaphore = Semaphore::const_new(AT_ONCE);

/// Where objects are read from and written to.
#[derive(Debug, Clone)]
pub(crate) struct Objects {
    /// The `objects` folder of a repository.
    pub(crate) dir: PathBuf,
    pub(crate) format: ObjectFormat,
}

impl Objects {
    /// The folders of objects that these refer to (`info/alternates`), and so on.
    pub(crate) fn alternates(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut level = vec![self.dir.clone()];
        for _ in 0..ALTERNATES_DEPTH {
            level = level.iter().flat_map(|dir| referred_to_by(dir)).filter(|dir| !found.contains(dir)).collect();
            found.extend(level.iter().cloned());
        }
        found
    }

    /// What there is to be read in a call that sees all these objects.
    pub(crate) fn work(&self, alternates: &[PathBuf]) -> Work {
        alternates.iter().map(|dir| Work::of_packs(dir)).fold(Work::of_packs(&self.dir), Work::and)
    }

    /// Does work on the objects as they are now, on a thread that may block.
    ///
    /// # Errors
    /// Those of the work; the objects cannot be opened.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Odb) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        // Fails only when it was closed, which nobody does. Held by the work, which goes on when nobody waits for it any more.
        let place = PLACES.acquire().await.ok();
        let done = self.at_length(move |odb| {
            let _place = place;
            work(odb)
        });
        done.await
    }

    /// As [`Objects::with`], for work that takes as long as its caller's files do, and takes no place from others.
    ///
    /// # Errors
    /// As [`Objects::with`].
    pub(crate) async fn at_length<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Odb) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        let objects = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&objects.open()?)).await;
        done.map_err(|error| unreadable(&self.dir, error))?
    }

    /// Opened for each piece of work: it costs a look into a folder, and so what others brought or removed is seen.
    fn open(self) -> Result<Odb, WorkspaceError> {
        let current_dir = Some(self.dir.clone());
        let options = Options { alloc_limit_bytes: Some(ALLOCATION_MAX), current_dir, ..Options::default() };
        let handle = gix_odb::at_opts(&self.dir, kind_of_hash(self.format), None, options)
            .map_err(WorkspaceError::io("open", &self.dir))?;
        Ok(Odb { objects: self, handle })
    }
}

/// One folder a line. Git reads a name that begins with a quote as a C string, which we do not: it is not followed.
fn referred_to_by(objects: &Path) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let list = std::fs::read(objects.join("info/alternates")).unwrap_or_default();
    let lines = list.split(|byte| *byte == b'\n').filter(|line| !matches!(line.first(), None | Some(b'#' | b'"')));
    lines.map(|line| objects.join(std::ffi::OsStr::from_bytes(line))).collect()
}

fn kind_of_hash(format: ObjectFormat) -> gix_hash::Kind {
    match format {
        ObjectFormat::Sha1 => gix_hash::Kind::Sha1,
        ObjectFormat::Sha256 => gix_hash::Kind::Sha256,
    }
}

/// The id as gitoxide has it.
fn to_gix(oid: &ObjectId) -> Result<gix_hash::ObjectId, WorkspaceError> {
    // An id of ours has the digits of one of the two hashes.
    gix_hash::ObjectId::from_hex(oid.as_str().as_bytes()).map_err(|error| unreadable(Path::new(oid.as_str()), error))
}

/// The id as we have it.
fn from_gix(oid: &gix_hash::oid) -> Result<ObjectId, WorkspaceError> {
    let digits = oid.to_hex().to_string();
    digits.parse().map_err(|error| unreadable(Path::new(&digits), error))
}

/// The objects are damaged.
fn unreadable(dir: &Path, error: impl std::fmt::Display) -> WorkspaceError {
    WorkspaceError::Objects { dir: dir.to_owned(), detail: format!("{error:#}") }
}
