//! Plans that agents propose: how one is written, whether it is sound, and the waypoints that it becomes (SDLC-2).
//!
//! Harnesses and orchestrators compute the same from the same bytes. Proposed waypoints keep the rules of plans, and ask for
//! nothing that the waypoint which is planned may not do.

mod children;
mod written;

use holdpoint_protocol::{
    checkpoint::ProposalRule,
    plan::Waypoint,
    proposal::{PROPOSED_CRITERIA_MAX, PlanProposal, ProposalBounds, ProposedWaypoint},
};

pub use crate::declared::checkpoint::PROPOSAL;
pub use children::children;
pub use written::of_json;
pub(crate) use written::read;

use holdpoint_evidence::paths::Glob;

use holdpoint_text::units;

use crate::rules;

/// The longest estimate of a waypoint that is atomic, in milliseconds; it has to be below (SDLC-1, gate 3).
const ATOMIC_MS: u64 = 3_600_000;
/// Problems that are named at once.
const TOLD_MAX: usize = 5;

/// Why a proposal cannot be added to a flight with these bounds; `None`: it can.
#[must_use]
pub fn unsound(proposal: Option<&PlanProposal>, bounds: &ProposalBounds) -> Option<String> {
    let Some(proposal) = proposal else {
        return Some("there is no proposal: write `proposal:` into the document's front matter".to_owned());
    };
    let count = proposal.waypoints.len();
    if count > bounds.waypoints as usize {
        return Some(format!("it has {count} waypoints, and the flight takes {} more at most", bounds.waypoints));
    }
    let criteria: usize = proposal.waypoints.iter().map(|one| one.criteria.len()).sum();
    if criteria > PROPOSED_CRITERIA_MAX {
        return Some(format!("its waypoints have {criteria} criteria together, more than {PROPOSED_CRITERIA_MAX}"));
    }
    let found = rules::plan::validate_waypoints(&planned(proposal));
    if !found.is_empty() {
        return Some(found.in_a_line(TOLD_MAX));
    }
    proposal.waypoints.iter().find_map(|one| beyond(one, bounds))
}

/// What a proposed waypoint asks for that is not its planner's to give.
fn beyond(one: &ProposedWaypoint, bounds: &ProposalBounds) -> Option<String> {
    let key = &one.key;
    let globs = |texts: &[String]| texts.iter().filter_map(|text| Glob::new(text).ok()).collect::<Vec<_>>();
    let allowed = globs(&bounds.scope);
    let outside = globs(&one.scope).iter().zip(&one.scope).find_map(|(glob, text)| {
        let covered = allowed.is_empty() || allowed.iter().any(|own| own.covers(glob));
        (!covered).then(|| text.clone())
    });
    if let Some(outside) = outside {
        let scope = bounds.scope.join(", ");
        return Some(format!("`{outside}` in the scope of `{key}` is outside of what may be touched: {scope}"));
    }
    let networked = one.criteria.iter().find(|criterion| criterion.check.as_ref().is_some_and(|check| check.network));
    if let Some(criterion) = networked {
        return Some(format!("criterion `{}` of `{key}` wants a network, and no proposal can give one", criterion.id));
    }
    let unchecked = one.criteria.iter().find(|criterion| bounds.checked && criterion.check.is_none());
    unchecked.map(|criterion| {
        format!("criterion `{}` of `{key}` has no `check`, and nobody here judges by reading", criterion.id)
    })
}

/// Why a proposal does not keep a rule of a checkpoint; `None`: it does.
#[must_use]
pub fn broken(rule: ProposalRule, proposal: Option<&PlanProposal>) -> Option<String> {
    let Some(proposal) = proposal.filter(|proposal| !proposal.waypoints.is_empty()) else {
        return Some("there is no proposal".to_owned());
    };
    match rule {
        ProposalRule::Atomic => wrong(proposal, |one| match one.estimate {
            None => Some("has no `estimate`".to_owned()),
            Some(estimate) if estimate.0 == 0 || estimate.0 >= ATOMIC_MS => {
                Some(format!("is estimated at {}, and has to take less than 1h", units::written(estimate)))
            }
            Some(_) => None,
        }),
        ProposalRule::Acyclic => {
            let found = rules::plan::validate_order(&planned(proposal));
            (!found.is_empty()).then(|| found.in_a_line(TOLD_MAX))
        }
        ProposalRule::Retries => {
            wrong(proposal, |one| (one.max_reworks == 0).then(|| "may never be sent back: `max_reworks: 3`".to_owned()))
        }
    }
}

/// What is wrong with its waypoints, one by one.
fn wrong(proposal: &PlanProposal, of: impl Fn(&ProposedWaypoint) -> Option<String>) -> Option<String> {
    let all: Vec<String> =
        proposal.waypoints.iter().filter_map(|one| Some(format!("`{}` {}", one.key, of(one)?))).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The proposed waypoints as those of a plan, whose rules they keep.
fn planned(proposal: &PlanProposal) -> Vec<Waypoint> {
    proposal.waypoints.iter().map(|one| children::planned(one, one.key.clone())).collect()
}

#[cfg(test)]
pub(crate) mod tests;
