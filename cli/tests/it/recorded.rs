//! Flights that earlier builds flew: what they wrote is read, folded and found sound for ever (CONTRIBUTING.md, "Recorded flights").

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use holdpoint_engine::{
    audit::EntryLine,
    flight::{self, FlightState, Waypoints},
};
use holdpoint_protocol::{
    export::{Line, Message},
    headers,
    journal::Entry,
    names::{FLIGHT_ACT_KINDS, HANDOFF_KINDS},
};
use serde_json::{Value, json};

use crate::lab::Lab;

/// What is expected of each file: how it is audited, and how it is shown.
const EXPECTED: &str = "expected.json";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

fn files() -> Vec<PathBuf> {
    let all = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|ending| ending == "gz")).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn messages(path: &Path) -> Vec<Message> {
    let lines = BufReader::new(MultiGzDecoder::new(File::open(path).unwrap())).lines();
    let read = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    read.filter_map(|line| if let Line::Message(message) = line { Some(message) } else { None }).collect()
}

/// The flight as users see it, from its entries alone.
fn view(messages: &[Message]) -> Value {
    let (mut flight, mut waypoints) = (None, Waypoints::new());
    for line in messages.iter().filter_map(|message| EntryLine::read(message, true)) {
        let entry = line.entry.unwrap();
        if let Some(id) = line.journal.waypoint {
            waypoints.insert(id, entry.record().state.clone().unwrap());
        }
        match (entry, &mut flight) {
            (Entry::Submitted(submitted), flight) => *flight = Some(FlightState::new(*submitted)),
            (entry, Some(flight)) => flight.take(&entry),
            _ => {}
        }
    }
    json!(flight::view(&flight.unwrap(), &waypoints, None, Vec::new(), |_, _| None))
}

/// Whether everything that was expected is found. There may be more: fields are added.
fn has(found: &Value, expected: &Value, at: &str) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (key, value) in expected {
                has(found.get(key).unwrap_or(&Value::Null), value, &format!("{at}.{key}"));
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{at}");
            found.iter().zip(expected).enumerate().for_each(|(n, (found, expected))| {
                has(found, expected, &format!("{at}[{n}]"));
            });
        }
        _ => assert_eq!(found, expected, "{at}"),
    }
}

#[test]
fn what_earlier_builds_wrote_is_read_shown_and_sound_as_it_was() {
    let path = folder().join(EXPECTED);
    let mut expected: BTreeMap<String, Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let (lab, update) = (Lab::new(), std::env::var_os("HOLDPOINT_UPDATE_GOLDEN").is_some());
    for file in files() {
        let audit = lab.run(&["audit", file.to_str().unwrap(), "--json"]);
        assert_eq!(audit.code, Some(0), "{}: {}{}", file.display(), audit.stdout, audit.stderr);
        let found = json!({"audit": audit.json(), "view": view(&messages(&file))});
        if update && !expected.contains_key(&name(&file)) {
            expected.insert(name(&file), found.clone());
        }
        has(&found, &expected[&name(&file)], &name(&file));
    }
    if update {
        fs::write(&path, serde_json::to_string_pretty(&expected).unwrap() + "\n").unwrap();
    }
    assert_eq!(expected.keys().cloned().collect::<Vec<_>>(), files().iter().map(|file| name(file)).collect::<Vec<_>>());
}

#[test]
fn recorded_flights_have_every_kind_of_entry_handoff_and_act() {
    let mut kinds = BTreeSet::new();
    for message in files().iter().flat_map(|file| messages(file)) {
        let schema = message.header(headers::SCHEMA).unwrap();
        kinds.insert(schema.split('/').next().unwrap().to_owned());
    }
    // `retired` is the one entry that is in no export: the others of its flight are gone.
    let entries =
        ["submitted", "turn", "decided", "landed", "answered", "steered", "dead", "queued", "reserved", "added"];
    let acts = ["clarification_response", "retry", "take", "release", "hand_in"];
    let wanted = entries.into_iter().chain(HANDOFF_KINDS).chain(FLIGHT_ACT_KINDS).chain(acts);
    let missing: Vec<&str> = wanted.filter(|kind| !kinds.contains(*kind)).collect();
    assert!(missing.is_empty(), "no recorded flight has {missing:?}; it has {kinds:?}");
}

#[test]
fn a_compressed_file_that_is_cut_off_or_damaged_is_an_account_that_is_not_sound() {
    let (lab, whole) = (Lab::new(), fs::read(&files()[0]).unwrap());
    let place = lab.path("export.jsonl.gz");
    let mut flipped = whole.clone();
    let middle = whole.len() / 2;
    flipped[middle..middle + 64].iter_mut().for_each(|byte| *byte ^= 0x5a);
    for (what, bytes) in [("cut off", &whole[..middle]), ("damaged", &flipped)] {
        fs::write(&place, bytes).unwrap();
        let audited = lab.run(&["audit", "export.jsonl.gz", "--json"]);
        let found = audited.json()["findings"].to_string();
        assert_eq!((audited.code, &audited.json()["sound"]), (Some(1), &false.into()), "{what}: {}", audited.stderr);
        assert!(found.contains("compressed bytes that are damaged or cut off"), "{what}: {found}");
    }
    fs::write(&place, &whole[..12]).unwrap();
    lab.run(&["audit", "export.jsonl.gz"]).refuses(2, &["cannot read export.jsonl.gz"]);
}
