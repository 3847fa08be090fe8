//! Which change is judged, and against which commit.

use std::path::Path;

use holdpoint_workspace::{ChangeSource, ObjectId, UserRepo};

use crate::{bounded, failure::Failure, output};

/// The most bytes of a patch.
const PATCH_BYTES_MAX: usize = 64 << 20;
/// Where work that leaves a branch is likely to have left it, in this order.
const DEFAULT_BRANCHES: [&str; 5] = ["origin/HEAD", "origin/main", "origin/master", "main", "master"];
/// What git calls the newest commit of this working tree.
const HEAD: &str = "HEAD";

/// A change, and what it is a change of.
#[derive(Debug)]
pub(crate) struct Change {
    /// The commit it is judged against.
    pub(crate) base: ObjectId,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Commit(ObjectId),
    Patch(Vec<u8>),
}

impl Change {
    /// Finds what `--work` and `--base` name.
    pub(crate) async fn find(repo: &UserRepo, work: &str, base: Option<&str>) -> Result<Self, Failure> {
        if let Some((from, to)) = range(work) {
            if base.is_some() {
                let message = format!("{work} is a range, so that --base says a second time what it is judged against");
                return Err(Failure::usage("two_bases", message, "leave --base out, or name one commit with --work"));
            }
            return Self::of_commit(repo, repo.resolve(to).await?, Some(from)).await;
        }
        if work == "-" {
            return Self::of_patch(repo, from_stdin()?, base).await;
        }
        match repo.resolve(work).await {
            Ok(commit) => Self::of_commit(repo, commit, base).await,
            Err(_) if Path::new(work).is_file() => {
                let bytes =
                    bounded::read(Path::new(work), PATCH_BYTES_MAX).map_err(|error| unreadable(work, &error))?;
                Self::of_patch(repo, bytes, base).await
            }
            Err(_) => {
                let message = format!("{work} is no commit of the repository, and no file");
                let hint = "--work takes a branch, tag or commit, a range such as main..feature, a patch, or `-` for one on standard input";
                Err(Failure::usage("unknown_work", message, hint))
            }
        }
    }

    async fn of_patch(repo: &UserRepo, patch: Vec<u8>, base: Option<&str>) -> Result<Self, Failure> {
        if patch.iter().all(u8::is_ascii_whitespace) {
            let hint = "`git diff main | holdpoint verify --work - --base main` judges what is not committed";
            return Err(Failure::usage("empty_patch", "the patch is empty: there is no change", hint));
        }
        Ok(Self { base: repo.resolve(base.unwrap_or(HEAD)).await?, work: Work::Patch(patch) })
    }

    async fn of_commit(repo: &UserRepo, work: ObjectId, base: Option<&str>) -> Result<Self, Failure> {
        let base = match base {
            Some(name) => {
                let named = repo.resolve(name).await?;
                // The tip of a branch may be ahead of where the work left it. A shallow clone does not know where that was.
                repo.merge_base(&named, &work).await?.unwrap_or(named)
            }
            None => left_from(repo, &work).await?,
        };
        Ok(Self { base, work: Work::Commit(work) })
    }

    /// Where its tree is.
    pub(crate) fn source(&self) -> ChangeSource<'_> {
        match &self.work {
            Work::Commit(commit) => ChangeSource::Commit(commit),
            Work::Patch(patch) => ChangeSource::Patch(patch),
        }
    }

    /// The commit; `None`: it is a patch.
    pub(crate) fn commit(&self) -> Option<&ObjectId> {
        match &self.work {
            Work::Commit(commit) => Some(commit),
            Work::Patch(_) => None,
        }
    }
}

/// Where work left the default branch; else its first parent, as for a merge that a forge makes of a request.
async fn left_from(repo: &UserRepo, work: &ObjectId) -> Result<ObjectId, Failure> {
    for branch in DEFAULT_BRANCHES {
        let Ok(tip) = repo.resolve(branch).await else { continue };
        if let Some(base) = repo.merge_base(&tip, work).await?.filter(|base| base != work) {
            output::err(&format!("note: judged against {base}, where it left {branch}; --base names another commit"));
            return Ok(base);
        }
    }
    match repo.resolve(&format!("{work}^")).await {
        Ok(parent) => {
            output::err(&format!("note: judged against {parent}, its first parent; --base names another commit"));
            Ok(parent)
        }
        Err(_) => {
            let message = format!("nothing says against what {work} is to be judged: no commit before it is here");
            let hint = "name it with --base; a shallow clone may need one commit more: `git fetch --deepen 1`";
            Err(Failure::usage("no_base", message, hint))
        }
    }
}

/// The two ends of `A..B` or `A...B`; an end that is left out is the newest commit.
fn range(work: &str) -> Option<(&str, &str)> {
    let (from, to) = work.split_once("..").filter(|_| !Path::new(work).is_file())?;
    let [from, to] = [from, to.strip_prefix('.').unwrap_or(to)].map(|end| if end.is_empty() { HEAD } else { end });
    Some((from, to))
}

fn from_stdin() -> Result<Vec<u8>, Failure> {
    let bytes = bounded::stdin(PATCH_BYTES_MAX).map_err(|error| unreadable("-", &error))?;
    if bytes.len() > PATCH_BYTES_MAX {
        let message = format!("the patch has more than {} MiB", PATCH_BYTES_MAX >> 20);
        return Err(Failure::usage("patch_too_long", message, "commit it to a branch, and name that with --work"));
    }
    Ok(bytes)
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    Failure::usage("patch_unreadable", format!("cannot read the patch {name}: {error}"), "--work names a readable file")
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn a_range_has_two_ends_of_which_the_newest_commit_may_be_left_out() {
        let rows = [
            ("main..feature", Some(("main", "feature"))),
            ("main...feature", Some(("main", "feature"))),
            ("main..", Some(("main", "HEAD"))),
            ("..feature", Some(("HEAD", "feature"))),
            ("feature", None),
            ("v1.2", None),
        ];
        for (work, expected) in rows {
            assert_eq!(range(work), expected, "{work}");
        }
    }
}
