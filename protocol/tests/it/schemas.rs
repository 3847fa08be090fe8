//! The published JSON Schemas are those of the types, and every golden keeps to its own (FLY-14).

use std::collections::BTreeSet;

use holdpoint_protocol::{
    artifact::{
        ACT_KINDS, Artifact, BuildArtifact, BuildPlan, ClarificationRequest, GivenBack, GuidancePacket, HelpRequest,
        OrchestratorDecision, VerificationPlan, VerificationReport, VerificationRequest,
    },
    codec::Encoding,
    schema,
};
use serde_json::Value;

use crate::{files, samples};

#[test]
fn published_schemas_are_those_of_the_types() {
    for (name, schema) in schema::all() {
        let fresh = schema.to_value();
        let mut text = serde_json::to_vec_pretty(&fresh).unwrap();
        text.push(b'\n');
        let file = format!("{name}.schema.json");
        let stored: Value = serde_json::from_slice(&files::stored("schemas", &file, &text)).unwrap();
        assert_eq!(stored, fresh, "{file} drifted: run with {}=1 and look at the difference", files::UPDATE);
    }
    let wanted: BTreeSet<String> = schema::all().iter().map(|(n, _)| format!("{n}.schema.json")).collect();
    let surplus: Vec<String> = files::names("schemas").into_iter().filter(|n| !wanted.contains(n)).collect();
    assert_eq!(surplus, Vec::<String>::new());
}

#[test]
fn every_golden_keeps_to_its_schema_and_every_schema_has_a_golden() {
    let mut shown = BTreeSet::new();
    for kind in samples::all() {
        let Some(name) = kind.schema() else { continue };
        let schemas = schema::all();
        let (_, schema) = schemas.iter().find(|(n, _)| *n == name).expect("a sample names a published schema");
        let validator = jsonschema::validator_for(schema.as_value()).unwrap();
        let value: Value = serde_json::from_slice(&kind.write(Encoding::Json)).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", kind.name());
        let mut extended = value.clone();
        extended["zz_of_a_later_version"] = true.into();
        assert!(validator.is_valid(&extended), "{}: schemas allow what later versions add", kind.name());
        assert!(samples::ASK_FOR_ALL.contains(&name) || !validator.is_valid(&serde_json::json!({})), "{}", kind.name());
        shown.insert(name);
    }
    let published: BTreeSet<&str> = schema::all().iter().map(|(n, _)| *n).collect();
    assert_eq!(shown, published, "left: with a golden, right: published");
}

#[test]
fn schemas_are_sorted_by_name() {
    let names: Vec<&str> = schema::all().iter().map(|(n, _)| *n).collect();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn every_artifact_has_a_schema_of_its_kind_that_requires_the_common_fields() {
    fn kind<A: Artifact>() -> &'static str {
        A::KIND
    }
    let kinds = [
        kind::<BuildArtifact>(),
        kind::<BuildPlan>(),
        kind::<ClarificationRequest>(),
        kind::<GivenBack>(),
        kind::<GuidancePacket>(),
        kind::<HelpRequest>(),
        kind::<OrchestratorDecision>(),
        kind::<VerificationPlan>(),
        kind::<VerificationReport>(),
        kind::<VerificationRequest>(),
    ];
    let schemas = schema::all();
    for kind in kinds.into_iter().chain(ACT_KINDS) {
        let (_, schema) = schemas.iter().find(|(n, _)| *n == kind).unwrap_or_else(|| panic!("no schema of {kind}"));
        let required = schema.as_value()["required"].as_array().unwrap();
        for field in ["schema_version", "artifact_id", "waypoint_id", "produced_by_role", "produced_at", "source_refs"]
        {
            assert!(required.iter().any(|r| r == field), "{kind} requires {field}");
        }
    }
}

#[test]
fn a_turn_without_guidance_is_neither_valid_nor_readable() {
    let kind = samples::all().into_iter().find(|k| k.name() == "turn_build").unwrap();
    let mut value: Value = serde_json::from_slice(&kind.write(Encoding::Json)).unwrap();
    value.as_object_mut().unwrap().remove("guidance");
    let schemas = schema::all();
    let (_, schema) = schemas.iter().find(|(n, _)| *n == "turn").unwrap();
    assert!(!jsonschema::validator_for(schema.as_value()).unwrap().is_valid(&value));
    let bytes = serde_json::to_vec(&value).unwrap();
    assert!(kind.rewrite(&bytes, Encoding::Json, Encoding::Json).is_err());
}
