//! A turn in which nothing is asked for that matters here.

use holdpoint_protocol::{
    Digest,
    artifact::{GuidancePacket, GuidancePacketBody, Origin},
    facts::Oid,
    ids::{FlightId, WaypointId, role},
    journal::Record,
    plan::{EnvironmentSpec, TurnBudget},
    subjects,
    time::Timestamp,
    turn::{BuildRequest, Turn, TurnRequest},
    version,
};

use super::fleet::{SOON, builder};
use holdpoint_runtime::{clock, fresh};

/// The first turn of a waypoint, with an entry that says this time; its id is `turn-<waypoint>`.
pub(super) fn turn(flight: &FlightId, waypoint: &str, at: Timestamp) -> Turn {
    let waypoint_id: WaypointId = waypoint.parse().unwrap();
    let origin = Origin {
        artifact_id: fresh::artifact(),
        waypoint_id: waypoint_id.clone(),
        produced_by_role: role::id(role::ORCHESTRATOR),
        produced_at: clock::now(),
        source_refs: Vec::new(),
    };
    let nothing = Digest::of(b"");
    let guidance = GuidancePacket::new(
        origin,
        GuidancePacketBody {
            covenant_version: nothing,
            policy_hash: nothing,
            constraints: Vec::new(),
            stop_conditions: Vec::new(),
        },
    );
    let commit: Oid = "0".repeat(40).parse().unwrap();
    let request = BuildRequest {
        title: "A waypoint".to_owned(),
        goal: "Reach it.".to_owned(),
        criteria: Vec::new(),
        scope: Vec::new(),
        protected: Vec::new(),
        ignore: Vec::new(),
        sources: Vec::new(),
        environment: EnvironmentSpec::default(),
        covenant: "AGENTS.md".to_owned(),
        base: commit.clone(),
        start: commit,
        bundles: Vec::new(),
        feedback: None,
        budget: TurnBudget::default(),
        tests: Vec::new(),
        ask_below: None,
        ask_before_removing: None,
        description: None,
        role_description: None,
        context: Default::default(),
        dependencies: Vec::new(),
        documents: Vec::new(),
        conversation: None,
    };
    Turn {
        schema_version: version::CURRENT,
        turn_id: format!("turn-{waypoint}").parse().unwrap(),
        flight: flight.clone(),
        waypoint: waypoint_id.clone(),
        gate: "build".parse().unwrap(),
        role: builder(),
        attempt: 1,
        deadline: clock::now().after(SOON),
        handoff_subject: subjects::handoff_prefix(&builder(), flight, &waypoint_id),
        guidance,
        request: TurnRequest::Build(Box::new(request)),
        decision: None,
        for_build: None,
        allowance: None,
        record: Record::at(at),
    }
}
