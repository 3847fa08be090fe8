//! What is wrong with a draft: everything that keeps its plan from flying, and everything by which doing nothing would be accepted.

use holdpoint_planfile::plan::{self, PlanError, PlanErrors, PlanProblems};
use holdpoint_protocol::plan::{Plan, Waypoint};
use holdpoint_runtime::{config::Config, mirror::wire_path};
use serde::Serialize;
use serde_json::json;

use super::{PlannedStep, brief::FILE, scopes};
use crate::{
    failure::{Exit, Failure},
    preflight, program, project,
    ready::{Planned, Ready},
    rehearsal::{self, Rehearsal, Which},
};

/// One thing that is wrong with a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DraftProblem {
    /// The line in the plan, from 1; 0: it has none.
    #[serde(skip_serializing_if = "is_zero")]
    line: usize,
    message: String,
    hint: String,
}

impl DraftProblem {
    /// One of the whole draft.
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { line: 0, message: message.into(), hint: hint.into() }
    }

    /// It in words, for agents and people.
    pub(crate) fn in_words(&self) -> String {
        let Self { line, message, hint } = self;
        let place = if *line > 0 { format!("{FILE}:{line}: ") } else { String::new() };
        format!("{place}{message}; {hint}")
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(line: &usize) -> bool {
    *line == 0
}

impl From<PlanError> for DraftProblem {
    fn from(PlanError { line, message, hint, .. }: PlanError) -> Self {
        Self { line, message, hint }
    }
}

/// A draft that was looked at.
#[derive(Debug, Default)]
pub(crate) struct Review {
    /// What is wrong.
    pub(crate) problems: Vec<DraftProblem>,
    /// Its waypoints, as far as it can be read.
    pub(crate) steps: Vec<PlannedStep>,
}

impl Review {
    /// Looks at a draft on the base of `seed`, and tries its checks there.
    pub(crate) async fn of(bytes: &[u8], seed: &Ready, config: &Config) -> Result<Self, Failure> {
        let planned = match preflight::read_text(bytes, FILE, seed.repo.dir()).await {
            Ok(planned) => planned,
            Err(failure) => return Ok(Self { problems: refused(failure)?, steps: Vec::new() }),
        };
        let text = String::from_utf8_lossy(bytes);
        let mut problems = Vec::new();
        let mut add = |found: PlanProblems| {
            problems.extend(plan::located(&text, FILE, found).errors.into_iter().map(DraftProblem::from));
        };
        let plan = &planned.plan;
        add(plan::that_lack(plan, program::lacking_in_path));
        add(plan::that_nothing_fulfils(plan));
        if !config.orchestrator.verifier_network {
            add(plan::that_want_network(plan));
        }
        if config.agents.verifier.judge.is_none() {
            add(plan::without_check(plan));
        }
        if plan.base != seed.plan.base {
            problems.push(DraftProblem::new(
                "the plan names a `base`",
                "leave it out: the plan is tried on the commit that is current",
            ));
        }
        problems.extend(without_scope(plan, seed).await?);
        let steps = PlannedStep::all(plan);
        problems.extend(on_base(planned, seed, config).await?);
        Ok(Self { problems, steps })
    }
}

/// What a failure says is wrong with the draft. One of this machine is none of the draft's.
fn refused(failure: Failure) -> Result<Vec<DraftProblem>, Failure> {
    match failure {
        Failure::Plan(PlanErrors { errors }) => Ok(errors.into_iter().map(DraftProblem::from).collect()),
        Failure::Other { exit: Exit::Usage, message, hint, .. } => Ok(vec![DraftProblem::new(message, hint)]),
        other => Err(other),
    }
}

/// A problem for each waypoint that may touch everything.
async fn without_scope(plan: &Plan, seed: &Ready) -> Result<Vec<DraftProblem>, Failure> {
    let waypoints: Vec<_> = plan.waypoints.iter().filter(|waypoint| waypoint.scope.is_empty()).collect();
    if waypoints.is_empty() {
        return Ok(Vec::new());
    }
    let entries = seed.repo.list_tree(&seed.base).await?;
    let paths: Vec<String> = entries.iter().map(|entry| wire_path(&entry.path)).collect();
    let layout = project::of_base(&seed.repo, &seed.base).await?.scope;
    let problem = |waypoint: &&Waypoint| {
        let proposed = scopes::proposed(waypoint, &paths, &layout);
        let hint = if proposed.is_empty() {
            "name all paths that it may touch".to_owned()
        } else {
            format!("name all paths that it may touch, such as `scope: {}`", json!(proposed))
        };
        DraftProblem::new(format!("waypoint {} has no `scope`", waypoint.id), hint)
    };
    Ok(waypoints.iter().map(problem).collect())
}

/// What the checks come to on the base.
async fn on_base(mut planned: Planned, seed: &Ready, config: &Config) -> Result<Vec<DraftProblem>, Failure> {
    // What is known of the repository was said once.
    planned.plan.environment = planned.plan.environment.or_else(|| seed.plan.environment.clone());
    let ready = match Ready::settled(planned, seed.repo.clone(), seed.base.clone()).await {
        Ok(ready) => ready,
        Err(failure) => return refused(failure),
    };
    let Rehearsal { refused: failures, untouched, .. } =
        match Box::pin(rehearsal::rehearse(&ready, config, Which::All)).await {
            Ok(rehearsal) => rehearsal,
            Err(failure) => return refused(failure),
        };
    let mut problems = Vec::new();
    for failure in failures {
        problems.extend(refused(failure)?);
    }
    problems.extend(untouched.into_iter().map(|(message, hint)| DraftProblem::new(message, hint)));
    Ok(problems)
}
