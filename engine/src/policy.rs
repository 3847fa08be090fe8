//! The decision policy: one ordered table, the first row that holds decides (spec FLY-26 … FLY-29).
//!
//! Pure: the same facts give the same ruling, so that a replay can check yesterday's (FLY-30). [`crate::waypoint`] says
//! what a ruling does to a waypoint.

pub(crate) mod conflict;
pub(crate) mod words;

pub use words::broken;

use holdpoint_protocol::{
    artifact::Disposition,
    facts::{CriterionResult, LeftOut, Verdict, Violation, ViolationKind},
    ids::CriterionId,
    reason::{CriterionReason, ReasonCode},
};

/// Everything the table looks at.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// A question is open, or the question rounds are used up.
    pub clarification: Option<ReasonCode>,
    /// The criteria that were asked, each of which needs a verdict (FLY-I3).
    pub asked: &'a [CriterionId],
    /// The verdicts on them.
    pub criteria: &'a [CriterionResult],
    /// The guards that were asked, all of which held on the base.
    pub guards_asked: &'a [CriterionId],
    /// The verdicts on them.
    pub guards: &'a [CriterionResult],
    /// Broken path rules.
    pub violations: &'a [Violation],
    /// What the clone of the work had besides.
    pub left_out: &'a [LeftOut],
    /// A safety rule was broken as far as it can be seen.
    pub safety_broken: bool,
    /// The tree under review differs from the base.
    pub changed: bool,
    /// The report marks a doubt as blocking.
    pub blocking_doubt: bool,
    /// The agent checked its own work, and a run is not green in its receipt, or missing (FLY-36).
    pub receipt_lacks: bool,
    /// Checkpoints that are not met; `None`: all are.
    pub unmet: Option<&'a UnmetCheckpoints>,
    /// A rework is left.
    pub budget_left: bool,
}

/// Checkpoints that keep work from going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmetCheckpoints {
    /// Which, and why, in one line.
    pub words: String,
    /// Nobody tried any of them, because what their commands need is not there: no work changes that.
    pub only_untried: bool,
}

/// What the table says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// What becomes of the work.
    pub disposition: Disposition,
    /// Why.
    pub reason: ReasonCode,
    /// The reworks are used up: the waypoint has failed, rather than being blocked.
    pub exhausted: bool,
    /// What a person can do; there for every escalation (FLY-I4).
    pub remediation: Option<String>,
}

/// Rules on a verification report.
#[must_use]
pub fn rule(facts: &Facts<'_>) -> Ruling {
    if let Some(reason) = facts.clarification {
        return escalate(reason, "answer the question: `holdpoint inbox` shows it");
    }
    if facts.criteria.iter().any(|c| c.reason == Some(CriterionReason::NoJudge)) {
        return escalate(
            ReasonCode::JudgeMissing,
            "give the criterion a check, or run with a judge that can work (--judge); `holdpoint history` has its words",
        );
    }
    if facts.safety_broken {
        return rollback(facts, ReasonCode::Safety, "look at what the agent's program did before you run it again");
    }
    if facts.guards.iter().any(|g| g.verdict == Verdict::Fail) {
        return rollback(facts, ReasonCode::Regression, words::after_guards(facts.guards));
    }
    if let Some(violation) = facts.violations.iter().min_by_key(|v| v.kind) {
        let reason = match violation.kind {
            ViolationKind::Protected | ViolationKind::Steering => ReasonCode::ProtectedChanged,
            ViolationKind::OutOfScope => ReasonCode::ScopeViolation,
        };
        return rework(facts, reason, reason, &words::remedy(facts.violations));
    }
    if let Some(reason) = shortfall(facts) {
        let remedy = words::besides(facts.left_out) + words::after_verdicts(facts.criteria);
        return rework(facts, reason, ReasonCode::AttemptsExhausted, &remedy);
    }
    if let Some(UnmetCheckpoints { words, only_untried }) = facts.unmet {
        let reason = ReasonCode::CheckpointsUnmet;
        if *only_untried {
            let text = format!(
                "{words}; install it where the verifier runs, then `holdpoint retry`, or have the gate check something else"
            );
            return escalate(reason, &text);
        }
        return rework(facts, reason, ReasonCode::AttemptsExhausted, words);
    }
    Ruling { disposition: Disposition::Accept, reason: ReasonCode::CriteriaMet, exhausted: false, remediation: None }
}

/// Rules on a build turn that failed before there was anything to judge. `detail`: what its agent says of it; `left_out`: what its
/// clone had besides the files that were kept.
#[must_use]
pub fn rule_failed_turn(reason: ReasonCode, detail: &str, left_out: &[LeftOut], budget_left: bool) -> Ruling {
    // What follows in further lines is in the handoff.
    let first = detail.lines().next().unwrap_or_default();
    if reason == ReasonCode::Unsupported {
        let what = if first.is_empty() { "the agent did not say what" } else { first };
        return escalate(reason, &format!("this cannot be done here: {what}"));
    }
    if reason == ReasonCode::NotExecutable {
        let text = format!("{first}; then `holdpoint retry`");
        return escalate(reason, &text);
    }
    if reason == ReasonCode::CheckpointsUnmet {
        let text = format!(
            "{first}; `holdpoint history` has the document, and `holdpoint retry` opens the gate again with it"
        );
        return escalate(reason, &text);
    }
    if budget_left {
        return Ruling { disposition: Disposition::Rework, reason, exhausted: false, remediation: None };
    }
    let besides = words::besides(left_out);
    let remediation = format!("last reason: {reason}; {besides}{}", words::after_failure(reason, detail));
    exhausted(ReasonCode::AttemptsExhausted, &remediation)
}

/// What keeps the criteria from being met, if anything (row 5).
fn shortfall(facts: &Facts<'_>) -> Option<ReasonCode> {
    let failed = facts.criteria.iter().any(|c| c.verdict == Verdict::Fail);
    let unshown = !all_shown(facts.asked, facts.criteria)
        || !all_shown(facts.guards_asked, facts.guards)
        || facts.blocking_doubt
        || facts.receipt_lacks;
    match (failed || unshown, facts.changed) {
        (false, _) => None,
        (true, false) => Some(ReasonCode::NoChange),
        (true, true) if failed => Some(ReasonCode::CriteriaFailed),
        (true, true) => Some(ReasonCode::EvidenceMissing),
    }
}

/// Every one that was asked has a verdict, and all of them are shown.
fn all_shown(asked: &[CriterionId], results: &[CriterionResult]) -> bool {
    asked.iter().all(|id| results.iter().any(|r| &r.id == id)) && results.iter().all(CriterionResult::is_shown)
}

/// A decision that a person has to follow up, with what they can do (FLY-29, FLY-I4).
#[must_use]
pub fn escalate(reason: ReasonCode, remediation: &str) -> Ruling {
    let remediation = Some(words::bounded(remediation));
    Ruling { disposition: Disposition::Escalate, reason, exhausted: false, remediation }
}

/// As [`escalate`]; what the waypoint may use up is used up.
#[must_use]
pub fn exhausted(reason: ReasonCode, remediation: &str) -> Ruling {
    Ruling { exhausted: true, ..escalate(reason, remediation) }
}

/// A rework; where none is left an escalation with the row's own code for that.
fn rework(facts: &Facts<'_>, reason: ReasonCode, spent: ReasonCode, remediation: &str) -> Ruling {
    if facts.budget_left {
        return Ruling { disposition: Disposition::Rework, reason, exhausted: false, remediation: None };
    }
    exhausted(spent, &format!("last reason: {reason}; {remediation}"))
}

/// A rollback that has no budget left escalates with what a person can do (FLY-I4).
fn rollback(facts: &Facts<'_>, reason: ReasonCode, remediation: &str) -> Ruling {
    if facts.budget_left {
        return Ruling { disposition: Disposition::Rollback, reason, exhausted: false, remediation: None };
    }
    exhausted(reason, remediation)
}

/// Everything is met: what an acceptance says.
pub(crate) fn met() -> Ruling {
    Ruling { disposition: Disposition::Accept, reason: ReasonCode::CriteriaMet, exhausted: false, remediation: None }
}

#[cfg(test)]
mod tests;
