//! The user's forge: pushing branches with their git, and opening requests with the forge's own program.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use holdpoint_account::pull_request::PullRequest;

use crate::failure::Failure;

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
    pub(crate) fn open(self, repo: &Path, opening: &Opening<'_>) -> Result<Option<String>, Failure> {
        let mut command = Command::new(self.name());
        command.args(self.args(opening)).current_dir(repo).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed(&error.to_string())),
            Ok(child) => child,
        };
        if let Some(mut input) = child.stdin.take() {
            // One that does not read it says by its exit code why.
            let _ = input.write_all(opening.request.body.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| self.failed(&error.to_string()))?;
        if !output.status.success() {
            return Err(self.failed(&output.status.to_string()));
        }
        Ok(Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }

    fn failed(self, why: &str) -> Failure {
        let name = self.name();
        let hint = format!(
            "the branch is pushed; `{name} auth status` says whether you are logged in, and a request of the branch may be open already"
        );
        Failure::environment("forge", format!("`{name}` could not open the request: {why}"), hint)
    }
}

/// The user's own git in a repository: with their configuration, credentials and hooks.
#[derive(Debug)]
pub(crate) struct UserGit(pub(crate) PathBuf);

impl UserGit {
    /// The address of a remote.
    pub(crate) fn address(&self, remote: &str) -> Result<String, Failure> {
        let output = self.command(&["remote", "get-url", "--push", "--", remote]).output();
        let output = output.map_err(|error| unpushed(remote, &error.to_string()))?;
        if !output.status.success() {
            let message = format!("the repository has no remote {remote}");
            return Err(Failure::usage("no_remote", message, "name one with --remote; `git remote -v` lists them"));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Pushes a commit as a branch.
    pub(crate) fn push(&self, remote: &str, commit: &str, branch: &str) -> Result<(), Failure> {
        let refspec = format!("{commit}:refs/heads/{branch}");
        let status = self.command(&["push", "--quiet", "--", remote, &refspec]).stdout(Stdio::null()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(unpushed(remote, &status.to_string())),
            Err(error) => Err(unpushed(remote, &error.to_string())),
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        command
    }
}

fn unpushed(remote: &str, why: &str) -> Failure {
    let hint = "git says why above; what landed is in the branch here, and the command can be run again";
    Failure::environment("push", format!("git could not push to {remote}: {why}"), hint)
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
