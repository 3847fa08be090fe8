//! The coding agents that `soak agents` flies: programs of their makers from wheels with pinned digests, those written in Python each in
//! a virtual environment, and those that npm has, in pinned versions.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::python;
use crate::layout::Layout;
use crate::process;

/// The wheels that are downloaded, with the digests of the files that are accepted.
const REQUIREMENTS: &str = "xtask/agents.txt";
/// The variables that tell the long runs where a program is, and where the wheels have it.
const PROGRAMS: [(&str, &str); 2] = [
    ("HOLDPOINT_SOAK_CLAUDE", "claude_agent_sdk/_bundled/claude"),
    ("HOLDPOINT_SOAK_CODEX", "codex_cli_bin/bin/codex"),
];
/// The packages of npm, and the variables for their programs.
const NPM: [(&str, &str, &str); 5] = [
    ("HOLDPOINT_SOAK_GEMINI", "@google/gemini-cli@0.61.0", "gemini"),
    ("HOLDPOINT_SOAK_QWEN", "@qwen-code/qwen-code@0.15.10", "qwen"),
    ("HOLDPOINT_SOAK_OPENCODE", "opencode-ai@1.18.33", "opencode"),
    ("HOLDPOINT_SOAK_CLAUDE_AGENT_ACP", "@agentclientprotocol/claude-agent-acp@0.49.0", "claude-agent-acp"),
    ("HOLDPOINT_SOAK_CODEX_ACP", "@zed-industries/codex-acp@0.16.0", "codex-acp"),
];
const NPM_REMEDY: &str =
    "These agents need node and npm (Debian: apt-get install nodejs npm), and a way to npm's registry.";
/// A copy of the requirements says that all is there, and in which versions.
const DONE: &str = "agents.txt";

/// An agent that is a Python program.
struct Packaged {
    /// The variable that tells the long runs where its program is.
    variable: &'static str,
    /// Its environment.
    name: &'static str,
    /// Its program there.
    program: &'static str,
    /// Its versions, and those of all that it needs.
    requirements: &'static str,
    /// Pythons that it runs in: the first that is here makes the environment.
    pythons: &'static [&'static str],
    remedy: &'static str,
}

const PACKAGED: [Packaged; 2] = [
    Packaged {
        variable: "HOLDPOINT_SOAK_AIDER",
        name: "aider",
        program: "aider",
        requirements: "xtask/aider.txt",
        pythons: &["python3"],
        remedy: "Aider needs python3 of 3.10 to 3.12 with venv and pip, and a way to the Python package index.",
    },
    Packaged {
        variable: "HOLDPOINT_SOAK_VIBE",
        name: "vibe",
        program: "vibe-acp",
        requirements: "xtask/vibe.txt",
        pythons: &["python3.12", "python3.13"],
        remedy: "Mistral Vibe needs python3.12 or python3.13 on the PATH, with venv and pip, and a way to the Python package index.",
    },
];

/// The variables with the programs' paths. They are downloaded where they are not there in these versions: some 500 MB, 1.5 GB
/// unpacked. An error says which cannot be had here, and what to do.
pub(crate) fn find_or_get(layout: &Layout) -> Vec<anyhow::Result<(&'static str, PathBuf)>> {
    let mut programs = match from_wheels(layout) {
        Ok(programs) => programs.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    };
    programs.extend(PACKAGED.iter().map(|agent| packaged(layout, agent)));
    match from_npm(layout) {
        Ok(got) => programs.extend(got.into_iter().map(Ok)),
        Err(error) => programs.push(Err(error)),
    }
    programs
}

fn packaged(layout: &Layout, agent: &Packaged) -> anyhow::Result<(&'static str, PathBuf)> {
    let starts =
        |python: &&&str| process::output(&mut process::command(python, &["--version"], &layout.root), "").is_ok();
    let maker = agent.pythons.iter().find(starts).context(agent.remedy)?;
    let python = python::environment(layout, agent.name, maker, &[agent.requirements], agent.remedy)?;
    Ok((agent.variable, python.with_file_name(agent.program)))
}

/// Each is there, or npm gets all of them. Their scripts are not run: what these install is there without.
fn from_npm(layout: &Layout) -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let folder = layout.tools().join("agents-npm");
    let wanted = NPM.map(|(_, package, _)| package).join("\n");
    let done = folder.join(DONE);
    let programs = NPM.map(|(variable, _, program)| (variable, folder.join("node_modules/.bin").join(program)));
    if !fs::read_to_string(&done).is_ok_and(|text| text == wanted) {
        println!("agents       getting five coding agents with npm (1.5 GB unpacked)");
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        let to = folder.to_string_lossy();
        let flags = ["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", to.as_ref()];
        let packages = NPM.map(|(_, package, _)| package);
        let mut npm = process::command("npm", &flags, &layout.root);
        process::run(npm.args(packages), NPM_REMEDY)?;
        if let Some((_, path)) = programs.iter().find(|(_, path)| !path.exists()) {
            bail!("npm ended well but left no {}", path.display());
        }
        // Last: a folder that was left half made is filled again.
        fs::write(&done, &wanted).with_context(|| format!("failed to write {}", done.display()))?;
    }
    Ok(programs.into())
}

fn from_wheels(layout: &Layout) -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let file = layout.root.join(REQUIREMENTS);
    let wanted = fs::read(&file).with_context(|| format!("failed to read {}", file.display()))?;
    let folder = layout.tools().join("agents");
    let programs: Vec<_> = PROGRAMS.iter().map(|(variable, path)| (*variable, folder.join(path))).collect();
    let done = folder.join(DONE);
    let there = programs.iter().all(|(_, path)| path.is_file());
    if there && fs::read(&done).is_ok_and(|text| text == wanted) {
        return Ok(programs);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("failed to remove {}", folder.display()))?;
    }
    println!("agents       getting the programs of two coding agents with pip (320 MB)");
    let remedy = "The agents need python3 with pip (Debian: apt-get install python3-pip), a way to the Python package index, and \
                  Linux on x86-64.";
    let (to, from) = (folder.to_string_lossy(), file.to_string_lossy());
    let requirements = ["--require-hashes", "--target", to.as_ref(), "--requirement", from.as_ref()];
    python::install(layout, Path::new("python3"), &requirements, remedy)?;
    for (_, path) in &programs {
        if !path.is_file() {
            bail!("pip ended well but left no {}", path.display());
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).context("failed to make an agent executable")?;
    }
    // Last: a folder that was left half made is made again.
    fs::write(&done, wanted).with_context(|| format!("failed to write {}", done.display()))?;
    Ok(programs)
}
