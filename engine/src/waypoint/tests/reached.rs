//! That histories come to what the properties are about: one that tries nothing shows nothing.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    artifact::{Disposition, OrchestratorDecision, VerificationPurpose},
    ids::WaypointId,
    journal::Entry,
    reason::ReasonCode,
    state::{Phase, Purpose, Status},
};
use proptest::prelude::*;

use super::invariants::decision;
use crate::testing::{
    fixture::Transition,
    histories::{Story, events, setup},
};
use crate::waypoint::{Ends, Input};

/// Histories in which every kind of event has to turn up. They end with the one that reaches the last.
const CASES_TO_REACH_ALL: u32 = 1_024;

/// What has to turn up.
const WANTED: [&str; 47] = [
    "a completion failed and came again",
    "a maker's turn went on to other makers",
    "a maker's turn went on to people",
    "a review went on to other agents",
    "a review went on to people",
    "accepted after an answer",
    "accepted behind an agent",
    "advisors could not help",
    "agent_failed",
    "all complete",
    "answer and patience crossed",
    "answer_overdue",
    "answered in its turn by a person",
    "answered in its turn by policy",
    "approval_open",
    "approval_rejected",
    "attempts_exhausted",
    "budget_exhausted",
    "cancelled",
    "clarification_exhausted",
    "clarification_open",
    "criteria_failed",
    "criteria_met",
    "entry_too_large",
    "evidence_missing",
    "gate_blocked",
    "guard_red",
    "helped by an advisor",
    "held at the end of a chain",
    "held because no verifier answered",
    "help_requested",
    "landing_held",
    "made by a person of the chain",
    "merge",
    "merge_conflict",
    "no rollback left",
    "no_change",
    "not_executable",
    "not_red",
    "protected_changed",
    "regression",
    "rolled back",
    "scope_violation",
    "sent back by an agent",
    "taken by a person of the chain",
    "waited and ended the turn",
    "withdrawn by a result",
];

/// What happened to a question that waits in its turn.
fn of_questions(transition: &Transition) -> Option<&'static str> {
    let Phase::InTurn(open) = &transition.before.phase else { return None };
    match (&transition.entry, &transition.input, &transition.after.phase) {
        (Entry::Answered(_), Input::Asked(_), _) => Some("answered in its turn by policy"),
        (Entry::Answered(_), _, _) => Some("answered in its turn by a person"),
        (_, Input::Asked(_), Phase::Waiting(question)) => {
            open.asking().is_some_and(|asking| asking.asked == question.asked).then_some("waited and ended the turn")
        }
        (_, Input::Asked(asked), Phase::InTurn(again)) if again.turn != open.turn => {
            (asked.body.ends == Ends::TurnAfterAll).then_some("answer and patience crossed")
        }
        (_, Input::Built(_) | Input::Reported(_), _) => open.asking().map(|_| "withdrawn by a result"),
        _ => None,
    }
}

/// What became of a call for help that advisors were asked about.
fn of_advice(transition: &Transition) -> Option<&'static str> {
    transition.before.advice()?;
    match (&transition.input, &transition.after.phase) {
        (Input::Advised(_), Phase::InTurn(open)) if open.purpose == Purpose::Build => Some("helped by an advisor"),
        (Input::Advised(_), Phase::Waiting(_)) => Some("advisors could not help"),
        _ => None,
    }
}

/// What agents that neither build nor verify came to.
fn of_agents(transition: &Transition) -> Option<&'static str> {
    let Input::Fulfilled(handoff) = &transition.input else { return None };
    match (&handoff.body, &transition.after.phase) {
        (completion, Phase::InTurn(_)) if completion.failure.is_some() => Some("a completion failed and came again"),
        (_, Phase::InTurn(open)) if open.purpose == Purpose::Build => Some("sent back by an agent"),
        (_, Phase::Accepted { .. }) => Some("accepted behind an agent"),
        _ => None,
    }
}

/// What became of turns that nobody answered in time, at gates that escalate.
fn of_chains(transition: &Transition) -> Option<&'static str> {
    let Phase::InTurn(before) = &transition.before.phase else { return None };
    match (&transition.input, &transition.after.phase) {
        (Input::DeadlinePassed(_), Phase::InTurn(open)) if open.link > before.link => {
            match (open.purpose, open.is_peoples()) {
                (Purpose::Build, true) => Some("a maker's turn went on to people"),
                (Purpose::Build, false) => Some("a maker's turn went on to other makers"),
                (_, true) => Some("a review went on to people"),
                (_, false) => Some("a review went on to other agents"),
            }
        }
        (Input::DeadlinePassed(_), Phase::Held(_)) if before.link > 0 => Some("held at the end of a chain"),
        (Input::DeadlinePassed(_), Phase::Held(_)) => {
            let gave_up = decision(transition).is_some_and(|d| d.reason_code == ReasonCode::GateTimeout);
            (gave_up && matches!(before.purpose, Purpose::Verify(_))).then_some("held because no verifier answered")
        }
        (Input::Taken(_), Phase::InTurn(_)) if before.link > 0 => Some("taken by a person of the chain"),
        (Input::HandedIn(_), _) if before.link > 0 => Some("made by a person of the chain"),
        _ => None,
    }
}

#[test]
fn histories_reach_what_they_are_meant_to_try() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let missing =
        |seen: &BTreeSet<&str>| WANTED.into_iter().filter(|wanted| !seen.contains(wanted)).collect::<Vec<_>>();
    for _ in 0..CASES_TO_REACH_ALL {
        if missing(&seen).is_empty() {
            break;
        }
        let tree = (setup(), events()).new_tree(&mut runner).expect("a history");
        let (setup, events) = proptest::strategy::ValueTree::current(&tree);
        let mut story = Story::tell(&setup, &events);
        story.calm_down();
        let mut asked: BTreeSet<WaypointId> = BTreeSet::new();
        for transition in &story.fixture.trace {
            seen.extend(decision(transition).map(|d| d.reason_code.as_str()));
            if matches!(decision(transition), Some(d) if d.disposition == Disposition::Rollback) {
                seen.insert("rolled back");
            }
            let regression = |d: &OrchestratorDecision| d.reason_code == ReasonCode::Regression;
            if decision(transition).is_some_and(|d| regression(d) && d.disposition == Disposition::Escalate) {
                seen.insert("no rollback left");
            }
            if matches!(transition.input, Input::Answered(_)) {
                asked.insert(transition.waypoint.clone());
            }
            seen.extend(of_questions(transition));
            seen.extend(of_agents(transition));
            seen.extend(of_advice(transition));
            seen.extend(of_chains(transition));
            if matches!(transition.after.phase, Phase::Accepted { .. }) && asked.contains(&transition.waypoint) {
                seen.insert("accepted after an answer");
            }
            if matches!(&transition.after.phase, Phase::InTurn(o) if o.purpose == Purpose::Verify(VerificationPurpose::Merge))
            {
                seen.insert("merge");
            }
        }
        if story.statuses().iter().all(|(_, s)| *s == Status::Complete) {
            seen.insert("all complete");
        }
    }
    assert_eq!(missing(&seen), Vec::<&str>::new(), "seen: {seen:?}");
}
