//! What was read of a mirror before: listings of trees, commits, and which objects are there. An object never changes under its id, and nothing is ever
//! collected in a mirror, so what was read once is so for ever. It is a cache: one that was cleared costs time and nothing else.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::commit::Commit;
use crate::oid::ObjectId;
use crate::tree::TreeEntry;

/// Entries of all listings that are kept together: some 15 MB.
const ENTRIES_MAX: usize = 100_000;
/// Commits that are kept.
const COMMITS_MAX: usize = 256;
/// Objects that are known to be there; of more, all are forgotten.
const HERE_MAX: usize = 10_000;
/// How long what is remembered is believed without a question.
const RELIED_ON: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ObjectCache {
    lists: Mutex<VecDeque<(ObjectId, Arc<Vec<TreeEntry>>)>>,
    commits: Mutex<VecDeque<(ObjectId, Commit)>>,
    here: Mutex<Here>,
}

/// Objects that are known to be there.
#[derive(Debug, Default)]
struct Here {
    ids: HashSet<ObjectId>,
    /// Since when the mirror's user relies on it: nothing that came since then is missing.
    since: Option<Instant>,
}

impl ObjectCache {
    /// The listing of this tree, or of this commit's tree.
    pub(super) fn list(&self, tree: &ObjectId) -> Option<Arc<Vec<TreeEntry>>> {
        find(&self.lists, tree).or_else(|| find(&self.lists, &self.commit(tree)?.tree))
    }

    /// Keeps a listing, unless it is too long to be kept; those that were not used for longest make room.
    pub(super) fn keep_list(&self, tree: &ObjectId, list: &Arc<Vec<TreeEntry>>) {
        if list.len() > ENTRIES_MAX {
            return;
        }
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.push_back((tree.clone(), Arc::clone(list)));
        let mut entries: usize = lists.iter().map(|(_, list)| list.len()).sum();
        while entries > ENTRIES_MAX
            && let Some((_, oldest)) = lists.pop_front()
        {
            entries -= oldest.len();
        }
    }

    /// What this commit names.
    pub(super) fn commit(&self, commit: &ObjectId) -> Option<Commit> {
        find(&self.commits, commit)
    }

    /// Whether the object was there when it was asked for.
    pub(super) fn is_here(&self, id: &ObjectId) -> bool {
        self.here.lock().unwrap_or_else(PoisonError::into_inner).ids.contains(id)
    }

    /// Whether what is remembered is to be relied on. If not, all of it is forgotten, so that the mirror is looked at, and it is relied on
    /// from now on: a mirror that was damaged meanwhile is found out.
    pub(super) fn is_reliable(&self, now: Instant) -> bool {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let reliable = here.since.is_some_and(|since| now.saturating_duration_since(since) < RELIED_ON);
        if !reliable {
            *here = Here { since: Some(now), ..Here::default() };
        }
        reliable
    }

    /// Forgets which objects are there.
    pub(super) fn forget(&self) {
        *self.here.lock().unwrap_or_else(PoisonError::into_inner) = Here::default();
    }

    /// Remembers that these objects are there.
    pub(super) fn keep_here<'a>(&self, ids: impl IntoIterator<Item = &'a ObjectId>) {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.ids.extend(ids.into_iter().cloned());
        if here.ids.len() > HERE_MAX {
            *here = Here::default();
        }
    }

    /// Keeps what a commit names, which is there.
    pub(super) fn keep_commit(&self, id: &ObjectId, commit: &Commit) {
        self.keep_here([id, &commit.tree]);
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        commits.push_back((id.clone(), commit.clone()));
        if commits.len() > COMMITS_MAX {
            commits.pop_front();
        }
    }
}

/// What is kept under an id, which was then used last.
fn find<T: Clone>(kept: &Mutex<VecDeque<(ObjectId, T)>>, id: &ObjectId) -> Option<T> {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let at = kept.iter().position(|(known, _)| known == id)?;
    let found = kept.remove(at)?;
    let value = found.1.clone();
    kept.push_back(found);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::RepoPath;
    use crate::tree::EntryMode;

    fn oid(n: usize) -> ObjectId {
        format!("{n:040x}").parse().unwrap()
    }

    fn list(len: usize) -> Arc<Vec<TreeEntry>> {
        let path = RepoPath::new(b"a").unwrap();
        Arc::new(vec![TreeEntry { path, mode: EntryMode::File, oid: oid(0), bytes: Some(1) }; len])
    }

    #[test]
    fn listings_that_were_used_last_are_kept_up_to_a_bound() {
        let cache = ObjectCache::default();
        for n in 1..=4 {
            cache.keep_list(&oid(n), &list(ENTRIES_MAX / 4));
        }
        assert_eq!(cache.list(&oid(1)).map(|list| list.len()), Some(ENTRIES_MAX / 4));
        cache.keep_list(&oid(5), &list(1));
        let kept: Vec<bool> = (1..=5).map(|n| cache.list(&oid(n)).is_some()).collect();
        assert_eq!(kept, [true, false, true, true, true], "the second was not used for longest");
        cache.keep_list(&oid(6), &list(ENTRIES_MAX + 1));
        assert!(cache.list(&oid(6)).is_none() && cache.list(&oid(5)).is_some());
    }

    #[test]
    fn commits_are_kept_up_to_a_bound() {
        let cache = ObjectCache::default();
        let commit = |n| Commit { tree: oid(n), parents: Vec::new() };
        for n in 0..=COMMITS_MAX {
            cache.keep_commit(&oid(n), &commit(n));
        }
        assert_eq!((cache.commit(&oid(0)), cache.commit(&oid(1))), (None, Some(commit(1))));
    }

    #[test]
    fn the_listing_of_a_tree_is_that_of_its_commits() {
        let cache = ObjectCache::default();
        cache.keep_commit(&oid(1), &Commit { tree: oid(2), parents: Vec::new() });
        assert!(cache.list(&oid(1)).is_none());
        cache.keep_list(&oid(2), &list(3));
        assert_eq!(cache.list(&oid(1)), cache.list(&oid(2)));
        assert!(cache.is_here(&oid(1)) && cache.is_here(&oid(2)) && !cache.is_here(&oid(3)));
    }

    #[test]
    fn objects_that_are_there_are_remembered_up_to_a_bound() {
        let cache = ObjectCache::default();
        let ids: Vec<ObjectId> = (0..=HERE_MAX).map(oid).collect();
        cache.keep_here(&ids[1..]);
        assert!(cache.is_here(&ids[1]) && !cache.is_here(&ids[0]));
        cache.keep_here(&ids[..1]);
        assert!(ids.iter().all(|id| !cache.is_here(id)), "what is forgotten is asked for again");
        let now = Instant::now();
        assert!(!cache.is_reliable(now) && cache.is_reliable(now));
        cache.keep_here(&ids);
        assert!(!cache.is_reliable(now), "too much was forgotten");
    }

    #[test]
    fn what_is_remembered_is_relied_on_for_a_while() {
        let (cache, now) = (ObjectCache::default(), Instant::now());
        assert!(!cache.is_reliable(now));
        cache.keep_here(&[oid(1)]);
        assert!(cache.is_reliable(now + RELIED_ON / 2) && cache.is_here(&oid(1)));
        assert!(!cache.is_reliable(now + RELIED_ON) && !cache.is_here(&oid(1)));
        assert!(cache.is_reliable(now + RELIED_ON));
    }
}
