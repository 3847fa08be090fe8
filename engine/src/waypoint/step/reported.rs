//! A verifier reported: on a base, on work as it was handed off, or on a merge (`Input::Reported`).

use holdpoint_protocol::{
    artifact::{CheckRun, CriterionReport, Disposition, TreeTested, VerificationPurpose, VerificationReport},
    facts::{CriterionResult, LeftOut, Oid, Verdict, Violation},
    ids::CriterionId,
    journal::Cause,
    reason::{CriterionReason, ReasonCode},
    state::{KeptReport, OpenTurn, Outcome, Purpose, Queued, Resume, Stacked, Verified, WaypointState},
    turn::Feedback,
};

use super::super::{
    EngineStep, Fresh, Handoff, Refusal, ReportInput, StepContext, arrival,
    checkpoints::{self, Settled},
    collisions,
    handoff::{self, open_turn},
    purposes,
    standing::reworks_left,
    terms,
    transition::{Ruled, Transition},
    turns::{self, Opening},
    verdicts,
};
use crate::policy::{self, Facts, Ruling, escalate, words};

/// A verifier reported.
pub(super) fn take(
    state: &WaypointState,
    handoff: Handoff<Box<ReportInput>>,
    cx: &StepContext<'_>,
    fresh: &Fresh,
) -> EngineStep {
    let open = match open_turn(state, &handoff, cx) {
        Ok(open) => open,
        Err(step) => return step,
    };
    let Purpose::Verify(purpose) = open.purpose else {
        return EngineStep::Refuse(Refusal::WrongKind { turn: handoff.turn, wanted: handoff::wanted(open.purpose) });
    };
    let ReportInput { report, for_build, touched } = *handoff.body;
    let report = &report;
    if let Some(what) = mismatch(state, purpose, report, cx).or_else(|| verdicts::contradicted(open, report)) {
        return EngineStep::Refuse(Refusal::Mismatch { turn: handoff.turn, what });
    }
    let transition = Transition::new(state, cx, fresh).by(handoff.agent).metered(handoff.metered);
    let settled = checkpoints::settle(state, &open.gate, (report, &touched), cx);
    let found = Found { report, settled: &settled };
    match purpose {
        VerificationPurpose::Baseline => baseline(transition, open, found, handoff.cause, for_build),
        VerificationPurpose::Handoff | VerificationPurpose::Merge => judged(transition, open, found, handoff.cause),
    }
}

/// What was found: a report, with the checkpoints that it settles.
#[derive(Clone, Copy)]
struct Found<'a> {
    report: &'a VerificationReport,
    settled: &'a [Settled],
}

/// Where a report is not about what was asked.
fn mismatch(
    state: &WaypointState,
    purpose: VerificationPurpose,
    report: &VerificationReport,
    cx: &StepContext<'_>,
) -> Option<String> {
    if report.purpose != purpose {
        return Some(format!("purpose {:?} where {purpose:?} was asked", report.purpose));
    }
    if let Some(what) = not_of_mode(report, cx) {
        return Some(what);
    }
    let base = state.base.as_ref();
    let (commit, tree) = match purpose {
        VerificationPurpose::Baseline => (base, base.and_then(|b| cx.flight.tree_of(b))),
        VerificationPurpose::Handoff | VerificationPurpose::Merge => {
            let work = state.work.as_ref();
            (work.and_then(|w| w.commit.as_ref()).or(base), work.map(|w| &w.tree))
        }
    };
    if tree != Some(&report.tree) {
        return Some(format!("tree {} is not the tree under review", report.tree));
    }
    if commit != Some(&report.commit) {
        return Some(format!("commit {} is not the commit under review", report.commit));
    }
    let (criteria, guards) = (asked(purpose, cx), guards_asked(purpose, base, cx));
    if let Some(id) = not_once(&report.criteria, &criteria).or_else(|| not_once(&report.guards, &guards)) {
        return Some(format!("criterion {id} was not asked, or is there twice"));
    }
    // A missing verdict on a handoff is missing evidence (row 5); on the base there is no row for it.
    let missing = |id: &&CriterionId| !report.criteria.iter().any(|r| &r.result.id == *id);
    let baseline = purpose == VerificationPurpose::Baseline;
    criteria.iter().find(missing).filter(|_| baseline).map(|id| format!("criterion {id} has no verdict"))
}

/// Where a report says of itself what the flight's mode does not have. Of an agent that checks itself the checks have to be run by our
/// harness, whose program takes no part in them (FLY-36).
fn not_of_mode(report: &VerificationReport, cx: &StepContext<'_>) -> Option<String> {
    let single = is_single(cx);
    if report.self_checked != single {
        return Some(format!("self_checked {} in a flight where it is {single}", report.self_checked));
    }
    let foreign = single && report.receipt.foreign;
    foreign.then(|| {
        "the key is not of Holdpoint's own harness, which has to run the checks of an agent that checks itself: `holdpoint keys add \
         solo NAME --harness`"
            .to_owned()
    })
}

fn is_single(cx: &StepContext<'_>) -> bool {
    cx.flight.submitted.plan.policy.mode.is_single()
}

/// The runs of a report on the very tree that is judged; where nothing was changed, that is the base.
pub(crate) fn runs_on_work(report: &VerificationReport) -> impl Iterator<Item = &CheckRun> {
    let on_work =
        move |run: &&CheckRun| run.tree == report.tree && matches!(run.tested, TreeTested::Handoff | TreeTested::Base);
    report.receipt.checks.iter().filter(on_work)
}

/// Whether each of these has such a run, and every such run is green.
fn is_all_pass(report: &VerificationReport, mut asked: impl Iterator<Item = CriterionId>) -> bool {
    runs_on_work(report).all(|run| run.verdict == Verdict::Pass)
        && asked.all(|id| runs_on_work(report).any(|run| run.criterion.as_ref() == Some(&id)))
}

/// A verdict on something that was not asked, or a second one on something that was.
fn not_once<'a>(reports: &'a [CriterionReport], asked: &[CriterionId]) -> Option<&'a CriterionId> {
    let ids = || reports.iter().map(|r| &r.result.id);
    ids().enumerate().find(|(n, id)| !asked.contains(id) || ids().take(*n).any(|i| i == *id)).map(|(_, id)| id)
}

/// The criteria that such a turn asks for.
fn asked(purpose: VerificationPurpose, cx: &StepContext<'_>) -> Vec<CriterionId> {
    terms::criteria(purpose, cx).into_iter().map(|c| c.id).collect()
}

fn guards_asked(purpose: VerificationPurpose, base: Option<&Oid>, cx: &StepContext<'_>) -> Vec<CriterionId> {
    terms::guards(purpose, base, cx).iter().map(|g| g.id.clone()).collect()
}

fn results(reports: &[CriterionReport]) -> Vec<CriterionResult> {
    reports.iter().map(|r| r.result.clone()).collect()
}

/// The base: every guard green, every `red_first` check not green; else nothing is built.
fn baseline(
    transition: Transition<'_>,
    open: &OpenTurn,
    found: Found<'_>,
    cause: Cause,
    for_build: Option<Box<Feedback>>,
) -> EngineStep {
    let (cx, feedback) = (transition.cx, for_build.map(|feedback| *feedback));
    match rule_base(found.report, transition.before.base.as_ref(), cx) {
        Some(ruling) => {
            let mut transition = transition.answered(cause, Outcome::Blocked);
            remember(&mut transition.next, found);
            let resume = Resume::Gate { gate: open.gate.clone(), purpose: open.purpose };
            transition.hold(resume, Ruled { ruling, feedback })
        }
        // It is no gate of its own: the work begins, or goes on, in the gate before which the base was tried.
        None => {
            let first = cx.workflow.gate(&open.gate).unwrap_or_else(|| cx.workflow.first());
            let collided = feedback.as_ref().is_some_and(|feedback| feedback.collision.is_some());
            let repair = collided && purposes::is_repaired(first, cx);
            let opening = Opening { feedback, repair, ..Opening::of(first) };
            turns::open(transition.answered(cause, Outcome::Complete), opening, None)
        }
    }
}

/// The last verdicts.
fn remember(next: &mut WaypointState, Found { report, settled }: Found<'_>) {
    next.criteria = results(&report.criteria);
    next.guards = results(&report.guards);
    next.checkpoints = settled.iter().map(Settled::kept).collect();
    next.foreign_receipt = Some(report.receipt.foreign);
}

fn is_suspicious(report: &VerificationReport) -> bool {
    report.doubts.iter().any(|doubt| doubt.suspicious)
}

/// A passing report: what it passed may land.
fn verified(next: &mut WaypointState, report: &VerificationReport, cause: &Cause) {
    let base = next.base.clone();
    next.verified = base.map(|base| Verified {
        report: cause.digest,
        tree: report.tree.clone(),
        base,
        suspicious: is_suspicious(report),
    });
}

/// What is wrong with the base, if anything.
fn rule_base(report: &VerificationReport, base: Option<&Oid>, cx: &StepContext<'_>) -> Option<Ruling> {
    let is_green = |r: &&CriterionReport| r.result.verdict == Verdict::Pass;
    let no_setup = |r: &&CriterionReport| {
        matches!(r.result.reason, Some(CriterionReason::SetupFailed | CriterionReason::SetupChanged))
    };
    if let Some(failed) = report.guards.iter().chain(&report.criteria).find(no_setup) {
        let why = failed.note.as_deref().unwrap_or("its command failed");
        let text = format!(
            "the dependencies of the base cannot be set up: {why}; correct `environment`, or the lock files, first"
        );
        return Some(escalate(ReasonCode::SetupFailed, &text));
    }
    let green_guard = |id: &CriterionId| report.guards.iter().filter(is_green).any(|r| &r.result.id == id);
    let asked = guards_asked(report.purpose, base, cx);
    if let Some(id) = asked.iter().find(|id| !green_guard(id)) {
        let doubts: String = report.doubts.iter().map(|doubt| format!("; {}", doubt.text)).collect();
        let text = format!(
            "guard {id} is not green on the base: fix the base, or the guard, first; checks see committed files only, and none that git ignores{doubts}"
        );
        return Some(escalate(ReasonCode::GuardRed, &text));
    }
    let green = report.criteria.iter().find(is_green)?;
    let text = format!(
        "criterion {} is green on the base, before any work: it cannot show that the goal was reached; sharpen its check or drop red_first, or `holdpoint cancel` if what landed meanwhile reached the goal",
        green.result.id
    );
    Some(escalate(ReasonCode::NotRed, &text))
}

/// Broken path rules: the orchestrator's own reading of the diff counts; a verifier's can only add to it.
fn violations(state: &WaypointState, report: &VerificationReport) -> Vec<Violation> {
    let mut all = state.work.as_ref().map(|w| w.violations.clone()).unwrap_or_default();
    let added: Vec<Violation> = report.violations.iter().filter(|v| !all.contains(v)).cloned().collect();
    all.extend(added);
    all
}

/// What the clone of the work had besides.
fn left_out(state: &WaypointState) -> &[LeftOut] {
    state.work.as_ref().map_or(&[], |work| &work.left_out)
}

/// The ruling on a report, by the policy table.
fn rule(state: &WaypointState, Found { report, settled }: Found<'_>, cx: &StepContext<'_>) -> Ruling {
    let guards_asked = guards_asked(report.purpose, state.base.as_ref(), cx);
    policy::rule(&Facts {
        clarification: None,
        asked: &asked(report.purpose, cx),
        criteria: &results(&report.criteria),
        guards_asked: &guards_asked,
        guards: &results(&report.guards),
        violations: &violations(state, report),
        left_out: left_out(state),
        safety_broken: false,
        changed: state.work.as_ref().is_some_and(|w| w.commit.is_some()),
        blocking_doubt: report.doubts.iter().any(|d| d.blocking),
        receipt_lacks: is_single(cx)
            && !is_all_pass(report, asked(report.purpose, cx).into_iter().chain(guards_asked.iter().cloned())),
        unmet: checkpoints::unmet(settled).as_ref(),
        budget_left: reworks_left(state, cx),
    })
}

fn judged(mut transition: Transition<'_>, open: &OpenTurn, found: Found<'_>, cause: Cause) -> EngineStep {
    let (state, cx) = (transition.before, transition.cx);
    let mut ruling = rule(state, found, cx);
    let lands =
        ruling.disposition == Disposition::Accept && !arrival::wants_sign_off(state, is_suspicious(found.report), cx);
    if let Some(stacked) = state.stacked.as_ref().filter(|_| !lands) {
        match cx.flight.rooted(stacked) {
            None => return transition.keep(stacked, open, found, cause),
            // All in front of it landed: it stands on the head that they made.
            Some(landed) => (transition.next.base, transition.next.stacked) = (Some(landed.clone()), None),
        }
    }
    let collision = collisions::integrated_with(&transition);
    if collision.is_some() && ruling.disposition == Disposition::Rollback {
        // What is red together may be green alone: it is fixed on the tree that has both.
        ruling.disposition = Disposition::Rework;
    }
    let outcome = match ruling.disposition {
        Disposition::Accept => Outcome::Complete,
        Disposition::Rework | Disposition::Rollback => Outcome::NeedsReview,
        Disposition::Escalate => Outcome::Blocked,
    };
    let mut transition = transition.answered(cause.clone(), outcome);
    // A merge is verified of work that was decided before.
    if open.purpose == Purpose::Verify(VerificationPurpose::Handoff) {
        transition.count_attempt();
    }
    remember(&mut transition.next, found);
    let feedback = Some(Feedback { collision, ..feedback(&ruling, found, state, cx) });
    match ruling.disposition {
        Disposition::Accept => {
            verified(&mut transition.next, found.report, &cause);
            transition.leave(&open.gate, outcome, ruling)
        }
        // Used up: what a person grants goes into another build turn, not into judging the same once more.
        Disposition::Escalate if ruling.exhausted => {
            let make = cx.workflow.first_make();
            let resume = Resume::Gate { gate: make.id.clone(), purpose: purposes::purpose(make) };
            transition.hold(resume, Ruled { ruling, feedback })
        }
        Disposition::Escalate => transition.leave(&open.gate, outcome, Ruled { ruling, feedback }),
        Disposition::Rework | Disposition::Rollback => {
            // In a fork nothing goes back before its votes decide.
            if !transition.is_in_fork(&open.gate) {
                transition.count_rework(&ruling);
            }
            transition.leave(&open.gate, outcome, Ruled { ruling, feedback })
        }
    }
}

/// What the next build turn says: failing verdicts whole, and broken rules and checkpoints that are not met in words.
fn feedback(
    ruling: &Ruling,
    Found { report, settled }: Found<'_>,
    state: &WaypointState,
    cx: &StepContext<'_>,
) -> Feedback {
    let unmet = checkpoints::feedback(settled, state, cx);
    let run = report.checkpoints.iter().map(|one| &one.report).filter(|_| !unmet.is_empty());
    let run = run.filter(|r| r.result.reason != Some(CriterionReason::ToolMissing));
    let failing = report.criteria.iter().chain(&report.guards).chain(run);
    let failing = failing.filter(|r| r.result.verdict != Verdict::Pass).cloned().collect();
    let notes = words::notes(&violations(state, report)).into_iter().chain(words::left_out_notes(left_out(state)));
    let doubts = report.doubts.iter().filter(|d| d.blocking).map(|d| format!("unsettled: {}", d.text));
    let notes = notes.chain(doubts).chain(unmet).collect();
    Feedback {
        disposition: ruling.disposition,
        reason_code: ruling.reason,
        failing,
        notes,
        collision: None,
        clarifications: Vec::new(),
        review: None,
    }
}

impl<'a> Transition<'a> {
    /// Not accepted behind work that has not landed: nobody knows whose fault that is. The report counts when that has landed.
    fn keep(self, stacked: &Stacked, open: &OpenTurn, found: Found<'_>, cause: Cause) -> EngineStep {
        let (gate, purpose, since) = (open.gate.clone(), open.purpose, stacked.since);
        let turn = OpenTurn { questions: Vec::new(), allowance: None, ..open.clone() };
        let kept = Some(Box::new(KeptReport { turn, report: cause.clone() }));
        let mut transition = self.taken(cause);
        remember(&mut transition.next, found);
        transition.queued(Queued { gate, purpose, since, kept })
    }
}
