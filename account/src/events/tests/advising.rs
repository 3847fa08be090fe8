//! Advisors: who was asked, and what came of it.

use holdpoint_engine::{
    testing::{
        fixture::{Fed, Fixture},
        parts::id,
    },
    waypoint::Input,
};
use holdpoint_planfile::workflows;
use holdpoint_protocol::{
    artifact::{Completion, Failure},
    reason::ReasonCode,
    state::{Outcome, QuestionKind},
};

use crate::events::{AdviceOutcome, EventKind, Scene, of_entry};

fn call(fixture: &mut Fixture) {
    let call = fixture.question("w", QuestionKind::Help, ">>>HELP<<<", None);
    fixture.feed("w", call).turn();
}

fn advise(fixture: &mut Fixture, change: impl FnOnce(&mut Completion)) -> Fed {
    let input: Input = fixture.advice("w", change);
    fixture.feed("w", input)
}

#[test]
fn events_say_who_was_asked_and_what_came_of_it() {
    let outcomes = |fixture: &Fixture| -> Vec<(u32, AdviceOutcome)> {
        let spec = workflows::built_in("fly").unwrap();
        let (flight, waypoint) = (&fixture.flight.submitted.flight, &id("w"));
        let scene = Scene { flight, project: "demo", waypoint, workflow: &spec };
        let all = fixture.trace.iter().flat_map(|step| of_entry(&scene, &step.before, &step.entry));
        let advice = all.filter_map(|event| match event.what {
            EventKind::GateAdvice { round, outcome, .. } => Some((round, outcome)),
            _ => None,
        });
        advice.collect()
    };
    let mut fixture = Fixture::opened(|_, fleet| fleet.advisors = 1);
    call(&mut fixture);
    advise(&mut fixture, |completion| {
        completion.failure = Some(Failure { reason: ReasonCode::AgentFailed, detail: "exit 1".to_owned() });
    })
    .turn();
    advise(&mut fixture, |_| {}).turn();
    let helped = [(1, AdviceOutcome::Asked), (2, AdviceOutcome::Asked), (2, AdviceOutcome::Advised)];
    assert_eq!(outcomes(&fixture), helped);
    call(&mut fixture);
    advise(&mut fixture, |completion| {
        (completion.outcome, completion.blockers) = (Some(Outcome::Blocked), vec!["no idea".to_owned()]);
    })
    .decided();
    assert_eq!(outcomes(&fixture)[3..], [(1, AdviceOutcome::Asked), (1, AdviceOutcome::Unhelped)]);
}
