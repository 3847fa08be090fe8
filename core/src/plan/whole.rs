//! The plan's own keys; its waypoints are read by [`super::waypoint`].

use std::collections::{BTreeMap, HashSet};

use holdpoint_protocol::{
    artifact::Confidence,
    ids::{CriterionId, WaypointId},
    plan::{Answer, FlightBudget, Guard, Mode, Plan, Policy},
};

use super::{
    KnownWorkflow, WAYPOINTS_MAX,
    error::Problems,
    fields::{Fields, Word, shown},
    graph,
    likeness::closest,
    tree::Node,
    waypoint::{self, CHECK_KEYS},
};

const PLAN_KEYS: &[&str] = &[
    "plan",
    "base",
    "covenant",
    "workflow",
    "policy",
    "budget",
    "sources",
    "prepare",
    "protected",
    "guards",
    "answers",
    "answer_within",
    "ask_below",
    "waypoints",
];
/// More rounds of the same work help nobody; a plan that needs them is stuck.
const ROUNDS_MAX: u64 = 1_000;

/// Reads the whole plan. `None` when something that has no default is missing; then a problem was added.
pub(super) fn read(root: &Node, workflows: &[KnownWorkflow<'_>], problems: &mut Problems) -> Option<Plan> {
    let fields = Fields::open(root, "the plan", PLAN_KEYS, problems)?;
    fields.demand("plan", "name the plan, such as `plan: harden-client`", problems);
    fields.demand("waypoints", "add `waypoints:` with one item for each unit of work", problems);
    let name = fields.id("plan", WaypointId::try_new, problems);
    let workflow = workflow(&fields, workflows, problems);
    let waypoints = waypoints(&fields, &workflow, workflows, problems);
    Some(Plan {
        base: base(&fields, problems).unwrap_or_else(|| "HEAD".to_owned()),
        covenant: fields.path("covenant", problems),
        policy: policy(&fields, problems),
        budget: budget(&fields, problems),
        sources: fields.paths("sources", problems),
        prepare: fields.command("prepare", problems),
        protected: fields.globs("protected", problems),
        guards: guards(&fields, problems),
        answers: answers(&fields, problems),
        answer_within: fields.duration("answer_within", problems),
        ask_below: ask_below(&fields, problems),
        workflow: workflow.map_or_else(|| "fly".to_owned(), str::to_owned),
        plan: name?.to_string(),
        waypoints: waypoints?,
    })
}

/// The name in `workflow`, if it is there and known.
pub(super) fn workflow<'t>(
    fields: &Fields<'t>,
    workflows: &[KnownWorkflow<'_>],
    problems: &mut Problems,
) -> Option<&'t str> {
    let Word { at, text } = fields.word("workflow", problems)?;
    if workflows.iter().any(|known| known.name == text) {
        return Some(text);
    }
    let names: Vec<&str> = workflows.iter().map(|known| known.name).collect();
    let hint = match closest(text, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known workflows: {}", names.join(", ")),
    };
    problems.add(at, format!("unknown workflow `{}`", shown(text)), hint);
    None
}

fn base(fields: &Fields<'_>, problems: &mut Problems) -> Option<String> {
    let read = |text: &str| {
        let odd = |c: char| c.is_whitespace() || c.is_control();
        (!text.starts_with('-') && !text.contains(odd)).then(|| text.to_owned())
    };
    fields.parsed("base", read, ("a git ref", "name a branch, a tag or a commit, such as `HEAD` or `main`"), problems)
}

fn policy(fields: &Fields<'_>, problems: &mut Problems) -> Policy {
    let keys = &["max_reworks", "max_clarifications", "mode"];
    let defaults = Policy::default();
    let Some(node) = fields.get("policy", problems) else { return defaults };
    let Some(policy) = Fields::open(node, "`policy`", keys, problems) else { return defaults };
    let rounds = |number: Option<u64>, default| number.and_then(|n| u32::try_from(n).ok()).unwrap_or(default);
    let mode = |text: &str| match text {
        "team" => Some(Mode::Team),
        "single" => Some(Mode::Single),
        _ => None,
    };
    Policy {
        max_reworks: rounds(policy.number("max_reworks", 0..=ROUNDS_MAX, problems), defaults.max_reworks),
        max_clarifications: rounds(
            policy.number("max_clarifications", 0..=ROUNDS_MAX, problems),
            defaults.max_clarifications,
        ),
        mode: policy.parsed("mode", mode, ("a mode", "write `team` or `single`"), problems).unwrap_or(defaults.mode),
    }
}

fn budget(fields: &Fields<'_>, problems: &mut Problems) -> FlightBudget {
    let keys = &["wall", "tokens", "cost_usd"];
    let Some(node) = fields.get("budget", problems) else { return FlightBudget::default() };
    let Some(budget) = Fields::open(node, "the plan's `budget`", keys, problems) else {
        return FlightBudget::default();
    };
    FlightBudget {
        wall: budget.duration("wall", problems),
        tokens: budget.number("tokens", 1..=u64::MAX, problems),
        cost_usd: budget.money("cost_usd", problems),
    }
}

fn guards(fields: &Fields<'_>, problems: &mut Problems) -> Vec<Guard> {
    let keys: Vec<&str> = ["id"].into_iter().chain(CHECK_KEYS.iter().copied()).collect();
    let mut seen = HashSet::new();
    let mut guards = Vec::new();
    for node in fields.list("guards", problems) {
        let Some(guard) = Fields::open(node, "a guard", &keys, problems) else { continue };
        guard.demand("id", "give it a short name, such as `id: suite`", problems);
        guard.demand("check", "a guard is a command: add `check:`", problems);
        if guard.has("red_first") {
            let hint = "a guard must be green on the base: remove `red_first`, or make it a criterion";
            problems.add(guard.at, "a guard cannot be `red_first`", hint);
        }
        let id = waypoint::unique_id(&guard, &mut seen, "guards", CriterionId::try_new, problems);
        let check = waypoint::check(&guard, problems);
        if let (Some(id), Some(check)) = (id, check) {
            guards.push(Guard { id, check });
        }
    }
    guards
}

fn answers(fields: &Fields<'_>, problems: &mut Problems) -> Vec<Answer> {
    let mut answers = Vec::new();
    for node in fields.list("answers", problems) {
        let Some(answer) = Fields::open(node, "an answer", &["match", "option", "rationale"], problems) else {
            continue;
        };
        answer.demand("match", "add a regular expression over the question", problems);
        answer.demand("option", "add the option to choose", problems);
        let matches = answer.regex("match", problems);
        let option = answer.text("option", problems);
        let rationale = answer.text("rationale", problems);
        if let (Some(matches), Some(option)) = (matches, option) {
            answers.push(Answer { matches, option, rationale });
        }
    }
    answers
}

fn ask_below(fields: &Fields<'_>, problems: &mut Problems) -> Option<Confidence> {
    let read = |text: &str| match text {
        "low" => Some(Confidence::Low),
        "medium" => Some(Confidence::Medium),
        "high" => Some(Confidence::High),
        _ => None,
    };
    fields.parsed("ask_below", read, ("a confidence", "write `low`, `medium` or `high`"), problems)
}

fn waypoints(
    fields: &Fields<'_>,
    workflow: &Option<&str>,
    workflows: &[KnownWorkflow<'_>],
    problems: &mut Problems,
) -> Option<Vec<holdpoint_protocol::plan::Waypoint>> {
    let node = fields.get("waypoints", problems)?;
    let nodes = fields.list("waypoints", problems);
    if nodes.is_empty() && matches!(node.value, super::tree::Value::List(_)) {
        problems.add(node.at, "the plan has no waypoints", "add at least one, with `id`, `goal` and `criteria`");
        return None;
    }
    if let Some(first_too_many) = nodes.get(WAYPOINTS_MAX) {
        let message = format!("the plan has {} waypoints, more than {WAYPOINTS_MAX}", nodes.len());
        problems.add(first_too_many.at, message, "split it into several plans");
        return None;
    }
    let known: BTreeMap<&str, bool> = workflows.iter().map(|known| (known.name, known.has_verifier)).collect();
    let default_judges = workflow.and_then(|name| known.get(name).copied()).unwrap_or(true);
    let mut reader = waypoint::Reader { workflows, known, default_judges, seen: HashSet::new(), problems };
    let read: Vec<waypoint::Located> = nodes.iter().filter_map(|node| reader.read(node)).collect();
    graph::check(&read, nodes, problems);
    Some(read.into_iter().map(|located| located.waypoint).collect())
}
