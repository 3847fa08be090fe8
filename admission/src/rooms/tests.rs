use holdpoint_protocol::ids::role;

use super::*;

fn used(used: u64, most: u64) -> Used {
    Used { used, most }
}

#[test]
fn a_stream_is_spoken_of_once_at_each_level_and_again_when_it_fills_up_after_its_room_was_made_larger() {
    let mut levels = Levels::default();
    let mut look = |stream, bytes, most| levels.look(stream, &[used(bytes, most)]);
    let told: Vec<u64> = (0..=1_000).filter_map(|bytes| look("HP_BLOB_BUILDER", bytes, 1_000)).collect();
    assert_eq!(told, LEVELS);
    assert_eq!(look("HP_BLOB_BUILDER", 1_000, 1_000), None);
    assert_eq!(look("HP_HANDOFF_BUILDER", 800, 1_000), Some(80), "each has its own");
    assert_eq!(look("HP_BLOB_BUILDER", 1_000, 4_000), None);
    assert_eq!(look("HP_BLOB_BUILDER", 2_000, 4_000), Some(50));
    assert_eq!(look("HP_BLOB_BUILDER", u64::MAX, u64::MAX), Some(99));
}

#[test]
fn of_two_bounds_the_nearer_one_counts() {
    let mut levels = Levels::default();
    assert_eq!(levels.look("HP_BLOB_BUILDER", &[used(100, 1_000), used(9, 10)]), Some(90));
    assert_eq!(levels.look("HP_BLOB_BUILDER", &[used(800, 1_000), used(9, 10)]), None);
    assert_eq!(levels.look("HP_BLOB_BUILDER", &[used(990, 1_000), used(9, 10)]), Some(99));
    assert_eq!(levels.look("HP_BLOB_REPAIR", &[]), None);
}

#[test]
fn those_of_a_role_that_wrote_most_come_first_and_only_so_many_are_remembered() {
    let (builder, verifier) = (role::id(role::BUILDER), role::id(role::VERIFIER));
    let name = |n: usize| format!("b{n}").parse::<AgentName>().unwrap();
    let mut writers = Writers::default();
    for (n, bytes) in [(1, 10), (2, 30), (3, 20), (1, 15)] {
        writers.wrote(&builder, &name(n), bytes);
    }
    writers.wrote(&verifier, &name(9), 1_000);
    assert_eq!(writers.most(&builder, 2), [(&name(2), 30), (&name(1), 25)]);
    (0..2 * WRITERS_MAX).for_each(|n| writers.wrote(&builder, &name(n), 1));
    assert!(writers.0.len() <= WRITERS_MAX);
}
