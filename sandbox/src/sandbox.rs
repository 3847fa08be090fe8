//! Running programs that are not ours: the harness's side.
//!
//! Finds out what the platform gives, refuses what it cannot promise, starts the shim, drains the output and watches
//! the limits of time and output. The confining itself is in `shim`.

mod drain;
mod probe;
mod session;
mod standby;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{getegid, geteuid};
use tokio::sync::OnceCell;

pub use drain::{OutputStream, Tap};
pub use standby::Standby;
use standby::{Shim, Slot};

use crate::error::SandboxError;
use crate::layout::Layout;
use crate::platform::Platform;
use crate::profile::{Bounds, Command, Network, Overlaid, Profile, ProgramInput, RunLimits, ShownTree};
use crate::property::{Property, PropertyReport};
use crate::tree::remove_tree;
use crate::wire::{Program, Rlimits, STDIN_BYTES_MAX, Sockets, Spec, Stdin};

/// How the folders of trials begin that find out whether an overlay can be mounted.
const TRIAL: &str = ".overlay-trial-";

/// How a sandboxed program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it. SIGXFSZ: it wrote a bigger file than allowed.
    Signalled(i32),
    /// Its time was up.
    TimedOut,
    /// It wrote more output than allowed.
    OutputLimit,
    /// It used more memory than allowed.
    MemoryLimit,
    /// It used up more disk space than allowed, or a disk that it may write was nearly full.
    DiskLimit,
}

/// What a sandboxed program left behind.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// How it ended.
    pub ended: Ended,
    /// Its standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Its standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// From the start of the set-up to the end of the program.
    pub duration: Duration,
    /// Whether everything it started has verifiably ended too.
    pub tree_ended: bool,
    /// What was promised, and who kept it; waived properties are there as not enforced.
    pub properties: Vec<PropertyReport>,
}

/// A way to run programs that are not ours. It tries the platform once: keep one per process and share it.
#[derive(Debug)]
pub struct Sandbox {
    shim: PathBuf,
    waived: BTreeSet<Property>,
    namespaces: bool,
    groups: bool,
    bounds: Bounds,
    platform: OnceCell<Platform>,
    standby: Slot,
}

impl Sandbox {
    /// A sandbox whose shim is this executable, which calls [`crate::shim::maybe_run`] first in its `main`.
    pub fn new(shim: impl Into<PathBuf>) -> Self {
        Self {
            shim: shim.into(),
            waived: BTreeSet::new(),
            namespaces: true,
            groups: true,
            bounds: Bounds::default(),
            platform: OnceCell::new(),
            standby: Slot::default(),
        }
    }

    /// A sandbox whose shim is the executable that runs now, also when its file was replaced since.
    #[must_use]
    pub fn of_this_executable() -> Self {
        Self::new("/proc/self/exe")
    }

    /// Runs programs even where nothing gives these properties. They are reported as not enforced.
    #[must_use]
    pub fn waiving(mut self, properties: impl IntoIterator<Item = Property>) -> Self {
        self.waived.extend(properties);
        self
    }

    /// Bounds programs whose own limits say nothing.
    #[must_use]
    pub fn bounded(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Does without namespaces, as on a platform that refuses them.
    #[must_use]
    pub fn without_namespaces(mut self) -> Self {
        self.namespaces = false;
        self
    }

    /// Does without control groups, as on a platform that lends us none.
    #[must_use]
    pub fn without_control_groups(mut self) -> Self {
        self.groups = false;
        self
    }

    /// What this platform gives for programs of both networks, found by trying it.
    ///
    /// # Errors
    /// Not even the weakest set-up works, or the shim does not start.
    pub async fn probe(&self) -> Result<Vec<PropertyReport>, SandboxError> {
        let limits = RunLimits { address_space_bytes: Some(u64::MAX), ..RunLimits::default() };
        let profile = Profile { read: vec![], write: vec![], deny: vec![], network: Network::Loopback, limits };
        self.properties(&profile).await
    }

    /// Who keeps each promise to a program with this profile.
    ///
    /// # Errors
    /// As [`Sandbox::probe`], or a path of the profile cannot be used.
    pub async fn properties(&self, profile: &Profile) -> Result<Vec<PropertyReport>, SandboxError> {
        let profile = self.bounds.complete(profile);
        let platform = self.platform().await?;
        let layout = Layout::of(&profile, platform.namespaces)?;
        Ok(platform.reports(&profile, &layout))
    }

    /// Begins to set up what the next program with this network needs, while its caller gets the rest of it ready. It is ended
    /// when the result is dropped, unless a program took it.
    ///
    /// Nothing comes of it where the platform gives no sandbox, or one waits already; the program is then set up when it runs.
    pub async fn stand_by(&self, network: Network) -> Standby<'_> {
        let mut standby = Standby::of(&self.standby);
        if let Ok(platform) = self.platform().await {
            let limits = RunLimits::default();
            let profile = Profile { read: vec![], write: vec![], deny: vec![], network, limits };
            let budget = platform.budget(&self.bounds.complete(&profile).limits);
            standby.begin(&self.shim, platform.stage(network, &budget));
        }
        standby
    }

    /// Runs a program to its end and ends everything it started. When the future is dropped, the same happens.
    ///
    /// `tap` sees the output as it comes.
    ///
    /// # Errors
    /// A required property is not given here and not waived ([`SandboxError::NotEnforceable`]: nothing was run), the profile or
    /// the command cannot be used, or the program does not start. How it ended is never an error.
    pub async fn run(&self, command: &Command, tap: Option<&Tap>) -> Result<RunOutcome, SandboxError> {
        self.run_until(command, tap, std::future::pending()).await
    }

    /// As [`Sandbox::run`], but ends the program and everything it started once `end` is there; its output is kept. It
    /// has then ended by SIGKILL, unless it had ended before.
    ///
    /// # Errors
    /// As [`Sandbox::run`].
    pub async fn run_until(
        &self,
        command: &Command,
        tap: Option<&Tap>,
        end: impl Future<Output = ()>,
    ) -> Result<RunOutcome, SandboxError> {
        let platform = self.platform().await?;
        let profile = self.bounds.complete(&command.profile);
        let layout = Layout::showing(&profile, platform.namespaces, &command.shown)?;
        let properties = platform.reports(&profile, &layout);
        self.refuse_weaker(&properties)?;
        let (program, stdin) = program(command, &seen(command, platform.namespaces))?;
        let spec = spec(&platform, &profile, layout, Some(program));
        let shim = self.standby.take(spec.stage).map_or_else(|| Shim::start(&self.shim, spec.stage), Ok)?;
        let ended = session::run(shim, &spec, stdin, &profile.limits, tap, end).await?;
        Ok(RunOutcome {
            ended: ended.ended,
            stdout: ended.stdout,
            stderr: ended.stderr,
            duration: ended.duration,
            tree_ended: ended.tree_ended,
            properties,
        })
    }

    /// Whether a program with this network may make unix sockets here, and so connect to one in a tree of its profile.
    /// Where nothing keeps it from all other sockets, it may make none.
    ///
    /// # Errors
    /// As [`Sandbox::probe`].
    pub async fn unix_sockets(&self, network: Network) -> Result<bool, SandboxError> {
        Ok(self.platform().await?.sockets(network) == Sockets::All)
    }

    /// Whether changes to a tree can be kept in a folder in `dir` by an [overlay](Overlaid), found by trying it there.
    ///
    /// # Errors
    /// As [`Sandbox::probe`], or the folders of the trial cannot be made.
    pub async fn overlays_in(&self, dir: &Path) -> Result<bool, SandboxError> {
        if !self.platform().await?.namespaces {
            return Ok(false);
        }
        let trial = dir.join(format!("{TRIAL}{}", std::process::id()));
        let [below, above, work] = ["below", "above", "work"].map(|name| trial.join(name));
        [&below, &above, &work].into_iter().try_for_each(std::fs::create_dir_all)?;
        let profile = Profile {
            read: Vec::new(),
            write: vec![above.clone()],
            deny: Vec::new(),
            network: Network::Loopback,
            limits: RunLimits::default(),
        };
        let mut command = Command::shell(": > file", &above, profile);
        let over = Some(Overlaid { trees: vec![below], work });
        command.shown = vec![ShownTree { tree: above.clone(), at: "/hold/trial".into(), over }];
        let ran = self.run(&command, None).await;
        let kept = above.join("file").exists();
        remove_tree(&trial)?;
        match ran {
            Ok(outcome) => Ok(outcome.ended == Ended::Exited(0) && kept),
            Err(SandboxError::SetUp { reason, .. }) => {
                tracing::debug!(reason, dir = %dir.display(), "no overlay can be mounted there");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The file of the executable that is the shim. If it was replaced since it was started, the one in its place.
    ///
    /// # Errors
    /// It has no file any more.
    pub fn executable(&self) -> std::io::Result<PathBuf> {
        const REPLACED: &[u8] = b" (deleted)";
        let path = if self.shim.is_symlink() { self.shim.read_link()? } else { self.shim.clone() };
        let bytes = path.as_os_str().as_bytes();
        let path = Path::new(OsStr::from_bytes(bytes.strip_suffix(REPLACED).unwrap_or(bytes)));
        path.canonicalize()
    }

    async fn platform(&self) -> Result<Platform, SandboxError> {
        self.platform.get_or_try_init(|| probe::probe(&self.shim, self.namespaces, self.groups)).await.copied()
    }

    fn refuse_weaker(&self, reports: &[PropertyReport]) -> Result<(), SandboxError> {
        let missing = |report: &&PropertyReport| {
            !report.enforced() && report.property.required() && !self.waived.contains(&report.property)
        };
        let properties: Vec<Property> = reports.iter().filter(missing).map(|report| report.property).collect();
        if properties.is_empty() { Ok(()) } else { Err(SandboxError::NotEnforceable { properties }) }
    }
}

/// Where a program finds its directory.
fn seen(command: &Command, namespaces: bool) -> PathBuf {
    let shown = command.shown.iter().filter(|_| namespaces);
    let mut below = shown.filter_map(|shown| Some((shown, command.dir.strip_prefix(&shown.tree).ok()?)));
    below.next().map_or_else(|| command.dir.clone(), |(shown, rest)| shown.at.join(rest).components().collect())
}

fn program<'a>(command: &'a Command, dir: &Path) -> Result<(Program, &'a [u8]), SandboxError> {
    let bad = |problem| Err(SandboxError::BadCommand { problem });
    if command.argv.first().is_none_or(String::is_empty) {
        return bad("has no program");
    }
    let nul = |text: &String| text.contains('\0');
    if command.argv.iter().chain(command.env.keys()).chain(command.env.values()).any(nul) {
        return bad("has a NUL byte in its arguments or environment");
    }
    if !dir.is_absolute() || dir.to_str().is_none() {
        return bad("has a directory that is not an absolute UTF-8 path");
    }
    let (stdin, bytes) = match &command.stdin {
        ProgramInput::Empty => (Stdin::Empty, &[][..]),
        ProgramInput::Bytes(bytes) if bytes.len() as u64 > STDIN_BYTES_MAX => {
            return bad("has too much standard input");
        }
        ProgramInput::Bytes(bytes) => (Stdin::Frame, bytes.as_slice()),
        ProgramInput::File(path) => (Stdin::File(path.clone()), &[][..]),
    };
    let program = Program { argv: command.argv.clone(), dir: dir.to_owned(), env: command.env.clone(), stdin };
    Ok((program, bytes))
}

fn spec(platform: &Platform, profile: &Profile, layout: Layout, program: Option<Program>) -> Spec {
    let budget = platform.budget(&profile.limits);
    Spec {
        stage: platform.stage(profile.network, &budget),
        own_proc: platform.own_proc,
        user: geteuid().as_raw(),
        group: getegid().as_raw(),
        sockets: platform.sockets(profile.network),
        landlock_abi: platform.landlock_abi,
        home: program.as_ref().and_then(|program| program.env.get("HOME")).map(PathBuf::from),
        layout,
        limits: Rlimits {
            file_size_bytes: profile.limits.file_size_bytes,
            open_files: profile.limits.open_files,
            processes: profile.limits.processes,
            address_space_bytes: profile.limits.address_space_bytes,
        },
        budget,
        program,
    }
}
