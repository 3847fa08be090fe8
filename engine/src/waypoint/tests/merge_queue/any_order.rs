//! Whatever happens to a queue, in any order: a property over random events.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    artifact::VerificationPurpose,
    state::{Counters, Phase, Purpose, Status},
    turn::{Turn, TurnRequest},
};
use proptest::prelude::*;

use super::{DEPTH, FLY, due_with, green, is_sound, landed, later, of, red};
use crate::testing::{
    fixture::{Fed, Fixture},
    parts::id,
};
use crate::{
    flight::Due,
    waypoint::{Input, MergesAlone},
};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// What an orchestrator remembers of a queue, and which works it ever passed.
#[derive(Default)]
struct Known {
    aside: Vec<(&'static str, MergesAlone)>,
    passed: BTreeSet<&'static str>,
}

/// One thing that happens to a queue.
fn happen(fixture: &mut Fixture, known: &mut Known, (what, which, how): (u8, usize, u8)) {
    let verifying: Vec<&str> = NAMES.into_iter().filter(|name| is_verifying(fixture, name)).collect();
    let one = |of: &[&'static str]| (!of.is_empty()).then(|| of[which % of.len()]);
    match what % 8 {
        0..3 => drop(do_due(fixture, known, which, how)),
        3..6 => {
            let Some(name) = one(&verifying) else { return };
            if how % 3 == 0 { drop(red(fixture, name)) } else { green(fixture, name) }
        }
        6 if how % 4 == 0 => {
            let name = NAMES[which % NAMES.len()];
            let act = fixture.cancel_act(name);
            drop(fixture.feed(name, act));
        }
        _ => {
            known.aside.clear();
            fixture.crash();
        }
    }
    builders_answer(fixture);
}

/// Builders answer well at once.
fn builders_answer(fixture: &mut Fixture) {
    for name in NAMES {
        while fixture.open_turn(name).is_some() && !is_verifying(fixture, name) {
            let turn = fixture.turn(name);
            assert!(matches!(turn.request, TurnRequest::Build(_)), "{turn:?}");
            fixture.build_ok(name);
        }
    }
}

fn is_verifying(fixture: &Fixture, name: &str) -> bool {
    let of = |turn: Turn| match turn.request {
        TurnRequest::Verify(request) => request.purpose != VerificationPurpose::Baseline,
        _ => false,
    };
    fixture.open_turn(name).is_some() && of(fixture.turn(name))
}

/// Does something that is due; whether there was something.
fn do_due(fixture: &mut Fixture, known: &mut Known, which: usize, how: u8) -> bool {
    let due = due_with(fixture, DEPTH, true, &known.aside);
    let Some(one) = due.get(which % due.len().max(1)) else { return false };
    let taken = match one {
        Due::Land(name) => {
            known.aside.clear();
            fixture.land(name.as_str());
            return true;
        }
        Due::Stack(name) if how % 4 == 3 => {
            let name = NAMES.into_iter().find(|one| *one == name.as_str()).unwrap();
            known.aside.push((name, if how & 16 == 0 { MergesAlone::Passed } else { MergesAlone::First }));
            known.passed.insert(name);
            return true;
        }
        Due::Stack(name) => fixture.stack(name.as_str()),
        Due::Judge(name) => fixture.judge(name.as_str()),
        Due::Merge(name) => fixture.merge(name.as_str(), how % 4 != 3),
        other => panic!("{other:?}"),
    };
    assert!(matches!(taken, Fed::Appended(_)), "{one:?} was due and came to {taken:?}");
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Reds, conflicts, cancels and crashes in any order: nothing lands unverified, nothing waits for ever, and those that
    /// are verified once land in the order in which they were handed off.
    #[test]
    fn whatever_happens_to_a_train_every_work_lands_as_it_was_verified_or_has_left(
        events in prop::collection::vec((any::<u8>(), any::<usize>(), any::<u8>()), 0..60)
    ) {
        let mut fixture = of(&NAMES, FLY);
        fixture.queues = true;
        for name in NAMES {
            later(&mut fixture);
            fixture.feed(name, Input::Open);
            fixture.build_ok(name);
        }
        let mut context = Known::default();
        for event in events {
            later(&mut fixture);
            happen(&mut fixture, &mut context, event);
        }
        for _ in 0..NAMES.len() * 20 {
            builders_answer(&mut fixture);
            if do_due(&mut fixture, &mut context, 0, 0) {
                continue;
            }
            let Some(name) = NAMES.into_iter().find(|name| is_verifying(&fixture, name)) else { break };
            green(&mut fixture, name);
        }
        for name in NAMES {
            let status = fixture.status(name);
            let used_up = fixture.state(name).counters.conflicts >= 10 || status == Status::Failed;
            prop_assert!(status.is_over() || used_up, "{} is left {:?}", name, status);
        }
        let fitted = |name: &&str| {
            let Counters { conflicts, reworks, .. } = fixture.state(name).counters;
            let verifies = |phase: &Phase| matches!(phase, Phase::InTurn(open) if matches!(open.purpose, Purpose::Verify(_)));
            let opened = fixture.trace.iter().filter(|t| t.waypoint == id(name) && verifies(&t.after.phase));
            conflicts == 0 && reworks == 0 && opened.count() == 1 && !context.passed.contains(name)
        };
        let order: Vec<&str> = landed(&fixture).into_iter().filter(fitted).collect();
        prop_assert!(order.is_sorted(), "{:?}", order);
        is_sound(&fixture);
    }
}
