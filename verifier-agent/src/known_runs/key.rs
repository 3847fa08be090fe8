//! What a run of a check follows from. A run that is taken for another one accepts work by that other, so everything that may make a
//! difference is in the key, or the run has none.

use std::collections::BTreeSet;

use holdpoint_protocol::{
    Digest,
    artifact::TreeTested,
    plan::{Check, EnvironmentSpec},
};
use serde::Serialize;

use crate::runs::CheckArgs;

/// What a run follows from, besides its check and its tree: of the turn.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Around<'a> {
    pub(crate) environment: &'a EnvironmentSpec,
    /// What its command runs by the recipes of the base.
    pub(crate) recipe: &'a str,
    /// Modules of its tree whose imports are looked at.
    pub(crate) new_modules: &'a BTreeSet<String>,
    /// The base's ignore files, which say what a run may leave in its tree.
    pub(crate) ignores: Digest,
}

/// Two runs with the same key are the same run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(Digest);

impl Key {
    /// The key of a run; `None`: it may follow from something else, or nobody will ask for its tree again.
    pub(crate) fn of(args: &CheckArgs<'_>, around: Around<'_>) -> Option<Self> {
        // Each field either decides what a run is or only what is made of it.
        let Check { command, expect, timeout, network, writes_tree, evidence: _, red_first: _, mutants: _ } =
            args.check;
        if *network || *writes_tree || args.watch.is_some() || !is_asked_again(args.tree.tested) {
            return None;
        }
        let all = (args.tree.oid, (command, expect, timeout), around);
        Some(Self(Digest::of(&serde_json::to_vec(&all).expect("plain data has a JSON form"))))
    }
}

/// Whether another run may be on such a tree: none is where one of a kind was made for a run, with tests that have to fail or a line
/// that was broken.
fn is_asked_again(tested: TreeTested) -> bool {
    match tested {
        TreeTested::Handoff
        | TreeTested::Base
        | TreeTested::TestsAsOnBase
        | TreeTested::ProductAsOnBase
        | TreeTested::FileAsOnBase => true,
        TreeTested::Canaries | TreeTested::CanariesAlone | TreeTested::Mutant | TreeTested::Watched => false,
    }
}

#[cfg(test)]
impl Key {
    /// One of as many keys as a test wants.
    pub(super) fn numbered(n: usize) -> Self {
        Self(Digest::of(&n.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{facts::Oid, ids::CriterionId, plan::EvidenceLevel, time::Millis};

    use super::*;
    use crate::{
        runs::{Takes, Tree},
        unrun::Watch,
    };

    /// Everything about a run, to be changed one at a time.
    struct Given {
        id: CriterionId,
        check: Check,
        tree: Oid,
        tested: TreeTested,
        takes: Takes,
        watch: Option<Watch>,
        environment: EnvironmentSpec,
        recipe: String,
        new_modules: BTreeSet<String>,
        ignores: Digest,
    }

    impl Given {
        fn new() -> Self {
            Self {
                id: "suite".parse().unwrap(),
                check: Check {
                    command: "make test".to_owned(),
                    expect: None,
                    red_first: false,
                    timeout: Millis(1_000),
                    network: false,
                    writes_tree: false,
                    evidence: EvidenceLevel::Fast,
                    mutants: None,
                },
                tree: "a".repeat(40).parse().unwrap(),
                tested: TreeTested::Handoff,
                takes: Takes::Any,
                watch: None,
                environment: EnvironmentSpec::default(),
                recipe: "pytest".to_owned(),
                new_modules: BTreeSet::new(),
                ignores: Digest::of(b"target"),
            }
        }

        fn key(&self) -> Option<Key> {
            let tree = Tree::new(&self.tree, self.tested);
            let (id, check, takes, watch) = (&self.id, &self.check, self.takes, self.watch.as_ref());
            let around = Around {
                environment: &self.environment,
                recipe: &self.recipe,
                new_modules: &self.new_modules,
                ignores: self.ignores,
            };
            Key::of(&CheckArgs { id, check, expect: None, tree, watch, takes }, around)
        }
    }

    type Change = fn(&mut Given);

    fn changed(change: Change) -> Option<Key> {
        let mut given = Given::new();
        change(&mut given);
        given.key()
    }

    #[test]
    fn whatever_decides_a_run_makes_another_key() {
        let decide: [Change; 14] = [
            |_| {},
            |given| given.tree = "b".repeat(40).parse().unwrap(),
            |given| given.check.command = "make tests".to_owned(),
            |given| given.check.expect = Some(String::new()),
            |given| given.check.expect = Some("ok".to_owned()),
            |given| given.check.timeout = Millis(1_001),
            |given| given.environment.setup = Some("npm ci".to_owned()),
            |given| given.environment.inputs = vec!["package.json".to_owned()],
            |given| given.environment.names = vec!["package.json".to_owned()],
            |given| given.environment.path = vec!["bin".to_owned()],
            |given| given.environment.env = [("CI".to_owned(), "1".to_owned())].into(),
            |given| given.recipe = "pytest -x".to_owned(),
            |given| given.new_modules = ["a.py".to_owned()].into(),
            |given| given.ignores = Digest::of(b""),
        ];
        let keys: Vec<Key> = decide.iter().map(|change| changed(*change).unwrap()).collect();
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(key), "the key of change {n} is another one's");
        }
    }

    #[test]
    fn what_a_tree_is_to_a_turn_and_what_is_made_of_a_run_make_no_other_key() {
        let same: [Change; 9] = [
            |given| given.id = "other".parse().unwrap(),
            |given| given.check.red_first = true,
            |given| given.check.mutants = Some(3),
            |given| given.check.evidence = EvidenceLevel::Strict,
            |given| given.takes = Takes::Nothing,
            |given| given.tested = TreeTested::Base,
            |given| given.tested = TreeTested::TestsAsOnBase,
            |given| given.tested = TreeTested::ProductAsOnBase,
            |given| given.tested = TreeTested::FileAsOnBase,
        ];
        for (n, change) in same.into_iter().enumerate() {
            assert_eq!(changed(change), Given::new().key(), "change {n}");
        }
    }

    #[test]
    fn what_may_follow_from_something_else_has_no_key() {
        let open: [Change; 7] = [
            |given| given.check.network = true,
            |given| given.check.writes_tree = true,
            |given| given.watch = Some(Watch { mark: String::new(), lines: Default::default() }),
            |given| given.tested = TreeTested::Canaries,
            |given| given.tested = TreeTested::CanariesAlone,
            |given| given.tested = TreeTested::Mutant,
            |given| given.tested = TreeTested::Watched,
        ];
        for (n, change) in open.into_iter().enumerate() {
            assert_eq!(changed(change), None, "change {n}");
        }
    }
}
