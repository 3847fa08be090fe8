//! Reading waypoints.

use holdpoint_protocol::{
    budget::{Limits, micro_usd},
    ids::WaypointId,
    plan::{EvidenceLevel, HttpService, Priority, TurnBudget, Waypoint},
};

use super::{
    bdd, criteria,
    limits::{COUNT, ROUNDS},
    over_http,
};
use crate::yaml::{error::Problems, fields::Fields, json::metadata, tree::Node};

/// The scope of work that may change anything.
const ANY: &str = "any";
/// The keys of a waypoint.
pub(super) const WAYPOINT_KEYS: &[&str] = &[
    "id",
    "title",
    "goal",
    "depends_on",
    "priority",
    "tags",
    "metadata",
    "scope",
    "new_tests",
    "changed_tests",
    "protected",
    "criteria",
    "budget",
    "workflow",
    "max_reworks",
    "tests",
    "testsFile",
];

/// Reads one waypoint, whose checks have the plan's `evidence` unless they say otherwise, and whose tests ask the plan's
/// `service`. `None` when it has no usable id; then a problem was added.
pub(super) fn read(
    node: &Node,
    evidence: EvidenceLevel,
    service: Option<&HttpService>,
    problems: &mut Problems,
) -> Option<Waypoint> {
    let fields = Fields::open(node, "a waypoint", WAYPOINT_KEYS, problems)?;
    fields.demand("id", "give it a short name, such as `id: retry-backoff`", problems);
    let id = fields.id("id", WaypointId::try_new, problems);
    let title = fields.text("title", problems);
    let goal = fields.text("goal", problems);
    let depends_on = fields.ids("depends_on", WaypointId::try_new, problems);
    let priority = priority(&fields, problems);
    let tags = fields.texts("tags", problems);
    let metadata = metadata(&fields, problems);
    let scope = scope(&fields, problems);
    let new_tests = fields.texts("new_tests", problems);
    let changed_tests = fields.texts("changed_tests", problems);
    let protected = fields.texts("protected", problems);
    let mut criteria = criteria::criteria(&fields, evidence, problems);
    let budget = turn_budget(&fields, problems);
    let workflow = fields.text("workflow", problems);
    let max_reworks = fields.number("max_reworks", &ROUNDS, problems);
    let tests = bdd::tests(&fields, problems);
    criteria.extend(over_http::criteria_over_http(service, &tests, 1));
    let tests_file = fields.text("testsFile", problems);
    // Only now: all problems of a waypoint are found, also of one without a name.
    let id = id?;
    Some(Waypoint {
        title: title.unwrap_or_else(|| id.to_string()),
        id,
        // Missing is as bad as empty, and for the rules to say.
        goal: goal.unwrap_or_default(),
        depends_on,
        priority,
        tags,
        metadata,
        scope,
        new_tests,
        changed_tests,
        protected,
        criteria,
        budget,
        workflow,
        max_reworks,
        tests,
        tests_file,
    })
}

/// The globs of `scope`; none for `any`.
pub(crate) fn scope(fields: &Fields<'_>, problems: &mut Problems) -> Vec<String> {
    if fields.is_word("scope", ANY) { Vec::new() } else { fields.texts("scope", problems) }
}

pub(crate) fn priority(fields: &Fields<'_>, problems: &mut Problems) -> Priority {
    let choices = Priority::ALL.map(|priority| (priority.as_str(), priority));
    fields.choice("priority", "a priority", &choices, problems).unwrap_or_default()
}

fn turn_budget(fields: &Fields<'_>, problems: &mut Problems) -> TurnBudget {
    let keys = &["wall", "tokens", "cost_usd", "tool_calls", "output", "total"];
    let Some(node) = fields.get("budget", problems) else { return TurnBudget::default() };
    let Some(budget) = Fields::open(node, "a waypoint's `budget`", keys, problems) else {
        return TurnBudget::default();
    };
    TurnBudget {
        wall: budget.duration("wall", problems),
        tokens: budget.number("tokens", &COUNT, problems),
        cost_usd: budget.money("cost_usd", problems),
        tool_calls: budget.number("tool_calls", &COUNT, problems),
        output: budget.size("output", problems),
        total: total(&budget, problems),
    }
}

/// What all turns of the waypoint together may use up.
fn total(fields: &Fields<'_>, problems: &mut Problems) -> Limits {
    let keys = &["wall", "tokens", "cost_usd", "tool_calls", "output"];
    let Some(node) = fields.get("total", problems) else { return Limits::default() };
    let Some(total) = Fields::open(node, "`total` of a waypoint's `budget`", keys, problems) else {
        return Limits::default();
    };
    Limits {
        tokens: total.number("tokens", &COUNT, problems),
        cost_micro_usd: total.money("cost_usd", problems).map(micro_usd),
        tool_calls: total.number("tool_calls", &COUNT, problems),
        output_bytes: total.size("output", problems),
        wall_ms: total.duration("wall", problems).map(|wall| wall.0),
    }
}
