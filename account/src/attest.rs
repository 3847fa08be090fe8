//! What is said outside of verified work: SLSA's verification summary of a waypoint that landed, or of a change that was made elsewhere.

use holdpoint_engine::waypoint;
use holdpoint_protocol::{
    Digest, Timestamp,
    attestation::{DigestSet, PREDICATE_TYPE, Resource, STATEMENT_TYPE, Statement, VerificationSummary, Verifier},
    journal::{Decided, Landed, Submitted},
    plan::Plan,
};

/// Who verified: the orchestrators of a fleet, by their journal. Which fleet, its keys say.
pub const VERIFIER: &str = "urn:holdpoint:orchestrator";
/// Who verified a change that was made elsewhere: the program that ran `verify`. Whose it is, its key says.
pub const CHANGE_VERIFIER: &str = "urn:holdpoint:verify";
/// What was shown: every criterion and guard of the plan, by evidence. No level of SLSA's own tracks is claimed.
pub const LEVEL: &str = "HOLDPOINT_CRITERIA_MET";
/// What was shown by the agent that made the work, and by nobody else (FLY-36).
pub const SELF_CHECKED: &str = "HOLDPOINT_SELF_CHECKED";

/// A verdict on a change that was made elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct JudgedChange<'a> {
    /// What it had to show.
    pub plan: &'a Plan,
    /// The commit it was judged against.
    pub base: &'a str,
    /// The commit that was judged; `None`: a patch.
    pub commit: Option<&'a str>,
    /// Its tree.
    pub tree: &'a str,
    /// Whether it showed that.
    pub shown: bool,
    /// When.
    pub at: Timestamp,
}

/// The statement on a change. Its subject is what was judged: a base among the subjects would read as verified.
#[must_use]
pub fn of_change(change: &JudgedChange<'_>, version: &str) -> Statement {
    let JudgedChange { plan, base, commit, tree, shown, at } = *change;
    let named = |name: &str, algorithm: &str, hex: &str| Resource {
        name: Some(name.to_owned()),
        uri: None,
        digest: of(algorithm, hex),
    };
    let commit = commit.map(|commit| named("commit", "gitCommit", commit));
    // The whole plan, not its policy alone: nobody else recorded which criteria there were.
    let asked = Digest::of(&serde_json::to_vec(plan).expect("plain data with text keys"));
    let (result, level) = if shown { ("PASSED", LEVEL) } else { ("FAILED", "FAILED") };
    Statement {
        statement_type: STATEMENT_TYPE.to_owned(),
        subject: commit.into_iter().chain([named("tree", "gitTree", tree)]).collect(),
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate: VerificationSummary {
            verifier: verifier(CHANGE_VERIFIER, version),
            time_verified: at,
            resource_uri: format!("urn:holdpoint:change:{base}:{tree}"),
            policy: Resource {
                name: None,
                uri: Some(format!("urn:holdpoint:plan:{}", plan.plan)),
                digest: of("sha256", &asked.hex()),
            },
            input_attestations: Vec::new(),
            verification_result: result.to_owned(),
            verified_levels: vec![level.to_owned()],
        },
    }
}

fn of(algorithm: &str, hex: &str) -> DigestSet {
    DigestSet::from([(algorithm.to_owned(), hex.to_owned())])
}

fn verifier(id: &str, version: &str) -> Verifier {
    Verifier { id: id.to_owned(), version: [("holdpoint".to_owned(), version.to_owned())].into() }
}

/// The statement on a waypoint that landed; `decided` is the acceptance in its journal. `version` is that of the program
/// which says it.
#[must_use]
pub fn statement(submitted: &Submitted, decided: &Decided, landed: &Landed, version: &str) -> Statement {
    let flight = format!("urn:holdpoint:flight:{}", submitted.flight);
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
            verifier: verifier(VERIFIER, version),
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

    #[test]
    fn the_statement_on_a_change_says_whether_it_was_shown_and_has_no_base_for_a_subject() {
        let fixture = Fixture::opened(|_, _| {});
        let plan = &fixture.flight.submitted.plan;
        let said = |commit, shown| {
            let at = Timestamp::from_millis(0);
            let change = JudgedChange { plan, base: "b", commit, tree: "t", shown, at };
            serde_json::to_value(of_change(&change, "0.1.0")).unwrap()
        };
        let shown = said(Some("c"), true);
        let (commit, tree) = (
            json!({"name": "commit", "digest": {"gitCommit": "c"}}),
            json!({"name": "tree", "digest": {"gitTree": "t"}}),
        );
        assert_eq!(shown["subject"], json!([commit, tree]));
        assert_eq!(shown["predicate"]["verifier"]["id"], CHANGE_VERIFIER);
        assert_eq!(shown["predicate"]["resourceUri"], "urn:holdpoint:change:b:t");
        let result = |said: &Value| {
            (said["predicate"]["verificationResult"].clone(), said["predicate"]["verifiedLevels"].clone())
        };
        assert_eq!(result(&shown), (json!("PASSED"), json!([LEVEL])));
        let patch = said(None, false);
        assert_eq!((result(&patch), &patch["subject"]), ((json!("FAILED"), json!(["FAILED"])), &json!([tree])));
    }
}
