//! Visits of gates (GATE-8): the state names the last ones, because it is in every entry; the journal has all of them.

use holdpoint_protocol::{
    ids::GateId,
    state::{EarlierVisits, GateVisit, Outcome, WaypointState},
};

/// Visits that a state names.
pub const VISITS_MAX: usize = 32;

/// Adds a visit; the oldest make room.
pub(super) fn push(state: &mut WaypointState, visit: GateVisit) {
    state.history.push(visit);
    let over = state.history.len().saturating_sub(VISITS_MAX);
    if let Some(since) = state.begun_at().filter(|_| over > 0) {
        let count = earlier(state).saturating_add(u32::try_from(over).unwrap_or(u32::MAX));
        state.earlier_visits = Some(EarlierVisits { count, since });
        state.history.drain(..over);
    }
}

fn earlier(state: &WaypointState) -> u32 {
    state.earlier_visits.map_or(0, |earlier| earlier.count)
}

/// Whether every visit that was there before is there still, as far as both states name it; one that was open may have
/// been closed.
pub(super) fn only_grew(before: &WaypointState, after: &WaypointState) -> bool {
    let gone = earlier(after).checked_sub(earlier(before)).and_then(|gone| usize::try_from(gone).ok());
    let Some(named) = gone.and_then(|gone| before.history.get(gone..)) else { return false };
    let is_kept = |(before, after): (&GateVisit, &GateVisit)| match before.exited {
        Some(_) => {
            // An earlier version drops what it does not know.
            let artifact = before.artifact.clone().filter(|_| after.artifact.is_none());
            *before == GateVisit { artifact: after.artifact.clone().or(artifact), ..after.clone() }
        }
        None => (&before.gate, &before.role, before.entered) == (&after.gate, &after.role, after.entered),
    };
    named.len() <= after.history.len() && named.iter().zip(&after.history).all(is_kept)
}

/// Whether work entered any gate, of those that the state names.
pub(super) fn entered_any(state: &WaypointState) -> bool {
    state.earlier_visits.is_some() || state.history.iter().any(|visit| visit.outcome != Some(Outcome::Skip))
}

/// Whether work entered this gate, as far as the state names its visits.
pub(super) fn was_entered(state: &WaypointState, gate: &GateId) -> bool {
    state.history.iter().any(|visit| visit.gate == *gate && visit.outcome != Some(Outcome::Skip))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::Timestamp;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_earlier_version_may_drop_what_left_a_gate_and_nobody_may_change_it() {
        let left = |artifact: Option<&str>| WaypointState {
            history: vec![GateVisit {
                exited: Some(Timestamp::from_millis(9)),
                artifact: artifact.map(|name| name.parse().unwrap()),
                ..visit(1)
            }],
            ..WaypointState::default()
        };
        assert!(only_grew(&left(Some("a")), &left(Some("a"))) && only_grew(&left(Some("a")), &left(None)));
        assert!(!only_grew(&left(Some("a")), &left(Some("b"))) && !only_grew(&left(None), &left(Some("b"))));
    }

    fn visit(n: i64) -> GateVisit {
        let (gate, role) = ("build".parse().unwrap(), "builder".parse().unwrap());
        let entered = Timestamp::from_millis(n);
        GateVisit { gate, role, agent: None, entered, exited: None, outcome: None, artifact: None }
    }

    /// All visits, from the states of a journal's entries.
    fn rebuilt(states: &[WaypointState]) -> Vec<GateVisit> {
        let mut all: Vec<GateVisit> = Vec::new();
        for state in states {
            let earlier = usize::try_from(earlier(state)).unwrap();
            all.truncate(earlier);
            assert_eq!(all.len(), earlier, "none was passed over");
            all.extend(state.history.iter().cloned());
        }
        all
    }

    proptest! {
        #[test]
        fn a_state_names_the_last_visits_and_the_journal_has_all_of_them(count in 0..200_i64) {
            let mut states = vec![WaypointState::default()];
            let mut all: Vec<GateVisit> = Vec::new();
            for n in 0..count {
                let mut state = states.last().unwrap().clone();
                if let Some(open) = state.history.last_mut() {
                    open.exited = Some(Timestamp::from_millis(n));
                    all.last_mut().unwrap().exited = open.exited;
                }
                push(&mut state, visit(n));
                all.push(visit(n));
                prop_assert!(only_grew(states.last().unwrap(), &state));
                prop_assert!(state.history.len() <= VISITS_MAX);
                prop_assert_eq!(state.begun_at(), Some(Timestamp::from_millis(0)));
                states.push(state);
            }
            prop_assert_eq!(rebuilt(&states), all);
        }
    }

    #[test]
    fn a_visit_that_was_changed_or_lost_is_seen() {
        let mut before = WaypointState::default();
        for n in 0..40 {
            push(&mut before, GateVisit { exited: Some(Timestamp::from_millis(n + 1)), ..visit(n) });
        }
        let forged = |forge: fn(&mut WaypointState)| {
            let mut after = before.clone();
            forge(&mut after);
            only_grew(&before, &after)
        };
        assert!(forged(|_| {}));
        assert!(forged(|state| push(state, visit(41))));
        assert!(!forged(|state| state.history[3].exited = None));
        assert!(!forged(|state| drop(state.history.pop())));
        assert!(!forged(|state| state.history.clear()));
        assert!(!forged(|state| state.earlier_visits = None));
    }
}
