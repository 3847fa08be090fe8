//! Slices of the repository that a program asks for by name: a file, lines with a text, definitions (FLY-17). Each is bounded, and
//! so are all of a turn together. They are of the commit that the turn starts from, whatever was done to the working tree.

use std::sync::atomic::{AtomicUsize, Ordering};

use holdpoint_evidence::map::Outline;
use holdpoint_runtime::telemetry::ErrorChain;
use holdpoint_text::shown;
use holdpoint_workspace::{Mirror, ObjectId, WorkspaceError};
use serde::{Deserialize, Serialize};

/// Bytes of one slice.
pub const SLICE_BYTES_MAX: usize = 192 << 10;
/// Bytes of all slices of a turn; the one that goes over it is the last.
pub const TURN_BYTES_MAX: usize = 4 << 20;
/// Bytes of a name: a path, a text or a symbol.
pub const NAME_BYTES_MAX: usize = 1_024;
/// Bytes of the largest file of which a slice is made.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Lines that are found in one file.
const PER_FILE: u32 = 20;
/// Characters of a line that was found.
const LINE_CHARS_MAX: usize = 300;

/// What a slice is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slice {
    /// A file, by its path.
    File,
    /// The lines that have a text, as it stands.
    Search,
    /// Definitions whose name has this in it, in whatever case.
    Symbol,
}

impl Slice {
    /// All, by their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("file", Self::File), ("search", Self::Search), ("symbol", Self::Symbol)];

    /// The one with this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, slice)| slice)
    }
}

/// A slice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulled {
    /// What it says.
    pub text: String,
    /// Whether there is more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// The repository as a turn's program may look into it.
#[derive(Debug)]
pub struct Repository<'a> {
    mirror: &'a Mirror,
    commit: ObjectId,
    outlines: &'a [Outline],
    given: AtomicUsize,
}

impl<'a> Repository<'a> {
    /// The commit that a turn starts from, with what is known of its definitions.
    #[must_use]
    pub fn new(mirror: &'a Mirror, commit: ObjectId, outlines: &'a [Outline]) -> Self {
        Self { mirror, commit, outlines, given: AtomicUsize::new(0) }
    }

    /// A slice, or why there is none, in one line.
    ///
    /// # Errors
    /// There is no such file, it is no text, nothing is found, or the turn has had all that it may.
    pub async fn pull(&self, slice: Slice, name: &str) -> Result<Pulled, String> {
        if self.given.load(Ordering::Relaxed) >= TURN_BYTES_MAX {
            let had = format!("this turn has had the {TURN_BYTES_MAX} bytes of slices that it may");
            return Err(format!("{had}: read the files themselves"));
        }
        let found = match slice {
            Slice::File => self.file(name).await,
            Slice::Search => self.search(name).await,
            Slice::Symbol => Ok(symbols(self.outlines, name)),
        };
        let found = found.map_err(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot look into the repository");
            "the repository cannot be read now: read the files themselves".to_owned()
        })??;
        let pulled = bounded(&found);
        let bytes = pulled.text.len();
        let of_turn = self.given.fetch_add(bytes, Ordering::Relaxed) + bytes;
        tracing::info!(event = "context_pulled", ?slice, bytes, of_turn, "gave a slice");
        Ok(pulled)
    }

    async fn file(&self, path: &str) -> Result<Result<String, String>, WorkspaceError> {
        let entries = self.mirror.list_tree(&self.commit).await?;
        let Some(entry) = entries.iter().find(|entry| entry.path.as_str() == Some(path)) else {
            return Ok(Err(format!("there is no file {path:?} on commit {}", self.commit)));
        };
        let Some(bytes) = entry.bytes.filter(|bytes| *bytes <= FILE_BYTES_MAX) else {
            return Ok(Err(format!("{path:?} has more than {FILE_BYTES_MAX} bytes, or is no file")));
        };
        let text = self.mirror.read_blob(&entry.oid, usize::try_from(bytes).unwrap_or(usize::MAX)).await?;
        Ok(String::from_utf8(text).map_err(|_| format!("{path:?} is no text")))
    }

    async fn search(&self, text: &str) -> Result<Result<String, String>, WorkspaceError> {
        if text.contains('\n') {
            return Ok(Err("lines are searched: look for one line".to_owned()));
        }
        let found = self.mirror.find_text(&self.commit, text, PER_FILE).await?;
        let line = |text: &str| text.chars().take(LINE_CHARS_MAX).collect::<String>();
        let lines = found.iter().map(|found| format!("{}:{}: {}\n", found.path, found.line, line(&found.text)));
        Ok(some(lines.collect(), || format!("no text file has {text:?} in a line")))
    }
}

fn symbols(outlines: &[Outline], name: &str) -> Result<String, String> {
    let wanted = name.to_lowercase();
    let all = outlines.iter().flat_map(|outline| outline.symbols.iter().map(move |symbol| (&outline.path, symbol)));
    let found = all.filter(|(_, symbol)| symbol.name.to_lowercase().contains(&wanted));
    let lines = found.map(|(path, symbol)| {
        format!("{}:{} {} {}\n", shown::line(path), symbol.line, symbol.kind, shown::line(&symbol.name))
    });
    some(lines.collect(), || {
        let files = outlines.len();
        format!("none of the {files} files that were outlined defines {name:?}: try `context search`")
    })
}

fn some(text: String, otherwise: impl FnOnce() -> String) -> Result<String, String> {
    if text.is_empty() { Err(otherwise()) } else { Ok(text) }
}

fn bounded(text: &str) -> Pulled {
    let cut = text.len() > SLICE_BYTES_MAX;
    Pulled { text: text.get(..text.floor_char_boundary(SLICE_BYTES_MAX)).unwrap_or_default().to_owned(), cut }
}

#[cfg(test)]
mod tests {
    use holdpoint_evidence::map::MapSymbol;

    use super::*;

    #[test]
    fn definitions_are_found_by_a_part_of_their_names_and_otherwise_it_says_where_was_looked() {
        let symbol = |name: &str| MapSymbol { line: 7, kind: "function".to_owned(), name: name.to_owned() };
        let outlines = [Outline { path: "a.ts".to_owned(), symbols: vec![symbol("leaveGate"), symbol("enter")] }];
        assert_eq!(super::symbols(&outlines, "GATE"), Ok("a.ts:7 function leaveGate\n".to_owned()));
        let refused = super::symbols(&outlines, "merge").unwrap_err();
        assert!(refused.starts_with("none of the 1 files"), "{refused}");
    }

    #[test]
    fn a_slice_is_bounded_and_says_so() {
        let pulled = bounded(&"ä".repeat(SLICE_BYTES_MAX));
        assert!(pulled.cut && pulled.text.len() <= SLICE_BYTES_MAX);
        assert_eq!(bounded("a\n"), Pulled { text: "a\n".to_owned(), cut: false });
    }
}
