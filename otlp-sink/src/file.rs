//! A file of spans or points, one JSON object a line.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::ReceivedSpan;

/// A file that spans or points are appended to. When it is full it becomes `FILE.1`, in place of the one before.
#[derive(Debug)]
pub struct LinesFile {
    path: PathBuf,
    file: File,
    len: u64,
    len_max: u64,
}

impl LinesFile {
    /// Opens a file to append to, of at most `len_max` bytes.
    ///
    /// # Errors
    /// What the system said.
    pub fn open(path: &Path, len_max: u64) -> io::Result<Self> {
        let file = append_to(path)?;
        let len = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, len, len_max })
    }

    /// Appends some.
    ///
    /// # Errors
    /// What the system said. Some of them may be in the file.
    pub fn append<T: Serialize>(&mut self, items: &[T]) -> io::Result<()> {
        let mut lines = Vec::new();
        for item in items {
            serde_json::to_writer(&mut lines, item)?;
            lines.push(b'\n');
        }
        let more = lines.len() as u64;
        if self.len > 0 && self.len.saturating_add(more) > self.len_max {
            let mut old = self.path.clone().into_os_string();
            old.push(".1");
            std::fs::rename(&self.path, old)?;
            self.file = append_to(&self.path)?;
            self.len = 0;
        }
        self.file.write_all(&lines)?;
        self.len += more;
        Ok(())
    }
}

/// The spans in a file, in the order they came. A line that is none is passed over: the last one may be cut off.
///
/// # Errors
/// What the system said.
pub fn read_file(path: &Path) -> io::Result<Vec<ReceivedSpan>> {
    let mut spans = Vec::new();
    for line in BufReader::new(File::open(path)?).lines() {
        spans.extend(serde_json::from_str::<ReceivedSpan>(&line?));
    }
    Ok(spans)
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn span(name: &str) -> ReceivedSpan {
        ReceivedSpan {
            trace_id: "t".to_owned(),
            span_id: "s".to_owned(),
            parent_span_id: None,
            name: name.to_owned(),
            kind: "internal".to_owned(),
            start_ns: 1,
            end_ns: u64::MAX,
            error: None,
            attributes: BTreeMap::new(),
            links: Vec::new(),
            events: Vec::new(),
            resource: BTreeMap::new(),
        }
    }

    #[test]
    fn a_full_file_is_put_aside_and_what_was_cut_off_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("traces.jsonl");
        let mut file = LinesFile::open(&path, 1).unwrap();
        for name in ["one", "two", "three"] {
            file.append(&[span(name)]).unwrap();
        }
        assert_eq!(read_file(&dir.path().join("traces.jsonl.1")).unwrap(), [span("two")]);
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"trace_id\": \"cut").unwrap();
        assert_eq!(read_file(&path).unwrap(), [span("three")]);
        // A file that is there already is gone on with.
        drop(file);
        LinesFile::open(&path, u64::MAX).unwrap().append(&[span("four")]).unwrap();
        assert!(path.metadata().unwrap().len() > 0 && read_file(&path).unwrap().contains(&span("three")));
    }
}
