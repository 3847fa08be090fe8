//! A document as a person edited it (DOC-9): what may differ from what was rendered, and what may not. Every problem is found at once,
//! with its place.
//!
//! A person changes the title, the text and what is said of checkpoints. All else belongs to who made it, or follows.

use holdpoint_protocol::{
    checkpoint::{CheckpointStatement, DOCUMENT_BYTES_MAX, GateDemands, GateDocument},
    ids::GateId,
};
use serde_json::Value;

use super::{
    ArtifactDocument, KEYS, home,
    read::{self, BOUND},
};
use crate::{
    checkpoints,
    yaml::{
        error::{PlanErrors, Problems},
        place::Position,
        source,
        tree::{Node, Value as Read},
        words::quoted,
    },
};

/// The fields of an artifact that a person changes.
const CHANGED: [&[&str]; 3] = [&["document", "text"], &["document", "title"], &["document", "checkpoints"]];
/// What a file of another document is.
const FOREIGN: &str = "this is the file of another document: name that one with its reference";

/// A document as a person edited it.
#[derive(Debug, Clone, PartialEq)]
pub struct EditedDocument {
    /// Its gate.
    pub gate: GateId,
    /// It, with what its gate's checkpoints come to.
    pub document: GateDocument,
    /// Whether anything differs.
    pub is_changed: bool,
}

/// Reads the file of a document that a person edited. `demands` are those of its gate, `file` is only the name under which problems are
/// reported.
///
/// # Errors
/// All problems of the file, in the order of their places: it cannot be read, it is of another document, it changes what a person may
/// not change, or the document is none of a gate.
pub fn edited(
    old: &ArtifactDocument,
    demands: &GateDemands,
    file: &str,
    bytes: &[u8],
) -> Result<EditedDocument, PlanErrors> {
    source::read(bytes, file, BOUND, |text, problems| {
        let new = read::document(text, problems)?;
        let root = read::root(text, &mut Problems::default())?;
        let places = Places { root: &root, of: &new };
        let (Some(gate), Some(was)) = (old.gate().and_then(|gate| gate.parse().ok()), written(old)) else {
            let hint = "revise one that a gate hands on: `holdpoint history WAYPOINT` lists them";
            problems.add(Position::START, format!("{} is no document of a gate", old.reference), hint);
            return None;
        };
        if is_foreign(old, &new, &places, problems) {
            return None;
        }
        unchangeable(old, &new, &places, problems);
        let statements = statements(&new, demands, &places, problems)?;
        let said = checkpoints::stated(statements);
        let now = written(&new)?;
        if now.text.len() > DOCUMENT_BYTES_MAX {
            let message = format!("the text has {} bytes, and at most {DOCUMENT_BYTES_MAX} are taken", now.text.len());
            problems.add(Position::START, message, "keep to what the next reader needs, and name files for the rest");
        }
        let with_results = |document: GateDocument| {
            let validation = checkpoints::validate_document(demands, &document, &[]);
            GateDocument { checkpoints: validation.checkpoints, ..document }
        };
        let was = with_results(was);
        let document =
            with_results(GateDocument { text: now.text, title: now.title, checkpoints: said, ..was.clone() });
        Some(EditedDocument { gate, is_changed: document != was, document })
    })
}

/// The document that an artifact brings; `None`: it brings none.
fn written(of: &ArtifactDocument) -> Option<GateDocument> {
    let document: GateDocument = serde_json::from_value(of.artifact["document"].clone()).ok()?;
    Some(document).filter(|document| !document.text.is_empty())
}

/// Whether the file is of another document.
fn is_foreign(old: &ArtifactDocument, new: &ArtifactDocument, places: &Places<'_>, problems: &mut Problems) -> bool {
    let waypoint = |document: &ArtifactDocument| document.artifact["waypoint_id"].as_str().map(str::to_owned);
    let gate = |document: &ArtifactDocument| document.gate().map(str::to_owned);
    let pairs = [
        ("ref", Some(old.reference.clone()), Some(new.reference.clone())),
        ("kind", Some(old.kind.clone()), Some(new.kind.clone())),
        ("id", waypoint(old), waypoint(new)),
        ("stage", gate(old), gate(new)),
    ];
    let word = |value: &Option<String>| quoted(value.as_deref().unwrap_or_default());
    let foreign = pairs.iter().filter(|(_, was, is)| was != is);
    let mut found = false;
    for (key, was, is) in foreign {
        let message = format!("`{key}` is {}, and the document that is revised has {}", word(is), word(was));
        problems.add(places.of_key(key), message, FOREIGN);
        found = true;
    }
    found
}

/// Reports what only the maker of the document could change.
fn unchangeable(old: &ArtifactDocument, new: &ArtifactDocument, places: &Places<'_>, problems: &mut Problems) {
    let mut found = Vec::new();
    differences(&old.artifact, &new.artifact, &mut Vec::new(), &mut found);
    for path in found {
        let (at, name) = places.of_path(&path);
        let message = format!(
            "`{name}` differs, and a revision changes the title, the text and what is said of checkpoints alone"
        );
        let hint = format!("write it as `holdpoint artifact {} --markdown` prints it", old.reference);
        problems.add(at, message, hint);
    }
}

/// The paths at which two artifacts differ, without those that a person changes.
fn differences(old: &Value, new: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if CHANGED.iter().any(|changed| path == changed) {
        return;
    }
    match (old, new) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))).collect();
            keys.sort_unstable();
            for key in keys {
                path.push(key.clone());
                differences(one.get(key).unwrap_or(&Value::Null), other.get(key).unwrap_or(&Value::Null), path, found);
                path.pop();
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                path.push(at.to_string());
                differences(one, other, path, found);
                path.pop();
            }
        }
        (one, other) if one == other => {}
        _ => found.push(path.clone()),
    }
}

/// What the file says of checkpoints. What is said of one that is looked at is not believed.
fn statements(
    new: &ArtifactDocument,
    demands: &GateDemands,
    places: &Places<'_>,
    problems: &mut Problems,
) -> Option<Vec<CheckpointStatement>> {
    let said = &new.artifact["document"]["checkpoints"];
    if said.is_null() {
        return Some(Vec::new());
    }
    let read: Result<Vec<CheckpointStatement>, _> = serde_json::from_value(said.clone());
    let Ok(statements) = read else {
        let hint = "write `name`, `status` (pass, fail or skip) and `message` of each";
        problems.add(places.of_key("checkpoints"), "`checkpoints` is no list of what is said of checkpoints", hint);
        return None;
    };
    let known: Vec<String> = checkpoints::all(demands).map(|spec| spec.name.to_string()).collect();
    for unknown in statements.iter().filter(|said| !known.contains(&said.name.to_string())) {
        let message = format!("the gate has no checkpoint {}", quoted(unknown.name.as_str()));
        problems.add(places.of_key("checkpoints"), message, format!("it has {}", known.join(", ")));
    }
    Some(statements)
}

/// Where things stand in a file.
struct Places<'t> {
    root: &'t Node,
    of: &'t ArtifactDocument,
}

impl Places<'_> {
    /// Where a key of the front matter is; where it is not there, where the front matter begins.
    fn of_key(&self, key: &str) -> Position {
        child(self.root, key).map_or(self.root.at, |node| node.at)
    }

    /// Where a field of the artifact is, or what it would be in, and its name as the file has it.
    fn of_path(&self, path: &[String]) -> (Position, String) {
        let (kind, artifact) = (&self.of.kind, &self.of.artifact);
        let own = KEYS.iter().find_map(|key| {
            let home = home(key, kind, artifact)?;
            let inside = path.get(..home.len()).is_some_and(|begin| begin == home);
            inside.then(|| (*key, path.get(home.len()..).unwrap_or_default()))
        });
        let (key, rest) = own.unwrap_or(("artifact", path));
        let mut at = self.of_key(key);
        let mut node = child(self.root, key);
        for step in rest {
            node = node.and_then(|node| child(node, step));
            at = node.map_or(at, |node| node.at);
        }
        let name = std::iter::once(key).chain(rest.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
        (at, name)
    }
}

fn child<'t>(node: &'t Node, step: &str) -> Option<&'t Node> {
    match &node.value {
        Read::Map(entries) => entries.iter().find(|(key, _)| key.name == step).map(|(_, node)| node),
        Read::List(items) => items.get(step.parse::<usize>().ok()?),
        Read::Scalar { .. } | Read::Refused => None,
    }
}
