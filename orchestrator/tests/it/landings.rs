//! Landings, over real journals and a real repository: several works at once, crashes, and orchestrators that race.

use holdpoint_bus::api::ApiError;
use holdpoint_protocol::{
    api::SUBMIT,
    artifact::{Artifact, BuildArtifact, VerificationReport},
    facts::{BundleRef, Verdict},
    ids::role,
    journal::Entry,
    state::{Held, Phase, Resume, Status, WaypointState},
    turn::Turn,
    view::{FlightStatus, FlightView},
};
use holdpoint_workspace::HANDOFF_REF;

use crate::support::{Agent, SOON, World, git, log};

pub(crate) fn plan(waypoints: usize) -> String {
    let waypoint =
        |n| format!("  - {{id: w{n}, title: t, goal: g, criteria: [{{id: c, statement: s, check: 'true'}}]}}\n");
    format!("plan: p\nwaypoints:\n{}", (0..waypoints).map(waypoint).collect::<String>())
}

/// Every waypoint is built on the flight's base: a file of its own name, with this text.
pub(crate) async fn build_all(world: &World, count: usize, text: impl Fn(usize) -> String) {
    let mut builder = world.agent(role::BUILDER, "b1").await;
    for n in 0..count {
        let (turn, delivery) = builder.take().await;
        let work = world.commit(&builder, world.base.as_str(), &[(turn.waypoint.as_str(), &text(n))]).await;
        let artifact = builder.built(&turn, Some(work));
        builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
        delivery.ack().await.unwrap();
    }
}

async fn pass(verifier: &mut Agent, turn: &Turn) {
    let report = verifier.reported(turn, Verdict::Pass);
    verifier.hand_off(turn, VerificationReport::KIND, &report).await;
}

pub(crate) async fn accepted(world: &World) -> FlightView {
    let deadline = tokio::time::Instant::now() + SOON;
    loop {
        let view = world.view().await;
        if view.status == FlightStatus::Accepted {
            return view;
        }
        assert!(tokio::time::Instant::now() < deadline, "waited in vain for the landings: {view:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Brings landings into the repository.
pub(crate) async fn bring(world: &World, landings: &[BundleRef]) {
    for landing in landings {
        let bundle = world.path("landing.bundle");
        std::fs::write(&bundle, world.bytes(&landing.blob).await).unwrap();
        let refs = format!("+{HANDOFF_REF}:refs/heads/flight");
        git(&world.path("repo"), &["fetch", "--quiet", bundle.to_str().unwrap(), &refs]);
    }
}

/// The flight's branch, brought by these landings: a line of one commit a waypoint, that has all of their files.
async fn a_line(world: &World, brought_by: &[BundleRef], view: &FlightView) {
    bring(world, brought_by).await;
    let repo = world.path("repo");
    let line = git(&repo, &["log", "--reverse", "--format=%H", &format!("{}..flight", world.base)]);
    let tips: Vec<String> = view.landings.iter().map(|landing| landing.tip.to_string()).collect();
    assert_eq!(line.lines().collect::<Vec<_>>(), tips);
    assert_eq!(tips.last(), Some(&view.head.to_string()));
    let names = git(&repo, &["ls-tree", "--name-only", "flight"]);
    for n in 0..tips.len() {
        assert!(names.lines().any(|name| name == format!("w{n}")), "w{n} was undone: {names}");
    }
}

/// As [`a_line`], fetched as a user does.
pub(crate) async fn a_line_of_all(world: &World, view: &FlightView, count: usize) {
    assert_eq!(view.landings.len(), count);
    a_line(world, &view.landings, view).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orchestrators_that_race_land_every_work_once_and_undo_none() {
    const COUNT: usize = 6;
    let world = World::start().await;
    let _second = world.second_orchestrator().await;
    world.submit_for(&plan(COUNT), None).await;
    build_all(&world, COUNT, |_| "x\n".to_owned()).await;
    let view = accepted_by(world.agent(role::VERIFIER, "v1").await, &world).await;
    a_line_of_all(&world, &view, COUNT).await;
}

/// How many landings the first bundle brings that brings several.
const WIDE: usize = 16;

async fn landed_with(text: impl Fn(usize) -> String) -> (World, FlightView) {
    let world = World::start().await;
    world.submit_for(&plan(WIDE), None).await;
    build_all(&world, WIDE, text).await;
    let view = accepted_by(world.agent(role::VERIFIER, "v1").await, &world).await;
    (world, view)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sixteenth_landing_brings_those_before_it() {
    let (world, view) = Box::pin(landed_with(|_| "x\n".to_owned())).await;
    assert_eq!(view.brought_by, view.landings[WIDE - 1..], "a command that has none of it needs no more");
    a_line(&world, &view.brought_by, &view).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn landings_that_are_too_big_together_keep_a_bundle_each() {
    const TEXT_LEN: usize = 512 << 10;
    let (world, view) = Box::pin(landed_with(|n| noise(n, TEXT_LEN))).await;
    let largest = view.landings.iter().map(|landing| landing.blob.bytes).max();
    assert!(largest.is_some_and(|bytes| bytes < 2 * TEXT_LEN as u64), "{largest:?}");
    a_line_of_all(&world, &view, WIDE).await;
}

/// Text that hardly compresses.
fn noise(seed: usize, len: usize) -> String {
    let mut state = seed as u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + u8::try_from(state >> 58).unwrap())
    };
    (0..len).map(|_| next()).collect()
}

/// How the flight stands when this verifier has passed everything.
async fn accepted_by(mut verifier: Agent, world: &World) -> FlightView {
    let verifying = tokio::spawn(async move {
        loop {
            let (turn, delivery) = verifier.take().await;
            pass(&mut verifier, &turn).await;
            delivery.ack().await.unwrap();
        }
    });
    let view = accepted(world).await;
    verifying.abort();
    view
}

/// A title that ends its line and goes on as trailers of ours.
const FORGED: &str = "x\n\nHoldpoint-Flight: theirs\nHoldpoint-Waypoint: theirs\r\nHoldpoint-Report: sha256:00\n\
                      Co-authored-by: Somebody <s@example.org>\u{2028}Signed-off-by: Boss <b@example.org>\n";

#[tokio::test(flavor = "multi_thread")]
async fn titles_of_an_older_journal_that_forge_trailers_land_with_ours_only() {
    let mut world = World::start().await;
    let mut submit = world.submission(&plan(2), None).await;
    submit.plan.waypoints.iter_mut().for_each(|waypoint| waypoint.title = FORGED.to_owned());
    let refused = world.call::<_, FlightView>(SUBMIT, &submit).await.unwrap_err();
    assert!(matches!(&refused, ApiError::Refused { failure, .. } if failure.code == 400), "today: {refused:?}");
    world.crash_orchestrator();
    world.begin_unchecked(submit).await;
    world.start_orchestrator().await;
    build_all(&world, 2, |_| "x\n".to_owned()).await;
    let view = accepted_by(world.agent(role::VERIFIER, "v1").await, &world).await;
    a_line_of_all(&world, &view, 2).await;
    let log = |format: &str| git(&world.path("repo"), &["log", format, &format!("{}..flight", world.base)]);
    let keys =
        ["Holdpoint-Flight", "Holdpoint-Waypoint", "Holdpoint-Report", "Holdpoint-Scope", "Co-authored-by"].repeat(2);
    assert_eq!(log("--format=%(trailers:only,keyonly)").split_whitespace().collect::<Vec<_>>(), keys);
    let flights = log("--format=%(trailers:key=Holdpoint-Flight,valueonly)");
    assert_eq!(flights.split_whitespace().collect::<Vec<_>>(), [world.flight.as_str(); 2]);
    for subject in log("--format=%s").lines() {
        assert!(subject.contains(": x\\n\\nHoldpoint-Flight: theirs\\n"), "it stays visible: {subject}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orchestrator_that_crashes_between_verdict_and_landing_lands_each_work_that_was_verified_once() {
    let mut world = World::start().await;
    world.submit_for(&plan(3), None).await;
    build_all(&world, 3, |_| "x\n".to_owned()).await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    for _ in 0..3 {
        let (turn, delivery) = verifier.take().await;
        // An orchestrator that comes back finds the report and what is due.
        world.crash_orchestrator();
        pass(&mut verifier, &turn).await;
        world.start_orchestrator().await;
        delivery.ack().await.unwrap();
    }
    let view = accepted(&world).await;
    a_line_of_all(&world, &view, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_on_an_older_base_lands_by_an_orchestrator_that_has_nothing_of_the_repository() {
    let mut world = World::start().await;
    world.submit_for(&plan(2), None).await;
    build_all(&world, 2, |_| "x\n".to_owned()).await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (first, delivery) = verifier.take().await;
    pass(&mut verifier, &first).await;
    delivery.ack().await.unwrap();
    world.view_when("the first landing", |view| view.landings.len() == 1).await;
    let (second, delivery) = verifier.take().await;
    world.crash_orchestrator();
    std::fs::rename(world.path("orchestrator/mirrors"), world.path("aside")).unwrap();
    pass(&mut verifier, &second).await;
    delivery.ack().await.unwrap();
    // One that fails to land it is held.
    world.start_orchestrator_with_landing_attempts(1).await;
    let view = accepted(&world).await;
    a_line_of_all(&world, &view, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_is_held_elsewhere_while_its_landing_is_made_does_not_land() {
    log::keep();
    let world = World::start().await;
    world.submit_for(&plan(1), None).await;
    build_all(&world, 1, |_| "x\n".to_owned()).await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, delivery) = verifier.take().await;
    // Without its mirrors the orchestrator cannot make the landing yet.
    let mirrors = world.path("orchestrator/mirrors");
    std::fs::rename(&mirrors, world.path("aside")).unwrap();
    std::fs::write(&mirrors, "in the way").unwrap();
    pass(&mut verifier, &turn).await;
    delivery.ack().await.unwrap();
    let is_accepted = |entry: &Entry| matches!(entry.record().state.as_ref().unwrap().phase, Phase::Accepted { .. });
    world.journalled(&turn.waypoint, is_accepted).await;
    log::line_with(&["cannot land now", world.flight.as_str()]).await;
    let hold = |state: &mut WaypointState| {
        let Phase::Accepted { at } = state.phase else { panic!("{state:?}") };
        let resume = Resume::Landing { at };
        state.phase = Phase::Held(Held { status: Status::Blocked, since: at, resume, block_reason: None });
    };
    world.forge_decision(&turn.waypoint, hold).await;
    std::fs::remove_file(&mirrors).unwrap();
    std::fs::rename(world.path("aside"), &mirrors).unwrap();
    log::line_with(&["the landing is not due any more", world.flight.as_str()]).await;
    let view = world.view().await;
    assert_eq!((view.landings.len(), view.waypoints[0].status), (0, Status::Blocked));
}
