//! Every step of a flight, with a process stopped at it: the same accepted result, no matter which process is killed
//! then. A sample; the whole walk and the long storm are parts of `cargo xtask soak`.

use std::time::Duration;

use holdpoint_faults::{FaultOrder, Step, When};
use holdpoint_tests::{
    cell::{self, Cell, CellWorld, Flight, Victim},
    soak::{Terms, storm},
};

#[track_caller]
fn changes_nothing(flight: Flight, victim: Victim, orders: &[&str]) {
    for text in orders {
        let order = FaultOrder::parse(text).unwrap_or_else(|| panic!("{text:?} is no order"));
        let cell = Cell { flight, order, victim };
        if let Err(error) = cell::fly(&cell) {
            panic!("{cell}: {error}");
        }
    }
}

#[test]
fn every_role_passes_every_step_on_both_sides() {
    for flight in Flight::ALL {
        let place = CellWorld::new(flight, None);
        let finished = place.fly_to_the_end().unwrap();
        assert_eq!(cell::problems(&place, &finished), Vec::<String>::new(), "{finished}");
        let passed = place.passed();
        let mut missed = Vec::new();
        for (step, role) in flight.steps() {
            for when in When::BOTH {
                if !passed.contains_key(&(role.to_owned(), step, when)) {
                    missed.push(format!("{role} {} {}", when.name(), step.name()));
                }
            }
        }
        assert!(missed.is_empty(), "nobody came by: {missed:#?}");
        let told = |(role, step, _): &&(String, Step, When)| !step.roles().contains(&role.as_str());
        let untold: Vec<_> = passed.keys().filter(told).collect();
        assert!(untold.is_empty(), "not in the table of steps: {untold:#?}");
    }
}

#[test]
fn an_orchestrator_that_dies_over_what_a_person_did_loses_nothing_of_it() {
    changes_nothing(
        Flight::People,
        Victim::Itself,
        &["orchestrator before take-act 1", "orchestrator after take-act 1"],
    );
}

#[test]
fn what_a_person_does_while_the_broker_dies_is_done_once() {
    changes_nothing(Flight::People, Victim::Broker, &["answerer before publish-act 1", "approver after publish-act 1"]);
}

#[test]
fn whoever_is_killed_at_a_step_costs_no_more_than_its_turn() {
    changes_nothing(
        Flight::Alone,
        Victim::Itself,
        &["orchestrator after append-turn 2", "builder after publish-result 1"],
    );
}

#[test]
fn whoever_is_killed_over_a_checkpoint_or_a_document_costs_no_more_than_its_turn() {
    changes_nothing(
        Flight::Stages,
        Victim::Itself,
        &["analyst after establish 1", "builder after record-try 1", "orchestrator before store-document 1"],
    );
}

#[test]
fn whoever_wakes_when_others_have_moved_on_changes_nothing() {
    changes_nothing(
        Flight::Alone,
        Victim::Asleep,
        &["builder before publish-result 1", "orchestrator before append-decided 1"],
    );
}

#[test]
fn a_broker_that_dies_at_a_step_forgets_nothing() {
    changes_nothing(
        Flight::Alone,
        Victim::Broker,
        &["builder after publish-plan 1", "orchestrator after append-landed 1"],
    );
}

#[test]
fn a_death_elsewhere_at_a_step_costs_no_more_than_a_delivery() {
    changes_nothing(
        Flight::Alone,
        Victim::Bystander,
        &["orchestrator before make-landing 1", "repair after ack-turn 1"],
    );
}

#[test]
fn a_storm_of_kills_leaves_a_sound_journal() {
    // Printed when it fails; another one each time.
    let terms = Terms { seed: u64::from(std::process::id()), time: Duration::from_secs(270), only: None };
    if let Err(error) = storm::storm(6, &terms) {
        panic!("{error}");
    }
}
