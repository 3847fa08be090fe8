//! The AsyncAPI document is the one of this build, hangs together, and its messages are those that are sent.

use holdpoint_protocol::{
    artifact::ACT_KINDS, asyncapi, codec::Encoding, names::FLIGHT_ACT_KINDS, refusal::RefusalCode, schema,
};
use serde_json::{Value, json};

use crate::{files, samples};

/// Calls `check` with every reference of the document.
fn for_each_reference(value: &Value, check: &mut impl FnMut(&str)) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get("$ref") {
                check(reference);
            }
            object.values().for_each(|value| for_each_reference(value, check));
        }
        Value::Array(items) => items.iter().for_each(|value| for_each_reference(value, check)),
        _ => {}
    }
}

/// What a reference points at, through references.
fn resolve<'a>(document: &'a Value, reference: &str) -> &'a Value {
    let pointer = reference.strip_prefix('#').expect("references stay in the document");
    let found = document.pointer(pointer).unwrap_or_else(|| panic!("nothing at {reference}"));
    match found.get("$ref").and_then(Value::as_str) {
        Some(next) if found.as_object().unwrap().len() == 1 => resolve(document, next),
        _ => found,
    }
}

#[test]
fn the_published_document_is_that_of_the_types() {
    let fresh = asyncapi::document();
    let mut text = serde_json::to_vec_pretty(&fresh).unwrap();
    text.push(b'\n');
    let stored: Value = serde_json::from_slice(&files::stored("../docs", "asyncapi.json", &text)).unwrap();
    assert_eq!(stored, fresh, "docs/asyncapi.json drifted: run with {}=1 and look at it", files::UPDATE);
}

#[test]
fn every_reference_leads_somewhere() {
    let document = asyncapi::document();
    let mut count = 0;
    for_each_reference(&document, &mut |reference| {
        resolve(&document, reference);
        count += 1;
    });
    assert!(count > 100, "{count}");
}

#[test]
fn the_document_has_the_parts_that_the_specification_requires() {
    let document = asyncapi::document();
    assert_eq!(document["asyncapi"], "3.0.0");
    for field in ["title", "version"] {
        assert!(document["info"][field].is_string(), "{field}");
    }
    for (name, server) in document["servers"].as_object().unwrap() {
        assert!(server["host"].is_string() && server["protocol"] == "nats", "{name}");
    }
    for (name, channel) in document["channels"].as_object().unwrap() {
        let Some(address) = channel["address"].as_str() else {
            assert!(channel["address"].is_null() && name.ends_with("_answer_inbox"), "{name}");
            continue;
        };
        let mut placeholders: Vec<&str> =
            address.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        placeholders.sort_unstable();
        let parameters = channel.get("parameters").and_then(Value::as_object);
        let named: Vec<&str> = parameters.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        assert_eq!(named, placeholders, "parameters of {name}");
    }
    assert_eq!(document["operations"]["send_progress"]["bindings"]["nats"]["queue"], "q");
    for (name, operation) in document["operations"].as_object().unwrap() {
        assert!(["send", "receive"].contains(&operation["action"].as_str().unwrap()), "{name}");
        for (place, part) in [("channel", operation), ("reply", &operation["reply"])] {
            let Some(channel) = part.pointer("/channel/$ref").and_then(Value::as_str) else {
                assert_eq!(place, "reply", "{name} has no channel");
                continue;
            };
            resolve(&document, channel);
            for message in part["messages"].as_array().unwrap() {
                let message = message["$ref"].as_str().unwrap();
                assert!(message.starts_with(&format!("{channel}/messages/")), "{message} of {name} is of its channel");
            }
        }
    }
}

#[test]
fn acts_of_people_are_stored_and_name_their_own_kinds() {
    let document = asyncapi::document();
    for (name, kinds) in [("act_on_waypoint", &ACT_KINDS[..]), ("act_on_flight", &FLIGHT_ACT_KINDS[..])] {
        let channel = &document["channels"][name];
        assert_eq!(channel["x-jetstream"]["stream"], "HP_HANDOFF_OPERATOR", "{name}");
        assert_eq!(channel["parameters"]["kind"]["enum"], json!(kinds), "{name}");
        let operation = &document["operations"][format!("send_{name}")];
        let stored = format!("#/channels/{name}_answer_inbox/messages/stored");
        assert_eq!(operation["reply"]["messages"], json!([{"$ref": stored}]), "{name}");
    }
}

#[test]
fn every_sample_of_a_published_message_is_valid_in_the_document() {
    let document = asyncapi::document();
    for kind in samples::all() {
        let Some(name) = kind.schema() else { continue };
        let reference = format!("#/components/schemas/{name}");
        let rooted = json!({"$ref": reference, "components": document["components"]});
        let validator = jsonschema::validator_for(&rooted).unwrap();
        let value: Value = serde_json::from_slice(&kind.write(Encoding::Json)).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", kind.name());
        assert!(samples::ASK_FOR_ALL.contains(&name) || !validator.is_valid(&json!({})), "{}", kind.name());
    }
    let messages = document["components"]["messages"].as_object().unwrap();
    for (name, _) in schema::all() {
        assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
    }
    for name in ["turn", "build_plan", "build_artifact", "verification_report", "progress_answer", "refused_handoff"] {
        assert!(messages.contains_key(name), "{name} is a message");
    }
}

#[test]
fn the_guide_explains_every_refusal_with_its_action() {
    let guide = String::from_utf8(files::stored_only("../docs", "external-agents.md")).unwrap();
    for code in RefusalCode::ALL {
        let action = serde_json::to_value(code.action()).unwrap();
        let row = format!("| `{code}` | `{}` |", action.as_str().unwrap());
        assert!(guide.contains(&row), "docs/external-agents.md has no row {row}");
    }
}
