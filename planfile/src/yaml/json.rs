//! Free values as JSON.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{
    error::Problems,
    fields::Fields,
    tree::{Node, Value},
};

/// Free values by name.
pub(crate) fn metadata(fields: &Fields<'_>, problems: &mut Problems) -> BTreeMap<String, Json> {
    let Some(node) = fields.get("metadata", problems) else { return BTreeMap::new() };
    let free = Fields::free(node, "`metadata`", "write `metadata: {risk: 2}`", problems);
    let entries = free.iter().flat_map(Fields::entries);
    entries.map(|(key, node)| (key.name.clone(), json(node))).collect()
}

/// A free value as JSON, plain scalars by YAML's core schema.
fn json(node: &Node) -> Json {
    match &node.value {
        Value::Refused => Json::Null,
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(entries) => Json::Object(entries.iter().map(|(key, node)| (key.name.clone(), json(node))).collect()),
        Value::Scalar { text, plain: false } => Json::String(text.clone()),
        Value::Scalar { text, plain: true } => match text.as_str() {
            _ if node.value.is_null() => Json::Null,
            "true" | "True" | "TRUE" => Json::Bool(true),
            "false" | "False" | "FALSE" => Json::Bool(false),
            text => number(text).unwrap_or_else(|| Json::String(text.to_owned())),
        },
    }
}

fn number(text: &str) -> Option<Json> {
    // Only what looks like a number: `inf` and `nan` are words here, JSON has no such numbers.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return None;
    }
    let whole = text.strip_prefix('+').unwrap_or(text);
    if let Ok(number) = whole.parse::<i64>() {
        return Some(number.into());
    }
    serde_json::Number::from_f64(whole.parse().ok()?).map(Json::Number)
}
