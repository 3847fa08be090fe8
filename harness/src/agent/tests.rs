mod actor;
mod fleet;
mod turn;

use std::time::Duration;

use holdpoint_bus::{signals::Signals, topology};
use holdpoint_protocol::{
    Timestamp,
    api::{Going, ProgressAnswer},
    artifact::{Artifact as _, BuildArtifact, BuildPlan, GivenBack, StatusUpdate},
    ids::role,
    subjects,
};

use self::{
    actor::{Event, Script},
    fleet::{Fleet, SOON, soon},
};
use super::*;

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_planned_worked_on_handed_off_and_acknowledged() {
    let mut fleet = Fleet::start().await;
    let sequence = fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;

    let plan = fleet.handoff().await;
    assert!(plan.stored.subject.ends_with(".w1.build_plan"), "{}", plan.stored.subject);
    let id = plan.stored.message_id.as_deref().unwrap();
    assert!(id.starts_with("turn-w1.1.builder-1.build_plan."), "{id}");
    let user = fleet.roots.verify_jwt(plan.stored.jwt.as_deref().unwrap(), holdpoint_runtime::clock::now()).unwrap();
    assert!(plan.stored.is_signed_by(&user.public_key));
    let written: BuildPlan = serde_json::from_slice(&plan.stored.payload).unwrap();
    let seen = written.source_refs[0].clone();
    assert!(seen.starts_with(&format!("HP_JOURNAL/{sequence}@sha256:")), "{seen}");
    assert_eq!(written.source_refs.len(), 1);

    let last = fleet.handoff().await;
    assert!(last.stored.subject.ends_with(".w1.build_artifact"), "{}", last.stored.subject);
    let id = last.stored.message_id.as_deref().unwrap();
    let n = id.strip_prefix("turn-w1.1.builder-1.build_artifact.").map(str::parse::<u64>);
    assert!(matches!(n, Some(Ok(_))), "{id}");
    assert_eq!(last.stored.schema.as_deref(), Some("build_artifact/1.0"));
    assert_eq!(last.stored.traceparent.as_deref(), Some(TRACEPARENT));
    assert!(last.stored.is_signed_by(&user.public_key) && last.stored.jwt.is_none());
    let artifact: BuildArtifact = serde_json::from_slice(&last.stored.payload).unwrap();
    let plan_digest = holdpoint_protocol::Digest::of(&plan.stored.payload).to_string();
    assert_eq!(artifact.source_refs, [seen, plan_digest]);

    fleet.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handoff_is_stored_though_another_agent_took_the_ids_that_can_be_foretold() {
    let mut fleet = Fleet::start().await;
    for kind in [BuildPlan::KIND, BuildArtifact::KIND, GivenBack::KIND] {
        for (delivery, n) in (1..=3).flat_map(|delivery| (0..3).map(move |n| (delivery, n))) {
            let id = format!("turn-w1.{delivery}.builder-1.{kind}.{n}");
            fleet.squat("builder-2", "w1", kind, &id).await;
        }
    }
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    let stored = loop {
        let received = fleet.handoff().await;
        if received.stored.subject.ends_with(BuildArtifact::KIND) && *received.stored.payload != *b"{}" {
            break received.stored;
        }
    };
    let artifact: BuildArtifact = serde_json::from_slice(&stored.payload).unwrap();
    assert_eq!((artifact.agent.as_str(), artifact.turn.as_str()), ("builder-1", "turn-w1"));
    fleet.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_of_ours_gives_the_turn_back_and_it_comes_again() {
    for (script, why) in [(Script::FailOnce, "get a blob: no such blob"), (Script::PanicOnce, "panicked")] {
        let mut fleet = Fleet::start().await;
        fleet.open_turn("w1").await;
        let _agent = fleet.agent("builder-1", script).await;
        assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
        assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 2 });
        let given_back = fleet.given_back().await;
        assert_eq!(given_back.delivery, 1, "whoever gives a turn back has not died of it");
        assert!(given_back.reason.contains(why), "{given_back:?}");
        assert_eq!(fleet.final_handoff().await.delivery, 2);
        let told = fleet.troubles();
        assert!(told.len() == 1 && told[0].contains(why), "the orchestrator is told why: {told:?}");
        fleet.nothing_is_left().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_in_a_task_of_the_harness_gives_the_turn_back() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::PanicInPlanOnce).await;
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 2 });
    assert_eq!(fleet.final_handoff().await.delivery, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_told_to_stop_drops_the_turn_and_takes_the_next() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::WaitForStopOnce).await;
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    fleet.say_stop("superseded");
    assert_eq!(fleet.event().await, Event::Stopped(StopReason::Told { reason: "superseded".to_owned() }));
    fleet.say_continue();
    fleet.open_turn("w2").await;
    let handed_off = fleet.final_handoff().await;
    assert_eq!(handed_off.waypoint_id.as_str(), "w2");
    fleet.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_files_of_a_turn_that_is_over_are_handed_off_and_those_of_one_that_is_given_back_are_not() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::LeaveFilesOnce).await;
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    fleet.say_stop("cancelled");
    let left = fleet.final_handoff().await;
    assert!(left.waypoint_id.as_str() == "w1" && left.bundle.is_some(), "{left:?}");
    fleet.say_continue();
    fleet.nothing_is_left().await;

    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let agent = fleet.agent("builder-1", Script::LeaveFilesOnce).await;
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    agent.drain(Duration::ZERO);
    assert_eq!(fleet.event().await, Event::Stopped(StopReason::Shutdown));
    let _other = fleet.agent("builder-2", Script::Finish).await;
    let handed_off = fleet.final_handoff().await;
    assert!(handed_off.agent.as_str() == "builder-2" && handed_off.bundle.is_none(), "{handed_off:?}");
    fleet.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_for_another_agent_is_passed_on_before_any_work_and_comes_again() {
    let mut fleet = Fleet::start().await;
    fleet.say_give_back("you voted already");
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    fleet.wait_for_answers(1).await;
    fleet.say_continue();
    let Event::Began { delivery, .. } = fleet.event().await else { panic!("the turn was dropped") };
    assert!(delivery > 1, "nothing began before it came again");
    assert_eq!(fleet.final_handoff().await.delivery, delivery);
    fleet.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_does_not_heed_a_stop_is_dropped() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::HangOnce).await;
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    fleet.say_stop("cancelled");
    assert_eq!(fleet.event().await, Event::Dropped);
    fleet.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_turn_of_a_killed_agent_is_done_by_another() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let killed = fleet.agent("builder-1", Script::HangOnce).await;
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    drop(killed);
    let _other = fleet.agent("builder-2", Script::Finish).await;
    assert_eq!(fleet.event().await, Event::Dropped);
    let handed_off = fleet.final_handoff().await;
    assert_eq!((handed_off.agent.as_str(), handed_off.delivery), ("builder-2", 2));
    fleet.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redelivered_turn_that_is_over_is_dropped_before_anything_is_done() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let killed = fleet.agent("builder-1", Script::HangOnce).await;
    assert!(fleet.handoff().await.stored.subject.ends_with(".w1.build_plan"));
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    drop(killed);
    assert_eq!(fleet.event().await, Event::Dropped);
    fleet.say_stop("decided");
    let answers = fleet.answers();
    let _other = fleet.agent("builder-2", Script::Finish).await;
    fleet.wait_for_answers(answers + 1).await;
    fleet.say_continue();
    fleet.open_turn("w2").await;
    // The next handoff of all is the plan for the other turn.
    assert!(fleet.handoff().await.stored.subject.ends_with(".w2.build_plan"));
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-2", delivery: 1 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_work_begins_on_the_first_delivery_of_a_turn_that_is_over() {
    let mut fleet = Fleet::start().await;
    fleet.say_stop("decided");
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    fleet.wait_for_answers(1).await;
    fleet.say_continue();
    fleet.open_turn("w2").await;
    assert_eq!(fleet.final_handoff().await.waypoint_id.as_str(), "w2");
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    fleet.nothing_began();
    fleet.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_long_ago_that_is_over_is_not_even_planned() {
    let mut fleet = Fleet::start().await;
    fleet.say_stop("decided");
    fleet.open_turn_at("w1", Timestamp::from_millis(0)).await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    fleet.wait_for_answers(1).await;
    fleet.say_continue();
    fleet.open_turn_at("w2", Timestamp::from_millis(0)).await;
    // The next handoff of all is the plan for the other turn.
    assert!(fleet.handoff().await.stored.subject.ends_with(".w2.build_plan"));
    assert_eq!(fleet.final_handoff().await.waypoint_id.as_str(), "w2");
    fleet.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_waits_for_an_orchestrator_that_cannot_say_yet_whether_the_turn_is_open() {
    let mut fleet = Fleet::start().await;
    fleet.fail(503);
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    fleet.wait_for_answers(2).await;
    fleet.nothing_is_left().await;
    fleet.nothing_began();
    fleet.say_continue();
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    assert_eq!(fleet.final_handoff().await.waypoint_id.as_str(), "w1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_nobody_answers_for_is_held_without_work_and_given_back_at_the_end() {
    let mut fleet = Fleet::start().await;
    fleet.go_silent().await;
    fleet.open_turn("w1").await;
    let mut agent = fleet.agent("builder-1", Script::Finish).await;
    assert!(fleet.handoff().await.stored.subject.ends_with(".w1.build_plan"));
    fleet.nothing_is_left().await;
    agent.drain(Duration::ZERO);
    assert_eq!(soon(agent.ended()).await, Ok(()));
    assert_eq!(fleet.given_back().await.delivery, 1);
    assert_eq!(fleet.poll().await.unwrap().number, 2);
    fleet.nothing_began();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_asked_and_got_lost_is_stored_before_work_begins() {
    let mut fleet = Fleet::start().await;
    fleet.fail(503);
    // No handoff fits.
    fleet.give_disk(2_000).await;
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    // It asks by a request, as nobody has its plan.
    fleet.wait_for_answers(1).await;
    fleet.nothing_began();
    fleet.give_disk(topology::DISK_BYTES).await;
    fleet.say_continue();
    assert!(fleet.handoff().await.stored.subject.ends_with(".w1.build_plan"));
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    assert_eq!(fleet.final_handoff().await.waypoint_id.as_str(), "w1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_is_answered_late_is_stored_once() {
    let mut fleet = Fleet::start().await;
    fleet.fail(503);
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    assert!(fleet.handoff().await.stored.subject.ends_with(".w1.build_plan"));
    fleet.wait_for_answers(1).await;
    fleet.say_continue();
    assert_eq!(fleet.final_handoff().await.waypoint_id.as_str(), "w1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_to_a_plan_counts_with_its_nonce_only() {
    let mut fleet = Fleet::start().await;
    fleet.go_silent().await;
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    let nonce = fleet.handoff().await.stored.nonce.expect("the plan of a turn that was just opened asks");
    let stop = || ProgressAnswer::Stop { reason: "forged".to_owned(), give_back: false };
    fleet.notify("builder-1", "turn-w1", "another", stop()).await;
    fleet.notify("builder-1", "turn-w2", &nonce, stop()).await;
    fleet.notify("builder-1", "turn-w1", &nonce, ProgressAnswer::Continue(Going::default())).await;
    assert_eq!(fleet.final_handoff().await.waypoint_id.as_str(), "w1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_the_orchestrator_refuses_to_speak_of_is_given_back() {
    let mut fleet = Fleet::start().await;
    fleet.fail(404);
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    // The second one says why.
    fleet.wait_for_answers(2).await;
    assert!(fleet.troubles()[0].contains("whether the turn is open"), "{:?}", fleet.troubles());
    fleet.nothing_began();
    fleet.say_continue();
    assert!(matches!(fleet.event().await, Event::Began { delivery: 2.., .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_takes_longer_than_the_acknowledgement_wait_is_not_given_to_another() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::WaitForStopOnce).await;
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    fleet.nothing_is_left().await;
    fleet.say_stop("done waiting");
    assert!(matches!(fleet.event().await, Event::Stopped(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_says_how_far_its_turn_is_while_it_works() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let _agent = fleet.agent("builder-1", Script::WaitForGo).await;
    assert!(fleet.handoff().await.stored.subject.ends_with(".w1.build_plan"));
    let said = fleet.handoff().await.stored;
    assert!(said.subject.ends_with(".w1.status_update"), "{}", said.subject);
    let update: StatusUpdate = serde_json::from_slice(&said.payload).unwrap();
    assert_eq!((update.turn.as_str(), update.delivery, update.agent.as_str()), ("turn-w1", 1, "builder-1"));
    assert!(update.summary.starts_with("waiting for a word, ") && update.summary.ends_with(" s into the turn"));
    fleet.go();
    assert_eq!(fleet.final_handoff().await.waypoint_id.as_str(), "w1", "nothing follows from it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn draining_finishes_the_turn_in_hand_and_takes_no_other() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let mut agent = fleet.agent("builder-1", Script::WaitForGo).await;
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    agent.drain(SOON);
    fleet.open_turn("w2").await;
    fleet.go();
    assert_eq!(soon(agent.ended()).await, Ok(()));
    assert_eq!(fleet.final_handoff().await.waypoint_id.as_str(), "w1");
    let left = fleet.poll().await.unwrap();
    assert!(left.stored.subject.contains(".w2."), "{}", left.stored.subject);
    assert_eq!(left.number, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_not_done_when_the_time_to_drain_is_over_is_given_back() {
    let mut fleet = Fleet::start().await;
    fleet.open_turn("w1").await;
    let mut agent = fleet.agent("builder-1", Script::WaitForStopOnce).await;
    assert_eq!(fleet.event().await, Event::Began { agent: "builder-1", delivery: 1 });
    agent.drain(Duration::ZERO);
    assert_eq!(fleet.event().await, Event::Stopped(StopReason::Shutdown));
    assert_eq!(soon(agent.ended()).await, Ok(()));
    assert_eq!(fleet.given_back().await.delivery, 1);
    assert_eq!(fleet.poll().await.unwrap().number, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_agent_drains_at_once() {
    let mut fleet = Fleet::start().await;
    let mut agent = fleet.agent("builder-1", Script::Finish).await;
    agent.drain(SOON);
    assert_eq!(soon(agent.ended()).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_not_understood_is_set_aside() {
    let mut fleet = Fleet::start().await;
    fleet.append("w1", b"{\"schema_version\":\"9.0\"}".to_vec()).await;
    fleet.open_turn("w2").await;
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    assert_eq!(fleet.final_handoff().await.waypoint_id.as_str(), "w2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_says_that_it_is_there() {
    let mut fleet = Fleet::start().await;
    let subject = subjects::presence(&role::id(role::BUILDER), &"builder-1".parse().unwrap());
    let mut signals = Signals::listen(&fleet.orchestrator, subject).await.unwrap();
    let _agent = fleet.agent("builder-1", Script::Finish).await;
    let said: Presence = serde_json::from_slice(&soon(signals.next()).await.unwrap().payload).unwrap();
    assert_eq!((said.agent.as_str(), said.role.as_str()), ("builder-1", "builder"));
    assert_eq!(said.pid, std::process::id());
}
