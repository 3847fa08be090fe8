//! Who signed many entries, checked together: reading a large journal is mostly this. The answers are those of
//! [`Stored::is_orchestrators`] for each entry; what an entry says is not looked at.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use holdpoint_protocol::{ids::FlightId, subjects};

use crate::{
    auth::{SignedInput, TrustRoots, verify_all},
    message::Stored,
};

/// Entries that are checked as one: those of a batch that a replay gives. Larger groups cost less for each entry, and one bad
/// entry costs its group a second check.
const GROUP_LEN: usize = 512;

/// For each of these entries, whether an orchestrator signed it whose key counted when it was stored.
#[must_use]
pub fn are_orchestrators(roots: &TrustRoots, entries: &[Stored]) -> Vec<bool> {
    let mut answers = vec![false; entries.len()];
    for (key, places) in by_likely_key(roots, entries) {
        for group in places.chunks(GROUP_LEN) {
            let all = are_all_by(key, entries, group);
            for &place in group {
                answers[place] = all || entries[place].is_orchestrators(roots);
            }
        }
    }
    answers
}

/// The places of the entries by the key that likely signed them, among those that counted when they were stored: the one
/// that signed the last entry of the same flight, since each flight has one orchestrator that works on it. An entry that
/// no key can have signed is in no group.
fn by_likely_key<'a>(roots: &'a TrustRoots, entries: &[Stored]) -> HashMap<&'a str, Vec<usize>> {
    let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut of_flights: HashMap<Option<FlightId>, &str> = HashMap::new();
    for (place, stored) in entries.iter().enumerate() {
        let counting: Vec<&str> = roots.orchestrators_at(stored.time).collect();
        let likely = match counting[..] {
            [] => continue,
            [only] => only,
            [first, ..] => {
                let flight = subjects::parse_journal(&stored.subject).map(|key| key.flight);
                let known = of_flights.get(&flight).copied().filter(|key| counting.contains(key));
                let signer = || counting.iter().copied().find(|key| stored.is_signed_by(key));
                let likely = known.or_else(signer).unwrap_or(first);
                of_flights.insert(flight, likely);
                likely
            }
        };
        groups.entry(likely).or_default().push(place);
    }
    groups
}

fn are_all_by(key: &str, entries: &[Stored], group: &[usize]) -> bool {
    let inputs: Option<Vec<SignedInput>> = group.iter().map(|&place| input(&entries[place])).collect();
    inputs.is_some_and(|inputs| verify_all(key, &inputs))
}

fn input(stored: &Stored) -> Option<SignedInput> {
    SignedInput::new(&stored.subject, &stored.payload, stored.signature.as_deref()?)
}
