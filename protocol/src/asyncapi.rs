//! The AsyncAPI 3.0 document, generated from [`crate::names`] and [`crate::schema`].
//!
//! It is written from the side of those who talk to a fleet: an agent, or an operator's script. `send` is what they
//! publish, `receive` what reaches them. AsyncAPI has no words for streams and consumers; they stand under `x-jetstream`.

use serde_json::{Map, Value, json};

use crate::{
    ids::role,
    names::{self, Subject},
    plan::Priority,
    schema, streams, version,
};

/// Where components of the document are.
const SCHEMAS: &str = "#/components/schemas/";

/// The queue group of NATS micro services.
const SERVICE_QUEUE: &str = "q";

/// The document.
#[must_use]
pub fn document() -> Value {
    let subjects = names::all_subjects();
    let mut channels = Map::new();
    let mut operations = Map::new();
    for subject in &subjects {
        channels.insert(subject.name.to_owned(), channel(subject));
        if let Some(reply) = reply_messages(subject) {
            channels.insert(reply_channel(subject), json!({"address": null, "messages": message_refs(&reply)}));
        }
        let (name, operation) = operation(subject);
        operations.insert(name, operation);
    }
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Holdpoint",
            "version": version::CURRENT.to_string(),
            "description": "What agents and operators' scripts exchange with a Holdpoint fleet over NATS. The guide is \
                            docs/external-agents.md.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"fleet": server()},
        "channels": channels,
        "operations": operations,
        "components": {
            "schemas": schemas(),
            "messages": messages(&subjects),
            "securitySchemes": {"credentials": {
                "type": "asymmetricEncryption",
                "description": "A .creds file: a user JWT and the seed of its NKey. It holds the role and the name.",
            }},
        },
    })
}

fn server() -> Value {
    json!({
        "host": "{host}:4222",
        "protocol": "nats",
        "description": "nats-server 2.14.4 or newer with JetStream; agents have an account without streams of its own",
        "variables": {"host": {"default": "localhost", "description": "the fleet's broker"}},
        "security": [{"$ref": "#/components/securitySchemes/credentials"}],
        "x-jetstream": {"streams": names::all().streams, "consumers": names::all().consumers},
    })
}

fn channel(subject: &Subject) -> Value {
    let mut channel = json!({
        "address": subject.address,
        "description": subject.summary,
        "messages": message_refs(&message_names(subject)),
    });
    let parameters = parameters(subject);
    if !parameters.is_empty() {
        channel["parameters"] = Value::Object(parameters);
    }
    if let Some(stream) = stream(subject) {
        channel["x-jetstream"] = json!({"stream": stream});
    }
    channel
}

/// The stream that stores what is published there.
fn stream(subject: &Subject) -> Option<String> {
    match subject.name {
        "blob" => Some("HP_BLOB_{ROLE}".to_owned()),
        "handoff" => Some("HP_HANDOFF_{ROLE}".to_owned()),
        "act_on_waypoint" | "act_on_flight" => Some(streams::handoff(&role::id(role::OPERATOR))),
        _ if subject.address.contains(".journal.") => Some(streams::JOURNAL.to_owned()),
        _ => None,
    }
}

fn parameters(subject: &Subject) -> Map<String, Value> {
    let mut parameters = Map::new();
    for (at, _) in subject.address.match_indices('{') {
        let Some(name) = subject.address[at + 1..].split('}').next() else { continue };
        parameters.insert(name.to_owned(), parameter(name, subject));
    }
    parameters
}

fn parameter(name: &str, subject: &Subject) -> Value {
    match name {
        "role" => json!({"description": "the role of its sender", "examples": role::AGENTS}),
        "priority" => json!({"description": "how urgent the waypoint is", "enum": Priority::ALL.map(Priority::as_str)}),
        "pool" => {
            let description = "whose agents take the turn: the fleet's, or those of one local flight";
            json!({"description": description, "examples": [streams::fleet_pool()]})
        }
        "kind" => json!({"description": "the kind of artifact", "enum": subject.messages}),
        "flight" => json!({"description": "the flight's id", "examples": ["harden-client-0a1b2c3d"]}),
        "waypoint" => json!({"description": "the waypoint's id", "examples": ["retry-backoff"]}),
        "partition" => {
            json!({"description": "part of the turn's handoff_subject; FNV-1a (32 bit) of the flight, modulo 8"})
        }
        "consumer" => json!({"description": "<role>_<priority>_<pool>", "examples": ["verifier_high_fleet"]}),
        "agent" => json!({"description": "the name in the agent's credentials"}),
        "sha256" => json!({"description": "the digest of the whole blob: 64 lower-case hex digits"}),
        "n" => json!({"description": "the chunk, from 0; all but the last have 256 KiB"}),
        other => json!({"description": other}),
    }
}

/// The messages that are published on a subject.
fn message_names(subject: &Subject) -> Vec<&'static str> {
    if !subject.messages.is_empty() {
        return subject.messages.clone();
    }
    match subject.name {
        "pull" => vec!["pull_request"],
        "acknowledge" => vec!["acknowledgement"],
        "blob" => vec!["chunk"],
        "wake" | "wake_one" => vec!["hint"],
        _ => vec!["empty"],
    }
}

/// The messages that answer, of a request.
fn reply_messages(subject: &Subject) -> Option<Vec<&'static str>> {
    match subject.name {
        "pull" => Some(vec!["turn"]),
        "read_blob" => Some(vec!["chunk"]),
        "handoff" | "act_on_waypoint" | "act_on_flight" | "blob" => Some(vec!["stored"]),
        _ => subject.answer.map(|answer| vec![answer]),
    }
}

fn reply_channel(subject: &Subject) -> String {
    format!("{}_answer_inbox", subject.name)
}

fn message_refs(names: &[&str]) -> Value {
    let entry = |name: &&str| ((*name).to_owned(), json!({"$ref": format!("#/components/messages/{name}")}));
    Value::Object(names.iter().map(entry).collect())
}

fn operation(subject: &Subject) -> (String, Value) {
    let outside = |name: &&str| role::AGENTS.contains(name) || *name == role::OPERATOR;
    let sends = subject.by.iter().any(outside);
    let action = if sends { "send" } else { "receive" };
    let refs = |channel: &str, names: &[&str]| -> Vec<Value> {
        names.iter().map(|name| json!({"$ref": format!("#/channels/{channel}/messages/{name}")})).collect()
    };
    let mut operation = json!({
        "action": action,
        "channel": {"$ref": format!("#/channels/{}", subject.name)},
        "summary": subject.summary,
        "messages": refs(subject.name, &message_names(subject)),
        "x-roles": if sends { subject.by } else { subject.to },
    });
    if let Some(reply) = reply_messages(subject) {
        let channel = reply_channel(subject);
        operation["reply"] = json!({
            "channel": {"$ref": format!("#/channels/{channel}")},
            "messages": refs(&channel, &reply),
        });
    }
    if names::ENDPOINTS.iter().any(|endpoint| endpoint.name == subject.name) {
        // Orchestrators share the requests of the micro service.
        operation["bindings"] = json!({"nats": {"queue": SERVICE_QUEUE, "bindingVersion": "0.1.0"}});
    }
    (format!("{action}_{}", subject.name), operation)
}

fn messages(subjects: &[Subject]) -> Value {
    let mut messages = Map::new();
    for subject in subjects {
        for name in message_names(subject).into_iter().chain(reply_messages(subject).into_iter().flatten()) {
            messages.entry(name).or_insert_with(|| message(name, subject));
        }
    }
    Value::Object(messages)
}

fn message(name: &str, subject: &Subject) -> Value {
    let (content_type, payload, summary) = match name {
        "pull_request" => (
            "application/json",
            json!({"type": "object", "properties": {"batch": {"const": 1}, "no_wait": {"const": true}}}),
            "one turn, or the status 404 at once",
        ),
        "acknowledgement" => (
            "text/plain",
            json!({"type": "string", "pattern": "^(\\+ACK|\\+WPI|-NAK( .*)?)$"}),
            "+ACK after the final handoff is stored; +WPI at a third of the acknowledgement wait; -NAK gives it back",
        ),
        "chunk" => ("application/octet-stream", json!({"type": "string", "format": "binary"}), "at most 256 KiB"),
        "hint" => ("text/plain", json!({"type": "string", "enum": Priority::ALL.map(Priority::as_str)}), "a priority"),
        "stored" => (
            "application/json",
            json!({"type": "object", "properties": {"stream": {"type": "string"}, "seq": {"type": "integer"},
                   "duplicate": {"type": "boolean"}, "error": {"type": "object"}}}),
            "the broker's acknowledgement; it counts as stored when there is no error",
        ),
        "empty" => ("application/json", json!({"type": "object"}), "no content"),
        name => ("application/json", json!({"$ref": format!("{SCHEMAS}{name}")}), subject.summary),
    };
    let mut message = json!({"name": name, "contentType": content_type, "summary": summary, "payload": payload});
    let signed = subject.messages.contains(&name) || name == "turn";
    if signed || name == "chunk" {
        message["headers"] = headers(name == "chunk");
    }
    message
}

fn headers(chunk: bool) -> Value {
    let of_chunk = |name: &str| name == crate::headers::SIZE;
    let listed = names::HEADERS.iter().filter(|header| of_chunk(header.name) == chunk);
    let properties: Map<String, Value> = listed
        .map(|header| (header.name.to_owned(), json!({"type": "string", "description": header.summary})))
        .collect();
    json!({"type": "object", "properties": properties})
}

/// All schemas with what they share next to them instead of inside.
fn schemas() -> Value {
    let mut schemas = Map::new();
    for (name, schema) in schema::all() {
        let mut schema = schema.to_value();
        point_at_components(&mut schema);
        if let Some(object) = schema.as_object_mut() {
            object.remove("$schema");
            if let Some(Value::Object(shared)) = object.remove("$defs") {
                schemas.extend(shared);
            }
        }
        schemas.insert(name.to_owned(), schema);
    }
    Value::Object(schemas)
}

fn point_at_components(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get_mut("$ref") {
                *reference = reference.replace("#/$defs/", SCHEMAS);
            }
            object.values_mut().for_each(point_at_components);
        }
        Value::Array(items) => items.iter_mut().for_each(point_at_components),
        _ => {}
    }
}
