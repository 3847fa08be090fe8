//! Taking every decision again: what the engine makes of the state before an entry and of what the entry answers has to
//! be what the entry says (FLY-30).
//!
//! The engine's inputs are read off the entry where nothing else shows them: ids, times, the head it stood on, what
//! git said.

use std::borrow::Cow;

use holdpoint_protocol::{
    artifact::{self, BuildArtifact, BuildStatus, Failure, HandIn, Handed, HandedHead, VerificationPurpose},
    facts::{BundleRef, Oid},
    ids::{ArtifactId, CriterionId, TurnId, WaypointId, role},
    journal::{Cause, Entry, Record},
    plan::Waypoint,
    reason::ReasonCode,
    state::{Outcome, Phase, Purpose, WaypointState, Work},
    turn::{Feedback, Turn, TurnRequest},
};

use super::{
    Auditor, Before, BrokenLink, EntryLine, HandoffLine, Known,
    differences::{Difference, facts, unlike},
    known::{as_of, configured_as_of},
};
use crate::{
    budget,
    state::FlightState,
    waypoint::{
        self, Advised, AgentQuestion, Behind, BuildOutcome, BundledCommit, Died, EngineStep, Fresh, HandingIn, Handoff,
        Input, MergeResult, Merged, Migrating, Oversize, PersonAct, PersonAnswer, Releasing, ReportInput, Retrying,
        StepContext, Taking, Voted,
    },
};

/// What work is verified for that a maker handed off.
const HANDOFF: Purpose = Purpose::Verify(VerificationPurpose::Handoff);

impl Auditor {
    /// Takes the decision of an entry again.
    pub(super) fn redecide(&mut self, line: &EntryLine, entry: &Entry, waypoint: &WaypointId, before: &Before) {
        self.counts.decisions += 1;
        let difference = self.difference(entry, waypoint, before);
        if let Err((expected, found)) = difference {
            self.broken(BrokenLink::Decision, line.reference(), Some(waypoint.clone()), expected, found);
        }
    }

    fn difference(&self, entry: &Entry, waypoint: &WaypointId, before: &Before) -> Result<(), Difference> {
        let Some(flight) = &self.state else {
            return Err(("the submission of the flight before it".to_owned(), "there is none".to_owned()));
        };
        let Some(planned) = flight.planned(waypoint) else {
            return Err((
                format!("a waypoint of the plan {}", flight.submitted.plan.plan),
                "none of this name".to_owned(),
            ));
        };
        let record = entry.record();
        let cause = record.cause.as_ref().and_then(|c| self.handoffs.get(&(c.stream.clone(), c.sequence)));
        let focused = waypoint::before_entry(&before.folded.state, entry);
        let asked = match &focused.phase {
            Phase::Waiting(question) => Some(&question.asked),
            Phase::InTurn(open) => open.asking().map(|question| &question.asked),
            _ => None,
        };
        let asked = asked.and_then(|asked| self.handoffs.get(&(asked.stream.clone(), asked.sequence)));
        let asked = asked.map(|known| &known.line);
        let Before { folded, turn, feedback, voted } = before;
        let focused = focused.as_ref();
        let seen = Seen { entry, record, before: &folded.state, focused, turn, feedback, voted, asked };
        let input = match cause {
            Some(known) => seen.answered(known)?,
            None if seen.may_be_of_wall(flight, planned) => {
                let of_wall = compare(&seen, Input::BudgetExhausted, flight, planned);
                // What turns use up may be exhausted at the same moment: then it is what came of something that was due.
                if of_wall.is_ok() || !budget::is_limited(&flight.submitted.plan, planned) {
                    return of_wall;
                }
                seen.unprompted()?
            }
            None => seen.unprompted()?,
        };
        self.due(flight, waypoint, &input)?;
        compare(&seen, input, flight, planned)
    }
}

/// An entry, and the state before it.
struct Seen<'a> {
    entry: &'a Entry,
    record: &'a Record,
    before: &'a WaypointState,
    /// As the branch of a fork saw it that the entry is about.
    focused: &'a WaypointState,
    /// The turn that the entry is about.
    turn: &'a Option<Box<Turn>>,
    feedback: &'a Option<Box<Feedback>>,
    voted: &'a [Voted],
    /// The handoff that asked the question that was open.
    asked: Option<&'a HandoffLine>,
}

impl Seen<'_> {
    fn after(&self) -> Option<&WaypointState> {
        self.record.state.as_ref()
    }

    fn reason(&self) -> Option<ReasonCode> {
        self.entry.decision().map(|decision| decision.reason_code)
    }

    /// The handoff that was taken.
    fn answered(&self, known: &Known) -> Result<Input, Difference> {
        let (Ok((head, body)), Some(cause)) = (&known.line.body, &self.record.cause) else {
            return Err(("a handoff that can be read".to_owned(), "it cannot".to_owned()));
        };
        let by_person = known.line.subject.role.as_str() == role::OPERATOR;
        if let Handed::Act(act) = body
            && by_person
        {
            return self.acted(act, known.line.subject.waypoint.is_some(), cause);
        }
        let HandedHead { turn, agent, .. } = head.clone();
        let turn = turn.ok_or_else(|| ("a handoff on a turn".to_owned(), "it names none".to_owned()))?;
        let opened = self.turn.as_ref().filter(|opened| opened.turn_id == turn);
        let told = opened.and_then(|opened| opened.told().cloned()).map(Box::new);
        let (role, cause) = (known.line.subject.role.clone(), cause.clone());
        let metered = body.metered().cloned().map(Box::new);
        let left_out = body.left_out().to_vec();
        let handoff = Handoff { turn, role, agent, cause, told, metered, left_out, body: () };
        Ok(match body {
            Handed::Built(artifact) => Input::Built(handoff.with(self.outcome(artifact)?)),
            Handed::Reported(report) => {
                let report = known.line.report().unwrap_or_else(|| report.as_ref().clone());
                let for_build = opened.and_then(|turn| turn.for_build.clone());
                let touched = self.touched();
                Input::Reported(handoff.with(Box::new(ReportInput { report, for_build, touched })))
            }
            Handed::Clarify(_) | Handed::Help(_) => Input::Asked(handoff.with(Box::new(self.question(body)?))),
            Handed::Act(artifact::Act::Complete(completion)) if self.is_advised() => {
                let (completion, turn) = (completion.as_ref().clone(), self.turn()?);
                Input::Advised(handoff.with(Box::new(Advised { completion, turn })))
            }
            Handed::Act(artifact::Act::Complete(completion)) => Input::Fulfilled(handoff.with(completion.clone())),
            Handed::Act(_) => return Err(("a handoff of an agent".to_owned(), "a person's act".to_owned())),
            Handed::Plan => match self.entry {
                Entry::Dead(dead) => {
                    let (turn, cause) = (handoff.turn, handoff.cause);
                    Input::Died(Died { turn, cause, deaths: dead.deaths.clone() })
                }
                _ => return Err(("a handoff that ends a turn".to_owned(), "a plan".to_owned())),
            },
            Handed::GivenBack => {
                return Err(("a handoff that ends a turn".to_owned(), "one that gives it back".to_owned()));
            }
            Handed::Status(_) => return Err(("a handoff that ends a turn".to_owned(), "a status update".to_owned())),
            Handed::Exchange(_) => {
                return Err(("a handoff that ends a turn".to_owned(), "a record of an exchange".to_owned()));
            }
        })
    }

    /// What git said of touched paths, as the state after it has it.
    fn touched(&self) -> Vec<CriterionId> {
        let kept = || match &self.before.phase {
            Phase::Queued(queued) => Some(&queued.gate),
            _ => None,
        };
        let gate = self.focused.phase.turn().map(|open| &open.gate).or_else(kept);
        self.after().zip(gate).map(|(after, gate)| waypoint::held(after, gate)).unwrap_or_default()
    }

    /// Whether an advisor had the turn.
    fn is_advised(&self) -> bool {
        matches!(&self.focused.phase, Phase::InTurn(open) if open.purpose == Purpose::Advise)
    }

    /// The turn that the entry is about.
    fn turn(&self) -> Result<Box<Turn>, Difference> {
        self.turn.clone().ok_or_else(|| ("the turn that is open".to_owned(), "no entry opens it".to_owned()))
    }

    /// A question. What git said of the work in progress is in the entry.
    fn question(&self, body: &Handed) -> Result<AgentQuestion, Difference> {
        let work = match body {
            Handed::Clarify(asked) => asked.work.as_ref(),
            Handed::Help(help) => help.work.as_ref(),
            _ => None,
        };
        let kept = self.after().and_then(|state| state.work.as_ref());
        let work = work.zip(kept).filter(|(handed, kept)| kept.commit.as_ref() == Some(&handed.commit));
        let work = work.map(|(handed, kept)| BundledCommit {
            commit: handed.commit.clone(),
            tree: kept.tree.clone(),
            bundle: handed.bundle.clone(),
        });
        match body {
            Handed::Clarify(asked) => Ok(AgentQuestion::question(asked, work, self.turn()?)),
            Handed::Help(help) => Ok(AgentQuestion::help(help, work, self.turn()?)),
            _ => Err(("a question".to_owned(), "something else".to_owned())),
        }
    }

    /// What a person did.
    fn acted(&self, act: &artifact::Act, on_waypoint: bool, cause: &Cause) -> Result<Input, Difference> {
        let (by, cause) = (act.agent().clone(), cause.clone());
        Ok(match act {
            artifact::Act::Answer(response) => {
                let Some(Ok((_, asked @ (Handed::Clarify(_) | Handed::Help(_))))) = self.asked.map(|line| &line.body)
                else {
                    return Err(("the question that it answers".to_owned(), "it cannot be read".to_owned()));
                };
                let body = Box::new(PersonAnswer::to(Some(asked), response.as_ref().clone(), self.turn.clone()));
                Input::Answered(PersonAct { by, cause, overtaken: false, body })
            }
            artifact::Act::Complete(completion) => {
                Input::Completed(PersonAct { by, cause, overtaken: false, body: completion.clone() })
            }
            artifact::Act::Retry(retry) => {
                let (turn, feedback) = (self.turn.clone(), self.feedback.clone());
                let body = Box::new(Retrying { retry: retry.as_ref().clone(), turn, feedback });
                Input::Retried(PersonAct { by, cause, overtaken: false, body })
            }
            artifact::Act::Take(take) => {
                let body = Box::new(Taking { on: take.on.clone(), turn: self.turn.clone() });
                Input::Taken(PersonAct { by, cause, overtaken: false, body })
            }
            artifact::Act::Release(release) => {
                let body = Box::new(Releasing { on: release.on.clone(), turn: self.turn.clone() });
                Input::Released(PersonAct { by, cause, overtaken: false, body })
            }
            artifact::Act::HandIn(work) => {
                let outcome = self.handed_in(work)?;
                let (verdicts, turn) = (work.verdicts.clone(), self.turn.clone());
                let body = Box::new(HandingIn { on: work.on.clone(), outcome, verdicts, turn });
                Input::HandedIn(PersonAct { by, cause, overtaken: false, body })
            }
            artifact::Act::Revise(revise) => {
                Input::Revised(PersonAct { by, cause, overtaken: false, body: revise.clone() })
            }
            artifact::Act::Cancel(cancel) => {
                Input::Cancelled(PersonAct { by, cause, overtaken: false, body: on_waypoint.then(|| cancel.clone()) })
            }
            artifact::Act::Reconfigure(_) if !on_waypoint => {
                let (turn, feedback) = (self.turn.clone(), self.feedback.clone());
                let body = Box::new(Migrating { turn, feedback });
                Input::Reconfigured(PersonAct { by, cause, overtaken: false, body })
            }
            artifact::Act::Reconfigure(_)
            | artifact::Act::Pause(_)
            | artifact::Act::Resume(_)
            | artifact::Act::Budget(_) => {
                return Err(("an act on a waypoint".to_owned(), format!("`{}`", act.verb().as_str())));
            }
        })
    }

    /// Whether the gate that was open before the entry was left as complete.
    fn is_left_complete(&self) -> bool {
        let Some(open) = self.before.history.last().filter(|visit| visit.exited.is_none()) else { return false };
        let visits = self.after().map(|state| state.history.as_slice()).unwrap_or_default();
        let left = visits.iter().rev().find(|visit| visit.gate == open.gate && visit.entered == open.entered);
        left.is_some_and(|visit| visit.outcome == Some(Outcome::Complete))
    }

    /// What git said of handed-off work is in the entry: which tree, which broken rules, or that it could not be used.
    fn outcome(&self, artifact: &BuildArtifact) -> Result<BuildOutcome, Difference> {
        if artifact.status == BuildStatus::Failed {
            let unsaid = || Failure { reason: ReasonCode::AgentFailed, detail: String::new() };
            let failure = artifact.failure.clone().unwrap_or_else(unsaid);
            return Ok(BuildOutcome::Failed(failure, self.left(artifact)));
        }
        if !self.is_left_complete() {
            let failure = Failure { reason: ReasonCode::HandoffInvalid, detail: String::new() };
            return Ok(BuildOutcome::Failed(failure, None));
        }
        self.work_of(artifact.commit.as_ref(), artifact.bundle.as_ref())
    }

    /// The files that a failed turn left, where they were taken.
    fn left(&self, artifact: &BuildArtifact) -> Option<BundledCommit> {
        let handed = artifact.commit.as_ref()?;
        match self.work_of(Some(handed), artifact.bundle.as_ref()) {
            Ok(BuildOutcome::Work { commit, .. }) => commit.filter(|kept| kept.commit == *handed),
            Ok(BuildOutcome::Failed(..)) | Err(_) => None,
        }
    }

    /// What git said of the work of a person; of verdicts it says nothing.
    fn handed_in(&self, handed: &HandIn) -> Result<BuildOutcome, Difference> {
        if !handed.verdicts.is_empty() {
            return Ok(BuildOutcome::Work { commit: None, violations: Vec::new() });
        }
        self.work_of(handed.commit.as_ref(), handed.bundle.as_ref())
    }

    /// What git said of a commit that was taken: that one, or the orchestrator's own with its tree.
    fn work_of(&self, commit: Option<&Oid>, bundle: Option<&BundleRef>) -> Result<BuildOutcome, Difference> {
        let work = self.after().and_then(|state| state.work.as_ref());
        match (commit, work) {
            (Some(commit), Some(Work { commit: Some(taken), tree, violations, bundle: kept, .. })) => {
                let stated = kept.clone().filter(|kept| kept.blob.role.as_str() == role::ORCHESTRATOR);
                let Some(bundle) = stated.or_else(|| bundle.cloned().filter(|_| commit == taken)) else {
                    return Err((format!("the commit {commit}, which was handed off"), format!("{taken} was taken")));
                };
                let commit = Some(BundledCommit { commit: taken.clone(), tree: tree.clone(), bundle });
                Ok(BuildOutcome::Work { commit, violations: violations.clone() })
            }
            // The same tree as the base's: nothing changed.
            (_, Some(Work { commit: None, .. })) => Ok(BuildOutcome::Work { commit: None, violations: Vec::new() }),
            (None, Some(_)) => Err(("no commit: none was handed off".to_owned(), "one was taken".to_owned())),
            (_, None) => Err(("the handed-off work".to_owned(), "no work was taken".to_owned())),
        }
    }

    /// Whether the flight's time may be what was used up. Of another budget it is what came of something that was due.
    fn may_be_of_wall(&self, flight: &FlightState, planned: &Waypoint) -> bool {
        let at = self.record.at;
        self.reason() == Some(ReasonCode::BudgetExhausted)
            && (!budget::is_limited(&flight.submitted.plan, planned)
                || flight.wall_end(at).is_some_and(|end| end <= at))
    }

    /// What happened by itself: a beginning, a deadline, a budget, a head that moved.
    fn unprompted(&self) -> Result<Input, Difference> {
        if self.reason() == Some(ReasonCode::EntryTooLarge) {
            // How large it was is in the words for people only.
            return Ok(Input::TooLarge(Oversize { bytes: 0, most: 0 }));
        }
        match &self.focused.phase {
            _ if self.is_recalled() => Ok(Input::Recalled),
            Phase::Pending => Ok(Input::Open),
            Phase::Delegated(_) => Ok(Input::Gathered),
            Phase::Forked => Ok(if self.stays_in_fork() { Input::Open } else { Input::Joined(self.voted.to_vec()) }),
            // Only a merge moves the base of a turn that is open.
            Phase::InTurn(_) if self.before.stacked.is_some() && self.is_moved() => self.merged(),
            Phase::Queued(_) if self.reason() == Some(ReasonCode::LandingHeld) => {
                Ok(Input::LandingFailed(String::new()))
            }
            Phase::Queued(_) => self.merged(),
            Phase::InTurn(_) => Ok(Input::DeadlinePassed(self.turn()?)),
            Phase::Waiting(_) => Ok(Input::AnswerOverdue),
            Phase::Accepted { .. } if self.reason() == Some(ReasonCode::LandingHeld) => {
                Ok(Input::LandingFailed(String::new()))
            }
            Phase::Accepted { .. } => self.merged(),
            Phase::Held(_) => Err(("an act of a person".to_owned(), "held work moved on by itself".to_owned())),
            Phase::Cancelled => Err(("nothing behind the end of a waypoint".to_owned(), "an entry".to_owned())),
        }
    }

    /// Whether it ended without an act on it: its parent did not want it any more.
    fn is_recalled(&self) -> bool {
        self.after().is_some_and(|after| after.phase == Phase::Cancelled) && self.before.phase != Phase::Cancelled
    }

    /// Whether the work is in the same fork after the entry.
    fn stays_in_fork(&self) -> bool {
        let entered = |state: &WaypointState| state.fork.as_ref().map(|fork| (fork.fork.clone(), fork.since));
        self.after().and_then(entered) == entered(self.before)
    }

    /// Whether the work stands on another commit after the entry.
    fn is_moved(&self) -> bool {
        self.after().is_some_and(|after| after.base != self.before.base)
    }

    fn merged(&self) -> Result<Input, Difference> {
        let unmerged = waypoint::unmerged(self.before).map(|(work, _)| work);
        let commit = unmerged.and_then(|work| work.commit.clone());
        let (Some(after), Some(work)) = (self.after(), commit) else {
            return Err(("work to integrate".to_owned(), "there is none".to_owned()));
        };
        let base = after.base.clone().ok_or_else(|| ("a head".to_owned(), "none".to_owned()))?;
        let (head, behind) = match &after.stacked {
            None => (base, None),
            Some(stacked) => {
                let (waypoints, tree) = (stacked.behind.clone(), stacked.base_tree.clone());
                (stacked.on.clone(), Some(Behind { waypoints, commit: base, tree }))
            }
        };
        let merge = match &after.work {
            Some(_) if after.stacked.is_none() && after.work.as_ref() == unmerged => MergeResult::AsItIs,
            None => {
                let collision = match self.entry {
                    Entry::Turn(turn) => match &turn.request {
                        TurnRequest::Build(request) => request.feedback.as_ref().and_then(|f| f.collision.as_ref()),
                        TurnRequest::Verify(_) => turn.for_build.as_ref().and_then(|f| f.collision.as_ref()),
                        TurnRequest::Complete(request) => request.feedback.as_ref().and_then(|f| f.collision.as_ref()),
                    },
                    Entry::Decided(decided) => decided.feedback.as_ref().and_then(|f| f.collision.as_ref()),
                    _ => None,
                };
                let (paths, paths_more) = collision.map(|c| (c.paths.clone(), c.paths_more)).unwrap_or_default();
                MergeResult::Conflict { paths, paths_more, changed_by: Default::default() }
            }
            Some(Work { commit: Some(commit), tree, bundle: Some(bundle), violations, .. }) => {
                let commit = BundledCommit { commit: commit.clone(), tree: tree.clone(), bundle: bundle.clone() };
                MergeResult::Clean { commit, violations: violations.clone(), same_diff: after.cleared }
            }
            Some(_) => MergeResult::Contained,
        };
        Ok(Input::Integrated(Merged { work, head, behind, merge }))
    }

    /// The ids that were drawn.
    fn fresh(&self) -> Fresh {
        let undrawn = || ArtifactId::try_new("undrawn").expect("a literal id");
        let turn = match self.entry {
            Entry::Turn(turn) => turn.turn_id.clone(),
            _ => TurnId::try_new("undrawn").expect("a literal id"),
        };
        let decision = self.entry.decision().map_or_else(undrawn, |decision| decision.artifact_id.clone());
        Fresh { turn, decision, guidance: undrawn(), request: undrawn() }
    }
}

fn compare(seen: &Seen<'_>, input: Input, flight: &FlightState, planned: &Waypoint) -> Result<(), Difference> {
    let mut known = configured_as_of(flight, seen.after())?;
    if let Some(after) = seen.after().filter(|_| budget::is_limited(&flight.submitted.plan, planned)) {
        let used = match seen.entry {
            Entry::Turn(turn) => turn.allowance.and_then(|allowance| allowance.reservation),
            _ => None,
        };
        known.to_mut().budget = flight.budget.as_of(after.spent.raises, used);
    }
    let flight: &FlightState = &known;
    let flight = match stood_on(seen, &input) {
        Some(base) => as_of(flight, base)
            .ok_or_else(|| ("to stand on a head of the flight's branch".to_owned(), format!("it stands on {base}")))?,
        None => Cow::Borrowed(flight),
    };
    let workflow = flight.workflow_of(planned, seen.before).ok_or_else(|| {
        ("a sound workflow in the submission".to_owned(), format!("none for waypoint {}", planned.id))
    })?;
    let cx = StepContext {
        flight: &flight,
        waypoint: planned,
        workflow,
        now: seen.record.at,
        conditions: &seen.record.conditions,
        // What else was on its way then is in other journals: work may always wait for it.
        is_first: !matches!(seen.after().map(|state| &state.phase), Some(Phase::Queued(_))),
    };
    match waypoint::step(seen.before, input, &cx, &seen.fresh()) {
        EngineStep::Append(made) => unlike(&facts(&made), &facts(seen.entry)).map_or(Ok(()), Err),
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
        EngineStep::Nothing => {
            Err(("nothing: it is not due".to_owned(), format!("an entry {}", seen.entry.schema_name())))
        }
    }
}

/// The head that the deciding orchestrator knew, where the decision depends on it.
fn stood_on<'a>(seen: &Seen<'a>, input: &Input) -> Option<&'a Oid> {
    let after = seen.record.state.as_ref()?;
    match input {
        Input::Open | Input::Gathered | Input::Integrated(_) => {
            after.stacked.as_ref().map(|stacked| &stacked.on).or(after.base.as_ref())
        }
        // Work that is begun again, or planned again, stands on the newest head.
        Input::Retried(_) if after.base != seen.before.base => after.base.as_ref(),
        // Integrated work that is not accepted: either what is in front of it had landed, or it had not.
        Input::Reported(_) => {
            let stacked = seen.before.stacked.as_ref()?;
            if after.stacked.is_some() { Some(&stacked.on) } else { after.base.as_ref() }
        }
        _ => match &after.phase {
            // Work that comes to a verifier as it is stands on the head.
            Phase::InTurn(open) if open.purpose == HANDOFF && after.stacked.is_none() => after.base.as_ref(),
            _ => None,
        },
    }
}
