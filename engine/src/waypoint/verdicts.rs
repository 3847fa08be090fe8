//! Verdicts of people: who takes over a verifier's turn judges the criteria without a check, and nothing else (GATE-33).
//!
//! The turn is a verifier's again with these verdicts in it: its harness runs checks and guards, and puts them in the place
//! of a judge's. The state keeps each verdict without its words, so that no report can say anything else.

use holdpoint_protocol::{
    artifact::{ActCode, GivenVerdict, PersonVerdict, VerificationPurpose, VerificationReport},
    facts::Verdict,
    ids::{AgentName, CriterionId},
    plan::Waypoint,
    state::{JudgedCriterion, OpenTurn, Purpose, WaypointState},
    turn::{Turn, TurnRequest},
};

use super::{Refusal, StepContext, acted};
use crate::handed::NOTE_BYTES_MAX;

/// What a person can judge: the criteria without a check.
pub(super) fn wanted(waypoint: &Waypoint) -> impl Iterator<Item = &CriterionId> {
    waypoint.criteria.iter().filter(|criterion| criterion.check.is_none()).map(|criterion| &criterion.id)
}

/// Whether there is something in a verifier's turn for a person to judge.
pub(super) fn are_wanted(open: &OpenTurn, waypoint: &Waypoint) -> bool {
    let handoff = open.purpose == Purpose::Verify(VerificationPurpose::Handoff);
    handoff && open.judged.is_empty() && wanted(waypoint).next().is_some()
}

/// Why this person cannot take over a verifier's turn.
pub(super) fn cannot_judge(
    state: &WaypointState,
    open: &OpenTurn,
    by: &AgentName,
    cx: &StepContext<'_>,
) -> Option<Refusal> {
    if are_wanted(open, cx.waypoint) {
        return acted::own_work(state, open, by);
    }
    let waypoint = &cx.waypoint.id;
    let what = match open.purpose {
        Purpose::Verify(VerificationPurpose::Handoff) if open.judged.is_empty() => {
            "every criterion has a check, and people judge only those without one"
        }
        Purpose::Verify(VerificationPurpose::Handoff) => "a person has judged it already",
        _ => "people judge work as it was handed off, not its base or its merge",
    };
    let message = format!("the verification of waypoint {waypoint} cannot be taken over: {what}");
    let hint = "wait for the verdict; a gate for people behind the verifier lets a person judge as well";
    Some(Refusal::act(ActCode::NotAllowed, message, hint))
}

/// What is wrong with the verdicts that a person hands in.
pub(super) fn invalid(given: &[GivenVerdict], cx: &StepContext<'_>) -> Option<Refusal> {
    let refuse = |message: String, hint: &str| Some(Refusal::act(ActCode::Invalid, message, hint));
    let all: Vec<&str> = wanted(cx.waypoint).map(CriterionId::as_str).collect();
    let list = all.join(", ");
    let once = |id: &str| given.iter().filter(|verdict| verdict.criterion.as_str() == id).count() == 1;
    if given.len() != all.len() || !all.iter().all(|id| once(id)) {
        let message = format!("it has to judge each criterion without a check once, and nothing else: {list}");
        return refuse(message, "say `--verdict ID=pass` or `--verdict ID=fail` for each, with --note");
    }
    if given.iter().any(|verdict| verdict.verdict == Verdict::Inconclusive) {
        return refuse("a person's verdict is pass or fail".to_owned(), "`holdpoint release` leaves it to the judge");
    }
    if given.iter().any(|verdict| verdict.note.trim().is_empty()) {
        return refuse("a verdict needs what it rests on".to_owned(), "say it with --note");
    }
    if given.iter().map(|verdict| verdict.note.len()).sum::<usize>() > NOTE_BYTES_MAX {
        let message = format!("verdicts carry {NOTE_BYTES_MAX} bytes of words at most");
        return refuse(message, "say it shorter, and name a document for the rest");
    }
    None
}

/// The turn with a person's verdicts in it, and its state with them.
pub(super) fn put_in(open: OpenTurn, turn: &mut Turn, given: Vec<GivenVerdict>, by: &AgentName) -> OpenTurn {
    let judged = given.iter().map(|GivenVerdict { criterion, verdict, .. }| JudgedCriterion {
        criterion: criterion.clone(),
        verdict: *verdict,
    });
    let judged = judged.collect();
    if let TurnRequest::Verify(request) = &mut turn.request {
        let words = given.into_iter().map(|GivenVerdict { criterion, verdict, note }| PersonVerdict {
            criterion,
            verdict,
            note,
            by: by.clone(),
        });
        request.judged = words.collect();
    }
    OpenTurn { judged, ..open }
}

/// Where a report says something else than the person who judged. That it could not be settled may be said of anything.
pub(super) fn contradicted(open: &OpenTurn, report: &VerificationReport) -> Option<String> {
    let said = |id: &CriterionId| report.criteria.iter().find(|r| r.result.id == *id).map(|r| r.result.verdict);
    let differs = |judged: &&JudgedCriterion| {
        said(&judged.criterion).is_some_and(|said| said != Verdict::Inconclusive && said != judged.verdict)
    };
    let judged = open.judged.iter().find(differs)?;
    let (id, verdict) = (&judged.criterion, judged.verdict.as_str());
    Some(format!("criterion {id} was judged by a person, who said {verdict}"))
}
