use super::*;
use crate::streams;

fn ids() -> (FlightId, WaypointId) {
    ("demo-1".parse().unwrap(), "w1".parse().unwrap())
}

#[test]
fn a_chunks_subject_says_which_blob_it_is_of() {
    let (role, digest) = (role::id(role::BUILDER), Digest::of(b"x"));
    let read = |subject: &str| parse_chunk(subject).map(|(prefix, digest, n)| (prefix.to_owned(), digest, n));
    for (subject, family) in [(blob_chunk(&role, &digest, 7), "blob"), (talk_chunk(&role, &digest, 7), "talk")] {
        let prefix = format!("hp.v1.{family}.builder.{}", digest.hex());
        assert_eq!(read(&subject), Some((prefix, digest, 7)));
    }
    let chunk = blob_chunk(&role, &digest, 0);
    let cut = chunk.strip_suffix(".0").unwrap();
    for other in [cut, &format!("{cut}.x"), &format!("{chunk}.0"), "hp.v1.blob.builder.00.0", "hp.v1.handoff.a.b.0"] {
        assert_eq!(read(other), None, "{other}");
    }
}

#[test]
fn every_entry_subject_lies_under_its_journals_filter() {
    let (flight, waypoint) = ids();
    for key in [JournalKey::flight(&flight), JournalKey::waypoint(&flight, &waypoint)] {
        let prefix = key.filter().trim_end_matches('>').to_owned();
        assert_eq!(key.fence(Fence::Journal), key.filter());
        assert!(key.filter().starts_with(key.fence(Fence::Flight).trim_end_matches('>')));
        for kind in [
            EntryKind::Submitted,
            EntryKind::Landed,
            EntryKind::Decided,
            EntryKind::Dead,
            EntryKind::Steered,
            EntryKind::Answered,
            EntryKind::Revised,
            EntryKind::Queued,
            EntryKind::Turn { role: role::id(role::BUILDER), priority: Priority::High, pool: streams::fleet_pool() },
        ] {
            let subject = key.entry(&kind);
            assert!(subject.starts_with(&prefix), "{subject} under {prefix}");
            assert_eq!(parse_journal(&subject), Some(key.clone()));
        }
    }
}

#[test]
fn a_pools_agents_match_turns_of_their_pool_at_the_one_priority_only() {
    let (flight, waypoint) = ids();
    let (role, fleet) = (role::id(role::BUILDER), streams::fleet_pool());
    let opened = |priority, pool| {
        let kind = EntryKind::Turn { role: role.clone(), priority, pool };
        JournalKey::waypoint(&flight, &waypoint).entry(&kind)
    };
    let filter = turns(None, &role, Priority::High, &fleet);
    assert!(matches(&filter, &opened(Priority::High, fleet.clone())));
    assert!(!matches(&filter, &opened(Priority::High, streams::flight_pool(&flight))));
    assert!(!matches(&filter, &opened(Priority::Low, fleet)));
}

#[test]
fn a_log_subject_reads_back_and_lies_on_its_waypoint_and_flight_alone() {
    let ((flight, waypoint), other) = (ids(), "w2".parse().unwrap());
    let subject = log(&role::id(role::BUILDER), &"builder-1".parse().unwrap(), &flight, &waypoint);
    let parsed = parse_log(&subject).unwrap();
    assert_eq!((parsed.agent.as_str(), &parsed.flight, &parsed.waypoint), ("builder-1", &flight, &waypoint));
    assert!(matches(&logs_on(&flight, Some(&waypoint)), &subject) && matches(&logs_on(&flight, None), &subject));
    assert!(!matches(&logs_on(&flight, Some(&other)), &subject));
    for odd in [format!("{subject}.x"), subject.replace(".w1", ""), subject.replace(".log.", ".presence.")] {
        assert_eq!(parse_log(&odd), None, "{odd}");
    }
}

/// Whether a subject matches a filter, as the broker says it.
fn matches(filter: &str, subject: &str) -> bool {
    let (filter, subject): (Vec<_>, Vec<_>) = (filter.split('.').collect(), subject.split('.').collect());
    filter.len() == subject.len() && filter.iter().zip(subject).all(|(want, token)| *want == "*" || *want == token)
}

#[test]
fn a_handoff_subject_reads_back_and_a_foreign_partition_does_not() {
    let (flight, waypoint) = ids();
    let subject = handoff(&role::id(role::VERIFIER), &flight, &waypoint, "verification_report");
    let parsed = parse_handoff(&subject).unwrap();
    assert_eq!((parsed.flight, parsed.kind.as_str()), (flight.clone(), "verification_report"));
    let other = (partition(&flight) + 1) % PARTITIONS;
    let forged = subject.replace(&format!(".{}.demo", partition(&flight)), &format!(".{other}.demo"));
    assert_ne!(forged, subject);
    assert_eq!(parse_handoff(&forged), None);
    let part = format!(".{}.demo", partition(&flight));
    for odd in ["+", "0"] {
        let odd = subject.replace(&part, &part.replacen('.', &format!(".{odd}"), 1));
        assert_eq!(parse_handoff(&odd), None, "{odd}");
    }
    assert_eq!(parse_handoff(subject.trim_end_matches("verification_report")), None);
}
