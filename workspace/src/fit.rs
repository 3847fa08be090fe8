//! Whether an entry of a tree can be in a working tree: the one rule for handoffs and snapshots alike. Pure; sizes and
//! numbers of entries are [`crate::tree`]'s.

/// Bytes of one name: what Linux file systems take.
const NAME_BYTES_MAX: usize = 255;
/// Bytes of a path below the root of its tree: Linux takes 4,095, of which the folder that it is checked out into needs some.
const PATH_BYTES_MAX: usize = 3_584;
/// Bytes of a link's target: what Linux takes.
const TARGET_BYTES_MAX: u64 = 4_095;

/// Why the path cannot be in a working tree; `None` if it can.
pub(crate) fn unfit_path(path: &[u8]) -> Option<&'static str> {
    if path.len() > PATH_BYTES_MAX {
        return Some("the path is too long to be checked out");
    }
    path.split(|byte| *byte == b'/').find_map(unfit_name)
}

/// Why a link at this path cannot be there; `None` if it can. `target` is how many bytes its target has.
pub(crate) fn unfit_link(path: &[u8], target: u64) -> Option<&'static str> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    if plain(name) == b".gitmodules" {
        return Some("it is a link in the place of a file that git reads");
    }
    match target {
        0 => Some("it is a link without a target"),
        1..=TARGET_BYTES_MAX => None,
        _ => Some("the link's target is too long to be checked out"),
    }
}

/// Why one name cannot be in a working tree.
fn unfit_name(name: &[u8]) -> Option<&'static str> {
    match name {
        b"" => return Some("a name in it is empty"),
        b"." | b".." => return Some("a name in it leads elsewhere"),
        _ if name.contains(&0) => return Some("a name in it has a NUL byte"),
        _ if name.len() > NAME_BYTES_MAX => return Some("a name in it is too long to be checked out"),
        _ => {}
    }
    let name = plain(name);
    (name == b".git" || name == b"git~1").then_some("a name in it is taken for git's own folder somewhere")
}

/// A name as the most forgiving file systems read it: without case, what NTFS drops at the end (blanks, points, a stream
/// after a colon), and the invisible characters that HFS+ drops anywhere.
fn plain(name: &[u8]) -> Vec<u8> {
    const INVISIBLE: [&[u8]; 17] = [
        b"\xe2\x80\x8c",
        b"\xe2\x80\x8d",
        b"\xe2\x80\x8e",
        b"\xe2\x80\x8f",
        b"\xe2\x80\xaa",
        b"\xe2\x80\xab",
        b"\xe2\x80\xac",
        b"\xe2\x80\xad",
        b"\xe2\x80\xae",
        b"\xe2\x81\xaa",
        b"\xe2\x81\xab",
        b"\xe2\x81\xac",
        b"\xe2\x81\xad",
        b"\xe2\x81\xae",
        b"\xe2\x81\xaf",
        b"\xef\xbb\xbf",
        b"\xe2\x80\x8b",
    ];
    let mut rest = name.split(|byte| matches!(byte, b':' | b'\\')).next().unwrap_or(name);
    let mut seen = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        match INVISIBLE.iter().find_map(|sign| rest.strip_prefix(*sign)) {
            Some(after) => rest = after,
            None => {
                seen.push(first.to_ascii_lowercase());
                rest = after;
            }
        }
    }
    let end = seen.iter().rposition(|byte| !matches!(byte, b' ' | b'.')).map_or(0, |last| last + 1);
    seen.truncate(end);
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_checkout_can_have_are_unfit() {
        let (long, deep) = ("n".repeat(256), "d/".repeat(1_792) + "f");
        let unfit = [
            "",
            "a//b",
            "./a",
            "a/..",
            "a\0b",
            ".git",
            ".GIT/x",
            "git~1",
            "a/GIT~1",
            ".git ",
            ".git.",
            ".git . .",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git\u{206f}",
            ".git\\x",
            &long,
            &deep,
        ];
        for path in unfit {
            assert!(unfit_path(path.as_bytes()).is_some(), "{path:?}");
        }
        let (name, path) = ("n".repeat(255), "d/".repeat(1_791) + "ff");
        for path in [".gitignore", ".github/x", "git~2", "a.git", ".git2", "...", "a b", "\u{200c}", &name, &path] {
            assert_eq!(unfit_path(path.as_bytes()), None, "{path:?}");
        }
    }

    #[test]
    fn links_have_targets_that_can_be_made_and_are_no_configuration() {
        for (path, target, fit) in [
            ("a", 1, true),
            ("a", 4_095, true),
            ("a", 4_096, false),
            ("a", 0, false),
            (".gitmodules", 5, false),
            ("sub/.GitModules", 5, false),
            (".gitmodules2", 5, true),
        ] {
            assert_eq!(unfit_link(path.as_bytes(), target).is_none(), fit, "{path} {target}");
        }
    }
}
