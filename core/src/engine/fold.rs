//! Reading a journal back: the state after the last entry, checked against the chain and the machine's invariants.

use holdpoint_protocol::{
    Digest,
    artifact::VerificationPurpose,
    facts::Verdict,
    journal::{Entry, Record, Sequence},
    state::{Phase, Purpose, Status, WaypointState},
};

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
    if matches!(entry, Entry::Submitted(_) | Entry::Landed(_)) {
        return Some("an entry of a flight's journal".to_owned());
    }
    if entry.decision().is_some_and(|d| d.source_refs.is_empty()) {
        return Some("a decision without references".to_owned());
    }
    let counts = |s: &WaypointState| (s.counters.attempts, s.counters.reworks, s.counters.conflicts);
    let ((a0, r0, c0), (a1, r1, c1)) = (counts(before), counts(after));
    if a1 < a0 || r1 < r0 || c1 < c0 {
        return Some("a counter went down".to_owned());
    }
    if matches!(before.phase, Phase::Halted { .. }) {
        return Some("a halted waypoint moved on".to_owned());
    }
    if matches!(before.phase, Phase::Dead(_)) && !matches!(entry, Entry::Turn(_)) {
        return Some("a dead turn moved on without being opened anew".to_owned());
    }
    match (&after.phase, entry) {
        (Phase::InTurn(open), Entry::Turn(turn)) => (open.turn != turn.turn_id || open.role != turn.role)
            .then(|| "the state names another turn than the entry".to_owned()),
        (Phase::Dead(open), Entry::Dead(dead)) => {
            (open.turn != dead.turn).then(|| "the state names another turn than the entry".to_owned())
        }
        (Phase::Accepted { .. }, Entry::Decided(_)) => accepted_without_evidence(before, after),
        (Phase::Halted { status }, Entry::Decided(_)) => {
            matches!(status, Status::Pending | Status::Running | Status::Complete)
                .then(|| format!("halted with status {status:?}"))
        }
        _ => Some("the state's phase does not fit the entry".to_owned()),
    }
}

fn accepted_without_evidence(before: &WaypointState, after: &WaypointState) -> Option<String> {
    let judging = [VerificationPurpose::Handoff, VerificationPurpose::Merge].map(Purpose::Verify);
    let verifying = matches!(&before.phase, Phase::InTurn(open) if judging.contains(&open.purpose));
    let shown = after.criteria.iter().all(|c| c.verdict == Verdict::Pass && !c.evidence.is_empty());
    match (verifying, shown && !after.criteria.is_empty()) {
        (false, _) => Some("accepted outside a verifier's turn".to_owned()),
        (true, false) => Some("accepted without evidence for every criterion".to_owned()),
        (true, true) => None,
    }
}
