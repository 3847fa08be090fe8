//! Reading a journal back: the state after the last entry, checked against the chain and the machine's invariants.

use holdpoint_protocol::{
    Digest,
    facts::Verdict,
    ids::role,
    journal::{Entry, Record, Sequence},
    state::{Counters, Held, Phase, Resume, Status, WaypointState},
    streams,
};

use super::{advising, asking, forking, revising, stacking, taking, visits};

/// Something in a journal that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alarm {
    /// An entry was lost or changed: the chain of digests is broken.
    #[error("entry {sequence:?} does not follow the entry before it: the journal lost or changed an entry")]
    ChainBroken {
        /// Where.
        sequence: Sequence,
    },
    /// An entry without a state, in a waypoint's journal.
    #[error("entry {sequence:?} carries no state")]
    NoState {
        /// Where.
        sequence: Sequence,
    },
    /// An invariant does not hold; only a bug of ours can do that.
    #[error("entry {sequence:?} breaks an invariant: {what}")]
    Invariant {
        /// Where.
        sequence: Sequence,
        /// Which one.
        what: String,
    },
}

/// The fold of a journal's beginning: where the next entry has to fit on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// The state after the last entry.
    pub state: WaypointState,
    /// The digest of the last entry's payload.
    pub last: Option<Digest>,
}

impl Folded {
    /// Takes the next entry, with its position and the digest of its payload.
    ///
    /// # Errors
    /// An [`Alarm`]; nothing after it can be trusted, and `self` is as it was.
    pub fn take(&mut self, sequence: Sequence, digest: Digest, entry: &Entry) -> Result<(), Alarm> {
        let record: &Record = entry.record();
        if record.previous != self.last {
            return Err(Alarm::ChainBroken { sequence });
        }
        let next = record.state.as_ref().ok_or(Alarm::NoState { sequence })?;
        if let Some(what) = invariants(&self.state, next, entry) {
            return Err(Alarm::Invariant { sequence, what });
        }
        self.state = next.clone();
        self.last = Some(digest);
        Ok(())
    }
}

/// The first invariant that a transition breaks, in words; `None` for a sound one (spec FLY-I3, I5, I8, I9).
#[must_use]
pub fn invariants(before: &WaypointState, after: &WaypointState, entry: &Entry) -> Option<String> {
    if matches!(
        entry,
        Entry::Submitted(_)
            | Entry::Landed(_)
            | Entry::Steered(_)
            | Entry::Reserved(_)
            | Entry::Added(_)
            | Entry::Retired(_)
    ) {
        return Some("an entry of a flight's journal".to_owned());
    }
    if entry.decision().is_some_and(|d| d.source_refs.is_empty()) {
        return Some("a decision without references".to_owned());
    }
    let counts = |s: &WaypointState| {
        // Earlier versions drop the last two.
        let Counters {
            attempts,
            reworks,
            conflicts,
            clarifications,
            granted,
            redeliveries: _,
            rollbacks: _,
            interventions: _,
        } = s.counters;
        [attempts, reworks, conflicts, clarifications, granted]
    };
    if counts(before).iter().zip(counts(after)).any(|(before, after)| after < *before) {
        return Some("a counter went down".to_owned());
    }
    let by_agent =
        entry.record().cause.as_ref().is_some_and(|cause| cause.stream != streams::handoff(&role::id(role::OPERATOR)));
    if let Some(what) = taking::misfit(before, after, by_agent) {
        return Some(what.to_owned());
    }
    if after.spent.used != after.spent.used.max(before.spent.used) || after.spent.step < before.spent.step {
        return Some("what was spent went down".to_owned());
    }
    if let Some(what) = advising::misfit(before, after).or_else(|| stacking::misfit(after)) {
        return Some(what.to_owned());
    }
    if after.configured.by < before.configured.by {
        return Some("decided by workflows that were replaced before".to_owned());
    }
    let left = match &before.phase {
        Phase::Cancelled => Some("a cancelled waypoint moved on"),
        // Only an act of a person, which its entry names, or the end of a budget that was used up twice.
        // Nor the end of a child that its parent does not want any more.
        Phase::Held(_) if entry.record().cause.is_none() && after.phase != Phase::Cancelled => {
            Some("held work moved on by itself")
        }
        Phase::Waiting(_) if matches!(after.phase, Phase::Accepted { .. }) => {
            Some("accepted while a question was open")
        }
        _ => None,
    };
    left.map(str::to_owned).or_else(|| misfit(before, after, entry)).or_else(|| {
        let lost = !visits::only_grew(before, after);
        lost.then(|| "a visit of a gate was changed or lost".to_owned())
    })
}

/// Whether the state after an entry is not one that such an entry leads to.
fn misfit(before: &WaypointState, after: &WaypointState, entry: &Entry) -> Option<String> {
    if let Entry::Revised(revised) = entry {
        return revising::misfit(before, after, &revised.document).map(str::to_owned);
    }
    let another = || "the state names another turn than the entry".to_owned();
    match (&after.phase, entry) {
        (Phase::InTurn(open), Entry::Turn(turn)) => (open.turn != turn.turn_id || open.role != turn.role).then(another),
        (Phase::InTurn(open), Entry::Decided(_) | Entry::Answered(_)) => {
            asking::misfit(before, open, entry).map(str::to_owned)
        }
        (Phase::Forked, _) => forking::misfit(before, after, entry),
        (Phase::Held(Held { resume: Resume::Turn(open), .. }), Entry::Dead(dead)) => {
            (open.turn != dead.turn).then(another)
        }
        (Phase::Accepted { report, .. }, Entry::Decided(_)) => accepted_without_evidence(*report, after),
        (Phase::Held(held), Entry::Decided(_)) => (!matches!(held.status, Status::Blocked | Status::Failed))
            .then(|| format!("held with status {:?}", held.status)),
        (Phase::Delegated(_), Entry::Decided(_)) => {
            after.work.is_some().then(|| "children are to do the work of one that has some".to_owned())
        }
        (Phase::Waiting(_) | Phase::Cancelled, Entry::Decided(_)) | (Phase::Queued(_), Entry::Queued(_)) => None,
        _ => Some("the state's phase does not fit the entry".to_owned()),
    }
}

/// Invariant 4: accepted only with a passing verification of the very tree that lands. What nothing verified lands nothing.
fn accepted_without_evidence(report: Option<Digest>, after: &WaypointState) -> Option<String> {
    let Some(work) = &after.work else {
        return report.map(|_| "accepted by a report, without work".to_owned());
    };
    let Some(verified) = &after.verified else { return Some("accepted without a verification".to_owned()) };
    if report != Some(verified.report) {
        return Some("accepted by another report than the one that passed".to_owned());
    }
    if verified.tree != work.tree || after.base.as_ref() != Some(&verified.base) {
        return Some("accepted with another tree, or on another base, than was verified".to_owned());
    }
    let shown = after.criteria.iter().all(|c| c.verdict == Verdict::Pass && !c.evidence.is_empty());
    (!shown || after.criteria.is_empty()).then(|| "accepted without evidence for every criterion".to_owned())
}
