//! What verdicts cost whose suite takes time: runs of the suite, and the time of a flight, against verifiers that are always busy
//! with one run for each attempt and against a script that does what a pipeline with a merge queue does.
//!
//! Ours is `holdpoint run` as a user calls it, and the runs are those that its reports say were made. The script runs the suite on each branch
//! and once more in its queue, on as many runners as there are verifiers. The suite sleeps: no processor time is compared.

mod report;

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use holdpoint_sandbox::{Tool, ToolOutput};
use serde_json::Value;

use crate::{BenchError, Host, error::Doing as _};

pub use report::{VerificationReport, VerificationRow};

/// Waypoints of a flight.
const WAYPOINTS: RangeInclusive<usize> = 1..=200;
/// Builders, and verifiers.
const AGENTS: RangeInclusive<usize> = 1..=16;
/// How long the suite may take.
const SUITE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(60);
/// How long one side of a row may take.
const PATIENCE: Duration = Duration::from_secs(3_600);
/// The command of the suite.
const COMMAND: &str = "sh suite.sh";

/// What to measure.
#[derive(Debug, Clone)]
pub struct VerificationArgs {
    /// Waypoints of a flight.
    pub waypoints: usize,
    /// Builders.
    pub builders: usize,
    /// How many verifiers, a row each.
    pub verifiers: Vec<usize>,
    /// How long the suite takes.
    pub suite: Duration,
    /// Percent of the waypoints whose first attempt is green; the second always is.
    pub green: u32,
    /// Whether each work adds a test.
    pub tests: bool,
}

impl VerificationArgs {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        let refuse = |what: String, hint| Err(BenchError::usage(what, hint));
        if !WAYPOINTS.contains(&self.waypoints) {
            return refuse(format!("{} waypoints cannot be flown", self.waypoints), "--waypoints is from 1 to 200");
        }
        if !AGENTS.contains(&self.builders) {
            return refuse(format!("{} builders cannot be started", self.builders), "--builders is from 1 to 16");
        }
        if self.verifiers.is_empty() || self.verifiers.iter().any(|verifiers| !AGENTS.contains(verifiers)) {
            return refuse("these are no verifiers".to_owned(), "--verifiers is from 1 to 16 each, with commas");
        }
        if !SUITE.contains(&self.suite) {
            return refuse(format!("a suite cannot take {:?}", self.suite), "--suite-ms is from 100 to 60000");
        }
        if self.green > 100 {
            return refuse(format!("{} percent cannot be green", self.green), "--green is from 0 to 100");
        }
        Ok(())
    }

    /// Runs of the suite that each attempt needs: with a new test the tests of the base run, too.
    fn runs_needed(&self) -> usize {
        if self.tests { 2 } else { 1 }
    }
}

/// What a flight came to.
#[derive(Debug, Clone, Copy)]
struct Flown {
    wall: Duration,
    landed: usize,
    attempts: usize,
    runs: usize,
}

/// Measures it. `program` is Holdpoint's own.
///
/// # Errors
/// [`BenchError`].
pub async fn run(args: &VerificationArgs, program: &Path, host: &Host) -> Result<VerificationReport, BenchError> {
    host.in_folder(async |dir| Box::pin(measure(args, program, host, dir)).await).await
}

async fn measure(
    args: &VerificationArgs,
    program: &Path,
    host: &Host,
    dir: &Path,
) -> Result<VerificationReport, BenchError> {
    let mut rows = Vec::new();
    for verifiers in &args.verifiers {
        host.say(&format!("{verifiers} verifiers"));
        let row = Row { args, program, verifiers: *verifiers, dir: dir.join(verifiers.to_string()) };
        let script = row.script().await?;
        let flown = row.flown().await?;
        rows.push(VerificationRow::of(args, *verifiers, &flown, script));
    }
    Ok(VerificationReport::of(args, rows))
}

/// One row: both sides, each in a folder of its own.
struct Row<'a> {
    args: &'a VerificationArgs,
    program: &'a Path,
    verifiers: usize,
    dir: PathBuf,
}

impl Row<'_> {
    async fn flown(&self) -> Result<Flown, BenchError> {
        let dir = self.made("ours").await?;
        let [builders, verifiers] = [self.args.builders, self.verifiers].map(|count| count.to_string());
        let begun = Instant::now();
        let run =
            ["run", "../plan.yaml", "--builder", "../agent.sh", "--builders", &builders, "--verifiers", &verifiers];
        let flight = json(&self.ours(&dir, &[&run[..], &["--json"]].concat()).await?)?;
        let wall = begun.elapsed();
        let name = flight["flight"].as_str().unwrap_or_default();
        let waypoints = flight["waypoints"].as_array().cloned().unwrap_or_default();
        let mut runs = 0;
        for waypoint in &waypoints {
            let id = waypoint["id"].as_str().unwrap_or_default();
            let history = self.ours(&dir, &["history", id, "--flight", name, "--json"]).await?;
            for line in String::from_utf8_lossy(&history.stdout).lines() {
                runs += made(&serde_json::from_str(line).unwrap_or_default());
            }
        }
        let attempts = waypoints.iter().filter_map(|waypoint| waypoint["attempts"].as_u64()).sum::<u64>();
        let landed = waypoints.iter().filter(|waypoint| waypoint["commit"].is_string()).count();
        Ok(Flown { wall, landed, attempts: usize::try_from(attempts).unwrap_or(usize::MAX), runs })
    }

    /// Runs our program in the repository.
    async fn ours(&self, dir: &Path, args: &[&str]) -> Result<ToolOutput, BenchError> {
        let tool = Tool::new(self.program).args(args).dir(dir.join("repo"));
        let tool = tool.env("HOME", dir).env("XDG_STATE_HOME", dir.join("state")).timeout(PATIENCE);
        let tool = match std::env::var_os("HOLDPOINT_NATS_SERVER") {
            Some(server) => tool.env("HOLDPOINT_NATS_SERVER", server),
            None => tool,
        };
        done("fly", tool).await
    }

    async fn script(&self) -> Result<Duration, BenchError> {
        let dir = self.made("script").await?;
        let numbers = [self.args.builders, self.args.waypoints, self.verifiers].map(|count| count.to_string());
        let begun = Instant::now();
        let script = Tool::new("sh").arg("queue.sh").args(numbers).dir(&dir);
        done("do the same by a script", script.timeout(PATIENCE)).await?;
        Ok(begun.elapsed())
    }

    /// A folder with a repository, the agent, the plan and the script.
    async fn made(&self, side: &str) -> Result<PathBuf, BenchError> {
        let dir = self.dir.join(side);
        let repo = dir.join("repo");
        let write =
            |path: PathBuf, text: String| std::fs::write(&path, text).map_err(|source| BenchError::Io { path, source });
        for folder in [repo.join("work"), repo.join("tests")] {
            std::fs::create_dir_all(&folder).map_err(|source| BenchError::Io { path: folder.clone(), source })?;
        }
        let suite = SUITE_SH.replace("SECONDS", &self.args.suite.as_secs_f64().to_string());
        write(repo.join("suite.sh"), suite)?;
        write(repo.join("work/base.txt"), "ok\n".to_owned())?;
        write(repo.join("tests/test_base.sh"), "test -e work/base.txt\n".to_owned())?;
        let line = |n: usize| {
            format!(
                "  - {{id: w{n}, goal: g, scope: ['work/**'], new_tests: ['tests/**'], criteria: [{{id: c, check: 'test -e \
                 work/w{n}.txt'}}]}}\n"
            )
        };
        let lines: String = (1..=self.args.waypoints).map(line).collect();
        let guard = format!("guards: [{{id: suite, check: {COMMAND}}}]");
        write(dir.join("plan.yaml"), format!("plan: verification\n{guard}\nwaypoints:\n{lines}"))?;
        let test = if self.args.tests { "echo \"test -e work/$w.txt\" > \"tests/test_$w.sh\"" } else { ":" };
        let agent = AGENT.replace("GREEN", &self.args.green.to_string()).replace("TEST", test);
        write(dir.join("agent.sh"), agent)?;
        write(dir.join("queue.sh"), SCRIPT.to_owned())?;
        Tool::new("sh").args(["-c", BEGIN]).dir(&dir).run_ok().await.doing("make a repository")?;
        Ok(dir)
    }
}

/// How many runs of the suite a line of a history says were made for it.
fn made(line: &Value) -> usize {
    let runs = line["artifact"]["receipt"]["checks"].as_array().map_or(&[][..], Vec::as_slice);
    let is_made = |run: &&Value| run["command"] == COMMAND && run.get("known_from").is_none_or(Value::is_null);
    runs.iter().filter(is_made).count()
}

fn json(output: &ToolOutput) -> Result<Value, BenchError> {
    serde_json::from_slice(&output.stdout).map_err(|error| BenchError::failed("fly", error.to_string()))
}

async fn done(what: &'static str, tool: Tool) -> Result<ToolOutput, BenchError> {
    let output = tool.run().await.doing(what)?;
    if !output.success() {
        return Err(BenchError::failed(what, String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(output)
}

const BEGIN: &str = "chmod +x agent.sh && cd repo && git init --quiet --initial-branch=main && git config user.name Bench && \
                     git config user.email bench@localhost && git add --all && git commit --quiet -m begin";

const SUITE_SH: &str = r#"sleep SECONDS
for work in work/*.txt; do grep -qx ok "$work" || exit 1; done
for test in tests/test_*.sh; do sh "$test" || exit 1; done
"#;

/// The agent, of both sides: a second of work. Which first attempts are red is spread over the waypoints.
const AGENT: &str = r#"#!/bin/sh
sleep 1
w="$HOLDPOINT_WAYPOINT"
said=ok
if [ "$HOLDPOINT_ATTEMPT" = 1 ] && [ "$((${w#w} * 37 % 100))" -ge GREEN ]; then said=bad; fi
echo "$said" > "work/$w.txt"
TEST
"#;

/// `queue.sh BUILDERS WAYPOINTS RUNNERS`: each branch has to be green, and what is merged is green on the head as well.
const SCRIPT: &str = r#"set -e
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=Bench GIT_AUTHOR_EMAIL=bench@localhost
export GIT_COMMITTER_NAME=Bench GIT_COMMITTER_EMAIL=bench@localhost HERE="$PWD" RUNNERS="$3"
one='set -e
export HOLDPOINT_WAYPOINT="w$1" HOLDPOINT_ATTEMPT=1
suite() {
  while :; do
    for runner in $(seq "$RUNNERS"); do
      exec 8> "$HERE/runner-$runner"
      if flock -n 8; then
        if (cd "$1" && sh suite.sh); then said=0; else said=1; fi
        flock -u 8
        return "$said"
      fi
    done
    sleep 0.02
  done
}
clone="$HERE/clone-$1"
git clone --quiet --no-hardlinks "$HERE/repo" "$clone" || { rm -rf "$clone"; git clone --quiet --no-hardlinks "$HERE/repo" "$clone"; }
(cd "$clone" && "$HERE/agent.sh")
while ! suite "$clone"; do
  HOLDPOINT_ATTEMPT=$((HOLDPOINT_ATTEMPT + 1))
  (cd "$clone" && "$HERE/agent.sh")
done
(cd "$clone" && git add --all && git commit --quiet -m "w$1")
exec 9> "$HERE/lock"
flock 9
cd "$HERE/repo"
git fetch --quiet "$clone" HEAD
work="$(git rev-parse FETCH_HEAD)"
git worktree add --quiet --detach "$HERE/tree-$1" HEAD
(cd "$HERE/tree-$1" && git merge --quiet --no-edit "$work" && suite "$HERE/tree-$1")
git merge --quiet --ff-only "$(git -C "$HERE/tree-$1" rev-parse HEAD)"
git worktree remove --force "$HERE/tree-$1"'
seq 1 "$2" | xargs -P "$1" -I {} sh -c "$one" sh {}
"#;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_runs_of_the_suite_that_were_made_for_a_report_count() {
        let run = |command: &str| json!({"command": command});
        let known = json!({"command": COMMAND, "known_from": "report-1"});
        let line = json!({"artifact": {"receipt": {"checks": [run(COMMAND), known, run("true"), run(COMMAND)]}}});
        assert_eq!((made(&line), made(&json!({"artifact": {}}))), (2, 0));
    }
}
