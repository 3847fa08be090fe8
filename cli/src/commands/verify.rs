//! `verify`: judges a change that was made elsewhere. Nothing lands.

use holdpoint_account::attest::JudgedChange;
use holdpoint_planfile::plan;
use holdpoint_protocol::{
    artifact::VerificationPurpose,
    plan::{EnvironmentSpec, Waypoint},
};
use holdpoint_runtime::{clock, config::Config, mirror::to_wire};
use holdpoint_text::units;
use holdpoint_verifier_agent::Findings;
use holdpoint_workspace::{ObjectId, UserRepo};

use crate::{
    args::{Work, verify::VerifyArgs},
    failure::{Exit, Failure},
    ground, output, preflight,
    project::Defaults,
    ready::{Planned, Ready},
    temporary,
    verify::{
        attestation::AttestationKey,
        change::Change,
        delivery,
        verdict::{Asked, ChangeVerdict, asks_base},
    },
    workbench::{LocalWorkbench, ToVerify, TreeEnvironment},
};

/// What was found on a change, and on its base where that matters.
struct Judged {
    on_work: Findings,
    on_base: Option<Findings>,
    tree: ObjectId,
}

/// Judges a change.
pub(super) async fn verify(args: VerifyArgs) -> Result<Exit, Failure> {
    let repo = ground::find(&args.repo).await?;
    let change = Change::find(&repo, &args.work, args.base.as_deref()).await?;
    let overrides = args.judge.iter().map(|judge| ("agents.verifier.judge".to_owned(), judge.clone())).collect();
    let mut config = Config::load(args.config.as_deref(), overrides)?;
    preflight::check_sandbox(&config).await?;
    config.agent.environments_dir.get_or_insert(ground::state(&repo).await?.environments());
    let key = args.attest.as_ref().map(|_| AttestationKey::load(args.key.as_deref())).transpose()?;
    config.agents.verifier.deny_paths.extend(key.iter().map(|key| key.file.clone()));
    let mut planned = planned(&args, &repo, &change.base).await?;
    if args.here {
        let said = match planned.plan.environment {
            Some(said) => said,
            None => Defaults::of(&repo, &change.base).await?.environment,
        };
        // Where things are is as true of what is installed; nothing is set up.
        planned.plan.environment = Some(EnvironmentSpec { setup: None, ..said });
    }
    preflight::check_programs(&planned.plan, args.plan.as_deref())?;
    let judge = config.agents.verifier.judge.is_some();
    preflight::warn(&preflight::unjudged(&planned.plan, judge, args.plan.as_deref()));
    let ready = Ready::on(planned, repo, change.base.clone()).await?;
    let waypoint = chosen(&ready, &args)?;
    let environment = if args.here { TreeEnvironment::Here } else { TreeEnvironment::SetUp };
    let Judged { on_work, on_base, tree } = Box::pin(judged(&ready, waypoint, &change, (&config, environment))).await?;
    let (plan, base, tree) = (&ready.plan, change.base.to_string(), tree.to_string());
    let work = change.commit().map(ToString::to_string);
    let asked = Asked { plan, waypoint, is_planned: args.plan.is_some(), base, work, tree, environment };
    let verdict = ChangeVerdict::of(asked, &on_work, on_base.as_ref());
    if let Some(dir) = &args.logs {
        delivery::logs(dir, [Some(&on_work), on_base.as_ref()].into_iter().flatten())?;
    }
    let attestation = || {
        let ChangeVerdict { base, work, tree, shown, .. } = &verdict;
        let judged = JudgedChange { plan, base, commit: work.as_deref(), tree, shown: *shown, at: clock::now() };
        key.as_ref().map(|key| key.envelope(&judged, &verdict)).unwrap_or_default()
    };
    delivery::tell(&args, &verdict, &attestation)?;
    Ok(if verdict.shown { Exit::Success } else { Exit::Incomplete })
}

/// What the change is judged by: a plan's file, or what the base says of every change.
async fn planned(args: &VerifyArgs, repo: &UserRepo, base: &ObjectId) -> Result<Planned, Failure> {
    if let Some(file) = &args.plan {
        return preflight::read_work(Work::Plan(file), &args.repo, None).await;
    }
    let Defaults { suite, verify, .. } = Defaults::of(repo, base).await?;
    let rules = verify.unwrap_or_default();
    if rules.criteria.is_empty() {
        let Some(suite) = &suite else {
            let message = format!(
                "nothing says what a change has to show: no project.yaml of {base} does, and no files of a known kind are there"
            );
            let hint = "name a plan, or commit a project.yaml with `verify: {criteria: [{id: unit, check: CMD}]}` or `suite: CMD`";
            return Err(Failure::usage("nothing_asked", message, hint));
        };
        output::err(&format!("note: a change has to pass {suite}; `verify` or `suite` in project.yaml says otherwise"));
    }
    let hint = "correct `verify` in project.yaml";
    let refused = |why: String| Failure::usage("verify", format!("changes cannot be judged: {why}"), hint);
    let plan = plan::of_change(&rules, suite.as_deref());
    let plan = plan.ok_or_else(|| refused("its texts cannot stand in a plan".to_owned()))?;
    preflight::planned(plan, &args.repo).await?.map_err(|found| refused(found.in_a_line(1)))
}

/// The waypoint that the change is work on.
fn chosen<'a>(ready: &'a Ready, args: &VerifyArgs) -> Result<&'a Waypoint, Failure> {
    let all = &ready.plan.waypoints;
    let names = || all.iter().map(|waypoint| waypoint.id.as_str()).collect::<Vec<_>>().join(", ");
    match (&args.waypoint, all.as_slice()) {
        (None, [only]) => Ok(only),
        (None, _) => {
            let message = format!("the plan has {}: {}", units::counted(all.len(), "waypoint"), names());
            Err(Failure::usage("which_waypoint", message, "say which one the change is work on: --waypoint ID"))
        }
        (Some(id), _) => all.iter().find(|waypoint| waypoint.id == *id).ok_or_else(|| {
            Failure::usage("unknown_waypoint", format!("the plan has no waypoint {id}"), format!("it has {}", names()))
        }),
    }
}

/// Judges the work and, where it matters, the base.
async fn judged(
    ready: &Ready,
    waypoint: &Waypoint,
    change: &Change,
    (config, environment): (&Config, TreeEnvironment),
) -> Result<Judged, Failure> {
    let folder = temporary::folder()?;
    let bundle = ready.repo.change(&change.base, change.source(), &folder.path().join("change.bundle")).await?;
    let bench = LocalWorkbench::new(&ready.repo, config, (folder, &bundle), "verifying", environment).await?;
    let commit = bench.tip.clone();
    let tree = bench.mirror.tree_of(&commit).await?;
    // A change that changes nothing is its base.
    let base = bench.mirror.parents(&commit).await?.into_iter().next().unwrap_or_else(|| commit.clone());
    let asked = async |purpose, commit: &ObjectId| {
        let asked = ToVerify {
            plan: &ready.plan,
            purpose,
            base: to_wire(&base),
            commit: to_wire(commit),
            tree: to_wire(&bench.mirror.tree_of(commit).await?),
            criteria: waypoint.criteria.clone(),
            waypoint: Some(waypoint),
        };
        Ok::<_, Failure>(asked.request())
    };
    let on_work = bench.verify(&asked(VerificationPurpose::Handoff, &commit).await?).await?;
    if !asks_base(&ready.plan, waypoint, &on_work) {
        return Ok(Judged { on_work, on_base: None, tree });
    }
    let on_base = bench.verify(&asked(VerificationPurpose::Baseline, &base).await?).await?;
    Ok(Judged { on_work, on_base: Some(on_base), tree })
}
