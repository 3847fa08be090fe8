//! What came of judging a change. Pure.

use holdpoint_engine::policy::{self, Facts};
use holdpoint_outline::ChangeFinding;
use holdpoint_protocol::{
    artifact::CriterionReport,
    facts::{CriterionResult, DiffSummary, Verdict, Violation},
    ids::{CriterionId, WaypointId},
    plan::{Plan, Waypoint},
    reason::ReasonCode,
};
use holdpoint_verifier_agent::{Findings, suspects};
use serde::Serialize;

use crate::{progress::evidence, workbench::TreeEnvironment};

/// The verdict on a change; its JSON form is what `--json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeVerdict {
    /// Whether the change shows what was asked of it.
    pub(crate) shown: bool,
    /// Why it does, or does not.
    pub(crate) reason_code: ReasonCode,
    /// The plan by which it was judged; `None`: what the project says of every change.
    pub(crate) plan: Option<String>,
    pub(crate) waypoint: Option<WaypointId>,
    /// The commit it was judged against.
    pub(crate) base: String,
    /// The commit that was judged; `None`: a patch.
    pub(crate) work: Option<String>,
    /// The tree that was judged.
    pub(crate) tree: String,
    pub(crate) diff: DiffSummary,
    pub(crate) criteria: Vec<JudgedOne>,
    pub(crate) guards: Vec<JudgedOne>,
    /// Broken path rules.
    pub(crate) violations: Vec<Violation>,
    /// Places of the change that a person should see.
    pub(crate) suspects: Vec<ChangeFinding>,
    /// What else a person should look at, though it decides nothing.
    pub(crate) warnings: Vec<String>,
    /// Runs that were made or known.
    pub(crate) runs: usize,
}

/// A criterion or guard with its verdict.
#[derive(Debug, Serialize)]
pub(crate) struct JudgedOne {
    #[serde(flatten)]
    pub(crate) result: CriterionResult,
    /// What has to be true.
    pub(crate) statement: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) exit_code: Option<i32>,
    /// Why it is not green, in one line.
    pub(crate) why: Option<String>,
    /// The lines of its output that say most.
    pub(crate) lines: Vec<String>,
}

impl JudgedOne {
    pub(crate) fn is_green(&self) -> bool {
        self.result.verdict == Verdict::Pass
    }
}

/// What was asked, and where.
pub(crate) struct Asked<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) waypoint: &'a Waypoint,
    /// Whether the plan is a file's.
    pub(crate) is_planned: bool,
    pub(crate) base: String,
    pub(crate) work: Option<String>,
    pub(crate) tree: String,
    pub(crate) environment: TreeEnvironment,
}

impl ChangeVerdict {
    /// The verdict by what was found on the work and, where that was asked, on the base.
    pub(crate) fn of(asked: Asked<'_>, on_work: &Findings, on_base: Option<&Findings>) -> Self {
        let Asked { plan, waypoint, is_planned, base, work, tree, environment } = asked;
        let statement = |id: &CriterionId| {
            waypoint.criteria.iter().find(|criterion| &criterion.id == id).map(|criterion| criterion.statement.clone())
        };
        let judged = |report: &CriterionReport| judged_one(report, on_work, statement(&report.result.id));
        let reason_code = reason(plan, waypoint, on_work, on_base);
        let named: Vec<String> = on_work.suspects.iter().map(suspects::in_words).collect();
        let doubts = on_work.doubts.iter().map(|doubt| &doubt.text).filter(|text| !named.contains(text));
        let mut warnings: Vec<String> = on_base.into_iter().flat_map(of_base).chain(doubts.cloned()).collect();
        if let Some(asks) = &on_work.asks {
            warnings.push(format!("the judge of criterion {} asks a question instead of judging", asks.criterion));
        }
        if environment == TreeEnvironment::Here {
            let text =
                "its environment is what was installed in the checkout: the verdict is as good as those dependencies";
            warnings.push(text.to_owned());
        }
        Self {
            shown: reason_code == ReasonCode::CriteriaMet,
            reason_code,
            plan: is_planned.then(|| plan.plan.clone()),
            waypoint: is_planned.then(|| waypoint.id.clone()),
            base,
            work,
            tree,
            diff: on_work.diff,
            criteria: on_work.criteria.iter().map(judged).collect(),
            guards: on_work.guards.iter().map(judged).collect(),
            violations: on_work.violations.clone(),
            suspects: on_work.suspects.clone(),
            warnings,
            runs: on_work.receipt.checks.len() + on_base.map_or(0, |base| base.receipt.checks.len()),
        }
    }

    /// Criteria and guards, each with what it is.
    pub(crate) fn judged(&self) -> impl Iterator<Item = (&'static str, &JudgedOne)> {
        let criteria = self.criteria.iter().map(|one| ("criterion", one));
        criteria.chain(self.guards.iter().map(|one| ("guard", one)))
    }

    /// In one word.
    pub(crate) fn word(&self) -> &'static str {
        if self.shown { "shown" } else { "not shown" }
    }
}

/// Why a change shows what was asked of it or not: by the base first, on which a flight would not have begun.
fn reason(plan: &Plan, waypoint: &Waypoint, on_work: &Findings, on_base: Option<&Findings>) -> ReasonCode {
    let passes = |report: &CriterionReport| report.result.verdict == Verdict::Pass;
    if let Some(base) = on_base {
        if base.guards.iter().any(|guard| !passes(guard)) {
            return ReasonCode::GuardRed;
        }
        if base.criteria.iter().any(passes) {
            return ReasonCode::NotRed;
        }
    }
    let results = |reports: &[CriterionReport]| reports.iter().map(|report| report.result.clone()).collect::<Vec<_>>();
    let asked: Vec<CriterionId> = waypoint.criteria.iter().map(|criterion| criterion.id.clone()).collect();
    let guards_asked: Vec<CriterionId> = plan.guards.iter().map(|guard| guard.id.clone()).collect();
    let ruling = policy::rule(&Facts {
        clarification: on_work.asks.as_ref().map(|_| ReasonCode::ClarificationOpen),
        asked: &asked,
        criteria: &results(&on_work.criteria),
        guards_asked: &guards_asked,
        guards: &results(&on_work.guards),
        violations: &on_work.violations,
        left_out: &[],
        safety_broken: false,
        changed: on_work.diff.files > 0,
        blocking_doubt: on_work.doubts.iter().any(|doubt| doubt.blocking),
        receipt_lacks: false,
        unmet: None,
        budget_left: true,
    });
    ruling.reason
}

/// What the base says against a change on it.
fn of_base(base: &Findings) -> Vec<String> {
    let passes = |report: &&CriterionReport| report.result.verdict == Verdict::Pass;
    let green = base.criteria.iter().filter(passes).map(|criterion| {
        format!("criterion {} is green on the base as well: it shows nothing of the change", criterion.result.id)
    });
    let red =
        base.guards.iter().filter(|guard| !passes(guard)).map(|guard| {
            format!("guard {} is red on the base as well: it says nothing of the change", guard.result.id)
        });
    green.chain(red).collect()
}

/// Whether the base has to be looked at: what has to be red first there, and guards that are red with the work.
pub(crate) fn asks_base(plan: &Plan, waypoint: &Waypoint, on_work: &Findings) -> bool {
    let red_first =
        waypoint.criteria.iter().filter_map(|criterion| criterion.check.as_ref()).any(|check| check.red_first);
    red_first || (!plan.guards.is_empty() && on_work.guards.iter().any(|guard| guard.result.verdict != Verdict::Pass))
}

fn judged_one(report: &CriterionReport, findings: &Findings, statement: Option<String>) -> JudgedOne {
    let CriterionReport { result, command, exit_code, note, .. } = report.clone();
    let green = result.verdict == Verdict::Pass;
    let of_run = result.evidence.first().and_then(|digest| findings.evidence.iter().find(|one| one.digest == *digest));
    let printed = of_run.map(|one| String::from_utf8_lossy(&one.bytes).into_owned()).unwrap_or_default();
    let evidence::Shown { why, lines } = evidence::read(&printed, result.reason, note.as_deref());
    JudgedOne {
        why: if green { note } else { why },
        lines: if green { Vec::new() } else { lines },
        result,
        statement,
        command,
        exit_code,
    }
}
