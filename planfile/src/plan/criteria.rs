//! Reading criteria and checks: of a waypoint, of one that is proposed, and of changes that were made elsewhere.

use holdpoint_protocol::{
    ids::CriterionId,
    plan::{CHECK_TIMEOUT_DEFAULT, Check, Criterion, EvidenceLevel},
};

use super::limits::MUTANTS;
use crate::yaml::{error::Problems, fields::Fields};

/// The keys of a check, besides those of what it belongs to.
pub(super) const CHECK_KEYS: &[&str] =
    &["check", "expect", "red_first", "timeout", "network", "writes_tree", "evidence", "mutants"];

/// Reads `criteria`, whose checks have this `evidence` unless they say otherwise.
pub(crate) fn criteria(fields: &Fields<'_>, evidence: EvidenceLevel, problems: &mut Problems) -> Vec<Criterion> {
    let keys: Vec<&str> = ["id", "statement"].into_iter().chain(CHECK_KEYS.iter().copied()).collect();
    fields.list("criteria", problems, |node, problems| {
        let criterion = Fields::open(node, "a criterion", &keys, problems)?;
        criterion.demand("id", "give it a short name, such as `id: unit`", problems);
        let id = criterion.id("id", CriterionId::try_new, problems);
        let checked = criterion.has("check");
        let check = check(&criterion, evidence, problems);
        if !checked {
            refuse_lone_check_keys(&criterion, problems);
        }
        // A criterion of a command alone says just that: the command succeeds.
        let default = || if checked { format!("`{}` succeeds", check.command) } else { String::new() };
        let statement = criterion.text("statement", problems).unwrap_or_else(default);
        Some(Criterion { id: id?, statement, check: checked.then_some(check) })
    })
}

fn refuse_lone_check_keys(criterion: &Fields<'_>, problems: &mut Problems) {
    for key in CHECK_KEYS.iter().filter(|key| criterion.has(key)) {
        let hint = format!("add `check: COMMAND`, or remove `{key}`");
        problems.add(criterion.at, format!("`{key}` is given without a `check`"), hint);
    }
}

/// Reads the check of a criterion or guard in a plan with this `evidence`. Without a command it is empty, for the rules to
/// judge.
pub(super) fn check(fields: &Fields<'_>, plan: EvidenceLevel, problems: &mut Problems) -> Check {
    let command = fields.text("check", problems).unwrap_or_default();
    let expect = fields.text("expect", problems);
    let red_first = fields.flag("red_first", problems).unwrap_or(false);
    let timeout = fields.duration("timeout", problems).unwrap_or(CHECK_TIMEOUT_DEFAULT);
    let network = fields.flag("network", problems).unwrap_or(false);
    let writes_tree = fields.flag("writes_tree", problems).unwrap_or(false);
    let evidence = evidence(fields, problems).unwrap_or(plan);
    let mutants = fields.number("mutants", &MUTANTS, problems);
    Check { command, expect, red_first, timeout, network, writes_tree, evidence, mutants }
}

/// How hard a green is tried, where the plan or a check says so.
pub(super) fn evidence(fields: &Fields<'_>, problems: &mut Problems) -> Option<EvidenceLevel> {
    let choices = [("fast", EvidenceLevel::Fast), ("strict", EvidenceLevel::Strict)];
    fields.choice("evidence", "a level of evidence", &choices, problems)
}
