//! Reading the plan's own keys; its waypoints are read by [`super::waypoint`].

use holdpoint_protocol::{
    artifact::Confidence,
    budget::{OnExceeded, Unmetered},
    ids::CriterionId,
    plan::{Answer, Attention, EvidenceLevel, FlightBudget, Guard, Mode, Plan, Policy},
};

use super::{
    criteria::{self, CHECK_KEYS},
    environment,
    limits::{COUNT, FILES, ROUNDS},
    over_http, waypoint,
};
use crate::{
    declared::checks::{self, Checks},
    yaml::{error::Problems, fields::Fields, tree::Node},
};

/// The keys of a plan.
pub(super) const PLAN_KEYS: &[&str] = &[
    "plan",
    "base",
    "covenant",
    "workflow",
    "policy",
    "budget",
    "sources",
    "environment",
    "protected",
    "guards",
    "checks",
    "answers",
    "answer_within",
    "ask_below",
    "evidence",
    "ignore",
    "service",
    "waypoints",
];

const ON_EXCEEDED: [(&str, OnExceeded); 3] =
    [("ask", OnExceeded::Ask), ("stop", OnExceeded::Stop), ("degrade", OnExceeded::Degrade)];
const UNMETERED: [(&str, Unmetered); 2] = [("allow", Unmetered::Allow), ("refuse", Unmetered::Refuse)];

/// Reads the whole plan. A part that it does not have is empty in the result, for the rules to judge.
pub(super) fn read(root: &Node, problems: &mut Problems) -> Option<Plan> {
    let fields = Fields::open(root, "the plan", PLAN_KEYS, problems)?;
    let evidence = criteria::evidence(&fields, problems).unwrap_or_default();
    let service = over_http::service(&fields, evidence, problems);
    let waypoints =
        fields.list("waypoints", problems, |node, problems| waypoint::read(node, evidence, service.as_ref(), problems));
    Some(Plan {
        plan: fields.text("plan", problems).unwrap_or_default(),
        base: fields.text("base", problems).unwrap_or_else(|| "HEAD".to_owned()),
        covenant: fields.text("covenant", problems),
        workflow: fields.text("workflow", problems).unwrap_or_else(|| "fly".to_owned()),
        policy: policy(&fields, problems),
        budget: budget(&fields, problems),
        sources: fields.texts("sources", problems),
        environment: environment::environment(&fields, problems),
        protected: fields.texts("protected", problems),
        guards: guards(&fields, evidence, problems),
        checks: match checks::checks(&fields, problems) {
            Some(Checks::These(checks)) => checks,
            // Nothing else is found where nothing is said.
            Some(Checks::OfPlan) | None => Vec::new(),
        },
        answers: answers(&fields, problems),
        answer_within: fields.duration("answer_within", problems),
        ask_below: ask_below(&fields, problems),
        ignore: fields.texts("ignore", problems),
        service,
        waypoints,
    })
}

fn policy(fields: &Fields<'_>, problems: &mut Problems) -> Policy {
    let keys = &[
        "max_reworks",
        "max_clarifications",
        "advise_questions",
        "ask_before_removing",
        "suspicious",
        "open_scope",
        "mode",
    ];
    let defaults = Policy::default();
    let Some(node) = fields.get("policy", problems) else { return defaults };
    let Some(policy) = Fields::open(node, "`policy`", keys, problems) else { return defaults };
    let mut rounds = |key, default| policy.number(key, &ROUNDS, problems).unwrap_or(default);
    let (max_reworks, max_clarifications) =
        (rounds("max_reworks", defaults.max_reworks), rounds("max_clarifications", defaults.max_clarifications));
    let known = Attention::ALL.map(|attention| (attention.as_str(), attention));
    let mut attention = |key, known: &[_]| policy.choice(key, "a policy", known, problems);
    let suspicious = attention("suspicious", &known).unwrap_or(defaults.suspicious);
    let said: Vec<_> = known.into_iter().filter(|(_, attention)| *attention != Attention::Off).collect();
    let open_scope = attention("open_scope", &said).unwrap_or(defaults.open_scope);
    Policy {
        max_reworks,
        max_clarifications,
        ask_before_removing: policy.number("ask_before_removing", &FILES, problems),
        advise_questions: policy.flag("advise_questions", problems).unwrap_or(defaults.advise_questions),
        suspicious,
        open_scope,
        mode: policy
            .choice("mode", "a mode", &[("team", Mode::Team), ("single", Mode::Single)], problems)
            .unwrap_or(defaults.mode),
    }
}

fn budget(fields: &Fields<'_>, problems: &mut Problems) -> FlightBudget {
    let keys = &["wall", "tokens", "cost_usd", "tool_calls", "output", "on_exceeded", "unmetered"];
    let Some(node) = fields.get("budget", problems) else { return FlightBudget::default() };
    let Some(budget) = Fields::open(node, "the plan's `budget`", keys, problems) else {
        return FlightBudget::default();
    };
    FlightBudget {
        wall: budget.duration("wall", problems),
        tokens: budget.number("tokens", &COUNT, problems),
        cost_usd: budget.money("cost_usd", problems),
        tool_calls: budget.number("tool_calls", &COUNT, problems),
        output: budget.size("output", problems),
        on_exceeded: budget.choice("on_exceeded", "a policy", &ON_EXCEEDED, problems).unwrap_or_default(),
        unmetered: budget.choice("unmetered", "a policy", &UNMETERED, problems).unwrap_or_default(),
    }
}

fn guards(fields: &Fields<'_>, evidence: EvidenceLevel, problems: &mut Problems) -> Vec<Guard> {
    let keys: Vec<&str> = ["id"].into_iter().chain(CHECK_KEYS.iter().copied()).collect();
    fields.list("guards", problems, |node, problems| {
        let guard = Fields::open(node, "a guard", &keys, problems)?;
        guard.demand("id", "give it a short name, such as `id: suite`", problems);
        let id = guard.id("id", CriterionId::try_new, problems);
        let check = criteria::check(&guard, evidence, problems);
        Some(Guard { id: id?, check })
    })
}

fn answers(fields: &Fields<'_>, problems: &mut Problems) -> Vec<Answer> {
    fields.list("answers", problems, |node, problems| {
        let answer = Fields::open(node, "an answer", &["match", "option", "rationale"], problems)?;
        Some(Answer {
            matches: answer.text("match", problems).unwrap_or_default(),
            option: answer.text("option", problems).unwrap_or_default(),
            rationale: answer.text("rationale", problems),
        })
    })
}

fn ask_below(fields: &Fields<'_>, problems: &mut Problems) -> Option<Confidence> {
    let choices = [("low", Confidence::Low), ("medium", Confidence::Medium), ("high", Confidence::High)];
    fields.choice("ask_below", "a confidence", &choices, problems)
}
