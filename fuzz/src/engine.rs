//! What an agent hands off, given to the machine that decides: no state and no report makes it fall over.

use holdpoint_engine::{
    flight::FlightState,
    waypoint::{self, EngineStep, Fresh, Handoff, Input, ReportInput, StepContext},
};
use holdpoint_protocol::{Digest, Timestamp, artifact::VerificationReport, codec::{self, Encoding}, journal::{Cause, Decided, Entry, Sequence, Submitted}, state::{Phase, WaypointState}, turn::Turn};

const SUBMITTED: &[u8] = include_bytes!("../../protocol/golden/submitted.json");

/// A waypoint's state and a verifier's report, one JSON document after the other.
pub fn report(data: &[u8]) {
    let mut documents = serde_json::Deserializer::from_slice(data).into_iter::<serde_json::Value>();
    let Some(Ok(state)) = documents.next() else { return };
    let Ok(state) = serde_json::from_value::<WaypointState>(state) else { return };
    let Some(Ok(report)) = documents.next() else { return };
    let Ok(report) = serde_json::from_value::<VerificationReport>(report) else { return };
    let submitted: Submitted = codec::decode(SUBMITTED, Encoding::Json).expect("the golden reads");
    let flight = FlightState::new(submitted);
    let Some(waypoint) = flight.submitted.plan.waypoints.first() else { return };
    let Phase::InTurn(open) = &state.phase else { return };
    let workflow = flight.workflow(waypoint).expect("the golden brings its workflow");
    let cx = StepContext { flight: &flight, waypoint, workflow, now: Timestamp::from_millis(1_790_000_000_000), conditions: &[], is_first: true };
    let id = |name: &str| name.parse().expect("an id");
    let fresh =
        Fresh { turn: "turn-2".parse().expect("an id"), decision: id("d"), guidance: id("g"), request: id("r") };
    let cause =
        Cause { stream: "HP_HANDOFF".to_owned(), sequence: Sequence(1), digest: Digest::of(b"x"), artifact: id("a") };
    let handoff = Handoff {
        turn: open.turn.clone(),
        role: open.role.clone(),
        agent: "agent-1".parse().expect("an id"),
        cause,
        told: None,
        metered: None,
        left_out: Vec::new(),
        body: Box::new(ReportInput { report, for_build: None, touched: Vec::new() }),
    };
    let EngineStep::Append(entry) = waypoint::step(&state, Input::Reported(handoff), &cx, &fresh) else { return };
    match *entry {
        Entry::Turn(turn) => {
            let bytes = codec::encode(turn.as_ref(), Encoding::Json).expect("a turn has a form");
            assert_eq!(codec::decode::<Turn>(&bytes, Encoding::Json).expect("it reads back"), *turn);
        }
        Entry::Decided(decided) => {
            let bytes = codec::encode(decided.as_ref(), Encoding::MsgPack).expect("a decision has a form");
            assert_eq!(codec::decode::<Decided>(&bytes, Encoding::MsgPack).expect("it reads back"), *decided);
        }
        other => panic!("a report cannot lead to {other:?}"),
    }
}
