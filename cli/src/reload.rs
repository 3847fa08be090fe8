//! Having flights go on by the workflows that the files declare now (GATE-12): by a command, or because the files changed.

mod watch;

use std::path::{Path, PathBuf};

use holdpoint_engine::flight::{Drift, Regrouped, drift};
use holdpoint_planfile::{gates::Workflow, workflows};
use holdpoint_protocol::{
    Digest,
    api::ActRefused,
    artifact::{Act, ActCode, Reconfigure, ReconfigureBody},
    ids::{FlightId, RoleId},
    plan::Mode,
    view::FlownWorkflow,
    workflow::WorkflowSpec,
};
use holdpoint_workspace::{UserRepo, WorkspaceError};
use serde::Serialize;
pub(crate) use watch::Watcher;

use crate::{
    client::Client,
    declared::{Declarations, NAME_ORG, ORG, PROJECT, read, sound, with_warnings},
    failure::{Exit, Failure, chain},
    fleet::Recruiter,
    people::act::{About, perform},
    typed::in_text,
};

/// What to do where the workflow file of a project is not there.
const NAME_PROJECT: &str = "name it with --project FILE, or the repository whose working tree has it with --repo DIR";

/// The files that declare workflows, as they stand in a folder: not as they were committed.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    project: PathBuf,
    org: PathBuf,
    /// The org chart was named: it has to be there.
    org_wanted: bool,
}

impl Files {
    /// These, or those of the working tree or folder at `dir`.
    pub(crate) async fn of(dir: &Path, project: Option<&Path>, org: Option<&Path>) -> Result<Self, Failure> {
        let home = match UserRepo::open(dir).await {
            Ok(repo) => repo.dir().to_path_buf(),
            Err(WorkspaceError::NotARepository { .. }) => dir.to_path_buf(),
            Err(error) => return Err(error.into()),
        };
        let project = project.map_or_else(|| home.join(PROJECT), Path::to_path_buf);
        let org_wanted = org.is_some();
        let org = org.map_or_else(|| project.with_file_name(ORG), Path::to_path_buf);
        Ok(Self { project, org, org_wanted })
    }

    /// The workflows that they declare, with what the org chart says; everything that is wrong with them at once.
    pub(crate) async fn workflows(&self) -> Result<Vec<WorkflowSpec>, Failure> {
        sound(&self.declarations()?).await
    }

    /// The same, without a word on warnings.
    pub(crate) async fn workflows_again(&self) -> Result<Vec<WorkflowSpec>, Failure> {
        with_warnings(&self.declarations()?).await.map(|(workflows, _)| workflows)
    }

    fn declarations(&self) -> Result<Declarations, Failure> {
        let org = (self.org_wanted || self.org.exists()).then(|| read(&self.org, NAME_ORG)).transpose()?;
        Ok(Declarations { projects: vec![read(&self.project, NAME_PROJECT)?], org })
    }

    /// Their contents; `None`: nothing that can be read.
    pub(crate) fn digest(&self) -> Option<Digest> {
        let project = read(&self.project, NAME_PROJECT).ok()?;
        let org = read(&self.org, NAME_ORG).ok();
        Some(Digest::of(&serde_json::to_vec(&(project, org)).expect("plain data has a JSON form")))
    }
}

/// What became of a flight.
#[derive(Debug, Serialize)]
pub(crate) struct Reloaded {
    /// The flight.
    pub(crate) flight: FlightId,
    /// Where it differed from the files.
    pub(crate) drift: Vec<Drift>,
    /// Roles that the files bring, and for whose agents the fleet here has no program.
    #[serde(skip)]
    pub(crate) unstaffed: Vec<RoleId>,
    /// Whether it goes by any workflow that the files declare.
    #[serde(skip)]
    pub(crate) is_declared: bool,
    /// What was done.
    #[serde(flatten)]
    pub(crate) result: Outcome,
}

/// What was done about a flight that differs from the files, or not.
#[derive(Debug, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It is flown by exactly what they declare.
    Same,
    /// It differs, and nothing was sent.
    Differs,
    /// It goes on by them.
    Reloaded,
    /// It keeps what it had.
    Refused {
        /// Why.
        error: Box<ActRefused>,
    },
}

/// Why flights are given other workflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Nothing is sent: the differences are reported.
    Check,
    /// A person or script says so.
    Command,
    /// The files changed.
    Watch,
}

/// Says that files were not reloaded because of what they say: an orchestrator counts that, which never sees them. A
/// request that failed is no such thing.
pub(crate) async fn count_unsound(client: &Client, failure: &Failure) {
    if failure.exit() != Exit::Usage {
        return;
    }
    if let Err(error) = client.config_invalid(failure.message()).await {
        tracing::debug!(error = %chain(&error), "nobody counts that the workflow files are not sound");
    }
}

/// The flights that go on or wait.
pub(crate) async fn open_flights(client: &Client) -> Result<Vec<FlightId>, Failure> {
    let lines = client.flights().await?.into_iter();
    Ok(lines.filter(|line| !line.status.is_over()).map(|line| line.flight).collect())
}

/// Has a flight go on by these workflows, if it is flown by any of them and they differ. The fleet of `recruiter` takes up the
/// roles that they bring first: a flight does not go on by gates of roles that nobody has.
pub(crate) async fn reload(
    client: &Client,
    flight: &FlightId,
    declared: &[WorkflowSpec],
    why: Why,
    recruiter: Option<&Recruiter>,
) -> Result<Reloaded, Failure> {
    let view = client.status(flight).await?;
    let drift = drift(&view.workflows, declared);
    let workflows = flown(&view.workflows, declared);
    let is_declared = !workflows.is_empty();
    let told =
        |drift, unstaffed, result| Ok(Reloaded { flight: flight.clone(), drift, unstaffed, is_declared, result });
    if why == Why::Check {
        let result = if drift.is_empty() { Outcome::Same } else { Outcome::Differs };
        return told(drift, Vec::new(), result);
    }
    let unstaffed = match recruiter {
        // Also where another person reloaded the flight: its agents are the fleet's here.
        Some(recruiter) => recruiter.take_up(workflows::declared_roles(&workflows, Mode::Team)).await?,
        None => Vec::new(),
    };
    if drift.is_empty() {
        return told(drift, unstaffed, Outcome::Same);
    }
    for spec in &workflows {
        Workflow::try_new(spec).map_err(|error| {
            let message = format!("workflow {} of {PROJECT} cannot be flown: {}", spec.name, chain(&error));
            Failure::usage("workflow_not_runnable", message, "`holdpoint workflow show` lists what this version runs")
        })?;
    }
    let about = About { flight: flight.clone(), waypoint: None };
    let body = ReconfigureBody { agent: client.bus().name().clone(), workflows, watched: why == Why::Watch };
    match perform(client, &about, &Act::Reconfigure(Box::new(Reconfigure::new(about.origin(), body)))).await {
        Ok(()) => told(drift, unstaffed, Outcome::Reloaded),
        // Another person was first with the same.
        Err(Failure::Act(error)) if error.code == ActCode::NothingOpen => told(drift, unstaffed, Outcome::Same),
        Err(Failure::Act(error)) => told(drift, unstaffed, Outcome::Refused { error }),
        Err(failure) => Err(failure),
    }
}

/// Those of the declared workflows that a flight which goes by `today` goes by after a reload: the same ones, and the one that adopts
/// its work.
pub(crate) fn flown(today: &[FlownWorkflow], declared: &[WorkflowSpec]) -> Vec<WorkflowSpec> {
    let drift = drift(today, declared);
    // The first one adopts what began before the project had any, and goes first.
    let wanted = |spec: &WorkflowSpec| {
        let is_flown = today.iter().any(|flown| flown.name == spec.name);
        is_flown || drift.iter().any(|drift| drift.adopted_by.as_ref() == Some(&spec.name))
    };
    declared.iter().filter(|spec| wanted(spec)).cloned().collect()
}

impl Reloaded {
    /// Whether there is anything to report.
    pub(crate) fn is_news(&self) -> bool {
        !matches!(self.result, Outcome::Same) || !self.unstaffed.is_empty()
    }

    /// In words for people, a line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        let flight = &self.flight;
        let mut lines: Vec<String> = self.drift.iter().map(|drift| format!("{flight}: {}", differs(drift))).collect();
        lines.extend(self.unstaffed.iter().map(|role| {
            format!(
                "{flight}: no program is configured for agents of the role {role}: give one with --agent {role}='CMD' to \
                 `holdpoint up` or `holdpoint run --resume {flight}`"
            )
        }));
        lines.push(match &self.result {
            Outcome::Same if !self.is_declared => {
                format!("{flight}: it goes by no workflow that the files declare: nothing to reload")
            }
            Outcome::Same => format!("{flight}: flown by what the files declare: nothing to reload"),
            Outcome::Differs => format!("{flight}: `holdpoint org reload --flight {flight}` has it go on by the files"),
            Outcome::Reloaded => format!("{flight}: reloaded"),
            Outcome::Refused { error } => {
                format!("{flight}: goes on by the workflows it had: {} ({})", error.message, error.hint)
            }
        });
        lines.iter_mut().for_each(|line| *line = in_text(line));
        lines
    }
}

fn differs(drift: &Drift) -> String {
    if let Some(adopting) = &drift.adopted_by {
        return format!("workflow {adopting} adopts work that began without one, at its first gate");
    }
    let list = |gates: &[holdpoint_protocol::ids::GateId]| {
        gates.iter().map(|gate| gate.as_str()).collect::<Vec<_>>().join(", ")
    };
    let rerouted = drift.rerouted.iter().map(|one| format!("gate {} goes from {} to {}", one.gate, one.from, one.to));
    let mut parts: Vec<String> = rerouted.collect();
    if drift.declared.is_none() {
        parts.push("it is not declared any more".to_owned());
    } else {
        for (what, gates) in [("added", &drift.added), ("removed", &drift.removed)] {
            if !gates.is_empty() {
                parts.push(format!("gates {what}: {}", list(gates)));
            }
        }
    }
    parts.extend(drift.members.iter().map(regrouped));
    if parts.is_empty() {
        parts.push("gates, roles and members are the same, something else differs".to_owned());
    }
    format!("workflow {}: {}", drift.workflow, parts.join("; "))
}

/// Who has a role by the files, in numbers: the names are in the files.
fn regrouped(one: &Regrouped) -> String {
    let role = &one.role;
    match (one.from, one.to) {
        (Some(from), Some(to)) if from == to => format!("role {role} has other members ({to})"),
        (Some(from), Some(to)) => format!("members of role {role}: {to} in place of {from}"),
        (None, Some(to)) => format!("role {role} is only for those whom the files name ({to})"),
        (_, None) => format!("role {role} is for anybody who has it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_differs_and_what_became_of_it() {
        let digest = Digest::of(b"");
        let drift = Drift {
            workflow: "own".to_owned(),
            flown: digest,
            declared: Some(digest),
            added: vec!["file".parse().unwrap()],
            removed: vec!["read".parse().unwrap(), "sign".parse().unwrap()],
            rerouted: Vec::new(),
            members: Vec::new(),
            adopted_by: None,
        };
        let role = |from, to| Regrouped { role: "reader".parse().unwrap(), from, to };
        let members = vec![role(Some(1), Some(2)), role(Some(2), Some(2)), role(None, Some(1)), role(Some(3), None)];
        let others = Drift { added: Vec::new(), removed: Vec::new(), members, ..drift.clone() };
        let adopted = Drift { adopted_by: Some("own".to_owned()), ..drift.clone() };
        let gone = Drift { declared: None, ..drift.clone() };
        let same = Drift { added: Vec::new(), removed: Vec::new(), ..drift.clone() };
        let reloaded = Reloaded {
            flight: "demo-1".parse().unwrap(),
            drift: vec![drift, gone, same, others, adopted],
            unstaffed: vec!["critic".parse().unwrap()],
            is_declared: true,
            result: Outcome::Reloaded,
        };
        assert_eq!(
            reloaded.lines(),
            [
                "demo-1: workflow own: gates added: file; gates removed: read, sign",
                "demo-1: workflow own: it is not declared any more",
                "demo-1: workflow own: gates, roles and members are the same, something else differs",
                "demo-1: workflow own: members of role reader: 2 in place of 1; role reader has other members (2); \
                 role reader is only for those whom the files name (1); role reader is for anybody who has it",
                "demo-1: workflow own adopts work that began without one, at its first gate",
                "demo-1: no program is configured for agents of the role critic: give one with --agent critic='CMD' to `holdpoint up` or \
                 `holdpoint run --resume demo-1`",
                "demo-1: reloaded",
            ]
        );
        let same = |is_declared| Reloaded {
            drift: Vec::new(),
            unstaffed: Vec::new(),
            is_declared,
            result: Outcome::Same,
            flight: "demo-1".parse().unwrap(),
        };
        assert_eq!(same(true).lines(), ["demo-1: flown by what the files declare: nothing to reload"]);
        assert_eq!(same(false).lines(), ["demo-1: it goes by no workflow that the files declare: nothing to reload"]);
    }
}
