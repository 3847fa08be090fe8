use holdpoint_evidence::{
    checks::{CheckEnd, JudgedRun},
    environment::TreeChanges,
};
use holdpoint_protocol::{
    artifact::{CheckRun, TreeTested},
    time::Millis,
};

use super::*;

const KEYS: usize = RUNS_MAX + 2;

fn key(n: usize) -> Key {
    Key::numbered(n)
}

/// A run of `node --test` that ended with this code and ran these tests.
fn run(exit: i32, names: &[&str], bytes: usize) -> KnownRun {
    let tests: String = names.iter().map(|name| format!("✔ {name} (0.1ms)\n")).collect();
    let output = format!("{tests}ℹ tests {0}\nℹ pass {0}\nℹ fail 0\n", names.len());
    let end = CheckEnd { exit: Some(exit), ..CheckEnd::default() };
    let read = JudgedRun::read("node --test", end, None, &output, true);
    let evidence = Evidence::new(vec![b'x'; bytes]);
    let (verdict, reason) = read.outcome;
    let run = CheckRun {
        criterion: None,
        command: "node --test".to_owned(),
        tested: TreeTested::Handoff,
        tree: "a".repeat(40).parse().unwrap(),
        exit_code: Some(exit),
        signal: None,
        duration: Millis(1),
        after: None,
        output: evidence.digest,
        output_bytes: bytes as u64,
        verdict,
        reason,
        known_from: Some("report".parse().unwrap()),
    };
    let ran = Ran {
        run,
        read,
        tail: String::new(),
        ending: String::new(),
        lacks: None,
        changed: TreeChanges::default(),
        not_set_up: false,
        red_before: Vec::new(),
        is_steady: false,
    };
    KnownRun { ran, evidence, properties: Vec::new() }
}

fn turn(earlier: &Mutex<KnownRuns>) -> TurnRuns<'_> {
    TurnRuns { earlier, own: KnownRuns::default(), fresh: false }
}

#[test]
fn a_run_is_taken_by_the_turn_that_made_it_and_by_others_once_its_report_is_made() {
    let process = Mutex::default();
    let (mut first, mut other) = (turn(&process), turn(&process));
    let green = run(0, &["adds"], 1);
    first.keep(key(0), green.clone(), true);
    assert_eq!(first.take(key(0), Takes::Any), Some(green.clone()));
    assert_eq!(other.take(key(0), Takes::Any), None, "there may never be such a report");
    process.lock().unwrap().extend(&first.own);
    assert_eq!(other.take(key(0), Takes::Green), Some(green));
    assert_eq!((other.take(key(0), Takes::Nothing), other.take(key(1), Takes::Any)), (None, None));
    assert_eq!(TurnRuns { fresh: true, ..turn(&process) }.take(key(0), Takes::Any), None);
}

#[test]
fn a_red_run_is_taken_where_it_speaks_against_nothing_and_nowhere_else() {
    let process = Mutex::default();
    let mut turn = turn(&process);
    turn.keep(key(0), run(1, &["adds"], 1), true);
    assert!(turn.take(key(0), Takes::Any).is_some() && turn.take(key(0), Takes::Green).is_none());
}

#[test]
fn a_run_that_another_one_contradicts_or_that_settles_nothing_is_taken_no_more() {
    let (red, green) = (|| run(1, &["adds"], 1), || run(0, &["adds"], 1));
    for (one, other, settled) in [(red(), green(), true), (green(), red(), true), (green(), green(), false)] {
        let process = Mutex::default();
        let (mut first, mut second) = (turn(&process), turn(&process));
        first.keep(key(0), one, true);
        process.lock().unwrap().extend(&first.own);
        second.keep(key(0), other, settled);
        assert_eq!(second.take(key(0), Takes::Any), None);
        second.keep(key(0), green(), true);
        assert_eq!(second.take(key(0), Takes::Any), None, "it may be so again");
        process.lock().unwrap().extend(&second.own);
        assert_eq!(turn(&process).take(key(0), Takes::Any), None);
    }
}

#[test]
fn a_run_that_was_made_twice_has_the_names_of_both_and_is_steady() {
    let process = Mutex::default();
    let (mut first, mut second) = (turn(&process), turn(&process));
    first.keep(key(0), run(0, &["adds", "begun at 17"], 1), true);
    process.lock().unwrap().extend(&first.own);
    second.keep(key(0), run(0, &["adds", "begun at 23"], 1), true);
    process.lock().unwrap().extend(&second.own);
    let found = turn(&process).take(key(0), Takes::Any).unwrap();
    let (once, again) = (run(0, &["adds", "begun at 23"], 1).ran.read, run(0, &["adds", "begun at 17"], 1).ran.read);
    assert_eq!((found.ran.is_steady, found.ran.read), (true, once.steadied(&again).0));
}

#[test]
fn the_runs_that_are_kept_are_the_last_used_ones_within_their_number_and_their_bytes() {
    let mut known = KnownRuns::default();
    for n in 0..RUNS_MAX {
        known.put(key(n), Some(run(0, &[], 1)));
    }
    assert!(known.get(key(0)).is_some());
    known.put(key(KEYS), Some(run(0, &[], 1)));
    assert_eq!((known.get(key(0)).is_some(), known.get(key(1)).is_some()), (true, false));
    for n in 0..5 {
        known.put(key(n), Some(run(0, &["adds"], EVIDENCE_BYTES_MAX / 4)));
    }
    let held: Vec<bool> = (0..5).map(|n| known.get(key(n)).is_some()).collect();
    assert_eq!(held, [false, true, true, true, true]);
    assert!(known.bytes() <= EVIDENCE_BYTES_MAX);
}
