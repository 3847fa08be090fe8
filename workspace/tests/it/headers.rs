//! Headers of bundle files that others wrote: read as they are, or refused, before git sees the file.

use holdpoint_workspace::{ObjectFormat, ObjectId, bundle::parse_header};
use proptest::{collection::vec, prelude::*, sample::Index, test_runner::FileFailurePersistence};

fn config() -> ProptestConfig {
    let failure_persistence = Some(Box::new(FileFailurePersistence::Off) as _);
    ProptestConfig { cases: 512, failure_persistence, ..ProptestConfig::default() }
}

fn oid() -> impl Strategy<Value = ObjectId> {
    "[0-9a-f]{40}|[0-9a-f]{64}".prop_map(|digits| digits.parse().unwrap())
}

/// The bytes of a header, and what they say: prerequisites, references, number of objects.
type Written = (Vec<u8>, Vec<ObjectId>, Vec<(String, ObjectId)>, u32);

/// A header as git writes it.
fn header() -> impl Strategy<Value = Written> {
    (vec(oid(), 0..4), vec(("refs/[a-z/]{1,20}", oid()), 0..4), any::<u32>()).prop_map(
        |(prerequisites, refs, objects)| {
            let mut bytes = b"# v2 git bundle\n".to_vec();
            prerequisites.iter().for_each(|oid| bytes.extend_from_slice(format!("-{oid} a subject\n").as_bytes()));
            refs.iter().for_each(|(name, oid)| bytes.extend_from_slice(format!("{oid} {name}\n").as_bytes()));
            bytes.extend_from_slice(b"\nPACK\0\0\0\x02");
            bytes.extend_from_slice(&objects.to_be_bytes());
            (bytes, prerequisites, refs, objects)
        },
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_header_says_what_was_written((bytes, prerequisites, refs, objects) in header()) {
        let read = parse_header(&bytes).unwrap();
        prop_assert_eq!((read.prerequisites, read.refs), (prerequisites, refs));
        prop_assert_eq!((read.objects, read.format), (objects, ObjectFormat::Sha1));
    }

    #[test]
    fn a_header_that_was_cut_or_changed_is_refused_or_another(
        (bytes, ..) in header(),
        at in any::<Index>(),
        by in prop_oneof![any::<u8>(), Just(b'\n'), Just(b' '), Just(b'-'), Just(b'@'), Just(0)],
    ) {
        let at = at.index(bytes.len());
        prop_assert!(parse_header(&bytes[..at]).is_err(), "every part of it is needed");
        let mut changed = bytes;
        changed[at] = by;
        if let Ok(read) = parse_header(&changed) {
            prop_assert!(read.refs.len() + read.prerequisites.len() <= changed.len() / 40);
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in vec(any::<u8>(), 0..200), v3 in any::<bool>()) {
        let _ = parse_header(&bytes);
        let signature: &[u8] = if v3 { b"# v3 git bundle\n" } else { b"# v2 git bundle\n" };
        let _ = parse_header(&[signature, &bytes].concat());
    }
}
