//! Writing objects, each into a file of its own.

use std::io::{Error, ErrorKind, Read};

use gix_object::{Kind, Write};

use super::{Odb, from_gix, kind_of_hash};
use crate::error::WorkspaceError;
use crate::oid::ObjectId;

/// Bytes of a file that is held in memory while it becomes an object.
const HELD_BYTES_MAX: u64 = 1 << 20;

impl Odb {
    /// Writes an object unless it is there, and gives its id.
    pub(crate) fn write(&self, kind: Kind, bytes: &[u8]) -> Result<ObjectId, WorkspaceError> {
        let format = kind_of_hash(self.objects.format);
        let id = gix_object::compute_hash(format, kind, bytes).map_err(|error| self.failed(&error))?;
        if self.header_of(&id)?.is_none() {
            self.loose().write_buf_with_known_id(kind, bytes, id).map_err(|error| self.failed(&error))?;
        }
        from_gix(&id)
    }

    /// Writes a blob of exactly `size` bytes. A large one is not held in memory, and is written also where it is there.
    pub(crate) fn write_blob_from(&self, size: u64, mut from: impl Read) -> Result<ObjectId, WorkspaceError> {
        if size <= HELD_BYTES_MAX {
            let mut bytes = Vec::new();
            let read = from.by_ref().take(size).read_to_end(&mut bytes);
            read.map_err(WorkspaceError::io("read a file for", &self.objects.dir))?;
            return self.write(Kind::Blob, &bytes);
        }
        let mut exactly = Exactly { from, left: size };
        let id = self.loose().write_stream(Kind::Blob, size, &mut exactly).map_err(|error| self.failed(&error))?;
        from_gix(&id)
    }

    fn loose(&self) -> gix_odb::loose::Store {
        gix_odb::loose::Store::at(&self.objects.dir, kind_of_hash(self.objects.format))
    }
}

/// Gives a number of bytes and then ends. Too few are an error: an object says its size before its bytes.
struct Exactly<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let (into, _) = into.split_at_mut(most);
        if into.is_empty() {
            return Ok(0);
        }
        let read = self.from.read(into)?;
        self.left = self.left.saturating_sub(read as u64);
        if read == 0 { Err(Error::new(ErrorKind::UnexpectedEof, "the file became shorter")) } else { Ok(read) }
    }
}
