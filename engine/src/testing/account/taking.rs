//! Acts of people who take over turns, as they were handed off.

use holdpoint_protocol::{
    Timestamp,
    artifact::{Act, HandIn, HandInBody, Origin, Release, ReleaseBody, Take, TakeBody},
    ids::role,
    journal::Cause,
};

use super::act_line;
use crate::{
    audit::{EntryLine, HandoffLine},
    waypoint::{BuildOutcome, Input},
};

/// The act that an entry answers.
pub(super) fn line(entry: &EntryLine, input: &Input) -> Option<HandoffLine> {
    let (by, cause, act) = match input {
        Input::Taken(act) => {
            let body = TakeBody { agent: act.by.clone(), on: act.body.on.clone() };
            (&act.by, &act.cause, Act::Take(Box::new(Take::new(origin(entry, &act.cause), body))))
        }
        Input::Released(act) => {
            let body = ReleaseBody { agent: act.by.clone(), on: act.body.on.clone() };
            (&act.by, &act.cause, Act::Release(Box::new(Release::new(origin(entry, &act.cause), body))))
        }
        Input::HandedIn(act) => {
            let BuildOutcome::Work { commit, .. } = &act.body.outcome else { return None };
            let (commit, bundle) = commit.as_ref().map(|work| (work.commit.clone(), work.bundle.clone())).unzip();
            let body = HandInBody {
                agent: act.by.clone(),
                on: act.body.on.clone(),
                commit,
                bundle,
                verdicts: act.body.verdicts.clone(),
            };
            (&act.by, &act.cause, Act::HandIn(Box::new(HandIn::new(origin(entry, &act.cause), body))))
        }
        _ => return None,
    };
    Some(act_line(entry, by, cause, act))
}

fn origin(entry: &EntryLine, cause: &Cause) -> Origin {
    Origin {
        artifact_id: cause.artifact.clone(),
        waypoint_id: entry.journal.waypoint.clone().unwrap(),
        produced_by_role: role::id(role::OPERATOR),
        produced_at: Timestamp::from_millis(0),
        source_refs: Vec::new(),
    }
}
