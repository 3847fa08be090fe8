//! Verified work about which a person should know something: who signs it off, and when it lands without.

use holdpoint_planfile::gates::Duty;
use holdpoint_protocol::{
    artifact::{Doubt, VerificationReport},
    plan::{Attention, Plan},
    reason::ReasonCode,
    state::{Outcome, Status},
};

use super::reason;
use crate::{
    flight::{self, Due},
    testing::{
        fixture::Fixture,
        parts::{build_request, id},
    },
};

fn suspicious(report: &mut VerificationReport) {
    report.doubts.push(Doubt::suspicious("src/a.py:7: Product code looks at who calls it.".to_owned()));
}

fn warned(report: &mut VerificationReport) {
    report.doubts.push(Doubt::note("src/a.py:7: A test is skipped.".to_owned()));
}

/// Work that a verifier passed with this report.
fn passed(change: impl FnOnce(&mut Plan), report: fn(&mut VerificationReport)) -> Fixture {
    let mut fixture = Fixture::opened(|plan, _| {
        plan.waypoints[0].scope = vec!["src/**".to_owned()];
        change(plan);
    });
    fixture.build_ok("w").turn();
    fixture.report("w", report);
    fixture
}

/// The gate where a person is waited for.
fn waits_at(fixture: &Fixture) -> Option<String> {
    let open = fixture.open_turn("w").filter(|open| open.is_peoples())?;
    Some(open.gate.to_string())
}

#[test]
fn work_waits_for_a_sign_off_where_the_policy_holds_what_there_is_to_know() {
    type Row<'a> = (&'a str, fn(&mut Plan), fn(&mut VerificationReport), Option<&'a str>);
    let table: [Row<'_>; 8] = [
        ("nothing to know", |_| {}, |_| {}, None),
        ("a warning", |_| {}, warned, None),
        ("suspicious code", |_| {}, suspicious, Some("sign-off")),
        ("suspicious code, warned of", |plan| plan.policy.suspicious = Attention::Warn, suspicious, None),
        ("suspicious code that nobody looks for", |plan| plan.policy.suspicious = Attention::Off, suspicious, None),
        ("an open scope", |plan| plan.waypoints[0].scope.clear(), |_| {}, None),
        (
            "an open scope, held",
            |plan| {
                plan.waypoints[0].scope.clear();
                plan.policy.open_scope = Attention::Hold;
            },
            |_| {},
            Some("sign-off"),
        ),
        ("a person approves all work", |plan| plan.workflow = "fly-approved".to_owned(), suspicious, Some("approve")),
    ];
    for (name, change, report, wanted) in table {
        let fixture = passed(change, report);
        assert_eq!(waits_at(&fixture).as_deref(), wanted, "{name}");
        let lands = flight::due(&fixture.flight, &fixture.waypoints, fixture.now) == [Due::Land(id("w"))];
        assert_eq!(lands, wanted.is_none(), "{name}");
        let visits = fixture.state("w").history.iter().filter(|visit| visit.gate.as_str() == "sign-off").count();
        assert_eq!(visits, usize::from(wanted == Some("sign-off")), "{name}: a gate that nobody needed is no visit");
    }
}

#[test]
fn signed_off_work_lands_and_work_that_is_sent_back_is_built_verified_and_looked_at_again() {
    let mut fixture = passed(|_| {}, suspicious);
    assert_eq!((fixture.status("w"), reason(&fixture)), (Status::Waiting, ReasonCode::ApprovalOpen));
    let turn = fixture.complete("w", Outcome::NeedsReview).turn();
    assert_eq!((turn.gate.as_str(), reason(&fixture)), ("build", ReasonCode::ApprovalRejected));
    assert_eq!(build_request(&turn).feedback.as_ref().unwrap().notes, ["name it better"]);
    fixture.build_ok("w").turn();
    fixture.report("w", suspicious).turn();
    let decided = fixture.complete("w", Outcome::Complete).decided();
    assert_eq!(decided.decision.reason_code, ReasonCode::CriteriaMet);
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [Due::Land(id("w"))]);
}

#[test]
fn work_of_a_rework_that_is_not_suspicious_any_more_lands_by_itself() {
    let mut fixture = passed(|_| {}, suspicious);
    fixture.complete("w", Outcome::NeedsReview).turn();
    fixture.build_ok("w").turn();
    fixture.report("w", |_| {}).decided();
    assert_eq!(flight::due(&fixture.flight, &fixture.waypoints, fixture.now), [Due::Land(id("w"))]);
}

#[test]
fn the_gate_is_no_gate_of_the_workflow_that_is_recorded() {
    let fixture = passed(|_| {}, suspicious);
    let waypoint = fixture.flight.planned(&id("w")).unwrap();
    let declared = fixture.flight.declared(waypoint).unwrap();
    assert_eq!(declared.all_gates().map(|gate| gate.id.as_str()).collect::<Vec<_>>(), ["build", "verify"]);
    let flown = fixture.flight.workflow_of(waypoint, &fixture.state("w")).unwrap();
    let sign_off = flown.gates().last().unwrap();
    assert_eq!((sign_off.duty, sign_off.sign_off, sign_off.timeout.is_some()), (Duty::Complete, true, true));
}
