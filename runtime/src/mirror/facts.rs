//! The same facts in git's types and on the wire.

use holdpoint_protocol::facts;
use holdpoint_workspace::{Change, DiffStat, DiffStatus, ObjectId, RepoPath};

/// An object id from the wire.
#[must_use]
pub fn from_wire(oid: &facts::Oid) -> ObjectId {
    oid.as_str().parse().expect("both are 40 or 64 lower-case hex digits")
}

/// An object id for the wire.
#[must_use]
pub fn to_wire(oid: &ObjectId) -> facts::Oid {
    oid.as_str().parse().expect("both are 40 or 64 lower-case hex digits")
}

/// A path for the wire: bytes that are not UTF-8, control characters and `\` are written `\xNN`.
#[must_use]
pub fn wire_path(path: &RepoPath) -> String {
    let mut text = String::new();
    let hex = |text: &mut String, bytes: &[u8]| text.extend(bytes.iter().map(|byte| format!("\\x{byte:02x}")));
    for chunk in path.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() || character == '\\' {
                hex(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                text.push(character);
            }
        }
        hex(&mut text, chunk.invalid());
    }
    text
}

/// Changed paths for the wire.
#[must_use]
pub fn path_changes(changes: &[Change]) -> Vec<facts::PathChange> {
    changes.iter().map(path_change).collect()
}

fn path_change(change: &Change) -> facts::PathChange {
    facts::PathChange {
        path: wire_path(&change.path),
        status: match change.status {
            DiffStatus::Added => facts::ChangeStatus::Added,
            DiffStatus::Modified | DiffStatus::TypeChanged => facts::ChangeStatus::Modified,
            DiffStatus::Deleted => facts::ChangeStatus::Deleted,
        },
        old_mode: change.old.as_ref().map(|(mode, _)| mode.octal().to_owned()),
        new_mode: change.new.as_ref().map(|(mode, _)| mode.octal().to_owned()),
    }
}

/// How much changed, for the wire.
#[must_use]
pub fn diff_summary(summary: &DiffStat) -> facts::DiffSummary {
    facts::DiffSummary { files: summary.files, insertions: summary.insertions, deletions: summary.deletions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_bytes_of_a_path_are_written_out() {
        let path = RepoPath::new(b"a\\b/\xff\n\xc3\xa4".to_vec()).unwrap();
        assert_eq!(wire_path(&path), "a\\x5cb/\\xff\\x0aä");
    }
}
