//! Reading: a line at a time, each of a bounded length.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};

use flate2::bufread::MultiGzDecoder;

use holdpoint_protocol::{
    codec::PAYLOAD_MAX,
    export::{FORMAT, Head, Line},
};

use crate::failure::Failure;

/// The longest line: the largest payload in base64, its headers and names, with room to spare.
const LINE_LEN_MAX: u64 = 2 * PAYLOAD_MAX as u64;

/// What a file that is compressed with gzip begins with (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The lines of an export, compressed or not.
pub(super) type Lines = Box<dyn BufRead>;

/// Opens a file, and uncompresses it if need be.
pub(super) fn open(path: &Path) -> io::Result<Lines> {
    let mut file = BufReader::new(File::open(path)?);
    if file.fill_buf()?.starts_with(&GZIP) {
        return Ok(Box::new(BufReader::new(MultiGzDecoder::new(file))));
    }
    Ok(Box::new(file))
}

/// An export, open for reading.
pub(super) struct Archive {
    path: PathBuf,
    lines: Lines,
    number: u64,
    /// Nothing behind this place can be uncompressed.
    damaged: bool,
    /// Its first line.
    pub(super) head: Box<Head>,
}

/// A line, or what is wrong with it.
pub(super) type Read = Result<Line, String>;

impl Archive {
    /// Opens a file and reads its first line.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let unreadable = |error: &dyn std::fmt::Display| {
            let message = format!("cannot read {}: {error}", path.display());
            Failure::usage("not_an_export", message, "name a file that `holdpoint export` wrote, or a flight")
        };
        let mut lines = open(path).map_err(|error| unreadable(&error))?;
        let first = next_line(&mut lines).map_err(|error| unreadable(&error))?;
        match first.map(|bytes| parse(&bytes)) {
            Some(Ok(Line::Export(head))) if head.format == FORMAT => {
                Ok(Self { path: path.to_owned(), lines, number: 1, damaged: false, head })
            }
            Some(Ok(Line::Export(head))) => Err(unreadable(&format!("its format is {}, not {FORMAT}", head.format))),
            Some(Ok(_)) => Err(unreadable(&"its first line is not that of an export")),
            Some(Err(error)) => Err(unreadable(&format!("its first line is not that of an export: {error}"))),
            None => Err(unreadable(&"it is empty")),
        }
    }

    /// Back to the line behind the first.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.lines = open(&self.path)?;
        (self.number, self.damaged) = (1, false);
        next_line(&mut self.lines).map(drop)
    }

    /// The next line with its number, from 1; `None` behind the last, and behind one that cannot be uncompressed.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Read)>> {
        if self.damaged {
            return Ok(None);
        }
        let read = match next_line(&mut self.lines) {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => parse(&bytes),
            // The system read the file: its bytes are not those that were written.
            Err(error) if error.raw_os_error().is_none() => {
                self.damaged = true;
                Err(format!("compressed bytes that are damaged or cut off: {error}"))
            }
            Err(error) => return Err(error),
        };
        self.number += 1;
        Ok(Some((self.number, read)))
    }
}

/// A line without its end; a line that is too long is cut, and cannot be read then.
fn next_line(lines: &mut Lines) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if lines.by_ref().take(LINE_LEN_MAX).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(Some(bytes))
}

fn parse(bytes: &[u8]) -> Read {
    serde_json::from_slice(bytes).map_err(|error| format!("not a line of an export: {error}"))
}
