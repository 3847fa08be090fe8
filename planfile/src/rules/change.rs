//! Rules for how changes are judged that were made elsewhere.

use super::criteria;
use crate::{
    plan::change::ChangeRules,
    yaml::{findings::PlanProblems, path::At},
};

/// Holds them to the rules of plans.
pub(crate) fn check(at: At<'_>, rules: &ChangeRules, found: &mut PlanProblems) {
    criteria::criteria(at.key("criteria"), &rules.criteria, found);
    found.globs(at.key("scope"), "scope", &rules.scope);
    found.globs(at.key("new_tests"), "new_tests", &rules.new_tests);
    let files: Vec<String> =
        rules.changed_tests.iter().map(|text| holdpoint_evidence::paths::file_of_test(text).to_owned()).collect();
    found.globs(at.key("changed_tests"), "changed_tests", &files);
    found.globs(at.key("protected"), "protected", &rules.protected);
}
