//! Scripts that a check names: files of the base that its shell line runs.
//!
//! A script is a word in the place of a command (`./check.sh`, `scripts/lint`), what an interpreter is given
//! (`python3 tools/check.py`, `sh -e run.sh`, `. env.sh`), a module (`python -m tools.check`), or the value of an
//! option that names a file of rules (`make -f ci.mk`, `--config x.toml`). A file that is only an argument
//! (`grep -q x src/a.py`) is what the check looks at, not what steers it. Test files by name (`python3 test_a.py`) are
//! tests: their base version is run as well.
//!
//! This reads the words of a shell line, not the shell's language: variables other than the current folder are not
//! understood. What scripts and recipes call is followed in `follow`.

use std::collections::BTreeSet;

use super::{file_name, resolve, test_path::is_test_name};

/// Programs whose first plain argument is a script.
pub(super) const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "source",
    ".",
    "python",
    "python3",
    "pypy3",
    "node",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "perl",
    "ruby",
    "php",
    "lua",
    "Rscript",
    "pwsh",
    "osascript",
    "tclsh",
];
/// Programs that run the command after them.
const PREFIXES: &[&str] = &[
    "env", "exec", "time", "nice", "nohup", "timeout", "xargs", "command", "sudo", "!", "then", "do", "else", "if",
    "while",
];
/// Options of these whose value is no command.
const PREFIX_OPTIONS: &[&str] =
    &["-s", "-k", "-u", "-n", "-I", "-P", "-L", "--signal", "--kill-after", "--unset", "--adjustment"];
/// Programs that run the command after their word `run` or `exec`.
const RUNNERS: &[&str] =
    &["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "coverage", "bundle", "npm", "pnpm", "yarn"];
/// Options of programs that are no interpreters whose value is a file of rules.
const SHORT_RULE_OPTIONS: &[&str] = &["-f", "-c"];
/// Options whose value is a file of rules.
const RULE_OPTIONS: &[&str] = &[
    "--file",
    "--makefile",
    "--config",
    "--config-file",
    "--config-path",
    "--rcfile",
    "--project",
    "--require",
    "--import",
    "--loader",
];

/// The scripts of `check` among the files of the base, which `on_base` knows; and what would be imported in place of a
/// module that the check names, were it there.
pub fn scripts_of(check: &str, on_base: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut scripts = BTreeSet::new();
    let mut folder = String::new();
    // The current folder by its usual names.
    let check = ["$PWD/", "${PWD}/", "$(pwd)/"].iter().fold(check.to_owned(), |line, name| line.replace(name, "./"));
    for command in commands(&check) {
        let mut found = Vec::new();
        let entered = read_command(&command, &mut found);
        for word in found {
            for path in [resolve(&folder, &word), resolve("", &word)].into_iter().flatten() {
                if on_base(&path) && !is_test_name(file_name(&path)) {
                    scripts.insert(path);
                }
            }
        }
        for module in modules(&command) {
            for path in shadows(&module).filter_map(|path| resolve(&folder, &path)) {
                if !on_base(&path) {
                    scripts.insert(path);
                }
            }
        }
        if let Some(entered) = entered.and_then(|entered| resolve(&folder, &entered)) {
            folder = entered;
        }
    }
    scripts
}

/// The programs that a shell text calls, by the words that it calls them by.
pub(super) fn programs_of(text: &str) -> BTreeSet<String> {
    let first = |words: &Vec<String>| {
        let mut found = Vec::new();
        read_command(words, &mut found);
        found.into_iter().next()
    };
    commands(text).iter().filter_map(first).collect()
}

/// Adds the words of one simple command that may be scripts; answers the folder of a `cd`.
fn read_command(words: &[String], found: &mut Vec<String>) -> Option<String> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1).map(String::as_str);
        let prefix = PREFIXES.contains(&word.as_str());
        let passed =
            prefix || word.contains('=') || word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit());
        if (at > 0 && PREFIX_OPTIONS.contains(&word.as_str()))
            || (RUNNERS.contains(&word.as_str()) && matches!(next, Some("run" | "exec")))
        {
            at += 1;
        } else if !passed {
            break;
        }
        at += 1;
    }
    let program = words.get(at)?;
    let arguments = words.get(at + 1..).unwrap_or_default();
    if program == "cd" {
        return arguments.first().cloned();
    }
    found.push(program.clone());
    let interpreter = INTERPRETERS.contains(&file_name(program));
    if interpreter {
        read_interpreter(arguments, found);
    }
    for (option, value) in arguments.iter().zip(arguments.iter().skip(1)) {
        let short = !interpreter && SHORT_RULE_OPTIONS.contains(&option.as_str());
        if short || RULE_OPTIONS.contains(&option.as_str()) {
            found.push(value.clone());
        }
    }
    for argument in arguments {
        if let Some((option, value)) = argument.split_once('=')
            && RULE_OPTIONS.contains(&option)
        {
            found.push(value.to_owned());
        }
    }
    None
}

fn read_interpreter(arguments: &[String], found: &mut Vec<String>) {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-m" => {
                if let Some(module) = words.next() {
                    let path = module.replace('.', "/");
                    found.extend([format!("{path}.py"), format!("{path}/__main__.py")]);
                }
                return;
            }
            // `node --test FILES`: these are tests.
            "--test" => return,
            "-c" => {
                found.extend(words.next().cloned());
                return;
            }
            "-W" | "-X" | "-I" | "-r" => {
                words.next();
            }
            option if RULE_OPTIONS.contains(&option) => {
                words.next();
            }
            // A shell's `-o pipefail`, also as the last of several letters.
            option if is_shell_setting(option) => {
                words.next();
            }
            option if option.starts_with('-') => {}
            // `deno run x.ts`, `bun run x.ts`.
            "run" => {}
            script => {
                found.push(script.to_owned());
                return;
            }
        }
    }
}

fn is_shell_setting(option: &str) -> bool {
    let letters = option.strip_prefix(['-', '+']).unwrap_or_default();
    letters.ends_with('o') && letters.chars().all(|c| c.is_ascii_alphabetic())
}

/// The modules that a command of Python's runs with `-m`.
fn modules(words: &[String]) -> Vec<String> {
    let python = |word: &String| file_name(word).starts_with("python") || file_name(word).starts_with("pypy");
    if !words.iter().any(python) {
        return Vec::new();
    }
    words.iter().zip(words.iter().skip(1)).filter(|(option, _)| *option == "-m").map(|(_, name)| name.clone()).collect()
}

/// The files that Python would take for the module `a.b` or for a package around it.
fn shadows(module: &str) -> impl Iterator<Item = String> {
    let path = module.replace('.', "/");
    let ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).chain([path.len()]).collect();
    let parts: Vec<String> = ends.iter().filter_map(|end| path.get(..*end).map(str::to_owned)).collect();
    let main = format!("{path}/__main__.py");
    parts.into_iter().flat_map(|part| [format!("{part}.py"), format!("{part}/__init__.py")]).chain([main])
}

/// The simple commands of a shell line, each as words without quotes. Text in quotes is read as commands as well, for
/// `sh -c '…'`.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word = String::new();
    let end_word = |word: &mut String, commands: &mut Vec<Vec<String>>| {
        if let Some(command) = commands.last_mut().filter(|_| !word.is_empty()) {
            command.push(std::mem::take(word));
        }
    };
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ';' | '&' | '|' | '\n' | '(' | ')' | '`' | '{' | '}' => {
                end_word(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            '\'' | '"' => {
                // A quote that begins a word may begin a line for another shell: both readings are tried.
                if word.is_empty()
                    && commands.last().is_some_and(|c| c.last().is_some_and(|w| w.ends_with('c') && w.starts_with('-')))
                {
                    commands.push(Vec::new());
                }
            }
            // A variable stays in its word: nobody knows its value, but `A=$B` is no command.
            '$' if chars.peek().is_some_and(|next| *next != '(') => {
                word.push(c);
                if chars.next_if_eq(&'{').is_some() {
                    while chars.next_if(|c| *c != '}').is_some() {}
                    chars.next();
                }
            }
            '<' | '>' | '$' => end_word(&mut word, &mut commands),
            c if c.is_whitespace() => end_word(&mut word, &mut commands),
            c => word.push(c),
        }
    }
    end_word(&mut word, &mut commands);
    commands
}
