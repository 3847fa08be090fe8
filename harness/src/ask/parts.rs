//! The named parts of a turn, as its program reads them from the files that the harness laid out (GATE-21).
//!
//! Nothing goes over the line for it. The contents of a part are pure; [`Files`] reads.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Map, Value};

/// Names the turn's file.
pub const TURN_VARIABLE: &str = "HOLDPOINT_TURN_FILE";
/// Names the file with what the work under review changed.
const DIFF_VARIABLE: &str = "HOLDPOINT_DIFF_FILE";
/// The most of a turn's file that is read.
const TURN_BYTES_MAX: u64 = 4 << 20;
/// The longest part that is given whole: more than a program reads at once.
pub const PART_BYTES_MAX: usize = 256 << 10;
/// The part that is a file of its own.
const DIFF: &str = "diff";
/// The map of the repository, which is next to the turn's file.
const MAP: &str = "map";
/// The name of that file.
pub const MAP_FILE: &str = "map.txt";

/// Parts of the turn's file: the name, and where in the file its fields are. A part with one field is that field.
const PARTS: [(&str, &[&str]); 9] = [
    ("goal", &["/request/goal"]),
    ("criteria", &["/request/criteria"]),
    ("tests", &["/request/tests"]),
    (
        "gate",
        &[
            "/gate",
            "/request/description",
            "/request/role_description",
            "/request/context",
            "/request/can_reject",
            "/request/default_outcome",
        ],
    ),
    ("guidance", &["/guidance/constraints", "/guidance/stop_conditions", "/request/covenant", "/request/sources"]),
    ("limits", &["/attempt", "/deadline", "/request/budget", "/request/scope", "/request/protected"]),
    (
        "feedback",
        &[
            "/request/feedback/reason_code",
            "/request/feedback/failing",
            "/request/feedback/notes",
            "/request/feedback/review",
            "/request/feedback/collision",
        ],
    ),
    ("clarifications", &["/request/feedback/clarifications"]),
    ("dependencies", &["/request/dependencies"]),
];

/// A part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnPart {
    /// Its name.
    pub part: &'static str,
    /// What it says: words as they are, anything else as JSON.
    pub text: String,
    /// How many bytes all of it has.
    pub bytes: u64,
    /// Where the whole is, if this is its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<PathBuf>,
}

/// A part that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name.
    pub part: &'static str,
    /// How many bytes it has.
    pub bytes: u64,
}

/// Why there is no such part.
#[derive(Debug, thiserror::Error)]
pub enum NoPart {
    /// A turn has no part of this name.
    #[error("a turn has no part {named:?}: its parts are {}", names().join(", "))]
    Unknown {
        /// What was asked for.
        named: String,
    },
    /// This turn has none.
    #[error("this turn has no {part}: it has {}", there.join(", "))]
    NotHere {
        /// What was asked for.
        part: &'static str,
        /// What there is.
        there: Vec<&'static str>,
    },
    /// Its files cannot be read.
    #[error("the turn's file {} cannot be read: {source}; your prompt says what is wanted", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// The names of all parts that turns have.
#[must_use]
pub fn names() -> Vec<&'static str> {
    PARTS.iter().map(|(name, _)| *name).chain([MAP, DIFF]).collect()
}

/// The files of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    turn: PathBuf,
    diff: Option<PathBuf>,
}

impl Files {
    /// These files: the turn's, and what the work under review changed.
    #[must_use]
    pub fn of(turn: PathBuf, diff: Option<PathBuf>) -> Self {
        Self { turn, diff }
    }

    /// The files that the environment names; `None` where it names no turn's file.
    #[must_use]
    pub fn of_environment() -> Option<Self> {
        Self::named_by(|name| env::var_os(name))
    }

    fn named_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let turn = variable(TURN_VARIABLE)?.into();
        Some(Self { turn, diff: variable(DIFF_VARIABLE).map(PathBuf::from) })
    }

    /// The whole turn.
    ///
    /// # Errors
    /// [`NoPart::Unreadable`].
    pub fn task(&self) -> Result<Value, NoPart> {
        let read = || {
            let mut bytes = Vec::new();
            File::open(&self.turn)?.take(TURN_BYTES_MAX).read_to_end(&mut bytes)?;
            Ok(serde_json::from_slice(&bytes)?)
        };
        read().map_err(|source| self.unreadable(source))
    }

    /// What parts there are.
    ///
    /// # Errors
    /// [`NoPart::Unreadable`].
    pub fn list(&self) -> Result<Vec<Listed>, NoPart> {
        let turn = self.task()?;
        let of_turn = PARTS.iter().filter_map(|(part, fields)| {
            let text = text(&turn, fields)?;
            Some(Listed { part, bytes: text.len() as u64 })
        });
        let files = [(MAP, Some(self.map())), (DIFF, self.diff.clone())];
        let of_files = files.into_iter().filter_map(|(part, file)| {
            let bytes = file?.metadata().ok()?.len();
            Some(Listed { part, bytes })
        });
        Ok(of_turn.chain(of_files).collect())
    }

    /// A part, [`PART_BYTES_MAX`] of it at most.
    ///
    /// # Errors
    /// [`NoPart`].
    pub fn part(&self, name: &str) -> Result<TurnPart, NoPart> {
        let file = match name {
            MAP => Some((MAP, Some(self.map()).filter(|map| map.exists()))),
            DIFF => Some((DIFF, self.diff.clone())),
            _ => None,
        };
        if let Some((part, file)) = file {
            let file = file.ok_or_else(|| self.not_here(part))?;
            return beginning(part, &file).map_err(|source| NoPart::Unreadable { path: file, source });
        }
        let Some((part, fields)) = PARTS.iter().find(|(part, _)| *part == name) else {
            return Err(NoPart::Unknown { named: name.chars().take(60).collect() });
        };
        let text = text(&self.task()?, fields).ok_or_else(|| self.not_here(part))?;
        let bytes = text.len() as u64;
        if text.len() <= PART_BYTES_MAX {
            return Ok(TurnPart { part, text, bytes, cut: None });
        }
        let begins = text.get(..text.floor_char_boundary(PART_BYTES_MAX)).unwrap_or_default().to_owned();
        Ok(TurnPart { part, text: begins, bytes, cut: Some(self.turn.clone()) })
    }

    fn map(&self) -> PathBuf {
        self.turn.with_file_name(MAP_FILE)
    }

    fn not_here(&self, part: &'static str) -> NoPart {
        let there = self.list().unwrap_or_default().iter().map(|listed| listed.part).collect();
        NoPart::NotHere { part, there }
    }

    fn unreadable(&self, source: io::Error) -> NoPart {
        NoPart::Unreadable { path: self.turn.clone(), source }
    }
}

/// The beginning of a file as text.
fn beginning(part: &'static str, file: &Path) -> io::Result<TurnPart> {
    let opened = File::open(file)?;
    let bytes = opened.metadata()?.len();
    let mut read = Vec::new();
    opened.take(PART_BYTES_MAX as u64).read_to_end(&mut read)?;
    let cut = (bytes > PART_BYTES_MAX as u64).then(|| file.to_owned());
    Ok(TurnPart { part, text: String::from_utf8_lossy(&read).into_owned(), bytes, cut })
}

/// The fields of a part as text; `None` where it says nothing.
fn text(turn: &Value, fields: &[&str]) -> Option<String> {
    let said = |field: &str| turn.pointer(field).filter(|value| !is_empty(value));
    if let [field] = fields {
        let value = said(field)?;
        return Some(value.as_str().map_or_else(|| pretty(value), str::to_owned));
    }
    let mut object = Map::new();
    for field in fields {
        if let (Some(value), Some((_, name))) = (said(field), field.rsplit_once('/')) {
            object.insert(name.to_owned(), value.clone());
        }
    }
    (!object.is_empty()).then(|| pretty(&Value::Object(object)))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn files(turn: &Value, diff: Option<&str>) -> (tempfile::TempDir, Files) {
        let dir = tempfile::tempdir().unwrap();
        let (turn_file, diff_file) = (dir.path().join("turn.json"), dir.path().join("diff.patch"));
        std::fs::write(&turn_file, turn.to_string()).unwrap();
        std::fs::write(dir.path().join(MAP_FILE), "Commit 1").unwrap();
        if let Some(diff) = diff {
            std::fs::write(&diff_file, diff).unwrap();
        }
        let named = |name: &str| match name {
            TURN_VARIABLE => Some(turn_file.clone().into_os_string()),
            DIFF_VARIABLE => diff.map(|_| diff_file.clone().into_os_string()),
            _ => None,
        };
        let files = Files::named_by(named).unwrap();
        (dir, files)
    }

    #[test]
    fn a_turn_is_read_in_parts_and_only_those_that_say_something_are_there() {
        let turn = json!({
            "gate": "edit", "attempt": 2,
            "request": {"goal": "Say what it costs.", "criteria": [], "can_reject": true, "feedback": {
                "notes": ["The price has no source"], "clarifications": [{"question": "Which?", "option": "a"}],
            }},
        });
        let (_dir, files) = files(&turn, Some("+5\n"));
        let listed: Vec<&str> = files.list().unwrap().iter().map(|listed| listed.part).collect();
        assert_eq!(listed, ["goal", "gate", "limits", "feedback", "clarifications", "map", "diff"]);
        let text = |part: &str| files.part(part).unwrap().text;
        assert_eq!((text("goal").as_str(), text("diff").as_str()), ("Say what it costs.", "+5\n"));
        assert_eq!(text("map"), "Commit 1");
        let gate: Value = serde_json::from_str(&text("gate")).unwrap();
        assert_eq!(gate, json!({"gate": "edit", "can_reject": true}));
        let feedback: Value = serde_json::from_str(&text("feedback")).unwrap();
        assert_eq!(feedback, json!({"notes": ["The price has no source"]}));
        assert_eq!(files.task().unwrap(), turn);
    }

    #[test]
    fn a_part_is_bounded_and_says_where_the_whole_of_it_is() {
        let turn = json!({"request": {"goal": "ä".repeat(PART_BYTES_MAX)}});
        let long = "x".repeat(PART_BYTES_MAX + 1);
        let (dir, files) = files(&turn, Some(&long));
        for (name, file) in [("goal", "turn.json"), ("diff", "diff.patch")] {
            let part = files.part(name).unwrap();
            assert!(part.text.len() <= PART_BYTES_MAX && part.bytes > PART_BYTES_MAX as u64, "{name}");
            assert_eq!(part.cut, Some(dir.path().join(file)));
        }
    }

    #[test]
    fn a_part_that_is_not_there_is_told_with_those_that_are() {
        let (dir, files) = files(&json!({"request": {"goal": "x"}}), None);
        let said = |name: &str| files.part(name).unwrap_err().to_string();
        assert!(said("symbol").contains("its parts are goal, criteria, tests"), "{}", said("symbol"));
        assert_eq!(said("diff"), "this turn has no diff: it has goal, map");
        drop(dir);
        assert!(said("goal").contains("cannot be read"), "{}", said("goal"));
        assert_eq!(Files::named_by(|_| None), None, "a judge has no turn's file");
    }
}
