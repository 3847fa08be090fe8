//! `cargo xtask test`: every check, cheapest first, in one order for people and CI.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::images::{self, Build, Engine};
use crate::layout::Layout;
use crate::process;
use crate::tools::{self, SERVER_VARIABLE, Tools};

/// The package whose tests run whole flights.
pub(crate) const FLIGHTS: &str = "holdpoint-tests";

/// Runs all checks and stops at the first that fails. What waits for the network and the disk runs next to what computes.
pub(crate) fn run(layout: &Layout, fast: bool) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut steps = Steps::default();
    let cargo = |arguments: &[&str]| process::cargo(&layout.root, arguments);
    let (tools, engine) = thread::scope(|scope| {
        let needed = scope.spawn(|| needed(layout, fast));
        steps.run("format", &mut cargo(&["fmt", "--all", "--check"]), "Run `cargo fmt --all`.")?;
        // Behind `--`: as RUSTFLAGS it would throw away everything that `cargo build` has compiled.
        let lints = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
        steps.run("lints", &mut cargo(&lints), "")?;
        // Tests of whole flights start the programs, and cargo builds those for no test of another package. Built without the
        // tests, half of everything would be built twice: what only tests depend on asks for more features.
        steps.run("build", &mut cargo(&["build", "--workspace", "--bins", "--tests", "--locked"]), "")?;
        joined(needed)
    })?;
    if engine.is_some() {
        images::program(layout, Build::Debug)?;
    }
    thread::scope(|scope| {
        let images = engine.as_ref().map(|engine| scope.spawn(|| images::assemble(layout, engine, Build::Debug)));
        let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
        documentation.env("RUSTDOCFLAGS", "-Dwarnings");
        steps.run("documentation", &mut documentation, "")?;
        let examples = ["test", "--workspace", "--doc", "--locked", "--quiet"];
        steps.run("documentation tests", cargo(&examples).env(SERVER_VARIABLE, &tools.nats_server), "")?;
        images.map_or(Ok(()), joined).context("images failed")
    })?;
    let filter: &[&str] = if fast { &["--exclude", FLIGHTS] } else { &[] };
    steps.run("tests", &mut tester(layout, tools, &[&["--workspace"], filter].concat())?, "")?;

    println!();
    for (name, time) in steps.times {
        println!("{:>8}  {name}", seconds(time));
    }
    let left_out = if fast { " (without the flights: --fast)" } else { "" };
    println!("{:>8}  all checks passed{left_out}", seconds(start.elapsed()));
    Ok(())
}

/// The command that runs these packages' tests, with what tests need around it.
pub(crate) fn tester(layout: &Layout, tools: Tools, packages: &[&str]) -> anyhow::Result<Command> {
    let runner: &[&str] =
        if tools.nextest.is_some() { &["nextest", "run"] } else { &["test", "--lib", "--bins", "--tests"] };
    let mut tests = process::cargo(&layout.root, &[runner, &["--locked"], packages].concat());
    tests.env(SERVER_VARIABLE, &tools.nats_server);
    tests.env("PATH", path(python(layout), tools.nextest)?);
    Ok(tests)
}

/// The steps that were run, with their times.
#[derive(Default)]
struct Steps {
    times: Vec<(&'static str, Duration)>,
}

impl Steps {
    fn run(&mut self, name: &'static str, command: &mut Command, remedy: &str) -> anyhow::Result<()> {
        println!("\n== {name}");
        let time = process::run(command, remedy).with_context(|| format!("{name} failed"))?;
        println!("== {name}: {}", seconds(time));
        self.times.push((name, time));
        Ok(())
    }
}

/// What tests need of other people's programs, and an engine with what our images are built on. Without one the tests of
/// containers cannot run, and say so once more.
fn needed(layout: &Layout, fast: bool) -> anyhow::Result<(Tools, Option<Engine>)> {
    let tools = tools::prepare_for_tests(layout)?;
    if fast {
        return Ok((tools, None));
    }
    let engine = Engine::find(layout)?;
    match &engine {
        Some(engine) => images::bases(layout, engine, &tools).context("images failed")?,
        None => println!(
            "*** NO DOCKER ENGINE ANSWERS: the fleet in containers is not tested (with CI=true that is a failure) ***"
        ),
    }
    Ok((tools, engine))
}

fn joined<T>(thread: ScopedJoinHandle<'_, anyhow::Result<T>>) -> anyhow::Result<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The `PATH` of this process with one more folder before and behind it.
fn path(first: Option<PathBuf>, last: Option<PathBuf>) -> anyhow::Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = first.into_iter().chain(std::env::split_paths(&path)).chain(last);
    std::env::join_paths(folders).context("a folder of a tool cannot stand on PATH")
}

/// Where the interpreter itself is. What pyenv has in its place starts twenty programs each time, and tests call it hundreds of times.
fn python(layout: &Layout) -> Option<PathBuf> {
    let mut command = process::command("python3", &["-c", "import sys; print(sys.executable)"], &layout.root);
    let said = process::output(&mut command, "").ok()?;
    Path::new(said.trim()).parent().map(Path::to_owned)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
