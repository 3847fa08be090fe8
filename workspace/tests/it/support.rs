//! A repository to try things on, and what an agent or attacker would do to it with plain git.

use std::path::{Path, PathBuf};

use holdpoint_sandbox::{Tool, ToolOutput};
use holdpoint_workspace::{
    Bundle, CommitMeta, HANDOFF_REF, Import, InputLimits, Mirror, ObjectFormat, ObjectId, RepoPath, SNAPSHOT_REF,
    UserRepo,
};
use tempfile::TempDir;

/// A user's repository with one commit, and a mirror that has it.
pub(crate) struct Workbench {
    pub(crate) temp: TempDir,
    pub(crate) repo: PathBuf,
    pub(crate) mirror: Mirror,
    pub(crate) base: ObjectId,
}

impl Workbench {
    /// `src/lib.txt`, `tests/a.txt`, `run.sh` (executable) and `link`, on the branch `main`.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// As [`Workbench::new`], with more files in the first commit.
    pub(crate) async fn with(more: impl FnOnce(&Path)) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let repo = temp.path().join("repo");
        init(&repo).await;
        put(&repo, "src/lib.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
        put(&repo, "tests/a.txt", "test a\n");
        put(&repo, "run.sh", "#!/bin/sh\n");
        executable(&repo.join("run.sh"));
        std::os::unix::fs::symlink("src/lib.txt", repo.join("link")).unwrap();
        more(&repo);
        commit_all(&repo, "first").await;
        let user = UserRepo::open(&repo).await.unwrap();
        let base = user.resolve("HEAD").await.unwrap();
        let bundle = user.snapshot(&base, &temp.path().join("snapshot.bundle")).await.unwrap();
        let mirror = mirror_in(&temp.path().join("mirror")).await;
        assert_eq!(import(&mirror, &bundle, None).await.unwrap(), base);
        Self { temp, repo, mirror, base }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    /// A commit on `parent` with these files written (or, with `None`, removed).
    pub(crate) async fn commit(&self, parent: &ObjectId, files: &[(&str, Option<&str>)]) -> ObjectId {
        let dir = tempfile::tempdir_in(self.temp.path()).unwrap();
        self.mirror.checkout(parent, dir.path()).await.unwrap();
        for (name, text) in files {
            match text {
                Some(text) => put(dir.path(), name, text),
                None => std::fs::remove_file(dir.path().join(name)).unwrap(),
            }
        }
        let tree = self.mirror.capture(dir.path(), parent).await.unwrap();
        self.mirror.commit_on(parent, &tree, &meta("work")).await.unwrap()
    }

    /// The names in a tree.
    pub(crate) async fn names(&self, tree: &ObjectId) -> Vec<String> {
        self.mirror.list_tree(tree).await.unwrap().iter().map(|entry| entry.path.to_string()).collect()
    }

    /// The text of a file in a tree.
    pub(crate) async fn text(&self, tree: &ObjectId, name: &str) -> String {
        let entries = self.mirror.list_tree(tree).await.unwrap();
        let entry = entries.iter().find(|entry| entry.path.to_string() == name).unwrap();
        String::from_utf8(self.mirror.read_blob(&entry.oid, 1 << 20).await.unwrap()).unwrap()
    }
}

pub(crate) async fn mirror_in(dir: &Path) -> Mirror {
    Mirror::open_or_create(dir, ObjectFormat::Sha1, InputLimits::default()).await.unwrap()
}

pub(crate) async fn import(
    mirror: &Mirror,
    bundle: &Bundle,
    base: Option<&ObjectId>,
) -> Result<ObjectId, holdpoint_workspace::WorkspaceError> {
    mirror.import(Import { bundle: &bundle.path, ref_name: &bundle.ref_name, base }).await
}

pub(crate) async fn import_file(
    mirror: &Mirror,
    bundle: &Path,
    base: &ObjectId,
) -> Result<ObjectId, holdpoint_workspace::WorkspaceError> {
    mirror.import(Import { bundle, ref_name: HANDOFF_REF, base: Some(base) }).await
}

pub(crate) fn meta(message: &str) -> CommitMeta {
    CommitMeta {
        name: "Holdpoint".to_owned(),
        email: "holdpoint@localhost".to_owned(),
        epoch_seconds: 1_700_000_000,
        message: format!("{message}\n"),
    }
}

pub(crate) fn path(name: &str) -> RepoPath {
    RepoPath::new(name).unwrap()
}

pub(crate) fn put(dir: &Path, name: &str, text: impl AsRef<[u8]>) {
    let file = dir.join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

pub(crate) fn executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Plain git as a user or an agent runs it; it has to succeed.
pub(crate) async fn git(dir: &Path, args: &[&str]) -> String {
    let output = plain_git(dir, args).await;
    assert!(output.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub(crate) async fn plain_git(dir: &Path, args: &[&str]) -> ToolOutput {
    let mut tool = Tool::new("git").dir(dir).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null");
    // So that tests of how much memory *we* need are not about the user's own commands.
    let light = [("COUNT", "1"), ("KEY_0", "core.bigFileThreshold"), ("VALUE_0", "1m")];
    tool = light.into_iter().fold(tool, |tool, (key, value)| tool.env(format!("GIT_CONFIG_{key}"), value));
    for role in ["AUTHOR", "COMMITTER"] {
        tool = tool.env(format!("GIT_{role}_NAME"), "Somebody").env(format!("GIT_{role}_EMAIL"), "s@localhost");
    }
    tool.run().await.unwrap()
}

pub(crate) async fn init(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "--quiet", "--initial-branch=main"]).await;
}

pub(crate) async fn commit_all(dir: &Path, message: &str) {
    git(dir, &["add", "--all"]).await;
    git(dir, &["commit", "--quiet", "--allow-empty", "--message", message]).await;
}

pub(crate) async fn oid(dir: &Path, name: &str) -> ObjectId {
    git(dir, &["rev-parse", name]).await.parse().unwrap()
}

/// A bundle as another user's agent would make it: `HEAD` of a clone, without what `base` has.
pub(crate) async fn foreign_bundle(clone: &Path, base: &ObjectId, refs: &[&str], out: &Path) {
    for name in refs {
        git(clone, &["update-ref", name, "HEAD"]).await;
    }
    let not = format!("^{base}");
    let mut args = vec!["bundle", "create", "--quiet", out.to_str().unwrap()];
    args.extend(refs);
    args.push(&not);
    git(clone, &args).await;
}

/// Every file below `dir` with its bytes, links with their targets.
pub(crate) fn bytes_of(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    use std::os::unix::ffi::OsStrExt;
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let file = entry.unwrap().path();
        let kind = file.symlink_metadata().unwrap().file_type();
        if kind.is_symlink() {
            all.push((file.clone(), std::fs::read_link(&file).unwrap().as_os_str().as_bytes().to_vec()));
        } else if kind.is_dir() {
            all.extend(bytes_of(&file));
        } else {
            all.push((file.clone(), std::fs::read(&file).unwrap()));
        }
    }
    all.sort();
    all
}

/// The snapshot's ref, so that tests read as the callers do.
pub(crate) const SNAPSHOT: &str = SNAPSHOT_REF;
