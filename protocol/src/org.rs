//! Org charts: who has which role (spec GATE-2).
//!
//! Whether a chart is sound, and fits the workflows that name its roles, is `holdpoint_planfile::declared`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentName, RoleId};

/// The most roles of an org chart: each is a stream, a signing key and four consumers of the broker.
pub const ROLES_MAX: usize = 64;

/// Who has which role, as declared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrgChart {
    /// The roles.
    pub roles: BTreeMap<RoleId, RoleSpec>,
}

/// A role as declared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleSpec {
    /// Agents and people who have it.
    pub agents: Vec<AgentName>,
    /// What it is for, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether only people may complete its gates.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_human: bool,
    /// Whether only the agents who stand here take its turns; else every agent with a key of the role does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_listed: bool,
    /// What its turns are, where that does not follow from its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane: Option<Plane>,
}

/// What the turns of a role are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Plane {
    /// Work in a clone, as builders do it: it has to be verified before it lands.
    Build,
}
