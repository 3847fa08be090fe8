//! What a turn may use up, and what counts as spent when it is over (FLY-32). Only in plans with such budgets.
//!
//! The used amounts follow from the state: a turn that was open and is not any more counts by its report, or as all
//! that it was allowed.

use holdpoint_protocol::{
    artifact::Metered,
    budget::{Allowance, Amounts, Limits, OnExceeded, Spent},
    ids::TurnId,
    reason::ReasonCode,
    state::{OpenTurn, Phase, Purpose, WaypointState},
};

use super::{StepContext, transition::Transition};
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

/// What was closed between two states.
#[derive(Default)]
struct Closed {
    /// What these turns count as.
    charges: Amounts,
    /// What they were allowed.
    allowed: Amounts,
    turns: u32,
    unmetered: u32,
    unreported: u32,
}

fn closed(before: &WaypointState, next: &WaypointState, metered: Option<&Metered>) -> Closed {
    let is_open = |turn: &TurnId| next.all_open_turns().any(|open| open.turn == *turn);
    let answered = before.phase.turn().map(|open| &open.turn);
    let mut all = Closed::default();
    for open in before.all_open_turns().filter(|open| !is_open(&open.turn)) {
        let Some(allowance) = &open.allowance else { continue };
        let reported = metered.filter(|_| answered == Some(&open.turn));
        let (used, missing) = budget::counted(allowance, reported);
        all.charges = all.charges.plus(used);
        all.allowed = all.allowed.plus(allowance.limits.amounts());
        all.turns += 1;
        all.unmetered += u32::from(missing);
        all.unreported += u32::from(reported.is_none());
    }
    all
}

/// What was spent after a transition that is complete but for this.
pub(super) fn settle(transition: &mut Transition<'_>) {
    let (cx, before) = (transition.cx, transition.before);
    if !budget::is_limited(&cx.flight.submitted.plan, cx.waypoint) {
        return;
    }
    let closed = closed(before, &transition.next, transition.metered.as_deref());
    let Spent { used, turns, unmetered, unreported, step, .. } = before.spent;
    transition.next.spent = Spent {
        used: used.plus(closed.charges),
        turns: turns.saturating_add(closed.turns),
        unmetered: unmetered.saturating_add(closed.unmetered),
        unreported: unreported.saturating_add(closed.unreported),
        step: step.saturating_add(1),
        raises: cx.flight.budget.raises(),
        degraded: transition.next.spent.degraded,
    };
}

/// What a turn gets that is to open.
pub(super) fn fund(transition: &Transition<'_>, open: &OpenTurn) -> Funded {
    let (cx, before) = (transition.cx, transition.before);
    let plan = &cx.flight.submitted.plan;
    if !budget::is_limited(plan, cx.waypoint) || open.people || !runs_program(open, cx) {
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
            let criteria = super::requests::criteria(purpose, cx);
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
