//! What `data` of an envelope has to hold, and what of it is missing: all of it at once (RETRY-2).
//!
//! A small part of JSON Schema: required fields, types, words to choose from, patterns, and lists or texts that may not be
//! empty.

use std::{borrow::Cow, collections::BTreeMap};

use holdpoint_protocol::artifact::ExchangeErrorKind;
use regex::Regex;
use serde_json::{Map, Value};

/// What an object has to hold.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// Its fields by name.
    pub fields: BTreeMap<String, Field>,
}

/// What a field has to be.
#[derive(Debug, Clone, Default)]
pub struct Field {
    /// Whether it has to be there.
    pub required: bool,
    /// Its type; `None`: any.
    pub kind: Option<JsonType>,
    /// The values it may have; empty: any.
    pub one_of: Vec<String>,
    /// What it has to match, if it is a text.
    pub matches: Option<Regex>,
    /// A text, list or object that may not be empty.
    pub not_empty: bool,
    /// Each of its texts has to be the id of a criterion of the waypoint.
    pub criteria: bool,
}

/// A type of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// A text.
    String,
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl JsonType {
    /// All types, with their names in JSON Schema.
    pub const ALL: [(&'static str, Self); 6] = [
        ("string", Self::String),
        ("number", Self::Number),
        ("integer", Self::Integer),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("object", Self::Object),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("any", |(name, _)| name)
    }

    fn holds(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
        }
    }
}

/// Something that an object lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// Whether it is missing or wrong.
    pub kind: ExchangeErrorKind,
    /// The field.
    pub field: String,
    /// What is wrong with it, as the end of a sentence that begins with its name.
    pub what: String,
}

impl Field {
    /// A required field of a type.
    #[must_use]
    pub fn required(kind: JsonType) -> Self {
        Self { required: true, kind: Some(kind), ..Self::default() }
    }

    /// A field of a type that may be left out.
    #[must_use]
    pub fn optional(kind: JsonType) -> Self {
        Self { kind: Some(kind), ..Self::default() }
    }

    /// The same field, with these values to choose from.
    #[must_use]
    pub fn among(self, words: &[&str]) -> Self {
        Self { one_of: words.iter().map(|word| (*word).to_owned()).collect(), ..self }
    }

    /// What a template shows in its place.
    #[must_use]
    pub fn example(&self) -> Cow<'static, str> {
        if !self.one_of.is_empty() {
            return format!("\"<{}>\"", self.one_of.join("|")).into();
        }
        match self.kind {
            Some(JsonType::String) | None => "\"<text>\"".into(),
            Some(JsonType::Number | JsonType::Integer) => "<number>".into(),
            Some(JsonType::Boolean) => "<true|false>".into(),
            Some(JsonType::Array) => "[\"<text>\"]".into(),
            Some(JsonType::Object) => "{\"<name>\": \"<text>\"}".into(),
        }
    }

    fn lack(&self, name: &str, value: Option<&Value>, criteria: &dyn Fn(&str) -> bool) -> Option<Lack> {
        let lack = |kind, what: String| Some(Lack { kind, field: name.to_owned(), what });
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return if self.required { lack(ExchangeErrorKind::MissingField, "is missing".to_owned()) } else { None };
        };
        if let Some(kind) = self.kind.filter(|kind| !kind.holds(value)) {
            return lack(ExchangeErrorKind::MissingField, format!("has to be of type {}", kind.name()));
        }
        let text = value.as_str();
        if !self.one_of.is_empty() && !text.is_some_and(|text| self.one_of.iter().any(|word| word == text)) {
            return lack(ExchangeErrorKind::Semantic, format!("has to be one of {}", self.one_of.join(", ")));
        }
        if let (Some(pattern), Some(text)) = (&self.matches, text)
            && !pattern.is_match(text)
        {
            return lack(ExchangeErrorKind::Semantic, format!("has to match {}", pattern.as_str()));
        }
        if self.not_empty && is_empty(value) {
            return lack(ExchangeErrorKind::Semantic, "may not be empty".to_owned());
        }
        let unknown = self.criteria.then(|| texts(value).find(|text| !criteria(text))).flatten();
        unknown.and_then(|text| {
            let shown: String = text.chars().take(80).collect();
            lack(ExchangeErrorKind::Semantic, format!("names a criterion that does not exist: {shown:?}"))
        })
    }
}

impl Shape {
    /// A shape of these fields.
    #[must_use]
    pub fn new<const N: usize>(fields: [(&str, Field); N]) -> Self {
        Self { fields: fields.map(|(name, field)| (name.to_owned(), field)).into() }
    }

    /// This shape and another's; the other's fields win.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.fields.extend(other.fields.iter().map(|(name, field)| (name.clone(), field.clone())));
        self
    }

    /// Everything that an object lacks, by field. `criteria` says whether a criterion exists.
    #[must_use]
    pub fn lacks(&self, object: &Map<String, Value>, criteria: &dyn Fn(&str) -> bool) -> Vec<Lack> {
        self.fields.iter().filter_map(|(name, field)| field.lack(name, object.get(name), criteria)).collect()
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(|item| item.as_str().is_some_and(|text| text.trim().is_empty())),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// A text, or the texts of a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    value.as_str().into_iter().chain(items.iter().filter_map(Value::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lacks(shape: &Shape, object: &Value) -> Vec<(String, ExchangeErrorKind)> {
        let lacks = shape.lacks(object.as_object().unwrap(), &|id| id == "unit");
        lacks.into_iter().map(|lack| (lack.field, lack.kind)).collect()
    }

    #[test]
    fn all_fields_that_are_missing_are_named_at_once() {
        let shape = Shape::new([
            ("a", Field::required(JsonType::String)),
            ("b", Field::required(JsonType::Array)),
            ("c", Field::required(JsonType::Boolean)),
            ("d", Field::optional(JsonType::Integer)),
        ]);
        let missing = |fields: &[&str]| -> Vec<(String, ExchangeErrorKind)> {
            fields.iter().map(|field| ((*field).to_owned(), ExchangeErrorKind::MissingField)).collect()
        };
        assert_eq!(lacks(&shape, &json!({})), missing(&["a", "b", "c"]));
        assert_eq!(lacks(&shape, &json!({"a": null, "b": [], "c": "yes", "d": 0.5})), missing(&["a", "c", "d"]));
        assert_eq!(lacks(&shape, &json!({"a": "", "b": [], "c": false, "d": 3, "e": 1})), []);
    }

    #[test]
    fn what_is_there_and_wrong_is_told_apart_from_what_is_missing() {
        let shape = Shape::new([
            ("word", Field::optional(JsonType::String).among(&["pass", "fail"])),
            ("code", Field { matches: Some(Regex::new("^E[0-9]+$").unwrap()), ..Field::optional(JsonType::String) }),
            ("list", Field { not_empty: true, ..Field::optional(JsonType::Array) }),
            ("met", Field { criteria: true, ..Field::optional(JsonType::Array) }),
        ]);
        let good = json!({"word": "fail", "code": "E7", "list": ["x"], "met": ["unit"]});
        assert_eq!(lacks(&shape, &good), []);
        let bad = json!({"word": "maybe", "code": "7", "list": [" "], "met": ["unit", "other"]});
        let fields: Vec<String> = lacks(&shape, &bad)
            .into_iter()
            .map(|(field, kind)| {
                assert_eq!(kind, ExchangeErrorKind::Semantic);
                field
            })
            .collect();
        assert_eq!(fields, ["code", "list", "met", "word"]);
    }
}
