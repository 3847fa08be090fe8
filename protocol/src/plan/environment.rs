//! What a project depends on, set up once for each state of its lock files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How dependencies are set up, and from what (contract, "Environment"). Without anything in it there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentSpec {
    /// The command that sets them up, once per state of the inputs, with network unless it is `offline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Globs of the files that it sees; it sees no others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Globs of files that it finds empty: it needs their names alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Folders of the tree that come first in `PATH`, for setup, agents and checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Variables of setup, agents and checks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The setup downloads nothing: it has no network, and verifiers without one take it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
}

impl EnvironmentSpec {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}
