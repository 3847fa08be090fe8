//! What `checks: NAME` stands for: the twelve checks with the tools of an ecosystem, YAML in `planfile/checks/` (SDLC-3).

use std::sync::LazyLock;

use holdpoint_protocol::{
    checkpoint::{CheckpointRule, CheckpointSpec},
    plan::Plan,
};

use super::demands;
use crate::{
    checkpoints,
    yaml::{
        error::{PlanErrors, Problems},
        fields::{Fields, one_of},
        tree::{self, FileKind, Node},
    },
};

/// The name of each, and the file that it stands in.
const PRESETS: [(&str, &str); 3] = [
    ("rust", include_str!("../../checks/rust.yaml")),
    ("python", include_str!("../../checks/python.yaml")),
    ("node", include_str!("../../checks/node.yaml")),
];
const KIND: FileKind =
    FileKind { name: "preset", least: "a preset has `found_by` and `checks`", depth: "a preset needs six levels" };

/// The checks of an ecosystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckPreset {
    /// Its name.
    pub name: &'static str,
    /// The files of which one in the root of a repository shows that it is the ecosystem's.
    pub found_by: Vec<String>,
    /// The twelve checks.
    pub checks: Vec<CheckpointSpec>,
}

/// Each as its file has it: read once.
static ALL: LazyLock<Vec<CheckPreset>> = LazyLock::new(|| {
    PRESETS.into_iter().map(|(name, text)| parse(name, text).expect("the presets can be read: a test does")).collect()
});

fn parse(name: &'static str, text: &str) -> Result<CheckPreset, PlanErrors> {
    let mut problems = Problems::default();
    let root = tree::load(text, &KIND, &mut problems);
    let preset = root.as_ref().and_then(|root| read(name, root, &mut problems));
    preset.filter(|_| problems.is_empty()).ok_or_else(|| problems.finish(name, text))
}

fn read(name: &'static str, root: &Node, problems: &mut Problems) -> Option<CheckPreset> {
    let fields = Fields::open(root, "the preset", &["found_by", "checks"], problems)?;
    let found_by = fields.texts("found_by", problems);
    Some(CheckPreset { name, found_by, checks: demands::checkpoints("checks", &fields, problems) })
}

/// The preset of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static CheckPreset> {
    ALL.iter().find(|preset| preset.name == name)
}

/// A repository has files of several presets, so that a person has to choose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its root has files of several presets of checks: {}", one_of(.0.iter().copied()))]
pub struct SeveralCheckPresets(Vec<&'static str>);

/// The checks that say something of any project: they look at the report and need no tool.
fn on_reports() -> impl Iterator<Item = &'static CheckpointSpec> {
    let first = ALL.first().map_or(&[][..], |preset| &preset.checks);
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
        None => checkpoints::shown_by(plan, on_reports()),
    })
}

/// The preset for a repository with these files in its root, if they show one.
///
/// # Errors
/// They show more than one.
fn found_in(root: &[&str]) -> Result<Option<&'static CheckPreset>, SeveralCheckPresets> {
    let is_found = |preset: &&CheckPreset| preset.found_by.iter().any(|file| root.contains(&file.as_str()));
    match ALL.iter().filter(is_found).collect::<Vec<_>>()[..] {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        ref several => Err(SeveralCheckPresets(several.iter().map(|preset| preset.name).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWELVE: [&str; 12] = [
        "syntax", "tests", "coverage", "lint", "security", "build", "deps", "breaking", "review", "perf", "docs",
        "commit",
    ];

    #[test]
    fn each_preset_has_the_twelve_checks_of_which_three_are_required() {
        for (name, text) in PRESETS {
            let preset = parse(name, text).unwrap_or_else(|errors| panic!("{}", errors.render()));
            let names: Vec<&str> = preset.checks.iter().map(|check| check.name.as_str()).collect();
            assert_eq!(names, TWELVE, "{name}");
            let required: Vec<&str> =
                preset.checks.iter().filter(|check| check.required).map(|check| check.name.as_str()).collect();
            assert_eq!(required, ["syntax", "tests", "build"], "{name}");
            assert!(preset.checks.iter().all(|check| check.rule.is_some()), "{name}: nobody states a check");
        }
    }

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
        let plan = crate::plan::read(text, "plan.yaml", crate::plan::BUILT_IN_WORKFLOWS).unwrap();
        let of = |root: &[&str]| {
            auto(&plan, root).map(|checks| checks.into_iter().map(|check| check.name.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["README.md"]).unwrap(), ["suite", "review", "commit"]);
        assert_eq!(of(&["Cargo.toml"]).unwrap(), TWELVE);
        assert!(of(&["Cargo.toml", "package.json"]).is_err());
    }
}
