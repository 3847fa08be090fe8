//! Starting programs, with errors that say which program and what to do.
//!
//! The product starts processes only through its sandbox; these are tools that a developer runs anyway.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};

/// Names that cargo sets for the program it runs. Passed on to another cargo they look like a changed environment, and
/// build scripts that watch them run again on every call.
const CARGO_RUN_PREFIXES: [&str; 6] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"];

/// A cargo command in `root`, with the cargo that runs us and without its variables.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    without_cargo(command(program, arguments, root))
}

/// The command without the variables of the cargo that runs us, for a program that runs cargo itself.
pub(crate) fn without_cargo(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| CARGO_RUN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}

/// A command for `program` in `directory`.
pub(crate) fn command(program: impl AsRef<OsStr>, arguments: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    command
}

/// Runs `command` to its end and returns its standard output, trimmed.
///
/// Fails with the program's own words when it ends with an error; `remedy` says what to do then.
pub(crate) fn output(command: &mut Command, remedy: &str) -> anyhow::Result<String> {
    let shown = show(command);
    let output = command.output().map_err(|error| not_started(error, &shown, remedy))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` ended with {}\n{}{}", output.status, words.trim_end(), on_a_line(remedy));
    }
    let text = String::from_utf8(output.stdout).with_context(|| format!("`{shown}` printed no UTF-8"))?;
    Ok(text.trim().to_owned())
}

/// Runs `command` with our own terminal and returns how long it took, or an error that names it.
pub(crate) fn run(command: &mut Command, remedy: &str) -> anyhow::Result<Duration> {
    let shown = show(command);
    let start = Instant::now();
    let status = command.status().map_err(|error| not_started(error, &shown, remedy))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}{}", on_a_line(remedy));
    }
    Ok(start.elapsed())
}

/// Whether `command` can be started and ends well; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn not_started(error: std::io::Error, shown: &str, remedy: &str) -> anyhow::Error {
    if error.kind() == ErrorKind::NotFound {
        return anyhow!("`{shown}` cannot run: there is no such program{}", on_a_line(remedy));
    }
    anyhow!("`{shown}` cannot run: {error}{}", on_a_line(remedy))
}

fn on_a_line(remedy: &str) -> String {
    if remedy.is_empty() { String::new() } else { format!("\n{remedy}") }
}

/// The first words of a command, enough to know it by.
fn show(command: &Command) -> String {
    const WORDS_MAX: usize = 6;
    let program = Path::new(command.get_program()).file_name().unwrap_or_else(|| command.get_program());
    let mut words: Vec<_> = std::iter::once(program).chain(command.get_args()).map(OsStr::to_string_lossy).collect();
    if words.len() > WORDS_MAX {
        words.truncate(WORDS_MAX);
        words.push("…".into());
    }
    words.join(" ")
}
