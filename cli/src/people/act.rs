//! Doing what a person decided: the act is signed with that person's key and stored as a handoff. From then on it
//! survives everything; then it is asked what became of it.

use std::time::Duration;

use bytes::Bytes;
use holdpoint_bus::{
    Bus, Outgoing,
    handoffs::{self, PublishError, ShowJwt},
};
use holdpoint_protocol::{
    api::{ActQuery, ActStanding},
    artifact::{Act, Artifact, Origin},
    codec::{self, Encoding},
    headers,
    ids::{FlightId, WaypointId, role},
    subjects,
};
use holdpoint_runtime::{clock, fresh};
use tokio::time::Instant;

use crate::{
    client::{Client, is_passing},
    failure::{Failure, chain},
};

/// How long it is waited for an orchestrator that takes the act or refuses it.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before it is asked again; it doubles up to the longest one.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// What an act is about.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// The flight.
    pub(crate) flight: FlightId,
    /// The waypoint; `None`: the whole flight.
    pub(crate) waypoint: Option<WaypointId>,
}

impl About {
    /// What a fresh act says of itself. One on a whole flight has the flight's id for its waypoint.
    pub(crate) fn origin(&self) -> Origin {
        let flight = || WaypointId::try_new(self.flight.as_str()).expect("both ids have the same form");
        Origin {
            artifact_id: fresh::artifact(),
            waypoint_id: self.waypoint.clone().unwrap_or_else(flight),
            produced_by_role: role::id(role::OPERATOR),
            produced_at: clock::now(),
            source_refs: Vec::new(),
        }
    }
}

/// Stores an act and waits until it is taken.
///
/// # Errors
/// It was refused ([`Failure::Act`]), it could not be stored, or nobody has looked at it yet.
pub(crate) async fn perform(client: &Client, about: &About, act: &Act) -> Result<(), Failure> {
    let Written { kind, schema, payload } = written(act)?;
    let subject = subjects::act(&about.flight, about.waypoint.as_ref(), kind);
    let outgoing = Outgoing {
        payload,
        content_type: headers::JSON,
        schema,
        message_id: act.artifact_id().to_string(),
        traceparent: None,
    };
    let sequence = store(client.bus(), &subject, &outgoing).await?;
    let query = ActQuery { flight: about.flight.clone(), waypoint: about.waypoint.clone(), sequence };
    let asking = until_decided(client, &query);
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| Err(nobody_looked()))
}

async fn store(
    bus: &Bus,
    subject: &str,
    outgoing: &Outgoing,
) -> Result<holdpoint_protocol::journal::Sequence, Failure> {
    let _at = holdpoint_faults::at(holdpoint_faults::Step::PublishAct);
    let deadline = Instant::now() + PATIENCE;
    loop {
        // The same message id each time: it is stored once.
        match handoffs::publish(bus, subject, outgoing, ShowJwt::Yes).await {
            Ok(sequence) => return Ok(sequence),
            Err(PublishError::Unacknowledged { .. }) if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
            Err(error) => {
                let hint = "the broker did not store it: check that it runs, and do it again";
                return Err(Failure::environment("act_not_stored", chain(&error), hint));
            }
        }
    }
}

async fn until_decided(client: &Client, query: &ActQuery) -> Result<(), Failure> {
    let mut pause = PAUSE;
    loop {
        match client.act_now(query).await {
            Ok(ActStanding::Taken) => return Ok(()),
            Ok(ActStanding::Refused(refused)) => return Err(Failure::Act(Box::new(refused))),
            Ok(ActStanding::Pending) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn nobody_looked() -> Failure {
    let message = format!("it is stored, and no orchestrator said in {} s what became of it", PATIENCE.as_secs());
    let hint = "do not repeat it: an orchestrator takes or refuses it as soon as one of the fleet runs, and `holdpoint status` shows what came of it";
    Failure::environment("act_pending", message, hint)
}

struct Written {
    kind: &'static str,
    schema: String,
    payload: Bytes,
}

fn written(act: &Act) -> Result<Written, Failure> {
    match act {
        Act::Answer(act) => one(&**act),
        Act::Complete(act) => one(&**act),
        Act::Retry(act) => one(&**act),
        Act::Cancel(act) => one(&**act),
        Act::Pause(act) => one(&**act),
        Act::Resume(act) => one(&**act),
        Act::Take(act) => one(&**act),
        Act::Release(act) => one(&**act),
        Act::HandIn(act) => one(&**act),
        Act::Reconfigure(act) => one(&**act),
        Act::Budget(act) => one(&**act),
        Act::Revise(act) => one(&**act),
    }
}

fn one<A: Artifact>(artifact: &A) -> Result<Written, Failure> {
    let payload = codec::encode(artifact, Encoding::Json)
        .map_err(|error| Failure::usage("act_too_long", chain(&error), "say it in fewer words"))?;
    Ok(Written { kind: A::KIND, schema: format!("{}/{}", A::KIND, artifact.schema_version()), payload: payload.into() })
}
