//! Checkpoints at the boundary: what an agent says of its own work does not let it through (DOC-2, DOC-5).

use holdpoint_bus::blobs::{self, BlobError};
use holdpoint_protocol::{
    Digest,
    api::SUBMIT,
    artifact::{Artifact as _, BuildArtifact, Completion},
    checkpoint::{
        CheckpointResult, CheckpointRule, CheckpointSpec, CheckpointStatus, DocumentSpec, EstablishedBy, GateDemands,
        GateDocument, PathKind, TouchedPaths,
    },
    facts::Verdict,
    ids::{RoleId, role},
    refusal::RefusalCode,
    state::Outcome,
    turn::{Turn, TurnRequest},
    view::{FlightStatus, FlightView},
    workflow::{GateSpec, WorkflowSpec},
};
use serde_json::json;

use crate::support::World;

const PLAN: &str = r#"
plan: staged
waypoints:
  - {id: w, goal: write it, criteria: [{id: c, check: "true"}]}
"#;

fn checkpoint(name: &str, rule: Option<CheckpointRule>) -> CheckpointSpec {
    CheckpointSpec { name: name.parse().unwrap(), rule, required: true }
}

async fn submit(world: &World, gates: Vec<GateSpec>) {
    let mut submit = world.submission(PLAN, Some(1)).await;
    let workflow = WorkflowSpec::new("staged", gates);
    submit.plan.workflow = workflow.name.clone();
    submit.workflows = vec![workflow];
    let _: FlightView = world.call(SUBMIT, &submit).await.unwrap();
}

fn says(name: &str, by: EstablishedBy, status: CheckpointStatus) -> CheckpointResult {
    CheckpointResult { name: name.parse().unwrap(), by, status, message: String::new() }
}

fn document(text: &str, checkpoints: Vec<CheckpointResult>) -> Option<Box<GateDocument>> {
    Some(Box::new(GateDocument { text: text.to_owned(), checkpoints, ..GateDocument::default() }))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_somebody_elses_hands_its_document_over_once_the_checkpoints_hold_and_the_next_gate_gets_it() {
    use CheckpointStatus::{Pass, Skip};
    use EstablishedBy::{Predicate, Statement};
    let writer: RoleId = "writer".parse().unwrap();
    let world = World::with_role(&writer).await;
    let demands = GateDemands {
        proposes: None,
        document: Some(DocumentSpec { sections: vec!["Impact".to_owned()] }),
        checkpoints: vec![checkpoint("requirements_addressed", None)],
        ..GateDemands::default()
    };
    let gate = |id: &str| GateSpec::new(id.parse().unwrap(), writer.clone());
    submit(&world, vec![GateSpec { demands, ..gate("draft") }, gate("look")]).await;
    let mut agent = world.agent("writer", "writer-1").await;
    let (turn, delivery) = agent.take().await;
    let whole = "# Impact\n\nNone.\n";
    let passes = || says("requirements_addressed", Statement, Pass);
    for (wrong, why) in [
        (None, "there is no document"),
        (document("# Design\n", vec![passes(), says("document", Predicate, Pass)]), "there is no section `Impact`"),
        (document(whole, vec![]), "nothing was said of it"),
        (document(whole, vec![says("requirements_addressed", Statement, Skip)]), "it was skipped"),
    ] {
        let mut completion = agent.completed(&turn, Some(Outcome::Complete));
        completion.document = wrong;
        agent.hand_off(&turn, Completion::KIND, &completion).await;
        let refused = agent.refused().await;
        let details = refused.details.expect("what is wrong, for programs");
        assert_eq!((refused.code, &details["error"]), (RefusalCode::CompletionInvalid, &json!("checkpoints_unmet")));
        assert!(details["message"].as_str().unwrap().contains(why), "{details:#}");
    }
    let role = [role::id(role::ORCHESTRATOR)];
    let refused = Digest::of(b"# Design\n");
    let stored = blobs::get(&world.operator, refused, &role, 1 << 20).await;
    assert!(
        matches!(stored, Err(BlobError::NotFound { .. })),
        "what is refused takes no room of the orchestrators: {stored:?}"
    );
    let mut completion = agent.completed(&turn, Some(Outcome::Complete));
    completion.document = document(whole, vec![passes()]);
    agent.hand_off(&turn, Completion::KIND, &completion).await;
    delivery.ack().await.unwrap();
    let (next, _delivery) = agent.take().await;
    let TurnRequest::Complete(request) = &next.request else { panic!("{next:?}") };
    let [handed] = request.documents.as_slice() else { panic!("{:?}", request.documents) };
    assert_eq!((next.gate.as_str(), handed.gate.as_str()), ("look", "draft"));
    assert_eq!(world.bytes(&handed.blob).await, whole.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_does_not_meet_its_checkpoints_is_reworked_whatever_its_builder_says() {
    let world = World::start().await;
    let gate = |id: &str, role_name: &'static str| GateSpec::new(id.parse().unwrap(), role::id(role_name));
    let touches = Some(CheckpointRule::Touches(TouchedPaths::Kind(PathKind::Docs)));
    let demands = GateDemands { checkpoints: vec![checkpoint("docs_updated", touches)], ..GateDemands::default() };
    let verify = GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) };
    submit(&world, vec![GateSpec { demands, ..gate("build", role::BUILDER) }, verify]).await;
    let mut builder = world.agent(role::BUILDER, "builder-1").await;
    let (turn, delivery) = builder.take().await;
    let work = world.commit(&builder, world.base.as_str(), &[("a.rs", "a\n")]).await;
    let claims = vec![says("docs_updated", EstablishedBy::Predicate, CheckpointStatus::Pass)];
    let mut built = builder.built(&turn, Some(work));
    built.document = document("", claims);
    builder.hand_off(&turn, BuildArtifact::KIND, &built).await;
    delivery.ack().await.unwrap();
    let again: Turn = builder.builds(&world, &[("a.md", "a\n")]).await;
    let TurnRequest::Build(request) = &again.request else { panic!("{again:?}") };
    let feedback = request.feedback.as_ref().unwrap();
    assert_eq!(feedback.reason_code.as_str(), "handoff_invalid");
    assert!(feedback.notes.iter().any(|note| note.contains("docs_updated (fail)")), "{feedback:?}");
    let mut verifier = world.agent(role::VERIFIER, "verifier-1").await;
    verifier.judges(Verdict::Pass).await;
    world.view_when("the end", |view| view.status == FlightStatus::Accepted).await;
    world.is_sound().await;
}
