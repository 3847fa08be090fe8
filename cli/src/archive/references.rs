//! Which blobs do messages name? Found in their bytes, without decoding them: whatever names a blob names it by its digest as text, in
//! JSON as in MessagePack, and what cannot be read may name one as well.
//!
//! More may be found than is meant: digests of texts and of entries look the same. A blob that is kept without need costs room,
//! and one that is deleted with need costs work.

use holdpoint_protocol::Digest;
use memchr::memmem;

/// How a digest begins.
const BEGINS: &[u8] = b"sha256:";
/// Its hex digits.
const DIGITS: usize = 64;

/// Every digest that is named in these bytes, in order; one that is named twice comes twice.
pub(super) fn named(bytes: &[u8]) -> impl Iterator<Item = Digest> {
    let begins = memmem::find_iter(bytes, BEGINS).map(|at| at + BEGINS.len());
    begins.filter_map(|at| {
        let digits = std::str::from_utf8(bytes.get(at..at + DIGITS)?).ok()?;
        Digest::from_hex(digits).ok()
    })
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::codec::{self, Encoding};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(bytes: &[u8]) -> Vec<Digest> {
        named(bytes).collect()
    }

    #[test]
    fn digests_are_found_in_both_encodings_and_in_text_that_cannot_be_read() {
        let [one, two] = [b"one", b"two"].map(|bytes| Digest::of(bytes));
        let value = json!({"blob": {"digest": one}, "words": format!("see {two}, or {one}.")});
        for encoding in [Encoding::Json, Encoding::MsgPack] {
            assert_eq!(found(&codec::encode(&value, encoding).unwrap()), [one, two, one]);
        }
        let broken = format!("\u{fffd}{{{one}{two}");
        assert_eq!(found(broken.as_bytes()), [one, two]);
    }

    #[test]
    fn what_only_begins_like_a_digest_hides_none_behind_it() {
        let digest = Digest::of(b"one");
        for before in ["sha256:", "sha256:sha256:", "sha256:00ff ", "SHA256:", "sha256:é"] {
            assert_eq!(found(format!("{before}{digest}").as_bytes()), [digest], "{before}");
        }
        let cut = digest.to_string();
        assert!(found(&cut.as_bytes()[..cut.len() - 1]).is_empty() && found(b"").is_empty());
    }

    proptest! {
        #[test]
        fn every_digest_between_any_bytes_is_found(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), any::<u64>()), 0..8)
        ) {
            let mut bytes = Vec::new();
            let mut wanted = Vec::new();
            for (noise, seed) in parts {
                bytes.extend(noise);
                let digest = Digest::of(&seed.to_le_bytes());
                bytes.extend(digest.to_string().into_bytes());
                wanted.push(digest);
            }
            prop_assert_eq!(found(&bytes), wanted);
        }
    }
}
