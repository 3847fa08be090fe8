//! One module a command.

mod act;
mod adopt;
mod archive;
mod attest;
mod audit;
mod bench;
mod bridge;
mod budget;
mod check;
mod console;
mod cost;
mod dead;
mod diff;
pub(crate) mod doctor;
mod draft;
mod export;
pub(crate) mod forget;
mod handoffs;
mod health;
mod inbox;
mod init;
mod keys;
mod logs;
mod look;
mod man;
mod mcp;
mod migrate;
mod observe;
mod org;
mod pr;
mod process;
mod purge;
mod revise;
mod run;
mod schema;
pub(crate) mod submit;
mod taking;
mod task;
mod traces;
pub(crate) mod up;
mod verify;
mod watch;
mod workflow;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::{
    args::{self, Cli, Command},
    failure::{Exit, Failure},
};

/// Runs a command to its end. Each is boxed: together they would be one large future.
pub(crate) async fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => Box::pin(run::run(args)).await,
        Command::Check(args) => Box::pin(check::check(args)).await,
        Command::Verify(args) => Box::pin(verify::verify(args)).await,
        Command::Init(args) => Box::pin(init::init(args)).await,
        Command::Draft(args) => Box::pin(draft::draft(args)).await,
        Command::Diff(args) => Box::pin(diff::diff(args)).await,
        Command::Forget(args) => Box::pin(forget::forget(args)).await,
        Command::Purge(args) => Box::pin(purge::purge(args)).await,
        Command::Workflow(args) => workflow::workflow(args).await,
        Command::Org(args) => org::org(args).await,
        Command::Up(args) => Box::pin(up::up(args)).await,
        Command::Console(args) => Box::pin(console::console(args)).await,
        Command::Submit(args) => Box::pin(submit::submit(args)).await,
        Command::Watch(args) => Box::pin(watch::watch(args)).await,
        Command::Status(args) => Box::pin(look::status(args)).await,
        Command::Handoffs(args) => Box::pin(handoffs::handoffs(args)).await,
        Command::Logs(args) => Box::pin(logs::logs(args)).await,
        Command::History(args) => Box::pin(look::history(args)).await,
        Command::Artifact(args) => Box::pin(look::artifact(args)).await,
        Command::Events(args) => Box::pin(observe::events(args)).await,
        Command::Gates(args) => Box::pin(observe::gates(args)).await,
        Command::Task(args) => Box::pin(task::task(args)).await,
        Command::Report(args) => Box::pin(observe::report(args)).await,
        Command::Fetch(args) => Box::pin(watch::fetch(args)).await,
        Command::Pr(args) => Box::pin(pr::pr(args)).await,
        Command::Export(args) => Box::pin(export::export(args)).await,
        Command::Archive(args) => Box::pin(archive::archive(args)).await,
        Command::Migrate(args) => Box::pin(migrate::migrate(args)).await,
        Command::Audit(args) => Box::pin(audit::audit(args)).await,
        Command::Attest(args) => Box::pin(attest::attest(args)).await,
        Command::Inbox(args) => Box::pin(inbox::inbox(args)).await,
        Command::Answer(args) => Box::pin(act::answer(args)).await,
        Command::Approve(args) => Box::pin(act::approve(args)).await,
        Command::Reject(args) => Box::pin(act::reject(args)).await,
        Command::Mcp(args) => Box::pin(mcp::mcp(args)).await,
        Command::Bridge(args) => Box::pin(bridge::bridge(args)).await,
        Command::Take(args) => Box::pin(taking::take(args)).await,
        Command::HandIn(args) => Box::pin(taking::hand_in(args)).await,
        Command::Release(args) => Box::pin(taking::release(args)).await,
        Command::Revise(args) => Box::pin(revise::revise(args)).await,
        Command::Budget(args) => Box::pin(budget::budget(args)).await,
        Command::Cost(args) => Box::pin(cost::cost(args)).await,
        Command::Retry(args) => Box::pin(act::retry(args)).await,
        Command::Cancel(args) => Box::pin(act::cancel(args)).await,
        Command::Pause(args) => Box::pin(act::pause(args)).await,
        Command::Resume(args) => Box::pin(act::resume(args)).await,
        Command::Dead(args) => Box::pin(dead::dead(args)).await,
        Command::Doctor(args) => Box::pin(doctor::doctor(args)).await,
        Command::Health(args) => health::health(&args),
        Command::Keys(args) => keys::keys(args),
        Command::Bench(args) => Box::pin(bench::bench(args)).await,
        Command::Trace(args) => traces::trace(&args),
        Command::OtlpSink(args) => Box::pin(traces::sink(args)).await,
        Command::Schema(args) => schema::schema(&args),
        Command::AgentCheck(args) => Box::pin(crate::agent_check::agent_check(args)).await,
        Command::Adopt(args) => Box::pin(adopt::adopt(args)).await,
        Command::Completion(args) => Ok(completion(args.shell)),
        Command::Man(args) => man::man(&args),
        Command::Orchestrator(args) => Box::pin(process::orchestrator(args)).await,
        Command::Agent(args) => Box::pin(process::agent(args)).await,
    }
}

fn completion(shell: args::Shell) -> Exit {
    let shell = match shell {
        args::Shell::Bash => Shell::Bash,
        args::Shell::Zsh => Shell::Zsh,
        args::Shell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "holdpoint", &mut script);
    crate::output::bytes(&script);
    Exit::Success
}
