//! `cargo xtask test`: every check, cheapest first, in one order for people and CI.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::images::{self, Build, Engine};
use crate::layout::Layout;
use crate::process;
use crate::tools::{self, SERVER_VARIABLE};

/// The package whose tests run whole flights.
const FLIGHTS: &str = "holdpoint-tests";

/// Runs all checks and stops at the first that fails.
pub(crate) fn run(layout: &Layout, fast: bool) -> anyhow::Result<()> {
    let start = Instant::now();
    let tools = tools::prepare_for_tests(layout)?;
    let cargo = |arguments: &[&str]| {
        let mut command = process::cargo(&layout.root, arguments);
        command.env(SERVER_VARIABLE, &tools.nats_server);
        command
    };
    let mut times = Vec::new();
    let mut step = |name: &'static str, mut command: Command, remedy: &str| -> anyhow::Result<()> {
        println!("\n== {name}");
        let time = process::run(&mut command, remedy).with_context(|| format!("{name} failed"))?;
        println!("== {name}: {}", seconds(time));
        times.push((name, time));
        Ok(())
    };

    step("format", cargo(&["fmt", "--all", "--check"]), "Run `cargo fmt --all`.")?;
    // Behind `--`: as RUSTFLAGS it would throw away everything that `cargo build` has compiled.
    step("lints", cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]), "")?;
    // Tests of whole flights start the programs, and cargo builds those for no test of another package. Built without the
    // tests, half of everything would be built twice: what only tests depend on asks for more features.
    step("build", cargo(&["build", "--workspace", "--bins", "--tests", "--locked"]), "")?;
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    documentation.env("RUSTDOCFLAGS", "-Dwarnings");
    step("documentation", documentation, "")?;
    step("documentation tests", cargo(&["test", "--workspace", "--doc", "--locked", "--quiet"]), "")?;
    if !fast {
        images(layout)?;
    }
    let filter: &[&str] = if fast { &["--exclude", FLIGHTS] } else { &[] };
    let runner: &[&str] =
        if tools.nextest.is_some() { &["nextest", "run"] } else { &["test", "--lib", "--bins", "--tests"] };
    let mut tests = cargo(&[runner, &["--workspace", "--locked"], filter].concat());
    if let Some(folder) = &tools.nextest {
        tests.env("PATH", path_with(folder)?);
    }
    step("tests", tests, "")?;

    println!();
    for (name, time) in times {
        println!("{:>8}  {name}", seconds(time));
    }
    let left_out = if fast { " (without the flights: --fast)" } else { "" };
    println!("{:>8}  all checks passed{left_out}", seconds(start.elapsed()));
    Ok(())
}

/// The images that the tests of containers run. Without an engine those tests cannot run, and say so once more.
fn images(layout: &Layout) -> anyhow::Result<()> {
    println!("\n== images");
    let Some(engine) = Engine::find(layout)? else {
        println!(
            "*** NO DOCKER ENGINE ANSWERS: the fleet in containers is not tested (with CI=true that is a failure) ***"
        );
        return Ok(());
    };
    let start = Instant::now();
    images::make(layout, &engine, Build::Debug).context("images failed")?;
    println!("== images: {}", seconds(start.elapsed()));
    Ok(())
}

/// The `PATH` of this process with one more folder, which comes last.
fn path_with(folder: &Path) -> anyhow::Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([folder.to_owned()]);
    std::env::join_paths(folders).with_context(|| format!("{} cannot stand on PATH", folder.display()))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
