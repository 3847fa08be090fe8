//! The next entry is larger than a message may be (`Input::TooLarge`): a person has to make it smaller, or the broker's limit larger.
//!
//! Lists that grow without a bound do not get so far: [`crate::feedback`], [`crate::handed`].

use holdpoint_protocol::{
    reason::ReasonCode,
    state::{Phase, Resume, WaypointState},
};

use super::super::{EngineStep, Fresh, Oversize, StepContext, standing, transition::Transition};
use crate::policy::escalate;

/// The waypoint is held where it is.
pub(super) fn take(state: &WaypointState, size: Oversize, cx: &StepContext<'_>, fresh: &Fresh) -> EngineStep {
    let resume = match &state.phase {
        Phase::Held(_) | Phase::Delegated(_) | Phase::Cancelled => return EngineStep::Nothing,
        Phase::Accepted { .. } if standing::has_ended(state, cx) => return EngineStep::Nothing,
        Phase::Accepted { at } => Resume::Landing { at: *at },
        Phase::Queued(queued) => Resume::Gate { gate: queued.gate.clone(), purpose: queued.purpose },
        Phase::Pending => Resume::Beginning,
        Phase::InTurn(open) => Resume::Turn(open.clone()),
        Phase::Waiting(question) => Resume::Turn(question.turn.clone()),
        Phase::Forked => Resume::Fork,
    };
    let Oversize { bytes, most } = size;
    let text = format!(
        "what follows has {bytes} bytes, and a message may have {most}: raise the broker's max_payload to 8 MiB, or \
         shorten the waypoint's texts and fly it again; then `holdpoint retry`"
    );
    Transition::new(state, cx, fresh).hold(resume, escalate(ReasonCode::EntryTooLarge, &text).into())
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{ids::role, refusal::RefusalCode, state::Status};

    use super::*;
    use crate::{
        testing::{fixture::Fixture, parts::build_request},
        waypoint::{Input, Refusal},
    };

    const SIZE: Oversize = Oversize { bytes: 9 << 20, most: 8 << 20 };

    #[test]
    fn a_waypoint_whose_next_entry_is_too_large_is_held_and_goes_on_where_it_was() {
        let mut fixture = Fixture::opened(|_, _| {});
        let decided = fixture.feed("w", Input::TooLarge(SIZE)).decided();
        assert_eq!(decided.decision.reason_code, ReasonCode::EntryTooLarge);
        assert!(decided.decision.remediation.unwrap().contains("9437184 bytes"));
        assert_eq!(fixture.status("w"), Status::Blocked);
        let again = fixture.retry("w", |_| {}).turn();
        assert_eq!(again.role.as_str(), role::BUILDER);
        assert_eq!(build_request(&again).feedback, None);
    }

    #[test]
    fn the_sender_is_told_and_what_nobody_sent_has_no_sender() {
        let mut fixture = Fixture::opened(|_, _| {});
        let work = fixture.work(Vec::new());
        let built = Input::Built(fixture.handoff("w", work));
        assert_eq!(built.too_large(SIZE).map(|refusal| refusal.code()), Some(RefusalCode::TooLarge));
        assert!(matches!(fixture.cancel_act("w").too_large(SIZE), Some(Refusal::Act(_))));
        assert_eq!(Input::Open.too_large(SIZE), None);
    }
}
