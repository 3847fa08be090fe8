//! How a repository is set up and tested, by its files: a guess for those who write plans, never for those who fly them.
//!
//! Each kind of project is a row in [`kinds`]. A repository may be of several kinds.

mod kinds;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use holdpoint_protocol::plan::EnvironmentSpec;

/// Folders that hold sources or tests by custom; of others it is shown by what is in them.
const CUSTOMARY: [&str; 14] = [
    "app",
    "apps",
    "cmd",
    "crates",
    "include",
    "internal",
    "lib",
    "packages",
    "pkg",
    "spec",
    "src",
    "test",
    "tests",
    "__tests__",
];
/// How sources end that make a folder of the root one with sources.
const SOURCES: [&str; 6] = [".go", "__init__.py", ".rs", ".java", ".c", ".cpp"];

/// What a repository's files say of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// What it is called, such as "an npm package"; several of them with "and" between.
    pub kind: Option<String>,
    /// The command that runs all of its tests.
    pub suite: Option<String>,
    /// Its dependencies; [none](EnvironmentSpec::is_none) where no lock file names any.
    pub environment: EnvironmentSpec,
    /// The files that its dependencies follow from, for people.
    pub locks: Vec<&'static str>,
    /// Globs of its sources and tests.
    pub scope: Vec<String>,
}

/// One kind of project in a repository.
#[derive(Debug, Clone, Default)]
struct Found {
    kind: &'static str,
    lock: Option<&'static str>,
    setup: Option<String>,
    inputs: &'static [&'static str],
    names: &'static [&'static str],
    path: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    suite: Option<String>,
}

/// The files of a repository.
struct Files<'a> {
    paths: &'a BTreeSet<&'a str>,
    read: &'a dyn Fn(&str) -> Option<String>,
}

impl Files<'_> {
    fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Whether a file of the root is there and has this in it.
    fn says(&self, path: &str, words: &str) -> bool {
        self.has(path) && (self.read)(path).is_some_and(|text| text.contains(words))
    }

    fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }
}

impl Project {
    /// The files of the root whose texts say something.
    pub const READ: [&str; 12] = [
        ".cargo/config.toml",
        "Cargo.lock",
        "dev-requirements.txt",
        "npm-shrinkwrap.json",
        "package-lock.json",
        "package.json",
        "pyproject.toml",
        "requirements-dev.txt",
        "requirements-test.txt",
        "requirements.txt",
        "setup.cfg",
        "tox.ini",
    ];

    /// What these paths say, of which `read` gives texts.
    #[must_use]
    pub fn of(paths: &BTreeSet<&str>, read: &dyn Fn(&str) -> Option<String>) -> Self {
        let found = kinds::all(&Files { paths, read });
        let texts = |of: fn(&Found) -> &'static [&'static str]| {
            let mut texts: Vec<String> = Vec::new();
            for text in found.iter().filter(|found| found.setup.is_some()).flat_map(of) {
                if !texts.iter().any(|known| known == text) {
                    texts.push((*text).to_owned());
                }
            }
            texts
        };
        let setups: Vec<&str> = found.iter().filter_map(|found| found.setup.as_deref()).collect();
        let env = found.iter().filter(|found| found.setup.is_some()).flat_map(|found| found.env);
        let environment = EnvironmentSpec {
            setup: match setups.as_slice() {
                [] => None,
                [one] => Some((*one).to_owned()),
                several => Some(several.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" && ")),
            },
            inputs: texts(|found| found.inputs),
            names: texts(|found| found.names),
            path: texts(|found| found.path),
            env: env.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        };
        let joined = |texts: Vec<&str>, by: &str| Some(texts.join(by)).filter(|joined| !joined.is_empty());
        Self {
            kind: joined(found.iter().map(|found| found.kind).collect(), " and "),
            suite: joined(found.iter().filter_map(|found| found.suite.as_deref()).collect(), " && "),
            environment,
            locks: found.iter().filter(|found| found.setup.is_some()).filter_map(|found| found.lock).collect(),
            scope: scope(paths),
        }
    }
}

/// Globs of the folders of the root with sources or tests in them, and of sources in the root itself.
fn scope(paths: &BTreeSet<&str>) -> Vec<String> {
    let mut scope = Vec::new();
    let is_source = |path: &str| SOURCES.iter().any(|end| path.ends_with(end));
    for path in paths {
        let glob = match path.split_once('/') {
            Some((folder, _)) if CUSTOMARY.contains(&folder) || is_source(path) => format!("{folder}/**"),
            None if path.ends_with(".go") => "*.go".to_owned(),
            None if path.ends_with(".py") && *path != "setup.py" => "*.py".to_owned(),
            _ => continue,
        };
        if !scope.contains(&glob) {
            scope.push(glob);
        }
    }
    scope
}

/// What a shell says that does not find a program, as one sentence with the remedy; `None`: it said nothing of that kind.
#[must_use]
pub fn missing_program(printed: &str) -> Option<String> {
    let of_shell = |line: &&str| line.split(':').next().is_some_and(|first| first.ends_with("sh"));
    let says = |line| str::strip_suffix(line, ": not found").or_else(|| str::strip_suffix(line, ": command not found"));
    let name = printed.lines().rev().filter(of_shell).find_map(says)?;
    let name = name.rsplit([' ', ':']).next().filter(|name| !name.is_empty())?;
    let remedy = match name {
        "npm" | "npx" | "node" => "install Node.js (https://nodejs.org)",
        "pnpm" => "npm install --global pnpm, or corepack enable",
        "yarn" => "npm install --global yarn, or corepack enable",
        "bun" => "npm install --global bun",
        "uv" => "pip install uv (https://docs.astral.sh/uv)",
        "go" => "install Go (https://go.dev/dl)",
        "cargo" => "install Rust (https://rustup.rs)",
        "mvn" => "install Maven, or use the wrapper: ./mvnw",
        "gradle" => "install Gradle, or use the wrapper: ./gradlew",
        "jest" | "vitest" | "mocha" | "tsc" | "eslint" => {
            "it is a dependency of the project: commit its lock file, and let `environment` set it up"
        }
        _ => "install it where the verifier runs, in its PATH, or have `environment.setup` bring it",
    };
    Some(format!("not found: {name}; {remedy}"))
}
