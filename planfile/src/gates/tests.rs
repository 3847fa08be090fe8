use holdpoint_protocol::{
    org::Plane,
    workflow::{ForkKind, ForkSpec, JoinStrategy},
};

use super::*;
use crate::workflows::built_in;

fn id(id: &str) -> GateId {
    id.parse().unwrap()
}

fn spec(gates: Vec<GateSpec>) -> WorkflowSpec {
    WorkflowSpec::new("x", gates)
}

fn gate(name: &str, role: &str, can_reject: bool) -> GateSpec {
    GateSpec { can_reject, ..GateSpec::new(id(name), role.parse().unwrap()) }
}

fn people(name: &str) -> GateSpec {
    GateSpec { require_human: true, timeout: Some(Millis(1)), ..gate(name, "approver", true) }
}

#[test]
fn an_outcome_leads_on_back_again_or_nowhere() {
    let approved = Workflow::try_new(&built_in("fly-approved").unwrap()).unwrap();
    let fly = Workflow::try_new(&built_in("fly").unwrap()).unwrap();
    let led = |workflow: &Workflow, gate: &str, outcome| match workflow.evaluate(&id(gate), outcome, |_| true) {
        Ok(Move::Advance(g)) => format!("advance {}", g.id()),
        Ok(Move::Reject(g)) => format!("reject {}", g.id),
        Ok(Move::Again(g)) => format!("again {}", g.id),
        Ok(Move::Hold) => "hold".to_owned(),
        Ok(Move::Finish) => "finish".to_owned(),
        Err(error) => error.to_string(),
    };
    for (workflow, gate, outcome, expected) in [
        (&fly, "build", Outcome::Complete, "advance verify"),
        (&fly, "build", Outcome::Blocked, "hold"),
        (&fly, "build", Outcome::NeedsReview, "again build"),
        (&fly, "build", Outcome::Skip, "advance verify"),
        (&fly, "verify", Outcome::Complete, "finish"),
        (&fly, "verify", Outcome::NeedsReview, "reject build"),
        (&fly, "verify", Outcome::Blocked, "hold"),
        (&fly, "deploy", Outcome::Complete, "gate deploy is not part of workflow fly"),
        (&approved, "verify", Outcome::Complete, "advance approve"),
        (&approved, "approve", Outcome::Complete, "finish"),
        (&approved, "approve", Outcome::NeedsReview, "reject build"),
    ] {
        assert_eq!(led(workflow, gate, outcome), expected, "{} {gate} {outcome:?}", workflow.name);
    }
    let firm = Workflow::try_new(&spec(vec![GateSpec { can_reject: false, ..people("sign") }])).unwrap();
    assert_eq!(led(&firm, "sign", Outcome::NeedsReview), "gate sign may not send work back");
}

#[test]
fn the_duty_of_a_gate_follows_from_its_role() {
    let approved = Workflow::try_new(&built_in("fly-approved").unwrap()).unwrap();
    let duty = |gate: &str| approved.gate(&id(gate)).unwrap().duty;
    assert_eq!([duty("build"), duty("verify"), duty("approve")], [Duty::Make, Duty::Judge, Duty::Complete]);
    assert_eq!(approved.last_judge().unwrap().id, id("verify"));
    let signed = Workflow::try_new(&spec(vec![GateSpec { can_reject: false, ..people("sign") }])).unwrap();
    assert_eq!(signed.last_judge(), None);
}

#[test]
fn a_role_of_the_build_plane_makes_work_that_has_to_be_verified() {
    let code = || GateSpec { plane: Some(Plane::Build), ..gate("code", "coder", false) };
    let verify = || gate("verify", "verifier", true);
    let workflow = Workflow::try_new(&spec(vec![code(), verify(), gate("look", "reviewer", true)])).unwrap();
    let duties = ["code", "verify", "look"].map(|name| workflow.gate(&id(name)).unwrap().duty);
    assert_eq!(duties, [Duty::Make, Duty::Judge, Duty::Complete]);
    assert_eq!(workflow.first_make().id, id("code"));
    assert_eq!(["code", "verify"].map(|name| workflow.makes_from(&id(name))), [true, false]);
    let unverified = Workflow::try_new(&spec(vec![code()])).unwrap_err();
    assert_eq!(unverified, GateError::Unverified { gate: id("code") });
    let judge = GateSpec { plane: Some(Plane::Build), ..verify() };
    assert!(matches!(Workflow::try_new(&spec(vec![code(), judge])), Err(GateError::Role { .. })));
    let skip = WorkflowSpec { default_outcome: Some(Outcome::Skip), ..spec(vec![code(), verify()]) };
    assert_eq!(Workflow::try_new(&skip), Err(GateError::Default));
}

#[test]
fn an_inspection_of_a_role_that_makes_work_is_completed_and_verifies_nothing() {
    let inspection = |gate: GateSpec| GateSpec { kind: Some(GateKind::Inspection), ..gate };
    let build = || gate("build", role::BUILDER, false);
    let look = || inspection(gate("look", role::BUILDER, true));
    let verify = || gate("verify", role::VERIFIER, true);
    let workflow = Workflow::try_new(&spec(vec![build(), look(), verify()])).unwrap();
    let looks = workflow.gate(&id("look")).unwrap();
    assert_eq!((looks.duty, looks.can_reject), (Duty::Complete, true));
    let coder = inspection(GateSpec { plane: Some(Plane::Build), ..gate("look", "coder", true) });
    let workflow = Workflow::try_new(&spec(vec![build(), coder, verify()])).unwrap();
    assert_eq!(workflow.gate(&id("look")).unwrap().duty, Duty::Complete);
    for (wrong, role) in [(inspection(verify()), "verifier"), (GateSpec { require_human: true, ..look() }, "builder")] {
        let gate = wrong.id.clone();
        let error = Workflow::try_new(&spec(vec![build(), wrong, gate_of_verifier()])).unwrap_err();
        assert_eq!(error, GateError::Role { gate, role: role.parse().unwrap() });
    }
    let error = Workflow::try_new(&spec(vec![build(), look()])).unwrap_err();
    assert_eq!(error, GateError::Unverified { gate: id("build") });
}

fn gate_of_verifier() -> GateSpec {
    gate("judge", role::VERIFIER, true)
}

#[test]
fn a_workflow_knows_which_agents_and_what_ground_it_needs() {
    let needs = |gates: Vec<GateSpec>| {
        let workflow = Workflow::try_new(&spec(gates)).unwrap();
        let roles =
            workflow.agent_roles().map(|(role, duty)| format!("{role} {duty:?}")).collect::<Vec<_>>().join(", ");
        (roles, workflow.needs_repository(), workflow.needs_builder())
    };
    let escalating = |people: &[&str]| GateSpec {
        escalations: vec![Escalation {
            people: people.iter().map(|name| name.parse().unwrap()).collect(),
            ..Escalation::from("lead".parse::<RoleId>().unwrap())
        }],
        ..gate("look", "reviewer", true)
    };
    let draft = || gate("draft", "writer", false);
    let backend = GateSpec { plane: Some(Plane::Build), ..gate("code", "backend", false) };
    let verify = || gate("verify", role::VERIFIER, true);
    let to_builders = GateSpec { escalations: vec![role::id(role::BUILDER).into()], ..backend.clone() };
    for (gates, roles, repository, builder) in [
        (vec![draft(), people("sign")], "writer Complete", false, false),
        (vec![draft(), escalating(&[])], "writer Complete, reviewer Complete, lead Complete", false, false),
        (vec![draft(), escalating(&["human-ann"])], "writer Complete, reviewer Complete", false, false),
        (vec![backend, verify()], "backend Make, verifier Judge", true, false),
        (vec![gate("build", role::BUILDER, false), verify()], "builder Make, verifier Judge", true, true),
        (vec![to_builders, verify()], "backend Make, builder Make, verifier Judge", true, true),
        (vec![GateSpec { can_reject: false, ..people("sign") }], "", false, false),
    ] {
        assert_eq!(needs(gates), (roles.to_owned(), repository, builder));
    }
}

#[test]
fn gates_that_cannot_work_are_refused() {
    let (build, verify) = (gate("build", "builder", false), gate("verify", "verifier", true));
    let refused = |gates: Vec<GateSpec>| Workflow::try_new(&spec(gates)).unwrap_err().to_string();
    for (gates, expected) in [
        (vec![], "workflow x has no gates"),
        (vec![verify.clone()], "the first gate verify cannot reject"),
        (vec![build.clone(), verify.clone(), build.clone()], "gate build is there twice"),
        (vec![build.clone()], "gate build makes work and no verifier's gate follows it"),
        (vec![build.clone(), verify.clone(), gate("polish", "builder", false)], "gate polish makes work and no"),
        (vec![build.clone(), gate("verify", "verifier", false)], "gate verify judges work and may not send it back"),
        (vec![build.clone(), GateSpec { require_human: true, ..verify.clone() }], "cannot belong to role verifier"),
        (vec![gate("rule", "orchestrator", false)], "cannot belong to role orchestrator"),
        (vec![build.clone(), verify.clone(), GateSpec { timeout: None, ..people("sign") }], "has no timeout"),
        (
            vec![build.clone(), verify.clone(), GateSpec { people: vec!["ada".parse().unwrap()], ..people("sign") }],
            "names ada as a person",
        ),
        ((0..=GATES_MAX).map(|n| GateSpec { can_reject: false, ..people(&format!("g{n}")) }).collect(), "has 33 gates"),
    ] {
        let error = refused(gates);
        assert!(error.contains(expected), "{error:?} has {expected:?}");
    }
}

fn named(name: &str, to: &str) -> GateSpec {
    GateSpec { reject_to: Some(id(to)), ..people(name) }
}

fn rejected(workflow: &Workflow, gate: &str, skipped: &[&str]) -> String {
    match workflow.evaluate(&id(gate), Outcome::NeedsReview, |earlier| !skipped.contains(&earlier.as_str())) {
        Ok(Move::Reject(target)) => target.id.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_rejection_leads_where_the_strategy_says() {
    let gates = [gate("draft", "writer", false), people("edit"), people("check"), people("sign")];
    let gates: Vec<_> = gates.into_iter().map(|gate| GateSpec { require_human: true, ..gate }).collect();
    let gates: Vec<_> = gates.into_iter().map(|gate| GateSpec { timeout: Some(Millis(1)), ..gate }).collect();
    let by = |rejection_strategy, gates: Vec<GateSpec>| {
        Workflow::try_new(&WorkflowSpec { rejection_strategy, ..spec(gates) }).unwrap()
    };
    let origin = by(RejectionStrategy::Origin, gates.clone());
    assert_eq!((rejected(&origin, "sign", &[]), rejected(&origin, "edit", &[])), ("draft".into(), "draft".into()));
    let previous = by(RejectionStrategy::Previous, gates.clone());
    assert_eq!(rejected(&previous, "sign", &[]), "check");
    assert_eq!(rejected(&previous, "sign", &["check"]), "edit", "work passed over the gate before");
    assert_eq!(rejected(&previous, "edit", &["draft"]), "draft", "there is nothing before");
    let mut to_edit = gates.clone();
    to_edit.truncate(1);
    to_edit.extend([named("edit", "draft"), named("check", "edit"), named("sign", "edit")]);
    let named = by(RejectionStrategy::Named, to_edit);
    assert_eq!((rejected(&named, "sign", &[]), rejected(&named, "edit", &[])), ("edit".into(), "draft".into()));
}

#[test]
fn a_named_target_is_a_gate_before_and_only_there_where_the_strategy_wants_one() {
    let draft = || GateSpec { can_reject: false, ..people("draft") };
    let refused = |strategy, gates: Vec<GateSpec>| {
        Workflow::try_new(&WorkflowSpec { rejection_strategy: strategy, ..spec(gates) }).unwrap_err()
    };
    let wrong = GateError::RejectTo { gate: id("sign") };
    for target in ["sign", "later", "nowhere"] {
        let gates = vec![draft(), named("sign", target), named("later", "draft")];
        assert_eq!(refused(RejectionStrategy::Named, gates), wrong, "{target}");
    }
    assert_eq!(refused(RejectionStrategy::Named, vec![draft(), people("sign")]), wrong);
    assert_eq!(refused(RejectionStrategy::Origin, vec![draft(), named("sign", "draft")]), wrong);
}

#[test]
fn declared_effects_count_for_completions_and_not_where_work_is_made_or_judged() {
    let outcomes =
        ByOutcome { needs_review: Some(Effect::Hold), blocked: Some(Effect::Reject), ..ByOutcome::default() };
    let gates = vec![gate("build", "builder", false), gate("verify", "verifier", true), people("sign")];
    let workflow = Workflow::try_new(&WorkflowSpec { outcomes, ..spec(gates.clone()) }).unwrap();
    let moved = |gate: &str, outcome| workflow.evaluate(&id(gate), outcome, |_| true).unwrap();
    assert_eq!(moved("sign", Outcome::NeedsReview), Move::Hold);
    assert_eq!(moved("sign", Outcome::Blocked), Move::Reject(workflow.first()));
    assert_eq!(moved("build", Outcome::NeedsReview), Move::Again(workflow.first()));
    assert_eq!(moved("build", Outcome::Blocked), Move::Hold);
    assert_eq!(moved("verify", Outcome::NeedsReview), Move::Reject(workflow.first()));
    assert_eq!(moved("verify", Outcome::Blocked), Move::Hold);
    for (effect, word) in [(Effect::Reject, "reject"), (Effect::Hold, "hold")] {
        let outcomes = ByOutcome { complete: Some(effect), ..ByOutcome::default() };
        let error = Workflow::try_new(&WorkflowSpec { outcomes, ..spec(gates.clone()) }).unwrap_err().to_string();
        assert_eq!(error, format!("the outcome `complete` leads to `advance`, and not to `{word}`"));
    }
}

#[test]
fn agents_of_any_role_complete_gates() {
    let mut spec = built_in("fly-approved").unwrap();
    let Some(GateOrFork::Gate(approve)) = spec.gates.last_mut() else { panic!("fly-approved ends in a gate") };
    approve.require_human = false;
    approve.escalations = vec!["lead".parse::<RoleId>().unwrap().into()];
    spec.default_outcome = Some(Outcome::Blocked);
    let workflow = Workflow::try_new(&spec).unwrap();
    assert_eq!(workflow.gate(&id("approve")).unwrap().duty, Duty::Complete);
}

#[test]
fn a_sign_off_stands_behind_the_last_verifier_unless_people_look_at_all_work_there() {
    let fork = |name: &str, branches: Vec<GateSpec>| {
        GateOrFork::Fork(ForkSpec {
            id: id(name),
            kind: ForkKind::Fork,
            description: None,
            branches,
            join_strategy: JoinStrategy::All,
            when: None,
            metadata: BTreeMap::new(),
        })
    };
    let (build, verify) = (|| gate("build", "builder", false), || gate("verify", "verifier", true));
    let judged = || fork("both", vec![verify(), gate("read", "reader", true)]);
    let approve = || people("approve");
    let some = || GateSpec { when: Some("tags.length > 0".to_owned()), ..people("approve") };
    let after = || fork("after", vec![gate("a", "reader", true), people("b")]);
    let table: [(Vec<GateOrFork>, &[&str]); 7] = [
        (vec![build().into(), verify().into()], &["build", "verify", "sign-off"]),
        (vec![build().into(), verify().into(), approve().into()], &["build", "verify", "approve"]),
        (vec![build().into(), verify().into(), some().into()], &["build", "verify", "sign-off", "approve"]),
        (vec![build().into(), approve().into(), verify().into()], &["build", "approve", "verify", "sign-off"]),
        (vec![build().into(), judged()], &["build", "both", "sign-off"]),
        (vec![build().into(), verify().into(), after()], &["build", "verify", "sign-off", "after"]),
        (vec![gate("sign-off", "builder", false).into(), verify().into()], &["sign-off", "verify", "sign-off-2"]),
    ];
    for (gates, wanted) in table {
        let spec = WorkflowSpec { gates, ..spec(Vec::new()) };
        let workflow = Workflow::try_new(&spec).unwrap().with_sign_off();
        let mut stops = vec![workflow.stop_at(0).unwrap()];
        while let Some(next) = match *stops.last().unwrap() {
            Stop::Gate(gate) => workflow.after(&gate.id),
            Stop::Fork(fork) => workflow.behind(fork),
        } {
            stops.push(next);
        }
        assert_eq!(stops.iter().map(|stop| stop.id().as_str()).collect::<Vec<_>>(), wanted);
    }
    let talk = Workflow::try_new(&spec(vec![gate("draft", "writer", false)])).unwrap();
    assert_eq!(talk.clone().with_sign_off(), talk, "nothing of it is verified");
}
