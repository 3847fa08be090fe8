//! What holds for the help of every command.

use clap::{Command, CommandFactory as _, error::ErrorKind};

use super::{Cli, parsed};

fn each(command: &Command, look: &mut impl FnMut(&Command)) {
    look(command);
    command.get_subcommands().for_each(|one| each(one, look));
}

/// Prose goes on over line breaks; examples, lists and headings do not.
fn is_prose(line: &str) -> bool {
    let begins = line.chars().next().is_some_and(|c| c.is_alphabetic() || c == '`');
    begins && !line.ends_with(':')
}

#[test]
fn only_the_terminal_wraps_the_prose_below_a_commands_help() {
    let mut broken = Vec::new();
    each(&Cli::command(), &mut |command| {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.windows(2).filter(|pair| is_prose(pair[0]) && is_prose(pair[1])) {
            broken.push(format!("{}: {} | {}", command.get_name(), pair[0], pair[1]));
        }
    });
    assert!(broken.is_empty(), "a line break inside a paragraph:\n{}", broken.join("\n"));
}

#[test]
fn work_is_a_plan_or_a_task_or_an_issue_and_never_two_of_them() {
    for (line, expected) in [
        ("run plan.yaml", None),
        ("run --task title --goal g --check c", None),
        ("run --issue - --check c --tag t --workflow w", None),
        ("check --issue issue.md", None),
        ("submit --issue issue.md", None),
        ("run --resume f-1", None),
        ("run", Some(ErrorKind::MissingRequiredArgument)),
        ("check --check c", Some(ErrorKind::MissingRequiredArgument)),
        ("run --issue - --goal g", Some(ErrorKind::ArgumentConflict)),
        ("run --issue - --task title", Some(ErrorKind::ArgumentConflict)),
        ("run plan.yaml --issue -", Some(ErrorKind::ArgumentConflict)),
        ("run --resume f-1 --issue -", Some(ErrorKind::ArgumentConflict)),
        ("draft words --agent a", None),
        ("draft --issue - --builder a", None),
        ("draft", Some(ErrorKind::MissingRequiredArgument)),
        ("draft words --issue -", Some(ErrorKind::ArgumentConflict)),
        ("draft words --rounds 0", Some(ErrorKind::ValueValidation)),
    ] {
        assert_eq!(parsed(line).err(), expected, "{line}");
    }
}
