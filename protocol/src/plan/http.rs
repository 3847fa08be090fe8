//! Tests over HTTP (GATE-32): the service of a plan, and one test as its client in the sandbox gets it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EvidenceLevel;
use crate::time::Millis;

/// How the repository's service is started for a test, and what a test may be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HttpService {
    /// The shell command that starts it on the port `$PORT`, and stays in the foreground.
    pub run: String,
    /// The request that it answers with a status of 200 to 299 once it is ready, such as `GET /health`; `None`: it is ready
    /// once it takes connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// How long it may take to be ready. Default 20 s.
    pub within: Millis,
    /// What tests may name in `given`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, HttpGiven>,
    /// As of a check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// As of a check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes_tree: bool,
    /// How hard a green is tried: the plan's.
    #[serde(default, skip_serializing_if = "EvidenceLevel::is_fast")]
    pub evidence: EvidenceLevel,
}

/// What holds before a test's request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HttpGiven {
    /// A shell command whose lines `NAME=value` stand for `${NAME}` in the headers and in the request's body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_from: Option<String>,
    /// Headers of the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// What a test expects of the response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HttpExpected {
    /// The status code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Texts that its body contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub body_contains: Vec<String>,
    /// Headers with these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// One test with the service that it asks: what the command of its criterion says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpTest {
    /// The service's command.
    pub run: String,
    /// The request that says whether it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// How long it may take to be ready.
    pub within: Millis,
    /// What holds before, in words.
    pub given: String,
    /// What these words stand for.
    #[serde(default)]
    pub with: HttpGiven,
    /// The request: `METHOD /path[ BODY]`.
    pub when: String,
    /// What has to come back.
    pub then: HttpExpected,
}
