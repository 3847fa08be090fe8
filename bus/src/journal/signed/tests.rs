use holdpoint_protocol::{Timestamp, journal::Sequence};
use proptest::prelude::*;

use super::*;
use crate::auth::{Authority, Credentials};

/// When the key of the third orchestrator was revoked, in seconds.
const REVOKED_AT_S: i64 = 1_000;

/// Three orchestrators, the last of which was revoked.
fn orchestrators(keys: usize) -> (TrustRoots, Vec<Credentials>) {
    let mut authority = Authority::create();
    let made: Vec<_> = (0..3).map(|n| authority.mint_orchestrator(&format!("o{n}").parse().unwrap())).collect();
    let mut roots = authority.trust_roots().clone();
    roots.revoked.insert(made[2].public_key().to_owned(), u64::try_from(REVOKED_AT_S).unwrap());
    roots.orchestrators.retain(|key| made[3 - keys..].iter().any(|one| one.public_key() == key));
    (roots, made)
}

/// What can be wrong with a signature.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    Nothing,
    OtherSubject,
    OtherPayload,
    NoSignature,
    NoneInForm,
}

#[derive(Debug, Clone)]
struct Made {
    flight: u8,
    signer: usize,
    after_revocation: bool,
    wrong: Wrong,
}

impl Made {
    fn stored(&self, n: usize, keys: &[Credentials]) -> Stored {
        let subject = format!("hp.v1.journal.0198c5a8-0000-7000-8000-00000000000{}.w.decided", self.flight);
        let payload = format!("entry {n}");
        let signed = match self.wrong {
            Wrong::OtherSubject => keys[self.signer].signer().sign("hp.v1.journal.other", payload.as_bytes()),
            Wrong::OtherPayload => keys[self.signer].signer().sign(&subject, b"other"),
            _ => keys[self.signer].signer().sign(&subject, payload.as_bytes()),
        };
        let signature = match self.wrong {
            Wrong::NoSignature => None,
            Wrong::NoneInForm => Some(signed[1..].to_owned()),
            _ => Some(signed),
        };
        let seconds = if self.after_revocation { REVOKED_AT_S + 1 } else { REVOKED_AT_S };
        Stored {
            sequence: Sequence(n as u64),
            subject,
            payload: payload.into(),
            time: Timestamp::from_millis(seconds * 1_000),
            signature,
            jwt: None,
            schema: None,
            content_type: None,
            traceparent: None,
            message_id: None,
            nonce: None,
        }
    }
}

/// Mostly entries without a fault, so that whole groups are good.
fn made() -> impl Strategy<Value = Made> {
    let wrong = prop_oneof![
        40 => Just(Wrong::Nothing),
        1 => Just(Wrong::OtherSubject),
        1 => Just(Wrong::OtherPayload),
        1 => Just(Wrong::NoSignature),
        1 => Just(Wrong::NoneInForm),
    ];
    (0..4_u8, 0..3_usize, any::<bool>(), wrong).prop_map(|(flight, signer, after_revocation, wrong)| Made {
        flight,
        signer,
        after_revocation,
        wrong,
    })
}

fn one_by_one(roots: &TrustRoots, entries: &[Stored]) -> Vec<bool> {
    entries.iter().map(|stored| stored.is_orchestrators(roots)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn entries_are_believed_together_as_they_are_one_by_one(
        made in prop::collection::vec(made(), 0..40),
        keys in 0..4_usize,
    ) {
        let (roots, signers) = orchestrators(keys);
        let entries: Vec<Stored> = made.iter().enumerate().map(|(n, made)| made.stored(n, &signers)).collect();
        prop_assert_eq!(are_orchestrators(&roots, &entries), one_by_one(&roots, &entries));
    }
}

#[test]
fn one_forged_entry_among_many_is_named_and_the_others_hold() {
    let (roots, signers) = orchestrators(3);
    let good = |n| Made { flight: 1, signer: 1, after_revocation: false, wrong: Wrong::Nothing }.stored(n, &signers);
    let mut entries: Vec<Stored> = (0..700).map(good).collect();
    assert!(are_orchestrators(&roots, &entries).iter().all(|believed| *believed));
    entries[200].payload = "forged".into();
    let answers = are_orchestrators(&roots, &entries);
    let refused: Vec<usize> = (0..700).filter(|&n| !answers[n]).collect();
    assert_eq!(refused, [200]);
}

#[test]
fn a_revoked_key_is_not_believed_for_later_entries_of_a_flight_it_worked_on() {
    let (roots, signers) = orchestrators(3);
    let by_it = |n, after_revocation| {
        Made { flight: 1, signer: 2, after_revocation, wrong: Wrong::Nothing }.stored(n, &signers)
    };
    let entries = [by_it(0, false), by_it(1, true), by_it(2, true)];
    assert_eq!(are_orchestrators(&roots, &entries), [true, false, false]);
}
