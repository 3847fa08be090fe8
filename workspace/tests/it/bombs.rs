//! Bundles that are small and cost much.

use std::path::PathBuf;
use std::time::Duration;

use holdpoint_sandbox::Tool;
use holdpoint_workspace::{InputRefusal, WorkspaceError};

use crate::support::{Workbench, import_file};

/// Writes a bundle with one blob of many zeros and many deltas on it, each of which is as large again. Zeros compress to
/// pieces that are all the same, so that none of this takes long.
const PACK_BOMB: &str = r#"
import hashlib, struct, sys, zlib
out, base, mebibytes, deltas = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
size = mebibytes << 20

def varint(number):
    out = b''
    while number > 0x7f:
        out += bytes([number & 0x7f | 0x80])
        number >>= 7
    return out + bytes([number])

def header(kind, size):
    first, rest = kind << 4 | size & 15, size >> 4
    return bytes([first | 0x80]) + varint(rest) if rest else bytes([first])

def offset(back):
    out = bytes([back & 0x7f])
    back >>= 7
    while back:
        back -= 1
        out = bytes([back & 0x7f | 0x80]) + out
        back >>= 7
    return out

def copy(start, length):
    op, args = 0x80, b''
    for bit in range(4):
        byte = start >> 8 * bit & 255
        if byte: op, args = op | 1 << bit, args + bytes([byte])
    for bit in range(3):
        byte = length >> 8 * bit & 255
        if byte: op, args = op | 0x10 << bit, args + bytes([byte])
    return bytes([op]) + args

whole = zlib.compressobj(9, zlib.DEFLATED, -15)
piece = whole.compress(bytes(1 << 20)) + whole.flush(zlib.Z_FULL_FLUSH)
zeros = b'\x78\xda' + piece * mebibytes + b'\x03\x00' + struct.pack('>I', size % 65521 << 16 | 1)
pack = b'PACK' + struct.pack('>II', 2, deltas + 1)
blob_at = len(pack)
parts, at = [pack, header(3, size) + zeros], len(pack) + len(header(3, size) + zeros)
most = (1 << 24) - 1
for number in range(deltas):
    delta = varint(size) + varint(size) + bytes([4]) + struct.pack('>I', number + 1)
    copied = 0
    while copied < size - 4:
        length = min(most, size - 4 - copied)
        delta += copy(copied, length)
        copied += length
    part = header(6, len(delta)) + offset(at - blob_at) + zlib.compress(delta)
    parts.append(part)
    at += len(part)
pack = b''.join(parts)
with open(out, 'wb') as file:
    file.write(f'# v2 git bundle\n-{base} \n{base} refs/holdpoint/handoff\n\n'.encode())
    file.write(pack + hashlib.sha1(pack).digest())
"#;

async fn pack_bomb(workbench: &Workbench, mebibytes: u32, deltas: u32) -> PathBuf {
    let out = workbench.path("bomb.bundle");
    let tool = Tool::new("python3").args(["-c", PACK_BOMB]).arg(&out).arg(&workbench.base);
    tool.args([mebibytes.to_string(), deltas.to_string()]).run_ok().await.unwrap();
    out
}

#[tokio::test]
async fn a_small_bundle_that_unpacks_to_a_flood_is_refused_and_leaves_nothing() {
    let workbench = Workbench::new().await;
    let bomb = pack_bomb(&workbench, 500, 3_000).await;
    assert!(std::fs::metadata(&bomb).unwrap().len() < 1 << 20);
    let refused =
        tokio::time::timeout(Duration::from_secs(100), import_file(&workbench.mirror, &bomb, &workbench.base)).await;
    let refused = refused.expect("it is refused while the machine is still fine").unwrap_err();
    assert!(matches!(refused, WorkspaceError::Refused(InputRefusal::OverLimit { .. })), "{refused}");
    let left = std::fs::read_dir(workbench.mirror.dir().join("objects")).unwrap();
    assert!(left.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with("tmp_")));
}
