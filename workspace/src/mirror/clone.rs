//! The disposable clone an agent works in. It shares nothing with the mirror: an agent that breaks it breaks nothing
//! else. Once the agent has it, it is never opened as a repository again.

use std::path::Path;

use super::Mirror;
use crate::error::Error;
use crate::files::{create_dir, create_fresh_dir, write};
use crate::git::Git;
use crate::limits::CLONE_DEPTH;
use crate::oid::Oid;
use crate::scratch::EXACT_BYTES;

/// The branch the clone is on.
const BRANCH: &str = "work";
/// Who an agent's own commits are by; only their trees count, and only as files.
const IDENTITY: &str = "[user]\n\tname = Holdpoint agent\n\temail = agent@holdpoint.invalid\n";

impl Mirror {
    /// Makes a clone in `dest` (absent or empty) with `commit` checked out on a branch `work`, its files byte for byte as
    /// in the tree. It has the last [`CLONE_DEPTH`] commits of history, no remote, no hooks, and a name to commit under.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]; the commit is not here; its tree is over the limits.
    pub async fn clone_for_agent(&self, commit: &Oid, dest: &Path) -> Result<(), Error> {
        let entries = self.list_tree(commit).await?;
        crate::tree::audit(&entries, None, self.limits())?;
        let dest = create_fresh_dir(dest)?;
        let git_dir = dest.join(".git");
        let options = ["--quiet", "--template=", "--initial-branch=work"];
        let format = format!("--object-format={}", self.object_format().name());
        Git::new("init").args(options).arg(format).arg(&dest).run_ok().await?;
        let at = |command| Git::new(command).git_dir(&git_dir).work_tree(&dest);
        let options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--update-head-ok"];
        // Else the branch's log would say where the mirror is.
        let fetch = at("fetch")
            .env("GIT_REFLOG_ACTION", "start")
            .args(options)
            .arg(format!("--depth={CLONE_DEPTH}"))
            .arg(self.dir());
        fetch.arg(format!("{commit}:refs/heads/{BRANCH}")).local_transport().long().run_ok().await?;
        create_dir(&git_dir.join("info"))?;
        write(&git_dir.join("info/attributes"), EXACT_BYTES)?;
        let config = git_dir.join("config");
        let mut text = std::fs::read(&config).map_err(Error::io("read", &config))?;
        text.extend(IDENTITY.bytes());
        write(&config, text)?;
        at("reset").args(["--quiet", "--hard"]).arg(BRANCH).long().run_ok().await?;
        Ok(())
    }
}
