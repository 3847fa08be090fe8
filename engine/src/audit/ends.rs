//! What is missing at the end: tails of journals, and evidence.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    Digest,
    export::{Cut, JournalEnd},
    journal::EntryRef,
};

use super::{Audit, Auditor, BrokenLink, lines::reference};

/// The bytes of evidence that an export holds; `Err` says what is wrong with one.
pub type Bytes = BTreeMap<Digest, Result<(), String>>;

/// Where a file of an export is cut off, or does not hold as much as it says.
pub const THE_END: &str = "the end";

impl Auditor {
    /// Looks at what is missing, and says what was found.
    ///
    /// `cut` is where the journals ended as the orchestrator that made the export saw it; without one all handoffs are
    /// taken for known. `bytes` is the evidence that is there; without it evidence is not looked at.
    #[must_use]
    pub fn finish(mut self, cut: Option<&Cut>, bytes: Option<&Bytes>) -> Audit {
        if self.state.is_none() {
            let at = format!("flight {}", self.flight);
            self.broken(BrokenLink::Entry, at, None, "the submission of the flight", "no entry begins it");
        }
        if let Some(cut) = cut {
            self.sealed(cut);
        }
        self.tails(cut);
        self.counts.evidence = self.evidence.len() as u64;
        if let Some(bytes) = bytes {
            self.evidence(bytes);
        }
        // That something is missing somewhere says less than where.
        self.findings.sort_by_key(|finding| finding.link == BrokenLink::File && finding.at == THE_END);
        Audit { flight: self.flight, findings: self.findings, counts: self.counts }
    }

    /// Every journal ends where it ended when the export was made.
    fn sealed(&mut self, cut: &Cut) {
        if cut.flight != self.flight {
            let expected = format!("a seal of flight {}", self.flight);
            self.broken(BrokenLink::Seal, "the seal".to_owned(), None, expected, format!("one of {}", cut.flight));
            return;
        }
        for JournalEnd { waypoint, sequence, digest } in &cut.journals {
            let journal = self.journals.get(waypoint);
            let found = journal.map(|journal| (journal.sequence, journal.folded.last));
            if found.is_some_and(|(at, last)| at == *sequence && last == Some(*digest)) {
                continue;
            }
            let found = match found {
                None => "it is not there".to_owned(),
                Some((at, _)) if at < *sequence => format!("it ends with {}: a tail was lost", reference(at)),
                Some((at, _)) => format!("it ends with {}, or with another entry there", reference(at)),
            };
            let expected = format!("a journal that ends with {} ({digest})", reference(*sequence));
            self.broken(BrokenLink::Seal, reference(*sequence), waypoint.clone(), expected, found);
        }
        let unsealed = |waypoint: &_| !cut.journals.iter().any(|end| end.waypoint == *waypoint);
        let more: Vec<_> = self.journals.keys().filter(|waypoint| unsealed(waypoint)).cloned().collect();
        for waypoint in more {
            self.broken(
                BrokenLink::Seal,
                "the seal".to_owned(),
                waypoint,
                "no entries of this journal",
                "there are some",
            );
        }
    }

    /// What agents say they answered is there: a turn's name cannot be guessed, so an agent that names one has seen its
    /// entry.
    fn tails(&mut self, cut: Option<&Cut>) {
        let mut lost = Vec::new();
        for known in self.handoffs.values() {
            let line = &known.line;
            let (Ok(_), Ok((head, _))) = (&line.sender, &line.body) else { continue };
            let ends = cut.map(|cut| cut.handoffs.iter().find(|end| end.stream == line.stream));
            if ends.is_some_and(|end| end.is_none_or(|end| line.sequence > end.known)) {
                // It came while the export was made: its turn may have opened meanwhile, too.
                continue;
            }
            let named = head.source_refs.iter().find_map(|one| EntryRef::parse(one));
            // An act names no turn: a person may have been late.
            let Some(turn) = &head.turn else { continue };
            let wrong = match self.turns.get(turn) {
                None => {
                    let entry = named.map_or_else(|| "the one".to_owned(), |named| reference(named.sequence));
                    let found = format!("no entry opens it: {entry}, which {} saw, was lost", head.agent);
                    Some((format!("turn {turn}, which this handoff is on"), found))
                }
                Some(opened) if named.is_some_and(|named| named.sequence != opened.sequence) => {
                    let expected = format!("turn {} to stand where {} saw it", turn, head.agent);
                    Some((expected, format!("it stands at {}", reference(opened.sequence))))
                }
                Some(opened) if named.and_then(|n| n.digest).is_some_and(|digest| digest != opened.digest) => {
                    let expected = format!("turn {} as {} saw it", turn, head.agent);
                    let found = format!("the entry has the digest {}: it was changed since", opened.digest);
                    Some((expected, found))
                }
                Some(_) => None,
            };
            lost.extend(
                wrong.map(|(expected, found)| (line.reference(), line.subject.waypoint.clone(), expected, found)),
            );
        }
        for (at, waypoint, expected, found) in lost {
            self.broken(BrokenLink::Tail, at, waypoint, expected, found);
        }
    }

    /// Each blob is what its name says, and the evidence of each pass is there.
    fn evidence(&mut self, bytes: &Bytes) {
        let mut wrong = Vec::new();
        for (digest, (report, needed)) in &self.evidence {
            match bytes.get(digest) {
                Some(Ok(())) => {}
                Some(Err(why)) => wrong.push((report.clone(), format!("evidence {digest}"), why.clone())),
                None if *needed => {
                    wrong.push((report.clone(), format!("evidence {digest}"), "it is not there".to_owned()));
                }
                None => {}
            }
        }
        for (at, expected, found) in wrong {
            self.broken(BrokenLink::Evidence, at, None, expected, found);
        }
    }
}
