//! Reading files of others.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// The first bytes of a file that may have `most`. One more is read: that shows that it is too large, however large it is.
pub(crate) fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_more_than_allowed_is_read_of_a_file_that_is_too_large() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "abcdef").unwrap();
        assert_eq!(read(&file, 6).unwrap(), b"abcdef");
        assert_eq!(read(&file, 3).unwrap(), b"abcd");
        let missing = read(&dir.path().join("none"), 3).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
