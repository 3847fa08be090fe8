//! Version 1.0 as it was released: each of its messages is read for ever, and its readers read what is written today (FLY-14, FLY-37).
//!
//! `frozen/1.0.json.gz` has the schemas and the goldens of that version, and is never changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fs::{self, File},
    process, thread,
};

use flate2::{Compression, GzBuilder, read::GzDecoder};
use holdpoint_protocol::{codec::Encoding, schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{files, samples};

/// Set to write the file of a version that has none.
const FREEZE: &str = "HOLDPOINT_FREEZE";
/// What a schema says to people.
const WORDS: [&str; 6] = ["$id", "$schema", "default", "description", "examples", "title"];
/// Maps by names in a schema.
const MAPS: [&str; 2] = ["$defs", "properties"];

/// A version as it was released.
#[derive(Debug, Serialize, Deserialize)]
struct Frozen {
    schemas: BTreeMap<String, Value>,
    goldens: BTreeMap<String, Value>,
}

fn today() -> Frozen {
    let schemas = schema::all().into_iter().map(|(name, schema)| (name.to_owned(), schema.to_value()));
    let golden = |kind: &dyn samples::Kind| serde_json::from_slice(&kind.write(Encoding::Json)).unwrap();
    let goldens = samples::all().into_iter().map(|kind| (kind.name().to_owned(), golden(kind.as_ref())));
    Frozen { schemas: schemas.collect(), goldens: goldens.collect() }
}

fn released() -> Frozen {
    let path = files::path("frozen", "1.0.json.gz");
    if env::var_os(FREEZE).is_some() && !path.exists() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Other tests look for it meanwhile.
        let begun = path.with_extension(format!("{}-{:?}", process::id(), thread::current().id()));
        let packed = GzBuilder::new().mtime(0).write(File::create(&begun).unwrap(), Compression::best());
        serde_json::to_writer(packed, &today()).unwrap();
        fs::rename(begun, &path).unwrap();
    }
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_reader(GzDecoder::new(file)).unwrap()
}

/// Where the second value lacks something of the first.
fn lost(before: &Value, now: &Value, place: &str) -> Option<String> {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => before.iter().find_map(|(key, value)| match now.get(key) {
            Some(now) => lost(value, now, &format!("{place}/{key}")),
            None => Some(format!("{place}/{key} is gone")),
        }),
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            before.iter().zip(now).enumerate().find_map(|(n, (before, now))| lost(before, now, &format!("{place}/{n}")))
        }
        _ => (before != now).then(|| format!("{place}: {before} became {now}")),
    }
}

#[test]
fn every_message_of_version_1_0_is_read_and_still_says_what_it_said() {
    let kinds = samples::all();
    for (name, golden) in released().goldens {
        let kind = kinds.iter().find(|kind| kind.name() == name).unwrap_or_else(|| panic!("no sample of {name}"));
        let bytes = serde_json::to_vec(&golden).unwrap();
        for form in [Encoding::Json, Encoding::MsgPack] {
            let bytes = if form == Encoding::Json { bytes.clone() } else { rmp_serde::to_vec_named(&golden).unwrap() };
            let again = kind.rewrite(&bytes, form, Encoding::Json).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(lost(&golden, &serde_json::from_slice(&again).unwrap(), &name), None);
        }
    }
}

/// What a schema has no more, has changed, or asks for in addition. `names` says that it is a map by names, to which later
/// versions may add.
fn broken(before: &Value, now: &Value, names: bool, place: &str) -> Option<String> {
    let keys = |map: &Map<String, Value>| -> BTreeSet<String> {
        map.keys().filter(|key| names || !WORDS.contains(&key.as_str())).cloned().collect()
    };
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let (had, has) = (keys(before), keys(now));
            if !had.is_subset(&has) || (!names && had != has) {
                return Some(format!("{place}: {had:?} became {has:?}"));
            }
            had.iter().find_map(|key| {
                let (before, now, place) = (&before[key], &now[key], format!("{place}/{key}"));
                if !names && key == "required" {
                    let sorted =
                        |list: &Value| list.as_array().unwrap().iter().map(Value::to_string).collect::<BTreeSet<_>>();
                    return (sorted(before) != sorted(now)).then(|| format!("{place}: {before} became {now}"));
                }
                broken(before, now, !names && MAPS.contains(&key.as_str()), &place)
            })
        }
        (Value::Array(had), Value::Array(has)) if had.len() == has.len() => {
            had.iter().zip(has).enumerate().find_map(|(n, (had, has))| broken(had, has, false, &format!("{place}/{n}")))
        }
        _ => (before != now).then(|| format!("{place}: {before} became {now}")),
    }
}

#[test]
fn schemas_of_version_1_0_have_grown_by_what_nobody_has_to_know() {
    let now = today().schemas;
    for (name, before) in released().schemas {
        let now = now.get(&name).unwrap_or_else(|| panic!("the schema {name} is gone"));
        assert_eq!(broken(&before, now, false, &name), None);
    }
}

#[test]
fn what_breaks_a_reader_or_a_writer_of_an_earlier_version_is_found() {
    let before = serde_json::json!({
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string", "enum": ["x"]}, "b": {"$ref": "#/$defs/B"}, "title": {"type": "string"}},
        "$defs": {"B": {"oneOf": [{"const": "y"}]}},
    });
    let with = |change: fn(&mut Value)| {
        let mut now = before.clone();
        change(&mut now);
        broken(&before, &now, false, "it")
    };
    assert_eq!(with(|now| now["properties"]["c"] = serde_json::json!({"type": "string"})), None);
    assert_eq!(with(|now| now["$defs"]["C"] = serde_json::json!({"type": "string"})), None);
    assert_eq!(with(|now| now["properties"]["a"]["description"] = "of late".into()), None);
    let breaks: [fn(&mut Value); 8] = [
        |now| now["required"] = serde_json::json!(["a", "b"]),
        |now| now["required"] = serde_json::json!([]),
        |now| now["properties"]["a"]["type"] = "integer".into(),
        |now| now["properties"]["a"]["enum"] = serde_json::json!(["x", "z"]),
        |now| now["properties"]["a"]["maxLength"] = 3.into(),
        |now| now["$defs"]["B"]["oneOf"] = serde_json::json!([{"const": "y"}, {"const": "z"}]),
        |now| drop(now["properties"].as_object_mut().unwrap().remove("b")),
        |now| drop(now["properties"].as_object_mut().unwrap().remove("title")),
    ];
    for change in breaks {
        assert!(with(change).is_some());
    }
    let golden = serde_json::json!({"a": [{"b": 1}]});
    assert_eq!(lost(&golden, &serde_json::json!({"a": [{"b": 1, "c": 2}], "d": 3}), "it"), None);
    for now in [serde_json::json!({"a": [{}]}), serde_json::json!({"a": []}), serde_json::json!({"a": [{"b": 2}]})] {
        assert!(lost(&golden, &now, "it").is_some());
    }
}
