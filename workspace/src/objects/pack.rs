//! Packs of a few new objects, as git reads them (gitformat-pack(5)): each is whole, and none a difference of another. A git process
//! costs more than making one. Where differences would save much, git makes the pack.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;

use gix_object::Kind;
use gix_zlib::{Compression, stream::deflate};

use super::tree::RawEntry;
use super::{Odb, kind_of_hash, to_gix, tree};
use crate::error::WorkspaceError;
use crate::oid::ObjectId;
use crate::tree::EntryMode;

/// Commits of a pack.
const COMMITS_MAX: usize = 16;
/// Bytes of its objects, before they are compressed.
const BYTES_MAX: u64 = 64 << 10;
/// Bytes of a folder that one of them is compared with.
const COMPARED_BYTES_MAX: u64 = 1 << 20;

/// Objects that a pack is made of.
struct Few<'a> {
    odb: &'a Odb,
    seen: HashSet<gix_hash::ObjectId>,
    objects: Vec<(Kind, Vec<u8>)>,
    bytes: u64,
}

impl Odb {
    /// A pack of what `tip` has and `base` has not, where a straight line of a few commits leads from one to the other and little
    /// changed on it. `None`: git has to make it.
    ///
    /// # Errors
    /// The objects are damaged.
    pub(crate) fn small_pack(&self, base: &ObjectId, tip: &ObjectId) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some(line) = self.line(base, tip)? else { return Ok(None) };
        let mut few = Few { odb: self, seen: HashSet::new(), objects: Vec::new(), bytes: 0 };
        // From the base on: what was taken before, and all that it leads to, is then in the pack or in the base.
        for Step { commit, from, to } in line.iter().rev() {
            if few.take(Kind::Commit, commit)?.is_none() || !few.differences(from, to)? {
                return Ok(None);
            }
        }
        few.packed().map(Some)
    }

    /// The commits from `tip` back to `base`, which is not among them; `None` where no straight line of one to a few leads there.
    fn line(&self, base: &ObjectId, tip: &ObjectId) -> Result<Option<Vec<Step>>, WorkspaceError> {
        let (mut line, mut at) = (Vec::new(), tip.clone());
        while at != *base {
            let Some(commit) = self.commit(&at)? else { return Ok(None) };
            let [parent] = &commit.parents[..] else { return Ok(None) };
            let Some(before) = self.commit(parent)? else { return Ok(None) };
            line.push(Step { commit: to_gix(&at)?, from: to_gix(&before.tree)?, to: to_gix(&commit.tree)? });
            if line.len() > COMMITS_MAX {
                return Ok(None);
            }
            at = parent.clone();
        }
        Ok((!line.is_empty()).then_some(line))
    }
}

/// A commit, and the trees that it leads from and to.
struct Step {
    commit: gix_hash::ObjectId,
    from: gix_hash::ObjectId,
    to: gix_hash::ObjectId,
}

impl Few<'_> {
    /// Takes an object, unless it was taken before (then it is empty here); `None` where that would be too much.
    fn take(&mut self, kind: Kind, id: &gix_hash::ObjectId) -> Result<Option<&[u8]>, WorkspaceError> {
        if !self.seen.insert(*id) {
            return Ok(Some(&[]));
        }
        let Some((found, size)) = self.odb.header_of(id)? else { return Ok(None) };
        self.bytes = self.bytes.saturating_add(size);
        if found != kind || self.bytes > BYTES_MAX {
            return Ok(None);
        }
        self.objects.push((kind, self.odb.contents(id)?));
        Ok(self.objects.last().map(|(_, bytes)| &bytes[..]))
    }

    /// Takes what a tree has and another one does not have in the same place; `false` where that is too much.
    fn differences(&mut self, from: &gix_hash::oid, to: &gix_hash::ObjectId) -> Result<bool, WorkspaceError> {
        let id_bytes = self.odb.objects.format.bytes();
        let mut folders = vec![(Some(from.to_owned()), *to)];
        while let Some((from, to)) = folders.pop() {
            if from == Some(to) {
                continue;
            }
            let before = match from {
                Some(from) if self.odb.header_of(&from)?.is_none_or(|(_, bytes)| bytes > COMPARED_BYTES_MAX) => {
                    return Ok(false);
                }
                Some(from) => self.odb.contents(&from)?,
                None => Vec::new(),
            };
            let before: HashMap<&[u8], RawEntry<'_>> =
                entries(&before, id_bytes).map(|entry| (entry.name, entry)).collect();
            let Some(tree) = self.take(Kind::Tree, &to)? else { return Ok(false) };
            let tree = tree.to_owned();
            for entry in entries(&tree, id_bytes) {
                let old = before.get(entry.name);
                // What a submodule link names is not among the objects.
                let is_link = |entry: &RawEntry<'_>| entry.mode == Some(EntryMode::Gitlink);
                if old.is_some_and(|old| old.id == entry.id && is_link(old) == is_link(&entry)) {
                    continue;
                }
                let id = gix_hash::ObjectId::from_bytes_or_panic(entry.id);
                match entry.mode {
                    None => {
                        let folder = old.filter(|old| old.mode.is_none());
                        folders.push((folder.map(|old| gix_hash::ObjectId::from_bytes_or_panic(old.id)), id));
                    }
                    Some(EntryMode::Gitlink) => {}
                    Some(_) if self.take(Kind::Blob, &id)?.is_none() => return Ok(false),
                    Some(_) => {}
                }
            }
        }
        Ok(true)
    }

    fn packed(&self) -> Result<Vec<u8>, WorkspaceError> {
        let dir = &self.odb.objects.dir;
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        // A pack has no more objects than bytes.
        pack.extend_from_slice(&u32::try_from(self.objects.len()).unwrap_or(u32::MAX).to_be_bytes());
        for (kind, bytes) in &self.objects {
            begin(&mut pack, *kind, bytes.len());
            let mut compressed = deflate::Write::new(pack, Compression::default());
            let written = compressed.write_all(bytes).and_then(|()| compressed.flush());
            written.map_err(WorkspaceError::io("pack objects of", dir))?;
            pack = compressed.into_inner();
        }
        let mut hasher = gix_hash::hasher(kind_of_hash(self.odb.objects.format));
        hasher.update(&pack);
        let sum = hasher.try_finalize().map_err(|error| self.odb.failed(&error))?;
        pack.extend_from_slice(sum.as_slice());
        Ok(pack)
    }
}

/// The entries of a tree up to what is none: such a tree is in no mirror.
fn entries(tree: &[u8], id_bytes: usize) -> impl Iterator<Item = RawEntry<'_>> {
    let mut rest = tree;
    std::iter::from_fn(move || tree::next(&mut rest, id_bytes))
}

/// What comes before an object: three bits for its kind, and its size, seven bits a byte but for the first.
fn begin(pack: &mut Vec<u8>, kind: Kind, bytes: usize) {
    let kind = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let (mut next, mut left) = ((kind << 4) | low_bits(bytes, 0xf), bytes >> 4);
    while left > 0 {
        pack.push(next | 0x80);
        (next, left) = (low_bits(left, 0x7f), left >> 7);
    }
    pack.push(next);
}

fn low_bits(number: usize, mask: u8) -> u8 {
    number.to_le_bytes()[0] & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Objects;
    use crate::oid::ObjectFormat;

    /// Objects in a folder of their own; git is not asked.
    fn odb(dir: &tempfile::TempDir) -> Odb {
        std::fs::create_dir_all(dir.path().join("pack")).unwrap();
        Objects { dir: dir.path().to_owned(), format: ObjectFormat::Sha1 }.open().unwrap()
    }

    fn tree(odb: &Odb, entries: &[(&str, &str, &ObjectId)]) -> ObjectId {
        let mut bytes = Vec::new();
        for (mode, name, oid) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(to_gix(oid).unwrap().as_slice());
        }
        odb.write(Kind::Tree, &bytes).unwrap()
    }

    fn commit(odb: &Odb, tree: &ObjectId, parents: &[&ObjectId]) -> ObjectId {
        let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
        let who = "A <a@b> 1 +0000";
        odb.write(Kind::Commit, format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\nx\n").as_bytes())
            .unwrap()
    }

    fn file(odb: &Odb, name: &str, text: &str) -> ObjectId {
        let blob = odb.write(Kind::Blob, text.as_bytes()).unwrap();
        tree(odb, &[("100644", name, &blob)])
    }

    /// How many objects the pack has.
    fn count(odb: &Odb, base: &ObjectId, tip: &ObjectId) -> Option<u32> {
        let pack = odb.small_pack(base, tip).unwrap()?;
        Some(u32::from_be_bytes(pack[8..12].try_into().unwrap()))
    }

    #[test]
    fn a_pack_has_what_is_new_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let odb = odb(&dir);
        let (kept, changed) = (file(&odb, "kept", "kept"), file(&odb, "a", "before"));
        let base = commit(&odb, &tree(&odb, &[("40000", "changed", &changed), ("40000", "kept", &kept)]), &[]);
        let changed = file(&odb, "a", "after");
        let next = commit(&odb, &tree(&odb, &[("40000", "changed", &changed), ("40000", "kept", &kept)]), &[&base]);
        assert_eq!(count(&odb, &base, &next), Some(4), "commit, root, folder, file");
        let same = commit(&odb, &tree(&odb, &[("40000", "kept", &kept)]), &[&next]);
        assert_eq!(count(&odb, &next, &same), Some(2), "commit and root: a folder went");
        assert_eq!(count(&odb, &base, &same), Some(6), "of both");
        let link = commit(&odb, &tree(&odb, &[("160000", "sub", &base)]), &[&base]);
        assert_eq!(count(&odb, &base, &link), Some(2), "what a submodule link names is elsewhere");
    }

    /// The objects of a pack of all these trees, each by a commit on the one before it; the first is the base's.
    fn packed(odb: &Odb, trees: &[&ObjectId]) -> Option<u32> {
        let base = commit(odb, trees[0], &[]);
        let tip = trees[1..].iter().fold(base.clone(), |parent, tree| commit(odb, tree, &[&parent]));
        count(odb, &base, &tip)
    }

    #[test]
    fn a_tree_that_comes_back_brings_what_it_brought_at_first() {
        let dir = tempfile::tempdir().unwrap();
        let odb = odb(&dir);
        let of = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|text| odb.write(Kind::Blob, text.as_bytes()).unwrap());
            tree(&odb, &[("100644", "a", &a), ("100644", "b", &b)])
        };
        let (base, first, second) = (of("1", "1"), of("2", "1"), of("2", "2"));
        // Of `first` its tree and `a`, of `second` its tree; `b` has the same bytes as `a` there.
        assert_eq!(packed(&odb, &[&base, &first, &second, &first]), Some(3 + 2 + 1));
        let shared = odb.write(Kind::Blob, b"shared").unwrap();
        let folder = |own: &str| {
            let own = odb.write(Kind::Blob, own.as_bytes()).unwrap();
            tree(&odb, &[("100644", "own", &own), ("100644", "shared", &shared)])
        };
        let (f, t) = (folder("f"), folder("t"));
        let two = |one: &ObjectId, other: &ObjectId| tree(&odb, &[("40000", "x", one), ("40000", "y", other)]);
        // Two roots, two folders, their own files, and the one that they share.
        assert_eq!(packed(&odb, &[&base, &two(&f, &t), &two(&t, &f)]), Some(2 + 2 + 2 + 3));
    }

    #[test]
    fn a_file_whose_id_was_a_submodule_links_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let odb = odb(&dir);
        let blob = odb.write(Kind::Blob, b"x").unwrap();
        let of = |mode| tree(&odb, &[(mode, "a", &blob)]);
        assert_eq!(packed(&odb, &[&of("160000"), &of("100644")]), Some(3));
        assert_eq!(packed(&odb, &[&of("100644"), &of("100755")]), Some(2), "only its mode changed");
    }

    #[test]
    fn what_git_packs_better_is_left_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let odb = odb(&dir);
        let base = commit(&odb, &file(&odb, "a", "before"), &[]);
        let large = "x".repeat(usize::try_from(BYTES_MAX).unwrap());
        assert_eq!(count(&odb, &base, &commit(&odb, &file(&odb, "a", &large), &[&base])), None, "much");
        let one = commit(&odb, &file(&odb, "a", "one"), &[&base]);
        assert_eq!(count(&odb, &base, &commit(&odb, &file(&odb, "a", "m"), &[&base, &one])), None, "a merge");
        let mut tip = base.clone();
        for number in 1..=COMMITS_MAX {
            tip = commit(&odb, &file(&odb, "a", &number.to_string()), &[&tip]);
        }
        assert_eq!(count(&odb, &base, &tip), Some(3 * u32::try_from(COMMITS_MAX).unwrap()));
        let tip = commit(&odb, &file(&odb, "a", "more"), &[&tip]);
        assert_eq!(count(&odb, &base, &tip), None, "many commits");
        assert_eq!(count(&odb, &base, &base), None, "nothing");
        assert_eq!(count(&odb, &one, &commit(&odb, &file(&odb, "a", "b"), &[&base])), None, "not in its history");
    }

    #[test]
    fn sizes_are_written_seven_bits_a_byte_after_the_first_four() {
        let begun = |bytes| {
            let mut pack = Vec::new();
            begin(&mut pack, Kind::Blob, bytes);
            pack
        };
        assert_eq!(begun(0), [0x30]);
        assert_eq!(begun(15), [0x3f]);
        assert_eq!(begun(16), [0xb0, 0x01]);
        assert_eq!(begun(0x7ff), [0xbf, 0x7f]);
        assert_eq!(begun(0x800), [0xb0, 0x80, 0x01]);
    }
}
