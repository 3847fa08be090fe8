//! What holds in every history (spec "Invariants"), however agents behave.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::{
    artifact::{Disposition, OrchestratorDecision, StatusMutation, VerificationPurpose},
    facts::Verdict,
    ids::{TurnId, WaypointId, role},
    journal::{Cause, Entry},
    reason::ReasonCode,
    state::{Phase, Purpose, QuestionStanding, Status, WaypointState},
    turn::{Turn, TurnRequest},
    view::FlightStatus,
};
use proptest::{
    prelude::*,
    test_runner::{FileFailurePersistence, TestCaseResult},
};

use super::{
    fixture::Transition,
    histories::{NAMES, Story, events, setup},
    parts::{NARRATIVE, id},
};
use crate::{
    engine::{Ends, Input, QUESTIONS_IN_TURN_MAX, is_current, transition::phase_status},
    flight::{self, flight_status},
};

/// Histories per property: each is dozens of transitions, and a debug build stays within seconds.
const CASES: u32 = 24;
/// Steps towards a shorter history that fails: a failing run ends within a minute or so.
const SHRINKS_MAX: u32 = 512;
/// Histories in which every kind of event has to turn up.
const CASES_TO_REACH_ALL: u32 = 256;

/// Checks a property of any history.
fn in_every_history(property: impl Fn(&mut Story) -> TestCaseResult) {
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

fn decision(transition: &Transition) -> Option<&OrchestratorDecision> {
    transition.entry.decision()
}

fn turns(story: &Story) -> impl Iterator<Item = (&Transition, &Turn)> {
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
        let mut states: BTreeMap<WaypointId, WaypointState> = BTreeMap::new();
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
            let rollback = decision(transition).is_some_and(|d| d.disposition == Disposition::Rollback);
            let expected = if rollback { None } else { transition.before.work.clone() };
            prop_assert_eq!(transition.after.work.clone(), expected);
        }
        Ok(())
    });
}

#[test]
fn invariant_3_every_criterion_of_accepted_work_has_evidence() {
    in_every_history(|story| {
        for transition in acceptances(story) {
            let planned = story.fixture.flight.submitted.plan.waypoint(&transition.waypoint).expect("planned");
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
        for transition in story.fixture.trace.iter().filter(|t| matches!(t.input, Input::Built(_))) {
            prop_assert!(!matches!(transition.after.phase, Phase::Accepted { .. }), "{transition:?}");
        }
        for transition in acceptances(story) {
            let by_evidence = matches!(transition.input, Input::Reported(_) | Input::Completed(_) | Input::Retried(_));
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
                    | Input::AnswerOverdue
                    | Input::BudgetExhausted
                    | Input::TooLarge(_)
            );
            prop_assert!(left && !matches!(transition.after.phase, Phase::Accepted { .. }), "{transition:?}");
        }
        // Between a question and an acceptance somebody answered, policy or a person, or a person had it tried again.
        let mut open: BTreeSet<&WaypointId> = BTreeSet::new();
        for transition in &story.fixture.trace {
            match &transition.input {
                Input::Asked(_) if !matches!(transition.after.phase, Phase::InTurn(_)) => {
                    open.insert(&transition.waypoint);
                }
                Input::Answered(_) | Input::Retried(_) => drop(open.remove(&transition.waypoint)),
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
fn a_turn_is_answered_at_most_once_and_tokens_are_never_reused() {
    in_every_history(|story| {
        let mut opened: BTreeSet<&TurnId> = BTreeSet::new();
        for (_, turn) in turns(story) {
            prop_assert!(opened.insert(&turn.turn_id), "{} was opened twice", turn.turn_id);
        }
        let mut answered = BTreeSet::new();
        for transition in story.fixture.trace.iter().filter(|t| t.entry.record().cause.is_some()) {
            let Phase::InTurn(open) = &transition.before.phase else { continue };
            if is_current(&transition.after, &open.turn) {
                let about_questions = matches!(transition.input, Input::Asked(_) | Input::Answered(_));
                prop_assert!(about_questions, "{} stayed open: {transition:?}", open.turn);
                continue;
            }
            prop_assert!(answered.insert(&open.turn), "{} was answered twice", open.turn);
        }
        for name in NAMES {
            let landings = story.fixture.flight.landed.iter().filter(|l| l.waypoint == id(name));
            prop_assert!(landings.count() <= 1, "{name} landed twice");
        }
        Ok(())
    });
}

#[test]
fn a_question_that_waits_leaves_its_turn_as_it_is_and_is_answered_at_most_once() {
    in_every_history(|story| {
        let mut answered = BTreeSet::new();
        for transition in &story.fixture.trace {
            let Phase::InTurn(after) = &transition.after.phase else { continue };
            let open = after.questions.iter().filter(|q| q.standing == QuestionStanding::Open).count();
            prop_assert!(open <= 1 && (open == 0) == after.asking().is_none(), "{after:?}");
            prop_assert!(after.questions.len() <= QUESTIONS_IN_TURN_MAX, "{after:?}");
            let Phase::InTurn(before) = &transition.before.phase else { continue };
            if before.turn != after.turn {
                prop_assert!(after.questions.is_empty(), "another turn begins without questions: {after:?}");
                continue;
            }
            let (one, other) = (&transition.before, &transition.after);
            prop_assert_eq!((&one.base, &one.work, &one.answered), (&other.base, &other.work, &other.answered));
            prop_assert_eq!(&one.history, &other.history);
            if let Entry::Answered(entry) = &transition.entry {
                let last = after.questions.last().expect("a question was answered");
                prop_assert_eq!((&entry.turn, entry.words), (&after.turn, last.words));
                prop_assert!(answered.insert(last.asked.artifact.clone()), "answered again: {last:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn the_branch_is_a_line_of_verified_trees_in_the_order_of_dependencies() {
    in_every_history(|story| {
        story.calm_down();
        let flight = &story.fixture.flight;
        let mut head = flight.submitted.base.clone();
        let mut complete: Vec<&WaypointId> = Vec::new();
        for landed in &flight.landed {
            prop_assert_eq!(&landed.parent, &head);
            head = landed.commit.clone();
            // The last accepted report was about this tree, on this parent.
            let verified = |t: &&Transition| {
                t.waypoint == landed.waypoint && matches!(t.input, Input::Reported(_)) && t.after.verified.is_some()
            };
            let judged = story.fixture.trace.iter().rfind(verified).expect("what landed was verified");
            let Phase::InTurn(open) = &judged.before.phase else { panic!("{judged:?}") };
            let (_, turn) = turns(story).find(|(_, t)| t.turn_id == open.turn).expect("its turn");
            let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
            prop_assert_eq!((&request.tree, &request.base), (&landed.tree, &landed.parent));
            let planned = flight.submitted.plan.waypoint(&landed.waypoint).expect("planned");
            for dependency in &planned.depends_on {
                let without_landing = flight.landing(dependency).is_none();
                prop_assert!(without_landing || complete.contains(&dependency), "{dependency} landed later");
            }
            complete.push(&landed.waypoint);
        }
        prop_assert_eq!(&head, flight.head());
        Ok(())
    });
}

#[test]
fn accepted_work_is_merged_at_most_once_before_it_lands_or_is_sent_back() {
    in_every_history(|story| {
        story.calm_down();
        for transition in story.fixture.trace.iter().filter(|t| matches!(t.input, Input::HeadMoved(_))) {
            let before = transition.before.work.as_ref().expect("it was accepted");
            prop_assert_eq!(&before.made_on, &None, "merged again: {:?}", transition);
        }
        Ok(())
    });
}

#[test]
fn every_bound_holds() {
    in_every_history(|story| {
        story.calm_down();
        let max_reworks = story.fixture.flight.submitted.plan.policy.max_reworks;
        let max_rounds = story.fixture.flight.submitted.plan.policy.max_clarifications;
        for (name, state) in &story.fixture.waypoints {
            let used = state.counters;
            let retries =
                story.fixture.trace.iter().filter(|t| &t.waypoint == name && matches!(t.input, Input::Retried(_)));
            let retries = u32::try_from(retries.count()).expect("few");
            prop_assert!(used.reworks <= max_reworks + used.granted, "{used:?}");
            prop_assert!(used.conflicts <= 10 && used.redeliveries <= 3, "{used:?}");
            // A landing conflict is no attempt, but the build turn after it is decided as well.
            prop_assert!(used.attempts <= 1 + max_reworks + used.granted + retries, "{used:?}");
            prop_assert!(used.clarifications <= max_rounds + 1 + retries, "{used:?}");
        }
        Ok(())
    });
}

#[test]
fn every_flight_comes_to_an_end_when_agents_answer() {
    in_every_history(|story| {
        story.calm_down();
        let fixture = &story.fixture;
        for (name, status) in story.statuses() {
            let planned = fixture.flight.submitted.plan.waypoint(&id(name)).expect("planned");
            let mut before = planned.depends_on.iter().map(|d| fixture.status(d.as_str()));
            match status {
                Status::Complete | Status::Blocked | Status::Failed | Status::Cancelled => {}
                Status::Pending => prop_assert!(before.any(|s| s != Status::Complete), "{name} was forgotten"),
                other => prop_assert!(false, "{name} is left {other:?}"),
            }
        }
        let all = story.statuses().iter().all(|(_, s)| *s == Status::Complete);
        let expected = if all { FlightStatus::Accepted } else { FlightStatus::Incomplete };
        prop_assert_eq!(flight_status(&fixture.flight, &fixture.waypoints), expected);
        prop_assert_eq!(
            flight::next_deadline(&fixture.flight, &fixture.waypoints, fixture.now),
            None,
            "a timer that never ends"
        );
        Ok(())
    });
}

#[test]
fn a_timer_is_never_set_to_the_past_when_nothing_is_due() {
    in_every_history(|story| {
        let fixture = &story.fixture;
        if flight::due(&fixture.flight, &fixture.waypoints, fixture.now).is_empty() {
            let next = flight::next_deadline(&fixture.flight, &fixture.waypoints, fixture.now);
            prop_assert!(next.is_none_or(|at| at > fixture.now), "{next:?} at {}", fixture.now);
        }
        Ok(())
    });
}

#[test]
fn no_more_waypoints_run_than_the_fleet_allows() {
    in_every_history(|story| {
        // What waits for people takes up no room, so that another one opens; once they act, both go on.
        if story.fixture.waypoints.values().any(|state| state.acted.is_some()) {
            return Ok(());
        }
        let running = story.statuses().iter().filter(|(_, s)| *s == Status::Running).count();
        let room = story.fixture.flight.submitted.fleet.parallel.map_or(usize::MAX, |max| max as usize);
        prop_assert!(running <= room, "{running} of {room}");
        Ok(())
    });
}

#[test]
fn a_build_turn_starts_from_the_last_handoff_and_a_verifiers_from_what_it_judges() {
    in_every_history(|story| {
        for (transition, turn) in turns(story) {
            let base = transition.after.base.as_ref().expect("an open waypoint has a base");
            let work = transition.after.work.as_ref();
            let commit = work.and_then(|w| w.commit.as_ref()).unwrap_or(base);
            match &turn.request {
                TurnRequest::Build(request) => prop_assert_eq!((&request.base, &request.start), (base, commit)),
                // The base alone is tried, also where work is kept that a build turn goes on from.
                TurnRequest::Verify(request) => {
                    let tried = if request.purpose == VerificationPurpose::Baseline { base } else { commit };
                    prop_assert_eq!((&request.base, &request.commit), (base, tried));
                }
                TurnRequest::Complete(request) => prop_assert_eq!((&request.base, &request.commit), (base, commit)),
            }
            let head = story.fixture.flight.head().clone();
            prop_assert!(
                story.fixture.flight.tree_of(base).is_some(),
                "{base} is not on the branch that ends at {head}"
            );
            prop_assert_eq!(turn.role.as_str() == role::VERIFIER, matches!(turn.request, TurnRequest::Verify(_)));
        }
        Ok(())
    });
}

#[test]
fn no_word_of_a_builder_reaches_a_verifier() {
    in_every_history(|story| {
        for (_, turn) in turns(story).filter(|(_, t)| t.role.as_str() == role::VERIFIER) {
            let shown = serde_json::to_string(turn).expect("a turn has a JSON form");
            prop_assert!(!shown.contains(NARRATIVE), "{shown}");
        }
        Ok(())
    });
}

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

#[test]
fn histories_reach_what_they_are_meant_to_try() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..CASES_TO_REACH_ALL {
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
    let wanted = [
        "accepted after an answer",
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
        "help_requested",
        "landing_held",
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
        "waited and ended the turn",
        "withdrawn by a result",
    ];
    let missing: Vec<&str> = wanted.into_iter().filter(|w| !seen.contains(w)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "seen: {seen:?}");
}
