//! `check`: everything that `run` would refuse, without flying.

use holdpoint_harness::backend::command::own_environment;
use holdpoint_planfile::{
    plan::{self, PatternMatches},
    workflows,
};
use holdpoint_protocol::plan::EnvironmentSpec;
use holdpoint_runtime::config::{Config, presets::PresetName};
use holdpoint_text::{shown, units};
use serde::Serialize;

use super::{
    doctor,
    run::{BUILDERS_DEFAULT, nothing_named, refuse_own_fleet},
};
use crate::{
    args::{CheckArgs, Work},
    base_tree::BaseTree,
    declared,
    failure::{Exit, Failure},
    fleet::{find_server, known_broker},
    output,
    preflight::{self, Cleared},
    program::login::Login,
    ready::{Planned, Ready},
    rehearsal,
    skills::{Applied, Skills},
    state,
    target::Remote,
    temporary,
};

/// Waypoints that are named of one skill.
const NAMED_MAX: usize = 10;
/// Patterns that are shown to people.
const PATTERNS_SHOWN: usize = 40;

/// The result; its JSON form is what `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    /// The plan's name.
    plan: String,
    /// The commit that the flight would start from.
    base: String,
    waypoints: usize,
    criteria: usize,
    guards: usize,
    /// What its trees depend on, as the plan says or as its lock files do.
    environment: Option<EnvironmentSpec>,
    /// What the patterns of `scope` and `protected` match on the base.
    patterns: Vec<PatternMatches>,
    /// The skill packs of the base, and the waypoints whose builders get them.
    skills: Vec<Applied>,
    /// What would not keep `run` from flying, but the flight from ending well.
    warnings: Vec<String>,
}

/// Looks at a plan and at what it would be flown with.
pub(super) async fn check(args: CheckArgs) -> Result<Exit, Failure> {
    let remote = Remote::named(&args.place)?;
    if remote.is_some() {
        refuse_own_fleet(&args.commands)?;
    }
    let work = Work::named(args.plan.as_ref(), &args.task).ok_or_else(nothing_named)?;
    let (ready, mut warnings) = match remote {
        Some(remote) => elsewhere(&args, preflight::read_work(work, &args.place.repo, None).await?, &remote).await?,
        None => here(&args, work).await?,
    };
    let tree = BaseTree::of(&ready).await?;
    let found = Skills::of(&tree).await;
    let skills = found.applied(&ready, &tree);
    let patterns = plan::matches_on(&ready.plan, &tree.paths());
    warnings.extend(preflight::of_base(&tree, &ready.plan, args.plan.as_deref()));
    warnings.extend(found.problems);
    let Ready { plan, base, .. } = ready;
    let report = Report {
        ok: true,
        base: base.to_string(),
        waypoints: plan.waypoints.len(),
        criteria: plan.waypoints.iter().map(|waypoint| waypoint.criteria.len()).sum(),
        guards: plan.guards.len(),
        environment: plan.environment.filter(|environment| !environment.is_none()),
        plan: plan.plan,
        patterns,
        skills,
        warnings,
    };
    preflight::warn(&report.warnings);
    if args.json {
        output::json(&report);
    } else {
        let Report { plan, base, waypoints, criteria, guards, .. } = &report;
        output::out(&format!(
            "{plan} can be flown from {base}: waypoints {waypoints}, criteria {criteria}, guards {guards}"
        ));
        let setup = report.environment.as_ref().and_then(|environment| environment.setup.as_deref());
        setup.iter().for_each(|setup| output::out(&format!("environment: {setup}")));
        report.patterns.iter().take(PATTERNS_SHOWN).for_each(|pattern| output::out(&in_a_line(pattern)));
        if let Some(more) = report.patterns.len().checked_sub(PATTERNS_SHOWN).filter(|more| *more > 0) {
            output::out(&format!("and {more} more patterns: --json has them"));
        }
        report.skills.iter().for_each(|skill| output::out(&skill.in_a_line(NAMED_MAX)));
    }
    Ok(Exit::Success)
}

/// A pattern, and what it matches.
fn in_a_line(PatternMatches { list, waypoint, pattern, paths, examples }: &PatternMatches) -> String {
    let of = waypoint.as_ref().map(|waypoint| format!(" of {waypoint}")).unwrap_or_default();
    let more = if *paths > examples.len() { ", …" } else { "" };
    let matched = match paths {
        0 => "no path yet".to_owned(),
        _ => format!("{}, {}{more}", units::counted(*paths, "path"), examples.join(", ")),
    };
    shown::line(&format!("{}{of} {pattern}: {matched}", list.key())).into_owned()
}

/// On a fleet of one's own. A plan can be looked at before there is a builder: that is a warning only.
async fn here(args: &CheckArgs, work: Work<'_>) -> Result<(Ready, Vec<String>), Failure> {
    let mut config = Config::load(args.commands.config.as_deref(), args.commands.overrides())?;
    args.commands.for_all(&mut config);
    let plan = preflight::read_work(work, &args.place.repo, Some(&config)).await?;
    preflight::alone(&mut config, &plan.plan, args.commands.builders);
    let (needs_builder, file) = (preflight::needs_builder(&plan), args.plan.as_deref());
    let Cleared { ready, mut config, state, .. } =
        Box::pin(preflight::clear(plan, file, config, &args.place.repo)).await?;
    declared::check_sections(&config, &args.commands, &args.place.repo).await?;
    state::writable(state.dir())?;
    config.agent.environments_dir.get_or_insert_with(|| state.environments());
    temporary::usable()?;
    if known_broker(&state).is_none() {
        find_server().await?;
    }
    let doubts = if args.no_try { Vec::new() } else { Box::pin(rehearsal::try_base(&ready, &config)).await? };
    let mut warnings = preflight::unjudged(&ready.plan, config.agents.verifier.judge.is_some(), file);
    warnings.extend(preflight::loose(&ready.plan, file));
    warnings.extend(doubts);
    warnings.extend(unready(&config, !args.no_try).await);
    if config.agents.builder.command.is_none() && needs_builder {
        warnings.insert(0, "no builder is named, and `run` wants one: --builder 'CMD'".to_owned());
    }
    let specs = workflows::specs(&ready.plan, &ready.workflows);
    let roles = workflows::declared_roles(&specs, ready.plan.policy.mode);
    warnings.extend(preflight::crowded(&config, &specs));
    warnings.extend(preflight::lacking(&config, &roles).map(|role| {
        format!("no program is named for agents of the role {role}, and `run` wants one: {}", preflight::flag(role))
    }));
    let builders = args.commands.builders.or(config.agents.builder.count).unwrap_or(BUILDERS_DEFAULT);
    if let Some(lacking) = preflight::lacks_second(&config, builders, &ready.plan, &ready.workflows) {
        warnings.push(format!("`run` will refuse it: {}", lacking.message()));
    }
    Ok((ready, warnings))
}

/// What keeps the named coding agents from working, as far as that can be tried without cost.
async fn unready(config: &Config, tries: bool) -> Vec<String> {
    let (own_env, mut told) = (own_environment(), Vec::new());
    let mut seen: Vec<&str> = Vec::new();
    for (_, program) in config.agents.programs() {
        let Some(preset) = program.preset.map(PresetName::preset) else { continue };
        told.extend(Login::of(preset, program, &own_env).and_then(|login| login.problem(preset)));
        if tries && !seen.contains(&preset.program) {
            seen.push(preset.program);
            let started = Box::pin(doctor::agents::version(config, preset)).await;
            told.extend(started.err().map(|problem| format!("{} cannot work: {problem}", preset.program)));
        }
    }
    told.sort();
    told.dedup();
    told
}

/// On a fleet elsewhere, which is only connected to.
async fn elsewhere(args: &CheckArgs, plan: Planned, remote: &Remote) -> Result<(Ready, Vec<String>), Failure> {
    let config = Config::load(args.commands.config.as_deref(), Vec::new())?;
    let (ready, _) = preflight::clear_elsewhere(plan, &args.place.repo).await?;
    remote.connect().await?.bus().close().await;
    let judge = config.agents.verifier.judge.is_some();
    let mut warnings = preflight::unjudged(&ready.plan, judge, args.plan.as_deref());
    warnings.extend(preflight::loose(&ready.plan, args.plan.as_deref()));
    Ok((ready, warnings))
}

#[cfg(test)]
mod tests {
    use holdpoint_planfile::plan::PatternList;

    use super::*;

    #[test]
    fn a_pattern_is_a_line_with_how_many_paths_it_matches_and_which() {
        let of = |waypoint: Option<&str>, paths, examples: &[&str]| {
            in_a_line(&PatternMatches {
                list: PatternList::Scope,
                waypoint: waypoint.map(|id| id.parse().unwrap()),
                pattern: "app/[id]/**".to_owned(),
                paths,
                examples: examples.iter().map(|path| (*path).to_owned()).collect(),
            })
        };
        assert_eq!(of(Some("w"), 0, &[]), "scope of w app/[id]/**: no path yet");
        assert_eq!(of(None, 1, &["app/[id]/a"]), "scope app/[id]/**: 1 path, app/[id]/a");
        assert_eq!(of(None, 9, &["a", "b\n"]), "scope app/[id]/**: 9 paths, a, b\\n, …");
    }
}
