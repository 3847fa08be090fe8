//! A repository of two commits, and turns about it.

use std::time::Duration;

use holdpoint_bus::{
    Bus,
    blobs::{self, BlobError},
};
use holdpoint_engine::waypoint::evidence_expected;
use holdpoint_protocol::{
    Digest, Timestamp,
    artifact::{
        Disposition, GuidancePacket, GuidancePacketBody, Origin, VerificationPurpose, VerificationRequest,
        VerificationRequestBody,
    },
    facts::{BlobRef, BundleRef, Oid},
    ids::{FlightId, RoleId, WaypointId, role},
    journal::Record,
    plan::{Attention, Check, Criterion, EnvironmentSpec, EvidenceLevel, Guard, TurnBudget},
    reason::ReasonCode,
    subjects,
    time::Millis,
    turn::{BuildRequest, Feedback, Turn, TurnRequest},
    version,
    workflow::GateBrief,
};
use holdpoint_runtime::{clock, fresh};

/// The repository's first commit: a file `greeting` that says nothing yet.
const BASE: &[u8] = include_bytes!("fixture/base.bundle");
const BASE_COMMIT: &str = "373780763ff338bd1761600556bdcbfea53df8a1";
/// A commit on it in which the greeting says hello.
const WORK: &[u8] = include_bytes!("fixture/work.bundle");
const WORK_COMMIT: &str = "d3ec8157767138270aaadc75682d8fc45bca6f45";
const WORK_TREE: &str = "28bf57ee25f8d44bffe468db6eb2fd17206b9004";

/// How long a turn may take.
const DEADLINE: Duration = Duration::from_secs(3600);
/// What a build program may take.
const WALL: Millis = Millis(300_000);
/// The check that is to be ended by its time.
const SHORT: Millis = Millis(6_000);
const PLENTY: Millis = Millis(60_000);

/// The stored repository.
#[derive(Debug, Clone)]
pub(super) struct Fixture {
    base: BundleRef,
    work: BundleRef,
}

/// What a turn is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A verifier needs some seconds for it.
    Long,
    /// A verifier is soon done.
    Short,
    /// Its repository is not stored.
    WithoutRepository,
}

impl Fixture {
    /// Stores the repository as an orchestrator.
    pub(super) async fn store(bus: &Bus) -> Result<Self, BlobError> {
        let bundle = async |bytes: &'static [u8], tip: &str| -> Result<BundleRef, BlobError> {
            let role = role::id(role::ORCHESTRATOR);
            let digest = blobs::put(bus, &role, bytes.into()).await?;
            Ok(BundleRef { blob: BlobRef { role, digest, bytes: bytes.len() as u64 }, tip: oid(tip), index: None })
        };
        Ok(Self { base: bundle(BASE, BASE_COMMIT).await?, work: bundle(WORK, WORK_COMMIT).await? })
    }

    /// What brings the base.
    pub(super) fn base(&self) -> &BundleRef {
        &self.base
    }

    /// A turn of this role on a waypoint of this name.
    pub(super) fn turn(&self, role: &RoleId, waypoint: &str, what: What) -> Turn {
        let waypoint = WaypointId::try_new(waypoint).expect("a literal id");
        let mut bundles = vec![self.base.clone()];
        if what == What::WithoutRepository {
            bundles[0].blob.digest = Digest::of(waypoint.as_str().as_bytes());
        }
        let request = if role.as_str() == role::VERIFIER {
            bundles.push(self.work.clone());
            TurnRequest::Verify(Box::new(verify(&waypoint, what, bundles)))
        } else {
            TurnRequest::Build(Box::new(build(role, bundles)))
        };
        let now = clock::now();
        Turn {
            schema_version: version::CURRENT,
            turn_id: fresh::turn(),
            flight: flight(),
            gate: role.as_str().parse().expect("a role's word is an id"),
            role: role.clone(),
            attempt: 1,
            deadline: now.after(DEADLINE),
            handoff_subject: subjects::handoff_prefix(role, &flight(), &waypoint),
            guidance: guidance(&waypoint, now),
            request,
            decision: None,
            for_build: None,
            allowance: None,
            record: Record::at(now),
            waypoint,
        }
    }
}

/// The one flight there is.
pub(super) fn flight() -> FlightId {
    FlightId::try_new("agent-check").expect("a literal id")
}

const TAKES_TOO_LONG: &str = "takes-too-long";

/// The verdicts that the checks of [`verify`] end with, by criterion; the last has no check.
pub(super) const VERDICTS: [(&str, &str); 5] = [
    ("says-hello", "pass"),
    ("says-goodbye", "fail"),
    ("expects-goodbye", "fail"),
    (TAKES_TOO_LONG, "inconclusive"),
    ("reads-well", "inconclusive"),
];

fn verify(waypoint: &WaypointId, what: What, bundles: Vec<BundleRef>) -> VerificationRequest {
    let check = |command: &str, expect: Option<&str>, timeout| {
        Some(Check {
            command: command.to_owned(),
            expect: expect.map(str::to_owned),
            red_first: false,
            timeout,
            network: false,
            writes_tree: false,
            evidence: EvidenceLevel::Fast,
            mutants: None,
        })
    };
    let checks = [
        check("cat greeting; grep -q hello greeting", None, PLENTY),
        check("grep goodbye greeting", None, PLENTY),
        check("cat greeting", Some("goodbye"), PLENTY),
        check("echo waiting; sleep 60", None, SHORT),
        None,
    ];
    let criteria = VERDICTS.iter().zip(checks).map(|((id, _), check)| Criterion {
        id: id.parse().expect("a literal id"),
        statement: format!("The greeting {}", id.replace('-', " ")),
        check,
    });
    let criteria = criteria.filter(|criterion| what == What::Long || criterion.id.as_str() != TAKES_TOO_LONG);
    let guard = check("test -s greeting", None, PLENTY).expect("it was made with a command");
    let criteria: Vec<Criterion> = criteria.collect();
    let guards = vec![Guard { id: "there-is-one".parse().expect("a literal id"), check: guard }];
    let body = VerificationRequestBody {
        suspicious: Attention::Hold,
        judged: Vec::new(),
        evidence: evidence_expected(&criteria, &guards),
        purpose: VerificationPurpose::Handoff,
        base: oid(BASE_COMMIT),
        commit: oid(WORK_COMMIT),
        tree: oid(WORK_TREE),
        bundles,
        criteria,
        guards,
        checkpoints: Vec::new(),
        environment: EnvironmentSpec::default(),
        scope: vec!["greeting".to_owned()],
        new_tests: Vec::new(),
        changed_tests: Vec::new(),
        protected: Vec::new(),
        covenant: "AGENTS.md".to_owned(),
        clarifications: Vec::new(),
        tests: Vec::new(),
        gate: GateBrief::default(),
    };
    VerificationRequest::new(origin(waypoint, clock::now()), body)
}

fn build(role: &RoleId, bundles: Vec<BundleRef>) -> BuildRequest {
    let feedback = (role.as_str() == role::REPAIR).then(|| Feedback {
        disposition: Disposition::Rework,
        reason_code: ReasonCode::CriteriaFailed,
        failing: Vec::new(),
        notes: vec!["the greeting does not say hello yet".to_owned()],
        collision: None,
        clarifications: Vec::new(),
        review: None,
    });
    BuildRequest {
        title: "The greeting says hello".to_owned(),
        goal: "Write hello into the file `greeting`.\n".to_owned(),
        criteria: vec![Criterion {
            id: "says-hello".parse().expect("a literal id"),
            statement: "The greeting says hello".to_owned(),
            check: None,
        }],
        scope: vec!["greeting".to_owned()],
        protected: Vec::new(),
        ignore: Vec::new(),
        sources: Vec::new(),
        environment: EnvironmentSpec::default(),
        covenant: "AGENTS.md".to_owned(),
        base: oid(BASE_COMMIT),
        start: oid(BASE_COMMIT),
        bundles,
        feedback,
        budget: TurnBudget { wall: Some(WALL), ..TurnBudget::default() },
        tests: Vec::new(),
        ask_below: None,
        ask_before_removing: None,
        description: None,
        role_description: None,
        context: Default::default(),
        dependencies: Vec::new(),
        documents: Vec::new(),
        conversation: None,
    }
}

fn guidance(waypoint: &WaypointId, now: Timestamp) -> GuidancePacket {
    let words = |word: &str| vec![word.to_owned()];
    GuidancePacket::new(
        origin(waypoint, now),
        GuidancePacketBody {
            covenant_version: Digest::of(b"Be kind.\n"),
            policy_hash: Digest::of(b"agent-check"),
            constraints: words("stay inside the scope"),
            stop_conditions: words("it is done"),
        },
    )
}

fn origin(waypoint: &WaypointId, now: Timestamp) -> Origin {
    Origin {
        artifact_id: fresh::artifact(),
        waypoint_id: waypoint.clone(),
        produced_by_role: role::id(role::ORCHESTRATOR),
        produced_at: now,
        source_refs: vec!["HP_JOURNAL/0".to_owned()],
    }
}

fn oid(hex: &str) -> Oid {
    hex.parse().expect("a literal object name")
}
