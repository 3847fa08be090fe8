//! A corpus: solutions, each to a waypoint of its own, flown together by the real thing.
//!
//! A solution is a shell script that plays the agent. The checks are given once for each; waypoints do
//! not depend on each other, so many are one flight.

use std::{fmt::Write as _, fs, path::Path};

use holdpoint_tests::world::{Finished, World, eventually};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// One solution to one waypoint.
pub(crate) struct Case {
    pub(crate) id: &'static str,
    what: &'static str,
    check: &'static str,
    script: &'static str,
    scope: &'static [&'static str],
    protected: &'static [&'static str],
    red_first: bool,
    /// The reason code of the last decision.
    pub(crate) code: &'static str,
    /// Why the criterion is not green; nothing is that this does not matter.
    pub(crate) reason: Option<&'static str>,
    /// What the record of the waypoint has to say.
    pub(crate) says: &'static [&'static str],
}

/// A solution: what it does in a sentence, the check of its criterion, and its script.
pub(crate) fn case(id: &'static str, what: &'static str, check: &'static str, script: &'static str) -> Case {
    let (scope, protected, says): (_, _, &[&str]) = (&[], &[], &[]);
    let (code, reason) = ("attempts_exhausted", None);
    Case { id, what, check, script, scope, protected, red_first: false, code, reason, says }
}

impl Case {
    pub(crate) fn scope(self, scope: &'static [&'static str]) -> Self {
        Self { scope, ..self }
    }

    pub(crate) fn protected(self, protected: &'static [&'static str]) -> Self {
        Self { protected, ..self }
    }

    pub(crate) fn red_first(self) -> Self {
        Self { red_first: true, ..self }
    }

    /// The decision ends with this code.
    pub(crate) fn code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    /// The criterion fails with this reason.
    pub(crate) fn reason(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// The record says these words.
    pub(crate) fn says(self, says: &'static [&'static str]) -> Self {
        Self { says, ..self }
    }

    /// A path that decides what runs was changed, and is named.
    pub(crate) fn steers(self, path: &'static [&'static str]) -> Self {
        self.code("protected_changed").says(path)
    }

    fn waypoint(&self) -> Value {
        let mut criterion = json!({"id": "c", "statement": "It is so", "check": self.check});
        if self.red_first {
            criterion["red_first"] = true.into();
        }
        let mut waypoint = json!({"id": self.id, "title": self.what, "goal": self.what, "criteria": [criterion]});
        if !self.scope.is_empty() {
            waypoint["scope"] = json!(self.scope);
            // A case that names tests in its scope means that they may change.
            let tests = |glob: &&&str| ["/tests/", "golden.txt"].iter().any(|part| format!("/{glob}").contains(part));
            waypoint["changed_tests"] = json!(self.scope.iter().filter(tests).collect::<Vec<_>>());
        }
        if !self.protected.is_empty() {
            waypoint["protected"] = json!(self.protected);
        }
        waypoint
    }
}

/// Names a folder where outcomes are noted, for `cargo xtask corpus`, which counts them.
const OUTCOMES: &str = "HOLDPOINT_CORPUS_OUTCOMES";
/// Names the level of evidence at which it flies everything.
const EVIDENCE: &str = "HOLDPOINT_CORPUS_EVIDENCE";
/// How the doubt begins that all work without a scope has.
const OPEN_SCOPE: &str = "no scope says";

/// A flown corpus.
pub(crate) struct Flown {
    pub(crate) world: World,
    pub(crate) run: Finished,
}

/// The agent's program: runs the script of its waypoint. A script that got what it should not have says `LEAKED`, and that
/// is a failed turn, whose output is shown.
const PROGRAM: &str = "status=0
said=$(sh \"$(dirname \"$0\")/scripts/$HOLDPOINT_WAYPOINT.sh\") || status=$?
printf '%s\\n' \"$said\"
case $said in *LEAKED*) exit 99 ;; esac
exit $status";

/// Flies a corpus over a repository with these files at a level of evidence: one try each.
pub(crate) fn fly(files: &[(&str, &str)], cases: &[Case], builders: &str, evidence: &str) -> Flown {
    let world = World::new(files);
    let evidence = std::env::var(EVIDENCE).unwrap_or_else(|_| evidence.to_owned());
    let waypoints: Vec<Value> = cases.iter().map(Case::waypoint).collect();
    // JSON is YAML.
    // The tests ask for the verdict, and not for a sign-off. A count of outcomes shows what is held as well.
    let suspicious = if std::env::var_os(OUTCOMES).is_some() { "hold" } else { "warn" };
    let policy = json!({"max_reworks": 0, "suspicious": suspicious});
    world.plan(&json!({"plan": "corpus", "evidence": evidence, "policy": policy, "waypoints": waypoints}).to_string());
    for case in cases {
        let head = format!("WORLD={}\nREPO=$WORLD/repo\nSTATE=$WORLD/state\n", world.path("").display());
        world.write(&format!("plan/scripts/{}.sh", case.id), &format!("{head}{}\n", case.script));
    }
    let builder = world.program("builder.sh", PROGRAM);
    let run = world.fly(&builder, &["--builders", builders]);
    let flown = Flown { world, run };
    if let Some(folder) = std::env::var_os(OUTCOMES) {
        flown.note_outcomes(cases, Path::new(&folder));
    }
    flown
}

/// What a line of the history doubts, where it is a verifier's report.
fn doubts(line: &Value) -> Vec<Value> {
    let report = ["/artifact/doubts", "/doubts"].iter().find_map(|place| line.pointer(place)?.as_array());
    report.cloned().unwrap_or_default()
}

impl Flown {
    /// The record of each waypoint, as `holdpoint history --json` shows it.
    pub(crate) fn histories(&self, cases: &[Case]) -> Vec<String> {
        let flight = self.run.json()["flight"].as_str().unwrap().to_owned();
        // A fleet that is up has a broker for all of these questions.
        let fleet = self.world.start(&["up", "--builder", "true"]);
        eventually("the fleet's broker", || (self.world.holdpoint(&["status", &flight]).code == 0).then_some(()));
        let histories = cases.iter().map(|case| {
            let history = self.world.holdpoint(&["history", case.id, "--flight", &flight, "--json"]);
            history.expect(0);
            history.stdout
        });
        let histories = histories.collect();
        fleet.signal(Signal::SIGTERM);
        fleet.finish().expect(0);
        histories
    }

    /// Notes what became of each case, a line each, in a file with the name of the test.
    fn note_outcomes(&self, cases: &[Case], folder: &Path) {
        let thread = std::thread::current();
        let test = thread.name().expect("a test has a name").replace("::", ".");
        let of = |(case, history): (&Case, String)| format!("{}\t{}\n", case.id, self.outcome(case, &history));
        let lines: String = cases.iter().zip(self.histories(cases)).map(of).collect();
        fs::write(folder.join(test), lines).unwrap();
    }

    fn outcome(&self, case: &Case, history: &str) -> &'static str {
        let waypoint = self.run.waypoint(case.id);
        if waypoint["gate"] == "sign-off" {
            return "held";
        }
        if waypoint["status"] != "complete" {
            return "refused";
        }
        let lines = history.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let names_a_reason = |doubt: &Value| !doubt["text"].as_str().unwrap_or_default().starts_with(OPEN_SCOPE);
        let warns = |line: Value| doubts(&line).iter().any(names_a_reason);
        if lines.into_iter().any(warns) { "accepted with a warning" } else { "accepted silently" }
    }

    /// All that is wrong with the outcome of the cases, by `judge`, reported at once.
    pub(crate) fn report(&self, cases: &[Case], judge: impl Fn(&Case, &Value) -> Vec<String>) -> String {
        let mut report = String::new();
        for case in cases {
            let waypoint = self.run.waypoint(case.id);
            for complaint in judge(case, &waypoint) {
                let _ = writeln!(report, "{} ({}): {complaint}\n  {waypoint}", case.id, case.what);
            }
        }
        report
    }
}
