//! The entries of a tree object, read as git reads them. Not gitoxide's reader: to that one a mode `140000` is a folder, and to git
//! a submodule link, so that one tree would be two.

use crate::tree::{EntryMode, until};

/// Bits of a mode that say what an entry is.
const TYPE: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const COMMIT: u32 = 0o160_000;
/// The owner's right to execute, the one git goes by.
const EXECUTE: u32 = 0o100;
/// Digits of a mode, with the zero that old programs wrote before a folder's.
const DIGITS_MAX: usize = 6;

/// An entry of one tree object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawEntry<'a> {
    /// `None` for a folder.
    pub(super) mode: Option<EntryMode>,
    pub(super) name: &'a [u8],
    /// The bytes of its id.
    pub(super) id: &'a [u8],
}

/// Takes the next entry; `id_bytes` are those of an id. `None` where no tree goes on like that: git writes four kinds of modes, and
/// others mean different things to different readers.
pub(super) fn next<'a>(rest: &mut &'a [u8], id_bytes: usize) -> Option<RawEntry<'a>> {
    let digits = until(rest, b' ').filter(|digits| (1..=DIGITS_MAX).contains(&digits.len()))?;
    let octal = |sum: u32, digit: &u8| matches!(digit, b'0'..=b'7').then(|| (sum << 3) | u32::from(digit - b'0'));
    let mode = digits.iter().try_fold(0, octal)?;
    let name = until(rest, 0)?;
    let (id, behind) = rest.split_at_checked(id_bytes)?;
    *rest = behind;
    let mode = match mode & TYPE {
        FOLDER => None,
        FILE if mode & EXECUTE != 0 => Some(EntryMode::Executable),
        FILE => Some(EntryMode::File),
        LINK => Some(EntryMode::Symlink),
        COMMIT => Some(EntryMode::Gitlink),
        _ => return None,
    };
    Some(RawEntry { mode, name, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mode: &str) -> Option<Option<EntryMode>> {
        let bytes = [format!("{mode} a b\0").as_bytes(), &[7; 20], b"rest"].concat();
        let mut rest = &bytes[..];
        let entry = next(&mut rest, 20)?;
        assert_eq!((entry.name, entry.id, rest), (&b"a b"[..], &[7; 20][..], &b"rest"[..]));
        Some(entry.mode)
    }

    #[test]
    fn modes_are_read_as_git_reads_them_and_others_not_at_all() {
        for folder in ["40000", "040000", "40755"] {
            assert_eq!(read(folder), Some(None), "{folder}");
        }
        for file in ["100644", "100664", "100600"] {
            assert_eq!(read(file), Some(Some(EntryMode::File)), "{file}");
        }
        assert_eq!(read("100755"), Some(Some(EntryMode::Executable)));
        assert_eq!(read("120000"), Some(Some(EntryMode::Symlink)));
        assert_eq!(read("160000"), Some(Some(EntryMode::Gitlink)));
        for odd in ["140000", "140644", "0", "", "20000", "60000", "0040000", "1100644", "9", "-1", "+40000"] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }

    #[test]
    fn what_is_cut_short_is_no_entry() {
        for cut in [&b"100644"[..], b"100644 a", b"100644 a\0", b"100644 a\0\x01\x02"] {
            assert_eq!(next(&mut &cut[..], 20), None);
        }
    }
}
