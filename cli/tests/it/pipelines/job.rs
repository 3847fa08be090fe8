//! What a runner does with the files that people include in their pipelines: reads them, puts inputs in, and runs their scripts.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

/// Variables of a step.
pub(super) type Variables<'a> = [(&'a str, String)];

/// The documents of a YAML file of the repository.
pub(super) fn documents(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(file);
    let text = fs::read_to_string(path).unwrap();
    let events: Vec<Event<'_>> = Parser::new_from_str(&text).map(|event| event.unwrap().0).collect();
    let mut events = events.into_iter();
    let mut documents = Vec::new();
    while let Some(event) = events.next() {
        if matches!(event, Event::DocumentStart(_)) {
            documents.push(node(&mut events).unwrap());
        }
    }
    documents
}

/// The next node; `None`: its collection ends. Every scalar is a text.
fn node<'a>(events: &mut impl Iterator<Item = Event<'a>>) -> Option<Value> {
    match events.next()? {
        Event::Scalar(text, ..) => Some(Value::String(text.into_owned())),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            while let Some(item) = node(events) {
                items.push(item);
            }
            Some(Value::Array(items))
        }
        Event::MappingStart(..) => {
            let mut entries = Map::new();
            while let Some(key) = node(events) {
                entries.insert(key.as_str().unwrap().to_owned(), node(events)?);
            }
            Some(Value::Object(entries))
        }
        Event::SequenceEnd | Event::MappingEnd => None,
        other => panic!("{other:?} is not expected"),
    }
}

/// A text with inputs in the place of `begin` NAME `end`, which are given or have defaults.
pub(super) fn filled(text: &str, (begin, end): (&str, &str), inputs: &Value, given: &[(&str, &str)]) -> String {
    let mut filled = text.to_owned();
    for (name, input) in inputs.as_object().unwrap() {
        let value = given
            .iter()
            .find(|(given, _)| given == name)
            .map_or_else(|| input["default"].as_str().unwrap(), |given| given.1);
        filled = filled.replace(&format!("{begin}{name}{end}"), value);
    }
    filled
}

/// What a job printed, and its exit code.
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) log: String,
}

/// Runs a script as runners do, in a checkout, with these variables and no others.
pub(super) fn run(dir: &Path, script: &str, variables: &Variables<'_>) -> Ended {
    let executable = PathBuf::from(env!("CARGO_BIN_EXE_holdpoint"));
    let path = format!("{}:{}", executable.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]).current_dir(dir).env_clear();
    let output = command.env("PATH", path).envs(variables.iter().cloned()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: output.status.code(), log: text(&output.stderr) + &text(&output.stdout) }
}
