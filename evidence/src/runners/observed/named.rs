//! Which runs of observed runners a shell line names.

use super::super::silent::CONDITIONS;

/// Characters by which a shell line may start more programs than the words of its parts.
const HIDING: [char; 6] = ['$', '`', '(', ')', '{', '<'];
/// Programs that start none of the observed ones, and print no report.
const PLAIN: [&str; 17] = [
    "[", "cat", "cd", "echo", "export", "false", "grep", "head", "ls", "mkdir", "printf", "set", "sort", "tail", "tee",
    "test", "true",
];
/// Programs that run the command after them, as `PATH` has it.
const PREFIXES: [&str; 5] = ["env", "exec", "nice", "nohup", "time"];

/// Commands of cargo that run no tests and nothing of the project's, but what builds need.
const CARGO_PLAIN: [&str; 7] = ["build", "check", "clippy", "doc", "fetch", "fmt", "tree"];
/// Commands of go that run no tests and nothing of the project's, but what builds need.
const GO_PLAIN: [&str; 8] = ["build", "doc", "env", "fmt", "list", "mod", "version", "vet"];

/// What a shell line runs, if it starts nothing else that could run tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// How many runs of Python's runners and node's.
    pub(super) single: usize,
    /// Whether cargo or go run tests: in as many programs as there are.
    pub(super) many: bool,
}

impl Named {
    const NOTHING: Self = Self { single: 0, many: false };
    const MANY: Self = Self { single: 0, many: true };

    /// The runs that a line names.
    pub(super) fn in_line(command: &str) -> Option<Self> {
        let command = command.replace("2>&1", " ").replace("&&", ";");
        if command.contains(HIDING) || command.contains('&') {
            return None;
        }
        let parts = command.split([';', '|', '\n']).map(|part| part.split_whitespace().collect::<Vec<_>>());
        let mut named = Self::NOTHING;
        for words in parts.filter(|words| !words.is_empty()) {
            if words.iter().any(|word| CONDITIONS.contains(word)) {
                return None;
            }
            let Self { single, many } = Self::in_command(&words)?;
            named = Self { single: named.single + single, many: named.many || many };
        }
        Some(named)
    }

    /// What a simple command runs, if that is known.
    fn in_command(words: &[&str]) -> Option<Self> {
        let one = Self { single: 1, many: false };
        let before = |word: &&&str| PREFIXES.contains(*word) || (word.contains('=') && !word.starts_with('-'));
        let at = words.iter().take_while(before).count();
        let Some((program, arguments)) = words.get(at..)?.split_first() else { return Some(Self::NOTHING) };
        match *program {
            "pytest" | "py.test" => return Some(one),
            "cargo" => return Self::by_cargo(arguments),
            "go" => return Self::by_go(arguments),
            "node" => return arguments.contains(&"--test").then_some(one),
            "coverage" if arguments.first() != Some(&"run") => return Some(Self::NOTHING),
            "coverage" => {}
            _ if program.starts_with("python") || program.starts_with("pypy") => {}
            _ => return PLAIN.contains(program).then_some(Self::NOTHING),
        }
        let module = arguments.iter().position(|word| *word == "-m")?;
        matches!(*arguments.get(module + 1)?, "pytest" | "unittest").then_some(one)
    }

    fn by_cargo(arguments: &[&str]) -> Option<Self> {
        let mut words = arguments.iter().skip_while(|word| word.starts_with('+'));
        match *words.next()? {
            "test" | "t" => Some(Self::MANY),
            "nextest" if matches!(words.next(), Some(&("run" | "r"))) => Some(Self::MANY),
            command => CARGO_PLAIN.contains(&command).then_some(Self::NOTHING),
        }
    }

    fn by_go(arguments: &[&str]) -> Option<Self> {
        let arguments = match *arguments {
            ["-C", _, ref rest @ ..] => rest,
            ref all => all,
        };
        match *arguments.first()? {
            "test" => Some(Self::MANY),
            command => GO_PLAIN.contains(&command).then_some(Self::NOTHING),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_its_runs_where_nothing_else_can_run_tests() {
        let runs_of = |command: &str| Named::in_line(command).map(|named| (named.single, named.many));
        for (command, runs) in [
            ("python3 -m unittest -v", Some((1, false))),
            ("cd sub && PYTHONPATH=. python3 -W error -m pytest -k 'a and b' 2>&1 | tail -3", Some((1, false))),
            ("pytest tests/a.py; py.test tests/b.py", Some((2, false))),
            ("coverage run -m pytest && coverage report", Some((1, false))),
            ("test -e a && env CI=1 pytest || echo no", Some((1, false))),
            ("grep -q x a", Some((0, false))),
            ("cargo test --locked -- --nocapture | tail -3", Some((0, true))),
            ("cargo fmt --check && cargo +nightly t; RUSTFLAGS=x cargo nextest run && pytest", Some((1, true))),
            ("go vet ./... && go test -v ./... 2>&1", Some((0, true))),
            ("go -C sub test", Some((0, true))),
            ("go run ./checks", None),
            ("node --test test/ 2>&1 | tail -9", Some((1, false))),
            ("node build.js && node --test", None),
            ("cargo nextest list", None),
            ("cargo run -p checks", None),
            ("cargo test && ./more.sh", None),
            ("make test", None),
            ("python3 tests/test_a.py", None),
            ("pytest tests/a.py & pytest tests/b.py", None),
            ("for i in 1 2; do pytest; done", None),
            (".venv/bin/pytest", None),
            ("! pytest", None),
            ("$RUNNER", None),
        ] {
            assert_eq!(runs_of(command), runs, "{command}");
        }
    }
}
