//! The last commits of public projects, each judged on its parent. They are honest, so one that is not shown has a reason that its
//! author would understand, or is a defect.
//!
//! `HOLDPOINT_HISTORY` names a folder of clones with their dependencies installed; `git config holdpoint.suite CMD` in each says how its
//! tests are run. A clone's `.venv/bin` comes first in `PATH`.

#![expect(clippy::print_stdout, reason = "its table is what a long run is for")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::Terms;
use crate::world::binary;

/// Names the folder of the clones.
const CLONES: &str = "HOLDPOINT_HISTORY";
/// Commits of a project that are judged at most, and the share of them that may be refused though their suite is green.
const COMMITS: &str = "100";
const REFUSED_MAX: f64 = 0.02;

/// A project and what came of its commits so far.
struct Project {
    dir: PathBuf,
    suite: String,
    left: Vec<String>,
    spent: Duration,
    judged: usize,
    shown: usize,
    /// The suite itself is red on this machine.
    red: usize,
    refused: usize,
}

/// Judges commits, those of the project next on which least time was spent.
pub fn run(terms: &Terms) -> Result<(), String> {
    let clones =
        env::var_os(CLONES).ok_or_else(|| format!("{CLONES} names no folder of clones with their dependencies"))?;
    let mut projects = projects(Path::new(&clones), terms.only.as_deref())?;
    let state = tempfile::tempdir().map_err(|error| error.to_string())?;
    let begun = Instant::now();
    while begun.elapsed() < terms.time {
        let some_left = projects.iter_mut().filter(|project| !project.left.is_empty());
        let Some(next) = some_left.min_by_key(|project| project.spent) else { break };
        let began = Instant::now();
        next.judge(state.path())?;
        next.spent += began.elapsed();
    }
    println!("  {:<16} {:>6} {:>6} {:>10} {:>8}", "project", "judged", "shown", "suite red", "refused");
    for Project { dir, judged, shown, red, refused, .. } in &projects {
        println!("  {:<16} {judged:>6} {shown:>6} {red:>10} {refused:>8}", name(dir));
    }
    let sum = |of: fn(&Project) -> usize| projects.iter().map(of).sum::<usize>();
    let (green, refused) = (sum(|p| p.shown + p.refused), sum(|p| p.refused));
    #[expect(clippy::cast_precision_loss, reason = "hundreds")]
    let is_much = green == 0 || refused as f64 / green as f64 > REFUSED_MAX;
    if is_much { Err(format!("{refused} of {green} honest commits with a green suite were not shown")) } else { Ok(()) }
}

fn projects(clones: &Path, only: Option<&str>) -> Result<Vec<Project>, String> {
    let folders = fs::read_dir(clones).map_err(|error| format!("{}: {error}", clones.display()))?;
    let mut projects = BTreeMap::new();
    for dir in folders.flatten().map(|entry| entry.path()).filter(|dir| dir.join(".git").exists()) {
        if only.is_some_and(|only| !name(&dir).contains(only)) {
            continue;
        }
        let suite = git(&dir, &["config", "holdpoint.suite"])?.trim().to_owned();
        let left = git(&dir, &["rev-list", "--no-merges", "--reverse", "--max-count", COMMITS, "HEAD"])?;
        let left = left.lines().map(str::to_owned).collect();
        let project =
            Project { dir: dir.clone(), suite, left, spent: Duration::ZERO, judged: 0, shown: 0, red: 0, refused: 0 };
        projects.insert(dir, project);
    }
    Ok(projects.into_values().collect())
}

impl Project {
    /// Judges the newest commit that is left, by a plan whose scope is what it touches.
    fn judge(&mut self, state: &Path) -> Result<(), String> {
        let Some(commit) = self.left.pop() else { return Ok(()) };
        let parent = format!("{commit}^");
        let touched = git(&self.dir, &["diff", "--no-renames", "--name-only", "-z", &parent, &commit])?;
        let scope: Vec<&str> = touched.split('\0').filter(|path| !path.is_empty()).collect();
        if scope.is_empty() {
            return Ok(());
        }
        let criterion = json!({"id": "suite", "check": self.suite});
        let waypoint = json!({"id": "change", "goal": "what its author says", "scope": scope, "criteria": [criterion]});
        let plan = state.join("plan.yaml");
        let written = fs::write(&plan, json!({"plan": "history", "waypoints": [waypoint]}).to_string());
        written.map_err(|error| error.to_string())?;
        let mut command = Command::new(binary());
        command.arg("verify").arg(&plan).args(["--here", "--json", "--work", &commit, "--base", &parent, "--repo"]);
        let path = env::var("PATH").unwrap_or_default();
        command.arg(&self.dir).env("PATH", format!("{}:{path}", self.dir.join(".venv/bin").display()));
        let output = command.env("HOLDPOINT_STATE_DIR", state).output().map_err(|error| error.to_string())?;
        let verdict: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("{} {commit}: {}", name(&self.dir), String::from_utf8_lossy(&output.stderr)))?;
        self.count(&commit, &verdict);
        Ok(())
    }

    fn count(&mut self, commit: &str, verdict: &Value) {
        self.judged += 1;
        let criterion = &verdict["criteria"][0];
        let is_red = criterion["reason"] == "exit_code" || criterion["verdict"] == "inconclusive";
        match verdict["shown"] == true {
            true => self.shown += 1,
            false if is_red => self.red += 1,
            false => self.refused += 1,
        }
        if verdict["shown"] != true {
            let (reason, why, broken) = (&verdict["reason_code"], &criterion["why"], &verdict["violations"]);
            println!("  {} {commit}: {reason} {} {why} {broken}", name(&self.dir), criterion["reason"]);
        }
    }
}

fn name(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn git(dir: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(dir).args(args).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{}: git {}: {}", dir.display(), args.join(" "), String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
