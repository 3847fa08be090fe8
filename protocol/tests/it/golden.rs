//! Old reader, new file and the other way round: every stored golden reads back and is written the same.

use std::collections::BTreeSet;

use holdpoint_protocol::codec::Encoding;
use serde_json::Value;

use crate::{files, samples};

fn pretty(json: &[u8]) -> Vec<u8> {
    let value: Value = serde_json::from_slice(json).unwrap();
    let mut text = serde_json::to_vec_pretty(&value).unwrap();
    text.push(b'\n');
    text
}

fn value(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap()
}

#[test]
fn every_json_golden_reads_back_and_is_written_the_same() {
    for kind in samples::all() {
        let name = format!("{}.json", kind.name());
        let stored = files::stored("golden", &name, &pretty(&kind.write(Encoding::Json)));
        assert!(kind.reads_as_sample(&stored, Encoding::Json).unwrap(), "{name} says something else than the sample");
        assert_eq!(value(&kind.rewrite(&stored, Encoding::Json, Encoding::Json).unwrap()), value(&stored), "{name}");
    }
}

#[test]
fn every_messagepack_golden_reads_back_and_is_written_the_same() {
    for kind in samples::all() {
        let name = format!("{}.msgpack", kind.name());
        let stored = files::stored("golden", &name, &kind.write(Encoding::MsgPack));
        assert!(
            kind.reads_as_sample(&stored, Encoding::MsgPack).unwrap(),
            "{name} says something else than the sample"
        );
        assert_eq!(kind.rewrite(&stored, Encoding::MsgPack, Encoding::MsgPack).unwrap(), stored, "{name}");
    }
}

#[test]
fn json_and_messagepack_carry_the_same_content() {
    for kind in samples::all() {
        let (json, packed) = (kind.write(Encoding::Json), kind.write(Encoding::MsgPack));
        assert_eq!(kind.rewrite(&json, Encoding::Json, Encoding::MsgPack).unwrap(), packed, "{}", kind.name());
        let back = kind.rewrite(&packed, Encoding::MsgPack, Encoding::Json).unwrap();
        assert_eq!(value(&back), value(&json), "{}", kind.name());
    }
}

#[test]
fn no_golden_is_left_of_a_type_that_is_gone() {
    let wanted: BTreeSet<String> =
        samples::all().iter().flat_map(|k| [format!("{}.json", k.name()), format!("{}.msgpack", k.name())]).collect();
    let surplus: Vec<String> = files::names("golden").into_iter().filter(|n| !wanted.contains(n)).collect();
    assert_eq!(surplus, Vec::<String>::new());
}
