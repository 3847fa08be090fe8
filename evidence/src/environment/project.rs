//! How a repository is set up and tested, by its files: a guess for those who write plans, never for those who fly them.
//!
//! Each kind of project is a row in [`kinds`]. A repository may be of several kinds, and its projects may be in [`folders`] of it.

mod folders;
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
/// The files of a project's folder whose texts say something.
const READ: [&str; 14] = [
    ".cargo/config.toml",
    "CMakeLists.txt",
    "Cargo.lock",
    "Gemfile.lock",
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
    pub locks: Vec<String>,
    /// Lock files in folders that are not set up, because the root is a project of its own.
    pub aside: Vec<String>,
    /// Globs of its sources and tests.
    pub scope: Vec<String>,
}

/// One kind of project in a folder.
#[derive(Debug, Clone, Default)]
struct Found {
    kind: &'static str,
    lock: Option<&'static str>,
    setup: Option<String>,
    inputs: &'static [&'static str],
    names: &'static [&'static str],
    path: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    /// Its setup downloads nothing.
    offline: bool,
    suite: Option<String>,
}

/// One kind of project, and the folder that it is in: empty for the root.
struct Placed<'a> {
    folder: &'a str,
    found: Found,
}

impl Placed<'_> {
    /// A path or glob of the folder.
    fn path(&self, path: &str) -> String {
        if self.folder.is_empty() { path.to_owned() } else { format!("{}/{path}", self.folder) }
    }

    /// A command as it is run from the root.
    fn command(&self, command: &str) -> String {
        let several = command.contains("&&") || command.contains("||");
        match self.folder {
            "" => command.to_owned(),
            folder if several => format!("cd {folder} && ({command})"),
            folder => format!("cd {folder} && {command}"),
        }
    }

    fn kind(&self) -> String {
        let Self { folder, found } = self;
        if folder.is_empty() { found.kind.to_owned() } else { format!("{} in {folder}", found.kind) }
    }
}

/// The files of a folder of a repository.
struct Files<'a> {
    paths: &'a BTreeSet<&'a str>,
    read: &'a dyn Fn(&str) -> Option<String>,
    /// The folder's path and a slash; empty for the root.
    below: String,
}

impl<'a> Files<'a> {
    fn of(paths: &'a BTreeSet<&'a str>, read: &'a dyn Fn(&str) -> Option<String>, folder: &str) -> Self {
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Self { paths, read, below }
    }

    /// The paths in the folder, from there.
    fn all(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().filter_map(|path| path.strip_prefix(self.below.as_str()))
    }

    fn has(&self, path: &str) -> bool {
        self.paths.contains(format!("{}{path}", self.below).as_str())
    }

    fn text(&self, path: &str) -> Option<String> {
        self.has(path).then(|| (self.read)(&format!("{}{path}", self.below))).flatten()
    }

    /// Whether a file of the folder is there and has this in it.
    fn says(&self, path: &str, words: &str) -> bool {
        self.text(path).is_some_and(|text| text.contains(words))
    }

    fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }
}

impl Project {
    /// The files among these whose texts say something.
    #[must_use]
    pub fn read<'p>(paths: &BTreeSet<&'p str>) -> Vec<&'p str> {
        let mut folders = folders::of_projects(paths);
        folders.push("");
        let mut read = Vec::new();
        for folder in folders {
            let below = |path: &'p str| {
                if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix('/') }
            };
            let inside: Vec<&'p str> = paths.iter().filter_map(|path| below(path)).collect();
            let names = inside.iter().copied().filter(|path| READ.contains(path));
            let names: Vec<&str> = names.chain(kinds::test_modules(inside.iter().copied())).collect();
            read.extend(paths.iter().copied().filter(|path| below(path).is_some_and(|rest| names.contains(&rest))));
        }
        read
    }

    /// What these paths say, of which `read` gives texts. Where the root is no project, the folders that are projects are set up and
    /// tested one after another; where it is one, it may or may not set up those folders, so nothing is guessed of them.
    #[must_use]
    pub fn of(paths: &BTreeSet<&str>, read: &dyn Fn(&str) -> Option<String>) -> Self {
        let in_folder = |folder| {
            let found = kinds::all(&Files::of(paths, read, folder)).into_iter();
            found.map(move |found| Placed { folder, found })
        };
        let mut found: Vec<Placed<'_>> = in_folder("").collect();
        let mut aside = Vec::new();
        let nested = folders::of_projects(paths).into_iter().flat_map(in_folder);
        if found.is_empty() {
            found.extend(nested.filter(|placed| placed.found.kind != kinds::CMAKE));
        } else {
            let own = |placed: &Placed<'_>| {
                placed.found.lock.filter(|_| placed.found.setup.is_some() && !placed.found.offline)
            };
            let covered = |lock: &str| found.iter().any(|root| root.found.covers(lock));
            aside.extend(nested.filter_map(|placed| {
                let lock = own(&placed).filter(|lock| !covered(lock))?;
                Some(placed.path(lock))
            }));
        }
        Self { aside, scope: scope(paths), ..Self::joined(&found) }
    }

    /// All of them together.
    fn joined(found: &[Placed<'_>]) -> Self {
        let set_up = || found.iter().filter(|placed| placed.found.setup.is_some());
        let texts = |of: fn(&Found) -> &'static [&'static str]| {
            let mut texts: Vec<String> = Vec::new();
            for placed in set_up() {
                for text in of(&placed.found).iter().map(|text| placed.path(text)) {
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
            }
            texts
        };
        let commands = |of: fn(&Found) -> Option<&String>| -> Vec<String> {
            found.iter().filter_map(|placed| of(&placed.found).map(|command| placed.command(command))).collect()
        };
        let (setups, suites) = (commands(|found| found.setup.as_ref()), commands(|found| found.suite.as_ref()));
        let goes_elsewhere = found.iter().any(|placed| !placed.folder.is_empty());
        let kinds: Vec<String> = found.iter().map(Placed::kind).collect();
        Self {
            kind: (!kinds.is_empty()).then(|| kinds.join(" and ")),
            suite: one_after_another(suites, goes_elsewhere),
            environment: EnvironmentSpec {
                setup: one_after_another(setups, true),
                inputs: texts(|found| found.inputs),
                names: texts(|found| found.names),
                path: texts(|found| found.path),
                env: set_up()
                    .flat_map(|placed| placed.found.env)
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                offline: set_up().next().is_some() && set_up().all(|placed| placed.found.offline),
            },
            locks: set_up().filter_map(|placed| placed.found.lock.map(|lock| placed.path(lock))).collect(),
            ..Self::default()
        }
    }
}

/// Commands as one; `apart`: each in a shell of its own, because it may go to another folder.
fn one_after_another(commands: Vec<String>, apart: bool) -> Option<String> {
    match commands.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several if apart => Some(several.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" && ")),
        several => Some(several.join(" && ")),
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
        "poetry" => "pip install poetry (https://python-poetry.org)",
        "bundle" | "ruby" => "install Ruby with Bundler (https://bundler.io)",
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
