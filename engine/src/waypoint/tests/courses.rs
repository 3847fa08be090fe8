//! What holds of turns, the branch, bounds and ends in every history, besides the invariants of the specification.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    artifact::VerificationPurpose,
    ids::{TurnId, WaypointId, role},
    journal::Entry,
    reason::ReasonCode,
    state::{Phase, QuestionStanding, Status, WaypointState},
    turn::TurnRequest,
    view::FlightStatus,
};
use proptest::prelude::*;

use super::invariants::{in_every_history, turns};
use crate::testing::{
    fixture::Transition,
    histories::NAMES,
    parts::{NARRATIVE, id},
};
use crate::{
    flight::{self, flight_status},
    waypoint::{self, Input, QUESTIONS_IN_TURN_MAX, is_current},
};

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
            prop_assert_eq!(&request.tree, &landed.tree);
            match &judged.after.stacked {
                None => prop_assert_eq!(&request.base, &landed.parent),
                Some(stacked) => {
                    prop_assert_eq!(Some(&request.base), landed.verified_on.as_ref());
                    prop_assert_eq!(Some(&stacked.base_tree), flight.tree_of(&landed.parent));
                }
            }
            let planned = flight.planned(&landed.waypoint).expect("planned");
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
        for transition in story.fixture.trace.iter().filter(|t| matches!(t.input, Input::Integrated(_))) {
            let (before, _) = waypoint::unmerged(&transition.before).expect("it was accepted");
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
        let mut opened = story.fixture.trace.iter().flat_map(|transition| transition.after.open_turns());
        prop_assert!(opened.all(|open| open.redeliveries <= 3), "a turn was opened again and again");
        for (name, state) in story.fixture.waypoints.iter() {
            let used = state.counters;
            let count = |is: fn(&Input) -> bool| {
                let steps = story.fixture.trace.iter().filter(|t| &t.waypoint == name && is(&t.input));
                u32::try_from(steps.count()).expect("few")
            };
            let retries = count(|input| matches!(input, Input::Retried(_)));
            // Work whose gate is gone goes back to an earlier one, which may make it again.
            let moved = count(|input| matches!(input, Input::Reconfigured(_)));
            prop_assert!(used.reworks <= max_reworks + used.granted, "{used:?}");
            prop_assert!(used.conflicts <= 10, "{used:?}");
            // A landing conflict is no attempt, but the build turn after it is decided as well.
            prop_assert!(used.attempts <= 1 + max_reworks + used.granted + retries + moved, "{used:?}");
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
        // A role whose agents cannot work keeps all that need it from beginning.
        let is_held = |state: &WaypointState| matches!(state.phase, Phase::Held(_));
        let reason = |state: &WaypointState| state.decision.as_ref().map(|decision| decision.reason_code);
        let cannot_work = fixture
            .waypoints
            .iter()
            .any(|(_, state)| is_held(state) && reason(state) == Some(ReasonCode::NotExecutable));
        for (name, status) in story.statuses() {
            let planned = fixture.flight.planned(&id(name)).expect("planned");
            let mut before = planned.depends_on.iter().map(|d| fixture.status(d.as_str()));
            match status {
                Status::Complete | Status::Blocked | Status::Failed | Status::Cancelled => {}
                Status::Pending => {
                    let waits = before.any(|s| s != Status::Complete) || cannot_work;
                    prop_assert!(waits, "{name} was forgotten");
                }
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

/// The fence of the flight's own journal fences no other journal: none of them may be able to go on.
#[test]
fn a_flight_that_may_be_retired_has_nothing_left_that_anybody_could_do() {
    in_every_history(|story| {
        let fixture = &story.fixture;
        let (flight, waypoints) = (&fixture.flight, &fixture.waypoints);
        let planned = || flight.submitted.plan.waypoints.iter().map(|waypoint| &waypoint.id);
        let can_go_on = planned().any(|id| !flight::actions(flight, id, waypoints.get(id)).is_empty());
        let due = flight::due(flight, waypoints, fixture.now);
        if flight::retirable(flight, waypoints).is_ok() {
            prop_assert!(due.is_empty() && !can_go_on, "{due:?}");
            prop_assert_eq!(flight::next_deadline(flight, waypoints, fixture.now), None);
        } else {
            prop_assert!(!due.is_empty() || can_go_on || story.statuses().iter().any(|(_, s)| *s == Status::Running));
        }
        Ok(())
    });
}

#[test]
fn no_more_waypoints_run_than_the_fleet_allows() {
    in_every_history(|story| {
        // A waypoint that waits for people takes up no room, so that another one opens; once they act, both go on.
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
            // The base of an entry stands for a landing that is not there yet.
            let on = transition.after.stacked.as_ref().map_or(base, |stacked| &stacked.on);
            prop_assert!(story.fixture.flight.tree_of(on).is_some(), "{on} is not on the branch that ends at {head}");
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
