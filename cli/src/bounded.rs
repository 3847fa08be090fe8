//! Reading files of others.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::FileTypeExt as _,
    path::Path,
};

/// Where a shell has the pipes that it opened for its command, as `<(…)` names them: these have a writer.
const OPENED: [&str; 2] = ["/dev", "/proc"];

/// The first bytes of a file that may have `most`. One more is read: that shows that it is too large, however large it is. A named
/// pipe is refused, since nobody may ever write to it.
pub(crate) fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let is_named_pipe = fs::metadata(path)?.file_type().is_fifo() && !OPENED.iter().any(|dir| path.starts_with(dir));
    if is_named_pipe {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a named pipe, and not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same of a file, or of standard input for `-`.
pub(crate) fn read_or_stdin(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    if path.as_os_str() == "-" { stdin(most) } else { read(path, most) }
}

/// The same of standard input.
pub(crate) fn stdin(most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, os::fd::AsRawFd as _, process::Command};

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

    #[test]
    fn a_pipe_is_read_where_a_shell_opened_it_and_refused_where_it_has_a_name() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"plan").unwrap();
        drop(writer);
        let opened = format!("/proc/self/fd/{}", reader.as_raw_fd());
        assert_eq!(read(Path::new(&opened), 9).unwrap(), b"plan");
        let dir = tempfile::tempdir().unwrap();
        let named = dir.path().join("plan.yaml");
        assert!(Command::new("mkfifo").arg(&named).status().unwrap().success());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&named, &link).unwrap();
        for path in [named, link] {
            assert_eq!(read(&path, 9).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
