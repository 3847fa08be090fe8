//! Taking every decision again: what the engine makes of the state before an entry and of what the entry was decided on has to be what
//! the entry says (FLY-30).
//!
//! The input is made where the orchestrator makes it ([`Input`]). Here is looked for its parts: in handoffs, in journals, and in what
//! the entry records because nothing else shows it.

use holdpoint_protocol::{
    artifact::{self, Handed},
    facts::{BundleRef, Oid},
    ids::{ArtifactId, TurnId, WaypointId, role},
    journal::{Basis, Cause, Entry, Happened},
    plan::Waypoint,
    state::{Phase, WaypointState},
};

use super::{
    Auditor, BrokenLink, EntryLine, Journal, Known,
    differences::{Difference, facts, unlike},
};
use crate::{
    state::FlightState,
    waypoint::{self, EngineStep, Fresh, Handoff, HandoffFacts, Input, InputNeeds, InputParts, StepContext},
};

impl Auditor {
    /// Takes the decision of an entry again.
    pub(super) fn redecide(&mut self, line: &EntryLine, entry: &Entry, waypoint: &WaypointId, before: &Journal) {
        self.counts.decisions += 1;
        if let Some(basis) = &entry.record().basis {
            self.read_again(basis.read);
        }
        if let Err((expected, found)) = self.difference(entry, waypoint, before) {
            self.broken(BrokenLink::Decision, line.reference(), Some(waypoint.clone()), expected, found);
        }
    }

    fn difference(&self, entry: &Entry, waypoint: &WaypointId, before: &Journal) -> Result<(), Difference> {
        let Some(newest) = &self.state else {
            return Err(("the submission of the flight before it".to_owned(), "there is none".to_owned()));
        };
        let Some(planned) = newest.planned(waypoint) else {
            let expected = format!("a waypoint of the plan {}", newest.submitted.plan.plan);
            return Err((expected, "none of this name".to_owned()));
        };
        let Some(basis) = &entry.record().basis else {
            return Err(("an entry that says what it was decided on".to_owned(), "it does not".to_owned()));
        };
        let mut as_read = [Some(newest), self.earlier.as_ref()].into_iter().flatten();
        let flight = as_read.find(|flight| flight.read() == basis.read).ok_or_else(|| {
            let found = format!("by {} entries: there are {}", basis.read, newest.read());
            ("to be decided by what the flight's journal says before it".to_owned(), found)
        })?;
        let input = match &entry.record().cause {
            Some(cause) => self.answered(entry, cause, before)?,
            None => unprompted(basis, before)?,
        };
        self.due(flight, waypoint, &input)?;
        compare(entry, input, &before.folded.state, flight, planned)
    }

    /// Has the flight as an orchestrator knew it that had read so many entries of its journal: not always what stands right before the
    /// entry. Decisions go by ever more of them, so that is folded further each time.
    fn read_again(&mut self, read: u32) {
        if self.state.as_ref().is_some_and(|newest| newest.read() == read) {
            return;
        }
        let mut earlier = self.earlier.take().filter(|flight| flight.read() <= read);
        let known = earlier.as_ref().map_or(0, FlightState::read);
        for entry in self.own.iter().take(read as usize).skip(known as usize) {
            FlightState::fold(&mut earlier, entry);
        }
        self.earlier = earlier;
    }

    /// The handoff that an entry answers, as the engine took it.
    fn answered(&self, entry: &Entry, cause: &Cause, before: &Journal) -> Result<Input, Difference> {
        let known = self.known(cause);
        let Some(Known { line, .. }) = known else { return unsaid("the handoff that it answers") };
        let Ok((head, body)) = &line.body else { return unsaid("a handoff that can be read") };
        let facts = HandoffFacts::recorded(entry, body);
        brought(entry, body)?;
        let by_person = line.subject.role.as_str() == role::OPERATOR;
        if let Handed::Act(act) = body
            && by_person
        {
            let on_waypoint = line.subject.waypoint.is_some();
            let parts = self.parts(InputNeeds::of(&before.folded.state, act), before);
            if matches!(act, artifact::Act::Answer(_)) && parts.asked.is_none() {
                return unsaid("the question that it answers");
            }
            let input = Input::acted(act.clone(), (cause.clone(), false, on_waypoint), facts, parts);
            return input.ok_or_else(|| ("an act on a waypoint".to_owned(), format!("`{}`", act.verb().as_str())));
        }
        let Some(turn) = head.turn.clone() else { return unsaid("a handoff on a turn") };
        let parts = InputParts { turn: before.turn(&turn), ..InputParts::default() };
        let sender = (line.subject.role.clone(), head.agent.clone());
        let handoff = Handoff::on(turn, sender, cause.clone(), body);
        let body = line.report().map_or_else(|| body.clone(), |report| Handed::Reported(Box::new(report)));
        let input = Input::handed(handoff, body, facts, parts);
        input.ok_or_else(|| ("a handoff that ends a turn".to_owned(), format!("a {}", line.subject.kind)))
    }

    /// What an act is about, as it was read when it was taken.
    fn parts(&self, needs: InputNeeds, before: &Journal) -> InputParts {
        let asked = needs.asked.and_then(|(cause, _)| self.known(&cause)?.line.body.clone().ok());
        InputParts {
            turn: needs.turn.and_then(|turn| before.turn(&turn)),
            asked: asked.map(|(_, body)| body),
            feedback: before.feedback.clone().filter(|_| needs.feedback),
            voted: Vec::new(),
        }
    }

    fn known(&self, cause: &Cause) -> Option<&Known> {
        self.handoffs.get(&(cause.stream.clone(), cause.sequence))
    }
}

fn unsaid<T>(expected: &str) -> Result<T, Difference> {
    Err((expected.to_owned(), "it is not there".to_owned()))
}

/// What happened by itself: a beginning, a deadline, a budget, a head that moved.
fn unprompted(basis: &Basis, before: &Journal) -> Result<Input, Difference> {
    let turn = basis.turn.as_ref().and_then(|turn| before.turn(turn));
    let input =
        Input::unprompted(&basis.what, InputParts { turn, voted: before.voted.clone(), ..InputParts::default() });
    input.ok_or_else(|| ("a handoff, or something that is due".to_owned(), "neither is there".to_owned()))
}

/// The work that was taken is what was handed off: that commit, or the orchestrator's own with its tree.
fn brought(entry: &Entry, body: &Handed) -> Result<(), Difference> {
    let Some(Happened::Work { commit: Some(taken), .. }) = entry.record().basis.as_ref().map(|basis| &basis.what)
    else {
        return Ok(());
    };
    let handed: Option<(&Oid, &BundleRef)> = body.commit();
    let is_own = taken.bundle.blob.role.as_str() == role::ORCHESTRATOR;
    match handed {
        Some((commit, bundle)) if is_own || *commit == taken.commit && *bundle == taken.bundle => Ok(()),
        Some((commit, _)) => {
            Err((format!("the commit {commit}, which was handed off"), format!("{} was taken", taken.commit)))
        }
        None => Err(("no commit: none was handed off".to_owned(), "one was taken".to_owned())),
    }
}

/// The ids that were drawn.
fn fresh(entry: &Entry) -> Fresh {
    let undrawn = || ArtifactId::try_new("undrawn").expect("a literal id");
    let turn = match entry {
        Entry::Turn(turn) => turn.turn_id.clone(),
        _ => TurnId::try_new("undrawn").expect("a literal id"),
    };
    let decision = entry.decision().map_or_else(undrawn, |decision| decision.artifact_id.clone());
    Fresh { turn, decision, guidance: undrawn(), request: undrawn() }
}

fn compare(
    entry: &Entry,
    input: Input,
    before: &WaypointState,
    flight: &FlightState,
    waypoint: &Waypoint,
) -> Result<(), Difference> {
    let record = entry.record();
    let workflow = flight.workflow_of(waypoint, before).ok_or_else(|| {
        ("a sound workflow in the submission".to_owned(), format!("none for waypoint {}", waypoint.id))
    })?;
    let (now, conditions) = (record.at, record.conditions.as_slice());
    // What else was on its way then is in other journals: work may always wait for it.
    let is_first = !matches!(record.state.as_ref().map(|state| &state.phase), Some(Phase::Queued(_)));
    let cx = StepContext { flight, waypoint, workflow, now, conditions, is_first };
    match waypoint::step(before, input, &cx, &fresh(entry)) {
        EngineStep::Append(made) => unlike(&facts(&made), &facts(entry)).map_or(Ok(()), Err),
        EngineStep::Refuse(refusal) => {
            Err((format!("what it answers to be refused: {refusal}"), "it was taken".to_owned()))
        }
        EngineStep::Evaluate(wanted) => {
            let missing = format!("what came of the condition of gate {}", wanted.gate);
            Err((missing, "it is not recorded".to_owned()))
        }
        EngineStep::Reserve(_) => {
            Err(("a reservation of the flight's budget that covers it".to_owned(), "there is none".to_owned()))
        }
        EngineStep::Nothing => Err(("nothing: it is not due".to_owned(), format!("an entry {}", entry.schema_name()))),
    }
}
