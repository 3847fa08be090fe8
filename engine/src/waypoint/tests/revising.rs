//! Documents that people edit.

use holdpoint_protocol::{
    Digest,
    api::ActRefused,
    artifact::{ActCode, Revise, Verb},
    checkpoint::{DOCUMENT_BYTES_MAX, DocumentRef, DocumentSpec, GateDemands, GateDocument},
    ids::role,
    journal::Entry,
    reason::BlockReason,
    state::{Outcome, Phase, WaypointState},
    turn::TurnRequest,
    workflow::{GateSpec, WorkflowSpec},
};
use serde_json::json;

use crate::testing::{
    desk::ADA,
    fixture::{Fed, Fixture},
    parts::{build_request, fleet, plan, waypoint},
};
use crate::{
    testing::account::Account,
    waypoint::{Input, Refusal, invariants},
};

const FIRST: &str = "# Impact\n\nNone.\n";

/// A draft with a document is looked at, then it is built from.
fn drafted() -> Fixture {
    let gate = |id: &str, role_name: &str| GateSpec::new(id.parse().unwrap(), role_name.parse().unwrap());
    let document = Some(DocumentSpec { sections: vec!["Impact".to_owned()] });
    let demands = GateDemands { document, ..GateDemands::default() };
    let look = GateSpec { can_reject: true, ..gate("look", "reviewer") };
    let build = gate("build", role::BUILDER);
    let verify = GateSpec { can_reject: true, ..gate("verify", role::VERIFIER) };
    let spec = WorkflowSpec::new("declared", [GateSpec { demands, ..gate("draft", "writer") }, look, build, verify]);
    let mut plan = plan(vec![waypoint("w", &[])]);
    plan.workflow = "declared".to_owned();
    let mut fixture = Fixture::flown_by(plan, fleet(), &[spec]);
    fixture.feed("w", Input::Open).turn();
    fixture
}

fn hands_over(text: &str) -> Option<Box<GateDocument>> {
    Some(Box::new(GateDocument { text: text.to_owned(), ..GateDocument::default() }))
}

/// The draft is handed over, and is being looked at.
fn looked_at() -> Fixture {
    let mut fixture = drafted();
    fixture.fulfil("w", |completion| completion.document = hands_over(FIRST)).turn();
    fixture
}

fn documents(fixture: &Fixture) -> Vec<DocumentRef> {
    fixture.state("w").documents
}

fn newest(fixture: &Fixture) -> String {
    documents(fixture).first().map(|document| document.from.clone()).unwrap_or_default()
}

fn revise(fixture: &mut Fixture, of: &str, change: impl FnOnce(&mut Revise)) -> Fed {
    let revision = fixture.revision("w", of, change);
    fixture.feed("w", revision)
}

fn refused(fixture: &mut Fixture, of: &str, change: impl FnOnce(&mut Revise)) -> ActRefused {
    match revise(fixture, of, change).refusal() {
        Refusal::Act(refused) => *refused,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_edited_document_takes_the_place_of_the_gates_newest_and_later_turns_get_it_while_nothing_else_moves() {
    let mut fixture = looked_at();
    let (before, first) = (fixture.state("w"), newest(&fixture));
    let Fed::Appended(entry) = revise(&mut fixture, &first, |_| {}) else { panic!("an entry") };
    let Entry::Revised(revised) = *entry else { panic!("{entry:?}") };
    let after = fixture.state("w");
    assert_eq!((&after.phase, &after.decision, &after.history), (&before.phase, &before.decision, &before.history));
    assert_eq!(after.documents, std::slice::from_ref(&revised.document));
    assert_eq!(revised.document.blob.digest, Digest::of(b"# Impact\n\nSmall.\n"));
    assert_ne!(newest(&fixture), first);
    let acted = after.acted.unwrap();
    assert_eq!((acted.by.as_str(), acted.verb), (ADA, Verb::Revise));
    let built = fixture.fulfil("w", |_| {}).turn();
    assert_eq!(build_request(&built).documents, [revised.document]);
    assert_eq!(Account::of(&fixture).audit().findings, []);
}

#[test]
fn an_edit_of_another_than_the_newest_is_refused_with_the_newest_and_the_same_act_does_nothing_twice() {
    let mut fixture = looked_at();
    let first = newest(&fixture);
    let revision = fixture.revision("w", &first, |_| {});
    fixture.feed("w", revision.clone());
    assert_eq!(fixture.feed("w", revision), Fed::Nothing);
    let second = newest(&fixture);
    let stale = refused(&mut fixture, &first, |_| {});
    assert_eq!((stale.code, &stale.details["newest"]), (ActCode::AnswerLate, &json!(second)));
    assert!(stale.hint.contains(&format!("holdpoint artifact {second} --markdown")), "{}", stale.hint);
    // What an agent hands over later is the newest again.
    fixture.fulfil("w", |completion| {
        (completion.outcome, completion.blockers) = (Some(Outcome::NeedsReview), vec!["name the risk".to_owned()]);
    });
    let again = fixture.turn("w");
    let TurnRequest::Complete(request) = &again.request else { panic!("{again:?}") };
    assert_eq!(request.documents.first().map(|document| document.from.as_str()), Some(second.as_str()));
    fixture.fulfil("w", |completion| completion.document = hands_over(FIRST)).turn();
    assert_eq!(refused(&mut fixture, &second, |_| {}).code, ActCode::AnswerLate);
}

#[test]
fn what_cannot_be_revised_is_refused_with_its_reason() {
    let text = |text: &'static str| move |revise: &mut Revise| text.clone_into(&mut revise.document.text);
    let long = |revise: &mut Revise| revise.document.text = "x".repeat(DOCUMENT_BYTES_MAX + 1);
    let mut fixture = looked_at();
    let of = newest(&fixture);
    let no_person = refused(&mut fixture, &of, |revise| revise.agent = "ci".parse().unwrap());
    assert_eq!(no_person.code, ActCode::HumanRequired);
    let gate = refused(&mut fixture, &of, |revise| revise.gate = "build".parse().unwrap());
    assert_eq!(gate.code, ActCode::NothingOpen, "{gate:?}");
    let unmet = refused(&mut fixture, &of, text("# Design\n\nOne.\n"));
    assert_eq!((unmet.code, &unmet.details["error"]), (ActCode::Invalid, &json!("checkpoints_unmet")));
    assert!(unmet.message.contains("there is no section `Impact`"), "{}", unmet.message);
    assert!(refused(&mut fixture, &of, text(" \n")).message.contains("empty"));
    assert!(refused(&mut fixture, &of, long).message.contains("at most"));
    assert_eq!(newest(&fixture), of, "nothing was changed");
    fixture.cancel("w");
    assert_eq!(refused(&mut fixture, &of, |_| {}).code, ActCode::Over);
}

#[test]
fn an_edit_while_work_is_held_loses_nothing_of_what_goes_with_it() {
    let mut fixture = looked_at();
    fixture.fulfil("w", |completion| {
        (completion.outcome, completion.blockers) = (Some(Outcome::Blocked), vec!["which product?".to_owned()]);
        completion.block_reason = Some(BlockReason::ScopeChange);
    });
    let of = newest(&fixture);
    revise(&mut fixture, &of, |_| {});
    assert!(matches!(fixture.phase("w"), Phase::Held(held) if held.block_reason == Some(BlockReason::ScopeChange)));
    let again = fixture.retry("w", |_| {}).turn();
    let TurnRequest::Complete(request) = &again.request else { panic!("{again:?}") };
    assert_eq!(request.feedback.as_ref().map(|told| told.notes.clone()), Some(vec!["which product?".to_owned()]));
    assert_eq!(request.documents, documents(&fixture));
}

#[test]
fn an_entry_of_an_edit_changes_nothing_but_the_document() {
    let mut fixture = looked_at();
    let of = newest(&fixture);
    let revision = fixture.revision("w", &of, |_| {});
    let before = fixture.state("w");
    let Fed::Appended(entry) = fixture.feed("w", revision) else { panic!("an entry") };
    let after = fixture.state("w");
    assert_eq!(invariants(&before, &after, &entry), None);
    let more = [
        WaypointState { phase: Phase::Pending, ..after.clone() },
        WaypointState { cleared: true, ..after.clone() },
        WaypointState { documents: before.documents.clone(), ..after.clone() },
    ];
    for changed in more {
        assert!(invariants(&before, &changed, &entry).is_some(), "{changed:?}");
    }
}
