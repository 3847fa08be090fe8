//! Who holds an open turn: its role, or a person who took it over or has to.

use std::time::Duration;

use holdpoint_planfile::gates::Gate;
use holdpoint_protocol::{
    Timestamp,
    artifact::Verb,
    ids::{AgentName, RoleId, role},
    state::{OpenTurn, Purpose, TurnHolder, WaypointState},
    turn::Turn,
};

use super::StepContext;

/// How long a person has a turn at least: people sleep. A gate with a longer timeout gives that.
pub const TAKEN_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether it is open to be taken: agents have it, or it waits for a person.
pub(super) fn is_free(open: &OpenTurn) -> bool {
    !open.is_peoples() || waits_to_be_taken(open)
}

/// Whether it makes work, and its gate escalated to people: one of them takes it.
#[must_use]
pub fn waits_to_be_taken(open: &OpenTurn) -> bool {
    open.holder == TurnHolder::People && open.purpose == Purpose::Build
}

/// Whether no agent can answer it, even one that knows its token: a person has it, or it waits for one to take it.
pub(super) fn is_no_agents(open: &OpenTurn) -> bool {
    open.taken_by().is_some() || waits_to_be_taken(open)
}

/// The turn that a person takes over or gives back: the one that was looked at; else the only one that is open, or of the
/// branches of a fork the first that fits.
pub(super) fn in_hand<'a>(
    state: &'a WaypointState,
    verb: Verb,
    by: &AgentName,
    on: Option<&String>,
) -> Option<&'a OpenTurn> {
    let named = |open: &&OpenTurn| on.is_some_and(|on| on == open.turn.as_str());
    let fits = |open: &&OpenTurn| match verb {
        Verb::Take => is_free(open),
        _ => open.taken_by() == Some(by),
    };
    let found = state.open_turns().find(named).or_else(|| state.open_turns().find(fits));
    found.or_else(|| state.open_turns().next())
}

/// The role in whose queue a turn is. One that a person took over, or has to, is in that of people, from which no
/// agent pulls.
#[must_use]
pub fn queued_for(turn: &Turn) -> RoleId {
    let open = turn.record.state.as_ref().and_then(|state| state.open_turn(&turn.turn_id));
    if open.is_some_and(is_no_agents) { role::id(role::OPERATOR) } else { turn.role.clone() }
}

/// The turn as it is its role's, which may be one of people.
pub(super) fn given_back(open: OpenTurn, cx: &StepContext<'_>) -> OpenTurn {
    if open.taken_by().is_none() {
        return open;
    }
    let people = cx.workflow.gate(&open.gate).is_some_and(|gate| gate.is_peoples_at(open.link));
    OpenTurn { holder: if people { TurnHolder::People } else { TurnHolder::Agents }, ..open }
}

/// When a turn that a person took over goes back to its role; `None`: nobody took it.
pub(super) fn deadline(gate: &Gate, open: &OpenTurn, cx: &StepContext<'_>) -> Option<Timestamp> {
    let time = gate.timeout.map_or(TAKEN_TIME, |timeout| timeout.duration().max(TAKEN_TIME));
    open.taken_by().map(|_| cx.now.after(time))
}
