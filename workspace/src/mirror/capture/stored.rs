//! Files as `git add` stores them where attributes have a say: line ends, encodings, `$Id$`. Git converts them, confined and without
//! a driver for any filter.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use holdpoint_sandbox::ToolError;

use super::found::{Found, Refused};
use super::open_file;
use crate::allowance::Work;
use crate::error::{InputRefusal, WorkspaceError};
use crate::git::{lacks_something, unexpected};
use crate::mirror::Mirror;
use crate::objects::Odb;
use crate::oid::ObjectId;
use crate::path::{RepoPath, escaped};
use crate::scratch::Scratch;
use crate::tree::{EntryMode, TreeEntry, ascii, tree_path, until};

/// The folder, inside a scratch, with files as a checkout of the base writes them.
const CHECKED_OUT: &str = "base";

/// How often git is asked to store files of which it cannot store some. Those that are not tried by then are kept with them as they are.
const RUNS_MAX: usize = 100;

/// Files by their path, and the ids of their bytes.
type Ids = HashMap<RepoPath, ObjectId>;

/// A base whose index is in a scratch.
pub(super) struct Indexed<'a> {
    pub(super) scratch: &'a Scratch,
    pub(super) base: &'a ObjectId,
    pub(super) entries: &'a [TreeEntry],
}

impl Mirror {
    /// Names the files in `dir` whose content is not known yet. A file that is as a checkout of the base writes it has not
    /// changed, also where git would store it differently today.
    pub(super) async fn store(
        &self,
        base: Indexed<'_>,
        dir: &Path,
        found: Vec<Found>,
        refused: &mut Refused,
    ) -> Result<Vec<Found>, WorkspaceError> {
        let files = base.entries.iter().filter(|entry| is_file(entry.mode));
        let before: Arc<Ids> = Arc::new(files.map(|entry| (entry.path.clone(), entry.oid.clone())).collect());
        let mut found = self.unchanged(&base, dir, found, Arc::clone(&before)).await?;
        let open: Vec<&Found> = found.iter().filter(|file| is_open(file)).collect();
        if open.is_empty() {
            return Ok(found);
        }
        let as_they_are = add(&base, dir, &open, refused).await?;
        let git = base.scratch.git("diff-index").args(["--cached", "--raw", "-z", "--no-abbrev", "--no-renames"]);
        let stored = parse(&git.arg(base.base).long().run_ok().await?)?;
        let is_stored = |file: &Found| is_open(file) && !as_they_are.contains(&file.path);
        for file in found.iter_mut().filter(|file| is_stored(file)) {
            file.known = stored.get(&file.path).or_else(|| before.get(&file.path)).cloned();
        }
        Ok(found)
    }

    /// Finds the files that are as a checkout of the base writes them.
    async fn unchanged(
        &self,
        base: &Indexed<'_>,
        dir: &Path,
        mut found: Vec<Found>,
        before: Arc<Ids>,
    ) -> Result<Vec<Found>, WorkspaceError> {
        let tracked = Names::of(dir, found.iter().filter(|file| is_open(file) && before.contains_key(&file.path)));
        if tracked.names.is_empty() {
            return Ok(found);
        }
        let root = base.scratch.path().join(CHECKED_OUT);
        let mut prefix = root.clone().into_os_string();
        prefix.push("/");
        let git = base.scratch.git("checkout-index").work_tree(dir).confined(Work::of_files(tracked.bytes));
        let git = git.args(["--quiet", "-z", "--stdin", "--prefix"]).arg(prefix);
        git.stdin(tracked.names).long().run_ok().await?;
        let dir = dir.to_owned();
        let compare = move |_: &Odb| {
            for file in found.iter_mut().filter(|file| is_open(file)) {
                let Some(oid) = before.get(&file.path) else { continue };
                if is_same(&root.join(file.path.as_path()), &dir.join(file.path.as_path()))? {
                    file.known = Some(oid.clone());
                }
            }
            Ok(found)
        };
        self.inner.objects.at_length(compare).await
    }
}

/// Has git store these files, and gives those that it cannot store, of unfinished work: their bytes are kept. Git says of the first
/// such file only that there is one, so the rest is tried in halves.
async fn add(
    base: &Indexed<'_>,
    dir: &Path,
    files: &[&Found],
    refused: &mut Refused,
) -> Result<HashSet<RepoPath>, WorkspaceError> {
    let (mut open, mut as_they_are, mut runs) = (vec![files], HashSet::new(), 0);
    while let Some(files) = open.pop() {
        runs += 1;
        let added = add_all(base, dir, files).await;
        match (added, files) {
            (Ok(()), _) => {}
            (Err(WorkspaceError::Refused(_)), files) if files.len() > 1 && refused.leaves_out() && runs < RUNS_MAX => {
                let (left, right) = files.split_at(files.len() / 2);
                open.extend([right, left]);
            }
            (Err(WorkspaceError::Refused(why)), files) if refused.leaves_out() => {
                let InputRefusal::Unstorable { detail } = why else { return Err(why.into()) };
                for Found { path, .. } in files {
                    let why = InputRefusal::Unstorable { detail: detail.clone() };
                    refused.settle::<()>(Some(path), Err(why.into()))?;
                    as_they_are.insert(path.clone());
                }
            }
            (Err(error), _) => return Err(error),
        }
    }
    Ok(as_they_are)
}

async fn add_all(base: &Indexed<'_>, dir: &Path, files: &[&Found]) -> Result<(), WorkspaceError> {
    let Names { names, bytes } = Names::of(dir, files.iter().copied());
    let git = base.scratch.git("update-index").work_tree(dir).confined(Work::of_files(bytes));
    storable(git.args(["--add", "--replace", "-z", "--stdin"]).stdin(names).long().run_ok().await)
}

/// A file that cannot be converted is its maker's fault. What the system lacked git says before the file it was at.
fn storable(added: Result<Vec<u8>, WorkspaceError>) -> Result<(), WorkspaceError> {
    match added {
        Err(WorkspaceError::Git { source: ToolError::Failed { code: Some(_), stderr, .. }, .. })
            if !stderr.lines().any(lacks_something) =>
        {
            Err(InputRefusal::Unstorable { detail: escaped(stderr.as_bytes()) }.into())
        }
        other => other.map(drop),
    }
}

fn is_file(mode: EntryMode) -> bool {
    matches!(mode, EntryMode::File | EntryMode::Executable)
}

/// Whether git has to say what is stored. A link has no attributes.
fn is_open(file: &Found) -> bool {
    file.known.is_none() && is_file(file.mode)
}

/// Paths as git takes them on its standard input, and how much it will read.
#[derive(Default)]
struct Names {
    names: Vec<u8>,
    bytes: u64,
}

impl Names {
    fn of<'a>(dir: &Path, files: impl Iterator<Item = &'a Found>) -> Self {
        files.fold(Self::default(), |mut all, file| {
            all.names.extend_from_slice(file.path.as_bytes());
            all.names.push(0);
            let bytes = dir.join(file.path.as_path()).symlink_metadata().map_or(0, |found| found.len());
            all.bytes = all.bytes.saturating_add(bytes);
            all
        })
    }
}

/// Whether a file of theirs has the bytes of one that git has just written.
fn is_same(written: &Path, theirs: &Path) -> Result<bool, WorkspaceError> {
    let ours = match File::open(written) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        opened => opened.map_err(WorkspaceError::io("open", written))?,
    };
    let (mut one, mut other) = (BufReader::new(ours), BufReader::new(open_file(theirs)?.0));
    loop {
        let left = one.fill_buf().map_err(WorkspaceError::io("read", written))?;
        let right = other.fill_buf().map_err(WorkspaceError::io("read", theirs))?;
        let common = left.len().min(right.len());
        if common == 0 {
            return Ok(left.is_empty() && right.is_empty());
        }
        if !left.iter().zip(right).all(|(one, other)| one == other) {
            return Ok(false);
        }
        one.consume(common);
        other.consume(common);
    }
}

/// What the index has now where it differs from the base.
fn parse(listing: &[u8]) -> Result<Ids, WorkspaceError> {
    let (mut rest, mut stored) = (listing, HashMap::new());
    while !rest.is_empty() {
        let before = rest;
        let (path, oid) = record(&mut rest).ok_or_else(|| unexpected("diff-index", before))?;
        stored.insert(tree_path(path)?, oid);
    }
    Ok(stored)
}

/// `:MODE MODE OLD NEW STATUS`, NUL, the path, NUL.
fn record<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], ObjectId)> {
    let oid = ascii(until(rest, 0)?)?.split(' ').nth(3)?.parse().ok()?;
    Some((until(rest, 0)?, oid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_index_has_now_is_read_by_path() {
        let [old, new] = ["a", "b"].map(|digit| digit.repeat(40));
        let listing = format!(":100644 100755 {old} {new} M\0a\nb\0:100644 000000 {old} {} D\0c\0", "0".repeat(40));
        let stored = parse(listing.as_bytes()).unwrap();
        assert_eq!(stored[&RepoPath::new("a\nb").unwrap()].as_str(), new);
        assert_eq!(stored.len(), 2);
        assert!(parse(&listing.as_bytes()[..60]).is_err());
    }

    #[test]
    fn a_full_disk_is_not_the_fault_of_a_file() {
        let failed = |stderr: &str| {
            let (program, args) = ("git".to_owned(), "update-index".to_owned());
            let source = ToolError::Failed { program, args, code: Some(128), stderr: stderr.to_owned() };
            storable(Err(WorkspaceError::Git { command: "update-index", source })).unwrap_err().is_refusal()
        };
        assert!(failed("fatal: failed to encode 'a.rc' from UTF-16 to UTF-8\n"));
        assert!(!failed(
            "error: unable to write file x: No space left on device\nfatal: Unable to process path a.rc\n"
        ));
    }
}
