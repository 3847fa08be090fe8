//! Gates that are completed by one request, and the turn that an agent holds (GATE-21, GATE-22).

use holdpoint_bus::{
    Outgoing,
    api::{ApiError, ApiFailure},
    handoffs::{self, ShowJwt},
    topology,
};
use holdpoint_protocol::{
    Digest,
    api::SUBMIT,
    artifact::{Artifact as _, Completion},
    completing::{
        COMPLETE, CompleteAnswer, CompleteCall, CompletionRefused, CompletionTaken, TASK, TaskAnswer, TaskQuery,
    },
    headers,
    ids::role,
    journal::Sequence,
    state::Outcome,
    streams, subjects,
    time::Millis,
    turn::Turn,
    view::{FlightStatus, FlightView},
    workflow::{GateSpec, WorkflowSpec},
};
use serde_json::{Value, json};

use crate::{
    completions::{drafting, drafting_of},
    support::{Agent, World, complete_call},
};

#[track_caller]
fn taken(answer: Result<CompleteAnswer, ApiError>) -> CompletionTaken {
    match answer.unwrap() {
        CompleteAnswer::Taken(taken) => taken,
        CompleteAnswer::Refused(refused) => panic!("{refused:?}"),
    }
}

#[track_caller]
fn refused(answer: Result<CompleteAnswer, ApiError>) -> CompletionRefused {
    match answer.unwrap() {
        CompleteAnswer::Refused(refused) => refused,
        CompleteAnswer::Taken(taken) => panic!("{taken:?}"),
    }
}

#[track_caller]
fn failed<T: std::fmt::Debug>(answer: Result<T, ApiError>) -> ApiFailure {
    match answer {
        Err(ApiError::Refused { failure, .. }) => failure,
        other => panic!("{other:?}"),
    }
}

fn query(turn: &Turn) -> TaskQuery {
    TaskQuery { flight: turn.flight.clone(), waypoint: turn.waypoint.clone(), turn: Some(turn.turn_id.clone()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_completes_a_gate_and_what_is_stored_is_its_senders_own_handoff() {
    let (world, mut writer) = Box::pin(drafting()).await;
    let (turn, delivery) = writer.take().await;
    let wrong = writer.completed(&turn, Some(Outcome::Blocked));
    for _ in 0..2 {
        let refused = refused(writer.complete_by_request(&turn, &wrong).await);
        assert_eq!(refused.code, "completion_invalid");
        assert_eq!(refused.details.unwrap()["error"], "empty_blockers", "asked again, it is answered the same");
    }
    let right = writer.completed(&turn, Some(Outcome::Complete));
    let first = taken(writer.complete_by_request(&turn, &right).await);
    assert_eq!((first.outcome, &first.warning), (Some(Outcome::Complete), &None));
    assert_eq!(taken(writer.complete_by_request(&turn, &right).await), first, "asked again, it is answered the same");
    delivery.ack().await.unwrap();

    let (stream, sequence) = first.reference.split_once('/').unwrap();
    let orchestrator = world.local.connect(&world.local.orchestrator).await.unwrap();
    let stored = handoffs::get(&orchestrator, stream, Sequence(sequence.parse().unwrap())).await.unwrap().unwrap();
    assert!(stored.is_signed_by(writer.bus.public_key()));
    assert_eq!(stored.payload, serde_json::to_vec(&right).unwrap());

    let (turn, delivery) = writer.take().await;
    assert_eq!(turn.gate.as_str(), "look");
    let mut vague = writer.completed(&turn, Some(Outcome::NeedsReview));
    vague.blockers = vec!["needs work".to_owned()];
    assert_eq!(taken(writer.complete_by_request(&turn, &vague).await).warning.unwrap()["warning"], "vague_blockers");
    delivery.ack().await.unwrap();
    let late = refused(writer.complete_by_request(&turn, &writer.completed(&turn, Some(Outcome::Complete))).await);
    assert_eq!(late.code, "turn_not_open");
    for _ in 0..2 {
        writer.completes(|_| {}).await;
    }
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
    let late = refused(writer.complete_by_request(&turn, &vague_again(&writer, &turn)).await);
    assert_eq!((late.code.as_str(), late.reference.as_str()), ("turn_not_open", ""), "{}", late.message);
}

/// Another completion than those before.
fn vague_again(writer: &Agent, turn: &Turn) -> Completion {
    Completion { summary: "again".to_owned(), ..writer.completed(turn, Some(Outcome::Complete)) }
}

/// What the errors say, applied without a thought: the bot knows nothing else of completions.
fn repair(call: &mut Value, error: &Value) {
    let example = &error["example"];
    if error.get("validOutcomes").is_some() {
        for (key, value) in example.as_object().unwrap() {
            call[key] = value.clone();
        }
    }
    if let Some(assigned) = error.get("assignedTask") {
        let named: Vec<String> = call.as_object().unwrap().keys().cloned().collect();
        for key in named.into_iter().filter(|key| call[key] == error["attemptedTask"]).collect::<Vec<_>>() {
            call[key] = assigned.clone();
        }
    }
    if let Some(field) = error["requiredField"].as_str() {
        call[field] = example[field].clone();
    }
}

/// The codes that the bot met until its completion was taken.
async fn bot(writer: &Agent, turn: &Turn, mut call: Value) -> Vec<String> {
    let mut codes = Vec::new();
    loop {
        assert!(codes.len() < 4, "{codes:?}");
        match writer.complete_by_request(turn, &call).await.unwrap() {
            CompleteAnswer::Taken(_) => return codes,
            CompleteAnswer::Refused(refused) => {
                let error = refused.details.unwrap_or_else(|| panic!("{}: {}", refused.code, refused.message));
                codes.push(error["error"].as_str().unwrap().to_owned());
                repair(&mut call, &error);
            }
        }
    }
}

/// What is wrong at a gate that sends no work back, and at one that does. Three of the first come to `blocked`; each of the others is
/// followed by a turn at the second gate.
fn rows() -> [Vec<(&'static str, Value)>; 2] {
    let draft = vec![
        ("invalid_outcome", json!({"outcome": "done"})),
        ("invalid_outcome", json!({"outcome": "skip"})),
        ("missing_summary", json!({"summary": null})),
        ("wrong_task", json!({"waypoint_id": "v"})),
        ("reject_not_allowed", json!({"outcome": "needs_review", "blockers": ["x"]})),
        ("missing_blockers", json!({"outcome": "blocked", "blockers": null})),
        ("empty_blockers", json!({"outcome": "blocked", "blockers": [" "]})),
    ];
    let look = vec![
        ("invalid_outcome", json!({"outcome": 7})),
        ("missing_summary", json!({"summary": " "})),
        ("missing_blockers", json!({"outcome": "needs_review", "blockers": null})),
        ("empty_blockers", json!({"outcome": "needs_review", "blockers": []})),
    ];
    [draft, look]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_reads_only_the_error_repairs_every_wrong_completion_by_request() {
    let [mut draft, mut look] = rows();
    let waypoints =
        (0..draft.len()).map(|n| format!("  - {{id: w{n}, goal: g, criteria: [{{id: c, check: 'true'}}]}}\n"));
    let (world, mut writer) =
        Box::pin(drafting_of(&format!("plan: p\nwaypoints:\n{}", waypoints.collect::<String>()))).await;
    while !draft.is_empty() || !look.is_empty() {
        let (turn, delivery) = writer.take().await;
        let mut call = serde_json::to_value(writer.completed(&turn, Some(Outcome::Complete))).unwrap();
        let row = if turn.gate.as_str() == "draft" { draft.pop() } else { look.pop() };
        let (code, changes) = row.unwrap_or_else(|| ("", json!({})));
        for (key, value) in changes.as_object().unwrap() {
            call[key] = value.clone();
        }
        let codes = bot(&writer, &turn, call).await;
        assert_eq!(codes.first().map_or("", String::as_str), code, "{changes} at {}: {codes:?}", turn.gate);
        delivery.ack().await.unwrap();
    }
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_stores_a_completion_that_is_not_their_own() {
    let (world, mut writer) = Box::pin(drafting()).await;
    let (turn, _delivery) = writer.take().await;
    let other = world.agent("writer", "writer-2").await;
    let builder = world.agent(role::BUILDER, "b1").await;
    let completion = writer.completed(&turn, Some(Outcome::Complete));
    let subject = |kind: &str| format!("{}.{kind}", turn.handoff_subject);
    let call = complete_call(&writer.bus, subject(Completion::KIND), &completion);

    let copied = failed(other.request::<_, CompleteAnswer>(COMPLETE, &call).await);
    assert_eq!(copied.code, 403, "the signature is another's: {copied}");
    let own = complete_call(&builder.bus, subject(Completion::KIND), &completion);
    assert_eq!(failed(builder.request::<_, CompleteAnswer>(COMPLETE, &own).await).code, 403, "of another role");
    for wrong in ["build_artifact", "completion.x"] {
        let call = complete_call(&writer.bus, subject(wrong), &completion);
        assert_eq!(failed(writer.request::<_, CompleteAnswer>(COMPLETE, &call).await).code, 400, "{wrong}");
    }
    let changed = CompleteCall { artifact: call.artifact.replace("looked at", "approved"), ..call };
    assert_eq!(failed(writer.request::<_, CompleteAnswer>(COMPLETE, &changed).await).code, 403);
    // In another agent's name, by a key of the same role.
    let forged = refused(other.complete_by_request(&turn, &completion).await);
    assert_eq!(forged.code, "wrong_agent");
    assert_eq!(world.view().await.waypoints[0].attempts, 0);
    // Of a role that has no turn there: nothing of it is stored, so that it takes nobody's room.
    let on = subjects::handoff(&builder.role, &world.flight, &turn.waypoint, Completion::KIND);
    let homeless = complete_call(&builder.bus, on, &Completion { agent: builder.name.clone(), ..completion });
    let homeless = refused(builder.request(COMPLETE, &homeless).await);
    assert_eq!((homeless.code.as_str(), homeless.reference.as_str()), ("turn_not_open", ""), "{}", homeless.message);
    let orchestrator = world.local.connect(&world.local.orchestrator).await.unwrap();
    let stored = topology::room(&orchestrator, &streams::handoff(&builder.role)).await.unwrap();
    assert_eq!(stored.messages, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_agent_of_the_role_stored_under_its_message_id_does_not_take_its_place() {
    let (_world, mut writer) = Box::pin(drafting()).await;
    let (turn, _delivery) = writer.take().await;
    let completion = writer.completed(&turn, Some(Outcome::Complete));
    let digest = Digest::of(&serde_json::to_vec(&completion).unwrap());
    let outgoing = Outgoing {
        payload: "{}".into(),
        content_type: headers::JSON,
        schema: "completion/1.0".to_owned(),
        message_id: format!("call.{}.{}.completion.0", &digest.hex()[..32], writer.name),
        traceparent: None,
    };
    let subject = format!("{}.completion", turn.handoff_subject);
    let squatted = handoffs::publish(&writer.bus, &subject, &outgoing, ShowJwt::No).await.unwrap();
    let taken = taken(writer.complete_by_request(&turn, &completion).await);
    assert_ne!(taken.reference, format!("HP_HANDOFF_WRITER/{}", squatted.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_shown_the_turn_that_it_holds_and_no_other() {
    let (world, mut writer) = Box::pin(drafting()).await;
    let (turn, delivery) = writer.take().await;
    let held: TaskAnswer = writer.request(TASK, &query(&turn)).await.unwrap();
    let TaskAnswer::Turn { turn: shown } = held else { panic!("{held:?}") };
    assert_eq!((&shown.turn_id, &shown.request), (&turn.turn_id, &turn.request));
    let unnamed = TaskQuery { turn: None, ..query(&turn) };
    assert_eq!(failed(writer.request::<_, TaskAnswer>(TASK, &unnamed).await).code, 400);
    let other = world.agent("writer", "writer-2").await;
    let builder = world.agent(role::BUILDER, "b1").await;
    for stranger in [&other, &builder] {
        assert_eq!(failed(stranger.request::<_, TaskAnswer>(TASK, &query(&turn)).await).code, 404);
    }
    taken(writer.complete_by_request(&turn, &writer.completed(&turn, None)).await);
    delivery.ack().await.unwrap();
    assert_eq!(failed(writer.request::<_, TaskAnswer>(TASK, &query(&turn)).await).code, 404, "it is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_completes_a_gate_by_one_request_as_by_an_act() {
    let world = World::start().await;
    let mut submit = world
        .submission(
            "plan: signed\nwaypoints:\n  - {id: w, goal: sign it, criteria: [{id: c, check: 'true'}]}\n",
            Some(1),
        )
        .await;
    let timeout = Some(Millis(600_000));
    let gate = GateSpec {
        require_human: true,
        timeout,
        ..GateSpec::new("sign".parse().unwrap(), "approver".parse().unwrap())
    };
    let workflow = WorkflowSpec::new("signs", [gate]);
    submit.plan.workflow = workflow.name.clone();
    submit.workflows = vec![workflow];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    let (ada, robot) = (world.person("human-ada").await, world.person("robot").await);
    world.waypoint_when("the approval", |waypoint| waypoint.turn.is_some()).await;
    let subject = subjects::act(&world.flight, Some(&"w".parse().unwrap()), Completion::KIND);
    let by_robot = complete_call(&robot.bus, subject.clone(), &robot.approve());
    let refused = refused(world.call_as(&robot.bus, COMPLETE, &by_robot).await);
    assert_eq!((refused.code.as_str(), &refused.details.unwrap()["yourAgentId"]), ("human_required", &json!("robot")));
    let signed = complete_call(&ada.bus, subject, &ada.approve());
    let first = taken(world.call_as(&ada.bus, COMPLETE, &signed).await);
    assert_eq!(taken(world.call_as(&ada.bus, COMPLETE, &signed).await), first);
    let query = TaskQuery { flight: world.flight.clone(), waypoint: "w".parse().unwrap(), turn: None };
    let shown: TaskAnswer = world.call_as(&ada.bus, TASK, &query).await.unwrap();
    let TaskAnswer::Task { task } = shown else { panic!("{shown:?}") };
    assert_eq!((&task["description"], &task["status"]), (&json!("sign it"), &json!("complete")));
    assert_eq!(
        (&task["gateHistory"][0]["agent"], &task["gateHistory"][0]["summary"]),
        (&json!("human-ada"), &json!("looked at"))
    );
    let unknown = TaskQuery { waypoint: "v".parse().unwrap(), ..query };
    assert_eq!(failed(world.call_as::<_, TaskAnswer>(&ada.bus, TASK, &unknown).await).code, 404);
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
}
