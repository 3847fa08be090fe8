//! A program that may ask while it runs.

use std::path::Path;

use holdpoint_harness::{
    ask::{self, Ask, AskLine, Inside, PrintListener},
    dialect::Dialect,
    exchange::stall::{Patiently, Stall},
};
use holdpoint_protocol::ids::CriterionId;
use holdpoint_sandbox::{Command, RunOutcome, Tap};

use super::Runs;
use crate::{by_judge::AboutCriterion, error::VerifyError};

impl Runs<'_> {
    /// Runs a program with a line in `dir` over which it asks. With a question that
    /// nobody answers in time it is over.
    pub(super) async fn attended(
        &self,
        mut command: Command,
        dir: &Path,
        tap: &Tap,
        (criterion, stall, printed): (&CriterionId, Option<&Stall>, Option<&PrintListener>),
    ) -> Result<(RunOutcome, Option<Ask>), VerifyError> {
        let opened = AskLine::open(dir, self.sandbox, command.profile.network).await;
        let mut line = opened.map_err(VerifyError::io("open the line in", dir))?;
        line.access().grant(&mut command);
        let (ending, end) = ask::ending();
        let stall = stall.cloned().unwrap_or_else(|| Stall::new(None));
        let printed = printed.cloned().unwrap_or_else(|| PrintListener::of(Dialect::Plain, None, ""));
        let tap = printed.tap(Some(stall.tap(Some(tap.clone()))));
        let stuck = stall.clone().over();
        let end = async {
            tokio::select! {
                () = end => {}
                () = stuck => {}
            }
        };
        let run = self.sandbox.run_until(&command, Some(&tap), end);
        // It leaves nothing that is handed on, so there is nothing to keep.
        let desk = AboutCriterion { desk: self.desk, criterion };
        let desk = Patiently { desk: &desk, stall };
        let mut inside = Inside::judge(&desk);
        let attended = ask::attend(&mut line, &mut inside, &printed, std::future::ready(true), ending, run);
        // Boxed, as the program's run is large.
        let (outcome, heard) = Box::pin(attended).await;
        Ok((outcome?, heard.map(|heard| heard.ask)))
    }
}
