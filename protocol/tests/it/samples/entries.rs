//! Journal entries other than turns.

use holdpoint_protocol::{
    artifact::{Disposition, Verb, VerificationPurpose},
    budget::{Amounts, Limits, Raise, Spent},
    export::HandoffsEnd,
    ids::role,
    journal::{
        self, Added, Basis, Behind, BundledCommit, ConditionResult, Dead, Death, Decided, Happened, Landed,
        MergeResult, Merged, Record, Reserved, Sequence, Steered, Submitted,
    },
    reason::{BlockReason, ReasonCode},
    retire::Retired,
    state::{
        Acted, Branch, BranchStanding, Configured, Counters, Delegated, GateEntries, GateVisit, Held, KeptReport,
        LastDecision, OpenFork, OpenTurn, Outcome, Phase, Purpose, Question, QuestionKind, QuestionStanding, Queued,
        Resume, Status, TurnHolder, TurnQuestion, Verified, Vote, WaypointState, WinningHandoff, Work,
    },
    turn::{Collision, CollisionKind, Feedback, LandedMeanwhile, ReviewContext},
    version,
    workflow::RecordedWorkflow,
};

use super::{
    Kinds, another,
    artifacts::{decision, turn},
    parts::*,
    published,
};

/// The role of a gate that neither builds nor verifies.
pub(super) const REVIEWER: &str = "reviewer";

fn state(phase: Phase) -> WaypointState {
    WaypointState {
        phase,
        base: Some(oid('a')),
        work: Some(Work {
            commit: Some(oid('b')),
            tree: oid('c'),
            bundle: Some(bundle('b')),
            violations: violations(),
            left_out: vec![left_out()],
            role: role::id(role::REPAIR),
            agent: "repair-1".parse().unwrap(),
            earlier_makers: vec!["builder-1".parse().unwrap()],
            made_on: Some(oid('d')),
        }),
        counters: Counters {
            attempts: 2,
            reworks: 1,
            conflicts: 1,
            clarifications: 2,
            granted: 1,
            rollbacks: 1,
            interventions: 2,
        },
        decision: Some(LastDecision {
            id: "decision-1".parse().unwrap(),
            disposition: Disposition::Rollback,
            reason_code: ReasonCode::Regression,
            remediation: Some("narrow the goal".to_owned()),
        }),
        criteria: results(),
        guards: results(),
        checkpoints: gate_checkpoints(),
        foreign_receipt: Some(false),
        entries: vec![GateEntries { gate: "build".parse().unwrap(), count: 2 }],
        earlier_visits: None,
        history: vec![GateVisit {
            gate: "build".parse().unwrap(),
            role: role::id(role::BUILDER),
            agent: Some("builder-1".parse().unwrap()),
            entered: at(1),
            exited: Some(at(2)),
            outcome: Some(Outcome::Complete),
            artifact: Some("build-1".parse().unwrap()),
        }],
        answered: vec![WinningHandoff { turn: turn(), digest: digest("handoff") }],
        fork: None,
        verified: Some(Verified { report: digest("report"), tree: oid('c'), base: oid('a'), suspicious: true }),
        cleared: true,
        stacked: None,
        constraints: vec!["use anyhow".to_owned()],
        acted: Some(Acted { by: person(), verb: Verb::Approve, at: at(5), digest: digest("act") }),
        documents: documents(),
        proposal: Some(cause()),
        configured: Configured { began: 1, by: 2 },
        spent: Spent::default(),
    }
}

fn conditions() -> Vec<ConditionResult> {
    let failure = Some("it took more than 100 ms".to_owned());
    vec![ConditionResult { gate: "security".parse().unwrap(), holds: false, failure }]
}

pub(super) fn record(phase: Phase) -> Record {
    Record {
        previous: Some(digest("entry")),
        cause: Some(cause()),
        state: Some(state(phase)),
        conditions: conditions(),
        basis: Some(Basis {
            read: 7,
            turn: Some(turn()),
            what: Happened::Reported { touched: vec!["touches-tests".parse().unwrap()] },
        }),
        ..Record::at(at(3))
    }
}

/// As work was integrated behind other work.
fn integrated() -> Basis {
    let commit = BundledCommit { commit: oid('b'), tree: oid('c'), bundle: bundle('b') };
    let merge = MergeResult::Clean { commit, violations: violations(), same_diff: true };
    let behind = Behind { waypoints: vec!["parse-headers".parse().unwrap()], commit: oid('a'), tree: oid('d') };
    let merged = Merged { work: oid('b'), head: oid('a'), behind: Some(behind), merge };
    Basis { read: 7, turn: None, what: Happened::Integrated(Box::new(merged)) }
}

fn flight_record() -> Record {
    Record::at(at(0))
}

pub(super) fn feedback() -> Feedback {
    Feedback {
        disposition: Disposition::Rework,
        reason_code: ReasonCode::CriteriaFailed,
        failing: reports(),
        notes: vec!["README.md was changed and must not be".to_owned()],
        collision: Some(Collision {
            kind: CollisionKind::Conflict,
            paths: vec!["src/lib.rs".to_owned()],
            paths_more: 2,
            landed: vec![LandedMeanwhile {
                waypoint: "parse-headers".parse().unwrap(),
                title: "Headers are parsed".to_owned(),
                commit: oid('e'),
                paths: vec!["src/lib.rs".to_owned()],
            }],
            landed_more: 3,
        }),
        clarifications: vec![clarified()],
        review: Some(ReviewContext {
            from_gate: "verify".parse().unwrap(),
            from_role: role::id(role::VERIFIER),
            from_agent: Some("verifier-1".parse().unwrap()),
            at: at(4),
        }),
    }
}

pub(super) fn open_turn(role_name: &'static str, purpose: Purpose) -> OpenTurn {
    let people = purpose == Purpose::Complete;
    OpenTurn {
        turn: turn(),
        role: role::id(role_name),
        gate: if people { "approve" } else { "build" }.parse().unwrap(),
        purpose,
        link: 0,
        holder: if people { TurnHolder::People } else { TurnHolder::Agents },
        judged: Vec::new(),
        listed_by: None,
        opened_at: at(3),
        deadline: at(1800),
        redeliveries: 1,
        questions: Vec::new(),
        allowance: None,
    }
}

/// A turn in which one question was answered by policy, one by a person, one withdrawn, and one is open.
fn asking() -> Phase {
    let answered = |by| QuestionStanding::Answered { by };
    let standings =
        [answered(None), answered(Some(cause())), QuestionStanding::Withdrawn, QuestionStanding::Open].into_iter();
    let questions = standings.map(|standing| TurnQuestion {
        asked: cause(),
        words: digest("words"),
        since: at(4),
        until: at(64),
        standing,
    });
    Phase::InTurn(OpenTurn { questions: questions.collect(), ..open_turn(role::BUILDER, Purpose::Build) })
}

fn answered() -> journal::Answered {
    journal::Answered {
        schema_version: version::CURRENT,
        turn: turn(),
        words: digest("words"),
        answer: clarified(),
        record: record(asking()),
    }
}

fn decided(phase: Phase) -> Decided {
    Decided { schema_version: version::CURRENT, decision: decision(), feedback: None, record: record(phase) }
}

fn held(status: Status, resume: Resume) -> Phase {
    Phase::Held(Held { status, since: at(6), resume, block_reason: Some(BlockReason::ExternalDependency) })
}

pub(super) fn waiting(kind: QuestionKind) -> Phase {
    Phase::Waiting(Question {
        block_reason: BlockReason::ExternalDependency,
        turn: open_turn(role::BUILDER, Purpose::Build),
        asked: cause(),
        kind,
        since: at(4),
        deadline: (kind == QuestionKind::Clarification).then(|| at(86_400)),
    })
}

/// A decision for each phase that it can lead to.
fn decisions() -> Kinds {
    let verify = Purpose::Verify(VerificationPurpose::Handoff);
    let gate = Resume::Gate { gate: "verify".parse().unwrap(), purpose: verify };
    let landing = Resume::Landing { at: at(4) };
    let failed = Decided { feedback: Some(Box::new(feedback())), ..decided(held(Status::Failed, gate)) };
    let mut all = vec![
        published("decided", decided(Phase::Accepted { at: at(4) })),
        another("decided_failed", "decided", failed),
    ];
    let phases = [
        ("decided_asking", asking()),
        ("decided_waiting", waiting(QuestionKind::Clarification)),
        ("decided_waiting_for_help", waiting(QuestionKind::Help)),
        ("decided_held", held(Status::Blocked, Resume::Beginning)),
        ("decided_held_at_landing", held(Status::Blocked, landing)),
        ("decided_cancelled", Phase::Cancelled),
        ("decided_delegated", Phase::Delegated(Box::new(delegated()))),
    ];
    all.extend(phases.map(|(name, phase)| another(name, "decided", decided(phase))));
    let mut unverified = decided(Phase::Accepted { at: at(4) });
    if let Some(state) = &mut unverified.record.state {
        (state.verified, state.work) = (None, None);
    }
    all.push(another("decided_unverified", "decided", unverified));
    all.push(another("decided_forked", "decided", forked()));
    all
}

/// A fork with a branch of each standing.
fn forked() -> Decided {
    let branch = |gate: &str, standing| Branch { gate: gate.parse().unwrap(), standing };
    let vote = Vote {
        outcome: Outcome::NeedsReview,
        by: "reviewer-1".parse().unwrap(),
        disposition: Disposition::Rework,
        reason_code: ReasonCode::ApprovalRejected,
        cause: digest("vote"),
    };
    let branches = vec![
        branch("verify", BranchStanding::Due),
        branch("docs", BranchStanding::Skipped),
        branch("security", BranchStanding::Open(asking())),
        branch("style", BranchStanding::Voted(vote)),
    ];
    let mut decided = decided(Phase::Forked);
    if let Some(state) = &mut decided.record.state {
        state.answered.insert(0, WinningHandoff { turn: turn(), digest: digest("earlier") });
        state.fork = Some(OpenFork { fork: "reviews".parse().unwrap(), since: at(3), branches });
    }
    decided
}

fn revised() -> journal::Revised {
    let [document] = documents().try_into().expect("one document");
    let record = record(Phase::InTurn(open_turn(role::BUILDER, Purpose::Build)));
    journal::Revised { schema_version: version::CURRENT, document, record }
}

fn queued() -> journal::Enqueued {
    let turn = open_turn(role::VERIFIER, Purpose::Verify(VerificationPurpose::Handoff));
    let kept = Some(Box::new(KeptReport { turn, report: cause() }));
    let purpose = Purpose::Verify(VerificationPurpose::Handoff);
    let queued = Queued { gate: "verify".parse().unwrap(), purpose, since: at(4), kept };
    let record = Record { basis: Some(integrated()), ..record(Phase::Queued(Box::new(queued))) };
    journal::Enqueued { schema_version: version::CURRENT, record }
}

fn steered() -> Steered {
    let workflows = Vec::new();
    let (schema_version, record) = (version::CURRENT, flight_record());
    Steered { schema_version, verb: Verb::Pause, by: person(), workflows, raised: None, record }
}

fn reconfigured() -> Steered {
    Steered { verb: Verb::Reconfigure, workflows: vec![RecordedWorkflow::from(workflow())], ..steered() }
}

fn raised() -> Steered {
    let add = Amounts { cost_micro_usd: 5_000_000, ..Amounts::default() };
    Steered { verb: Verb::Budget, raised: Some(Raise { waypoint: None, add }), ..steered() }
}

fn retired() -> Retired {
    let handoffs = HandoffsEnd { stream: "HP_HANDOFF_BUILDER".to_owned(), known: Sequence(40), until: Sequence(42) };
    Retired {
        schema_version: version::CURRENT,
        flight: "demo-1".parse().unwrap(),
        by: "archivist-1".parse().unwrap(),
        export: digest("export"),
        handoffs: vec![handoffs],
        record: flight_record(),
    }
}

pub(super) fn reserved() -> Reserved {
    Reserved {
        schema_version: version::CURRENT,
        waypoint: "retry-backoff".parse().unwrap(),
        step: 3,
        allowance: Limits { cost_micro_usd: Some(2_500_000), tokens: Some(400_000), ..Limits::default() },
        adds: Amounts { cost_micro_usd: 1_250_000, tokens: 200_000, ..Amounts::default() },
        record: flight_record(),
    }
}

fn delegated() -> Delegated {
    Delegated { gate: "execute".parse().unwrap(), since: at(6), proposal: cause(), generation: 2 }
}

fn added() -> Added {
    Added {
        schema_version: version::CURRENT,
        parent: "retry-backoff".parse().unwrap(),
        generation: 2,
        waypoints: vec![waypoint()],
        documents: documents(),
        record: Record { cause: Some(cause()), ..flight_record() },
    }
}

pub(super) fn deaths() -> Vec<Death> {
    [1, 3].map(|delivery| Death { delivery, agent: format!("repair-{delivery}").parse().unwrap() }).to_vec()
}

fn dead() -> Dead {
    let open = open_turn(role::REPAIR, Purpose::Build);
    Dead {
        schema_version: version::CURRENT,
        turn: open.turn.clone(),
        role: open.role.clone(),
        deaths: deaths(),
        overdue: 1,
        decision: decision(),
        record: record(held(Status::Blocked, Resume::Turn(open))),
    }
}

pub(super) fn all() -> Kinds {
    let submitted = Submitted {
        schema_version: version::CURRENT,
        flight: "demo-1".parse().unwrap(),
        by: Some("human-ann".parse().unwrap()),
        plan: plan(),
        base: oid('a'),
        base_tree: oid('d'),
        snapshot: bundle('a'),
        covenant: "AGENTS.md".to_owned(),
        covenant_version: digest("covenant"),
        fleet: fleet(),
        workflows: vec![RecordedWorkflow::from(workflow())],
        record: flight_record(),
    };
    let landed = Landed {
        schema_version: version::CURRENT,
        waypoint: "retry-backoff".parse().unwrap(),
        tree: oid('c'),
        commit: oid('e'),
        parent: oid('a'),
        bundle: bundle('e'),
        bundle_on: Some(oid('b')),
        report: digest("report"),
        verified_on: None,
        record: flight_record(),
    };
    let stacked = Landed { verified_on: Some(oid('f')), bundle_on: None, ..landed.clone() };
    let mut all = vec![
        published("submitted", submitted),
        published("landed", landed),
        another("landed_stacked", "landed", stacked),
        published("dead", dead()),
        published("feedback", feedback()),
        published("steered", steered()),
        another("steered_reconfigured", "steered", reconfigured()),
        published("answered", answered()),
        published("revised", revised()),
        published("queued", queued()),
        another("steered_budget", "steered", raised()),
        published("reserved", reserved()),
        published("added", added()),
        published("retired", retired()),
    ];
    all.extend(decisions());
    all
}
