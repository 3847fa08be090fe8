//! What one run of a check is given, and how it ended.

use holdpoint_evidence::{checks::JudgedRun, environment::TreeChanges};
use holdpoint_protocol::{
    Digest,
    artifact::{CheckRun, TreeTested},
    facts::Oid,
    ids::CriterionId,
    plan::Check,
};
use regex::Regex;

use crate::unrun::Watch;

/// A tree, and which kind of tree it is to the turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree<'a> {
    pub(crate) oid: &'a Oid,
    pub(crate) tested: TreeTested,
    /// What was broken in it, of a mutant.
    pub(crate) broken: Option<&'a str>,
}

impl<'a> Tree<'a> {
    /// A tree in which nothing was broken.
    pub(crate) fn new(oid: &'a Oid, tested: TreeTested) -> Self {
        Self { oid, tested, broken: None }
    }
}

/// Which runs that are known may stand in the place of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Whatever they say.
    Any,
    /// Green ones: what a red one met may not be so now.
    Green,
    /// None: it has to be another run.
    Nothing,
}

/// One run of a check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckArgs<'a> {
    /// The criterion or guard.
    pub(crate) id: &'a CriterionId,
    pub(crate) check: &'a Check,
    pub(crate) expect: Option<&'a Regex>,
    pub(crate) tree: Tree<'a>,
    /// Lines of Python that its programs are watched for.
    pub(crate) watch: Option<&'a Watch>,
    pub(crate) takes: Takes,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ran {
    /// Its line in the receipt.
    pub(crate) run: CheckRun,
    /// What it says: the verdict of this run alone, and counts of tests.
    pub(crate) read: JudgedRun,
    /// The last lines, for people.
    pub(crate) tail: String,
    /// How it ended, in words.
    pub(crate) ending: String,
    /// What its plan could give it that it lacked, in words.
    pub(crate) lacks: Option<String>,
    /// What it changed in its tree.
    pub(crate) changed: TreeChanges,
    /// It was not the check that ran but the setup of the environment, and it failed.
    pub(crate) not_set_up: bool,
    /// What runs of it on the same tree printed that were red before this one.
    pub(crate) red_before: Vec<Digest>,
    /// Its names of tests are those that another run of it has as well.
    pub(crate) is_steady: bool,
}
