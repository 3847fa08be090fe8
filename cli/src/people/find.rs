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
/// The flight that was submitted last, as one can name it.
const LATEST: &str = "latest";
/// The code of a name that means several things.
const AMBIGUOUS: &str = "ambiguous";
/// How many names a message has at most: that is a line.
const NAMED_MAX: usize = 12;

/// What an act is about.
#[derive(Debug)]
pub(crate) struct Found {
    /// The flight.
    pub(crate) flight: FlightId,
    /// The waypoint.
    pub(crate) waypoint: WaypointId,
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
        let waypoint = match among(waypoint.as_str(), items.iter().map(|item| item.waypoint.as_str())) {
            Ok(meant) => listed(meant),
            // Another flight may have one that is called so.
            Err(_) => waypoint.clone(),
        };
        return match choose(items, &waypoint, verb) {
            Choice::One(item) => {
                let seen = Some(name_of(client, &item).await?);
                Ok(Found { seen, gate: item.gate, flight: item.flight, waypoint })
            }
            Choice::Branches(flight) => Ok(Found { flight, waypoint, seen: None, gate: None }),
            Choice::Nothing => {
                let (flight, waypoint) = newest_with(client, &waypoint).await?;
                Ok(Found { flight, waypoint, seen: None, gate: None })
            }
            Choice::Several(flights) => Err(ambiguous(&waypoint, &flights)),
        };
    };
    let look = async {
        let view = looked_up(client, flight).await?;
        let waypoint = has_waypoint(&view, waypoint).map_err(Looked::Failed)?;
        let items = client.inbox(Some(&view.flight)).await?;
        let (seen, gate) = match choose(items, &waypoint, verb) {
            Choice::One(item) => (Some(name_of(client, &item).await?), item.gate),
            Choice::Branches(_) | Choice::Several(_) | Choice::Nothing => (None, None),
        };
        Ok(Found { flight: view.flight, waypoint, seen, gate })
    };
    // An act is stored also where no orchestrator runs at the moment: it is taken as soon as one does.
    let unseen = || Found { flight: flight.clone(), waypoint: waypoint.clone(), seen: None, gate: None };
    Ok(unless_nobody_answers(look).await?.unwrap_or_else(unseen))
}

/// The flight that a name means. One that does not exist is refused, if there is an orchestrator that can say so.
pub(crate) async fn flight(client: &Client, named: &FlightId) -> Result<FlightId, Failure> {
    let look = async { Ok(looked_up(client, named).await?.flight) };
    Ok(unless_nobody_answers(look).await?.unwrap_or_else(|| named.clone()))
}

/// Why a look came to nothing.
enum Looked {
    Nobody(ApiError),
    Failed(Failure),
}

impl From<ApiError> for Looked {
    fn from(error: ApiError) -> Self {
        if is_passing(&error) { Self::Nobody(error) } else { Self::Failed(error.into()) }
    }
}

impl From<Looked> for Failure {
    fn from(looked: Looked) -> Self {
        match looked {
            Looked::Nobody(error) => error.into(),
            Looked::Failed(failure) => failure,
        }
    }
}

async fn unless_nobody_answers<T>(look: impl Future<Output = Result<T, Looked>>) -> Result<Option<T>, Failure> {
    match tokio::time::timeout(LOOK_PATIENCE, look).await {
        Ok(Ok(found)) => Ok(Some(found)),
        Ok(Err(Looked::Failed(failure))) => Err(failure),
        Ok(Err(Looked::Nobody(_))) | Err(_) => Ok(None),
    }
}

/// What an act names of an item: a question by its artifact, everything else by its reference.
pub(crate) async fn name_of(client: &Client, item: &InboxItem) -> Result<String, ApiError> {
    if !matches!(item.kind, InboxKind::Question | InboxKind::Help) {
        return Ok(item.reference.clone());
    }
    let found = client.artifact(&item.reference).await?;
    let id = found.line.artifact.get("artifact_id").and_then(|id| id.as_str());
    Ok(id.unwrap_or(&item.reference).to_owned())
}

/// The flight that was named, or the newest one in which this person can take a turn of the waypoint over, or has; else the
/// newest one that has it; and the waypoint.
pub(crate) async fn turn_of(
    client: &Client,
    flight: Option<&FlightId>,
    waypoint: &WaypointId,
    by: &AgentName,
) -> Result<(FlightId, WaypointId), Failure> {
    if flight.is_some() {
        return flight_with(client, flight, waypoint).await;
    }
    let fits = |view: &FlightView| {
        let theirs = |turn: &TurnView| turn.agent.as_ref() == Some(by);
        let fits = |w: &WaypointView| w.actions.contains(&Verb::Take) || w.turn.as_ref().is_some_and(theirs);
        has_waypoint(view, waypoint).ok().filter(|id| view.waypoints.iter().any(|known| known.id == *id && fits(known)))
    };
    for line in client.flights().await? {
        if let Some(waypoint) = fits(&client.status(&line.flight).await?) {
            return Ok((line.flight, waypoint));
        }
    }
    newest_with(client, waypoint).await
}

/// The flight that was named, or the newest one that has the waypoint, and the waypoint. One without it is refused.
pub(crate) async fn flight_with(
    client: &Client,
    flight: Option<&FlightId>,
    waypoint: &WaypointId,
) -> Result<(FlightId, WaypointId), Failure> {
    let Some(flight) = flight else { return newest_with(client, waypoint).await };
    let view = known(client, flight).await?;
    let waypoint = has_waypoint(&view, waypoint)?;
    Ok((view.flight, waypoint))
}

/// The newest flight that has a waypoint of this name, else the newest one in which only one begins so.
pub(crate) async fn newest_with(client: &Client, named: &WaypointId) -> Result<(FlightId, WaypointId), Failure> {
    let (mut there, mut begins, mut several) = (BTreeSet::new(), None, None);
    for line in client.flights().await? {
        let view = client.status(&line.flight).await?;
        match has_waypoint(&view, named) {
            Ok(waypoint) if waypoint == *named => return Ok((line.flight, waypoint)),
            Ok(waypoint) => begins = begins.or(Some((line.flight, waypoint))),
            Err(failure) if failure.is(AMBIGUOUS) => several = several.or(Some(failure)),
            Err(_) => {}
        }
        there.extend(view.waypoints.into_iter().map(|known| known.id));
    }
    match (begins, several) {
        (Some(found), _) => Ok(found),
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(no_waypoint(named, "any flight", there.iter())),
    }
}

/// How the flight stands that a name means. One that is unknown is refused with the nearest one that there is.
pub(crate) async fn known(client: &Client, named: &FlightId) -> Result<FlightView, Failure> {
    Ok(looked_up(client, named).await?)
}

async fn looked_up(client: &Client, named: &FlightId) -> Result<FlightView, Looked> {
    let refused = match client.status(named).await {
        Err(error) if is_unknown(&error) => error,
        answered => return Ok(answered?),
    };
    let flights = client.flights().await?;
    let ids = || flights.iter().map(|line| line.flight.as_str());
    let failure = match flight_among(named, ids()) {
        Ok(meant) => return Ok(client.status(&meant).await?),
        Err(Unmeant::Several(names)) => several("flight", named.as_str(), &names),
        Err(Unmeant::Nothing) => match closest(named.as_str(), ids()) {
            Some(meant) => {
                let hint = format!("did you mean `{meant}`? `holdpoint status` lists them");
                Failure::usage("not_found", format!("there is no flight {named}"), hint)
            }
            None => refused.into(),
        },
    };
    Err(Looked::Failed(failure))
}

/// The flight that a name means of those that were begun here, newest first. One that is not among them is left to the caller.
pub(crate) fn begun_here(named: &FlightId, begun: &[FlightId]) -> Result<FlightId, Failure> {
    match flight_among(named, begun.iter().map(FlightId::as_str)) {
        Ok(meant) => Ok(meant),
        Err(Unmeant::Several(names)) => Err(several("flight", named.as_str(), &names)),
        Err(Unmeant::Nothing) => Ok(named.clone()),
    }
}

/// The flight that a name means of these, newest first.
fn flight_among<'a>(named: &FlightId, ids: impl Iterator<Item = &'a str> + Clone) -> Result<FlightId, Unmeant> {
    let newest = ids.clone().next().filter(|_| named.as_str() == LATEST);
    let meant = newest.map_or_else(|| among(named.as_str(), ids), Ok)?;
    Ok(FlightId::try_new(meant).expect("it was one in the list"))
}

fn is_unknown(error: &ApiError) -> bool {
    matches!(error, ApiError::Refused { failure, .. } if failure.code == UNKNOWN)
}

/// Why a name means no one thing.
#[derive(Debug, PartialEq, Eq)]
enum Unmeant {
    /// Nothing begins so.
    Nothing,
    /// These do.
    Several(Vec<String>),
}

/// What a name means: what is called so, else the only one that begins so.
fn among<'a>(named: &str, there: impl Iterator<Item = &'a str>) -> Result<&'a str, Unmeant> {
    let mut begin: Vec<&str> = Vec::new();
    for id in there.filter(|id| id.starts_with(named)) {
        if id == named {
            return Ok(id);
        }
        if !begin.contains(&id) {
            begin.push(id);
        }
    }
    match begin.as_slice() {
        [] => Err(Unmeant::Nothing),
        [one] => Ok(one),
        several => Err(Unmeant::Several(several.iter().map(|id| (*id).to_owned()).collect())),
    }
}

/// An id that is in a list of ids.
fn listed(id: &str) -> WaypointId {
    WaypointId::try_new(id).expect("it was one in the list")
}

fn several(what: &str, named: &str, names: &[String]) -> Failure {
    let shown: Vec<&str> = names.iter().take(NAMED_MAX).map(String::as_str).collect();
    let more =
        if names.len() > shown.len() { format!(" and {} more", names.len() - shown.len()) } else { String::new() };
    let message = format!("{named} is the beginning of more than one {what}: {}{more}", shown.join(", "));
    Failure::usage(AMBIGUOUS, message, "write more of its name")
}

/// The waypoint of a flight that a name means. One that the flight does not have is refused.
pub(crate) fn has_waypoint(view: &FlightView, named: &WaypointId) -> Result<WaypointId, Failure> {
    let known = || view.waypoints.iter().map(|known| &known.id);
    among(named.as_str(), known().map(WaypointId::as_str)).map(listed).map_err(|unmeant| match unmeant {
        Unmeant::Several(names) => several("waypoint", named.as_str(), &names),
        Unmeant::Nothing => no_waypoint(named, &format!("the flight {}", view.flight), known()),
    })
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
    Failure::usage(AMBIGUOUS, message, "name the one you mean with --flight FLIGHT")
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
    fn a_name_means_what_is_called_so_or_the_only_one_that_begins_so() {
        let meant = |named: &str| among(named, ["cli", "cli-flags", "core"].into_iter());
        assert_eq!(meant("cli"), Ok("cli"));
        assert_eq!(meant("cli-"), Ok("cli-flags"));
        assert_eq!(meant("co"), Ok("core"));
        assert_eq!(meant("c"), Err(Unmeant::Several(["cli", "cli-flags", "core"].map(str::to_owned).to_vec())));
        assert_eq!(meant("docs"), Err(Unmeant::Nothing));
        let flights = ["b-0a1b2c3d", "a-0a1b2c3d"].map(|id| id.parse().unwrap());
        let begun = |named: &str| begun_here(&named.parse().unwrap(), &flights).unwrap().to_string();
        assert_eq!([begun("latest"), begun("a"), begun("c")], ["b-0a1b2c3d", "a-0a1b2c3d", "c"]);
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
