//! Commands as a person types them. Every command that is printed goes through here, so that it reaches the same repository and
//! fleet, in the same name, as the command that prints it.

use std::sync::OnceLock;

use clap::{ArgMatches, Command, parser::ValueSource};
use holdpoint_protocol::ids::AgentName;

/// The flags that say where a command works and in whose name, as clap knows them.
const KEPT: [&str; 7] = ["repo", "nats", "creds", "tls_ca", "tls_cert", "tls_key", "person"];

/// The variable that names a fleet elsewhere, as `--nats` does.
pub(crate) const URL_VARIABLE: &str = "HOLDPOINT__NATS__URL";

/// What this process was asked to do.
static ASKED: OnceLock<CommandLine> = OnceLock::new();

/// The flags that a process was given, each with its value, and what its commands take.
#[derive(Debug)]
struct CommandLine {
    commands: Command,
    given: Vec<(&'static str, String)>,
}

/// Remembers which of these flags this process was given, and the commands that it has.
pub(crate) fn remember(commands: Command, matches: &ArgMatches) {
    // A process has one command line.
    let _ = ASKED.set(CommandLine { commands, given: given(matches) });
}

fn given(matches: &ArgMatches) -> Vec<(&'static str, String)> {
    let leaf = std::iter::successors(Some(matches), |matches| Some(matches.subcommand()?.1)).last();
    let given = |id: &&'static str| {
        let leaf = leaf.filter(|leaf| matches!(leaf.try_contains_id(id), Ok(true)))?;
        let typed = leaf.value_source(id) == Some(ValueSource::CommandLine);
        let value = leaf.get_raw(id).filter(|_| typed)?.next()?.to_string_lossy().into_owned();
        // The current folder needs no word.
        (*id != "repo" || value != ".").then_some((*id, value))
    };
    KEPT.iter().filter_map(given).collect()
}

/// A command with those of the flags that it has as well.
pub(crate) fn typed(command: &str) -> String {
    ASKED.get().map_or_else(|| command.to_owned(), |asked| asked.with(command))
}

/// A command in another person's name. Of a fleet elsewhere the credentials say whose it is.
pub(crate) fn typed_as(command: &str, person: &AgentName) -> String {
    let mut given = ASKED.get().into_iter().flat_map(|asked| &asked.given);
    let elsewhere = given.any(|(id, _)| *id == "nats") || std::env::var_os(URL_VARIABLE).is_some();
    if elsewhere { command.to_owned() } else { format!("{command} --as {person}") }
}

/// A text of ours in which each command that stands in backticks has them.
pub(crate) fn in_text(text: &str) -> String {
    each_in(text, typed)
}

fn each_in(text: &str, typed: impl Fn(&str) -> String) -> String {
    let parts = text.split('`').enumerate().map(|(number, part)| match part.starts_with("holdpoint ") {
        true if number % 2 == 1 => typed(part),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

impl CommandLine {
    fn with(&self, command: &str) -> String {
        let mut typed = command.to_owned();
        if self.given.is_empty() {
            return typed;
        }
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let known = known(self.commands.clone(), &words);
        for (id, value) in &self.given {
            let flag = known.get_arguments().find(|arg| arg.get_id() == id).and_then(clap::Arg::get_long);
            let flag = flag.map(|flag| format!("--{flag}")).filter(|flag| !words.contains(&flag.as_str()));
            if let Some(flag) = flag {
                typed.push_str(&format!(" {flag} {}", quoted(value)));
            }
        }
        typed
    }
}

/// The command that these words name, as deep as they go.
fn known(command: Command, words: &[&str]) -> Command {
    let below = words.split_first().and_then(|(word, rest)| Some((command.find_subcommand(word)?.clone(), rest)));
    match below {
        Some((below, rest)) => known(below, rest),
        None => command,
    }
}

/// A value as a shell takes it.
pub(crate) fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%=,".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    fn with(command: &str, given: &[(&'static str, String)]) -> String {
        CommandLine { commands: Cli::command(), given: given.to_vec() }.with(command)
    }

    #[test]
    fn a_command_keeps_the_flags_that_it_has_and_no_others() {
        let given = [
            ("repo", "../my client".to_owned()),
            ("nats", "nats://fleet:4222".to_owned()),
            ("creds", "me.creds".to_owned()),
        ];
        for (command, more) in [
            ("holdpoint status", " --repo '../my client' --nats nats://fleet:4222 --creds me.creds"),
            ("holdpoint run --resume f", " --repo '../my client' --nats nats://fleet:4222 --creds me.creds"),
            ("holdpoint org reload --flight f", " --repo '../my client' --nats nats://fleet:4222 --creds me.creds"),
            ("holdpoint status f --repo x", " --nats nats://fleet:4222 --creds me.creds"),
            ("holdpoint doctor", " --repo '../my client'"),
            ("holdpoint keys list", ""),
        ] {
            assert_eq!(with(command, &given), format!("{command}{more}"));
        }
        let person = [("person", "human-ann".to_owned())];
        assert_eq!(with("holdpoint approve w", &person), "holdpoint approve w --as human-ann");
        assert_eq!(with("holdpoint status", &person), "holdpoint status", "nobody acts by it");
    }

    #[test]
    fn what_was_typed_is_read_from_the_command_itself_and_kept_in_texts() {
        let line = ["holdpoint", "org", "reload", "--repo", "r", "--as", "human-ann"];
        let given = given(&Cli::command().try_get_matches_from(line).unwrap());
        assert_eq!(given, [("repo", "r".to_owned()), ("person", "human-ann".to_owned())]);
        let text = each_in("`holdpoint inbox` shows it; see `git log`", |command| with(command, &given));
        assert_eq!(text, "`holdpoint inbox --repo r --as human-ann` shows it; see `git log`");
        let no_flags = Cli::command().try_get_matches_from(["holdpoint", "inbox"]).unwrap();
        assert_eq!(super::given(&no_flags), [], "the current folder is nothing to say");
    }
}
