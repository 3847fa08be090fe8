//! Payloads that an attacker made to hurt the reader: lengths that are lies, depth, weight, and what is behind the end.

use std::error::Error as _;

use holdpoint_protocol::{
    artifact::{BuildArtifact, HelpRequest},
    codec::{self, CodecError, DEPTH_MAX, Encoding, PAYLOAD_MAX},
    turn::Turn,
};
use serde_json::{Value, json};

use crate::samples;

/// The whole story of an error, as a log line has it.
fn told(error: &CodecError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

fn refusal<T: serde::de::DeserializeOwned>(bytes: &[u8], encoding: Encoding) -> String {
    match codec::decode::<T>(bytes, encoding) {
        Ok(_) => panic!("this was taken: {bytes:?}"),
        Err(error) => told(&error),
    }
}

fn sample(name: &str, encoding: Encoding) -> Vec<u8> {
    samples::all().into_iter().find(|kind| kind.name() == name).expect("a sample").write(encoding)
}

/// The help request of the samples with another context, in one form.
fn help(context: &Value, encoding: Encoding) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(&sample("help_request", Encoding::Json)).unwrap();
    value["context"] = context.clone();
    match encoding {
        Encoding::Json => serde_json::to_vec(&value).unwrap(),
        Encoding::MsgPack => rmp_serde::to_vec_named(&value).unwrap(),
    }
}

/// A payload in which `name` has a value of these raw bytes of MessagePack, and nothing else is.
fn packed(name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x81, 0xa0 | u8::try_from(name.len()).unwrap()];
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(value);
    bytes
}

#[test]
fn lengths_of_messagepack_that_are_lies_are_refused() {
    // Arrays, maps, texts, bytes and extensions that claim 2^32 - 1 items, of which none is there.
    for marker in [0xdd, 0xdf, 0xdb, 0xc6, 0xc9] {
        for name in ["source_refs", "context", "metadata", "unknown"] {
            let bytes = packed(name, &[marker, 0xff, 0xff, 0xff, 0xff]);
            assert!(codec::decode::<HelpRequest>(&bytes, Encoding::MsgPack).is_err(), "{marker:x} {name}");
            assert!(codec::decode::<Value>(&bytes, Encoding::MsgPack).is_err(), "{marker:x} {name}");
        }
        assert!(codec::decode::<BuildArtifact>(&[marker, 0xff, 0xff, 0xff, 0xff], Encoding::MsgPack).is_err());
    }
}

#[test]
fn nesting_is_bounded_in_both_forms_on_the_smallest_stack() {
    // A thread of the async runtime has 2 MiB of stack, as this one has; a test's thread may have more.
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let run = small.spawn(|| {
        for depth in [DEPTH_MAX, 1_000, 10_000, 1_000_000] {
            let lists = [b"[".repeat(depth), b"]".repeat(depth)].concat();
            let json = [br#"{"context":"#.to_vec(), lists, b"}".to_vec()].concat();
            let list = packed("context", &[vec![0x91; depth], vec![0xc0]].concat());
            let maps = packed("context", &[[0x81, 0xa1, b'a'].repeat(depth), vec![0xc0]].concat());
            for (bytes, encoding) in [(json, Encoding::Json), (list, Encoding::MsgPack), (maps, Encoding::MsgPack)] {
                assert!(refusal::<HelpRequest>(&bytes, encoding).contains("deeper"), "{encoding:?} {depth}");
                assert!(refusal::<Turn>(&bytes, encoding).contains("deeper"), "{encoding:?} {depth}");
                assert!(refusal::<Value>(&bytes, encoding).contains("deeper"), "{encoding:?} {depth}");
            }
        }
    });
    run.unwrap().join().unwrap();
}

#[test]
fn what_an_agent_may_nest_still_fits_into_an_answer_to_an_operator() {
    let nested = |depth: usize| (0..depth).fold(json!("x"), |inner, _| json!([inner]));
    for encoding in [Encoding::Json, Encoding::MsgPack] {
        let taken: HelpRequest = codec::decode(&help(&nested(32), encoding), encoding).unwrap();
        let history = json!({"lines": [{"artifact": taken}]});
        let answer = codec::encode(&history, encoding).unwrap();
        assert_eq!(codec::decode::<Value>(&answer, encoding).unwrap(), history);
        assert!(refusal::<HelpRequest>(&help(&nested(33), encoding), encoding).contains("32 levels"));
    }
}

#[test]
fn what_is_behind_the_end_of_a_payload_is_refused() {
    for encoding in [Encoding::Json, Encoding::MsgPack] {
        let bytes = sample("help_request", encoding);
        assert!(codec::decode::<HelpRequest>(&bytes, encoding).is_ok());
        let twice = [bytes.clone(), bytes.clone()].concat();
        for longer in [[bytes, b"\0".to_vec()].concat(), twice] {
            let told = refusal::<HelpRequest>(&longer, encoding);
            assert!(told.contains("after its end") || told.contains("trailing"), "{told}");
        }
    }
}

#[test]
fn a_payload_is_a_map_and_its_keys_are_texts() {
    assert!(refusal::<Value>(b"[]", Encoding::Json).contains("not a map"));
    assert!(refusal::<Value>(&[0x90], Encoding::MsgPack).contains("not a map"));
    // Keys that are a number, a list, and bytes.
    for key in [&[0x01][..], &[0x90], &[0xc4, 0x01, b'a']] {
        let bytes = [&[0x81], key, &[0xc0]].concat();
        assert!(codec::decode::<Value>(&bytes, Encoding::MsgPack).is_err(), "{key:?}");
    }
}

#[test]
fn a_field_that_is_there_twice_is_refused() {
    let json = String::from_utf8(sample("help_request", Encoding::Json)).unwrap();
    let twice = json.replacen('{', r#"{"schema_version":"1.0","#, 1);
    assert!(refusal::<HelpRequest>(twice.as_bytes(), Encoding::Json).contains("duplicate field"));
}

#[test]
fn a_version_that_is_none_is_refused_by_that_name() {
    for text in ["", "1", "1.x", "-1.0", "1.0.0", "65536.0", "１.0"] {
        let bytes = serde_json::to_vec(&json!({"schema_version": text})).unwrap();
        let told = refusal::<HelpRequest>(&bytes, Encoding::Json);
        assert!(told.contains("is not a schema version"), "{told}");
    }
}

#[test]
fn a_payload_past_the_limit_is_refused_unread() {
    let bytes = vec![b' '; PAYLOAD_MAX + 1];
    assert!(matches!(codec::decode::<Value>(&bytes, Encoding::Json), Err(CodecError::TooLarge { .. })));
}
