//! Which flight a waypoint's name means, and what waits there. What to choose is decided by pure functions.

use std::{collections::BTreeSet, time::Duration};

use holdpoint_bus::api::ApiError;
use holdpoint_planfile::plan::closest;
use holdpoint_protocol::{
    api::{InboxItem, InboxKind},
    artifact::Verb,
    ids::{AgentName, FlightId, GateId, WaypointId},
    view::{FlightView, TurnView, WaypointView},
};

use crate::{
    client::{Client, is_passing},
    failure::Failure,
    people::naming::{self, Unmeant, among},
};

/// What is answered of a flight that is not known.
const UNKNOWN: u16 = 404;
/// How long a look at what waits may take before an act whose flight is named is sent without it.
const LOOK_PATIENCE: Duration = Duration::from_secs(20);
/// The code of a name that means several things.
const AMBIGUOUS: &str = "ambiguous";
/// How many names a message has at most: that is a line.
const NAMED_MAX: usize = 12;

pub(crate) use super::naming::LATEST;

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
    let me = client.bus().name();
    let Some(flight) = flight else {
        let items = client.inbox(None).await?;
        let (items, waypoint) = waiting(items, waypoint, verb, me);
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
        let items = client.inbox(Some(&view.flight)).await?;
        let is_called_so = view.waypoints.iter().any(|known| known.id == *waypoint);
        let waypoint = match last_waiting(&items, verb, me).filter(|_| waypoint.as_str() == LATEST && !is_called_so) {
            Some(last) => last.waypoint.clone(),
            None => has_waypoint(&view, waypoint).map_err(Looked::Failed)?,
        };
        let (seen, gate) = match choose(items, &waypoint, verb) {
            Choice::One(item) => (Some(name_of(client, &item).await?), item.gate),
            Choice::Branches(_) | Choice::Several(_) | Choice::Nothing => (None, None),
        };
        Ok(Found { flight: view.flight, waypoint, seen, gate })
    };
    // An act is stored also where no orchestrator runs at the moment: it is taken as soon as one does.
    let unseen = || Found { flight: flight.clone(), waypoint: waypoint.clone(), seen: None, gate: None };
    let found = unless_nobody_answers(look).await?;
    found.map_or_else(|| nothing_is_latest(&[flight.as_str(), waypoint.as_str()]).map(|()| unseen()), Ok)
}

/// What waits under this name, and the waypoint that it means. `latest` is the one that came to wait last of those with which
/// this person can do this. A name that nothing of it has is left as it is: another flight may have one that is called so.
fn waiting(mut items: Vec<InboxItem>, named: &WaypointId, verb: Verb, me: &AgentName) -> (Vec<InboxItem>, WaypointId) {
    let ids = || items.iter().map(|item| item.waypoint.as_str());
    let is_latest = named.as_str() == LATEST && !ids().any(|id| id == LATEST);
    let Some(last) = last_waiting(&items, verb, me).filter(|_| is_latest).cloned() else {
        let meant = among(named.as_str(), ids(), None).map_or_else(|_| named.clone(), listed);
        return (items, meant);
    };
    items.retain(|item| item.flight == last.flight);
    (items, last.waypoint)
}

/// What came to wait last of that with which this person can do this; `None` also of what nobody has to wait for.
fn last_waiting<'a>(items: &'a [InboxItem], verb: Verb, me: &AgentName) -> Option<&'a InboxItem> {
    let possible = items.iter().filter(|item| is_possible(item, verb) && item.allows(verb, me));
    possible.filter(|_| waits(verb)).max_by_key(|item| item.since)
}

/// An act is stored also where nobody can say what it is about, but not under a name that says nothing by itself.
fn nothing_is_latest(names: &[&str]) -> Result<(), Failure> {
    if !names.contains(&LATEST) {
        return Ok(());
    }
    let message = "no orchestrator answers that could say which is the latest";
    Err(Failure::environment("no_answer", message, "write the name itself, or try again once one runs"))
}

/// The flight that a name means. One that does not exist is refused, if there is an orchestrator that can say so.
pub(crate) async fn flight(client: &Client, named: &FlightId) -> Result<FlightId, Failure> {
    let look = async { Ok(looked_up(client, named).await?.flight) };
    let found = unless_nobody_answers(look).await?;
    found.map_or_else(|| nothing_is_latest(&[named.as_str()]).map(|()| named.clone()), Ok)
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
    let in_view = |view: &FlightView| {
        let theirs = |turn: &TurnView| turn.agent.as_ref() == Some(by);
        let fits = |w: &&WaypointView| w.actions.contains(&Verb::Take) || w.turn.as_ref().is_some_and(theirs);
        let fitting = || view.waypoints.iter().filter(fits);
        let meant = naming::waypoint(waypoint, &view.waypoints).ok()?;
        let last =
            || if waypoint.as_str() == LATEST && meant != LATEST { naming::changed_last(fitting()) } else { None };
        let meant = last().unwrap_or(meant);
        fitting().find(|known| known.id.as_str() == meant).map(|known| known.id.clone())
    };
    if let Some(flight) = flight {
        let view = known(client, flight).await?;
        let waypoint = in_view(&view).map_or_else(|| has_waypoint(&view, waypoint), Ok)?;
        return Ok((view.flight, waypoint));
    }
    for line in client.flights().await? {
        if let Some(waypoint) = in_view(&client.status(&line.flight).await?) {
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

/// The newest flight that has a waypoint of this name, else the newest one in which only one begins so. `latest` is of the newest
/// flight in which something has begun.
pub(crate) async fn newest_with(client: &Client, named: &WaypointId) -> Result<(FlightId, WaypointId), Failure> {
    let (mut there, mut begins, mut several) = (BTreeSet::new(), None, None);
    for line in client.flights().await? {
        let view = client.status(&line.flight).await?;
        match has_waypoint(&view, named) {
            Ok(waypoint) if waypoint == *named || named.as_str() == LATEST => return Ok((line.flight, waypoint)),
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
    if let Some(meant) = among_newest("flight", named.as_str(), ids()).map_err(Looked::Failed)? {
        return Ok(client.status(&FlightId::try_new(meant).expect("it was one in the list")).await?);
    }
    let failure = match closest(named.as_str(), ids()) {
        Some(meant) => {
            let hint = format!("did you mean `{meant}`? `holdpoint status` lists them");
            Failure::usage("not_found", format!("there is no flight {named}"), hint)
        }
        None => refused.into(),
    };
    Err(Looked::Failed(failure))
}

/// The flight that a name means of those that were begun here, newest first. One that is not among them is left to the caller.
pub(crate) fn begun_here(named: &FlightId, begun: &[FlightId]) -> Result<FlightId, Failure> {
    let meant = among_newest("flight", named.as_str(), begun.iter().map(FlightId::as_str))?;
    Ok(meant.map_or_else(|| named.clone(), |id| FlightId::try_new(id).expect("it was one in the list")))
}

/// What a name means of these, newest first; `None`: none of them.
pub(crate) fn among_newest<'a>(
    what: &str,
    named: &str,
    ids: impl Iterator<Item = &'a str> + Clone,
) -> Result<Option<&'a str>, Failure> {
    match among(named, ids.clone(), ids.clone().next()) {
        Ok(meant) => Ok(Some(meant)),
        Err(Unmeant::Several(names)) => Err(several(what, named, &names)),
        Err(Unmeant::Nothing) => Ok(None),
    }
}

fn is_unknown(error: &ApiError) -> bool {
    matches!(error, ApiError::Refused { failure, .. } if failure.code == UNKNOWN)
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
    naming::waypoint(named, &view.waypoints).map(listed).map_err(|unmeant| match unmeant {
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
    let possible = |item: &InboxItem| is_possible(item, verb);
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

fn is_possible(item: &InboxItem, verb: Verb) -> bool {
    item.actions.contains(&verb) && is_for(item.kind, verb)
}

/// Whether an act is about what waits in this way: a fork may wait for several things.
fn is_for(kind: InboxKind, verb: Verb) -> bool {
    match verb {
        Verb::Approve | Verb::Reject => matches!(kind, InboxKind::Approval | InboxKind::Taken),
        Verb::Answer => matches!(kind, InboxKind::Question | InboxKind::Help),
        Verb::Retry => matches!(kind, InboxKind::Held | InboxKind::Failed | InboxKind::Question),
        Verb::HandIn | Verb::Release => kind == InboxKind::Taken,
        Verb::Take | Verb::Cancel | Verb::Pause | Verb::Resume | Verb::Reconfigure | Verb::Budget | Verb::Revise => {
            true
        }
    }
}

/// Whether something waits for an act of this kind.
fn waits(verb: Verb) -> bool {
    match verb {
        Verb::Answer | Verb::Approve | Verb::Reject | Verb::Retry | Verb::HandIn | Verb::Release => true,
        Verb::Take | Verb::Cancel | Verb::Pause | Verb::Resume | Verb::Reconfigure | Verb::Budget | Verb::Revise => {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::Timestamp;

    use super::*;
    use crate::people::words::tests::question;

    fn waiting_in(flight: &str, waypoint: &str, actions: &[Verb]) -> InboxItem {
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
        let asks = waiting_in("a", "w", &[Verb::Answer]);
        let failed = InboxItem { kind: InboxKind::Failed, ..waiting_in("b", "w", &[Verb::Retry]) };
        let other = waiting_in("c", "x", &[Verb::Answer]);
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
        let asks = waiting_in("a", "w", &verbs);
        let gate = |gate: &str| InboxItem {
            kind: InboxKind::Approval,
            gate: Some(gate.parse().unwrap()),
            ..waiting_in("a", "w", &verbs)
        };
        let (legal, owner) = (gate("legal"), gate("owner"));
        let two = [asks.clone(), legal.clone()];
        assert_eq!(chosen(&two, Verb::Approve), Choice::One(Box::new(legal.clone())));
        assert_eq!(chosen(&two, Verb::Answer), Choice::One(Box::new(asks.clone())));
        assert_eq!(chosen(&[asks, legal, owner], Verb::Approve), Choice::Branches("a".parse().unwrap()));
    }

    #[test]
    fn the_latest_is_what_came_to_wait_last_of_that_with_which_this_person_can_do_it() {
        let at = |since: i64, item: InboxItem| InboxItem { since: Timestamp::from_millis(since), ..item };
        let approval = |flight: &str, waypoint: &str, to: &str| InboxItem {
            kind: InboxKind::Approval,
            to: vec![to.parse().unwrap()],
            ..waiting_in(flight, waypoint, &[Verb::Approve])
        };
        let items = [
            at(1, approval("a", "w", "human-ann")),
            at(2, approval("b", "w", "human-ann")),
            at(3, approval("b", "x", "human-bo")),
            at(4, waiting_in("c", "y", &[Verb::Answer])),
        ];
        let meant = |named: &str, verb: Verb| {
            let (items, waypoint) =
                waiting(items.to_vec(), &named.parse().unwrap(), verb, &"human-ann".parse().unwrap());
            match choose(items, &waypoint, verb) {
                Choice::One(item) => format!("{} {}", item.flight, item.waypoint),
                other => format!("{other:?} {waypoint}"),
            }
        };
        assert_eq!(meant("latest", Verb::Approve), "b w", "x is another's to approve, and y asks");
        assert_eq!(meant("latest", Verb::Answer), "c y");
        for verb in [Verb::Retry, Verb::Cancel] {
            assert_eq!(meant("latest", verb), "Nothing latest", "nothing waits for it: {verb:?}");
        }
        assert!(meant("w", Verb::Approve).starts_with("Several"), "a name of one's own chooses no flight");
    }

    #[test]
    fn a_name_that_waits_in_several_flights_is_ambiguous() {
        let both = [waiting_in("a", "w", &[Verb::Answer]), waiting_in("b", "w", &[Verb::Answer])];
        let Choice::Several(flights) = chosen(&both, Verb::Answer) else { panic!("ambiguous") };
        assert_eq!(flights.iter().map(FlightId::as_str).collect::<Vec<_>>(), ["a", "b"]);
    }
}
