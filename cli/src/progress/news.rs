//! What is new in a flight's view compared with the last one, in words. Pure.

mod past;

use std::collections::BTreeMap;

use holdpoint_account::words::verdict_mark;
use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{Disposition, VerificationPurpose},
    facts::{CriterionResult, Verdict},
    ids::{AgentName, CriterionId, RoleId, TurnId, WaypointId, role},
    reason::{CriterionReason, ReasonCode},
    state::{Purpose, Status},
    view::{FlightView, TurnView, WaypointView},
};
use holdpoint_text::shown;

pub(super) use past::Gap;

use crate::typed::in_text;

/// A turn without an agent is news only after this long: usually its agent is known at the next look.
const PATIENCE_MS: u128 = 3_000;

/// Something that happened to a waypoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct News {
    /// The waypoint.
    pub(super) waypoint: WaypointId,
    /// One line.
    pub(super) text: String,
    /// Criteria and guards that are not green, where the line is about a verdict.
    pub(super) red: Vec<Red>,
    /// What else there is to know of a decision: broken path rules, a failed turn's own words.
    pub(super) notes: Vec<String>,
    /// It waits for people from now on.
    pub(super) waits: bool,
    /// It was accepted on what a verifier reported.
    pub(super) accepted: bool,
    /// The agent may have changed nothing, and may have said why.
    pub(super) unchanged: bool,
}

/// A criterion or guard that is not green.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Red {
    /// Its name.
    pub(super) id: CriterionId,
    /// What is printed before it.
    pub(super) mark: &'static str,
    /// What was found.
    pub(super) verdict: Verdict,
    /// What it did not pass.
    pub(super) reason: Option<CriterionReason>,
    /// The output.
    pub(super) evidence: Option<Digest>,
}

/// Remembers what was reported.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    told: BTreeMap<WaypointId, Told>,
}

#[derive(Debug, Default)]
struct Told {
    turn: Option<(TurnId, Option<AgentName>)>,
    decision: Option<Decision>,
    results: Vec<CriterionResult>,
    status: Option<Status>,
    /// Whose turn it waits for, where nobody answered the one before in time.
    passed_on: Option<TurnId>,
    asks: bool,
    sent_back: u32,
}

/// What distinguishes one decision from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decision {
    disposition: Disposition,
    reason: Option<ReasonCode>,
    attempts: u32,
    /// Of one that sends work back: the how manieth it is.
    sent_back: Option<u32>,
    /// Of one that passes a turn on: to whom.
    to: Option<RoleId>,
    results: Vec<CriterionResult>,
}

impl Tracker {
    /// What happened since the last view.
    pub(super) fn update(&mut self, view: &FlightView, now: Timestamp) -> Vec<News> {
        let mut all = Vec::new();
        for waypoint in &view.waypoints {
            let told = self.told.entry(waypoint.id.clone()).or_default();
            if past::gap(told, waypoint).is_none() {
                told.sent_back = told.sent_back.max(waypoint.sent_back);
            }
            let turn = turn(told, view, waypoint, now);
            let news = [decided(told, waypoint), asks(told, waypoint), ended(told, waypoint), turn];
            all.extend(news.into_iter().flatten());
        }
        all
    }
}

fn news(waypoint: &WaypointId, text: String) -> News {
    News {
        waypoint: waypoint.clone(),
        text,
        red: Vec::new(),
        notes: Vec::new(),
        waits: false,
        accepted: false,
        unchanged: false,
    }
}

fn decided(told: &mut Told, waypoint: &WaypointView) -> Option<News> {
    let disposition = waypoint.disposition?;
    let decision = decision(waypoint)?;
    if told.decision.as_ref() == Some(&decision) {
        return None;
    }
    let results = decision.results.clone();
    told.decision = Some(decision);
    let has_own_line = matches!(waypoint.status, Status::Waiting | Status::Cancelled) || waypoint.asks_in_turn();
    if disposition == Disposition::Escalate && has_own_line {
        // That it waits, and for what, or that a person cancelled it.
        return None;
    }
    let next = match disposition {
        Disposition::Accept if is_apart(waypoint) => {
            ": red behind work that has not landed; the next verification is on what landed".to_owned()
        }
        Disposition::Accept => passed(&waypoint.criteria),
        Disposition::Rework | Disposition::Rollback => match &waypoint.turn {
            Some(turn) if turn.purpose == Purpose::Build => next_turn(&turn.role),
            // The agent that made it again is done already.
            Some(_) | None => String::new(),
        },
        // A turn that nobody answered in time is other agents' now, or a reload moved it.
        Disposition::Escalate => match waypoint.turn.as_ref().filter(|_| waypoint.status == Status::Running) {
            Some(turn) => next_turn(&turn.role),
            None => ": a person has to look at it".to_owned(),
        },
    };
    let reason = waypoint.reason_code.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let red = all_red(told, waypoint.reason_code, results);
    let accepted = disposition == Disposition::Accept && !is_apart(waypoint);
    let unchanged = matches!(waypoint.reason_code, Some(ReasonCode::NoChange | ReasonCode::AttemptsExhausted));
    Some(News { red, accepted, unchanged, ..news(&waypoint.id, format!("{disposition}{reason}{next}")) })
}

/// Whether it stays accepted although the merge behind other work was red.
fn is_apart(waypoint: &WaypointView) -> bool {
    waypoint.reason_code == Some(ReasonCode::MergeConflict)
}

/// What a view says of the last decision.
fn decision(waypoint: &WaypointView) -> Option<Decision> {
    let disposition = waypoint.disposition?;
    let results = waypoint.criteria.iter().chain(&waypoint.guards).cloned().collect();
    let sent_back = past::sends_back(disposition).then_some(waypoint.sent_back);
    let passed_on = waypoint.turn.as_ref().filter(|_| waypoint.reason_code == Some(ReasonCode::GateTimeout));
    let to = passed_on.map(|turn| turn.role.clone());
    Some(Decision { disposition, reason: waypoint.reason_code, attempts: waypoint.attempts, sent_back, to, results })
}

fn next_turn(role: &RoleId) -> String {
    format!(": {role} takes the next turn")
}

/// What is red, where a decision is about verdicts: they are new, or its reason says so.
fn all_red(told: &mut Told, reason: Option<ReasonCode>, results: Vec<CriterionResult>) -> Vec<Red> {
    let fresh = told.results != results;
    told.results = results;
    if fresh || matches!(reason, Some(ReasonCode::CriteriaFailed | ReasonCode::Regression)) {
        told.results.iter().filter_map(red).collect()
    } else {
        Vec::new()
    }
}

fn passed(criteria: &[CriterionResult]) -> String {
    let ids: Vec<String> = criteria.iter().map(|c| format!("✓ {}", c.id)).collect();
    if ids.is_empty() { String::new() } else { format!(": {}", ids.join(", ")) }
}

fn red(result: &CriterionResult) -> Option<Red> {
    (result.verdict != Verdict::Pass).then(|| Red {
        id: result.id.clone(),
        mark: verdict_mark(result.verdict),
        verdict: result.verdict,
        reason: result.reason,
        evidence: result.evidence.first().copied(),
    })
}

fn ended(told: &mut Told, waypoint: &WaypointView) -> Option<News> {
    let passed_on = passed_on(waypoint);
    let goes_on = passed_on.is_some() && told.passed_on != passed_on;
    told.passed_on = passed_on;
    if told.status.replace(waypoint.status) == Some(waypoint.status) && !goes_on {
        return None;
    }
    let text = match waypoint.status {
        Status::Pending | Status::Running => return None,
        Status::Complete => match &waypoint.commit {
            Some(commit) => format!("landed as {}", commit.short()),
            None => "complete; nothing had to change".to_owned(),
        },
        Status::Waiting | Status::Blocked | Status::Failed | Status::Cancelled => {
            let remedy = waypoint.remediation.as_ref().map(|text| format!(": {}", in_text(&shown::line(text))));
            format!("{}{}", waypoint.status, remedy.unwrap_or_default())
        }
    };
    Some(News { waits: waypoint.needs_people(), ..news(&waypoint.id, text) })
}

/// The turn of people that was opened because nobody answered the one before in time.
fn passed_on(waypoint: &WaypointView) -> Option<TurnId> {
    let late = waypoint.status == Status::Waiting && waypoint.reason_code == Some(ReasonCode::GateTimeout);
    // A person who took it has it still; it is reported that nobody did.
    let turn = waypoint.turn.as_ref().filter(|turn| late && turn.agent.is_none() && waypoint.remediation.is_some())?;
    Some(turn.turn.clone())
}

/// Its agent waits for an answer in the open turn.
fn asks(told: &mut Told, waypoint: &WaypointView) -> Option<News> {
    let asks = waypoint.asks_in_turn();
    let asked = std::mem::replace(&mut told.asks, asks);
    let text = || "asks, and waits for the answer in its turn".to_owned();
    (asks && !asked).then(|| News { waits: true, ..news(&waypoint.id, text()) })
}

fn turn(told: &mut Told, view: &FlightView, waypoint: &WaypointView, now: Timestamp) -> Option<News> {
    // Nobody pulls a turn for people: that it waits has been reported.
    let open = waypoint.turn.as_ref().filter(|_| waypoint.status != Status::Waiting)?;
    let holder = (open.turn.clone(), open.agent.clone());
    let waits = open.agent.is_none();
    let too_early = waits && now.since(open.opened_at).as_millis() < PATIENCE_MS;
    // Who held it is forgotten by an orchestrator that was started again: no news.
    let known = told.turn.as_ref().is_some_and(|(turn, _)| *turn == open.turn) && waits;
    if too_early || known || told.turn.as_ref() == Some(&holder) {
        return None;
    }
    told.turn = Some(holder);
    Some(news(&waypoint.id, activity(view, open)))
}

/// What an open turn is doing, who does it.
pub(super) fn activity(view: &FlightView, turn: &TurnView) -> String {
    let Some(agent) = &turn.agent else {
        return format!("waits for a {}{}{}", turn.role, place_in_queue(view, turn), overdue(turn));
    };
    match doing(turn) {
        Doing::Attempt(word) => format!("{word}  attempt {}  {agent}", turn.attempt),
        Doing::Check(words) => format!("{words}  {agent}"),
    }
}

/// Where a turn stands among those of its role that nobody has taken yet; nothing where it is the only one.
fn place_in_queue(view: &FlightView, turn: &TurnView) -> String {
    let of_agents = view.waypoints.iter().filter(|waypoint| waypoint.status == Status::Running);
    let waits = |one: &&TurnView| one.role == turn.role && one.agent.is_none();
    let queue: Vec<&TurnView> = of_agents.flat_map(WaypointView::open_turns).filter(waits).collect();
    let ahead = queue.iter().filter(|one| one.opened_at < turn.opened_at).count();
    if queue.len() < 2 { String::new() } else { format!(", {} of {} in the queue", ahead + 1, queue.len()) }
}

/// That the turn was offered to its role before, and nobody answered it.
fn overdue(turn: &TurnView) -> String {
    match turn.overdue {
        0 => String::new(),
        1 => ": nobody answered its turn in time, and it is open once more".to_owned(),
        times => format!(": nobody answered its turn in time, {times} times, and it is open once more"),
    }
}

enum Doing {
    Attempt(&'static str),
    Check(&'static str),
}

fn doing(turn: &TurnView) -> Doing {
    match &turn.purpose {
        Purpose::Build if is_repair(&turn.role) => Doing::Attempt("repairing"),
        Purpose::Build => Doing::Attempt("building"),
        Purpose::Verify(VerificationPurpose::Baseline) => Doing::Check("checking the base"),
        Purpose::Verify(VerificationPurpose::Handoff) => Doing::Check("verifying"),
        Purpose::Verify(VerificationPurpose::Merge) => Doing::Check("verifying the merge"),
        Purpose::Complete => Doing::Check("looking at it"),
        Purpose::Advise => Doing::Check("asking for advice"),
    }
}

fn is_repair(of: &RoleId) -> bool {
    of.as_str() == role::REPAIR
}

#[cfg(test)]
mod tests;
