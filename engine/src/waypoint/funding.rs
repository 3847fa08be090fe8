//! What a turn that opens may use up, and what is decided where nothing is left (FLY-32). Only in plans with such budgets.

use holdpoint_protocol::{
    budget::{Allowance, Limits, OnExceeded},
    reason::ReasonCode,
    state::{OpenTurn, Phase, Purpose},
};

use super::{StepContext, spent::closed, terms, transition::Transition};
use crate::{
    budget::{self, Need},
    policy::{Ruling, escalate, exhausted},
};

/// One advisor's turn gets at most this part of a limit.
const ADVISORS_PART: u64 = 4;

/// What a turn that is to open gets.
pub(super) enum Funded {
    /// This, or nothing where nothing is limited.
    With(Option<Allowance>),
    /// It needs a part of the flight's budget first.
    Reserve(Need),
    /// Nothing is left.
    UsedUp(Ruling),
}

/// What a turn gets that is to open.
pub(super) fn fund(transition: &Transition<'_>, open: &OpenTurn) -> Funded {
    let (cx, before) = (transition.cx, transition.before);
    let plan = &cx.flight.submitted.plan;
    if !budget::is_limited(plan, cx.waypoint) || open.is_peoples() || !runs_program(open, cx) {
        return Funded::With(None);
    }
    let mut tried = transition.clone();
    tried.go_to(Phase::InTurn(open.clone()));
    let closed = closed(before, &tried.next, transition.metered.as_deref());
    let raised = cx.flight.budget.raised(Some(&cx.waypoint.id));
    // The turn that is to open has no allowance yet.
    let others = budget::open(&tried.next);
    let spent = before.spent.used.plus(closed.charges);
    let left = cx.waypoint.budget.total.plus(raised).minus(spent.plus(others));
    if left.is_used_up() {
        let what = format!("the waypoint's budget ({}) is used up", used_of(left));
        return Funded::UsedUp(used_up(&what, true, cx));
    }
    let mut cap = budget::of_turn(&cx.waypoint.budget).plus(raised).min(left);
    if open.purpose == Purpose::Advise {
        let total = cx.waypoint.budget.total.plus(raised);
        cap = cap.min(part(total)).min(part(cx.flight.budget.limits(&plan.budget)));
    }
    let with = |limits, reservation| {
        let (unmetered, degraded) = (plan.budget.unmetered, transition.next.spent.degraded);
        Funded::With(Some(Allowance { limits, unmetered, degraded, reservation }))
    };
    if budget::of_flight(&plan.budget).is_none() {
        return with(cap, None);
    }
    let need = Need { step: before.spent.step, cap, charges: closed.charges, closing: closed.allowed };
    match cx.flight.budget.usable(&cx.waypoint.id, &need) {
        None => Funded::Reserve(need),
        Some(reserved) if reserved.allowance.is_used_up() => {
            let what = format!(
                "nothing is left of the flight's budget ({}), which is used up or held by open turns",
                used_of(reserved.allowance)
            );
            Funded::UsedUp(used_up(&what, false, cx))
        }
        Some(reserved) => with(cap.min(reserved.allowance), Some(reserved.number)),
    }
}

/// The most of a limit that one advisor's turn may use up: the caller for help has to go on with the rest, also where
/// no report says how much of it the advisor used.
fn part(limits: Limits) -> Limits {
    Limits::from_list(limits.to_list().map(|limit| limit.map(|limit| (limit / ADVISORS_PART).max(1))))
}

/// Whether a program takes this turn that can use something up: a verification without a judge runs checks only.
fn runs_program(open: &OpenTurn, cx: &StepContext<'_>) -> bool {
    match open.purpose {
        Purpose::Build | Purpose::Complete | Purpose::Advise => true,
        Purpose::Verify(purpose) => {
            let criteria = terms::criteria(purpose, cx);
            cx.flight.submitted.fleet.judge && criteria.iter().any(|criterion| criterion.check.is_none())
        }
    }
}

/// What is used up, in words.
fn used_of(left: Limits) -> &'static str {
    let names = ["tokens", "cost", "tool calls", "output", "wall time"];
    let used = left.to_list().into_iter().zip(names).find(|(left, _)| *left == Some(0));
    used.map_or("a limit", |(_, name)| name)
}

fn used_up(what: &str, of_waypoint: bool, cx: &StepContext<'_>) -> Ruling {
    let (flight, waypoint) = (&cx.flight.submitted.flight, &cx.waypoint.id);
    let named = if of_waypoint { format!("{waypoint} --flight {flight}") } else { flight.to_string() };
    rule(what, &named, cx)
}

/// What becomes of work whose turn reached a limit, or that has nothing left: a person decides, by the plan's policy.
pub(super) fn crossed(detail: &str, cx: &StepContext<'_>) -> Ruling {
    let named = format!("{} --flight {}", cx.waypoint.id, cx.flight.submitted.flight);
    rule(detail, &named, cx)
}

fn rule(what: &str, named: &str, cx: &StepContext<'_>) -> Ruling {
    let text = format!(
        "{what}: raise it with `holdpoint budget {named}` and by how much, such as `--cost-usd +5`, `--tokens +100000` or \
         `--wall +600`; the work goes on then"
    );
    match cx.flight.submitted.plan.budget.on_exceeded {
        OnExceeded::Stop => exhausted(ReasonCode::BudgetExhausted, &text),
        OnExceeded::Ask | OnExceeded::Degrade => escalate(ReasonCode::BudgetExhausted, &text),
    }
}

/// Whether the next turn is to be done by the cheaper command instead of asking a person.
pub(super) fn degrades(transition: &Transition<'_>) -> bool {
    let budget = &transition.cx.flight.submitted.plan.budget;
    budget.on_exceeded == OnExceeded::Degrade && !transition.next.spent.degraded
}
