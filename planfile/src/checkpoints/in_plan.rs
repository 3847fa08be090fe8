//! What a plan says of checkpoints: the guards that a gate names, and what it checks where it says `auto` (SDLC-3).

use holdpoint_protocol::{
    checkpoint::{CHECKPOINTS_MAX, CheckpointCommand, CheckpointRule, CheckpointSpec, GateDemands},
    ids::CriterionId,
    plan::{Check, Plan},
};

use crate::{
    declared::presets::{self, CheckPreset},
    yaml::fields::one_of,
};

/// The demands of a gate in a plan: a checkpoint that names a guard is its command, and a statement where the plan has none of
/// that id; `checks: auto` is what the plan checks.
#[must_use]
pub fn in_plan(demands: &GateDemands, plan: &Plan) -> GateDemands {
    let command = |id: &CriterionId| Some(command(&plan.guards.iter().find(|guard| guard.id == *id)?.check));
    let of_plan = plan.checks.iter().filter(|_| demands.plan_checks);
    let resolved = demands.checkpoints.iter().chain(of_plan).map(|spec| match &spec.rule {
        Some(CheckpointRule::Guard(id)) => CheckpointSpec { rule: command(id), ..spec.clone() },
        _ => spec.clone(),
    });
    GateDemands { checkpoints: resolved.collect(), plan_checks: false, ..demands.clone() }
}

/// What a plan shows that it checks, each of which has to pass: its guards, the checks of its criteria, and behind them `more`. The first
/// of a name counts, and [`CHECKPOINTS_MAX`] of them.
#[must_use]
pub(super) fn shown_by<'a>(plan: &Plan, more: impl Iterator<Item = &'a CheckpointSpec>) -> Vec<CheckpointSpec> {
    let criteria = plan.waypoints.iter().flat_map(|waypoint| &waypoint.criteria);
    let criteria = criteria.filter_map(|criterion| Some((&criterion.id, criterion.check.as_ref()?)));
    let own = plan.guards.iter().map(|guard| (&guard.id, &guard.check)).chain(criteria);
    let own = own.map(|(id, check)| CheckpointSpec { name: id.clone(), rule: Some(command(check)), required: true });
    let mut shown: Vec<CheckpointSpec> = Vec::new();
    for check in own.chain(more.cloned()) {
        if shown.len() < CHECKPOINTS_MAX && shown.iter().all(|one| one.name != check.name) {
            shown.push(check);
        }
    }
    shown
}

fn command(check: &Check) -> CheckpointRule {
    CheckpointRule::Command(CheckpointCommand { check: check.clone(), needs: Vec::new() })
}

/// A repository has files of several presets, so that a person has to choose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its root has files of several presets of checks: {}", one_of(.0.iter().copied()))]
pub struct SeveralCheckPresets(Vec<&'static str>);

/// The checks that say something of any project: they look at the report and need no tool.
fn on_reports() -> impl Iterator<Item = &'static CheckpointSpec> {
    let first = presets::ALL.first().map_or(&[][..], |preset| &preset.checks);
    first.iter().filter(|check| matches!(check.rule, Some(CheckpointRule::Report(_))))
}

/// What `checks: auto` stands for where a plan does not say what it checks: the preset that the files in the root of its repository show,
/// else what the plan shows and the checks that say something of any project.
///
/// # Errors
/// The files show more than one preset.
pub fn auto(plan: &Plan, root: &[&str]) -> Result<Vec<CheckpointSpec>, SeveralCheckPresets> {
    Ok(match found_in(root)? {
        Some(preset) => preset.checks.clone(),
        None => shown_by(plan, on_reports()),
    })
}

/// The preset for a repository with these files in its root, if they show one.
///
/// # Errors
/// They show more than one.
fn found_in(root: &[&str]) -> Result<Option<&'static CheckPreset>, SeveralCheckPresets> {
    let is_found = |preset: &&CheckPreset| preset.found_by.iter().any(|file| root.contains(&file.as_str()));
    match presets::ALL.iter().filter(is_found).collect::<Vec<_>>()[..] {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        ref several => Err(SeveralCheckPresets(several.iter().map(|preset| preset.name).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_shows_its_preset_by_the_files_in_its_root() {
        let found = |root: &[&str]| found_in(root).map(|preset| preset.map(|preset| preset.name));
        assert_eq!(found(&["README.md", "Cargo.toml"]), Ok(Some("rust")));
        assert_eq!(found(&["package.json"]), Ok(Some("node")));
        assert_eq!(found(&["setup.py", "requirements.txt"]), Ok(Some("python")));
        assert_eq!(found(&["src"]), Ok(None));
        assert_eq!(found(&["Cargo.toml", "package.json"]), Err(SeveralCheckPresets(vec!["rust", "node"])));
    }

    #[test]
    fn a_repository_of_no_preset_is_checked_by_what_its_plan_shows_and_by_its_reports() {
        let names = || on_reports().map(|check| check.name.as_str());
        assert_eq!(names().collect::<Vec<_>>(), ["review", "commit"]);
        let text = "plan: p\nguards:\n  - {id: suite, check: make test}\nwaypoints:\n  - {id: w, goal: g, scope: [a], criteria: [{id: c, statement: s}]}\n";
        let plan = crate::plan::read(text, "plan.yaml", crate::plan::workflows::BUILT_IN_WORKFLOWS).unwrap();
        let of = |root: &[&str]| {
            auto(&plan, root).map(|checks| checks.into_iter().map(|check| check.name.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["README.md"]).unwrap(), ["suite", "review", "commit"]);
        let rust = presets::named("rust").unwrap().checks.iter().map(|check| check.name.to_string());
        assert_eq!(of(&["Cargo.toml"]).unwrap(), rust.collect::<Vec<_>>());
        assert!(of(&["Cargo.toml", "package.json"]).is_err());
    }
}
