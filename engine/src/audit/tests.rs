//! Sound flights are sound, and every way to doctor one is named.

mod cited;
mod doctored;
mod forged;

use proptest::prelude::*;

use crate::testing::{
    account::Account,
    histories::{Story, events, setup},
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_flight_that_the_engine_flies_is_sound((setup, events) in (setup(), events())) {
        let story = Story::tell(&setup, &events);
        let account = Account::of(&story.fixture);
        let audit = account.audit();
        prop_assert_eq!(audit.findings, vec![]);
        prop_assert_eq!(audit.counts.entries, account.entries.len() as u64);
        prop_assert!(audit.counts.answered <= account.handoffs.len() as u64);
    }

    #[test]
    fn no_entry_can_be_taken_away((setup, events, at) in (setup(), events(), any::<prop::sample::Index>())) {
        let mut story = Story::tell(&setup, &events);
        story.calm_down();
        let mut account = Account::of(&story.fixture);
        let lost = account.entries.remove(at.index(account.entries.len()));
        let audit = account.audit();
        let first = audit.findings.first();
        prop_assert!(first.is_some(), "{:?} was lost and nothing was found", lost);
    }

    #[test]
    fn no_two_entries_of_a_journal_can_change_places((setup, events, at) in (setup(), events(), any::<prop::sample::Index>())) {
        let mut story = Story::tell(&setup, &events);
        story.calm_down();
        let mut account = Account::of(&story.fixture);
        let at = at.index(account.entries.len() - 1);
        let journal = account.entries[at].journal.clone();
        let Some(next) = account.entries.iter().skip(at + 1).position(|line| line.journal == journal) else { return Ok(()) };
        account.entries.swap(at, at + 1 + next);
        prop_assert!(!account.audit().is_sound());
    }
}
