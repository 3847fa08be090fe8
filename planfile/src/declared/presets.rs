//! What `checks: NAME` stands for: the twelve checks with the tools of an ecosystem, YAML in `planfile/checks/` (SDLC-3).

use std::sync::LazyLock;

use holdpoint_protocol::checkpoint::CheckpointSpec;

use super::checkpoint;
use crate::yaml::{
    error::{PlanErrors, Problems},
    fields::Fields,
    tree::{self, FileKind, Node},
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
pub(crate) struct CheckPreset {
    /// Its name.
    pub(crate) name: &'static str,
    /// The files of which one in the root of a repository shows that it is the ecosystem's.
    pub(crate) found_by: Vec<String>,
    /// The twelve checks.
    pub(crate) checks: Vec<CheckpointSpec>,
}

/// Each as its file has it: read once.
pub(crate) static ALL: LazyLock<Vec<CheckPreset>> = LazyLock::new(|| {
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
    Some(CheckPreset { name, found_by, checks: checkpoint::checkpoints("checks", &fields, problems) })
}

/// The preset of this name.
#[must_use]
pub(crate) fn named(name: &str) -> Option<&'static CheckPreset> {
    ALL.iter().find(|preset| preset.name == name)
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
}
