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
    let led = |workflow: &Workflow, gate: &str, outcome| match workflow.evaluate(&id(gate), outcome) {
        Ok(Move::Advance(g)) => format!("advance {}", g.id),
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
        (vec![build.clone(), verify.clone(), gate("look", "reviewer", true)], "which is no agents' role"),
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
