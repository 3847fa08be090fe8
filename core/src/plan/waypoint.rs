//! Waypoints, their criteria and checks.

use std::collections::{BTreeMap, HashSet};

use holdpoint_protocol::{
    ids::{CriterionId, InvalidId, WaypointId},
    plan::{CHECK_TIMEOUT_DEFAULT, Check, Criterion, Priority, TurnBudget, Waypoint},
};
use serde_json::Value as Json;

use super::{
    KnownWorkflow,
    error::Problems,
    fields::{self, Fields, shown},
    tree::{Node, Position, Value},
    whole,
};

/// The keys of a check, beside those of what it belongs to.
pub(super) const CHECK_KEYS: &[&str] = &["check", "expect", "red_first", "timeout", "network", "writes_tree"];

const WAYPOINT_KEYS: &[&str] = &[
    "id",
    "title",
    "goal",
    "depends_on",
    "priority",
    "tags",
    "metadata",
    "scope",
    "protected",
    "criteria",
    "budget",
    "workflow",
    "tests",
    "testsFile",
];

/// A waypoint and the places of what it depends on, in the order of its `depends_on`.
pub(super) struct Located {
    pub(super) waypoint: Waypoint,
    pub(super) depends_on: Vec<Position>,
}

/// Reads waypoints one after another.
pub(super) struct Reader<'a> {
    pub(super) workflows: &'a [KnownWorkflow<'a>],
    /// Workflow names, and whether each has a verifier.
    pub(super) known: BTreeMap<&'a str, bool>,
    /// Whether the plan's own workflow has a verifier.
    pub(super) default_judges: bool,
    /// The ids so far.
    pub(super) seen: HashSet<WaypointId>,
    pub(super) problems: &'a mut Problems,
}

impl Reader<'_> {
    /// Reads one waypoint. `None` when it has no usable id; then a problem was added.
    pub(super) fn read(&mut self, node: &Node) -> Option<Located> {
        let problems = &mut *self.problems;
        let mut fields = Fields::open(node, "a waypoint", WAYPOINT_KEYS, problems)?;
        fields.demand("id", "give it a short name, such as `id: retry-backoff`", problems);
        let id = unique_id(&fields, &mut self.seen, "waypoints", WaypointId::try_new, problems);
        if let Some(id) = &id {
            fields.call(format!("waypoint `{id}`"));
        }
        fields.demand("goal", "say what the builder is to do: `goal: …`", problems);
        let workflow = whole::workflow(&fields, self.workflows, problems);
        let judges = workflow.and_then(|name| self.known.get(name).copied()).unwrap_or(self.default_judges);
        let criteria = criteria(&fields, judges, problems);
        let (depends_on, places) = depends_on(&fields, problems);
        let title = fields.text("title", problems);
        let goal = fields.text("goal", problems);
        let priority = |text: &str| Priority::ALL.into_iter().find(|priority| priority.as_str() == text);
        let allowed = ("a priority", "write `critical`, `high`, `medium` or `low`");
        let rest = Rest {
            priority: fields.parsed("priority", priority, allowed, problems).unwrap_or_default(),
            tags: fields.words("tags", problems).into_iter().map(|word| word.text.to_owned()).collect(),
            metadata: metadata(&fields, problems),
            scope: fields.globs("scope", problems),
            protected: fields.globs("protected", problems),
            budget: turn_budget(&fields, problems),
            tests: fields.list("tests", problems).iter().map(json).collect(),
            tests_file: fields.path("testsFile", problems),
        };
        let id = id?;
        let waypoint = Waypoint {
            title: title.unwrap_or_else(|| id.to_string()),
            // A missing goal is reported; the waypoint is kept, so that what depends on it can be looked at.
            goal: goal.unwrap_or_default(),
            id,
            depends_on,
            criteria,
            workflow: workflow.map(str::to_owned),
            priority: rest.priority,
            tags: rest.tags,
            metadata: rest.metadata,
            scope: rest.scope,
            protected: rest.protected,
            budget: rest.budget,
            tests: rest.tests,
            tests_file: rest.tests_file,
        };
        Some(Located { waypoint, depends_on: places })
    }
}

/// What a waypoint has beside its id, texts, dependencies and criteria. Read before the id is known to be good, so
/// that all problems are found.
struct Rest {
    priority: Priority,
    tags: Vec<String>,
    metadata: BTreeMap<String, Json>,
    scope: Vec<String>,
    protected: Vec<String>,
    budget: TurnBudget,
    tests: Vec<Json>,
    tests_file: Option<String>,
}

/// Reads `id` and reports one that was given before.
pub(super) fn unique_id<T: Clone + Eq + std::hash::Hash + std::fmt::Display>(
    fields: &Fields<'_>,
    seen: &mut HashSet<T>,
    plural: &str,
    read: impl FnOnce(String) -> Result<T, InvalidId>,
    problems: &mut Problems,
) -> Option<T> {
    let word = fields.word("id", problems)?;
    let id = fields::id(word, read, problems)?;
    if !seen.insert(id.clone()) {
        problems.add(word.at, format!("there are two {plural} with the id `{id}`"), "give each its own id");
    }
    Some(id)
}

fn depends_on(fields: &Fields<'_>, problems: &mut Problems) -> (Vec<WaypointId>, Vec<Position>) {
    let mut seen = HashSet::new();
    let mut both = (Vec::new(), Vec::new());
    for word in fields.words("depends_on", problems) {
        let Some(id) = fields::id(word, WaypointId::try_new, problems) else { continue };
        if !seen.insert(id.clone()) {
            problems.add(word.at, format!("`{id}` is listed twice in `depends_on`"), "keep one of the two");
            continue;
        }
        both.0.push(id);
        both.1.push(word.at);
    }
    both
}

fn criteria(fields: &Fields<'_>, judges: bool, problems: &mut Problems) -> Vec<Criterion> {
    let keys: Vec<&str> = ["id", "statement"].into_iter().chain(CHECK_KEYS.iter().copied()).collect();
    let nodes = fields.list("criteria", problems);
    let listed = fields.get("criteria", &mut Problems::default());
    if judges
        && (!fields.has("criteria")
            || listed.is_some_and(|node| matches!(&node.value, Value::List(items) if items.is_empty())))
    {
        let at = listed.map_or(fields.at, |node| node.at);
        let hint = "add at least one criterion with `id`, `statement` and, if a command can show it, `check`";
        problems.add(at, format!("{} has no criteria", fields.what()), hint);
    }
    let mut seen = HashSet::new();
    let mut criteria = Vec::new();
    for node in nodes {
        let Some(criterion) = Fields::open(node, "a criterion", &keys, problems) else { continue };
        criterion.demand("id", "give it a short name, such as `id: unit`", problems);
        let id = unique_id(&criterion, &mut seen, "criteria", CriterionId::try_new, problems);
        let check = check(&criterion, problems);
        let statement = criterion.text("statement", problems);
        if !criterion.has("statement") && !criterion.has("check") {
            let hint = "say what must be true in `statement`, and how a command shows it in `check`";
            problems.add(criterion.at, "the criterion has neither `statement` nor `check`", hint);
        }
        if !criterion.has("check") {
            refuse_lone_check_keys(&criterion, problems);
        }
        // A criterion of a command alone says just that: the command succeeds.
        let statement = statement.or_else(|| check.as_ref().map(|check| format!("`{}` succeeds", check.command)));
        if let (Some(id), Some(statement)) = (id, statement) {
            criteria.push(Criterion { id, statement, check });
        }
    }
    criteria
}

fn refuse_lone_check_keys(criterion: &Fields<'_>, problems: &mut Problems) {
    for key in CHECK_KEYS.iter().filter(|key| criterion.has(key)) {
        let hint = format!("add `check: COMMAND`, or remove `{key}`");
        problems.add(criterion.at, format!("`{key}` is given without a `check`"), hint);
    }
}

/// Reads the check of a criterion or guard, if it has one.
pub(super) fn check(fields: &Fields<'_>, problems: &mut Problems) -> Option<Check> {
    let command = fields.command("check", problems);
    let expect = fields.regex("expect", problems);
    let red_first = fields.flag("red_first", problems).unwrap_or(false);
    let timeout = fields.duration("timeout", problems).unwrap_or(CHECK_TIMEOUT_DEFAULT);
    let network = fields.flag("network", problems).unwrap_or(false);
    let writes_tree = fields.flag("writes_tree", problems).unwrap_or(false);
    Some(Check { command: command?, expect, red_first, timeout, network, writes_tree })
}

fn turn_budget(fields: &Fields<'_>, problems: &mut Problems) -> TurnBudget {
    let keys = &["wall", "tokens", "cost_usd", "tool_calls", "output"];
    let Some(node) = fields.get("budget", problems) else { return TurnBudget::default() };
    let Some(budget) = Fields::open(node, "a waypoint's `budget`", keys, problems) else {
        return TurnBudget::default();
    };
    TurnBudget {
        wall: budget.duration("wall", problems),
        tokens: budget.number("tokens", 1..=u64::MAX, problems),
        cost_usd: budget.money("cost_usd", problems),
        tool_calls: budget.number("tool_calls", 1..=u64::MAX, problems),
        output: budget.size("output", problems),
    }
}

fn metadata(fields: &Fields<'_>, problems: &mut Problems) -> BTreeMap<String, Json> {
    let Some(node) = fields.get("metadata", problems) else { return BTreeMap::new() };
    match &node.value {
        Value::Map(entries) => entries.iter().map(|(key, node)| (key.name.clone(), json(node))).collect(),
        Value::Refused => BTreeMap::new(),
        other => {
            let message = format!("`metadata` is a mapping, not {}", shown(other.kind()));
            problems.add(node.at, message, "write `metadata: {risk: 2}`");
            BTreeMap::new()
        }
    }
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
