//! Taking in a snapshot that a trusted party has checked already, with the index that was made of it then. Naming every
//! object by its content is what costs; here nothing is named again.
//!
//! An index says where each object is, and git believes it. So it may only come from one whose word counts, and it has
//! to belong to this very pack: that is what is checked.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{Mirror, scratch_parent};
use crate::bundle::BundleHeader;
use crate::error::{InputRefusal, WorkspaceError};
use crate::files::real_path;
use crate::oid::ObjectId;
use crate::quarantine::{Expected, Quarantine};

/// How an index of version 2 begins (`gitformat-pack(5)`).
const INDEX_START: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
/// Where the number of all objects is in it: the last of 256 cumulative counts of four bytes.
const INDEX_COUNT_AT: u64 = 8 + 255 * 4;

/// A snapshot whose objects were checked by a party whose word counts.
#[derive(Debug, Clone, Copy)]
pub struct CheckedSnapshot<'a> {
    /// The bundle: a whole history, without prerequisites.
    pub bundle: &'a Path,
    /// The index of the pack in it, by the one that checked.
    pub index: &'a Path,
    /// The one ref that the bundle has to have, and no other.
    pub ref_name: &'a str,
}

impl Mirror {
    /// Takes in a snapshot that was checked elsewhere, and gives the commit that its ref names.
    ///
    /// # Errors
    /// [`WorkspaceError::Refused`] when the bundle's header is not in order, or the index is not the one of its pack; the mirror
    /// is then as it was.
    pub async fn adopt(&self, checked: CheckedSnapshot<'_>) -> Result<ObjectId, WorkspaceError> {
        let bundle = real_path(checked.bundle)?;
        let quarantine = Quarantine::new(&self.inner.objects, Some(&scratch_parent(self.dir())))?;
        let (ref_name, limits) = (checked.ref_name, self.limits());
        let expected = Expected { ref_name, base: None, limits };
        let header = quarantine.check_header(&bundle, expected)?;
        let [(_, tip)] = &header.refs[..] else {
            return Err(InputRefusal::NotABundle { reason: "no ref" }.into());
        };
        if !header.prerequisites.is_empty() {
            return Err(
                InputRefusal::NotABundle { reason: "prerequisites, which a whole history does not have" }.into()
            );
        }
        let tip = tip.clone();
        let (index, folder) = (checked.index.to_owned(), quarantine.pack_dir());
        let placed = tokio::task::spawn_blocking(move || place(&bundle, &header, &index, &folder));
        placed.await.map_err(|error| WorkspaceError::io("copy", checked.bundle)(std::io::Error::other(error)))??;
        if !quarantine.has_commit(&tip).await? {
            return Err(InputRefusal::NotACommit { oid: tip }.into());
        }
        quarantine.release(Some(&tip))?;
        Ok(tip)
    }

    /// The index of the snapshot's pack, for [`Mirror::adopt`] elsewhere; `None` if this mirror has no snapshot.
    ///
    /// # Errors
    /// The mirror cannot be read.
    pub fn snapshot_index(&self) -> Result<Option<PathBuf>, WorkspaceError> {
        Ok(self.snapshot_pack()?.map(|pack| pack.with_extension("idx")))
    }

    /// The pack that the snapshot came in: the one that is kept as it is.
    pub(super) fn snapshot_pack(&self) -> Result<Option<PathBuf>, WorkspaceError> {
        let folder = self.inner.objects.dir.join("pack");
        let names = std::fs::read_dir(&folder).map_err(WorkspaceError::io("list", &folder))?;
        let mut packs: Vec<PathBuf> = names
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "keep"))
            .map(|path| path.with_extension("pack"))
            .filter(|path| path.exists())
            .collect();
        packs.sort();
        Ok(packs.into_iter().next())
    }
}

/// Puts pack and index into a folder under the name that git would give them.
fn place(bundle: &Path, header: &BundleHeader, index: &Path, folder: &Path) -> Result<(), WorkspaceError> {
    let bytes = header.format.bytes();
    let digest = i64::try_from(bytes).unwrap_or(i64::MAX);
    let mut pack = File::open(bundle).map_err(WorkspaceError::io("open", bundle))?;
    let pack_name = at(&mut pack, SeekFrom::End(-digest), bytes).map_err(WorkspaceError::io("read", bundle))?;
    let mut file = File::open(index).map_err(WorkspaceError::io("open", index))?;
    // One that is too short is no index at all.
    let read = |error: std::io::Error| match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput => InputRefusal::ForeignIndex.into(),
        _ => WorkspaceError::io("read", index)(error),
    };
    let begin = at(&mut file, SeekFrom::Start(0), INDEX_START.len()).map_err(read)?;
    let count = at(&mut file, SeekFrom::Start(INDEX_COUNT_AT), 4).map_err(read)?;
    let of_pack = at(&mut file, SeekFrom::End(-2 * digest), bytes).map_err(read)?;
    if begin != INDEX_START || count != header.objects.to_be_bytes() || of_pack != pack_name {
        return Err(InputRefusal::ForeignIndex.into());
    }
    let hex: String = pack_name.iter().map(|byte| format!("{byte:02x}")).collect();
    let target = folder.join(format!("pack-{hex}.pack"));
    pack.seek(SeekFrom::Start(header.pack_at as u64)).map_err(WorkspaceError::io("read", bundle))?;
    let mut out = File::create_new(&target).map_err(WorkspaceError::io("write", &target))?;
    std::io::copy(&mut pack, &mut out).map_err(WorkspaceError::io("write", &target))?;
    let target = target.with_extension("idx");
    std::fs::copy(index, &target).map(drop).map_err(WorkspaceError::io("write", &target))
}

fn at(file: &mut File, place: SeekFrom, bytes: usize) -> std::io::Result<Vec<u8>> {
    let mut found = vec![0; bytes];
    file.seek(place)?;
    file.read_exact(&mut found)?;
    Ok(found)
}
