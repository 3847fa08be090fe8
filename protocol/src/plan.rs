//! The normalized plan: what a plan file says once it is read, checked and its defaults are filled in.
//!
//! Reading the YAML and finding its errors is `holdpoint_planfile::plan`.

mod environment;
mod http;

use std::collections::BTreeMap;

pub use environment::EnvironmentSpec;
pub use http::{HttpExpected, HttpGiven, HttpService, HttpTest};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    artifact::Confidence,
    budget::{Limits, OnExceeded, Unmetered},
    checkpoint::CheckpointSpec,
    ids::{CriterionId, WaypointId},
    time::Millis,
    words::words,
};

/// Globs that every path matches.
const EVERYTHING: [&str; 2] = ["**", "**/*"];

/// A plan: waypoints and the rules they are flown under (contract, "Plan file").
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The plan's name; an id.
    pub plan: String,
    /// The git ref the flight starts from. Default `HEAD`.
    pub base: String,
    /// The guidance document of the repository; `None`: `AGENTS.md` if the base has one.
    pub covenant: Option<String>,
    /// The workflow of waypoints that name none. Default `fly`.
    pub workflow: String,
    /// Bounds and mode.
    pub policy: Policy,
    /// The budget of the whole flight.
    pub budget: FlightBudget,
    /// Guidance documents in order of precedence.
    pub sources: Vec<String>,
    /// What its dependencies are set up from: what the plan says, or what was found for its repository when it was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentSpec>,
    /// Globs of paths that never change in this plan.
    pub protected: Vec<String>,
    /// Checks that hold on the base and after every waypoint.
    pub guards: Vec<Guard>,
    /// What gates with `checks: auto` check: what the plan says, or what was found for its repository when it was submitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckpointSpec>,
    /// Answers by which policy can answer clarifications.
    pub answers: Vec<Answer>,
    /// How long a question may stay open before its waypoint is `blocked`. Default: without limit.
    pub answer_within: Option<Millis>,
    /// A structured answer with less confidence than this becomes a question. Default: none does.
    pub ask_below: Option<Confidence>,
    /// Files that are no work, as patterns of gitignore(5). What a submitter's own settings of git ignore is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// The service that tests over HTTP ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<HttpService>,
    /// The units of work, in the file's order.
    pub waypoints: Vec<Waypoint>,
}

/// Whether a scope lets work change anything that no rule protects.
#[must_use]
pub fn is_open_scope(scope: &[String]) -> bool {
    scope.is_empty() || scope.iter().any(|glob| EVERYTHING.contains(&glob.as_str()))
}

impl Plan {
    /// The waypoint with this id.
    #[must_use]
    pub fn waypoint(&self, id: &WaypointId) -> Option<&Waypoint> {
        self.waypoints.iter().find(|w| &w.id == id)
    }
}

/// Bounds on what a waypoint may use up (spec README, "how many retries").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// Reworks and rollbacks after a verifier's rejection. Default 3, so at most 4 build turns.
    pub max_reworks: u32,
    /// Clarification rounds. Default 2.
    pub max_clarifications: u32,
    /// Advisors are asked questions as well, before a person. Default: calls for help only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub advise_questions: bool,
    /// A person is asked before work is judged that removes more files than this. Default: nobody is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_before_removing: Option<u32>,
    /// What becomes of work whose change has suspicious code. Default: a person signs it off.
    #[serde(default = "Attention::hold", skip_serializing_if = "Attention::is_hold")]
    pub suspicious: Attention,
    /// What becomes of work that may touch any path. Default: a warning says so.
    #[serde(default = "Attention::warn", skip_serializing_if = "Attention::is_warn")]
    pub open_scope: Attention,
    /// Who judges.
    pub mode: Mode,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_reworks: 3,
            max_clarifications: 2,
            advise_questions: false,
            ask_before_removing: None,
            suspicious: Attention::Hold,
            open_scope: Attention::Warn,
            mode: Mode::Team,
        }
    }
}

words! {
    /// What becomes of verified work about which a person should know something.
    Attention {
        /// It lands once a person has signed it off.
        Hold = "hold",
        /// It lands, and a warning says so.
        Warn = "warn",
        /// Nobody says so.
        Off = "off",
    }
}

impl Attention {
    pub(crate) const fn hold() -> Self {
        Self::Hold
    }

    const fn warn() -> Self {
        Self::Warn
    }

    /// Whether a person signs it off.
    #[must_use]
    pub fn is_hold(&self) -> bool {
        *self == Self::Hold
    }

    fn is_warn(&self) -> bool {
        *self == Self::Warn
    }
}

/// Team, or one agent that checks itself (FLY-36).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// An independent verifier judges.
    #[default]
    Team,
    /// One agent builds, and its harness checks what it built.
    Single,
}

impl Mode {
    /// Whether the work of a flight is checked by the agent that made it.
    #[must_use]
    pub fn is_single(self) -> bool {
        self == Self::Single
    }
}

/// What a whole flight may use up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlightBudget {
    /// Wall time from submission.
    pub wall: Option<Millis>,
    /// Tokens, as metered.
    pub tokens: Option<u64>,
    /// Cost in US dollars, as metered.
    pub cost_usd: Option<f64>,
    /// Tool calls, as metered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Bytes of output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// What happens when a limit of a turn, a waypoint or the flight is reached.
    #[serde(default, skip_serializing_if = "OnExceeded::is_default")]
    pub on_exceeded: OnExceeded,
    /// What happens to programs that do not report what is limited.
    #[serde(default, skip_serializing_if = "Unmetered::is_default")]
    pub unmetered: Unmetered,
}

/// What one turn may use up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnBudget {
    /// Wall time of the program. Default 30 m, from the agent's configuration.
    pub wall: Option<Millis>,
    /// Tokens, as metered.
    pub tokens: Option<u64>,
    /// Cost in US dollars, as metered.
    pub cost_usd: Option<f64>,
    /// Tool calls, as metered.
    pub tool_calls: Option<u64>,
    /// Bytes of output. Default 10 MiB, from the agent's configuration.
    pub output: Option<u64>,
    /// What all turns of the waypoint together may use up.
    #[serde(default, skip_serializing_if = "Limits::is_none_ref")]
    pub total: Limits,
}

/// A command and how its end is read (contract, "Checks").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The shell command.
    pub command: String,
    /// A regular expression the output must match as well.
    pub expect: Option<String>,
    /// Must be red on the turn's base.
    pub red_first: bool,
    /// Default 10 m.
    pub timeout: Millis,
    /// Default false: no network but an isolated loopback.
    pub network: bool,
    /// True: the check gets a throw-away copy of the tree that it may write into.
    pub writes_tree: bool,
    /// How hard its green is tried. A plan's own setting is the default of its checks, and stands in each.
    #[serde(default, skip_serializing_if = "EvidenceLevel::is_fast")]
    pub evidence: EvidenceLevel,
    /// How many changed lines are broken, one at a time, each of which has to turn it red. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutants: Option<u32>,
}

/// How hard a green check is tried before it counts (contract, "Evidence").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceLevel {
    /// Its report and exit code, compared with those of the base and of the tests as on the base.
    #[default]
    Fast,
    /// Further runs as well, about which the code under test cannot speak for itself.
    Strict,
}

impl EvidenceLevel {
    /// Whether this is the default.
    #[must_use]
    pub fn is_fast(&self) -> bool {
        *self == Self::Fast
    }
}

/// The time a check gets unless the plan says otherwise.
pub const CHECK_TIMEOUT_DEFAULT: Millis = Millis(600_000);

/// A check that holds on the base and after every waypoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guard {
    /// Unique in the plan.
    pub id: CriterionId,
    /// The command.
    pub check: Check,
}

/// An acceptance criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    /// Unique in the waypoint.
    pub id: CriterionId,
    /// What must be true, in words.
    pub statement: String,
    /// The command that shows it; `None`: a judge is needed.
    pub check: Option<Check>,
}

/// A declared answer to clarifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// A regular expression over the question.
    #[serde(rename = "match")]
    pub matches: String,
    /// The option to choose.
    pub option: String,
    /// Why.
    pub rationale: Option<String>,
}

words! {
    /// The order in which agents take turns (SDLC-10).
    #[derive(Default)]
    Priority {
        /// Taken before all others.
        Critical = "critical",
        /// Taken before medium.
        High = "high",
        /// The default.
        #[default]
        Medium = "medium",
        /// Taken last.
        Low = "low",
    }
}

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waypoint {
    /// Unique in the plan.
    pub id: WaypointId,
    /// One line for people.
    pub title: String,
    /// The builder's instructions, Markdown.
    pub goal: String,
    /// Waypoints that must be complete first.
    pub depends_on: Vec<WaypointId>,
    /// Default medium.
    pub priority: Priority,
    /// Free words.
    pub tags: Vec<String>,
    /// Free values.
    pub metadata: BTreeMap<String, serde_json::Value>,
    /// Globs of paths it may touch; empty: everything.
    pub scope: Vec<String>,
    /// Globs of paths where tests may be added besides, also inside files that exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_tests: Vec<String>,
    /// Tests that exist and need not stay green as they are on the base, or may go: globs of files, or `file::name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_tests: Vec<String>,
    /// Globs of paths it never touches, besides the plan's.
    pub protected: Vec<String>,
    /// What must be shown.
    pub criteria: Vec<Criterion>,
    /// The budget of each turn.
    pub budget: TurnBudget,
    /// Its own workflow.
    pub workflow: Option<String>,
    /// Its own bound on reworks and rollbacks; absent: the policy's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_reworks: Option<u32>,
    /// BDD specs (GATE-23). Each that can be asked over HTTP of the plan's service is a criterion as well.
    pub tests: Vec<serde_json::Value>,
    /// A file of BDD specs.
    #[serde(rename = "testsFile")]
    pub tests_file: Option<String>,
}
