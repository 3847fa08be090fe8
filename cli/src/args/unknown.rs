//! What is said of a flag that a command does not have.

use std::collections::VecDeque;

use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use super::Cli;

/// A flag that more commands have than these says nothing about which one is meant.
const COMMANDS_MAX: usize = 4;

/// Names the commands that have the flag, in place of clap's advice to pass it as a value. A flag that is close to one
/// of the command's own is left to clap.
pub(crate) fn explained(mut error: Error) -> Error {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some() {
        return error;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg).cloned() else { return error };
    let commands = takers(&flag);
    if (1..=COMMANDS_MAX).contains(&commands.len()) {
        let tip = format!("'{flag}' is a flag of {}", commands.join(", "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The commands that have a flag, each as it is typed.
fn takers(flag: &str) -> Vec<String> {
    let long = flag.trim_start_matches("--");
    let mut found = Vec::new();
    let mut pending = VecDeque::from([("holdpoint".to_owned(), Cli::command())]);
    while let Some((typed, command)) = pending.pop_front() {
        if command.get_arguments().any(|arg| arg.get_long() == Some(long)) {
            found.push(format!("`{typed}`"));
        }
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        pending.extend(below.map(|below| (format!("{typed} {}", below.get_name()), below.clone())));
    }
    found
}
