//! What a check runs by way of others: recipes of task runners, and scripts that scripts call.
//!
//! Recipes stand for the shell line that asks for them, so all that [`scripts_of`] finds in them is a script of the
//! check. A script calls helpers and the product alike; of what it calls only that is a script whose folder or name says
//! so (`ci/`, `tools/`, `check-…`), because a product is changed by honest work. Variables and conditions are not
//! understood, and other languages than the shell's are not read.
//!
//! Pure: the caller reads the files that are [asked for](Follow::wanted), from the base.

use std::collections::{BTreeSet, VecDeque};

use holdpoint_text::bom;

use super::{
    file_name, includes,
    recipes::{self, Call},
    resolve,
    scripts::{INTERPRETERS, commands, programs_of, scripts_of},
};

/// Steps from the shell line of a check to a file that is still read.
const DEPTH_MAX: usize = 3;
/// Files that are read for the checks of one waypoint.
const FILES_MAX: usize = 64;
/// The longest file that is read, in bytes. Scripts are short; what a longer one calls is not known.
pub const FOLLOWED_BYTES_MAX: usize = 256 << 10;
/// Folders of one text that are put into `PATH`.
const PATH_FOLDERS_MAX: usize = 16;
/// Folders of programs that serve the work on a product and are no part of it.
const TOOL_FOLDERS: [&str; 13] = [
    "ci",
    ".ci",
    "scripts",
    "script",
    "tools",
    "tool",
    "hack",
    "dev",
    "devtools",
    "build-tools",
    "build_tools",
    "checks",
    "automation",
];
/// Beginnings of the names of such programs.
const TOOL_NAMES: [&str; 8] = ["check", "ci", "lint", "verify", "validate", "run-tests", "run_tests", "runtests"];
/// Programs that checks call and that every system, or a toolchain, has.
const SYSTEM_PROGRAMS: [&str; 34] = [
    "awk", "cargo", "cat", "cc", "cmp", "cut", "diff", "echo", "egrep", "env", "expr", "find", "gcc", "git", "go",
    "grep", "head", "jest", "jq", "make", "npm", "npx", "printf", "pytest", "rustc", "sed", "sort", "tail", "test",
    "tr", "true", "uniq", "wc", "xargs",
];
/// How scripts name the folder they are in.
const OWN_FOLDER: [&str; 6] = [
    "$(dirname \"$0\")",
    "$(dirname $0)",
    "$(dirname -- \"$0\")",
    "${0%/*}",
    "$(dirname \"${BASH_SOURCE[0]}\")",
    "${BASH_SOURCE%/*}",
];

/// Follows the shell lines of checks through the files of the base.
#[derive(Debug)]
pub struct Follow<F> {
    on_base: F,
    scripts: BTreeSet<String>,
    lines: Vec<String>,
    to_read: VecDeque<File>,
    asked: BTreeSet<(String, Vec<String>)>,
}

/// A file to read.
#[derive(Debug, Clone)]
struct File {
    path: String,
    /// What is asked of it, if it holds recipes.
    targets: Option<Vec<String>>,
    /// Whether what it runs is the check's own line.
    own: bool,
    depth: usize,
}

impl<F: Fn(&str) -> bool> Follow<F> {
    /// Begins with the shell lines of checks, guards and the setup of dependencies. `on_base` knows the files of the base.
    pub fn new<'a>(commands: impl IntoIterator<Item = &'a String>, on_base: F) -> Self {
        let (scripts, lines, to_read, asked) = (BTreeSet::new(), Vec::new(), VecDeque::new(), BTreeSet::new());
        let mut follow = Self { on_base, scripts, lines, to_read, asked };
        for command in commands {
            follow.line(command, "", true, 0);
        }
        follow
    }

    /// The file of the base whose text is wanted next.
    #[must_use]
    pub fn wanted(&self) -> Option<&str> {
        self.to_read.front().map(|file| file.path.as_str())
    }

    /// Takes the text of the [wanted](Self::wanted) file; `None` if it has none that is read.
    pub fn read(&mut self, text: Option<&str>) {
        let (Some(file), text) = (self.to_read.pop_front(), bom::stripped(text.unwrap_or_default())) else { return };
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let depth = file.depth + 1;
        self.beside(&file, folder, text);
        match &file.targets {
            Some(targets) => {
                self.includes(&file, folder, text, targets);
                for line in recipes::lines_of(&file.path, text, targets) {
                    self.line(&line, folder, file.own, depth);
                    if file.own {
                        self.lines.push(line);
                    }
                }
            }
            None if is_shell(&file.path, text) => {
                let here = if folder.is_empty() { "." } else { folder };
                let text = OWN_FOLDER.iter().fold(text.to_owned(), |text, name| text.replace(name, here));
                let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
                self.line(&code.collect::<Vec<_>>().join("\n"), "", false, depth);
            }
            None => {}
        }
    }

    /// The scripts that were found.
    #[must_use]
    pub fn into_scripts(self) -> BTreeSet<String> {
        self.scripts
    }

    /// The lines of recipes that the shell lines stand for, in the order in which they were read.
    #[must_use]
    pub fn into_lines(self) -> Vec<String> {
        self.lines
    }

    /// What a Makefile or a justfile includes. Names are read from where the runner is started, or from the file's folder.
    fn includes(&mut self, file: &File, folder: &str, text: &str, targets: &[String]) {
        for name in includes::of_recipes(&file.path, text) {
            for path in [resolve(folder, &name), resolve("", &name)].into_iter().flatten() {
                // Of a name of which nothing is known nothing can be said.
                if path.chars().any(char::is_alphanumeric) {
                    if (self.on_base)(&path) {
                        let depth = file.depth + 1;
                        self.ask(File { path: path.clone(), targets: Some(targets.to_vec()), own: file.own, depth });
                    }
                    self.scripts.insert(path);
                }
            }
        }
    }

    /// Modules next to a program of the check. In a folder of such programs all that it imports by its name, there or
    /// not; elsewhere the product may be next to it.
    fn beside(&mut self, file: &File, folder: &str, text: &str) {
        for forms in includes::of_program(&file.path, text) {
            let paths: Vec<String> = forms.iter().filter_map(|form| resolve(folder, form)).collect();
            for path in paths.iter().filter(|path| is_tool(path)) {
                if (self.on_base)(path) {
                    self.ask(File { path: path.clone(), targets: None, own: false, depth: file.depth + 1 });
                }
            }
            self.scripts.extend(paths.into_iter().filter(|path| is_tool(path)));
        }
    }

    /// Programs in folders that a shell text puts into `PATH`: there or not, they are run in place of the system's. A
    /// program that a check's own line calls and the base does not have is the work to be made.
    fn in_path(&mut self, text: &str, folder: &str, own: bool) {
        let text = ["$PWD", "${PWD}", "$(pwd)"].iter().fold(text.to_owned(), |text, name| text.replace(name, "."));
        let folders = includes::path_folders(&text);
        if folders.is_empty() {
            return;
        }
        let called = programs_of(&text);
        for entry in folders.into_iter().take(PATH_FOLDERS_MAX) {
            let Some(path) = resolve(folder, &entry) else { continue };
            let wanted = |name: &&String| own && !is_known_program(name) && !(self.on_base)(&format!("{path}/{name}"));
            let to_make: Vec<&String> = called.iter().filter(wanted).collect();
            if to_make.is_empty() {
                self.scripts.insert(format!("{path}/*"));
            } else {
                let there = |name: &&String| (self.on_base)(&format!("{path}/{name}")) || is_known_program(name);
                self.scripts.extend(called.iter().filter(there).map(|name| format!("{path}/{name}")));
            }
        }
    }

    fn line(&mut self, line: &str, folder: &str, own: bool, depth: usize) {
        self.in_path(line, folder, own);
        let entered = if folder.is_empty() { line.to_owned() } else { format!("cd {folder}; {line}") };
        for path in scripts_of(&entered, &self.on_base) {
            if own || is_tool(&path) {
                if (self.on_base)(&path) {
                    self.ask(File { path: path.clone(), targets: None, own: false, depth });
                }
                self.scripts.insert(path);
            }
        }
        for Call { files, targets } in recipes::calls(&commands(&entered)) {
            let there = files.iter().filter_map(|file| resolve(folder, file)).find(|path| (self.on_base)(path));
            if let Some(path) = there {
                self.ask(File { path, targets: Some(targets), own, depth });
            }
        }
    }

    fn ask(&mut self, file: File) {
        let key = (file.path.clone(), file.targets.clone().unwrap_or_default());
        if file.depth < DEPTH_MAX && self.asked.len() < FILES_MAX && self.asked.insert(key) {
            self.to_read.push_back(file);
        }
    }
}

/// Whether a name is that of a program that systems have, and no product.
fn is_known_program(name: &str) -> bool {
    INTERPRETERS.contains(&name) || SYSTEM_PROGRAMS.contains(&name)
}

/// Whether a file is a program for the work on the product, by its folder or name.
fn is_tool(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(|folder| TOOL_FOLDERS.contains(&folder))
        || TOOL_NAMES.iter().any(|start| name.starts_with(start))
}

/// Whether a text is the shell's: by the ending of its name or, where it has none, by its first line.
fn is_shell(path: &str, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    match file_name(path).rsplit_once('.') {
        Some((_, ending)) => matches!(ending, "sh" | "bash" | "zsh" | "ksh"),
        None => !first.starts_with("#!") || first.contains("sh"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &[(&str, &str)] = &[
        ("Makefile", "check: unit\n\tsh run-all\nunit:\n\tpython3 checks.py\nserve:\n\tpython3 app.py\n"),
        ("run-all", "#!/bin/sh\n# sh tools/unused.sh\nsh ci/first.sh\n./app.sh --help\npython3 app.py\n"),
        ("ci/first.sh", "set -e\n. \"$(dirname \"$0\")/env.sh\"\nbash ci/second.sh\n"),
        ("ci/second.sh", "sh ci/third.sh"),
        ("ci/third.sh", "sh ci/fourth.sh"),
        ("ci/fourth.sh", ""),
        ("ci/env.sh", ""),
        ("tools/unused.sh", ""),
        ("tools/lint.js", ""),
        ("checks.py", "import app"),
        ("app.py", ""),
        ("app.sh", ""),
        ("server.js", ""),
        (
            "package.json",
            r#"{"scripts": {"start": "node server.js", "lint": "node tools/lint.js", "test": "npm run lint"}}"#,
        ),
        ("inc/Makefile", "-include local.conf more/*.inc\ncheck:\n\tsh ../ci/third.sh\n"),
        ("tools/look.py", "import json, lib\nimport app\n"),
        ("tools/lib.py", "import deep"),
        ("look.py", "import helper, app"),
        ("helper.py", ""),
        ("tools/look.js", "const x = require('./lib2');"),
        ("ci/path.sh", "export PATH=\"$PWD/ci/bin:$PATH\"\nlint src\n"),
        ("bin/old", ""),
        ("loop.sh", "sh ci/loop.sh"),
        ("ci/loop.sh", "sh ci/loop.sh; make -f ci/loop.sh"),
    ];

    fn scripts(command: &str) -> Vec<String> {
        let on_base = |path: &str| BASE.iter().any(|(name, _)| *name == path);
        let mut follow = Follow::new([&command.to_owned()], on_base);
        while let Some(path) = follow.wanted() {
            let text = BASE.iter().find(|(name, _)| *name == path).map(|(_, text)| *text);
            follow.read(text);
        }
        follow.into_scripts().into_iter().filter(|path| on_base(path)).collect()
    }

    #[test]
    fn recipes_and_scripts_are_followed_to_what_they_call() {
        let table: &[(&str, &[&str])] = &[
            ("sh run-all", &["ci/env.sh", "ci/first.sh", "ci/second.sh", "ci/third.sh", "run-all"]),
            ("make check", &["checks.py", "ci/env.sh", "ci/first.sh", "ci/second.sh", "run-all"]),
            ("make serve", &["app.py"]),
            ("npm test", &["tools/lint.js"]),
            ("npm run-script lint", &["tools/lint.js"]),
            ("npm start", &["server.js"]),
            ("sh loop.sh", &["ci/loop.sh", "loop.sh"]),
            ("python3 checks.py", &["checks.py"]),
            ("cargo test", &[]),
        ];
        for (command, expected) in table {
            assert_eq!(scripts(command), *expected, "{command}");
        }
    }

    /// All that decides for a command, there or not.
    fn deciding(command: &str) -> BTreeSet<String> {
        let on_base = |path: &str| BASE.iter().any(|(name, _)| *name == path);
        let mut follow = Follow::new([&command.to_owned()], on_base);
        while let Some(path) = follow.wanted() {
            let text = BASE.iter().find(|(name, _)| *name == path).map(|(_, text)| *text);
            follow.read(text);
        }
        follow.into_scripts()
    }

    #[test]
    fn what_a_file_of_a_check_would_read_decides_before_it_is_there() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("make -C inc check", &["inc/local.conf", "inc/more/*.inc"], &[]),
            (
                "python3 tools/look.py",
                &["tools/json.py", "tools/lib.py", "tools/deep.py", "tools/app/__init__.py"],
                &["app.py", "json.py"],
            ),
            ("python3 look.py", &["look.py"], &["helper.py", "app.py"]),
            ("node tools/look.js", &["tools/lib2", "tools/lib2.js", "tools/lib2/index.js"], &[]),
            ("sh ci/path.sh", &["ci/bin/*"], &[]),
            ("PATH=$PWD/bin:$PATH new --help | grep x", &["bin/grep"], &["bin/new", "bin/*"]),
            ("PATH=bin:$PATH old", &["bin/*"], &[]),
        ];
        for (command, expected, others) in table {
            let found = deciding(command);
            assert!(expected.iter().all(|path| found.contains(*path)), "{command}: {found:?}");
            assert!(!others.iter().any(|path| found.contains(*path)), "{command}: {found:?}");
        }
    }

    #[test]
    fn the_product_that_a_script_starts_is_no_script() {
        assert!(!scripts("sh run-all").iter().any(|path| path.starts_with("app")));
    }

    #[test]
    fn a_recipe_of_the_base_says_which_runner_a_line_runs() {
        let manifest = r#"{"scripts": {"pretest": "tsc", "test": "jest --ci", "x": "sh ci/x.sh"}}"#;
        let makefile = "check: unit\nunit:\n\tcd sub && npx mocha\n\tsh ci/x.sh\n";
        let files = [("package.json", manifest), ("Makefile", makefile), ("ci/x.sh", "pytest\n")];
        let lines = |command: &str| {
            let command = command.to_owned();
            let mut follow = Follow::new([&command], |path| files.iter().any(|(name, _)| *name == path));
            while let Some(path) = follow.wanted() {
                let text = files.iter().find(|(name, _)| *name == path).map(|(_, text)| *text);
                follow.read(text);
            }
            follow.into_lines()
        };
        assert_eq!(lines("npm test"), ["tsc", "jest --ci"]);
        assert_eq!(lines("make check"), ["cd sub && npx mocha", "sh ci/x.sh"], "a script may run the product as well");
        assert!(lines("npx jest").is_empty());
        let read_as = format!("npm test\n{}", lines("npm test").join("\n"));
        assert_eq!(crate::runners::silent(&read_as, None), Some(crate::runners::Runner::Jest));
    }
}
