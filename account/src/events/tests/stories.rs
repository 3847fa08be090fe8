//! What holds of the events of every flight.

use std::collections::BTreeMap;

use holdpoint_engine::testing::histories::{Story, events, setup};
use holdpoint_protocol::{
    ids::{GateId, WaypointId},
    state::{GateVisit, Outcome},
};
use proptest::prelude::*;

use super::parts::{events as events_of, read};
use crate::events::{
    EventKind,
    visits::{closed, was_open},
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_visit_of_a_gate_is_one_transition_into_it_and_one_out_of_it((setup, happens) in (setup(), events())) {
        let story = Story::tell(&setup, &happens);
        let mut left: Vec<GateVisit> = Vec::new();
        for transition in &story.fixture.trace {
            let was_there = |v: &&GateVisit| v.outcome != Some(Outcome::Skip) || was_open(&transition.before, v);
            left.extend(closed(&transition.before, &transition.after).filter(was_there).cloned());
        }
        let mut at: BTreeMap<WaypointId, GateId> = BTreeMap::new();
        let mut exits = Vec::new();
        for event in events_of(&story.fixture) {
            let EventKind::GateTransition { from_gate, to_gate, outcome, .. } = event.what else { continue };
            prop_assert_eq!(at.remove(&event.task_id), from_gate.clone(), "it leaves where it was");
            exits.extend(from_gate.map(|gate| (gate, outcome)));
            at.extend(to_gate.map(|gate| (event.task_id, gate)));
        }
        let expected: Vec<_> = left.into_iter().map(|visit| (visit.gate, visit.outcome)).collect();
        prop_assert_eq!(exits, expected);
        for (waypoint, gate) in at {
            let state = story.fixture.state(waypoint.as_str());
            let open = state.history.last().filter(|visit| visit.exited.is_none());
            prop_assert_eq!(open.map(|visit| &visit.gate), Some(&gate), "{} is there still", waypoint);
        }
    }

    #[test]
    fn whoever_reads_the_same_gets_the_same_events_in_the_order_of_their_journals((setup, happens) in (setup(), events())) {
        let story = Story::tell(&setup, &happens);
        let once = events_of(&story.fixture);
        prop_assert_eq!(&once, &events_of(&story.fixture));
        let mut last: BTreeMap<&WaypointId, _> = BTreeMap::new();
        for event in &once {
            let before = last.insert(&event.task_id, event.timestamp);
            prop_assert!(before.is_none_or(|before| before <= event.timestamp));
        }
        // No handoff that an entry answers is a conflict.
        let (mut reader, _) = read(&story.fixture, &[]);
        prop_assert_eq!(reader.conflicts(), vec![]);
    }
}
