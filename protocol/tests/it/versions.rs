//! What a reader makes of files from other versions (FLY-14, FLY-37).

use std::error::Error as _;

use holdpoint_protocol::{
    codec::{CodecError, Encoding, PAYLOAD_MAX, decode},
    journal::Entry,
};
use serde_json::Value;

use crate::samples;

/// Values that carry what others wrote, maps by names, and enums written as a map of one key: an added field would be content there.
const OPAQUE: [&str; 14] = [
    "metadata", "data", "tests", "context", "artifact", "purpose", "trust", "headers", "details", "task", "warning",
    "listed", "given", "env",
];

/// Adds a field that no type knows to every object.
fn with_unknown_fields(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.iter_mut().filter(|(k, _)| !OPAQUE.contains(&k.as_str())).for_each(|(_, v)| with_unknown_fields(v));
            map.insert("zz_of_a_later_version".to_owned(), serde_json::json!({"a": [1, null, "b"]}));
        }
        Value::Array(items) => items.iter_mut().for_each(with_unknown_fields),
        _ => {}
    }
}

fn packed(value: &Value) -> Vec<u8> {
    rmp_serde::to_vec_named(value).unwrap()
}

fn sample_value(kind: &dyn samples::Kind) -> Value {
    serde_json::from_slice(&kind.write(Encoding::Json)).unwrap()
}

#[test]
fn unknown_fields_are_ignored_at_every_depth_in_both_forms() {
    for kind in samples::all() {
        let mut value = sample_value(kind.as_ref());
        with_unknown_fields(&mut value);
        let json = serde_json::to_vec(&value).unwrap();
        assert!(kind.reads_as_sample(&json, Encoding::Json).unwrap(), "{}", kind.name());
        assert!(kind.reads_as_sample(&packed(&value), Encoding::MsgPack).unwrap(), "{}", kind.name());
    }
}

#[test]
fn a_newer_major_version_is_refused_by_name_and_a_newer_minor_one_is_read() {
    let versioned: Vec<_> =
        samples::all().into_iter().filter(|k| sample_value(k.as_ref()).get("schema_version").is_some()).collect();
    assert!(versioned.len() >= 13, "all artifacts and entries carry a version");
    for kind in versioned {
        let mut value = sample_value(kind.as_ref());
        value["schema_version"] = "1.999".into();
        kind.rewrite(&serde_json::to_vec(&value).unwrap(), Encoding::Json, Encoding::Json).unwrap();

        // Its shape may have changed altogether: the version is looked at first.
        let newer = serde_json::json!({"schema_version": "2.0", "renamed": true});
        for (bytes, encoding) in
            [(serde_json::to_vec(&newer).unwrap(), Encoding::Json), (packed(&newer), Encoding::MsgPack)]
        {
            let error = kind.rewrite(&bytes, encoding, encoding).unwrap_err();
            assert!(matches!(error, CodecError::Version(_)), "{}: {error:?}", kind.name());
            let cause = error.source().unwrap().to_string();
            assert!(cause.contains("2.0 is newer than 1.0") && cause.contains("update this program"), "{cause}");
        }
    }
}

#[test]
fn a_signed_turn_reads_as_any_and_one_of_a_newer_version_is_refused_by_name() {
    const SUBJECT: &str = "hp.v1.journal.demo-1.w1.turn.builder.medium";
    let kind = samples::all().into_iter().find(|kind| kind.name() == "turn").unwrap();
    let read = |value: &Value| Entry::decode_signed(SUBJECT, &serde_json::to_vec(value).unwrap(), None);
    let mut value = sample_value(kind.as_ref());
    let Entry::Turn(turn) = read(&value).unwrap() else { panic!("a turn") };
    assert_eq!(serde_json::to_value(&turn).unwrap(), value);
    let newer = serde_json::json!({"schema_version": "2.0", "renamed": true});
    value["schema_version"] = "2.0".into();
    for value in [&value, &newer] {
        let error = read(value).unwrap_err();
        assert!(matches!(error, CodecError::Version(_)), "{error:?}");
    }
    let error = read(&serde_json::json!({"schema_version": "1.0"})).unwrap_err();
    assert!(matches!(error, CodecError::Shape(_)), "{error:?}");
}

#[test]
fn a_payload_past_the_limit_or_of_another_content_type_is_refused() {
    let long = serde_json::to_vec(&"x".repeat(PAYLOAD_MAX)).unwrap();
    assert!(matches!(decode::<Value>(&long, Encoding::Json), Err(CodecError::TooLarge { .. })));
    assert!(matches!(Encoding::from_content_type(Some("text/html")), Err(CodecError::ContentType { .. })));
    assert_eq!(Encoding::from_content_type(None).unwrap(), Encoding::Json);
    for encoding in [Encoding::Json, Encoding::MsgPack] {
        assert_eq!(Encoding::from_content_type(Some(encoding.content_type())).unwrap(), encoding);
    }
}

#[test]
fn what_is_not_of_the_shape_is_an_error_and_never_a_panic() {
    for kind in samples::all() {
        for encoding in [Encoding::Json, Encoding::MsgPack] {
            let whole = kind.write(encoding);
            for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
                assert!(kind.rewrite(&whole[..cut], encoding, encoding).is_err(), "{} cut at {cut}", kind.name());
            }
            assert!(kind.rewrite(b"[]", Encoding::Json, Encoding::Json).is_err(), "{}", kind.name());
        }
    }
}
