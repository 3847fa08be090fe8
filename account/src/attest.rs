//! What is said outside of landed work: SLSA's verification summary of one waypoint.

use holdpoint_engine::waypoint;
use holdpoint_protocol::{
    Digest,
    attestation::{DigestSet, PREDICATE_TYPE, Resource, STATEMENT_TYPE, Statement, VerificationSummary, Verifier},
    journal::{Decided, Landed, Submitted},
};

/// Who verified: the orchestrators of a fleet, by their journal. Which fleet, its keys say.
pub const VERIFIER: &str = "urn:holdpoint:orchestrator";
/// What was shown: every criterion and guard of the plan, by evidence. No level of SLSA's own tracks is claimed.
pub const LEVEL: &str = "HOLDPOINT_CRITERIA_MET";
/// What was shown by the agent that made the work, and by nobody else (FLY-36).
pub const SELF_CHECKED: &str = "HOLDPOINT_SELF_CHECKED";

/// The statement on a waypoint that landed; `decided` is the acceptance in its journal. `version` is that of the program
/// which says it.
#[must_use]
pub fn statement(submitted: &Submitted, decided: &Decided, landed: &Landed, version: &str) -> Statement {
    let flight = format!("urn:holdpoint:flight:{}", submitted.flight);
    let of = |algorithm: &str, hex: &str| DigestSet::from([(algorithm.to_owned(), hex.to_owned())]);
    let sha256 = |digest: &Digest| of("sha256", &digest.hex());
    let subject = [("commit", "gitCommit", &landed.commit), ("tree", "gitTree", &landed.tree)];
    let subject = subject.map(|(name, algorithm, oid)| Resource {
        name: Some(format!("{}/{name}", landed.waypoint)),
        uri: None,
        digest: of(algorithm, oid.as_str()),
    });
    // What led to the acceptance is the report, or what a person or an agent said at a gate behind it.
    let cause = decided.record.cause.as_ref().map(|cause| Resource {
        name: None,
        uri: Some(format!("{flight}:{}", cause.reference())),
        digest: sha256(&cause.digest),
    });
    let is_single = submitted.plan.policy.mode.is_single();
    let report = Resource { name: None, uri: None, digest: sha256(&landed.report) };
    let report = Some(report).filter(|report| cause.as_ref().is_none_or(|cause| cause.digest != report.digest));
    Statement {
        statement_type: STATEMENT_TYPE.to_owned(),
        subject: subject.to_vec(),
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate: VerificationSummary {
            verifier: Verifier {
                id: VERIFIER.to_owned(),
                version: [("holdpoint".to_owned(), version.to_owned())].into(),
            },
            time_verified: decided.record.at,
            resource_uri: format!("{flight}:waypoint:{}", landed.waypoint),
            policy: Resource {
                name: None,
                uri: Some(format!("{flight}:policy")),
                digest: sha256(&waypoint::policy_hash(&submitted.plan)),
            },
            input_attestations: report.into_iter().chain(cause).collect(),
            verification_result: "PASSED".to_owned(),
            verified_levels: vec![if is_single { SELF_CHECKED } else { LEVEL }.to_owned()],
        },
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_engine::testing::fixture::Fixture;
    use holdpoint_protocol::journal::Entry;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_statement_names_what_landed_and_what_it_rests_on() {
        let mut fixture = Fixture::opened(|_, _| {});
        fixture.build_ok("w").turn();
        let decided = fixture.report("w", |_| {}).decided();
        fixture.land("w");
        let Some(Entry::Landed(landed)) = fixture.log.last().map(|logged| logged.entry.clone()) else { panic!() };
        let said = statement(&fixture.flight.submitted, &decided, &landed, "0.1.0");
        let said = serde_json::to_value(&said).unwrap();
        assert_eq!(said["_type"], "https://in-toto.io/Statement/v1");
        assert_eq!(said["predicateType"], "https://slsa.dev/verification_summary/v1");
        assert_eq!(said["subject"][0], json!({"name": "w/commit", "digest": {"gitCommit": landed.commit}}));
        assert_eq!(said["subject"][1], json!({"name": "w/tree", "digest": {"gitTree": landed.tree}}));
        let predicate = &said["predicate"];
        assert_eq!(predicate["verifier"]["id"], VERIFIER);
        assert_eq!(predicate["timeVerified"], json!(decided.record.at));
        assert_eq!(predicate["resourceUri"], "urn:holdpoint:flight:demo-1:waypoint:w");
        assert_eq!(predicate["verificationResult"], "PASSED");
        assert_eq!(predicate["verifiedLevels"], json!([LEVEL]));
        let report = decided.record.cause.clone().unwrap();
        let digests = |statement: &Value| -> Vec<Value> {
            let inputs = statement["predicate"]["inputAttestations"].as_array().unwrap();
            inputs.iter().map(|input| input["digest"]["sha256"].clone()).collect()
        };
        assert_eq!((digests(&said), landed.report), (vec![json!(report.digest.hex())], report.digest));
        // A person approved what the report found.
        let (mut approved, approval) = (decided.clone(), Digest::of(b"approval"));
        approved.record.cause.as_mut().unwrap().digest = approval;
        let said = statement(&fixture.flight.submitted, &approved, &landed, "0.1.0");
        assert_eq!(digests(&serde_json::to_value(&said).unwrap()), [json!(report.digest.hex()), json!(approval.hex())]);
        let policy = waypoint::policy_hash(&fixture.flight.submitted.plan);
        assert_eq!(predicate["policy"]["digest"]["sha256"], policy.hex());
    }
}
