//! What Git LFS leaves in the place of a file. Pure.

/// Bytes that a pointer has at most.
pub(crate) const POINTER_BYTES_MAX: usize = 1024;
/// The name of its filter.
pub(crate) const FILTER: &str = "lfs";

/// Whether these bytes are a pointer and nothing else, as Git LFS writes it.
pub(crate) fn is_pointer(bytes: &[u8]) -> bool {
    let read = || {
        let text = std::str::from_utf8(bytes).ok()?.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?;
        let (digest, size) = text.strip_prefix("oid sha256:")?.strip_suffix('\n')?.split_once("\nsize ")?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        Some(is_digest && size.parse::<u64>().is_ok_and(|bytes| bytes.to_string() == size))
    };
    bytes.len() <= POINTER_BYTES_MAX && read().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_known_by_its_exact_bytes() {
        let digest = "0a".repeat(32);
        let pointer = |version: &str, oid: &str, size: &str| format!("version {version}\noid {oid}\nsize {size}\n");
        let (version, oid) = ("https://git-lfs.github.com/spec/v1", format!("sha256:{digest}"));
        let good = pointer(version, &oid, "12345");
        assert!(is_pointer(good.as_bytes()) && is_pointer(pointer(version, &oid, "0").as_bytes()));
        for bad in [
            String::new(),
            good.trim_end().to_owned(),
            format!("{good}\n"),
            format!("{good}secret\n"),
            format!("\u{feff}{good}"),
            good.replace('\n', "\r\n"),
            pointer("https://example.org/spec/v1", &oid, "1"),
            pointer(version, &format!("sha1:{digest}"), "1"),
            pointer(version, &format!("sha256:{}", &digest[1..]), "1"),
            pointer(version, &oid.to_uppercase().replace("SHA", "sha"), "1"),
            pointer(version, &oid, "01"),
            pointer(version, &oid, "+1"),
            pointer(version, &oid, "1\nx y"),
            pointer(version, &oid, ""),
        ] {
            assert!(!is_pointer(bad.as_bytes()), "{bad:?}");
        }
    }
}
