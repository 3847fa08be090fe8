//! What an orchestrator does not believe.

use holdpoint_bus::blobs;
use holdpoint_protocol::{
    api::{ARTIFACT, ArtifactQuery, HISTORY, History, HistoryLine, HistoryQuery, SUBMIT},
    artifact::{Artifact, BuildArtifact, VerificationReport},
    facts::Verdict,
    ids::role,
    reason::ReasonCode,
    state::{Purpose, Status},
    subjects,
    turn::TurnRequest,
    view::{FlightView, WaypointView},
};

use crate::support::{World, git};

const PLAN: &str = "plan: p\npolicy: {max_reworks: 0}\nwaypoints:\n  - {id: w, title: t, goal: g, scope: [a], criteria: [{id: c, statement: s, check: 'true'}]}\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_is_computed_from_the_objects_whatever_builder_and_verifier_say() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, _delivery) = builder.take().await;
    // Changes a steering file outside the scope, names no touched files; and the verifier finds everything in order.
    let work = world.commit(&builder, "HEAD", &[("a", "2\n"), ("Makefile", "all: cheat\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    let (turn, _delivery) = verifier.take().await;
    let report = verifier.reported(&turn, Verdict::Pass);
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
    let waypoint = world.waypoint_when("the end", |w| w.status == Status::Failed).await;
    assert!(waypoint.remediation.unwrap().contains("protected_changed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verifier_fetches_a_commit_that_says_nothing_but_its_tree_whatever_its_maker_wrote_into_it() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, _delivery) = builder.take().await;
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let (commit, tree, _) = work.clone();
    builder.hand_off(&turn, BuildArtifact::KIND, &builder.built(&turn, Some(work))).await;
    let (turn, _delivery) = verifier.take().await;
    let TurnRequest::Verify(request) = &turn.request else { panic!("{turn:?}") };
    assert_eq!(request.tree, tree);
    assert!(request.bundles.iter().all(|bundle| bundle.blob.role != builder.role), "{:?}", request.bundles);
    // All that the bundles bring, in a repository of its own.
    let theirs = world.path("theirs");
    std::fs::create_dir(&theirs).unwrap();
    git(&theirs, &["init", "--quiet"]);
    for (n, bundle) in request.bundles.iter().enumerate() {
        let roles = [bundle.blob.role.clone()];
        let bytes = blobs::get(&verifier.bus, bundle.blob.digest, &roles, 1 << 20).await.unwrap();
        let file = world.path(&format!("{n}.bundle"));
        std::fs::write(&file, bytes).unwrap();
        git(&theirs, &["bundle", "unbundle", file.to_str().unwrap()]);
    }
    let all = git(&theirs, &["cat-file", "--batch-all-objects", "--batch-check"]);
    assert!(all.contains(request.commit.as_str()) && !all.contains(commit.as_str()), "{all}");
    let said = git(&theirs, &["show", "--no-patch", "--format=%an <%ae>|%cn <%ce>|%B", request.commit.as_str()]);
    let holdpoint = "Holdpoint <holdpoint@localhost>";
    assert_eq!(said.trim(), format!("{holdpoint}|{holdpoint}|w: t\n\nCo-authored-by: builder b1 <b1@localhost>"));
    verifier.hand_off(&turn, VerificationReport::KIND, &verifier.reported(&turn, Verdict::Pass)).await;
    world.waypoint_when("the end", |w| w.commit.is_some()).await;
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_removes_more_than_the_plan_lets_it_without_a_question_is_refused_whoever_made_it() {
    let world = World::start().await;
    world.submit(&PLAN.replace("policy: {", "policy: {ask_before_removing: 0, ")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    let constraints = &turn.guidance.constraints;
    assert!(constraints.iter().any(|one| one == "ask before you remove more than 0 files"), "{constraints:?}");
    let work = world.commit(&builder, "HEAD", &[("a", "")]).await;
    builder.hand_off(&turn, BuildArtifact::KIND, &builder.built(&turn, Some(work))).await;
    let waypoint = world.waypoint_when("the end", |w| w.status == Status::Failed).await;
    let remediation = waypoint.remediation.unwrap();
    assert!(
        remediation.contains("handoff_invalid") && remediation.contains("The work removes 1 files"),
        "{remediation}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_flies_one_agent_alone_by_its_operators_leave_and_takes_no_check_of_a_foreign_harness() {
    let single = PLAN.replace("policy: {", "policy: {mode: single, ");
    let world = World::start().await;
    let submission = world.submission(&single, Some(1)).await;
    let refused = world.call::<_, FlightView>(SUBMIT, &submission).await.unwrap_err();
    assert!(format!("{refused:?}").contains("keys role add solo"), "{refused:?}");

    let world = World::with_role(&role::id(role::SOLO)).await;
    world.submit(&single).await;
    let mut theirs = world.agent(role::SOLO, "theirs").await;
    theirs.builds(&world, &[("a", "2\n")]).await;
    let (turn, _delivery) = theirs.take().await;
    assert_eq!(turn.role.as_str(), role::SOLO);
    let mut report = theirs.reported(&turn, Verdict::Pass);
    report.self_checked = true;
    theirs.hand_off(&turn, VerificationReport::KIND, &report).await;
    let refusal = theirs.refusal().await;
    assert!(format!("{refusal:?}").contains("Holdpoint's own harness"), "{refusal:?}");
    let waypoint = world.waypoint_when("still open", |w| w.turn.is_some()).await;
    assert_eq!(waypoint.commit, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_a_filter_would_have_stored_otherwise_is_refused_whoever_made_it() {
    let world = World::start().await;
    world.submit(&PLAN.replace("scope: [a]", "scope: [a, .gitattributes]")).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    let work = world.commit(&builder, "HEAD", &[("a", "in the clear\n"), (".gitattributes", "a filter=lock\n")]).await;
    builder.hand_off(&turn, BuildArtifact::KIND, &builder.built(&turn, Some(work))).await;
    let waypoint = world.waypoint_when("the end", |w| w.status == Status::Failed).await;
    let remediation = waypoint.remediation.unwrap();
    assert!(remediation.contains("a (filter=lock): not stored"), "{remediation}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_is_foreign_by_its_senders_key_whatever_it_says_of_itself() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut foreign = world.agent(role::VERIFIER, "theirs").await;
    let mut ours = world.own_agent(role::VERIFIER, "ours").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    // The plan shows the key; the report comes without a JWT.
    let (turn, _delivery) = foreign.take().await;
    let mut report = foreign.reported(&turn, Verdict::Pass);
    report.receipt.foreign = false;
    foreign.hand_off(&turn, VerificationReport::KIND, &report).await;
    let waypoint = world.waypoint_when("the end", |w| w.commit.is_some()).await;
    assert_eq!(waypoint.foreign_receipt, Some(true));
    // Too late for the turn, and nothing records it: what is shown of it is what its key says.
    ours.plan(&turn, 2).await;
    let mut late = ours.reported(&turn, Verdict::Fail);
    late.receipt.foreign = true;
    ours.hand_off(&turn, VerificationReport::KIND, &late).await;
    ours.refusal().await;

    let query = HistoryQuery { flight: world.flight.clone(), waypoint: "w".parse().unwrap(), after: Vec::new() };
    let history: History = world.call(HISTORY, &query).await.unwrap();
    let reports: Vec<&HistoryLine> =
        history.lines.iter().filter(|line| line.kind == VerificationReport::KIND).collect();
    let shown = |line: &HistoryLine| line.artifact["receipt"]["foreign"].as_bool();
    assert_eq!(reports.iter().map(|line| shown(line)).collect::<Vec<_>>(), [Some(true), Some(false)]);
    for line in reports {
        let query = ArtifactQuery { reference: line.reference.clone() };
        let alone: HistoryLine = world.call(ARTIFACT, &query).await.unwrap();
        assert_eq!(shown(&alone), shown(line));
    }
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_verifiers_receipt_is_not_foreign() {
    let mut world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut ours = world.own_agent(role::VERIFIER, "ours").await;
    builder.builds(&world, &[("a", "2\n")]).await;
    let (turn, _delivery) = ours.take().await;
    let mut report = ours.reported(&turn, Verdict::Pass);
    report.receipt.foreign = true;
    // An orchestrator that remembers no sender looks the key up in the plan.
    world.start_orchestrator().await;
    ours.hand_off(&turn, VerificationReport::KIND, &report).await;
    let waypoint = world.waypoint_when("the end", |w| w.commit.is_some()).await;
    assert_eq!(waypoint.foreign_receipt, Some(false));
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_on_another_parent_than_the_base_is_no_handoff() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    let (first, ..) = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let second = world.commit(&builder, first.as_str(), &[("a", "3\n")]).await;
    let artifact = builder.built(&turn, Some(second));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    let waypoint = world.waypoint_when("the end", |w| w.status == Status::Failed).await;
    assert_eq!((waypoint.reason_code, waypoint.attempts), (Some(ReasonCode::AttemptsExhausted), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handoff_for_a_turn_that_is_not_open_is_refused_and_changes_nothing() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    let mut artifact = builder.built(&turn, None);
    artifact.turn = "guessed".parse().unwrap();
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    assert!(builder.refusal().await.contains("is not open"));
    let waypoint = world.waypoint_when("the open turn", |w| w.turn.is_some()).await;
    assert_eq!((waypoint.attempts, waypoint.turn.unwrap().purpose), (0, Purpose::Build));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_builder_cannot_report_on_its_own_work() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, _delivery) = builder.take().await;
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    let (verify, _delivery) = verifier.take().await;
    // The report is good; the subject is the builder's own, because the broker lets it publish nowhere else.
    let mut report = verifier.reported(&verify, Verdict::Pass);
    report.agent = builder.name.clone();
    let mut disguised = verify.clone();
    disguised.handoff_subject = subjects::handoff_prefix(&builder.role, &verify.flight, &verify.waypoint);
    builder.hand_off(&disguised, VerificationReport::KIND, &report).await;
    assert!(builder.refusal().await.contains("belongs to role verifier"));
    let waypoint = world.waypoint_when("the open turn", |w| w.turn.is_some()).await;
    assert_eq!(waypoint.status, Status::Running);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handoff_in_another_agents_name_is_refused() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    let mut artifact = builder.built(&turn, None);
    artifact.agent = "b2".parse().unwrap();
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    assert!(builder.refusal().await.contains("no plan of its agent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_on_another_tree_is_refused_and_the_turn_stays_open() {
    let world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let mut verifier = world.agent(role::VERIFIER, "v1").await;
    let (turn, _delivery) = builder.take().await;
    let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
    let artifact = builder.built(&turn, Some(work));
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    let (turn, _delivery) = verifier.take().await;
    let mut report = verifier.reported(&turn, Verdict::Pass);
    report.tree = world.base.clone();
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
    assert!(verifier.refusal().await.contains("is not the tree under review"));
    let report = verifier.reported(&turn, Verdict::Pass);
    verifier.hand_off(&turn, VerificationReport::KIND, &report).await;
    world.waypoint_when("the landing", |w| w.status == Status::Complete).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_revoked_is_not_believed_any_more_by_an_orchestrator_that_runs() {
    let mut world = World::start().await;
    world.submit(PLAN).await;
    let mut builder = world.agent(role::BUILDER, "b1").await;
    let (turn, _delivery) = builder.take().await;
    let mut stray = builder.built(&turn, None);
    stray.turn = "guessed".parse().unwrap();
    builder.hand_off(&turn, BuildArtifact::KIND, &stray).await;
    assert!(builder.refusal().await.contains("is not open"), "it is believed");
    world.revoke(&builder);
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        builder.hand_off(&turn, BuildArtifact::KIND, &stray).await;
        if builder.refusal().await.contains("revoked") {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "still believed");
    }
    let artifact = builder.built(&turn, None);
    builder.hand_off(&turn, BuildArtifact::KIND, &artifact).await;
    assert!(builder.refusal().await.contains("revoked"));
    let waypoint = world.waypoint_when("the open turn", |w| w.turn.is_some()).await;
    assert_eq!((waypoint.attempts, waypoint.status), (0, Status::Running));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_plan_for_an_older_turn_takes_nothing_from_the_open_one() {
    for restarted in [false, true] {
        let mut world = World::start().await;
        world.submit(&PLAN.replace("max_reworks: 0", "max_reworks: 1")).await;
        let mut builder = world.agent(role::BUILDER, "b1").await;
        let mut sleeper = world.agent(role::BUILDER, "b2").await;
        let mut verifier = world.agent(role::VERIFIER, "v1").await;
        let (first, _delivery) = builder.take().await;
        let work = world.commit(&builder, "HEAD", &[("a", "2\n")]).await;
        let artifact = builder.built(&first, Some(work));
        builder.hand_off(&first, BuildArtifact::KIND, &artifact).await;
        let (verify, _delivery) = verifier.take().await;
        let report = verifier.reported(&verify, Verdict::Fail);
        verifier.hand_off(&verify, VerificationReport::KIND, &report).await;
        let (second, _delivery) = builder.take().await;
        // It had the first turn, too, and wakes only now.
        sleeper.plan(&first, 2).await;
        if restarted {
            world.crash_orchestrator();
            world.start_orchestrator().await;
        }
        let work = world.commit(&builder, "HEAD", &[("a", "3\n")]).await;
        let artifact = builder.built(&second, Some(work));
        builder.hand_off(&second, BuildArtifact::KIND, &artifact).await;
        let verifying =
            |w: &WaypointView| w.turn.as_ref().is_some_and(|turn| matches!(turn.purpose, Purpose::Verify(_)));
        world.waypoint_when("the verification of the second attempt", verifying).await;
    }
}
