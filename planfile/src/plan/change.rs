//! Reading how changes are judged that were made elsewhere: `verify` of a project file.

use holdpoint_protocol::plan::Criterion;

use super::{criteria, waypoint};
use crate::yaml::{error::Problems, fields::Fields};

/// How changes are judged that were made elsewhere, whatever they are about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeRules {
    /// What a change has to show; nothing: that all tests of the project pass.
    pub criteria: Vec<Criterion>,
    /// Globs of paths that it may touch; none: all of them.
    pub scope: Vec<String>,
    /// Globs of paths where tests may be added besides.
    pub new_tests: Vec<String>,
    /// Tests of the base that may change or go: globs, or `file::name`.
    pub changed_tests: Vec<String>,
    /// Globs of paths that nobody may change.
    pub protected: Vec<String>,
}

/// The keys of `verify` in a project file: those of a waypoint that are not about building it.
const CHANGE_KEYS: &[&str] = &["criteria", "scope", "new_tests", "changed_tests", "protected", "evidence"];

/// Reads `verify` of a project file.
pub(crate) fn change_rules(file: &Fields<'_>, problems: &mut Problems) -> Option<ChangeRules> {
    let fields = Fields::open(file.get("verify", problems)?, "`verify`", CHANGE_KEYS, problems)?;
    let evidence = criteria::evidence(&fields, problems).unwrap_or_default();
    Some(ChangeRules {
        criteria: criteria::criteria(&fields, evidence, problems),
        scope: waypoint::scope(&fields, problems),
        new_tests: fields.texts("new_tests", problems),
        changed_tests: fields.texts("changed_tests", problems),
        protected: fields.texts("protected", problems),
    })
}
