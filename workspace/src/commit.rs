//! What a commit object says, and one that everybody writes alike.

use crate::error::WorkspaceError;
use crate::git::unexpected;
use crate::oid::ObjectId;

/// What a commit names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its tree.
    pub tree: ObjectId,
    /// Its parents, first parent first.
    pub parents: Vec<ObjectId>,
}

/// The first headers of a commit object, read as git reads them: the tree, then parents. Another one ends them, so that a
/// commit has no parents for us that it does not have for git.
pub(crate) fn parse_commit(text: &str) -> Result<Commit, WorkspaceError> {
    let mut lines = text.lines();
    let oid = |value: &str| value.parse::<ObjectId>().map_err(|_| unexpected("cat-file", value.as_bytes()));
    let tree = lines.next().and_then(|line| line.strip_prefix("tree "));
    let tree = oid(tree.ok_or_else(|| unexpected("cat-file", b"a commit without a tree"))?)?;
    let parents = lines.map_while(|line| line.strip_prefix("parent ")).map(oid).collect::<Result<_, _>>()?;
    Ok(Commit { tree, parents })
}

/// Who made a commit, when, and why. The author is the committer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMeta {
    /// The author's name; not empty.
    pub name: String,
    /// The author's mail address.
    pub email: String,
    /// Seconds since 1970, UTC.
    pub epoch_seconds: u64,
    /// The message, trailers included; taken as it is.
    pub message: String,
}

/// A commit object with this tree on this parent, as `git commit-tree` writes it.
pub(crate) fn written(parent: &ObjectId, tree: &ObjectId, meta: &CommitMeta) -> Result<Vec<u8>, WorkspaceError> {
    let CommitMeta { name, email, epoch_seconds, message } = meta;
    let (name, email) = (without_crud(name), without_crud(email));
    if name.is_empty() {
        return Err(WorkspaceError::NoCommit { reason: "its author has no name" });
    }
    if [&name, &email, message].into_iter().any(|text| text.contains('\0')) {
        return Err(WorkspaceError::NoCommit { reason: "a NUL byte in it" });
    }
    let ident = format!("{name} <{email}> {epoch_seconds} +0000");
    Ok(format!("tree {tree}\nparent {parent}\nauthor {ident}\ncommitter {ident}\n\n{message}").into_bytes())
}

/// A name or address as git takes it: without what would end it early, and without punctuation around it. Full stops stay, which
/// some versions of git remove and others do not.
fn without_crud(text: &str) -> String {
    let crud = |c: char| c <= ' ' || ",:;<>\"\\'".contains(c);
    text.trim_matches(crud).chars().filter(|c| !matches!(c, '\n' | '<' | '>')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_headers_name_a_tree_and_parents() {
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        let text = format!("tree {a}\nparent {b}\nparent {c}\nauthor A <a@b> 1 +0000\n\ntree {b}\nparent {a}\n");
        let commit = parse_commit(&text).unwrap();
        let parents: Vec<&str> = commit.parents.iter().map(ObjectId::as_str).collect();
        assert_eq!((commit.tree.as_str(), parents), (a.as_str(), vec![b.as_str(), c.as_str()]));
        let late = format!("tree {a}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\nparent {b}\n\nx\n");
        assert_eq!(parse_commit(&late).unwrap().parents, []);
        assert!(parse_commit(&format!("parent {b}\ntree {a}\n")).is_err());
        assert!(parse_commit("tree nonsense\n").is_err() && parse_commit("").is_err());
    }
}
