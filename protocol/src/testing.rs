//! What tests are made of, here and in crates above: plans, fleets, and what agents say.
#![allow(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::unwrap_used,
    clippy::panic,
    reason = "parts of tests"
)]

use std::collections::BTreeMap;

use crate::{
    Digest, Timestamp,
    artifact::{
        ChecklistReceipt, CheckpointReport, CriterionReport, Origin, VerificationPurpose, VerificationReport,
        VerificationReportBody,
    },
    facts::{BlobRef, BundleRef, CriterionResult, DiffSummary, Oid, Verdict},
    ids::{CriterionId, RoleId, WaypointId, role},
    journal::{Fleet, Record, Submitted},
    plan::{Check, Criterion, EvidenceLevel, FlightBudget, Guard, Plan, Policy, Priority, TurnBudget, Waypoint},
    proposal::{PlanProposal, ProposedWaypoint},
    time::Millis,
    turn::{BuildRequest, Turn, TurnRequest},
    version,
    workflow::Escalation,
};

pub fn id(text: &str) -> WaypointId {
    text.parse().unwrap()
}

pub fn oid(n: u64) -> Oid {
    format!("{n:040x}").parse().unwrap()
}

pub fn check(red_first: bool) -> Check {
    Check {
        command: "true".to_owned(),
        expect: None,
        red_first,
        timeout: Millis(60_000),
        network: false,
        writes_tree: false,
        evidence: EvidenceLevel::Fast,
        mutants: None,
    }
}

pub fn criterion(name: &str, check: Option<Check>) -> Criterion {
    Criterion { id: name.parse().unwrap(), statement: "it holds".to_owned(), check }
}

/// A waypoint with one checked criterion, `unit`.
pub fn waypoint(name: &str, depends_on: &[&str]) -> Waypoint {
    Waypoint {
        id: id(name),
        title: name.to_owned(),
        goal: "do it".to_owned(),
        depends_on: depends_on.iter().map(|d| id(d)).collect(),
        priority: Priority::Medium,
        tags: Vec::new(),
        metadata: BTreeMap::new(),
        scope: Vec::new(),
        new_tests: Vec::new(),
        changed_tests: Vec::new(),
        protected: Vec::new(),
        criteria: vec![criterion("unit", Some(check(false)))],
        budget: TurnBudget::default(),
        workflow: None,
        max_reworks: None,
        tests: Vec::new(),
        tests_file: None,
    }
}

pub fn guard() -> Guard {
    Guard { id: "suite".parse().unwrap(), check: Check { command: "make test".to_owned(), ..check(false) } }
}

pub fn plan(waypoints: Vec<Waypoint>) -> Plan {
    Plan {
        plan: "demo".to_owned(),
        base: "HEAD".to_owned(),
        covenant: None,
        workflow: "fly".to_owned(),
        policy: Policy::default(),
        budget: FlightBudget::default(),
        sources: Vec::new(),
        environment: None,
        protected: vec!["golden/**".to_owned()],
        guards: Vec::new(),
        checks: Vec::new(),
        answers: Vec::new(),
        answer_within: None,
        ask_below: None,
        ignore: vec!["*.orig".to_owned()],
        service: None,
        waypoints,
    }
}

pub fn fleet() -> Fleet {
    Fleet {
        pool: "fleet".parse().unwrap(),
        repair: false,
        judge: false,
        advisors: 0,
        parallel: None,
        queue_grace: Millis(0),
        build_wall: Millis(1_800_000),
        dead_after: 3,
    }
}

/// A flight of this plan as it is submitted, without workflows.
pub fn submitted(plan: Plan) -> Submitted {
    Submitted {
        schema_version: version::CURRENT,
        flight: "demo-1".parse().unwrap(),
        by: None,
        plan,
        base: oid(0xa),
        base_tree: oid(0xb),
        snapshot: bundle(oid(0xa)),
        covenant: "AGENTS.md".to_owned(),
        covenant_version: Digest::of(b"covenant"),
        fleet: fleet(),
        workflows: Vec::new(),
        record: Record::at(Timestamp::from_millis(0)),
    }
}

/// What a builder's program says in prose: never shown to a verifier.
pub const NARRATIVE: &str = "trust me, it is all fine";

/// A link of an escalation chain whose agents have the turn.
pub fn to(role_name: &str) -> Escalation {
    role_name.parse::<RoleId>().unwrap().into()
}

/// A link of an escalation chain whose people have the turn.
pub fn to_people(role_name: &str, people: &[&str]) -> Escalation {
    Escalation { people: people.iter().map(|name| name.parse().unwrap()).collect(), ..to(role_name) }
}

pub fn bundle(tip: Oid) -> BundleRef {
    let blob = BlobRef { role: role::id(role::BUILDER), digest: Digest::of(tip.as_str().as_bytes()), bytes: 1 };
    BundleRef { blob, tip, index: None }
}

pub fn build_request(turn: &Turn) -> &BuildRequest {
    match &turn.request {
        TurnRequest::Build(request) => request,
        TurnRequest::Verify(_) | TurnRequest::Complete(_) => panic!("expected a build turn, got {turn:?}"),
    }
}

/// A verdict on a criterion, with evidence.
pub fn criterion_report(criterion: &str, verdict: Verdict) -> CriterionReport {
    CriterionReport {
        result: CriterionResult {
            id: criterion.parse().unwrap(),
            verdict,
            reason: None,
            evidence: vec![Digest::of(criterion.as_bytes())],
        },
        command: Some("true".to_owned()),
        exit_code: Some(0),
        output_tail: String::new(),
        note: None,
    }
}

/// What a verifier says when all is as it should be: on the base guards green and `red_first` checks red, else all green.
pub fn sound_report(turn: &Turn) -> VerificationReport {
    let TurnRequest::Verify(request) = &turn.request else { panic!("expected a verifier's turn, got {turn:?}") };
    let wanted = match request.purpose {
        VerificationPurpose::Baseline => Verdict::Fail,
        VerificationPurpose::Handoff | VerificationPurpose::Merge => Verdict::Pass,
    };
    // What a person judged is as the person said.
    let judged = |id: &CriterionId| request.judged.iter().find(|judged| judged.criterion == *id);
    let said = |id: &CriterionId| judged(id).map(|judged| judged.verdict);
    VerificationReport::new(
        Origin {
            artifact_id: format!("report-{}", turn.turn_id).parse().unwrap(),
            waypoint_id: turn.waypoint.clone(),
            produced_by_role: role::id(role::VERIFIER),
            produced_at: turn.record.at,
            source_refs: Vec::new(),
        },
        VerificationReportBody {
            turn: turn.turn_id.clone(),
            delivery: 1,
            agent: "verifier-1".parse().unwrap(),
            purpose: request.purpose,
            commit: request.commit.clone(),
            tree: request.tree.clone(),
            criteria: request
                .criteria
                .iter()
                .map(|c| criterion_report(c.id.as_str(), said(&c.id).unwrap_or(wanted)))
                .collect(),
            guards: request.guards.iter().map(|g| criterion_report(g.id.as_str(), Verdict::Pass)).collect(),
            checkpoints: request
                .checkpoints
                .iter()
                .map(|asked| CheckpointReport {
                    gate: asked.gate.clone(),
                    report: criterion_report(asked.id.as_str(), Verdict::Pass),
                })
                .collect(),
            violations: Vec::new(),
            diff: DiffSummary::default(),
            doubts: Vec::new(),
            receipt: ChecklistReceipt { checks: Vec::new(), properties: Vec::new(), foreign: false },
            self_checked: false,
            metered: None,
            markers_ignored: Vec::new(),
        },
    )
}

/// A proposal of waypoints that depend on each other like this.
pub fn proposing(waypoints: &[(&str, &[&str])]) -> PlanProposal {
    let proposed = |(key, depends_on): &(&str, &[&str])| {
        let planned = waypoint(key, depends_on);
        ProposedWaypoint {
            key: planned.id,
            title: planned.title,
            goal: planned.goal,
            criteria: planned.criteria,
            scope: Vec::new(),
            depends_on: planned.depends_on,
            priority: planned.priority,
            estimate: Some(Millis(1_800_000)),
            max_reworks: 3,
        }
    };
    PlanProposal { waypoints: waypoints.iter().map(proposed).collect() }
}
