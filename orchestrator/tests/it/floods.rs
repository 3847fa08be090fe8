//! What one agent's key cannot do to the others: hold up their handoffs by what it sends.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use holdpoint_bus::{
    Outgoing, blobs,
    handoffs::{self, ShowJwt},
};
use holdpoint_protocol::{
    Digest,
    api::{
        ActStanding, HISTORY, History, HistoryQuery, MESSAGES, PROGRESS, Progress, ProgressAnswer, SUBMIT, Standing,
    },
    artifact::{Artifact as _, BuildArtifact},
    completing::{TASK, TaskAnswer, TaskQuery},
    export::{ExportPlace, MessagePage, MessageQuery},
    facts::{BlobRef, BundleRef, Oid},
    headers,
    ids::{FlightId, WaypointId, role},
    journal::Sequence,
    refusal::RefusalCode,
    state::Purpose,
    streams, subjects,
    turn::Turn,
    view::{FlightView, WaypointView},
};
use holdpoint_runtime::{config::Config, fresh};
use holdpoint_text::lines::{LINES_A_MINUTE, LINES_OF_ONE};

use crate::support::{Agent, SOON, World, log};

const PLAN: &str = "plan: p\npolicy: {max_reworks: 0}\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

/// Work whose bundle nobody ever stores.
pub(crate) fn hopeless(builder: &Agent, turn: &Turn) -> BuildArtifact {
    let commit: Oid = "a".repeat(40).parse().unwrap();
    let digest = Digest::of(fresh::suffix().as_bytes());
    let blob = BlobRef { role: builder.role.clone(), digest, bytes: 5 };
    let bundle = BundleRef { blob, tip: commit.clone(), index: None };
    builder.built(turn, Some((commit.clone(), commit, bundle)))
}

fn is_verified(waypoint: &WaypointView) -> bool {
    waypoint.turn.as_ref().is_some_and(|turn| matches!(turn.purpose, Purpose::Verify(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_hopeless_handoffs_for_one_flight_holds_up_no_other_flight_of_its_partition() {
    let mut world = World::of_a_fleet().await;
    world.submit(PLAN).await;
    let mut flooder = world.agent(role::BUILDER, "b1").await;
    let (flooded, _delivery) = flooder.take().await;
    let others = || format!("test-{}", fresh::suffix()).parse::<FlightId>().unwrap();
    let partition = subjects::partition(&world.flight);
    world.flight = std::iter::repeat_with(others).find(|flight| subjects::partition(flight) == partition).unwrap();
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b2").await;
    let (turn, _delivery) = builder.take().await;
    for _ in 0..4_000 {
        let artifact = hopeless(&flooder, &flooded);
        flooder.hand_off(&flooded, BuildArtifact::KIND, &artifact).await;
    }
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    let handed = Instant::now();
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    world.waypoint_when("the verification of the other flight", is_verified).await;
    let waited = handed.elapsed();
    assert!(waited < Duration::from_secs(30), "what is refused is refused beside the others: {waited:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_connections_of_one_key_the_oldest_stay_and_others_are_let_in() {
    const MOST: usize = 4;
    let mut world = World::start().await;
    world.start_orchestrator_with(|config| config.orchestrator.connections_per_key = 4).await;
    world.submit(PLAN).await;
    let role = role::id(role::BUILDER);
    let key = world.local.authority.mint_agent(&role, &"flood".parse().unwrap(), &streams::fleet_pool(), None).unwrap();
    let mut flood = Vec::new();
    for _ in 0..100 {
        flood.push(world.local.connect(&key).await.unwrap());
    }
    // Clients of ours come back for ever, and are ended for ever.
    let mut ended = vec![false; flood.len()];
    let deadline = tokio::time::Instant::now() + SOON;
    while !ended[MOST..].iter().all(|ended| *ended) {
        for (bus, ended) in flood.iter().zip(&mut ended) {
            *ended |= !bus.is_connected();
        }
        let left = ended[MOST..].iter().filter(|ended| !**ended).count();
        assert!(tokio::time::Instant::now() < deadline, "{left} were never ended");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(ended[..MOST], [false; MOST], "the oldest stay");
    let mut builder = world.agent(role::BUILDER, "b1").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    world.waypoint_when("the verification", is_verified).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_hopeless_handoffs_the_newest_waits_for_a_while_and_the_turn_stays_open() {
    let mut world = World::start().await;
    world.start_orchestrator_with(|config| config.orchestrator.blob_wait = "1s".parse().unwrap()).await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    for _ in 0..30 {
        let artifact = hopeless(&builder, &turn);
        builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    }
    let (mut superseded, newest) = (0, format!("HP_HANDOFF_BUILDER/{}", 31));
    let last = loop {
        let refused = builder.refused().await;
        match refused.code {
            RefusalCode::Superseded => superseded += 1,
            // Reported each time that it is looked for.
            RefusalCode::WorkMissing => {}
            _ => break refused,
        }
    };
    assert_eq!((last.code, last.reference), (RefusalCode::NeverStored, newest), "{}", last.error);
    assert_eq!(superseded, 29);
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    world.waypoint_when("the verification", is_verified).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn handoffs_in_the_names_of_unknown_agents_hold_up_nobody_and_are_refused() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut liar = world.agent(role::BUILDER, "b1").await;
    let mut builder = world.agent(role::BUILDER, "b2").await;
    let (turn, _delivery) = builder.take().await;
    for n in 0..200 {
        let artifact = liar.built(&turn, None);
        liar.pretends(&turn, &artifact, &format!("nobody-{n}")).await;
    }
    let artifact = builder.built(&turn, None);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    world.waypoint_when("the verification", is_verified).await;
    for _ in 0..200 {
        assert_eq!(liar.refused().await.code, RefusalCode::PlanMissing);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_fills_up_is_told_with_who_wrote_most_and_the_setting_before_it_is_full() {
    log::keep();
    let mut world = World::start().await;
    // Handoffs of builders may take 123 KiB.
    let disk = |config: &mut Config| {
        config.orchestrator.broker_disk = "4MiB".parse().unwrap();
        config.orchestrator.room_per_key = 100;
    };
    Box::pin(world.start_orchestrator_with(disk)).await;
    world.submit(PLAN).await;
    let name = format!("filler-{}", fresh::suffix());
    let mut filler = world.agent(role::BUILDER, &name).await;
    let (turn, _delivery) = filler.take().await;
    let mut artifact = filler.built(&turn, None);
    artifact.turn = "guessed".parse().unwrap();
    artifact.completion_claim = Some("x".repeat(10 << 10));
    for _ in 0..9 {
        filler.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    }
    let line = log::line_with(&["a stream fills up", "HP_HANDOFF_BUILDER", "percent=80", &name]).await;
    for part in ["orchestrator.broker_disk", "keys revoke"] {
        assert!(line.contains(part), "{part} in {line}");
    }
    // Work that is stored fills the room of builders, of 754,920 bytes and 184 chunks.
    let chunk = |n: u8, len: usize| bytes::Bytes::from(vec![n; len]);
    for n in 0..2 {
        blobs::put(&filler.bus, &filler.role, chunk(n, 200 << 10)).await.unwrap();
    }
    let line = log::line_with(&["a stream fills up", "HP_BLOB_BUILDER", "percent=50"]).await;
    assert!(line.contains("messages=2"), "{line}");
    for n in 2..170 {
        blobs::put(&filler.bus, &filler.role, chunk(n, 1)).await.unwrap();
    }
    let line = log::line_with(&["a stream fills up", "HP_BLOB_BUILDER", "percent=90"]).await;
    assert!(line.contains("messages=170") && line.contains("messages_max=184"), "{line}");
    // Journals have no room of their own: these flights take 2 MiB of the 4, each its plan and its turn.
    let long = PLAN.replace("goal: g", &format!("goal: {}", "long ".repeat(50 << 10)));
    for n in 0..6 {
        let mut submit = world.submission(&long, Some(1)).await;
        submit.flight = format!("long-{n}").parse().unwrap();
        submit.fleet.pool = streams::flight_pool(&submit.flight);
        let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
    }
    let line = log::line_with(&["the broker's disk fills up", "disk_bytes=4194304"]).await;
    assert!(line.contains("holdpoint archive"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_an_agent_makes_long_comes_in_pages_and_the_task_is_still_shown() {
    const HANDOFFS: usize = 12;
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut flooder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = flooder.take().await;
    let mut artifact = flooder.built(&turn, None);
    artifact.turn = "guessed".parse().unwrap();
    artifact.completion_claim = Some("x".repeat(300 << 10));
    for _ in 0..HANDOFFS {
        flooder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    }
    let waypoint: WaypointId = "w".parse().unwrap();
    let mut query = HistoryQuery { flight: world.flight.clone(), waypoint: waypoint.clone(), after: Vec::new() };
    let (mut lines, mut pages) = (Vec::new(), 0);
    loop {
        let page: History = world.call(HISTORY, &query).await.unwrap();
        let len = serde_json::to_vec(&page).unwrap().len();
        assert!(len < 2 * holdpoint_protocol::pages::PAGE_LEN, "{len} bytes in a page");
        lines.extend(page.lines);
        pages += 1;
        let Some(next) = page.next else { break };
        query.after = next;
    }
    assert!(pages > 3, "{pages} pages");
    let references: BTreeSet<&str> = lines.iter().map(|line| line.reference.as_str()).collect();
    assert_eq!(references.len(), lines.len(), "each line is there once");
    assert!(lines.is_sorted_by_key(|line| line.at));
    let handed = lines.iter().filter(|line| line.kind == BuildArtifact::KIND);
    assert_eq!(handed.clone().count(), HANDOFFS);
    assert!(handed.clone().all(|line| line.standing == Some(Standing::Conflict)), "of a turn that never was");
    assert!(lines.iter().any(|line| line.kind == "turn" && line.standing.is_none()));
    let query = TaskQuery { flight: world.flight.clone(), waypoint, turn: None };
    let shown: TaskAnswer = world.call(TASK, &query).await.unwrap();
    let TaskAnswer::Task { task } = shown else { panic!("{shown:?}") };
    assert_eq!((&task["id"], &task["routing"]["agent"]), (&"w".into(), &"b1".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn long_headers_of_handoffs_keep_nobody_from_their_flights_history_and_export() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut flooder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = flooder.take().await;
    let subject = format!("{}.{}", turn.handoff_subject, BuildArtifact::KIND);
    let outgoing = |schema: String, message_id: String| Outgoing {
        payload: "{}".into(),
        content_type: headers::JSON,
        schema,
        message_id,
        traceparent: None,
    };
    // The broker takes 64 KiB of headers. Characters that have to be escaped take twice as much in an answer.
    let huge = outgoing("\"".repeat(50 << 10), "t.1.b2.huge.0".to_owned());
    handoffs::publish(&flooder.bus, &subject, &huge, ShowJwt::No).await.unwrap();
    for n in 0..300 {
        let long = outgoing("\"".repeat(7 << 10), format!("t.1.b2.{}.{n}", "x".repeat(7 << 10)));
        handoffs::publish(&flooder.bus, &subject, &long, ShowJwt::No).await.unwrap();
    }
    let waypoint = turn.waypoint.clone();
    let (mut query, mut shown) = (HistoryQuery { flight: world.flight.clone(), waypoint, after: Vec::new() }, 0);
    loop {
        let page: History = world.call(HISTORY, &query).await.unwrap();
        shown += page.lines.iter().filter(|line| line.reference.starts_with("HP_HANDOFF_BUILDER/")).count();
        let Some(next) = page.next else { break };
        query.after = next;
    }
    // And the plan.
    assert_eq!(shown, 302);
    let mut query = MessageQuery {
        flight: world.flight.clone(),
        stream: streams::handoff(&flooder.role),
        after: ExportPlace::default(),
        until: Sequence(u64::MAX),
    };
    let mut exported = 0;
    loop {
        let page: MessagePage = world.call(MESSAGES, &query).await.unwrap();
        exported += page.messages.len();
        let Some(next) = page.next else { break };
        query.after = next;
    }
    assert_eq!(exported, 302);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_questions_about_turns_that_are_over_is_no_flood_of_the_log() {
    log::keep();
    let world = World::start().await;
    world.submit(PLAN).await;
    let name = format!("curious-{}", fresh::suffix());
    let curious = world.agent(role::BUILDER, &name).await;
    let asked = Progress {
        flight: world.flight.clone(),
        waypoint: "w".parse().unwrap(),
        turn: "guessed".parse().unwrap(),
        delivery: 1,
        note: None,
        trouble: None,
        answers: 0,
        newest: false,
    };
    for _ in 0..LINES_A_MINUTE + 30 {
        let answer: ProgressAnswer = curious.request(PROGRESS, &asked).await.unwrap();
        assert!(matches!(answer, ProgressAnswer::Stop { .. }), "{answer:?}");
    }
    assert!(log::count(&["a turn is over", &name]) <= LINES_OF_ONE as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_acts_that_are_refused_is_no_flood_of_the_log() {
    log::keep();
    let world = World::start().await;
    world.submit(PLAN).await;
    let ada = world.person("human-ada").await;
    let mut acts = Vec::new();
    for _ in 0..LINES_A_MINUTE + 30 {
        acts.push(ada.store(&world, None, &ada.resume(), ShowJwt::Yes).await);
    }
    for act in acts {
        let standing = world.standing(None, act).await;
        assert!(matches!(standing, ActStanding::Refused(_)), "{standing:?}");
    }
    assert_eq!(log::count(&["act refused", world.flight.as_str()]), LINES_A_MINUTE as usize);
}
