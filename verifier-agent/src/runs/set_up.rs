//! The environment of a tree, before anything runs on it.

use holdpoint_evidence::{
    checks::{CheckEnd, CheckOutcome, JudgedRun},
    environment::TreeChanges,
    paths::VIOLATIONS_MAX,
    telling::{self, PlannedCommand},
};
use holdpoint_harness::environment::{Layer, NotSetUp, SetUp};
use holdpoint_protocol::{
    artifact::{CheckRun, TreeTested},
    facts::{Verdict, Violation, ViolationKind},
    reason::CriterionReason,
};
use holdpoint_runtime::{
    mirror::from_wire,
    telemetry::{self, TRACE, fields},
};
use holdpoint_sandbox::{Ended, RunOutcome};
use tracing::{Instrument as _, field, info_span};

use super::{Ran, Runs, Tree, ended::tested, exit_code};
use crate::{error::VerifyError, evidence};

/// Why a setup failed, with the line of its output that says most.
fn because(failed: &NotSetUp) -> String {
    let printed = failed.outcome.as_deref().map(evidence::text).unwrap_or_default();
    let printed = telling::plain(&printed);
    let said = telling::lines_that_say_why(&printed, 1);
    std::iter::once(failed.why.as_str()).chain(said).collect::<Vec<_>>().join(": ")
}

impl Runs<'_> {
    /// The environment of a tree, or how its setup failed. A tree whose setup fails where that of the base does not is at fault itself.
    pub(super) async fn set_up(&mut self, tree: Tree<'_>) -> Result<(Option<Layer>, Option<Ran>), VerifyError> {
        if let Some(here) = &self.settings.here {
            return Ok((Some(here.layer.clone()), None));
        }
        if self.spec.setup.is_none() {
            return Ok((None, None));
        }
        let span = info_span!(
            target: TRACE, "setup", { fields::TESTED } = tested(tree.tested), { fields::VERDICT } = field::Empty,
        );
        let by = (self.sandbox, self.mechanism);
        let (own, base) = (from_wire(tree.oid), from_wire(self.base_tree));
        let made = self.environments.of_tree(self.spec, by, (self.mirror, &own));
        let failed = match Box::pin(made).instrument(span.clone()).await? {
            SetUp::Ready(layer, outcome) => {
                if let Some(outcome) = outcome {
                    self.setup_noted(tree, &outcome, (Verdict::Pass, None));
                }
                return Ok((Some(layer), None));
            }
            SetUp::Failed(failed) => failed,
        };
        telemetry::fail(&span, "the environment could not be set up");
        let of_base = tree.oid == self.base_tree;
        if !of_base && failed.changed.is_none() {
            let control = self.environments.comes_to_its_end(self.spec, by, (self.mirror, &base));
            if !Box::pin(control).await? {
                return Err(VerifyError::NotSetUp { why: because(&failed) });
            }
        }
        // Nothing can be built on a base without its dependencies; work that breaks them is red.
        let verdict = if of_base { Verdict::Inconclusive } else { Verdict::Fail };
        Ok((None, Some(self.not_set_up(tree, failed, verdict))))
    }

    /// Those of these changed paths that are among the dependencies of the base: a tracked file there wins over the one that was set up,
    /// so it decides what checks run.
    pub(crate) async fn among_dependencies(
        &mut self,
        paths: impl Iterator<Item = String>,
    ) -> Result<Vec<Violation>, VerifyError> {
        let base = self.base_tree;
        let (layer, _) = self.set_up(Tree::new(base, TreeTested::Base)).await?;
        let Some(layer) = layer else { return Ok(Vec::new()) };
        let entries = self.mirror.list_tree(&from_wire(base)).await?;
        let tracked = entries.iter().filter_map(|entry| entry.path.as_str()).collect();
        let places = layer.places(&tracked).map_err(VerifyError::io("look through", &layer.work()))?;
        let is_in = |path: &str, place: &str| {
            path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let among = paths.filter(|path| places.iter().any(|place| is_in(path, place)));
        Ok(among.map(|path| Violation { kind: ViolationKind::Steering, path }).take(VIOLATIONS_MAX).collect())
    }

    fn not_set_up(&mut self, tree: Tree<'_>, failed: NotSetUp, verdict: Verdict) -> Ran {
        let NotSetUp { outcome, changed, why } = failed;
        let reason = if changed.is_some() { CriterionReason::SetupChanged } else { CriterionReason::SetupFailed };
        let nothing = || {
            Box::new(RunOutcome {
                ended: Ended::Exited(1),
                stdout: Vec::new(),
                stderr: why.clone().into_bytes(),
                duration: std::time::Duration::ZERO,
                tree_ended: true,
                properties: Vec::new(),
            })
        };
        let outcome = outcome.unwrap_or_else(nothing);
        let printed = evidence::text(&outcome);
        let run = self.setup_noted(tree, &outcome, (verdict, Some(reason)));
        let lacks = telling::lacks(PlannedCommand::Setup, &printed);
        let end = CheckEnd { exit: exit_code(outcome.ended), signal: None, timed_out: false, limit: false };
        let ending = if outcome.ended == Ended::Exited(0) { why } else { evidence::ending(outcome.ended) };
        Ran {
            run,
            read: JudgedRun::read(self.spec.setup.as_deref().unwrap_or_default(), end, None, &printed, true),
            tail: evidence::last_lines(&printed),
            ending,
            changed: TreeChanges::default(),
            lacks,
            not_set_up: true,
            red_before: Vec::new(),
            is_steady: false,
        }
    }

    /// Puts the run of a setup into the record.
    fn setup_noted(&mut self, tree: Tree<'_>, outcome: &RunOutcome, read: CheckOutcome) -> CheckRun {
        let command = self.spec.setup.clone().unwrap_or_default();
        let run = self.recorded((None, &command), tree, outcome, &[], read);
        self.record.ended(outcome);
        run
    }
}
