//! `draft`: an agent writes a plan, until doing nothing would not be accepted.

use std::path::{Path, PathBuf};

use holdpoint_planfile::plan::{PlanTask, of_task};
use holdpoint_runtime::config::Config;
use serde_json::json;

use crate::{
    args::draft::DraftArgs,
    draft::{DraftProblem, Drafted, Drafter, Review, goal},
    failure::{Exit, Failure, rest_quoted},
    issue, new_file, output,
    preflight::{self, Cleared},
    project::Defaults,
    ready::Planned,
    state, temporary,
    typed::{quoted, typed},
};

/// Drafts a plan, and writes it.
pub(super) async fn draft(args: DraftArgs) -> Result<Exit, Failure> {
    let out = args.out();
    new_file::check(&out, args.force)?;
    let wanted = wanted(&args)?;
    let cleared = clear(&args).await?;
    let suite = Defaults::of(&cleared.ready.repo, &cleared.ready.base).await?.suite;
    let mut drafter = Box::pin(Drafter::start(&cleared, goal(&wanted, suite.as_deref()))).await?;
    let (mut review, mut last) = (Review::default(), None);
    for round in 1..=args.rounds {
        output::err(&format!("round {round} of {}: the agent drafts", args.rounds));
        match Box::pin(drafter.draft(round, &review.problems)).await? {
            Drafted::Plan(bytes) => {
                review = Box::pin(Review::of(&bytes, &cleared.ready, &cleared.config)).await?;
                last = Some(bytes);
            }
            Drafted::Nothing(problem) => review.problems = vec![problem],
            Drafted::Asks(question) => return Err(asks(&question)),
        }
        if review.problems.is_empty()
            && let Some(plan) = &last
        {
            new_file::write(&out, plan, args.force)?;
            say(&args, &out, &review, round);
            return Ok(Exit::Success);
        }
        let said = |problem: &DraftProblem| output::err(&format!("✗ {}", rest_quoted(&problem.in_words())));
        review.problems.iter().for_each(said);
    }
    let kept = last.map(|plan| keep(&out, &plan)).transpose()?;
    if args.json {
        output::json(&result(kept.as_deref(), &review, args.rounds));
    }
    Ok(in_vain(kept.as_deref()).report(false))
}

/// The words of who wants it.
fn wanted(args: &DraftArgs) -> Result<String, Failure> {
    let text = match &args.issue {
        Some(file) => {
            let PlanTask { title, goal, .. } = issue::read(file)?;
            [Some(title), goal].into_iter().flatten().collect::<Vec<_>>().join("\n\n")
        }
        None => args.wanted.clone().unwrap_or_default(),
    };
    if text.trim().is_empty() {
        return Err(Failure::usage("arguments", "TEXT has no words", "say what you want: holdpoint draft 'TEXT'"));
    }
    Ok(text)
}

/// What a flight of one waypoint needs: the same program, sandbox and base.
async fn clear(args: &DraftArgs) -> Result<Cleared, Failure> {
    let commands = args.commands();
    let mut config = Config::load(commands.config.as_deref(), commands.overrides())?;
    commands.for_all(&mut config);
    if config.agents.builder.command.is_none() {
        let hint = "say what drafts: --agent 'CMD', or `command` below [agents.builder] in the file of --config";
        return Err(Failure::usage("no_agent", "no agent is configured", hint));
    }
    let task = PlanTask { title: "Draft a plan".to_owned(), checks: vec!["true".to_owned()], ..PlanTask::default() };
    let plan = of_task(&task).expect("literal texts");
    let planned = Planned { plan, workflows: Vec::new() };
    let mut cleared = Box::pin(preflight::clear(planned, None, config, &args.repo)).await?;
    state::writable(cleared.state.dir())?;
    temporary::usable()?;
    cleared.config.agent.environments_dir.get_or_insert_with(|| cleared.state.environments());
    Ok(cleared)
}

fn in_vain(kept: Option<&Path>) -> Failure {
    let (message, hint) = match kept {
        Some(kept) => {
            let check = typed(&format!("holdpoint check {}", quoted(&kept.to_string_lossy())));
            let message = format!("no draft was good enough to fly; the last one is {}", kept.display());
            (
                message,
                format!("correct it and look at it with `{check}`, say more in what you want, or allow more --rounds"),
            )
        }
        None => ("the agent wrote no plan".to_owned(), "the lines above say how its program ended".to_owned()),
    };
    Failure::Other { exit: Exit::Incomplete, code: "no_plan", message, hint }
}

fn asks(question: &str) -> Failure {
    let message = format!("the agent asks, and nobody answers while it drafts:\n{question}");
    let hint = "say it in what is wanted, and draft again".to_owned();
    Failure::Other { exit: Exit::Incomplete, code: "asks", message, hint }
}

/// Writes a draft that is not good next to where the plan would be, over no other file.
fn keep(out: &Path, plan: &[u8]) -> Result<PathBuf, Failure> {
    let mut place = out.with_extension("draft.yaml");
    let mut number = 1;
    loop {
        match new_file::write(&place, plan, false) {
            Err(failure) if failure.is(new_file::EXISTS) => {}
            other => return other.map(|()| place),
        }
        number += 1;
        place.set_file_name(format!("{}.draft-{number}.yaml", out.file_stem().unwrap_or_default().display()));
    }
}

fn result(plan: Option<&Path>, review: &Review, rounds: u32) -> serde_json::Value {
    json!({"plan": plan, "waypoints": review.steps, "problems": review.problems, "rounds": rounds})
}

fn say(args: &DraftArgs, out: &Path, review: &Review, rounds: u32) {
    if args.json {
        output::json(&result(Some(out), review, rounds));
        return;
    }
    output::out(&format!("{} is a plan; its waypoints, in order:", out.display()));
    review.steps.iter().flat_map(|step| step.lines()).for_each(|line| output::out(&line));
    let run = format!("holdpoint run {} --builder {}", quoted(&out.to_string_lossy()), program(args));
    output::out(&format!("next:  read it, then: {}", typed(&run)));
}

/// The program that drafted, which can build as well.
fn program(args: &DraftArgs) -> String {
    args.commands().builder.map_or_else(|| "CMD".to_owned(), |command| quoted(&command))
}
