//! Plans that are pasted into the console: what a look at one finds, and handing it in, by what `check` and `submit` do.

use std::path::PathBuf;

use holdpoint_console::{Condition, ConsoleProblem, Mistake, PlanInspection};
use holdpoint_planfile::plan::PlanErrors;
use holdpoint_protocol::ids::FlightId;
use tokio::sync::OnceCell;

use crate::{
    client::Client,
    commands::{doctor, submit},
    failure::Failure,
    ground, preflight,
    running_fleet::RunningFleet,
};

/// What a plan that was pasted is called in messages.
const NAME: &str = "plan";

/// Where plans are submitted from.
#[derive(Debug)]
pub(crate) struct Plans {
    /// The repository that they stand on.
    repo: PathBuf,
    /// The fleet is elsewhere: checks run on other machines than this.
    elsewhere: bool,
    /// What `doctor` said: it tries the sandbox, which takes a second.
    machine: OnceCell<Vec<Condition>>,
}

impl Plans {
    /// On this repository.
    pub(crate) fn on(repo: PathBuf, elsewhere: bool) -> Self {
        Self { repo, elsewhere, machine: OnceCell::new() }
    }

    /// What a plan would come to; starts nothing.
    pub(super) async fn look(&self, text: &str) -> Result<PlanInspection, ConsoleProblem> {
        let mut looked = PlanInspection::default();
        match self.read(text, &mut looked).await {
            Ok(()) => {}
            Err(Failure::Plan(errors)) => looked.mistakes.extend(mistakes(errors)),
            Err(failure) => {
                let ConsoleProblem { message, hint, .. } = failure.into();
                looked.mistakes.push(Mistake { line: None, message, hint });
            }
        }
        if !self.elsewhere {
            looked.machine = self.machine.get_or_init(|| doctor::conditions(&self.repo)).await.clone();
        }
        Ok(looked)
    }

    async fn read(&self, text: &str, looked: &mut PlanInspection) -> Result<(), Failure> {
        let planned = preflight::read_text(text.as_bytes(), NAME, &self.repo).await?;
        looked.plan = Some(planned.plan.clone());
        if !self.elsewhere {
            let fleet = self.fleet().await?;
            preflight::check_text(&planned.plan, fleet.as_ref().is_none_or(|fleet| fleet.network), NAME, text)?;
            if fleet.is_none() {
                looked.notes.push("no fleet runs for this repository: start one with `holdpoint up`".to_owned());
            }
        }
        let (ready, _) = preflight::clear_elsewhere(planned, &self.repo).await?;
        looked.base = Some(ready.base.to_string());
        Ok(())
    }

    /// The fleet that runs for the repository.
    async fn fleet(&self) -> Result<Option<RunningFleet>, Failure> {
        let state = ground::state(&ground::find(&self.repo).await?).await?;
        Ok(RunningFleet::find(&state))
    }

    /// Begins a flight.
    pub(super) async fn submit(&self, client: &Client, text: &str) -> Result<FlightId, Failure> {
        let planned = preflight::read_text(text.as_bytes(), NAME, &self.repo).await?;
        if !self.elsewhere {
            let network = self.fleet().await?.is_none_or(|fleet| fleet.network);
            preflight::check_text(&planned.plan, network, NAME, text)?;
        }
        submit::hand_in(client, planned, &self.repo, !self.elsewhere).await
    }
}

fn mistakes(errors: PlanErrors) -> impl Iterator<Item = Mistake> {
    errors.errors.into_iter().map(|error| Mistake { line: Some(error.line), message: error.message, hint: error.hint })
}
