//! Which program a relative command means: the one in the user's current folder.
//!
//! Agents run in a clone of their own. A path into the repository stays relative, because the clone has it and the
//! user's own tree is out of an agent's reach.

pub(crate) mod login;
mod lookup;

use std::path::{Component, Path, PathBuf};

use holdpoint_evidence::over_http;
use holdpoint_harness::backend::program::{Word, program_words};
use holdpoint_planfile::plan::closest;
use holdpoint_protocol::ids::{RoleId, role};
use holdpoint_runtime::config::{AgentsConfig, Config, PRESETS, ProgramConfig, presets::UnflownAgent};
use holdpoint_workspace::{ObjectId, RepoPath, UserRepo};
use lookup::Lack;

use crate::{failure::Failure, ready::Ready};

/// The longest program that is looked for on the base, in bytes. Longer ones are taken to be there.
const PROGRAM_LEN_MAX: usize = 64 << 20;

/// Anchors the commands of all roles at the current folder.
pub(crate) fn anchor_all(config: &mut Config, repository: &[PathBuf]) {
    let Ok(here) = std::env::current_dir() else { return };
    if let Some(judge) = &mut config.agents.verifier.judge {
        *judge = anchored(judge, &here, repository);
    }
    for (_, program) in config.agents.programs_mut() {
        for command in [&mut program.command, &mut program.resume].into_iter().flatten() {
            *command = anchored(command, &here, repository);
        }
    }
}

/// Refuses a program of the repository's folder that the clone of an agent will not have, because the base has not.
pub(crate) async fn check_in_clone(config: &Config, ready: &Ready) -> Result<(), Failure> {
    let Ok(here) = std::env::current_dir() else { return Ok(()) };
    let commands = config.agents.programs().filter_map(|(_, program)| program.command.as_ref());
    for word in commands.flat_map(|command| program_words(command)).map(|word| word.text) {
        let Some(path) = word.strip_prefix("./").filter(|_| is_plain_file(&here.join(&word))) else { continue };
        let Ok(path) = RepoPath::new(path.as_bytes()) else { continue };
        // A program that cannot be looked at is left to the turn.
        if let Ok(None) = ready.repo.file_at(&ready.base, &path, PROGRAM_LEN_MAX).await {
            let message =
                format!("{word} is in the repository's folder, but not in {}, where agents start", ready.base);
            let hint = "agents run in a clone of that commit: commit the program, or keep it outside the repository";
            return Err(Failure::usage("program_not_in_clone", message, hint));
        }
    }
    Ok(())
}

/// Refuses a builder, repair agent or judge whose program certainly cannot be started: every turn would fail by it.
/// `base` is the commit that agents' clones are of, where there is one already. The commands must have been anchored.
pub(crate) async fn check_there(config: &Config, repo: &UserRepo, base: Option<&ObjectId>) -> Result<(), Failure> {
    // A program with a `PATH` of its own is not checked.
    let finds_own = |program: &ProgramConfig| program.env.0.contains_key("PATH");
    check_names(&config.agents)?;
    let programs = config.agents.programs().map(|(role, program)| (named(&role), &program.command, finds_own(program)));
    let judge = (("judge".to_owned(), "--judge".to_owned()), &config.agents.verifier.judge, false);
    for ((who, flag), command, own_path) in programs.chain([judge]) {
        let Some(word) = command.as_deref().and_then(lookup::first_program) else { continue };
        let found = match (word.starts_with('/'), word.contains('/')) {
            (true, _) => lookup::at_path(Path::new(word)),
            (false, true) => in_repository(word, repo, base).await,
            (false, false) => match std::env::var_os("PATH").filter(|_| !own_path) {
                Some(folders) => lookup::in_folders(word, &folders),
                None => Ok(()),
            },
        };
        found.map_err(|lack| lacking(&who, &flag, word, lack))?;
    }
    Ok(())
}

/// Refuses an agent that people know by the name of a program that alone opens a terminal.
fn check_names(agents: &AgentsConfig) -> Result<(), Failure> {
    for (role, program) in agents.programs().filter(|(_, program)| program.dialect.is_plain()) {
        if let Some(agent) = program.command.as_deref().and_then(UnflownAgent::of_command) {
            let (who, flag) = named(&role);
            let message = format!(
                "the program of the {who}, {}, opens a terminal for a person, and turns have none",
                agent.program
            );
            return Err(Failure::usage(
                "program_interactive",
                message,
                format!("name it as `{}`", agent.instead(&flag)),
            ));
        }
    }
    Ok(())
}

/// Whose program a role's is, in words, and the flag that names it.
fn named(role: &RoleId) -> (String, String) {
    match role.as_str() {
        role::BUILDER => ("builder".to_owned(), "--builder".to_owned()),
        role::REPAIR => ("repair agent".to_owned(), "--repair".to_owned()),
        role::SOLO => ("one agent alone".to_owned(), "--builder".to_owned()),
        _ => (format!("{role} agents"), format!("--agent {role}=")),
    }
}

/// What a command line certainly lacks on this machine: its program is in no folder of `PATH`. Paths are left to the run: the
/// work itself may bring them. Of a test over HTTP it is the service's command that counts.
pub(crate) fn lacking_in_path(command: &str) -> Option<String> {
    let test = over_http::of_command(command);
    let command = test.as_ref().map_or(command, |test| test.run.as_str());
    let word = lookup::first_program(command).filter(|word| !word.contains('/'))?;
    let lack = lookup::in_folders(word, &std::env::var_os("PATH")?).err()?;
    Some(match lack {
        Lack::Missing => format!("{word} is not in PATH"),
        Lack::NotExecutable => format!("{word} in PATH is not an executable file"),
    })
}

/// A relative path in the user's current folder, in the repository's folder, or in the commit that clones are of.
async fn in_repository(word: &str, repo: &UserRepo, base: Option<&ObjectId>) -> Result<(), Lack> {
    let here = std::env::current_dir().ok();
    if let Some(file) = lookup::below(here.as_deref().into_iter().chain([repo.dir()]), word) {
        return lookup::at_path(&file);
    }
    let path = RepoPath::new(word.strip_prefix("./").unwrap_or(word).as_bytes());
    let (Some(base), Ok(path)) = (base, path) else { return Err(Lack::Missing) };
    match repo.file_at(base, &path, PROGRAM_LEN_MAX).await {
        Ok(None) => Err(Lack::Missing),
        // A program that cannot be looked at is left to the turn.
        _ => Ok(()),
    }
}

fn lacking(who: &str, flag: &str, word: &str, lack: Lack) -> Failure {
    match lack {
        Lack::Missing => {
            let place = if word.contains('/') { "there is no such file" } else { "it is not in PATH" };
            let message = format!("the program of the {who}, {word}, cannot be started: {place}");
            let meant = closest(word, PRESETS.iter().map(|preset| preset.program).filter(|known| *known != word));
            let meant = meant.map(|meant| format!("did you mean `{meant}`? Else ")).unwrap_or_default();
            let hint = format!("{meant}install it, or correct its command line ({flag}, or the file of --config)");
            Failure::usage("program_missing", message, hint)
        }
        Lack::NotExecutable => {
            let message = format!("the program of the {who}, {word}, cannot be started: it is not an executable file");
            let hint = format!("make it executable with `chmod +x`, or name what runs it, such as {flag} 'sh {word}'");
            Failure::usage("program_not_executable", message, hint)
        }
    }
}

/// The command with its program, and what launches that, made absolute where it is a path (`./x`, `sh ../x`) of something
/// that is there. A way through `..` is made straight as well: the sandbox does not have the folders on it.
fn anchored(command: &str, here: &Path, repository: &[PathBuf]) -> String {
    let mut anchored = command.to_owned();
    // From behind: text before it keeps its place.
    for Word { at, text } in program_words(command).into_iter().rev() {
        let winding = text.starts_with('/') && Path::new(&text).components().any(|part| part == Component::ParentDir);
        if !text.starts_with("./") && !text.starts_with("../") && !winding {
            continue;
        }
        match here.join(text).canonicalize() {
            Ok(path) if !repository.iter().any(|place| path.starts_with(place)) => {
                anchored.replace_range(at, &quoted(&path));
            }
            _ => {}
        }
    }
    anchored
}

/// A link may lead anywhere: only what is there itself is judged.
fn is_plain_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use holdpoint_runtime::config::Dialect;

    use super::*;

    #[test]
    fn a_known_agent_without_a_preset_is_refused_with_what_to_type_unless_its_dialect_is_named() {
        let mut agents = AgentsConfig::default();
        agents.builder.command = Some("goose".to_owned());
        let refused = format!("{:?}", check_names(&agents).unwrap_err());
        assert!(refused.contains("--builder 'goose acp' --dialect acp"), "{refused}");
        agents.builder.dialect = Dialect::Acp;
        assert!(check_names(&agents).is_ok(), "its person knows better");
        for other in ["goose acp", "./goose", "claude"] {
            agents.builder = ProgramConfig { command: Some(other.to_owned()), ..ProgramConfig::default() };
            assert!(check_names(&agents).is_ok(), "{other}");
        }
    }

    #[test]
    fn a_program_beside_the_user_is_meant_where_it_stands_and_one_of_the_repository_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().canonicalize().unwrap();
        for name in ["agent.sh", "an agent.sh"] {
            std::fs::write(here.join(name), "").unwrap();
        }
        let name = here.file_name().unwrap().to_str().unwrap();
        let absolute = here.join("agent.sh").display().to_string();
        let cases = [
            ("./agent.sh --fast 'a b'", format!("{absolute} --fast 'a b'")),
            ("env A=1 sh ./agent.sh x", format!("env A=1 sh {absolute} x")),
            ("sh './an agent.sh'", format!("sh {}", quoted(&here.join("an agent.sh")))),
            (&format!("sh {}/../{name}/agent.sh", here.display()), format!("sh {absolute}")),
            ("cat ./agent.sh", "cat ./agent.sh".to_owned()),
            ("./missing.sh", "./missing.sh".to_owned()),
            ("agent.sh", "agent.sh".to_owned()),
            ("claude -p", "claude -p".to_owned()),
        ];
        for (command, expected) in cases {
            assert_eq!(anchored(command, &here, &[]), expected);
        }
        assert_eq!(anchored("./agent.sh", &here, std::slice::from_ref(&here)), "./agent.sh");
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
