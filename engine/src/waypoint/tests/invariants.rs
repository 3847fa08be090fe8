//! What holds in every history (spec "Invariants"), however agents behave.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    artifact::{Disposition, OrchestratorDecision, StatusMutation},
    facts::Verdict,
    ids::{WaypointId, role},
    journal::{Cause, Entry},
    reason::ReasonCode,
    state::{Phase, Status},
    turn::Turn,
};
use proptest::{
    prelude::*,
    test_runner::{FileFailurePersistence, TestCaseResult},
};

use crate::testing::{
    fixture::Transition,
    histories::{NAMES, Story, events, setup},
};
use crate::{
    flight::Waypoints,
    waypoint::{Input, phase_status},
};

/// Histories per property: each is dozens of transitions, and a debug build stays within seconds.
const CASES: u32 = 24;
/// Steps towards a shorter history that fails: a failing run ends within a minute or so.
const SHRINKS_MAX: u32 = 512;

/// Checks a property of any history.
pub(super) fn in_every_history(property: impl Fn(&mut Story) -> TestCaseResult) {
    let config = ProptestConfig {
        cases: CASES,
        max_shrink_iters: SHRINKS_MAX,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&(setup(), events()), |(setup, events)| property(&mut Story::tell(&setup, &events)));
    if let Err(error) = result {
        panic!("{error}");
    }
}

pub(super) fn decision(transition: &Transition) -> Option<&OrchestratorDecision> {
    transition.entry.decision()
}

pub(super) fn turns(story: &Story) -> impl Iterator<Item = (&Transition, &Turn)> {
    story.fixture.trace.iter().filter_map(|t| match &t.entry {
        Entry::Turn(turn) => Some((t, turn.as_ref())),
        _ => None,
    })
}

fn acceptances(story: &Story) -> impl Iterator<Item = &Transition> {
    story.fixture.trace.iter().filter(|t| matches!(t.after.phase, Phase::Accepted { .. }))
}

#[test]
fn invariant_1_only_the_orchestrators_entries_change_a_waypoint() {
    in_every_history(|story| {
        story.fixture.crash();
        let mut states = Waypoints::new();
        for transition in &story.fixture.trace {
            let before = states.insert(transition.waypoint.clone(), transition.after.clone());
            prop_assert_eq!(before.unwrap_or_default(), transition.before.clone());
            prop_assert_eq!(transition.entry.record().state.as_ref(), Some(&transition.after));
            if let Some(decision) = decision(transition) {
                prop_assert_eq!(decision.produced_by_role.as_str(), role::ORCHESTRATOR);
            }
        }
        prop_assert_eq!(states, story.fixture.waypoints.clone());
        Ok(())
    });
}

#[test]
fn invariant_2_a_report_never_changes_the_work() {
    in_every_history(|story| {
        for transition in story.fixture.trace.iter().filter(|t| matches!(t.input, Input::Reported(_))) {
            let Transition { before, after, .. } = transition;
            if decision(transition).is_some_and(|d| d.disposition == Disposition::Rollback) {
                prop_assert_eq!(&after.work, &None);
                continue;
            }
            prop_assert_eq!(&after.work, &before.work, "{:?}", transition);
        }
        Ok(())
    });
}

#[test]
fn invariant_3_every_criterion_of_accepted_work_has_evidence() {
    in_every_history(|story| {
        for transition in acceptances(story) {
            let planned = story.fixture.flight.planned(&transition.waypoint).expect("planned");
            for criterion in &planned.criteria {
                let result = transition.after.criteria.iter().find(|r| r.id == criterion.id);
                let shown = result.is_some_and(|r| r.verdict == Verdict::Pass && !r.evidence.is_empty());
                prop_assert!(shown, "{} in {transition:?}", criterion.id);
            }
            for guard in &story.fixture.flight.submitted.plan.guards {
                let result = transition.after.guards.iter().find(|r| r.id == guard.id);
                prop_assert!(result.is_some_and(|r| r.verdict == Verdict::Pass), "{transition:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn invariant_4_every_escalation_says_what_a_person_can_do() {
    in_every_history(|story| {
        for decision in story.fixture.trace.iter().filter_map(decision) {
            let said = decision.remediation.as_ref().is_some_and(|r| !r.is_empty());
            prop_assert_eq!(said, decision.disposition == Disposition::Escalate, "{:?}", decision);
            // A rollback is applied in the entry that decides it, or it is no rollback.
            let may_roll_back = matches!(decision.reason_code, ReasonCode::Regression | ReasonCode::Safety);
            prop_assert!(may_roll_back || decision.disposition != Disposition::Rollback, "{:?}", decision);
        }
        Ok(())
    });
}

#[test]
fn invariant_5_a_builders_word_alone_finalizes_nothing() {
    in_every_history(|story| {
        for transition in story.fixture.trace.iter().filter(|t| matches!(t.input, Input::Built(_) | Input::HandedIn(_)))
        {
            prop_assert!(!matches!(transition.after.phase, Phase::Accepted { .. }), "{transition:?}");
        }
        for transition in acceptances(story) {
            let by_evidence = matches!(
                transition.input,
                Input::Reported(_) | Input::Completed(_) | Input::Fulfilled(_) | Input::Retried(_)
            );
            prop_assert!(by_evidence && transition.after.verified.is_some(), "{transition:?}");
        }
        Ok(())
    });
}

#[test]
fn invariant_6_every_turn_carries_guidance() {
    in_every_history(|story| {
        let mut policies = BTreeSet::new();
        for (_, turn) in turns(story) {
            prop_assert_eq!(turn.guidance.covenant_version, story.fixture.flight.submitted.covenant_version);
            prop_assert_eq!(&turn.guidance.waypoint_id, &turn.waypoint);
            prop_assert!(!turn.guidance.constraints.is_empty() && !turn.guidance.stop_conditions.is_empty());
            policies.insert(turn.guidance.policy_hash);
        }
        prop_assert!(policies.len() <= 1, "one policy, one hash");
        Ok(())
    });
}

#[test]
fn invariant_8_every_decision_names_what_it_rests_on() {
    in_every_history(|story| {
        for transition in &story.fixture.trace {
            let Some(decision) = decision(transition) else { continue };
            prop_assert!(!decision.source_refs.is_empty());
            prop_assert_eq!(&decision.waypoint_id, &transition.waypoint);
            let submitted = || format!("submitted:{}", story.fixture.flight.submitted.flight);
            let rests_on = transition.entry.record().cause.as_ref().map_or_else(submitted, Cause::reference);
            prop_assert_eq!(&decision.source_refs, &vec![rests_on]);
            let answered = transition.entry.record().cause.as_ref().map(|cause| &cause.artifact);
            prop_assert!(answered.is_none_or(|artifact| decision.artifacts.first() == Some(artifact)));
            let (from, to) = (phase_status(&transition.before), phase_status(&transition.after));
            let opens = matches!(transition.entry, Entry::Turn(_));
            let mutation = (!opens || from != to).then_some(StatusMutation { from, to });
            prop_assert_eq!(&decision.status, &mutation, "{:?}", transition);
            let last = transition.after.decision.as_ref().expect("a decision is remembered");
            prop_assert_eq!((&last.id, last.disposition), (&decision.artifact_id, decision.disposition));
            prop_assert_eq!(last.reason_code, decision.reason_code);
        }
        Ok(())
    });
}

#[test]
fn invariant_9_an_open_question_never_ends_complete() {
    in_every_history(|story| {
        for name in NAMES {
            if matches!(story.fixture.state(name).phase, Phase::Waiting(_)) {
                prop_assert_ne!(story.fixture.status(name), Status::Complete);
            }
        }
        // A question is left by an answer, a person, or the end of its time, and by nothing that an agent says.
        for transition in story.fixture.trace.iter().filter(|t| matches!(t.before.phase, Phase::Waiting(_))) {
            let left = matches!(
                transition.input,
                Input::Answered(_)
                    | Input::Cancelled(_)
                    | Input::Reconfigured(_)
                    | Input::AnswerOverdue
                    | Input::BudgetExhausted
                    | Input::TooLarge(_)
            );
            prop_assert!(left && !matches!(transition.after.phase, Phase::Accepted { .. }), "{transition:?}");
        }
        // Between a question and an acceptance policy or a person answered, or a person had it tried again.
        let mut open: BTreeSet<&WaypointId> = BTreeSet::new();
        for transition in &story.fixture.trace {
            match &transition.input {
                Input::Asked(_) if !matches!(transition.after.phase, Phase::InTurn(_)) => {
                    open.insert(&transition.waypoint);
                }
                Input::Answered(_) | Input::Retried(_) | Input::Reconfigured(_) => {
                    open.remove(&transition.waypoint);
                }
                _ => {}
            }
            let accepted = matches!(transition.after.phase, Phase::Accepted { .. });
            prop_assert!(!accepted || !open.contains(&transition.waypoint), "{transition:?}");
        }
        for landed in &story.fixture.flight.landed {
            prop_assert!(!open.contains(&landed.waypoint), "{} landed", landed.waypoint);
        }
        Ok(())
    });
}

#[test]
fn who_made_the_work_never_completes_a_gate_that_looks_at_it() {
    in_every_history(|story| {
        for transition in &story.fixture.trace {
            let by = match &transition.input {
                Input::Completed(act) => &act.by,
                Input::Fulfilled(handoff) => &handoff.agent,
                _ => continue,
            };
            let made = transition.before.work.iter().any(|work| work.makers().any(|maker| maker == by));
            prop_assert!(!made, "{transition:?}");
        }
        Ok(())
    });
}
