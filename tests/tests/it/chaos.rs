//! A fixed sample of the chaos of the soak: what programs and agents do wrong when they hand off, and that it is never accepted.

use holdpoint_tests::soak::chaos;

#[test]
fn chaos_at_the_handoffs_ends_in_recovery_or_with_a_person_and_is_never_accepted() {
    // The last two have a judge, and the sixth a person.
    let seeds: Vec<u64> = (100..112).chain([117, 118]).collect();
    let chaos = chaos::cases(&seeds).unwrap();
    assert_eq!(chaos.cases(), seeds.len());
    assert!(chaos.recovered() > 0, "{chaos:?}");
}
