//! What people do: each command makes one signed act, and says what it did and what follows.

use holdpoint_engine::completion;
use holdpoint_protocol::{
    artifact::{
        Act, Cancel, CancelBody, ClarificationResponse, ClarificationResponseBody, Completion, CompletionBody, Pause,
        PauseBody, Resume, ResumeBody, Retry, RetryBody, Verb,
    },
    ids::AgentName,
    state::Outcome,
    view::{FlightStatus, FlightView},
};

use super::run::print;
use crate::{
    args::{
        Place,
        people::{Acting, AnswerArgs, ApproveArgs, CancelArgs, RejectArgs, RetryArgs, SteerArgs, Whose},
    },
    client::Client,
    failure::{Exit, Failure},
    ground, output,
    people::{
        act::{About, perform},
        find::{self, Found},
        retry,
        words::done,
    },
    running_fleet::RunningFleet,
    state::FlightRecord,
    target::Target,
    typed::in_text,
};

/// What an approval says that was given no words.
const APPROVED: &str = "approved";

/// Answers the open question.
pub(super) async fn answer(args: AnswerArgs) -> Result<Exit, Failure> {
    let AnswerArgs { whose, option, text, rationale, constraints, acting } = args;
    on_waypoint(&acting, &whose, Verb::Answer, move |about, agent, seen| {
        let body = ClarificationResponseBody {
            agent,
            request: seen.and_then(|question| question.parse().ok()),
            option,
            text,
            rationale,
            updated_constraints: constraints,
        };
        Act::Answer(Box::new(ClarificationResponse::new(about.origin(), body)))
    })
    .await
}

/// Completes a gate for people.
pub(super) async fn approve(args: ApproveArgs) -> Result<Exit, Failure> {
    let summary = args.summary.unwrap_or_else(|| APPROVED.to_owned());
    complete(&args.acting, &args.whose, Verb::Approve, (Outcome::Complete, summary, Vec::new())).await
}

/// Sends work back from a gate for people.
pub(super) async fn reject(args: RejectArgs) -> Result<Exit, Failure> {
    let RejectArgs { whose, note, acting } = args;
    let blockers = vec![note.clone()];
    let warning = completion::warning(&blockers);
    let exit = complete(&acting, &whose, Verb::Reject, (Outcome::NeedsReview, note, blockers)).await?;
    if let Some(message) = warning.as_ref().and_then(|warning| warning["message"].as_str()) {
        output::err(&format!("warning: {message}"));
    }
    Ok(exit)
}

async fn complete(
    acting: &Acting,
    whose: &Whose,
    verb: Verb,
    (outcome, summary, blockers): (Outcome, String, Vec<String>),
) -> Result<Exit, Failure> {
    on_waypoint(acting, whose, verb, move |about, agent, on| {
        let body = CompletionBody { summary, blockers, ..CompletionBody::of_person(agent, on, outcome) };
        Act::Complete(Box::new(Completion::new(about.origin(), body)))
    })
    .await
}

/// Has held work tried again.
pub(super) async fn retry(args: RetryArgs) -> Result<Exit, Failure> {
    let RetryArgs { whose, reworks, from, only, note, acting } = args;
    let target = Target::for_person(&acting.place, acting.person.as_ref()).await?;
    let work = async |client: &Client| {
        let Found { flight, waypoint, seen, .. } =
            find::waypoint(client, whose.flight.as_ref(), &whose.waypoint, Verb::Retry).await?;
        let others = if only { Vec::new() } else { retry::held_with(client, &flight, &waypoint).await? };
        let about = About { flight, waypoint: Some(waypoint) };
        let body = RetryBody { agent: client.bus().name().clone(), on: seen, from, reworks, note };
        perform(client, &about, &Act::Retry(Box::new(Retry::new(about.origin(), body)))).await?;
        let also = retry::all(client, &others).await;
        let view = client.status(&about.flight).await?;
        Ok((about, view, also))
    };
    let local = target.fleet.is_some();
    let (about, view, also) = target.serve(work).await?;
    let exit = report(&acting, Verb::Retry, &about, &view, local).await?;
    also.iter().for_each(|line| output::err(line));
    Ok(exit)
}

/// Ends a waypoint, or a flight.
pub(super) async fn cancel(args: CancelArgs) -> Result<Exit, Failure> {
    let CancelArgs { flight, waypoint, reason, acting } = args;
    if let Some(waypoint) = waypoint {
        let whose = Whose { waypoint, flight: Some(flight) };
        return on_waypoint(&acting, &whose, Verb::Cancel, move |about, agent, _| {
            Act::Cancel(Box::new(Cancel::new(about.origin(), CancelBody { agent, reason })))
        })
        .await;
    }
    let about = About { flight, waypoint: None };
    on_flight(&acting, about, Verb::Cancel, move |about, agent| {
        Act::Cancel(Box::new(Cancel::new(about.origin(), CancelBody { agent, reason })))
    })
    .await
}

/// Opens no turn of a flight until it is resumed.
pub(super) async fn pause(args: SteerArgs) -> Result<Exit, Failure> {
    let about = About { flight: args.flight, waypoint: None };
    on_flight(&args.acting, about, Verb::Pause, |about, agent| {
        Act::Pause(Box::new(Pause::new(about.origin(), PauseBody { agent })))
    })
    .await
}

/// Lets a paused flight go on.
pub(super) async fn resume(args: SteerArgs) -> Result<Exit, Failure> {
    let about = About { flight: args.flight, waypoint: None };
    on_flight(&args.acting, about, Verb::Resume, |about, agent| {
        Act::Resume(Box::new(Resume::new(about.origin(), ResumeBody { agent })))
    })
    .await
}

/// An act on what waits at a waypoint.
pub(super) async fn on_waypoint(
    acting: &Acting,
    whose: &Whose,
    verb: Verb,
    make: impl FnOnce(&About, AgentName, Option<String>) -> Act,
) -> Result<Exit, Failure> {
    let target = Target::for_person(&acting.place, acting.person.as_ref()).await?;
    let work = async |client: &Client| {
        let found = find::waypoint(client, whose.flight.as_ref(), &whose.waypoint, verb).await?;
        let about = About { flight: found.flight, waypoint: Some(found.waypoint) };
        let act = make(&about, client.bus().name().clone(), found.seen);
        perform(client, &about, &act).await?;
        let view = client.status(&about.flight).await?;
        Ok((about, view))
    };
    let local = target.fleet.is_some();
    let (about, view) = target.serve(work).await?;
    report(acting, verb, &about, &view, local).await
}

/// An act on a whole flight.
async fn on_flight(
    acting: &Acting,
    about: About,
    verb: Verb,
    make: impl FnOnce(&About, AgentName) -> Act,
) -> Result<Exit, Failure> {
    let target = Target::for_person(&acting.place, acting.person.as_ref()).await?;
    let work = async |client: &Client| {
        let about = About { flight: find::flight(client, &about.flight).await?, ..about };
        perform(client, &about, &make(&about, client.bus().name().clone())).await?;
        let view = client.status(&about.flight).await?;
        Ok((about, view))
    };
    let local = target.fleet.is_some();
    let (about, view) = target.serve(work).await?;
    report(acting, verb, &about, &view, local).await
}

/// Says what an act did and what follows.
pub(super) async fn report(
    acting: &Acting,
    verb: Verb,
    about: &About,
    view: &FlightView,
    local: bool,
) -> Result<Exit, Failure> {
    if acting.json {
        print(view, true);
    } else {
        output::out(&done(verb, view, about.waypoint.as_ref()));
    }
    if local && let Some(hint) = goes_on_with(&acting.place, view).await? {
        output::err(&hint);
    }
    Ok(Exit::Success)
}

/// The command that brings agents, where none are there for this flight of a local fleet.
pub(super) async fn goes_on_with(place: &Place, view: &FlightView) -> Result<Option<String>, Failure> {
    if view.status != FlightStatus::Running || view.paused {
        return Ok(None);
    }
    let (state, flight) = (ground::state(&ground::find(&place.repo).await?).await?, &view.flight);
    if FlightRecord::load(&state, flight)?.is_some() {
        let is_flown = FlightRecord::is_flown(&state, flight)?;
        return Ok((!is_flown).then(|| in_text(&format!("`holdpoint run --resume {flight}` goes on with it"))));
    }
    let served = RunningFleet::find(&state).is_some();
    Ok((!served).then(|| in_text("`holdpoint up` goes on with it")))
}
