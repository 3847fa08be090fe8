//! What is checked before a flight starts: plan, configuration, repository, sandbox. Cheap and without traces.

use std::path::Path;

use holdpoint_bus::blobs;
use holdpoint_core::plan::{self, BUILT_IN_WORKFLOWS};
use holdpoint_protocol::{
    api::Submit,
    facts::{BlobRef, BundleRef},
    ids::{FlightId, role},
    journal::Fleet,
    plan::Plan,
};
use holdpoint_runtime::{config::Config, mirror::to_wire};
use holdpoint_sandbox::Sandbox;
use holdpoint_workspace::{Oid, UserRepo};

use crate::{
    client::Client,
    failure::{Failure, chain},
};

/// The covenant's place unless the plan says otherwise.
const COVENANT: &str = "AGENTS.md";

/// A plan and the commit that it starts from.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The plan.
    pub(crate) plan: Plan,
    /// The repository.
    pub(crate) repo: UserRepo,
    /// The commit.
    pub(crate) base: Oid,
}

/// Reads a plan file; all its problems at once.
pub(crate) fn read_plan(path: &Path) -> Result<Plan, Failure> {
    let text = std::fs::read(path).map_err(|error| {
        let message = format!("cannot read the plan {}: {error}", path.display());
        Failure::usage("plan_unreadable", message, "PLAN is the path of a YAML file")
    })?;
    let text = String::from_utf8(text).map_err(|_| {
        let message = format!("the plan {} is not UTF-8 text", path.display());
        Failure::usage("plan_unreadable", message, "PLAN is the path of a YAML file")
    })?;
    Ok(plan::read(&text, &path.display().to_string(), BUILT_IN_WORKFLOWS)?)
}

impl Ready {
    /// Finds the repository and the plan's base in it.
    pub(crate) async fn check(plan: Plan, repo: &Path) -> Result<Self, Failure> {
        let repo = UserRepo::open(repo).await?;
        let base = repo.resolve(&plan.base).await?;
        Ok(Self { plan, repo, base })
    }

    /// Stores the snapshot and begins the flight.
    pub(crate) async fn submit(self, client: &Client, flight: &FlightId, fleet: Fleet) -> Result<(), Failure> {
        let dir = tempfile::tempdir().map_err(|error| {
            let message = format!("cannot make a temporary folder: {error}");
            Failure::environment("temporary_folder", message, "TMPDIR names the place of temporary folders")
        })?;
        let bundle = self.repo.snapshot(&self.base, &dir.path().join("snapshot.bundle")).await?;
        let operator = role::id(role::OPERATOR);
        let digest = blobs::put_file(client.bus(), &operator, &bundle.path).await?;
        let base = to_wire(&self.base);
        let submit = Submit {
            flight: flight.clone(),
            covenant: self.plan.covenant.clone().unwrap_or_else(|| COVENANT.to_owned()),
            plan: self.plan,
            base: base.clone(),
            snapshot: BundleRef { blob: BlobRef { role: operator, digest, bytes: bundle.bytes }, tip: base },
            fleet,
        };
        client.submit(&submit).await?;
        Ok(())
    }
}

/// Refuses a configuration without a builder.
pub(crate) fn check_builder(config: &Config) -> Result<(), Failure> {
    if config.agents.builder.command.is_some() {
        return Ok(());
    }
    let hint = "say what builds: --builder 'CMD', or `command` below [agents.builder] in the file of --config";
    Err(Failure::usage("no_builder", "no builder is configured", hint))
}

/// Refuses a machine whose sandbox lacks a promise that the configuration does not waive.
pub(crate) async fn check_sandbox(config: &Config) -> Result<(), Failure> {
    let hint = "`holdpoint doctor` shows which property is enforced by what; `waive` below [sandbox] in the \
                configuration does without one, and every report says so";
    let unusable = |message| Failure::environment("sandbox", message, hint);
    let reports = Sandbox::of_this_executable().probe().await.map_err(|error| unusable(chain(&error)))?;
    let waived = &config.sandbox.waive;
    let missing: Vec<String> = reports
        .iter()
        .filter(|report| report.property.required() && !report.enforced() && !waived.contains(&report.property))
        .map(|report| format!("{} ({})", report.property, report.detail))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(unusable(format!("the sandbox cannot be enforced here: nothing gives {}", missing.join(", "))))
}
