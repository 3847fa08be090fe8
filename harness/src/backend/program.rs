//! Which files of a command line are the program itself: a sandboxed program must be able to read them and their folder.
//!
//! Pure: looks at words only. It understands simple command lines (assignments, well-known launchers, options, quotes);
//! for anything else there are configured paths.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

/// Programs that run the program named after them.
const LAUNCHERS: [&str; 22] = [
    "bash", "bun", "dash", "deno", "env", "exec", "ksh", "lua", "nice", "node", "nohup", "perl", "php", "python",
    "ruby", "run", "sh", "stdbuf", "time", "timeout", "uv", "zsh",
];

/// A word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Where it is, quotes included, in bytes.
    pub at: Range<usize>,
    /// What it says, without quotes.
    pub text: String,
}

/// The words of a command line that name what it runs: launchers, and the program.
#[must_use]
pub fn program_words(command: &str) -> Vec<Word> {
    let mut programs: Vec<Word> = Vec::new();
    for word in words(command) {
        let skipped = is_assignment(&word.text) || (!programs.is_empty() && is_parameter(&word.text));
        if skipped {
            continue;
        }
        let last = !is_launcher(Path::new(&word.text));
        programs.push(word);
        if last {
            break;
        }
    }
    programs
}

/// The last argument of this program, where a command line runs it.
#[must_use]
pub fn last_argument(command: &str, program: &str) -> Option<String> {
    let mut words = words(command);
    let at = words.iter().position(|word| word.text == program)?;
    words.drain(at + 1..).next_back().map(|word| word.text)
}

/// The files that a command line runs, by absolute path: a launcher in a place of its own, and the program.
#[must_use]
pub fn program_files(command: &str) -> Vec<PathBuf> {
    program_words(command).into_iter().map(|word| PathBuf::from(word.text)).filter(|path| path.is_absolute()).collect()
}

/// What of these files may be read: each file, and its folder unless a whole home or more is below it.
#[must_use]
pub fn readable(files: &[PathBuf], home: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for file in files {
        paths.push(file.clone());
        paths.extend(file.parent().filter(|folder| !home.starts_with(folder)).map(Path::to_owned));
    }
    paths.sort();
    paths.dedup();
    paths
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// An option, or a figure such as a time limit.
fn is_parameter(word: &str) -> bool {
    word.starts_with('-') || word.starts_with(|first: char| first.is_ascii_digit())
}

fn is_launcher(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    LAUNCHERS.contains(&name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.'))
}

/// The words of the first simple command, as a shell would split them; expansions are left as they are.
fn words(command: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut characters = command.char_indices();
    while let Some((at, character)) = characters.next() {
        if matches!(character, ';' | '|' | '&' | '(' | ')' | '<' | '>' | '\n') {
            break;
        }
        if character.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_with(|| Word { at: at..at, text: String::new() });
        match character {
            '\'' | '"' => {
                let quoted = characters.by_ref().map(|(_, next)| next).take_while(|next| *next != character);
                word.text.extend(quoted);
            }
            '\\' => word.text.extend(characters.next().map(|(_, next)| next)),
            other => word.text.push(other),
        }
        word.at.end = characters.offset();
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(command: &str) -> Vec<String> {
        program_files(command).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn the_program_is_found_behind_what_launches_it() {
        assert_eq!(files("/srv/agent/run.sh --fast /srv/data"), ["/srv/agent/run.sh"]);
        assert_eq!(files("python3 -u /srv/agent.py"), ["/srv/agent.py"]);
        assert_eq!(files("A=1 env B=2 timeout 30s '/srv/my agent/run' x"), ["/srv/my agent/run"]);
        assert_eq!(files("/opt/py/bin/python3.12 /srv/agent.py"), ["/opt/py/bin/python3.12", "/srv/agent.py"]);
        assert_eq!(files("sh /srv/a\\ b.sh; /srv/other"), ["/srv/a b.sh"]);
    }

    #[test]
    fn words_are_found_where_they_stand() {
        let command = "env A=1 sh '/srv/my agent' x; y";
        let found: Vec<&str> = program_words(command).into_iter().map(|word| &command[word.at]).collect();
        assert_eq!(found, ["env", "sh", "'/srv/my agent'"]);
    }

    #[test]
    fn arguments_of_a_program_are_not_the_program() {
        for command in ["claude -p --mcp-config /srv/x.json", "cat /srv/secret", "./run.sh", "sh -c 'cat /srv/x'", ""] {
            assert!(files(command).is_empty(), "{command}");
        }
    }

    #[test]
    fn a_folder_that_holds_the_home_stays_closed() {
        let home = Path::new("/home/u");
        let of = |file: &str| readable(&[PathBuf::from(file)], home);
        assert_eq!(of("/home/u/agent.sh"), [PathBuf::from("/home/u/agent.sh")]);
        assert_eq!(of("/agent.sh"), [PathBuf::from("/agent.sh")]);
        assert_eq!(of("/home/u/bin/agent.sh"), [PathBuf::from("/home/u/bin"), PathBuf::from("/home/u/bin/agent.sh")]);
    }
}
