//! The header of a bundle, read by ourselves: refs, prerequisites and the number of objects are known, and refused,
//! before git touches the file. The format is the one of git's `gitformat-bundle(5)` and `gitformat-pack(5)`.

use std::io::Read;
use std::path::Path;

use crate::error::{InputRefusal, WorkspaceError};
use crate::limits::BUNDLE_HEADER_BYTES_MAX;
use crate::oid::{ObjectFormat, ObjectId};

/// Bytes of a pack up to and including its number of objects: `PACK`, version, count.
const PACK_START_BYTES: usize = 12;

/// What a bundle says of itself before its objects come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleHeader {
    /// Which hash names its objects.
    pub format: ObjectFormat,
    /// Commits that have to be there already.
    pub prerequisites: Vec<ObjectId>,
    /// Its refs and what they name.
    pub refs: Vec<(String, ObjectId)>,
    /// How many objects follow, by its own word.
    pub objects: u32,
    /// Where the pack with the objects begins, in bytes from the start of the bundle.
    pub pack_at: usize,
}

/// The header of a bundle with one ref, up to where its pack begins.
pub(super) fn written(format: ObjectFormat, ref_name: &str, tip: &ObjectId, base: Option<&ObjectId>) -> String {
    let begin = match format {
        ObjectFormat::Sha1 => "# v2 git bundle\n".to_owned(),
        ObjectFormat::Sha256 => format!("# v3 git bundle\n@object-format={}\n", format.name()),
    };
    let prerequisite = base.map(|base| format!("-{base} base\n")).unwrap_or_default();
    format!("{begin}{prerequisite}{tip} {ref_name}\n\n")
}

/// Reads the header of the bundle file.
pub(crate) fn read_header(path: &Path) -> Result<BundleHeader, WorkspaceError> {
    let file = std::fs::File::open(path).map_err(WorkspaceError::io("open", path))?;
    let mut start = Vec::new();
    file.take(BUNDLE_HEADER_BYTES_MAX).read_to_end(&mut start).map_err(WorkspaceError::io("read", path))?;
    Ok(parse_header(&start).map_err(|reason| InputRefusal::NotABundle { reason })?)
}

/// Reads the header from the first bytes of a bundle.
///
/// # Errors
/// What is wrong with it.
pub fn parse_header(bytes: &[u8]) -> Result<BundleHeader, &'static str> {
    let mut rest = bytes;
    let v3 = match next_line(&mut rest)? {
        b"# v2 git bundle" => false,
        b"# v3 git bundle" => true,
        _ => return Err("no signature of a bundle"),
    };
    let mut header = BundleHeader {
        format: ObjectFormat::Sha1,
        prerequisites: Vec::new(),
        refs: Vec::new(),
        objects: 0,
        pack_at: 0,
    };
    loop {
        match next_line(&mut rest)? {
            b"" => break,
            [b'@', capability @ ..] if v3 => header.format = format_capability(capability)?,
            [b'-', line @ ..] => header.prerequisites.push(split_oid(line)?.0),
            line => {
                let (oid, name) = split_oid(line)?;
                let name = std::str::from_utf8(name).map_err(|_| "a ref name that is not UTF-8")?;
                header.refs.push((name.to_owned(), oid));
            }
        }
    }
    header.objects = object_count(rest)?;
    header.pack_at = bytes.len() - rest.len();
    Ok(header)
}

/// The one capability we know. A filter would mean that objects are missing on purpose.
fn format_capability(capability: &[u8]) -> Result<ObjectFormat, &'static str> {
    let name = capability.strip_prefix(b"object-format=").ok_or("a capability that is not known here")?;
    std::str::from_utf8(name).ok().and_then(ObjectFormat::from_name).ok_or("an object format that is not known here")
}

fn next_line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], &'static str> {
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or("a header that does not end")?;
    let (line, tail) = rest.split_at(end);
    *rest = tail.get(1..).unwrap_or_default();
    Ok(line)
}

fn split_oid(line: &[u8]) -> Result<(ObjectId, &[u8]), &'static str> {
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    let (oid, tail) = line.split_at(end);
    let oid = std::str::from_utf8(oid).ok().and_then(|text| text.parse().ok()).ok_or("a line without an object id")?;
    Ok((oid, tail.get(1..).unwrap_or_default()))
}

fn object_count(pack: &[u8]) -> Result<u32, &'static str> {
    let start = pack.get(..PACK_START_BYTES).ok_or("no objects")?;
    match start {
        [b'P', b'A', b'C', b'K', 0, 0, 0, 2 | 3, a, b, c, d] => Ok(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => Err("no pack after the header"),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_header as parse, *};

    const OID: &str = "0123456789abcdef0123456789abcdef01234567";
    const PACK: &[u8] = b"PACK\0\0\0\x02\0\0\x01\x02rest";

    fn bundle(header: &str) -> Vec<u8> {
        [header.as_bytes(), PACK].concat()
    }

    #[test]
    fn refs_prerequisites_and_count_are_read() {
        let header = parse(&bundle(&format!("# v2 git bundle\n-{OID} a subject\n{OID} refs/x\n\n"))).unwrap();
        assert_eq!(header.prerequisites.len(), 1);
        assert_eq!(header.refs, [("refs/x".to_owned(), OID.parse().unwrap())]);
        assert_eq!((header.objects, header.format), (0x102, ObjectFormat::Sha1));
        assert!(
            bundle(&format!("# v2 git bundle\n-{OID} a subject\n{OID} refs/x\n\n"))[header.pack_at..].starts_with(PACK)
        );
    }

    #[test]
    fn the_object_format_is_read_and_filters_are_refused() {
        let oid = "a".repeat(64);
        let header = parse(&bundle(&format!("# v3 git bundle\n@object-format=sha256\n{oid} refs/x\n\n"))).unwrap();
        assert_eq!(header.format, ObjectFormat::Sha256);
        assert!(parse(&bundle(&format!("# v3 git bundle\n@filter=blob:none\n{oid} refs/x\n\n"))).is_err());
    }

    #[test]
    fn what_is_no_bundle_is_refused_at_every_length() {
        let whole = bundle(&format!("# v2 git bundle\n{OID} refs/x\n\n"));
        for length in 0..whole.len() - b"rest".len() {
            assert!(parse(&whole[..length]).is_err(), "{length}");
        }
        assert!(parse(b"#!/bin/sh\n\n").is_err());
        assert!(
            parse(&[format!("# v2 git bundle\n{OID} refs/x\n\n").as_bytes(), b"TRASHTRASHTRASH"].concat()).is_err()
        );
    }
}
