//! What a flight costs that does next to nothing, against a shell script that does the same with plain git.
//!
//! Ours is `holdpoint run` as a user calls it: broker, orchestrator, builders, verifiers, sandbox, evidence, landing. The script
//! clones, edits, commits, fetches, checks in a working tree of its own and merges, as many clones at a time as there are
//! builders; what has to be in order it does in order. It isolates nothing, signs nothing, and forgets everything.

mod report;

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use holdpoint_sandbox::{Tool, ToolOutput};

use crate::{BenchError, Host, error::Doing as _, usage::Process};

pub use report::{FlightReport, FlightRow};

/// Waypoints of a flight.
const WAYPOINTS: RangeInclusive<usize> = 1..=1_000;
/// Builders of a flight.
const BUILDERS: RangeInclusive<usize> = 1..=64;
/// Rounds of one row.
const ROUNDS: RangeInclusive<u32> = 1..=100;
/// Files that the repository begins with.
const FILES: usize = 50;
/// How long one side of a round may take.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// What to measure.
#[derive(Debug, Clone)]
pub struct FlightArgs {
    /// Waypoints of a flight.
    pub waypoints: usize,
    /// How many builders, a row each.
    pub builders: Vec<usize>,
    /// Times everything is measured.
    pub rounds: u32,
}

impl FlightArgs {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        if !WAYPOINTS.contains(&self.waypoints) {
            let what = format!("{} waypoints cannot be flown", self.waypoints);
            return Err(BenchError::usage(what, "ask for 1 to 1000"));
        }
        if self.builders.is_empty() || self.builders.iter().any(|builders| !BUILDERS.contains(builders)) {
            return Err(BenchError::usage("these are no builders", "ask for 1 to 64 of them"));
        }
        if !ROUNDS.contains(&self.rounds) {
            return Err(BenchError::usage(format!("{} rounds cannot be measured", self.rounds), "ask for 1 to 100"));
        }
        Ok(())
    }
}

/// What one side used up.
#[derive(Debug, Clone, Copy)]
struct Used {
    wall: Duration,
    cpu: Duration,
}

/// Measures it. `program` is Holdpoint's own.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &FlightArgs, program: &Path, host: &Host) -> Result<FlightReport, BenchError> {
    host.in_folder(async |dir| Box::pin(measure(args, program, host, dir)).await).await
}

async fn measure(args: &FlightArgs, program: &Path, host: &Host, dir: &Path) -> Result<FlightReport, BenchError> {
    let mut rows = Vec::new();
    for builders in &args.builders {
        let mut rounds = Vec::new();
        for round in 1..=args.rounds {
            host.say(&format!("{builders} builders, round {round} of {}", args.rounds));
            let round = Round { args, program, builders: *builders, dir: dir.join(format!("{builders}-{round}")) };
            // In turns, so that a busy moment hits both.
            rounds.push((round.plain().await?, round.ours().await?));
            std::fs::remove_dir_all(&round.dir).map_err(|source| BenchError::Io { path: round.dir.clone(), source })?;
        }
        rows.push(FlightRow::of(args, *builders, &rounds));
    }
    Ok(FlightReport::of(args, rows))
}

/// One round: both sides, each in a folder of its own.
struct Round<'a> {
    args: &'a FlightArgs,
    program: &'a Path,
    builders: usize,
    dir: PathBuf,
}

impl Round<'_> {
    async fn ours(&self) -> Result<Used, BenchError> {
        let dir = self.made("ours").await?;
        let builders = self.builders.to_string();
        let flight = Tool::new(self.program)
            .args(["run", "../plan.yaml", "--builder", "../agent.sh", "--builders", &builders, "--json"])
            .dir(dir.join("repo"))
            .env("HOME", &dir)
            .env("XDG_STATE_HOME", dir.join("state"));
        let flight = match std::env::var_os("HOLDPOINT_NATS_SERVER") {
            Some(server) => flight.env("HOLDPOINT_NATS_SERVER", server),
            None => flight,
        };
        used("fly", flight).await
    }

    async fn plain(&self) -> Result<Used, BenchError> {
        let dir = self.made("plain").await?;
        let script = Tool::new("sh").arg("flight.sh").dir(&dir);
        let (builders, waypoints) = (self.builders.to_string(), self.args.waypoints.to_string());
        used("do the same with plain git", script.args([&builders, &waypoints])).await
    }

    /// A folder with a repository, the agent, the plan and the script.
    async fn made(&self, side: &str) -> Result<PathBuf, BenchError> {
        let dir = self.dir.join(side);
        let repo = dir.join("repo");
        let write =
            |path: PathBuf, text: String| std::fs::write(&path, text).map_err(|source| BenchError::Io { path, source });
        std::fs::create_dir_all(&repo).map_err(|source| BenchError::Io { path: repo.clone(), source })?;
        for n in 0..FILES {
            write(repo.join(format!("file-{n}.txt")), format!("line {n}\n"))?;
        }
        let line = |n: usize| format!("  - {{id: w{n}, goal: g, criteria: [{{id: c, check: 'test -e w{n}.txt'}}]}}\n");
        let lines: String = (1..=self.args.waypoints).map(line).collect();
        write(dir.join("plan.yaml"), format!("plan: flight\nwaypoints:\n{lines}"))?;
        write(dir.join("agent.sh"), AGENT.to_owned())?;
        write(dir.join("flight.sh"), SCRIPT.to_owned())?;
        let begin = Tool::new("sh").args(["-c", BEGIN]).dir(&dir);
        begin.run_ok().await.doing("make a repository")?;
        Ok(dir)
    }
}

/// Runs one side, and says what it used up, with everything that it started and that has ended.
async fn used(what: &'static str, tool: Tool) -> Result<Used, BenchError> {
    let own = Process::own("bench");
    let cpu = || own.cpu().map_err(|source| BenchError::Io { path: "/proc/self/stat".into(), source });
    let (before, begun) = (cpu()?, Instant::now());
    let output: ToolOutput = tool.timeout(PATIENCE).run().await.doing(what)?;
    let wall = begun.elapsed();
    if !output.success() {
        return Err(BenchError::failed(what, String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(Used { wall, cpu: cpu()?.saturating_sub(before) })
}

const BEGIN: &str = "chmod +x agent.sh && cd repo && git init --quiet --initial-branch=main && git config user.name Bench && \
                     git config user.email bench@localhost && git add --all && git commit --quiet -m begin";

/// The agent: of both sides.
const AGENT: &str = "#!/bin/sh\necho x > \"$HOLDPOINT_WAYPOINT.txt\"\n";

/// `flight.sh BUILDERS WAYPOINTS`. Clones are made at the same time; what happens in the repository happens in order.
const SCRIPT: &str = r#"set -e
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=Bench GIT_AUTHOR_EMAIL=bench@localhost
export GIT_COMMITTER_NAME=Bench GIT_COMMITTER_EMAIL=bench@localhost HERE="$PWD"
one='set -e
name="w$1"
clone() { git clone --quiet --no-hardlinks "$HERE/repo" "$HERE/clone-$name"; }
# It copies files, and a temporary one of a fetch may be gone by then.
clone || { rm -rf "$HERE/clone-$name"; clone; }
cd "$HERE/clone-$name"
HOLDPOINT_WAYPOINT="$name" ../agent.sh
git add --all
git commit --quiet -m "$name"
exec 9> "$HERE/lock"
flock 9
cd "$HERE/repo"
git fetch --quiet "$HERE/clone-$name" HEAD
git worktree add --quiet --detach "$HERE/tree-$name" FETCH_HEAD
(cd "$HERE/tree-$name" && sh -c "test -e $name.txt")
git merge --quiet --no-edit FETCH_HEAD
git worktree remove --force "$HERE/tree-$name"
rm -rf "$HERE/clone-$name"'
seq 1 "$2" | xargs -P "$1" -I {} sh -c "$one" sh {}
"#;
