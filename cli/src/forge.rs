//! The user's forge: pushing branches with their git, and opening requests with the forge's own program.

use std::path::{Path, PathBuf};

use holdpoint_account::pull_request::PullRequest;
use holdpoint_sandbox::{Tool, ToolError};

use crate::failure::{Failure, chain};

/// A program that opens requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForgeProgram {
    /// GitHub's.
    Gh,
    /// GitLab's.
    Glab,
}

/// A request as it is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// What it says.
    pub(crate) request: &'a PullRequest,
    /// The branch with the work.
    pub(crate) branch: &'a str,
    /// The branch that it is to be merged into; `None`: the forge's default.
    pub(crate) into: Option<&'a str>,
    pub(crate) draft: bool,
}

impl ForgeProgram {
    /// The program for a remote's address.
    pub(crate) fn of(address: &str) -> Self {
        if address.contains("gitlab") { Self::Glab } else { Self::Gh }
    }

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gh => "gh",
            Self::Glab => "glab",
        }
    }

    /// How it is called; the text comes on standard input for `gh`, and in the line for `glab`, which reads none.
    fn args<'a>(self, opening: &Opening<'a>) -> Vec<&'a str> {
        let Opening { request, branch, into, draft } = *opening;
        let title = request.title.as_str();
        let (mut args, target) = match self {
            Self::Gh => (vec!["pr", "create", "--title", title, "--body-file", "-", "--head", branch], "--base"),
            Self::Glab => {
                let text = request.body.as_str();
                let args =
                    vec!["mr", "create", "--yes", "--title", title, "--description", text, "--source-branch", branch];
                (args, "--target-branch")
            }
        };
        args.extend(into.into_iter().flat_map(|into| [target, into]));
        args.extend(draft.then_some("--draft"));
        args
    }

    /// Opens a request from a repository; `None`: the program is not there. Gives what it says, which is the request's address.
    pub(crate) async fn open(self, repo: &Path, opening: &Opening<'_>) -> Result<Option<String>, Failure> {
        let tool = of_user(self.name(), repo).args(self.args(opening)).stdin(opening.request.body.as_bytes());
        match tool.run_ok().await {
            Ok(output) => Ok(Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())),
            Err(ToolError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(&chain(&error))),
        }
    }

    fn failed(self, why: &str) -> Failure {
        let name = self.name();
        let hint = format!(
            "the branch is pushed; `{name} auth status` says whether you are logged in, and a request of the branch may be open already"
        );
        Failure::environment("forge", format!("`{name}` could not open the request: {why}"), hint)
    }
}

/// The user's own git in a repository.
#[derive(Debug)]
pub(crate) struct UserGit(pub(crate) PathBuf);

impl UserGit {
    /// The address of a remote.
    pub(crate) async fn address(&self, remote: &str) -> Result<String, Failure> {
        let output = of_user("git", &self.0).args(["remote", "get-url", "--push", "--", remote]).run().await;
        let output = output.map_err(|error| unpushed(remote, &error))?;
        if !output.success() {
            let message = format!("the repository has no remote {remote}");
            return Err(Failure::usage("no_remote", message, "name one with --remote; `git remote -v` lists them"));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Pushes a commit as a branch.
    pub(crate) async fn push(&self, remote: &str, commit: &str, branch: &str) -> Result<(), Failure> {
        let refspec = format!("{commit}:refs/heads/{branch}");
        // It has no terminal to ask at.
        let git = of_user("git", &self.0).env("GIT_TERMINAL_PROMPT", "0");
        let pushed = git.args(["push", "--quiet", "--", remote, &refspec]).run_ok().await;
        pushed.map(drop).map_err(|error| unpushed(remote, &error))
    }
}

/// A program as the user would call it: with their configuration, credentials and hooks.
fn of_user(program: &str, repo: &Path) -> Tool {
    std::env::vars_os().fold(Tool::new(program).dir(repo), |tool, (name, value)| tool.env(name, value))
}

fn unpushed(remote: &str, why: &ToolError) -> Failure {
    let hint = "what landed is in the branch here, and the command can be run again; `git push` shows whether git knows your credentials";
    Failure::environment("push", format!("git could not push to {remote}: {}", chain(why)), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_gets_its_own_words() {
        let request = PullRequest { title: "t".to_owned(), body: "b".to_owned() };
        let plain = Opening { request: &request, branch: "holdpoint/f", into: None, draft: false };
        let rows: [(&str, Opening<'_>, &str); 3] = [
            ("git@github.com:a/b.git", plain, "pr create --title t --body-file - --head holdpoint/f"),
            ("https://gitlab.com/a/b", plain, "mr create --yes --title t --description b --source-branch holdpoint/f"),
            (
                "https://gitlab.example/a/b",
                Opening { into: Some("main"), draft: true, ..plain },
                "mr create --yes --title t --description b --source-branch holdpoint/f --target-branch main --draft",
            ),
        ];
        for (address, opening, line) in rows {
            assert_eq!(ForgeProgram::of(address).args(&opening).join(" "), line, "{address}");
        }
    }
}
