//! How an agent goes about with the broker in general: its pulls, and what it was not allowed.

use holdpoint_protocol::{names, streams};

use super::{
    rules::{Notes, Rule},
    stage::Stage,
    witness::Event,
};

/// Notes what was seen in all scenes together.
pub(super) fn note(stage: &Stage, notes: &mut Notes) {
    pulls(&stage.witness.events(), stage.role.as_str(), notes);
    let violations = stage.violations();
    if violations.is_empty() {
        notes.right(Rule::StaysInItsRole);
    }
    violations.into_iter().for_each(|violation| notes.wrong(Rule::StaysInItsRole, violation));
}

fn pulls(events: &[Event], role: &str, notes: &mut Notes) {
    let own: Vec<String> = names::consumers(&streams::fleet_pool())
        .into_iter()
        .filter(|consumer| consumer.role == role)
        .map(|consumer| consumer.name)
        .collect();
    let pulled = events.iter().filter_map(|event| match event {
        Event::Pulled { consumer, batch, waits } => Some((consumer, *batch, *waits)),
        _ => None,
    });
    let pulled: Vec<_> = pulled.collect();
    for consumer in &own {
        let seen = pulled.iter().any(|(name, ..)| *name == consumer);
        notes.note(Rule::PullsByPriority, seen, format!("{consumer} was never pulled"));
    }
    if let Some((first, ..)) = pulled.first() {
        notes.note(Rule::PullsByPriority, own.first() == Some(*first), format!("the first pull was of {first}"));
    }
    for (consumer, batch, waits) in pulled {
        notes.note(Rule::PullsByPriority, !waits, format!("a pull of {consumer} waits in the broker: set no_wait"));
        notes.note(Rule::OneTurnAtATime, batch == 1, format!("a pull of {consumer} asks for {batch} turns"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(consumer: &str, batch: u64, waits: bool) -> Event {
        Event::Pulled { consumer: format!("builder_{consumer}_fleet"), batch, waits }
    }

    fn wrong(events: &[Event]) -> Vec<String> {
        let mut notes = Notes::default();
        pulls(events, "builder", &mut notes);
        notes.findings(false).into_iter().flat_map(|found| found.seen).collect()
    }

    #[test]
    fn all_four_priorities_are_pulled_from_the_most_urgent_on_one_at_a_time() {
        let right = ["critical", "high", "medium", "low"].map(|priority| pull(priority, 1, false));
        assert_eq!(wrong(&right), Vec::<String>::new());
        let greedy = [pull("medium", 10, true)];
        let found = wrong(&greedy);
        for part in ["builder_critical_fleet was never", "first pull was of builder_medium", "waits", "asks for 10"] {
            assert!(found.iter().any(|seen| seen.contains(part)), "{part} in {found:?}");
        }
    }
}
