//! Which flight a waypoint's name means, and what waits there. What to choose is decided by pure functions.

use std::{collections::BTreeSet, time::Duration};

use holdpoint_bus::api::ApiError;
use holdpoint_core::plan::closest;
use holdpoint_protocol::{
    api::{InboxItem, InboxKind},
    artifact::Verb,
    ids::{AgentName, FlightId, GateId, WaypointId},
    view::{FlightView, TurnView, WaypointView},
};

use crate::{
    client::{Client, is_passing},
    failure::Failure,
};

/// What is answered of a flight that is not known.
const UNKNOWN: u16 = 404;
/// How long a look at what waits may take before an act whose flight is named is sent without it.
const LOOK_PATIENCE: Duration = Duration::from_secs(20);
/// How many waypoints a hint names at most: that is a line.
const NAMED_MAX: usize = 12;

/// What an act is about.
#[derive(Debug)]
pub(crate) struct Found {
    /// The flight.
    pub(crate) flight: FlightId,
    /// Names what waits there, as the act carries it; `None`: nothing does, or nobody could be asked.
    pub(crate) seen: Option<String>,
    /// The gate in which it waits, as far as that is known.
    pub(crate) gate: Option<GateId>,
}

/// Finds the waypoint in the flight that was named, or in the one in which it waits, or in the newest one that has it.
pub(crate) async fn waypoint(
    client: &Client,
    flight: Option<&FlightId>,
    waypoint: &WaypointId,
    verb: Verb,
) -> Result<Found, Failure> {
    let Some(flight) = flight else {
        let items = client.inbox(None).await?;
        return match choose(items, waypoint, verb) {
            Choice::One(item) => {
                let seen = Some(name_of(client, &item).await?);
                Ok(Found { seen, gate: item.gate, flight: item.flight })
            }
            Choice::Branches(flight) => Ok(Found { flight, seen: None, gate: None }),
            Choice::Nothing => Ok(Found { flight: newest_with(client, waypoint).await?, seen: None, gate: None }),
            Choice::Several(flights) => Err(ambiguous(waypoint, &flights)),
        };
    };
    let look = async {
        has(client, flight, waypoint).await?;
        let items = client.inbox(Some(flight)).await?;
        match choose(items, waypoint, verb) {
            Choice::One(item) => Ok((Some(name_of(client, &item).await?), item.gate)),
            Choice::Branches(_) | Choice::Several(_) | Choice::Nothing => Ok((None, None)),
        }
    };
    // An act is stored also where no orchestrator runs at the moment: it is taken as soon as one does.
    let (seen, gate) = unless_nobody_answers(look).await?.unwrap_or_default();
    Ok(Found { flight: flight.clone(), seen, gate })
}

/// Refuses a flight that does not exist, if there is an orchestrator that can say so.
pub(crate) async fn flight(client: &Client, flight: &FlightId) -> Result<(), Failure> {
    let look = async { client.status(flight).await.map(drop).map_err(Looked::from) };
    unless_nobody_answers(look).await.map(drop)
}

/// Why a look came to nothing.
enum Looked {
    Nobody,
    Failed(Failure),
}

impl From<ApiError> for Looked {
    fn from(error: ApiError) -> Self {
        if is_passing(&error) { Self::Nobody } else { Self::Failed(error.into()) }
    }
}

async fn unless_nobody_answers<T>(look: impl Future<Output = Result<T, Looked>>) -> Result<Option<T>, Failure> {
    match tokio::time::timeout(LOOK_PATIENCE, look).await {
        Ok(Ok(found)) => Ok(Some(found)),
        Ok(Err(Looked::Failed(failure))) => Err(failure),
        Ok(Err(Looked::Nobody)) | Err(_) => Ok(None),
    }
}

/// What an act names of an item: a question by its artifact, everything else by its reference.
pub(crate) async fn name_of(client: &Client, item: &InboxItem) -> Result<String, ApiError> {
    if !matches!(item.kind, InboxKind::Question | InboxKind::Help) {
        return Ok(item.reference.clone());
    }
    let line = client.artifact(&item.reference).await?;
    let id = line.artifact.get("artifact_id").and_then(|id| id.as_str());
    Ok(id.unwrap_or(&item.reference).to_owned())
}

async fn has(client: &Client, flight: &FlightId, waypoint: &WaypointId) -> Result<(), Looked> {
    let view = client.status(flight).await?;
    has_waypoint(&view, waypoint).map_err(Looked::Failed)
}

/// The flight that was named, or the newest one in which this person can take a turn of the waypoint over, or has; else the
/// newest one that has it.
pub(crate) async fn turn_of(
    client: &Client,
    flight: Option<&FlightId>,
    waypoint: &WaypointId,
    by: &AgentName,
) -> Result<FlightId, Failure> {
    if let Some(flight) = flight {
        return Ok(flight.clone());
    }
    let fits = |view: &FlightView| {
        let theirs = |turn: &TurnView| turn.agent.as_ref() == Some(by);
        let fits = |w: &WaypointView| w.actions.contains(&Verb::Take) || w.turn.as_ref().is_some_and(theirs);
        view.waypoints.iter().any(|known| known.id == *waypoint && fits(known))
    };
    for line in client.flights().await? {
        if fits(&client.status(&line.flight).await?) {
            return Ok(line.flight);
        }
    }
    newest_with(client, waypoint).await
}

/// The flight that was named, or the newest one that has the waypoint. One without it is refused.
pub(crate) async fn flight_with(
    client: &Client,
    flight: Option<&FlightId>,
    waypoint: &WaypointId,
) -> Result<FlightId, Failure> {
    let Some(flight) = flight else { return newest_with(client, waypoint).await };
    has_waypoint(&known(client, flight).await?, waypoint)?;
    Ok(flight.clone())
}

/// The newest flight that has a waypoint of this name.
pub(crate) async fn newest_with(client: &Client, waypoint: &WaypointId) -> Result<FlightId, Failure> {
    let mut there = BTreeSet::new();
    for line in client.flights().await? {
        let view = client.status(&line.flight).await?;
        if has_waypoint(&view, waypoint).is_ok() {
            return Ok(line.flight);
        }
        there.extend(view.waypoints.into_iter().map(|known| known.id));
    }
    Err(no_waypoint(waypoint, "any flight", there.iter()))
}

/// How a flight stands. One that is unknown is refused with the nearest one that there is.
pub(crate) async fn known(client: &Client, flight: &FlightId) -> Result<FlightView, Failure> {
    let refused = match client.status(flight).await {
        Err(error) if is_unknown(&error) => error,
        answered => return Ok(answered?),
    };
    // Not worth another error.
    let flights = client.flights().await.unwrap_or_default();
    match closest(flight.as_str(), flights.iter().map(|line| line.flight.as_str())) {
        Some(meant) => {
            let message = format!("there is no flight {flight}");
            Err(Failure::usage("not_found", message, format!("did you mean `{meant}`? `holdpoint status` lists them")))
        }
        None => Err(refused.into()),
    }
}

fn is_unknown(error: &ApiError) -> bool {
    matches!(error, ApiError::Refused { failure, .. } if failure.code == UNKNOWN)
}

/// Refuses a waypoint that a flight does not have.
pub(crate) fn has_waypoint(view: &FlightView, waypoint: &WaypointId) -> Result<(), Failure> {
    let known = || view.waypoints.iter().map(|known| &known.id);
    if known().any(|id| id == waypoint) {
        return Ok(());
    }
    Err(no_waypoint(waypoint, &format!("the flight {}", view.flight), known()))
}

/// There is no such waypoint; `there` are those that could be meant.
pub(crate) fn no_waypoint<'a>(
    waypoint: &WaypointId,
    place: &str,
    there: impl Iterator<Item = &'a WaypointId>,
) -> Failure {
    let there: Vec<&str> = there.map(WaypointId::as_str).collect();
    let lists = "`holdpoint status FLIGHT` lists the waypoints of a flight";
    let hint = match closest(waypoint.as_str(), there.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`? {lists}"),
        None if (1..=NAMED_MAX).contains(&there.len()) => format!("there are: {}", there.join(", ")),
        None => lists.to_owned(),
    };
    Failure::usage("not_found", format!("there is no waypoint {waypoint} in {place}"), hint)
}

fn ambiguous(waypoint: &WaypointId, flights: &[FlightId]) -> Failure {
    let names: Vec<&str> = flights.iter().map(FlightId::as_str).collect();
    let message = format!("a waypoint {waypoint} waits in several flights: {}", names.join(", "));
    Failure::usage("ambiguous", message, "name the one you mean with --flight FLIGHT")
}

#[derive(Debug, PartialEq)]
enum Choice {
    One(Box<InboxItem>),
    /// Several branches of a fork in this flight: who acts is who may, and the orchestrator knows.
    Branches(FlightId),
    Nothing,
    Several(Vec<FlightId>),
}

/// What waits under this name: where the act is possible if there is such a place, else anywhere.
fn choose(items: Vec<InboxItem>, waypoint: &WaypointId, verb: Verb) -> Choice {
    let named: Vec<InboxItem> = items.into_iter().filter(|item| item.waypoint == *waypoint).collect();
    let possible = |item: &InboxItem| item.actions.contains(&verb) && is_for(item.kind, verb);
    let anywhere = !named.iter().any(possible);
    let mut left: Vec<InboxItem> = named.into_iter().filter(|item| anywhere || possible(item)).collect();
    match left.len() {
        0 => Choice::Nothing,
        1 => Choice::One(Box::new(left.remove(0))),
        _ => {
            let mut flights: Vec<FlightId> = left.into_iter().map(|item| item.flight).collect();
            flights.dedup();
            if flights.len() == 1 { Choice::Branches(flights.remove(0)) } else { Choice::Several(flights) }
        }
    }
}

/// Whether an act is about what waits in this way: a fork may wait for several things.
fn is_for(kind: InboxKind, verb: Verb) -> bool {
    match verb {
        Verb::Approve | Verb::Reject => matches!(kind, InboxKind::Approval | InboxKind::Taken),
        Verb::Answer => matches!(kind, InboxKind::Question | InboxKind::Help),
        Verb::Retry => matches!(kind, InboxKind::Held | InboxKind::Failed),
        Verb::HandIn | Verb::Release => kind == InboxKind::Taken,
        Verb::Take | Verb::Cancel | Verb::Pause | Verb::Resume | Verb::Reconfigure | Verb::Budget => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::words::tests::question;

    fn waiting(flight: &str, waypoint: &str, actions: &[Verb]) -> InboxItem {
        InboxItem {
            flight: flight.parse().unwrap(),
            waypoint: waypoint.parse().unwrap(),
            actions: actions.to_vec(),
            ..question()
        }
    }

    fn chosen(items: &[InboxItem], verb: Verb) -> Choice {
        choose(items.to_vec(), &"w".parse().unwrap(), verb)
    }

    #[test]
    fn the_flight_in_which_the_act_is_possible_is_meant() {
        let asks = waiting("a", "w", &[Verb::Answer]);
        let failed = InboxItem { kind: InboxKind::Failed, ..waiting("b", "w", &[Verb::Retry]) };
        let other = waiting("c", "x", &[Verb::Answer]);
        let all = [asks.clone(), failed.clone(), other.clone()];
        assert_eq!(chosen(&all, Verb::Answer), Choice::One(Box::new(asks.clone())));
        assert_eq!(chosen(&all, Verb::Retry), Choice::One(Box::new(failed)));
        assert_eq!(
            chosen(std::slice::from_ref(&asks), Verb::Approve),
            Choice::One(Box::new(asks)),
            "the refusal is about it"
        );
        assert_eq!(chosen(&[other], Verb::Answer), Choice::Nothing);
    }

    #[test]
    fn of_what_waits_in_a_fork_the_act_is_about_what_it_can_be_about() {
        let verbs = [Verb::Approve, Verb::Answer];
        let asks = waiting("a", "w", &verbs);
        let gate = |gate: &str| InboxItem {
            kind: InboxKind::Approval,
            gate: Some(gate.parse().unwrap()),
            ..waiting("a", "w", &verbs)
        };
        let (legal, owner) = (gate("legal"), gate("owner"));
        let two = [asks.clone(), legal.clone()];
        assert_eq!(chosen(&two, Verb::Approve), Choice::One(Box::new(legal.clone())));
        assert_eq!(chosen(&two, Verb::Answer), Choice::One(Box::new(asks.clone())));
        assert_eq!(chosen(&[asks, legal, owner], Verb::Approve), Choice::Branches("a".parse().unwrap()));
    }

    #[test]
    fn a_name_that_waits_in_several_flights_is_ambiguous() {
        let both = [waiting("a", "w", &[Verb::Answer]), waiting("b", "w", &[Verb::Answer])];
        let Choice::Several(flights) = chosen(&both, Verb::Answer) else { panic!("ambiguous") };
        assert_eq!(flights.iter().map(FlightId::as_str).collect::<Vec<_>>(), ["a", "b"]);
    }
}
