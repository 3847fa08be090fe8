//! Entries stay small, however often work goes round: the state is in each of them.

use holdpoint_protocol::{
    codec::{self, Encoding},
    ids::role,
    journal::Entry,
    state::{Outcome, Phase, WaypointState},
    time::Millis,
    workflow::{GateSpec, WorkflowSpec},
};

use crate::testing::{
    fixture::{Fed, Fixture},
    parts::{fleet, plan, waypoint},
};
use crate::waypoint::{Input, VISITS_MAX};

/// Reviews behind build and verification.
const REVIEWS: usize = 18;
/// Bytes of a visit in JSON: ids of gate, role and agent as this test has them, two times, an outcome.
const VISIT_BYTES_MAX: usize = 200;
/// Bytes of everything else in a state of this workflow.
const REST_BYTES_MAX: usize = 3_000;

fn reviewed() -> Fixture {
    let gate = |name: &str, role_name: &str| GateSpec::new(name.parse().unwrap(), role_name.parse().unwrap());
    let verify = GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) };
    let reviews = (0..REVIEWS).map(|n| GateSpec {
        can_reject: true,
        timeout: Some(Millis(60_000)),
        ..gate(&format!("review-{n}"), "reviewer")
    });
    let spec = WorkflowSpec::new("declared", [gate("build", role::BUILDER), verify].into_iter().chain(reviews));
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    Fixture::flown_by(plan, fleet(), &[spec])
}

/// Takes the work from gate to gate and back from the last one; a person has it tried again whenever it is held.
fn go_on(fixture: &mut Fixture) -> Entry {
    let last = format!("review-{}", REVIEWS - 1);
    let taken = match fixture.open_turn("w").map(|open| open.gate.to_string()) {
        None if matches!(fixture.phase("w"), Phase::Held(_)) => fixture.retry("w", |retry| retry.reworks = 1),
        None => fixture.feed("w", Input::Open),
        Some(gate) if gate == "build" => fixture.build_ok("w"),
        Some(gate) if gate == "verify" => fixture.report("w", |_| {}),
        Some(gate) => fixture.fulfil("w", |completion| {
            if gate == last {
                completion.outcome = Some(Outcome::NeedsReview);
                completion.blockers = vec!["name it better".to_owned()];
            }
        }),
    };
    match taken {
        Fed::Appended(entry) => *entry,
        other => panic!("every step gets further: {other:?}"),
    }
}

fn visits(state: &WaypointState) -> usize {
    let earlier = state.earlier_visits.map_or(0, |earlier| earlier.count);
    state.history.len() + usize::try_from(earlier).unwrap()
}

fn json_len<T: serde::Serialize>(value: &T) -> usize {
    codec::encode(value, Encoding::Json).unwrap().len()
}

#[test]
fn entries_do_not_grow_with_the_number_of_visits() {
    let mut fixture = reviewed();
    // The largest state and entry of each of the first five hundreds of visits.
    let mut largest = vec![(0, 0); 5];
    loop {
        let entry = go_on(&mut fixture);
        let state = fixture.state("w");
        let visited = visits(&state);
        if visited > 500 {
            break;
        }
        assert!(state.history.len() <= VISITS_MAX, "{}", state.history.len());
        let len = json_len(&state);
        assert!(len <= VISITS_MAX * VISIT_BYTES_MAX + REST_BYTES_MAX, "{len} bytes after {visited} visits");
        let entry_len = match &entry {
            Entry::Turn(turn) => json_len(turn.as_ref()),
            Entry::Decided(decided) => json_len(decided.as_ref()),
            other => panic!("{other:?}"),
        };
        let hundred = &mut largest[(visited - 1) / 100];
        *hundred = (hundred.0.max(len), hundred.1.max(entry_len));
    }
    // Ids and counts get a digit more now and then.
    let ((state, entry), (last_state, last_entry)) = (largest[1], largest[4]);
    assert!(last_state <= state + 64 && last_entry <= entry + 64, "{largest:?}");
}
