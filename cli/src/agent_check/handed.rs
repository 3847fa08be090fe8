//! Looking at what an agent handed off on one turn.

use holdpoint_bus::{Bus, Stored, auth::KnownUsers, blobs, journal::ReadError, past};
use holdpoint_protocol::{
    Digest,
    artifact::{
        BuildArtifact, BuildPlan, BuildStatus, ClarificationRequest, ExchangeRecord, GivenBack, HelpRequest,
        StatusUpdate, VerificationPlan, VerificationReport,
    },
    codec::{self, Encoding},
    facts::{BundleRef, Verdict},
    ids::{AgentName, RoleId},
    journal::Sequence,
    names::{PLAN_KINDS, answers_turn},
    subjects,
    turn::{Turn, TurnRequest},
};
use holdpoint_runtime::{
    clock,
    mirror::{MirrorStore, from_wire, to_wire},
};
use serde_json::Value;

use super::{
    fixture::{self, Fixture, VERDICTS},
    rules::{Notes, Rule},
};
use crate::failure::chain;

/// The most that is read of one blob: more than what these turns print.
const EVIDENCE_BYTES_MAX: u64 = 16 << 20;

/// The most that is read of one turn's handoffs: hundreds of times what a polite agent hands off.
const HANDED_BYTES_MAX: usize = 32 << 20;

/// What is known of the agent, and what it takes to look at its work.
#[derive(Debug)]
pub(super) struct Looker {
    pub(super) bus: Bus,
    pub(super) users: KnownUsers,
    pub(super) role: RoleId,
    pub(super) agent: AgentName,
    /// The key in the agent's credentials.
    pub(super) public_key: String,
    pub(super) fixture: Fixture,
    pub(super) mirrors: MirrorStore,
}

/// A handoff by its kind.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) kind: String,
    pub(super) stored: Stored,
}

impl Handed {
    /// Whether it is a plan.
    pub(super) fn is_plan(&self) -> bool {
        PLAN_KINDS.contains(&self.kind.as_str())
    }

    /// Whether it ends its turn.
    pub(super) fn is_final(&self) -> bool {
        is_final(&self.kind, &self.stored.payload)
    }

    /// The delivery that it names, as far as it can be read.
    pub(super) fn delivery(&self) -> Option<u64> {
        serde_json::from_slice::<Value>(&self.stored.payload).ok()?["delivery"].as_u64()
    }
}

/// Whether a handoff of this kind that says this ends its turn. A question may wait for its answer, and a call for help may say
/// that the program still runs.
fn is_final(kind: &str, payload: &[u8]) -> bool {
    let says = |field: &str| {
        let value: Value = serde_json::from_slice(payload).unwrap_or(Value::Null);
        !matches!(value[field], Value::Null | Value::Bool(false))
    };
    answers_turn(kind) && !says("waits_until") && !says("running")
}

impl Looker {
    /// Everything on a turn's waypoint, oldest first, up to [`HANDED_BYTES_MAX`]: an agent that hands more is not seen to end its turn.
    pub(super) async fn handed(&self, turn: &Turn) -> Result<Vec<Handed>, ReadError> {
        let mut past = past::of_waypoint(&self.bus, &self.role, &turn.flight, &turn.waypoint, Sequence(0)).await?;
        let (mut handed, mut bytes) = (Vec::new(), 0);
        while bytes <= HANDED_BYTES_MAX
            && let Some(stored) = past.next().await?
        {
            // An empty one has a subject and headers.
            bytes += stored.payload.len().max(1 << 10);
            let kind = stored.subject.rsplit('.').next().unwrap_or_default().to_owned();
            handed.push(Handed { kind, stored });
        }
        Ok(handed)
    }

    /// Looks at one handoff that was made on `delivery` of `turn`.
    pub(super) async fn look(&self, notes: &mut Notes, turn: &Turn, delivery: u64, handed: &Handed) {
        self.look_at_sender(notes, handed);
        self.look_at_headers(notes, turn, delivery, handed);
        let prefix = format!("{}.", turn.handoff_subject);
        let placed =
            handed.stored.subject.starts_with(&prefix) && subjects::parse_handoff(&handed.stored.subject).is_some();
        let subject = &handed.stored.subject;
        notes.note(Rule::NamesItself, placed, format!("published on {subject}, not on the turn's {prefix}<kind>"));
        if let Ok(value) = serde_json::from_slice::<Value>(&handed.stored.payload) {
            self.look_at_names(notes, turn, delivery, &handed.kind, &value);
        }
        match handed.kind.as_str() {
            "build_plan" => drop(read::<BuildPlan>(notes, handed)),
            "verification_plan" => drop(read::<VerificationPlan>(notes, handed)),
            "clarification_request" => drop(read::<ClarificationRequest>(notes, handed)),
            "help_request" => drop(read::<HelpRequest>(notes, handed)),
            "status_update" => drop(read::<StatusUpdate>(notes, handed)),
            "exchange_record" => drop(read::<ExchangeRecord>(notes, handed)),
            "given_back" => drop(read::<GivenBack>(notes, handed)),
            "build_artifact" => {
                if let Some(artifact) = read::<BuildArtifact>(notes, handed) {
                    self.look_at_work(notes, turn, &artifact).await;
                }
            }
            "verification_report" => {
                if let Some(report) = read::<VerificationReport>(notes, handed) {
                    self.look_at_report(notes, turn, &report).await;
                }
            }
            other => notes.wrong(Rule::HandsOff, format!("{other} is no kind of handoff")),
        }
    }

    fn look_at_sender(&self, notes: &mut Notes, handed: &Handed) {
        let stored = &handed.stored;
        let kind = &handed.kind;
        if handed.is_plan() {
            let jwt = stored.jwt.as_deref().map(|jwt| self.users.verify_jwt_of(&self.role, jwt, clock::now()));
            match jwt {
                None => notes.wrong(Rule::ShowsJwt, format!("{kind} has no Hp-Jwt")),
                Some(Err(refusal)) => notes.wrong(Rule::ShowsJwt, format!("Hp-Jwt of {kind}: {refusal}")),
                Some(Ok(user)) => {
                    let named = user.name == self.agent;
                    notes.note(Rule::ShowsJwt, named, format!("Hp-Jwt of {kind} is that of {}", user.name));
                }
            }
        }
        match &stored.signature {
            None => notes.wrong(Rule::Signs, format!("{kind} has no Hp-Signature")),
            Some(_) => {
                let signed = stored.is_signed_by(&self.public_key);
                notes.note(
                    Rule::Signs,
                    signed,
                    format!("Hp-Signature of {kind} does not fit subject, payload and key"),
                );
            }
        }
    }

    fn look_at_headers(&self, notes: &mut Notes, turn: &Turn, delivery: u64, handed: &Handed) {
        let Handed { kind, stored } = handed;
        let content = stored.content_type.as_deref();
        notes.note(
            Rule::Headers,
            Encoding::from_content_type(content).is_ok() && content.is_some(),
            format!("Content-Type of {kind} is {}, not application/json", content.unwrap_or("missing")),
        );
        let schema = stored.schema.as_deref().unwrap_or("missing");
        notes.note(Rule::Headers, schema == format!("{kind}/1.0"), format!("Hp-Schema is {schema}, not {kind}/1.0"));
        let id = stored.message_id.as_deref().unwrap_or("missing");
        let wanted = format!("{}.{delivery}.{}.{kind}.", turn.turn_id, self.agent);
        let numbered = id.strip_prefix(&wanted).is_some_and(|n| n.parse::<u64>().is_ok());
        notes.note(Rule::Headers, numbered, format!("Nats-Msg-Id is {id}, not {wanted}<n>"));
    }

    fn look_at_names(&self, notes: &mut Notes, turn: &Turn, delivery: u64, kind: &str, value: &Value) {
        let wanted = [
            ("turn", Value::from(turn.turn_id.as_str())),
            ("delivery", delivery.into()),
            ("agent", self.agent.as_str().into()),
            ("produced_by_role", self.role.as_str().into()),
            ("waypoint_id", turn.waypoint.as_str().into()),
        ];
        for (field, wanted) in wanted {
            let said = &value[field];
            notes.note(Rule::NamesItself, *said == wanted, format!("{field} of {kind} is {said}, not {wanted}"));
        }
    }

    async fn look_at_work(&self, notes: &mut Notes, turn: &Turn, artifact: &BuildArtifact) {
        let TurnRequest::Build(request) = &turn.request else {
            return notes.wrong(Rule::HandsOff, "build_artifact on a turn that wants a verification");
        };
        notes.right(Rule::HandsOff);
        let logs: Vec<Digest> = artifact.ledger.iter().filter_map(|run| run.evidence).collect();
        self.look_for(notes, logs).await;
        if artifact.status == BuildStatus::Failed {
            notes.note(Rule::FitsRequest, artifact.failure.is_some(), "status failed without a failure");
            if artifact.commit.is_none() {
                return;
            }
        }
        match (&artifact.commit, &artifact.bundle) {
            (None, _) => notes.note(Rule::FitsRequest, artifact.tree.is_some(), "status ok without commit and tree"),
            (Some(_), None) => notes.wrong(Rule::FitsRequest, "a commit without a bundle that brings it"),
            (Some(commit), Some(bundle)) => {
                let tip = format!("the bundle's tip is {}, the commit is {commit}", bundle.tip);
                notes.note(Rule::FitsRequest, bundle.tip == *commit, tip);
                if let Err(what) = self.take(bundle, artifact, &request.base).await {
                    notes.wrong(Rule::FitsRequest, what);
                }
            }
        }
    }

    /// Takes the work in, as an orchestrator does.
    async fn take(
        &self,
        bundle: &BundleRef,
        artifact: &BuildArtifact,
        base: &holdpoint_protocol::facts::Oid,
    ) -> Result<(), String> {
        let told = |error: &dyn std::error::Error| format!("the bundle cannot be taken: {}", chain(error));
        let bundles = [self.fixture.base().clone(), bundle.clone()];
        let mirror = self.mirrors.ensure(&self.bus, &fixture::flight(), &bundles).await.map_err(|e| told(&e))?;
        let commit = mirror.commit(&from_wire(&bundle.tip)).await.map_err(|e| told(&e))?;
        if commit.parents.as_slice() != [from_wire(base)] {
            return Err(format!("the commit must have exactly one parent, the base {base}"));
        }
        let tree = to_wire(&commit.tree);
        if artifact.status == BuildStatus::Ok && artifact.tree.as_ref() != Some(&tree) {
            return Err(format!("the commit's tree is {tree}, the artifact names another"));
        }
        Ok(())
    }

    async fn look_at_report(&self, notes: &mut Notes, turn: &Turn, report: &VerificationReport) {
        let TurnRequest::Verify(request) = &turn.request else {
            return notes.wrong(Rule::HandsOff, "verification_report on a turn that wants a build");
        };
        notes.right(Rule::HandsOff);
        let about = report.purpose == request.purpose && report.commit == request.commit && report.tree == request.tree;
        notes.note(Rule::FitsRequest, about, "purpose, commit or tree of the report are not the request's");
        let ids: Vec<&str> = report.criteria.iter().map(|one| one.result.id.as_str()).collect();
        let asked: Vec<&str> = request.criteria.iter().map(|one| one.id.as_str()).collect();
        notes.note(Rule::FitsRequest, ids == asked, format!("verdicts on {ids:?}, asked were {asked:?}"));
        let guards = report.guards.iter().map(|one| &one.result.id).eq(request.guards.iter().map(|one| &one.id));
        notes.note(Rule::FitsRequest, guards, "the guards of the report are not those that were asked");
        for (id, wanted) in VERDICTS {
            let Some(one) = report.criteria.iter().find(|one| one.result.id.as_str() == id) else { continue };
            let (said, verdict) = (one.result.verdict.as_str(), one.result.verdict);
            notes.note(Rule::Verdicts, said == wanted, format!("{id} is {wanted}, the report says {said}"));
            let shown = verdict != Verdict::Pass || !one.result.evidence.is_empty();
            notes.note(Rule::Verdicts, shown, format!("{id} passes without evidence"));
        }
        let verdicts = report.criteria.iter().chain(&report.guards);
        self.look_for(notes, verdicts.flat_map(|one| one.result.evidence.iter().copied()).collect()).await;
    }

    /// Whether what is referred to is there, and is what its name says.
    async fn look_for(&self, notes: &mut Notes, digests: Vec<Digest>) {
        for digest in digests {
            match blobs::get(&self.bus, digest, std::slice::from_ref(&self.role), EVIDENCE_BYTES_MAX).await {
                Ok(_) => notes.right(Rule::BlobsFirst),
                Err(error) => notes.wrong(Rule::BlobsFirst, chain(&error)),
            }
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(notes: &mut Notes, handed: &Handed) -> Option<T> {
    let encoding = Encoding::from_content_type(handed.stored.content_type.as_deref());
    match encoding.and_then(|encoding| codec::decode::<T>(&handed.stored.payload, encoding)) {
        Ok(artifact) => {
            notes.right(Rule::ReadableHandoff);
            Some(artifact)
        }
        Err(error) => {
            notes.wrong(Rule::ReadableHandoff, format!("{}: {}", handed.kind, chain(&error)));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_nothing_is_no_final_handoff() {
        for (kind, says, ends) in [
            ("build_artifact", "{}", true),
            ("build_plan", "{}", false),
            ("status_update", "{}", false),
            ("exchange_record", "{}", false),
            ("given_back", "{}", false),
            ("clarification_request", r#"{"waits_until": null}"#, true),
            ("clarification_request", r#"{"waits_until": "2026-09-21T14:13:20.123Z"}"#, false),
            ("help_request", r#"{"running": false}"#, true),
            ("help_request", r#"{"running": true}"#, false),
            ("build_artifact", "no JSON", true),
        ] {
            assert_eq!(is_final(kind, says.as_bytes()), ends, "{kind} {says}");
        }
    }
}
