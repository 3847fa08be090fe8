//! `cargo xtask demo`: the example flights, on fresh copies of their repositories.
//!
//! It uses the command line tool as a user does and knows nothing of how a flight works.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::layout::Layout;
use crate::process;
use crate::tools::{self, SERVER_VARIABLE, Tools};

/// One example: a folder below `examples/` with `repo/`, `plan.yaml`, `builder.sh` and perhaps `repair.sh`.
struct Example {
    name: &'static str,
    about: &'static str,
    builders: &'static str,
    /// Whether all of it is accepted. Where it is not, that is what the example shows.
    accepted: bool,
}

const EXAMPLES: [Example; 6] = [
    Example {
        name: "first-flight",
        about: "two waypoints; the builder's first try at the second is wrong, and a repair fixes it",
        builders: "1",
        accepted: true,
    },
    Example {
        name: "codemod-fleet",
        about: "five Rust crates, one waypoint each, fixed by `cargo clippy --fix`, and one of them by hand",
        builders: "2",
        accepted: true,
    },
    Example {
        name: "over-http",
        about: "tests over HTTP are the criteria; the builder's first try answers one with a wrong status",
        builders: "1",
        accepted: true,
    },
    Example {
        name: "alone",
        about: "one agent checks its own work; its first try is wrong and says that it is right",
        builders: "1",
        accepted: true,
    },
    Example {
        name: "twelve-checks",
        about: "a verifier's gate runs the twelve checks of a Rust crate and waits for a score",
        builders: "1",
        accepted: true,
    },
    Example {
        name: "false-done",
        about: "seven programs that say they are done and are not, and one that is: only that one is accepted",
        builders: "2",
        accepted: false,
    },
];

/// Exit codes of `holdpoint run` after which another flight would end the same way: usage, and environment.
const HOPELESS: [i32; 2] = [2, 3];

/// A flight that was flown.
struct Flown {
    example: &'static str,
    repo: PathBuf,
    accepted: bool,
    /// It ended as the example says it does.
    as_told: bool,
}

/// Runs all examples; fails if one did not end as it should.
pub(crate) fn run(layout: &Layout) -> anyhow::Result<()> {
    let tools = tools::prepare(layout)?;
    println!("\n== building the command line tool");
    process::run(&mut process::cargo(&layout.root, &["build", "--package", "holdpoint-cli", "--locked"]), "")?;

    let state = state_dir()?;
    let mut flown = Vec::new();
    for example in &EXAMPLES {
        flown.push(fly(layout, &tools, &state, example)?);
    }
    report(layout, &state, &flown)?;
    let strange: Vec<_> = flown.iter().filter(|flight| !flight.as_told).map(|flight| flight.example).collect();
    if !strange.is_empty() {
        bail!("not as it should be: {}", strange.join(", "));
    }
    Ok(())
}

fn fly(layout: &Layout, tools: &Tools, state: &Path, example: &Example) -> anyhow::Result<Flown> {
    let source = layout.root.join("examples").join(example.name);
    let repo = fresh_repository(layout, &source, example.name)?;
    println!("\n== {}: {}\n   repository {}", example.name, example.about, repo.display());

    let mut command = process::command(layout.holdpoint(), &["run"], &layout.root);
    command.arg(source.join("plan.yaml")).arg("--repo").arg(&repo);
    command.arg("--builder").arg(shell_word(&source.join("builder.sh"))?);
    let repair = source.join("repair.sh");
    if repair.exists() {
        command.arg("--repair").arg(shell_word(&repair)?);
    }
    command.args(["--builders", example.builders]);
    command.env("HOLDPOINT_STATE_DIR", state).env(SERVER_VARIABLE, &tools.nats_server);
    let status = command.status().with_context(|| format!("failed to start {}", layout.holdpoint().display()))?;
    if status.code().is_none_or(|code| HOPELESS.contains(&code)) {
        bail!("`holdpoint run` ended with {status} in {}; it has said why above", example.name);
    }
    let accepted = status.success();
    Ok(Flown { example: example.name, repo, accepted, as_told: accepted == example.accepted })
}

/// Copies the example's repository to the first free place and commits it there.
fn fresh_repository(layout: &Layout, source: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let demo = layout.target.join("demo");
    let place = (1_u32..).map(|number| demo.join(format!("{name}-{number}"))).find(|place| !place.exists());
    let repo = place.context("no free place for a copy below target/demo")?.join("repo");
    copy_tree(&source.join("repo"), &repo)?;
    let git = |arguments: &[&str]| {
        let mut command = process::command("git", arguments, &repo);
        // The same repository on every machine, whatever its owner has configured.
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Holdpoint demo")
                .env(format!("GIT_{role}_EMAIL"), "demo@localhost");
        }
        process::output(&mut command, "The demo needs a git that works.")
    };
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message", "Start of the example"])?;
    Ok(repo)
}

/// Copies files and folders, but no build output that a user left in the example.
fn copy_tree(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("failed to create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("failed to read {}", from.display()))? {
        let entry = entry.with_context(|| format!("failed to read {}", from.display()))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            if entry.file_name() != "target" && entry.file_name() != "__pycache__" {
                copy_tree(&source, &target)?;
            }
        } else {
            fs::copy(&source, &target).with_context(|| format!("failed to copy {}", source.display()))?;
        }
    }
    Ok(())
}

fn report(layout: &Layout, state: &Path, flown: &[Flown]) -> anyhow::Result<()> {
    println!("\n== where to look");
    for flight in flown {
        let word = match (flight.accepted, flight.as_told) {
            (true, true) => "accepted",
            (false, true) => "not accepted, as it should be",
            (true, false) => "ACCEPTED, and should not be",
            (false, false) => "NOT accepted",
        };
        println!("\n{} ({word})\n  cd {}", flight.example, flight.repo.display());
        for branch in flight_branches(&flight.repo)? {
            println!("  git log --stat main..{branch}");
        }
    }
    let holdpoint = layout.holdpoint();
    println!("\nWhat happened on the way, in one of those folders:");
    println!("  export HOLDPOINT_STATE_DIR={}", state.display());
    println!("  {} status", holdpoint.display());
    println!("  {} history <waypoint>", holdpoint.display());
    Ok(())
}

fn flight_branches(repo: &Path) -> anyhow::Result<Vec<String>> {
    let mut command =
        process::command("git", &["for-each-ref", "--format=%(refname:short)", "refs/heads/holdpoint/"], repo);
    Ok(process::output(&mut command, "")?.lines().map(str::to_owned).collect())
}

/// A state folder of this run's own, unless the environment names one.
///
/// It is not below the checkout: clones and checkouts live in it, and programs such as cargo and clippy read settings
/// from every folder above the one they run in. Ours are not meant for the examples, and their sandbox hides them.
fn state_dir() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("HOLDPOINT_STATE_DIR").filter(|named| !named.is_empty()) {
        return std::path::absolute(named).context("failed to make HOLDPOINT_STATE_DIR absolute");
    }
    let place = std::env::temp_dir().join(format!("holdpoint-demo-{}", std::process::id()));
    // Fails on a folder that another user has put there, and lets nobody else look in.
    let made = fs::DirBuilder::new().mode(0o700).create(&place);
    made.with_context(|| format!("failed to create {}", place.display()))?;
    Ok(place)
}

/// `path` as one word of a shell command line, quoted only where it must be.
fn shell_word(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().with_context(|| format!("{} is no UTF-8", path.display()))?;
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    if text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::shell_word;

    #[test]
    fn paths_survive_the_shell() -> anyhow::Result<()> {
        let check = |path, expected| shell_word(Path::new(path)).map(|word| assert_eq!(word, expected));
        check("/a/b-1.sh", "/a/b-1.sh")?;
        check("/a b/c.sh", "'/a b/c.sh'")?;
        check("/it's/c.sh", r"'/it'\''s/c.sh'")
    }
}
