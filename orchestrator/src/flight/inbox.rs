//! What waits for people, with what they have to know of it: questions as they were handed off, and what verifications
//! doubt. Both are read where they are stored; the journal has references only.

use std::collections::{HashMap, VecDeque};

use holdpoint_bus::{Bus, api::ApiFailure, handoffs};
use holdpoint_engine::flight::{self, Waits};
use holdpoint_protocol::{
    api::{InboxItem, InboxKind, InboxPlace},
    artifact::{Artifact as _, ClarificationRequest, Handed, HandedError, HelpRequest, VerificationReport},
    facts::Verdict,
    ids::{WaypointId, role},
    journal::{Cause, Entry},
    pages::{self, Page},
    state::QuestionKind,
    streams,
    workflow::GateContext,
};

use super::{State, failure};
use crate::{books::Books, shell::Shell};

/// Reports that are read for one item: work that was merged again and again has one each time.
const REPORTS_MAX: usize = 4;

/// Why something that waits cannot be described.
pub(crate) type Unreadable = Box<dyn std::error::Error + Send + Sync>;

/// What verifications doubt of the waypoints that wait, by the name of what waits: a journal is not read twice for it.
#[derive(Debug, Default)]
pub(super) struct Doubts(HashMap<WaypointId, (String, Vec<String>)>);

impl Doubts {
    async fn of(&mut self, shell: &Shell, books: &Books, waits: &Waits) -> Result<Vec<String>, Unreadable> {
        if let Some((_, doubts)) = self.0.get(&waits.waypoint).filter(|(of, _)| *of == waits.reference) {
            return Ok(doubts.clone());
        }
        let streams = role::JUDGING.map(|role| streams::handoff(&role::id(role)));
        // The newest, oldest first.
        let mut causes = VecDeque::new();
        let look = |_, entry: Entry| {
            causes.extend(entry.record().cause.clone().filter(|cause| streams.contains(&cause.stream)));
            causes.drain(..causes.len().saturating_sub(REPORTS_MAX));
        };
        books.each_entry(shell, &waits.waypoint, look).await?;
        let mut reports: Vec<VerificationReport> = Vec::new();
        for cause in causes.iter().rev() {
            // A judge asks through the same stream.
            let Some(Handed::Reported(report)) = handed(&shell.bus, cause, VerificationReport::KIND).await? else {
                continue;
            };
            let is_first = flight::is_first_of_work(&report);
            reports.push(*report);
            if is_first {
                break;
            }
        }
        let doubts = flight::doubts(&reports);
        self.0.insert(waits.waypoint.clone(), (waits.reference.clone(), doubts.clone()));
        Ok(doubts)
    }
}

impl State {
    /// What waits for people in this flight.
    pub(super) async fn inbox(&mut self, after: Option<&InboxPlace>) -> Result<(Vec<InboxItem>, bool), ApiFailure> {
        let shell = self.shell.clone();
        let mut known = std::mem::take(&mut self.doubts);
        let books = self.fresh_books().await.map_err(|error| failure(&error))?;
        let mut page = Page::new(pages::inbox_room());
        for waits in flight::waits(&books.flight, &books.waypoints) {
            let place = InboxPlace { since: waits.since, flight: books.id().clone(), waypoint: waits.waypoint.clone() };
            if after.is_some_and(|after| place <= *after) {
                continue;
            }
            let state = books.state(&waits.waypoint);
            let asked = match &waits.question {
                Some(open) => asked(&shell.bus, &open.asked, open.kind)
                    .await
                    .map_err(|error| ApiFailure::new(503, error.to_string()))?,
                None => None,
            };
            let (question, decision_context, options, confidence) = match asked {
                Some(Handed::Clarify(asked)) => {
                    (Some(asked.question), Some(asked.decision_context), asked.options, Some(asked.confidence))
                }
                Some(Handed::Help(help)) => {
                    (Some(help.raw_line), help.context.map(|context| context.to_string()), Vec::new(), None)
                }
                _ => (about(books, &waits.waypoint), None, Vec::new(), None),
            };
            let doubts = match waits.kind {
                InboxKind::Question | InboxKind::Help => Vec::new(),
                InboxKind::Approval | InboxKind::Turn | InboxKind::Taken | InboxKind::Held | InboxKind::Failed => {
                    let read = known.of(&shell, books, &waits).await;
                    read.map_err(|error| ApiFailure::new(503, error.to_string()))?
                }
            };
            let passed = state.criteria.iter().chain(&state.guards).filter(|result| result.verdict == Verdict::Pass);
            let is_held = matches!(waits.kind, InboxKind::Held | InboxKind::Failed);
            let item = InboxItem {
                context: context(books, &waits),
                kind: waits.kind,
                block_reason: waits.block_reason,
                flight: books.id().clone(),
                gate: waits.gate,
                since: waits.since,
                taken_by: waits.taken_by,
                to: waits.to,
                question,
                decision_context: decision_context.filter(|context| !context.trim().is_empty()),
                options,
                confidence,
                waits_until: waits.question.as_ref().and_then(|open| open.waits_until),
                round: waits.question.as_ref().map(|_| state.counters.clarifications),
                reason_code: state.decision.as_ref().map(|decision| decision.reason_code),
                remediation: flight::remediation(&books.flight, &books.waypoints, &waits.waypoint),
                self_checked: books.flight.submitted.plan.policy.mode.is_single() && !state.criteria.is_empty(),
                evidence: passed.flat_map(|result| result.evidence.iter().copied()).collect(),
                doubts,
                work: state.work.as_ref().and_then(|work| work.commit.clone()).filter(|_| is_held),
                actions: flight::actions(&books.flight, &waits.waypoint, Some(&state)),
                reference: waits.reference,
                waypoint: waits.waypoint,
            };
            if !page.take(item) {
                break;
            }
        }
        self.doubts = known;
        Ok(page.finish())
    }
}

/// What an open gate says to the one who completes it.
fn context(books: &Books, waits: &Waits) -> GateContext {
    let is_open = matches!(waits.kind, InboxKind::Approval | InboxKind::Turn | InboxKind::Taken);
    let gate = waits.gate.as_ref().filter(|_| is_open);
    let planned = books.flight.planned(&waits.waypoint);
    let state = books.state(&waits.waypoint);
    let gate = gate.zip(planned).and_then(|(gate, planned)| books.flight.workflow_of(planned, &state)?.gate(gate));
    gate.map(|gate| gate.context.clone()).unwrap_or_default()
}

/// What an approval or held work is about: the waypoint's title.
fn about(books: &Books, waypoint: &WaypointId) -> Option<String> {
    books.flight.planned(waypoint).map(|planned| planned.title.clone())
}

/// The handoff that asked a question, as it is stored.
pub(super) async fn asked(bus: &Bus, asked: &Cause, kind: QuestionKind) -> Result<Option<Handed>, Unreadable> {
    let kind = match kind {
        QuestionKind::Clarification => ClarificationRequest::KIND,
        QuestionKind::Help => HelpRequest::KIND,
    };
    handed(bus, asked, kind).await
}

/// A handoff that was taken, as it is stored; `None` if it is of another kind.
pub(super) async fn handed(bus: &Bus, cause: &Cause, kind: &str) -> Result<Option<Handed>, Unreadable> {
    let Some(stored) = handoffs::get(bus, &cause.stream, cause.sequence).await? else { return Ok(None) };
    match Handed::decode(kind, &stored.payload, stored.content_type.as_deref()) {
        Ok(handed) => Ok(Some(handed)),
        // It was read before it was taken.
        Err(HandedError::Codec(_) | HandedError::Kind { .. }) => Ok(None),
    }
}
