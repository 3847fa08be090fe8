//! Which program a relative command means: the one where the user stands.
//!
//! Agents run in a clone of their own. What is part of the repository stays relative, because the clone has it and the
//! user's own tree is out of an agent's reach.

use std::path::{Component, Path, PathBuf};

use holdpoint_runtime::{
    backend::program::{Word, program_words},
    config::Config,
};
use holdpoint_workspace::RepoPath;

use crate::{failure::Failure, preflight::Ready};

/// The longest program that is looked for on the base, in bytes. Longer ones are taken to be there.
const PROGRAM_LEN_MAX: usize = 64 << 20;

/// Anchors the commands of all roles at the current folder.
pub(crate) fn anchor_all(config: &mut Config, repository: &[PathBuf]) {
    let Ok(here) = std::env::current_dir() else { return };
    let agents = &mut config.agents;
    let commands = [&mut agents.builder.command, &mut agents.repair.command, &mut agents.verifier.judge];
    for command in commands.into_iter().flatten() {
        *command = anchored(command, &here, repository);
    }
}

/// Refuses a program of the repository's folder that the clone of an agent will not have, because the base has not.
pub(crate) async fn check_in_clone(config: &Config, ready: &Ready) -> Result<(), Failure> {
    let Ok(here) = std::env::current_dir() else { return Ok(()) };
    let agents = &config.agents;
    let commands = [&agents.builder.command, &agents.repair.command].into_iter().flatten();
    for word in commands.flat_map(|command| program_words(command)).map(|word| word.text) {
        let Some(path) = word.strip_prefix("./").filter(|_| is_plain_file(&here.join(&word))) else { continue };
        let Ok(path) = RepoPath::new(path.as_bytes()) else { continue };
        // Whatever cannot be looked at is left to the turn.
        if let Ok(None) = ready.repo.file_at(&ready.base, &path, PROGRAM_LEN_MAX).await {
            let message =
                format!("{word} is in the repository's folder, but not in {}, where agents start", ready.base);
            let hint = "agents run in a clone of that commit: commit the program, or keep it outside the repository";
            return Err(Failure::usage("program_not_in_clone", message, hint));
        }
    }
    Ok(())
}

/// The command with its program, and what launches that, made absolute where it is a path (`./x`, `sh ../x`) of something
/// that is there. A way through `..` is made straight as well: the sandbox does not have the folders on it.
fn anchored(command: &str, here: &Path, repository: &[PathBuf]) -> String {
    let mut anchored = command.to_owned();
    // From behind: what stands before keeps its place.
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

/// A link may lead anywhere: only what lies there itself is judged.
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
    use super::*;

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
