//! The figures, as data and as a table. All times are medians of the rounds, in milliseconds.

use std::fmt;

use serde::Serialize;

use super::WorkspaceArgs;
use crate::stats::{median, ratio};

/// The most that our way may cost, as a multiple of plain git.
const RATIO_WANTED: f64 = 1.5;

/// What was measured.
#[derive(Debug, Clone, Serialize)]
pub struct WorkspaceReport {
    /// Files in the repository.
    pub files: u32,
    /// Commits in its history.
    pub commits: u32,
    /// Times everything was measured.
    pub rounds: usize,
    /// Our way.
    pub ours: OursMs,
    /// Plain git.
    pub plain: PlainMs,
    /// Our total as a multiple of plain git's: snapshot, builder's clone, handoff and verifier's checkout, the way
    /// through the broker included, against clone, commit, fetch and a second checkout.
    pub ratio: f64,
    /// The same with what the orchestrator does at a submission, once a flight.
    pub ratio_with_submission: f64,
    /// A later waypoint of the flight as a multiple of plain git.
    pub ratio_second_waypoint: f64,
    /// Whether `ratio` is at most what is wanted.
    pub met: bool,
}

/// What our way costs.
#[derive(Debug, Clone, Serialize)]
pub struct OursMs {
    /// The snapshot of the user's repository, stored.
    pub snapshot_ms: f64,
    /// The builder's mirror filled and its clone made.
    pub clone_ms: f64,
    /// The result read, committed, bundled and stored.
    pub handoff_ms: f64,
    /// The verifier's mirror filled and its checkout made.
    pub checkout_ms: f64,
    /// All four.
    pub total_ms: f64,
    /// Every object of the snapshot checked by the orchestrator and the index stored: once a flight.
    pub submission_ms: f64,
    /// Clone, handoff and checkout of the second waypoint.
    pub second_waypoint_ms: f64,
    /// The map of the repository that a build turn begins with; a step of its own, which plain git has not.
    pub map_ms: f64,
    /// What went through the broker.
    pub traffic: Traffic,
}

/// What went through the broker, counted at everybody's end: what one stores and two fetch counts three times.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Traffic {
    /// The snapshot's bundle.
    pub repository_bytes: u64,
    /// All of the first waypoint, the snapshot included.
    pub first_waypoint_bytes: u64,
    /// All of the second, the first one's landing included.
    pub second_waypoint_bytes: u64,
    /// The second one's own bundle.
    pub second_handoff_bytes: u64,
}

/// What plain git costs.
#[derive(Debug, Clone, Serialize)]
pub struct PlainMs {
    /// `git clone --no-hardlinks`, with its checkout.
    pub clone_ms: f64,
    /// `git add --all` and `git commit`.
    pub commit_ms: f64,
    /// `git fetch` of the commit.
    pub fetch_ms: f64,
    /// `git worktree add`.
    pub checkout_ms: f64,
    /// All four.
    pub total_ms: f64,
}

impl OursMs {
    pub(super) fn new(
        snapshot_ms: f64,
        work: [f64; 3],
        submission_ms: f64,
        second: [f64; 2],
        traffic: Traffic,
    ) -> Self {
        let ([clone_ms, handoff_ms, checkout_ms], [second_waypoint_ms, map_ms]) = (work, second);
        let total_ms = snapshot_ms + clone_ms + handoff_ms + checkout_ms;
        Self {
            snapshot_ms,
            clone_ms,
            handoff_ms,
            checkout_ms,
            total_ms,
            submission_ms,
            second_waypoint_ms,
            map_ms,
            traffic,
        }
    }
}

impl PlainMs {
    pub(super) fn new(clone_ms: f64, commit_ms: f64, fetch_ms: f64, checkout_ms: f64) -> Self {
        Self { clone_ms, commit_ms, fetch_ms, checkout_ms, total_ms: clone_ms + commit_ms + fetch_ms + checkout_ms }
    }
}

impl WorkspaceReport {
    /// Out of all rounds; there is at least one.
    pub(super) fn of(args: &WorkspaceArgs, rounds: Vec<(PlainMs, OursMs)>) -> Self {
        let of_plain = |get: fn(&PlainMs) -> f64| median(rounds.iter().map(|(plain, _)| get(plain)).collect());
        let of_ours = |get: fn(&OursMs) -> f64| median(rounds.iter().map(|(_, ours)| get(ours)).collect());
        let nothing =
            Traffic { repository_bytes: 0, first_waypoint_bytes: 0, second_waypoint_bytes: 0, second_handoff_bytes: 0 };
        let plain = PlainMs {
            clone_ms: of_plain(|plain| plain.clone_ms),
            commit_ms: of_plain(|plain| plain.commit_ms),
            fetch_ms: of_plain(|plain| plain.fetch_ms),
            checkout_ms: of_plain(|plain| plain.checkout_ms),
            total_ms: of_plain(|plain| plain.total_ms),
        };
        let ours = OursMs {
            snapshot_ms: of_ours(|ours| ours.snapshot_ms),
            clone_ms: of_ours(|ours| ours.clone_ms),
            handoff_ms: of_ours(|ours| ours.handoff_ms),
            checkout_ms: of_ours(|ours| ours.checkout_ms),
            total_ms: of_ours(|ours| ours.total_ms),
            submission_ms: of_ours(|ours| ours.submission_ms),
            second_waypoint_ms: of_ours(|ours| ours.second_waypoint_ms),
            map_ms: of_ours(|ours| ours.map_ms),
            traffic: rounds.last().map_or(nothing, |(_, ours)| ours.traffic),
        };
        let found = ratio(ours.total_ms, plain.total_ms);
        Self {
            files: args.files,
            commits: args.commits,
            rounds: rounds.len(),
            ratio: found,
            ratio_with_submission: ratio(ours.total_ms + ours.submission_ms, plain.total_ms),
            ratio_second_waypoint: ratio(ours.second_waypoint_ms, plain.total_ms),
            met: found <= RATIO_WANTED,
            ours,
            plain,
        }
    }
}

impl fmt::Display for WorkspaceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, commits, rounds, ours, plain, .. } = self;
        writeln!(f, "{files} files, {commits} commits; medians of {rounds} rounds, in ms")?;
        writeln!(f, "\n{:<44}{:>8}  {:<34}{:>8}", "holdpoint", "", "plain git", "")?;
        let lines = [
            ("snapshot, stored", ours.snapshot_ms, "", 0.0),
            ("builder: mirror filled, clone", ours.clone_ms, "clone --no-hardlinks", plain.clone_ms),
            ("handoff: read, commit, bundle, stored", ours.handoff_ms, "add, commit", plain.commit_ms),
            ("", 0.0, "fetch", plain.fetch_ms),
            ("verifier: mirror filled, checkout", ours.checkout_ms, "worktree add", plain.checkout_ms),
            ("total", ours.total_ms, "total", plain.total_ms),
        ];
        for (our_name, our_ms, plain_name, plain_ms) in lines {
            let shown = |name: &str, ms: f64| if name.is_empty() { String::new() } else { format!("{ms:.0}") };
            let (our_ms, plain_ms) = (shown(our_name, our_ms), shown(plain_name, plain_ms));
            writeln!(f, "  {our_name:<42}{our_ms:>8}  {plain_name:<34}{plain_ms:>8}")?;
        }
        let met = if self.met { "met" } else { "NOT MET" };
        writeln!(f, "\n  ratio {:.2} (wanted: at most {RATIO_WANTED}): {met}", self.ratio)?;
        let (submission, with) = (ours.submission_ms, self.ratio_with_submission);
        writeln!(
            f,
            "  once a flight, the orchestrator checks every object: {submission:.0} ms (ratio with it {with:.2})"
        )?;
        let (second, ratio) = (ours.second_waypoint_ms, self.ratio_second_waypoint);
        writeln!(f, "  the second waypoint of the flight: {second:.0} ms (ratio {ratio:.2})")?;
        writeln!(f, "  the map that a build turn begins with: {:.0} ms", ours.map_ms)?;
        let Traffic { repository_bytes, first_waypoint_bytes, second_waypoint_bytes, second_handoff_bytes } =
            ours.traffic;
        writeln!(f, "\n  bytes through the broker, counted at both ends")?;
        writeln!(f, "    first waypoint  {first_waypoint_bytes:>12}  (snapshot of {repository_bytes})")?;
        writeln!(f, "    second waypoint {second_waypoint_bytes:>12}  (its bundle has {second_handoff_bytes})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(plain: f64, ours: f64, bytes: u64) -> (PlainMs, OursMs) {
        let traffic = Traffic {
            repository_bytes: bytes,
            first_waypoint_bytes: 3 * bytes,
            second_waypoint_bytes: 30,
            second_handoff_bytes: 10,
        };
        (PlainMs::new(plain, 1.0, 1.0, 1.0), OursMs::new(1.0, [ours, 1.0, 1.0], 6.0, [4.0, 2.0], traffic))
    }

    #[test]
    fn ratios_are_those_of_the_medians() {
        let args = WorkspaceArgs { files: 1, commits: 1 };
        let report = WorkspaceReport::of(&args, vec![round(9.0, 15.0, 1), round(99.0, 1.0, 1), round(1.0, 99.0, 7)]);
        assert_eq!((report.plain.total_ms, report.ours.total_ms), (12.0, 18.0));
        assert_eq!((report.ratio, report.ratio_with_submission, report.met), (1.5, 2.0, true));
        assert_eq!(report.ours.traffic.repository_bytes, 7);
        let table = report.to_string();
        assert!(
            table.contains("ratio 1.50") && table.contains("begins with: 2 ms") && table.contains("snapshot of 7"),
            "{table}"
        );
    }
}
