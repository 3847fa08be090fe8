//! Reading a document: the way back from front matter and body to the artifact. Every problem is found at once, with its place.

use holdpoint_protocol::{Timestamp, api::Standing};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use super::{
    ArtifactDocument, ArtifactStatus, DEPTH_MAX, KEYS, RENDERED_BYTES_MAX, SettledCheckpoints, TurnPast, bodies, home,
    parent,
};
use crate::yaml::{
    error::{PlanErrors, Problems},
    fields::Fields,
    front_matter,
    place::Position,
    source::{self, FileBound},
    tree::{self, FileKind, Node, Value as Read},
    words::quoted,
};

/// What a document has at least.
const LEAST: &str = "begin with a document that `holdpoint artifact REF --markdown` prints";
/// What a line of the front matter may be inside of, besides an artifact.
const LEVELS_AROUND: usize = 2;

pub(super) const BOUND: FileBound = FileBound {
    bytes: RENDERED_BYTES_MAX,
    what: "the document",
    hint: "no artifact is: keep to one, and name files for the rest",
};

const KIND: FileKind = FileKind {
    name: "document's front matter",
    least: LEAST,
    depth: "an artifact is nested as deep as a message may be; put what is deeper into a file of its own",
};

/// Reads a document. `file` is only the name under which problems are reported. Keys that follow from the others (`status`,
/// `handoff_ready`, …) have to be of their kind, and are not believed.
///
/// # Errors
/// All problems of the document, in the order of their places.
pub fn parse(file: &str, bytes: &[u8]) -> Result<ArtifactDocument, PlanErrors> {
    source::read(bytes, file, BOUND, document)
}

/// The front matter of a document.
pub(super) fn root(text: &str, problems: &mut Problems) -> Option<Node> {
    let (front, _) = front_matter::split(text)?;
    tree::load_within(front, &KIND, DEPTH_MAX + LEVELS_AROUND, problems)
}

pub(super) fn document(text: &str, problems: &mut Problems) -> Option<ArtifactDocument> {
    let Some((_, body)) = front_matter::split(text) else {
        problems.add(Position::START, "the document has no front matter between two lines of `---`", LEAST);
        return None;
    };
    let root = root(text, problems)?;
    let fields = Fields::open(&root, "the front matter", &KEYS, problems)?;
    for key in ["kind", "artifact"] {
        fields.demand(key, LEAST, problems);
    }
    let Some(Value::String(kind)) = find(&fields, "kind").map(value) else {
        problems.add(root.at, "`kind` is not a text", LEAST);
        return None;
    };
    let mut artifact = value(find(&fields, "artifact")?);
    put_back(&fields, &kind, &mut artifact, problems);
    put_body(&fields, (&kind, body), &mut artifact, problems);
    claims(&fields, problems);
    let past = past(&fields, &kind, &artifact, problems);
    let standing: Option<Standing> = typed(&fields, "standing", "`taken`, `conflict` or `unsigned`", problems);
    let reference = typed(&fields, "ref", "STREAM/SEQUENCE", problems).unwrap_or_default();
    Some(ArtifactDocument::new(reference, (kind, artifact), standing, past))
}

/// Puts what are fields of the artifact among the keys where they belong.
fn put_back(fields: &Fields<'_>, kind: &str, artifact: &mut Value, problems: &mut Problems) {
    for key in KEYS {
        let (Some(node), Some(path)) = (find(fields, key), home(key, kind, artifact)) else { continue };
        put(artifact, path, (node.at, value(node)), problems);
    }
}

/// Puts the text behind the front matter where `body` says that it belongs.
fn put_body(fields: &Fields<'_>, (kind, body): (&str, &str), artifact: &mut Value, problems: &mut Problems) {
    let node = find(fields, "body").filter(|node| !node.value.is_null());
    let Some(node) = node else {
        if !body.trim().is_empty() {
            let hint = match bodies(kind).first() {
                Some(path) => format!("name it in the front matter, as in `body: {}`", path.join(".")),
                None => format!("a {} has no text of its own: remove what follows the second `---`", quoted(kind)),
            };
            problems.add(fields.at, "nothing says which text of the artifact the body is", hint);
        }
        return;
    };
    let named = value(node);
    let path = bodies(kind).iter().find(|path| named.as_str() == Some(&path.join(".")));
    let Some(path) = path else {
        let known: Vec<String> = bodies(kind).iter().map(|path| format!("`{}`", path.join("."))).collect();
        let hint = if known.is_empty() { "remove the key".to_owned() } else { format!("write {}", known.join(" or ")) };
        problems.add(node.at, format!("`body` is no text of a {}", quoted(kind)), hint);
        return;
    };
    put(artifact, path, (node.at, Value::String(body.to_owned())), problems);
}

/// Puts a value where it belongs, unless there is one.
fn put(artifact: &mut Value, path: &[&str], (at, value): (Position, Value), problems: &mut Problems) {
    let Some((last, parents)) = path.split_last() else { return };
    match parent(artifact, parents) {
        Some(entries) if !entries.contains_key(*last) => {
            entries.insert((*last).to_owned(), value);
        }
        Some(_) => {
            let message = format!("`{}` is given twice: here, and in `artifact`", path.join("."));
            problems.add(at, message, "keep the one in the front matter, or the body");
        }
        None => {
            let message = format!("`artifact` has no `{}` that this could be a part of", parents.join("."));
            problems.add(at, message, LEAST);
        }
    }
}

/// Looks at what follows from other keys. It is not believed.
fn claims(fields: &Fields<'_>, problems: &mut Problems) {
    let status = find(fields, "status").map(|node| (node.at, value(node)));
    let is_known = |word: &Value| ArtifactStatus::ALL.iter().any(|status| word == status.as_str());
    if let Some((at, _)) = status.filter(|(_, word)| !word.is_null() && !is_known(word)) {
        let words = ArtifactStatus::ALL.map(|status| format!("`{status}`"));
        problems.add(at, "`status` is none of its words", format!("write one of {}", words.join(", ")));
    }
    let _: Option<bool> = typed(fields, "handoff_ready", "true or false", problems);
    let _: Option<Timestamp> = typed(fields, "completed_at", "a time, as 2026-01-16T10:45:00Z", problems);
}

fn past(fields: &Fields<'_>, kind: &str, artifact: &Value, problems: &mut Problems) -> TurnPast {
    let mut text = |key: &str| {
        let own = home(key, kind, artifact).is_some();
        if own { None } else { typed(fields, key, "a text", problems) }
    };
    let (waypoint, gate, title) = (text("id"), text("stage"), text("title"));
    let last_failure = text("last_failure");
    let own_count = home("retry_count", kind, artifact).is_some();
    let retry_count = if own_count { None } else { typed(fields, "retry_count", "a whole number from 0", problems) };
    let started_at = typed(fields, "started_at", "a time, as 2026-01-16T10:00:00Z", problems);
    let required = typed(fields, "required", "a list of names", problems);
    let is_own = home("checkpoints", kind, artifact).is_some();
    let checkpoints = if is_own { None } else { typed(fields, "checkpoints", "a list of results", problems) };
    let settled = checkpoints.map(|checkpoints| SettledCheckpoints {
        checkpoints,
        score: typed(fields, "score", "a whole number up to 100", problems),
        // It only takes away: what is not ready by itself is not by this word.
        let_on: typed(fields, "handoff_ready", "true or false", problems).unwrap_or(false),
    });
    TurnPast { waypoint, gate, title, started_at, retry_count, last_failure, required, settled }
}

fn find<'t>(fields: &Fields<'t>, key: &str) -> Option<&'t Node> {
    fields.entries().iter().find(|(found, _)| found.name == key).map(|(_, node)| node)
}

/// A value of the front matter; `None` also where it is null. `wanted` says what it should be.
fn typed<T: DeserializeOwned>(fields: &Fields<'_>, key: &str, wanted: &str, problems: &mut Problems) -> Option<T> {
    let node = find(fields, key).filter(|node| !node.value.is_null())?;
    // A person's `stage: 7` is a text, where a text is wanted.
    let as_text = match &node.value {
        Read::Scalar { text, .. } => serde_json::from_value(Value::String(text.clone())).ok(),
        _ => None,
    };
    let found = as_text.or_else(|| serde_json::from_value(value(node)).ok());
    if found.is_none() {
        problems.add(node.at, format!("`{key}` is not {wanted}"), format!("write {wanted}, or remove the key"));
    }
    found
}

/// A value as it is meant.
fn value(node: &Node) -> Value {
    match &node.value {
        Read::Scalar { text, plain: true } => plain(text),
        Read::Scalar { text, .. } => Value::String(text.clone()),
        Read::List(items) => items.iter().map(value).collect(),
        Read::Map(entries) => {
            let entries = entries.iter().map(|(key, node)| (key.name.clone(), value(node)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Read::Refused => Value::Null,
    }
}

/// A scalar without quotes: nothing, a boolean or a number in one of their spellings, else a text.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => text.parse::<Number>().map_or_else(|_| Value::String(text.to_owned()), Value::Number),
    }
}
