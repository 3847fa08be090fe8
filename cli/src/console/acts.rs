//! What a form asks for as a signed act. It names what its person looked at: once something else waits, it changes nothing.

use holdpoint_console::{ActKind, WantedAct};
use holdpoint_protocol::{
    api::InboxItem,
    artifact::{
        Act, Cancel, CancelBody, ClarificationResponse, ClarificationResponseBody, Completion, CompletionBody, Pause,
        PauseBody, Resume, ResumeBody, Retry, RetryBody, Verb,
    },
    ids::AgentName,
    state::Outcome,
};

use crate::{
    client::Client,
    failure::Failure,
    people::{
        act::{self, About},
        find, retry,
        words::done,
    },
};

/// What an approval says that was given no words.
const APPROVED: &str = "approved";

/// What a person looked at.
#[derive(Debug, Default)]
struct Looked {
    /// As an act names it.
    on: Option<String>,
    /// The answers that its asker can work with.
    options: Vec<String>,
}

/// Does it; what follows, in a sentence.
pub(super) async fn perform(client: &Client, wanted: WantedAct) -> Result<String, Failure> {
    let WantedAct { flight, waypoint, seen, what } = wanted;
    let verb = what.verb();
    let about = About { flight, waypoint };
    let looked = looked(client, &about, seen, &what).await?;
    let others = match (&what, &about.waypoint) {
        (ActKind::Retry { .. }, Some(waypoint)) => retry::held_with(client, &about.flight, waypoint).await?,
        _ => Vec::new(),
    };
    let act = made(&about, client.bus().name().clone(), looked, what)?;
    act::perform(client, &about, &act).await?;
    let also = retry::all(client, &others).await.map(|also| format!("; {also}")).unwrap_or_default();
    Ok(format!("{}{also}", follows(client, verb, &about).await))
}

/// What follows from an act. It is done, whatever becomes of the look at it.
pub(super) async fn follows(client: &Client, verb: Verb, about: &About) -> String {
    match client.status_now(&about.flight).await {
        Ok(view) => done(verb, &view, about.waypoint.as_ref()),
        Err(_) => "done".to_owned(),
    }
}

async fn looked(client: &Client, about: &About, seen: Option<String>, what: &ActKind) -> Result<Looked, Failure> {
    let Some(waypoint) = &about.waypoint else {
        find::flight(client, &about.flight).await?;
        return Ok(Looked::default());
    };
    let Some(seen) = seen else {
        let found = find::waypoint(client, Some(&about.flight), waypoint, what.verb()).await?;
        return Ok(Looked { on: found.seen, options: Vec::new() });
    };
    let items = client.inbox(Some(&about.flight)).await?;
    let is_it = |item: &InboxItem| item.waypoint == *waypoint && item.reference == seen;
    let item = items.into_iter().find(is_it).ok_or_else(|| {
        let message = format!("what you looked at does not wait any more at {waypoint}: nothing was done");
        Failure::usage("nothing_open", message, "the page shows what waits now")
    })?;
    Ok(Looked { on: Some(find::name_of(client, &item).await?), options: item.options })
}

fn made(about: &About, agent: AgentName, looked: Looked, what: ActKind) -> Result<Act, Failure> {
    let Looked { on, options } = looked;
    let origin = about.origin();
    Ok(match what {
        ActKind::Answer { option, text } => {
            let chosen = |at: usize| {
                options.get(at).cloned().ok_or_else(|| {
                    Failure::usage("invalid", "there is no such option", "the page shows those that there are")
                })
            };
            let body = ClarificationResponseBody {
                agent,
                request: on.and_then(|question| question.parse().ok()),
                option: option.map(chosen).transpose()?,
                text,
                rationale: None,
                updated_constraints: Vec::new(),
            };
            Act::Answer(Box::new(ClarificationResponse::new(origin, body)))
        }
        ActKind::Approve { summary } => {
            let summary = summary.unwrap_or_else(|| APPROVED.to_owned());
            let body = CompletionBody { summary, ..CompletionBody::of_person(agent, on, Outcome::Complete) };
            Act::Complete(Box::new(Completion::new(origin, body)))
        }
        ActKind::Reject { note } => {
            let blockers = vec![note.clone()];
            let body = CompletionBody {
                summary: note,
                blockers,
                ..CompletionBody::of_person(agent, on, Outcome::NeedsReview)
            };
            Act::Complete(Box::new(Completion::new(origin, body)))
        }
        ActKind::Retry { reworks, note } => {
            Act::Retry(Box::new(Retry::new(origin, RetryBody { agent, on, from: None, reworks, note })))
        }
        ActKind::Cancel { reason } => Act::Cancel(Box::new(Cancel::new(origin, CancelBody { agent, reason }))),
        ActKind::Pause => Act::Pause(Box::new(Pause::new(origin, PauseBody { agent }))),
        ActKind::Resume => Act::Resume(Box::new(Resume::new(origin, ResumeBody { agent }))),
    })
}
