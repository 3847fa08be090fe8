//! Arbitrary bytes, and the goldens with bytes changed, put in and taken out: all are read or refused, and what is read
//! means the same after it was written again.

use holdpoint_protocol::codec::Encoding;
use proptest::{prelude::*, sample::Index, test_runner::FileFailurePersistence};
use serde_json::Value;

use crate::samples::{self, Kind};

/// Cases of a property. The fuzz targets try the same for as long as one likes.
const CASES: u32 = 400;

fn config() -> ProptestConfig {
    let failure_persistence = Some(Box::new(FileFailurePersistence::Off) as _);
    ProptestConfig { cases: CASES, failure_persistence, ..ProptestConfig::default() }
}

/// One change of a text.
#[derive(Debug, Clone)]
enum Change {
    /// Another byte in the place of one.
    Flip(Index, u8),
    /// Bytes more.
    Insert(Index, Vec<u8>),
    /// Bytes less.
    Delete(Index, usize),
    /// A part once more.
    Repeat(Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<Index>;
    // Bytes that mean something in one of the forms are likelier than others.
    let byte = || {
        prop_oneof![
            any::<u8>(),
            prop::sample::select(b"\"{}[]:,0-.e\\u\x80\x81\x90\x91\xa0\xc0\xc4\xcb\xdd\xdf\xff".to_vec())
        ]
    };
    prop_oneof![
        4 => (place(), byte()).prop_map(|(at, byte)| Change::Flip(at, byte)),
        2 => (place(), prop::collection::vec(byte(), 1..5)).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        2 => (place(), 1..9_usize).prop_map(|(at, length)| Change::Delete(at, length)),
        1 => (place(), 1..40_usize).prop_map(|(at, length)| Change::Repeat(at, length)),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        if bytes.is_empty() {
            return bytes;
        }
        match change {
            Change::Flip(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Change::Insert(at, more) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
            Change::Delete(at, length) => {
                let at = at.index(bytes.len());
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Change::Repeat(at, length) => {
                let at = at.index(bytes.len());
                bytes.extend_from_within(at..(at + length).min(bytes.len()));
            }
        }
    }
    bytes
}

/// Reads the bytes as a kind. A value that can be read is written in both forms, and means the same when it is read
/// back.
fn assert_stable(kind: &dyn Kind, bytes: &[u8], encoding: Encoding) {
    let name = kind.name();
    let Ok(json) = kind.rewrite(bytes, encoding, Encoding::Json) else { return };
    let packed = kind.rewrite(bytes, encoding, Encoding::MsgPack).unwrap_or_else(|e| panic!("{name}: {e}"));
    let expected: Value = serde_json::from_slice(&json).unwrap();
    for (form, written) in [(Encoding::Json, json), (Encoding::MsgPack, packed)] {
        let back = kind.rewrite(&written, form, Encoding::Json).unwrap_or_else(|e| panic!("{name} from {form:?}: {e}"));
        assert_eq!(serde_json::from_slice::<Value>(&back).unwrap(), expected, "{name} by way of {form:?}: {expected}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn changed_goldens_are_refused_or_mean_something(
        which in any::<Index>(),
        packed in any::<bool>(),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let encoding = if packed { Encoding::MsgPack } else { Encoding::Json };
        let kinds = samples::all();
        let kind = which.get(&kinds);
        assert_stable(kind.as_ref(), &changed(kind.write(encoding), &changes), encoding);
    }

    #[test]
    fn one_kind_read_as_another_is_refused_or_means_something(one in any::<Index>(), other in any::<Index>(), packed in any::<bool>()) {
        let encoding = if packed { Encoding::MsgPack } else { Encoding::Json };
        let kinds = samples::all();
        assert_stable(one.get(&kinds).as_ref(), &other.get(&kinds).write(encoding), encoding);
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_mean_something(which in any::<Index>(), bytes in prop::collection::vec(any::<u8>(), 0..96)) {
        let kinds = samples::all();
        for encoding in [Encoding::Json, Encoding::MsgPack] {
            assert_stable(which.get(&kinds).as_ref(), &bytes, encoding);
        }
    }
}
