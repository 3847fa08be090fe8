//! One place that builds every call of git. Whatever the machine, the user or an agent configured has no say in it:
//! no system and global configuration, no hooks, no file-system monitor, no replaced objects, no network, no
//! credentials, no prompts. A call on objects or files that others made is confined as well: see [`Git::confined`]. It
//! does not know what the calls are for.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_sandbox::{Tool, ToolError, ToolOutput};

use crate::allowance::Work;
use crate::error::{InputRefusal, WorkspaceError};
use crate::limits::{LISTING_OUTPUT_BYTES, LONG_TIMEOUT, QUICK_TIMEOUT, SHORT_OUTPUT_BYTES};
use crate::version::{GIT_FLOOR, GitVersion};

/// Has git take paths as they are.
const LITERAL: &str = "GIT_LITERAL_PATHSPECS";

/// Environment of every call.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    (LITERAL, "1"),
    ("GIT_ADVICE", "0"),
];

/// Settings of every call. They beat the repository's own configuration.
const SETTINGS: [(&str, &str); 30] = [
    ("safe.directory", "*"),
    // Nothing is ever started by git itself.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    // The same bytes for everybody.
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.autocrlf", "false"),
    ("core.fileMode", "true"),
    ("core.symlinks", "true"),
    ("core.ignoreCase", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.quotePath", "false"),
    // One thread a call: threads would reserve memory that the call's limit counts.
    ("pack.threads", "1"),
    ("index.threads", "1"),
    ("core.preloadIndex", "false"),
    ("merge.directoryRenames", "false"),
    ("merge.renormalize", "false"),
    // Larger files are streamed and not compared with each other, and a pack of gigabytes is not mapped whole: memory
    // stays bounded.
    ("core.bigFileThreshold", "32m"),
    ("core.packedGitWindowSize", "32m"),
    ("core.packedGitLimit", "256m"),
];

/// Variables that say where a user's settings are.
const USERS_SETTINGS: [&str; 5] =
    ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// Lets git read another repository on this machine by its path.
const LOCAL_TRANSPORT: (&str, &str) = ("protocol.file.allow", "always");

/// What a confined call reaches, and what it is allowed for.
#[derive(Debug, Clone, Default)]
struct Confined {
    work: Work,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

/// One call of git.
#[derive(Debug, Clone)]
#[must_use = "a call does nothing until it is run"]
pub(crate) struct Git {
    command: &'static str,
    global: Vec<OsString>,
    tool: Tool,
    args: Vec<OsString>,
    local_transport: bool,
    users_settings: bool,
    magic: bool,
    confined: Option<Confined>,
}

impl Git {
    /// The subcommand, for a few lines of answer within [`QUICK_TIMEOUT`].
    pub(crate) fn new(command: &'static str) -> Self {
        let tool = Tool::new("git").timeout(QUICK_TIMEOUT).output_cap(SHORT_OUTPUT_BYTES);
        Self {
            command,
            global: Vec::new(),
            tool,
            args: Vec::new(),
            local_transport: false,
            users_settings: false,
            magic: false,
            confined: None,
        }
    }

    /// Exactly this git directory; nothing is looked for.
    pub(crate) fn git_dir(self, dir: &Path) -> Self {
        let mut option = OsString::from("--git-dir=");
        option.push(dir);
        self.global(option)
    }

    /// Exactly this working tree, which is read.
    pub(crate) fn work_tree(self, dir: &Path) -> Self {
        let mut option = OsString::from("--work-tree=");
        option.push(dir);
        self.global(option).dir(dir).reads(dir)
    }

    /// Limits the call to the system's programs, the paths of [`Git::reads`] and [`Git::writes`], no network, and what this
    /// much honest work needs; it ends with this process. More work may be added.
    pub(crate) fn confined(mut self, work: Work) -> Self {
        let confined = self.confined.get_or_insert_default();
        confined.work = confined.work.and(work);
        self
    }

    /// A path that a confined call may read.
    pub(crate) fn reads(mut self, path: &Path) -> Self {
        if let Some(confined) = &mut self.confined {
            confined.read.push(path.to_owned());
        }
        self
    }

    /// A folder that a confined call may change.
    pub(crate) fn writes(mut self, path: &Path) -> Self {
        if let Some(confined) = &mut self.confined {
            confined.write.push(path.to_owned());
        }
        self
    }

    fn global(mut self, option: OsString) -> Self {
        self.global.push(option);
        self
    }

    /// Runs in this folder.
    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.tool = self.tool.dir(dir);
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.tool = self.tool.env(key, value);
        self
    }

    pub(crate) fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.tool = self.tool.stdin(bytes);
        self
    }

    /// Reads a file from the byte at `from` on.
    pub(crate) fn stdin_file(mut self, path: &Path, from: u64) -> Self {
        self.tool = self.tool.stdin_file(path, from);
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.tool = self.tool.timeout(timeout);
        self
    }

    /// Appends the answer to a file.
    pub(crate) fn appends_to(mut self, path: &Path) -> Self {
        self.tool = self.tool.appends_to(path);
        self
    }

    pub(crate) fn output_cap(mut self, bytes: usize) -> Self {
        self.tool = self.tool.output_cap(bytes);
        self
    }

    /// For a command that works through a whole tree or history and answers with a list.
    pub(crate) fn long(self) -> Self {
        self.timeout(LONG_TIMEOUT).output_cap(LISTING_OUTPUT_BYTES)
    }

    /// Lets this one call read another repository on this machine.
    pub(crate) fn local_transport(mut self) -> Self {
        self.local_transport = true;
        self
    }

    /// For a command that refuses to take paths literally: they have to begin with `./`.
    pub(crate) fn magic_paths(mut self) -> Self {
        self.magic = true;
        self
    }

    /// Has this one call see the settings of the user, and none of ours: only for asking what they are, which starts nothing.
    pub(crate) fn with_users_settings(mut self) -> Self {
        self.users_settings = true;
        for name in USERS_SETTINGS {
            if let Some(value) = std::env::var_os(name) {
                self.tool = self.tool.env(name, value);
            }
        }
        self
    }

    /// Runs it; any exit code is an answer.
    pub(crate) async fn run(self) -> Result<ToolOutput, WorkspaceError> {
        let (command, confined) = (self.command, self.confined.is_some());
        let output = self.tool().run().await.map_err(|source| tool_error(command, source))?;
        if confined && !output.success() && lacks_memory(&String::from_utf8_lossy(&output.stderr)) {
            return Err(over_limit(command, "memory"));
        }
        Ok(output)
    }

    /// Runs it and demands exit code 0; gives its standard output.
    pub(crate) async fn run_ok(self) -> Result<Vec<u8>, WorkspaceError> {
        let (command, confined) = (self.command, self.confined.is_some());
        match self.tool().run_ok().await {
            Ok(output) => Ok(output.stdout),
            Err(ToolError::Failed { stderr, .. }) if confined && lacks_memory(&stderr) => {
                Err(over_limit(command, "memory"))
            }
            Err(source) => Err(tool_error(command, source)),
        }
    }

    /// As [`Git::run_ok`], for an answer of one line of text.
    pub(crate) async fn line(self) -> Result<String, WorkspaceError> {
        let command = self.command;
        let mut text =
            String::from_utf8(self.run_ok().await?).map_err(|error| unexpected(command, error.as_bytes()))?;
        text.truncate(text.trim_end().len());
        Ok(text)
    }

    /// As [`Git::run_ok`], for an answer that is one object id.
    pub(crate) async fn oid(self) -> Result<crate::ObjectId, WorkspaceError> {
        let command = self.command;
        let line = self.line().await?;
        line.parse().map_err(|_| unexpected(command, line.as_bytes()))
    }

    /// Settings go through the environment, so that an error message shows the subcommand and not two dozen options.
    fn tool(self) -> Tool {
        let mut tool = self.tool;
        if let Some(Confined { work, read, write }) = self.confined {
            tool = tool.confined(work.confinement(read, write));
        }
        if self.users_settings {
            return tool.args(self.global).arg(self.command).args(self.args);
        }
        for (key, value) in ENVIRONMENT.into_iter().filter(|(key, _)| !self.magic || *key != LITERAL) {
            tool = tool.env(key, value);
        }
        let settings = SETTINGS.into_iter().chain(self.local_transport.then_some(LOCAL_TRANSPORT));
        let mut count = 0_usize;
        for (key, value) in settings {
            tool = tool.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        tool.env("GIT_CONFIG_COUNT", count.to_string()).args(self.global).arg(self.command).args(self.args)
    }
}

fn tool_error(command: &'static str, source: ToolError) -> WorkspaceError {
    match source {
        ToolError::NotFound { .. } => WorkspaceError::GitMissing,
        ToolError::OverLimit { limit, .. } => over_limit(command, limit),
        source => WorkspaceError::Git { command, source },
    }
}

/// The call needs more than honest work of that size does.
fn over_limit(command: &'static str, limit: impl std::fmt::Display) -> WorkspaceError {
    InputRefusal::OverLimit { command, limit: limit.to_string() }.into()
}

/// Whether a confined git was refused memory. The limit of its address space does that; a machine without memory ends
/// processes instead. Only its last words count: what it says before may be quoted from the objects.
fn lacks_memory(stderr: &str) -> bool {
    let last = stderr.trim_end().lines().next_back().unwrap_or_default();
    last.strip_prefix("fatal: ")
        .is_some_and(|said| said.starts_with("Out of memory, ") || said.ends_with("Cannot allocate memory"))
}

/// What the system says when it lacks something, as the end of git's words. The second is git's own word for a full disk.
const LACKS: [&str; 7] = [
    "No space left on device",
    "Out of diskspace",
    "Disk quota exceeded",
    "Input/output error",
    "Read-only file system",
    "Too many open files",
    "Resource temporarily unavailable",
];

/// Whether a line of git's says that the machine lacks something.
pub(crate) fn lacks_something(line: &str) -> bool {
    LACKS.iter().any(|lack| line.ends_with(lack))
}

/// An answer that cannot be read; its start is shown.
pub(crate) fn unexpected(command: &'static str, answer: &[u8]) -> WorkspaceError {
    const SHOWN: usize = 200;
    WorkspaceError::Unexpected { command, answer: crate::path::escaped(answer.get(..SHOWN).unwrap_or(answer)) }
}

/// The version of the installed git.
///
/// # Errors
/// [`WorkspaceError::GitMissing`], [`WorkspaceError::GitTooOld`] when it is below [`GIT_FLOOR`], or it does not say its version.
pub async fn require_git() -> Result<GitVersion, WorkspaceError> {
    let line = Git::new("version").line().await?;
    let found = GitVersion::parse(&line).ok_or_else(|| unexpected("version", line.as_bytes()))?;
    if found < GIT_FLOOR { Err(WorkspaceError::GitTooOld { found }) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_confined_git_that_waits_for_ever_is_refused_by_a_limit_that_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        Tool::new("mkfifo").arg(&pipe).run_ok().await.unwrap();
        let git = Git::new("hash-object").confined(Work::default()).dir(dir.path()).reads(dir.path());
        let git = git.arg("--no-filters").arg(&pipe);
        let error = git.timeout(Duration::from_millis(100)).run_ok().await.unwrap_err();
        assert!(error.is_refusal() && !error.is_retryable(), "{error:?}");
        let WorkspaceError::Refused(refusal) = error else { unreachable!() };
        let told = "git hash-object needed more than work of this size may use: 200ms of wall time";
        assert_eq!(refusal.to_string(), told);
    }
}
