//! People take over agents' turns: the act, the clone that it is worked in, and what is handed in.

use holdpoint_protocol::{
    artifact::{Act, GivenVerdict, HandIn, HandInBody, Release, ReleaseBody, Take, TakeBody, Verb},
    facts::Verdict,
    ids::{AgentName, CriterionId, WaypointId},
    state::{Purpose, Status},
    view::{BranchStatus, BranchView, FlightView, TurnView},
};

use super::act::{on_waypoint, report};
use crate::{
    args::taking::{HandInArgs, ReleaseArgs, TakeArgs},
    client::Client,
    failure::{Exit, Failure},
    output,
    people::{
        act::{About, perform},
        desk_note::DeskNote,
        find,
        turn::{self, Desk},
        words::command,
    },
    target::{Remote, Target},
    typed::typed,
};

/// Takes over the open turn of a waypoint, and makes the clone that it is worked in.
pub(super) async fn take(args: TakeArgs) -> Result<Exit, Failure> {
    let TakeArgs { whose, into, acting } = args;
    let target = Target::for_person(&acting.place, acting.person.as_ref()).await?;
    let work = async |client: &Client| {
        let by = client.bus().name().clone();
        let (flight, waypoint) = find::turn_of(client, whose.flight.as_ref(), &whose.waypoint, &by).await?;
        let desk = Desk::of(into.as_deref(), &acting.place.repo, &waypoint).await?;
        let about = About { flight, waypoint: Some(waypoint.clone()) };
        let before = client.status(&about.flight).await?;
        let open = open(&before, &waypoint, &by);
        // That another person has it is for the act to find out.
        let is_anothers =
            open.is_some_and(|turn| is_taken(&before, &waypoint, turn) && turn.agent.as_ref() != Some(&by));
        if open.is_some_and(|turn| turn.purpose != Purpose::Complete) && !is_anothers {
            desk.check_free()?;
        }
        if theirs(&before, &waypoint, &by).is_none() {
            let body = TakeBody { agent: by.clone(), on: open.map(|turn| turn.turn.to_string()) };
            perform(client, &about, &Act::Take(Box::new(Take::new(about.origin(), body)))).await?;
        }
        let view = client.status(&about.flight).await?;
        let made = make(client, &about, &view, (&waypoint, &by), &desk).await?;
        let stops = open.filter(|turn| made && turn.purpose == Purpose::Build).and_then(|turn| turn.agent.clone());
        let left = stops.filter(|agent| *agent != by).map(|agent| late_files(&before, &waypoint, &agent));
        Ok((about, view, waypoint, (made.then_some(desk), left)))
    };
    let local = target.fleet.is_some();
    let (about, view, waypoint, (desk, left)) = target.serve(work).await?;
    let exit = report(&acting, Verb::Take, &about, &view, local).await?;
    next_steps(&about, &view, &waypoint, desk.as_ref());
    if let Some(left) = left {
        output::err(&left);
    }
    Ok(exit)
}

/// How its person gets what the agent had made that has to stop.
fn late_files(before: &FlightView, waypoint: &WaypointId, agent: &AgentName) -> String {
    let decided = before.waypoints.iter().find(|known| known.id == *waypoint).map_or(0, |known| known.attempts);
    let (flight, attempt) = (&before.flight, decided + 1);
    let command = typed(&format!("holdpoint diff {waypoint} --flight {flight} --attempt {attempt}@{agent}"));
    format!(
        "{agent} stops, and hands over the files that it had made; seconds later they are shown by\n    > {command}"
    )
}

/// Makes the clone of a turn that makes or judges work; whether it is one.
async fn make(
    client: &Client,
    about: &About,
    view: &FlightView,
    (waypoint, by): (&WaypointId, &AgentName),
    desk: &Desk,
) -> Result<bool, Failure> {
    let Some(open) = theirs(view, waypoint, by) else {
        let message = format!("{waypoint} was taken over, and has moved on since");
        return Err(Failure::usage("moved_on", message, "`holdpoint history` says what happened"));
    };
    if open.purpose == Purpose::Complete {
        return Ok(false);
    }
    let turn = turn::of_waypoint(client, &about.flight, waypoint, &open.turn).await?;
    let made = desk.make(client, &turn).await;
    made.map_err(|failure| {
        let more = format!("the turn of {waypoint} is yours: call it again, or give it back with `holdpoint release`");
        failure.also(&more)
    })?;
    Ok(true)
}

/// Says what its person does next; never among the JSON.
fn next_steps(about: &About, view: &FlightView, waypoint: &WaypointId, desk: Option<&Desk>) {
    if let Some(Desk { clone, brief, .. }) = desk {
        output::err(&format!("the clone is in {}, and what is wanted in {}", clone.display(), brief.display()));
    }
    let judges = turns(view, waypoint).any(|(turn, _)| matches!(turn.purpose, Purpose::Verify(_)));
    let known = view.waypoints.iter().find(|known| known.id == *waypoint);
    for verb in known.into_iter().flat_map(|known| &known.actions) {
        let verdict = if *verb == Verb::HandIn && judges { " --verdict ID=pass --note '…'" } else { "" };
        output::err(&format!("    > {}{verdict}", command(*verb, &about.flight, waypoint)));
    }
}

/// The open turns of a waypoint, in a fork those of its branches, and whether each waits for a person.
fn turns<'a>(view: &'a FlightView, waypoint: &WaypointId) -> impl Iterator<Item = (&'a TurnView, bool)> {
    let known = view.waypoints.iter().filter(move |known| known.id == *waypoint);
    known.flat_map(|known| {
        let own = known.turn.iter().map(|turn| (turn, known.status == Status::Waiting));
        let branch = |branch: &'a BranchView| Some((branch.turn.as_ref()?, branch.standing == BranchStatus::Waiting));
        own.chain(known.branches.iter().filter_map(branch))
    })
}

/// Whether a person has taken this turn.
fn is_taken(view: &FlightView, waypoint: &WaypointId, turn: &TurnView) -> bool {
    turns(view, waypoint).any(|(one, waits)| waits && one.turn == turn.turn && one.agent.is_some())
}

/// The turn that this person has already: an agent's is running, and a gate for people is nobody's.
fn theirs<'a>(view: &'a FlightView, waypoint: &WaypointId, by: &AgentName) -> Option<&'a TurnView> {
    turns(view, waypoint).find(|(turn, waits)| *waits && turn.agent.as_ref() == Some(by)).map(|(turn, _)| turn)
}

/// The turn that a person who takes one over means: theirs, or the first that agents have.
fn open<'a>(view: &'a FlightView, waypoint: &WaypointId, by: &AgentName) -> Option<&'a TurnView> {
    let free = || turns(view, waypoint).find(|(_, waits)| !waits).or_else(|| turns(view, waypoint).next());
    theirs(view, waypoint, by).or_else(|| free().map(|(turn, _)| turn))
}

/// Hands in what is in the clone.
pub(super) async fn hand_in(args: HandInArgs) -> Result<Exit, Failure> {
    let HandInArgs { waypoint, flight, from, verdicts, note, mut acting } = args;
    let around = if from.is_none() { DeskNote::around(&acting.place.repo) } else { None };
    let (clone, desk_note) = around.unzip();
    let from = from.or(clone);
    let named = waypoint.or_else(|| Some(desk_note.as_ref()?.waypoint.clone())).ok_or_else(|| {
        let hint = "name the waypoint, or call it inside of the clone that `holdpoint take` made";
        Failure::usage("arguments", "there is no waypoint", hint)
    })?;
    let flight = flight.or_else(|| Some(desk_note.as_ref()?.flight.clone()));
    if Remote::named(&acting.place)?.is_none() {
        acting.person = acting.person.or_else(|| Some(desk_note?.person));
    }
    let target = Target::for_person(&acting.place, acting.person.as_ref()).await?;
    let work = async |client: &Client| {
        let found = find::waypoint(client, flight.as_ref(), &named, Verb::HandIn).await?;
        let waypoint = found.waypoint;
        let desk = Desk::of(from.as_deref(), &acting.place.repo, &waypoint).await?;
        let about = About { flight: found.flight, waypoint: Some(waypoint.clone()) };
        let (view, by) = (client.status(&about.flight).await?, client.bus().name().clone());
        let open = theirs(&view, &waypoint, &by);
        // Of a turn that is not theirs, or makes no work, nothing is stored: an act that does not fit is refused, and says why.
        let bundle = match open.filter(|open| open.purpose == Purpose::Build && verdicts.is_empty()) {
            Some(open) => {
                let turn = turn::of_waypoint(client, &about.flight, &waypoint, &open.turn).await?;
                desk.store(client, &turn).await?
            }
            None => None,
        };
        let commit = bundle.as_ref().map(|bundle| bundle.tip.clone());
        let given = |(criterion, verdict): &(CriterionId, Verdict)| GivenVerdict {
            criterion: criterion.clone(),
            verdict: *verdict,
            note: note.clone().unwrap_or_default(),
        };
        let verdicts = verdicts.iter().map(given).collect();
        let on = open.map(|turn| turn.turn.to_string()).or(found.seen);
        let body = HandInBody { agent: by, on, commit, bundle, verdicts };
        perform(client, &about, &Act::HandIn(Box::new(HandIn::new(about.origin(), body)))).await?;
        let view = client.status(&about.flight).await?;
        Ok((about, view, desk, waypoint))
    };
    let local = target.fleet.is_some();
    let (about, view, desk, waypoint) = target.serve(work).await?;
    let exit = report(&acting, Verb::HandIn, &about, &view, local).await?;
    // At last: the current folder may be in it.
    desk.clear(&waypoint).await.iter().for_each(|line| output::err(line));
    Ok(exit)
}

/// Gives a turn back.
pub(super) async fn release(args: ReleaseArgs) -> Result<Exit, Failure> {
    let ReleaseArgs { whose, acting } = args;
    on_waypoint(&acting, &whose, Verb::Release, |about, agent, on| {
        Act::Release(Box::new(Release::new(about.origin(), ReleaseBody { agent, on })))
    })
    .await
}
