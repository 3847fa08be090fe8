//! Task runners: which file and which targets a shell line asks them for, and what those targets run.
//!
//! Makefiles, justfiles and the scripts of `package.json`. Only the targets that are asked for, and what these need, are
//! read: that a file can also start the product makes the product no script of a check.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{file_name, scripts};

/// Recipes of one file that are read: more are a mistake, or meant to wear us out.
const TARGETS_MAX: usize = 200;

/// A task runner's call in a shell line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// Where its recipes are: the first of these that is there.
    pub(super) files: Vec<String>,
    /// What it is asked for; nothing is the first target of the file.
    pub(super) targets: Vec<String>,
}

/// The calls of task runners in simple commands.
pub(super) fn calls(commands: &[Vec<String>]) -> Vec<Call> {
    commands.iter().filter_map(|words| call(words)).collect()
}

/// Whether a shell line asks a task runner for what a file of the tree says.
#[must_use]
pub fn asks_for_recipes(command: &str) -> bool {
    !calls(&scripts::commands(command)).is_empty()
}

fn call(words: &[String]) -> Option<Call> {
    let at = words.iter().position(|word| {
        matches!(file_name(word), "make" | "gmake" | "just" | "npm" | "pnpm" | "yarn") || !word.contains('=')
    })?;
    let (program, arguments) = words.get(at..)?.split_first()?;
    let named = |files: &[&str]| files.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    match file_name(program) {
        "make" | "gmake" => Some(rules(arguments, named(&["GNUmakefile", "makefile", "Makefile"]))),
        "just" => Some(rules(arguments, named(&["justfile", "Justfile", ".justfile"]))),
        "npm" | "pnpm" | "yarn" => {
            let plain: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
            let first = plain.first()?.as_str();
            let script = if matches!(first, "run" | "run-script") { plain.get(1)?.as_str() } else { first };
            let script = if matches!(script, "t" | "tst") { "test" } else { script };
            let targets = ["pre", "", "post"].map(|order| format!("{order}{script}")).into();
            Some(Call { files: named(&["package.json"]), targets })
        }
        _ => None,
    }
}

/// A call of make or just: `-f FILE` and `-C FOLDER` change where its recipes are.
fn rules(arguments: &[String], mut files: Vec<String>) -> Call {
    let mut targets = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-f" | "--file" | "--makefile" | "--justfile" => files = words.next().cloned().into_iter().collect(),
            "-C" | "--directory" => {
                if let Some(folder) = words.next() {
                    files.iter_mut().for_each(|file| *file = format!("{folder}/{file}"));
                }
            }
            "-j" | "-l" | "-o" | "-W" => {
                words.next();
            }
            option if option.starts_with('-') || option.contains('=') => {}
            target => targets.push(target.to_owned()),
        }
    }
    Call { files, targets }
}

/// The shell lines that these targets of a file run.
pub(super) fn lines_of(path: &str, text: &str, targets: &[String]) -> Vec<String> {
    if file_name(path) == "package.json" {
        let Ok(manifest) = serde_json::from_str::<Value>(text) else { return Vec::new() };
        let script = |name: &String| manifest.get("scripts")?.get(name)?.as_str().map(str::to_owned);
        return targets.iter().filter_map(script).collect();
    }
    let recipes = recipes(text);
    let mut wanted: Vec<String> = targets.to_vec();
    if wanted.is_empty() {
        wanted.extend(recipes.iter().find(|recipe| !recipe.name.starts_with('.')).map(|recipe| recipe.name.clone()));
    }
    let (mut lines, mut seen) = (Vec::new(), BTreeSet::new());
    while let Some(target) = wanted.pop() {
        if seen.len() >= TARGETS_MAX || !seen.insert(target.clone()) {
            continue;
        }
        for recipe in recipes.iter().filter(|recipe| recipe.name == target) {
            lines.extend(recipe.lines.iter().cloned());
            wanted.extend(recipe.needs.iter().cloned());
        }
    }
    lines
}

/// A target with what it needs and runs.
#[derive(Default)]
struct Recipe {
    name: String,
    needs: Vec<String>,
    lines: Vec<String>,
}

/// The recipes of a Makefile or a justfile: a head without indentation, and indented lines below it.
fn recipes(text: &str) -> Vec<Recipe> {
    let mut recipes: Vec<Recipe> = Vec::new();
    // The recipes that the lines belong to: `a b:` is two.
    let mut open = 0;
    for line in text.lines() {
        if line.starts_with(['\t', ' ']) {
            let line = line.trim_start().trim_start_matches(['@', '-', '+']);
            let line = line.replace("$(MAKE)", "make").replace("${MAKE}", "make");
            recipes.iter_mut().rev().take(open).for_each(|recipe| recipe.lines.push(line.clone()));
        } else if let Some((heads, rest)) = line.split_once(':').filter(|(_, rest)| !rest.starts_with(['=', ':'])) {
            let (needs, first) = rest.split_once(';').unwrap_or((rest, ""));
            let needs: Vec<String> = needs.split_whitespace().map(str::to_owned).collect();
            let heads: Vec<&str> = heads.trim_start_matches('@').split_whitespace().collect();
            open = heads.len();
            recipes.extend(heads.into_iter().map(|name| Recipe {
                name: name.to_owned(),
                needs: needs.clone(),
                lines: Some(first.trim().to_owned()).filter(|line| !line.is_empty()).into_iter().collect(),
            }));
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            open = 0;
        }
    }
    recipes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "SHELL := /bin/sh\n.PHONY: all check\nall: build\nbuild:\n\tcc main.c\n\ncheck lint: style unit\n\t@$(MAKE) -C sub deep\n\
        \n\tsh ci/run.sh\nstyle: ; sh ci/style.sh\nrun:\n\tpython3 app.py\n";

    fn lines(text: &str, path: &str, targets: &[&str]) -> Vec<String> {
        lines_of(path, text, &targets.iter().map(|target| (*target).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn only_targets_that_are_asked_for_and_what_they_need_are_read() {
        let check = ["make -C sub deep", "sh ci/run.sh", "sh ci/style.sh"];
        assert_eq!(lines(MAKEFILE, "Makefile", &["check"]), check);
        assert_eq!(lines(MAKEFILE, "Makefile", &["lint"]), check);
        assert_eq!(lines(MAKEFILE, "Makefile", &[]), ["cc main.c"]);
        assert!(lines("a: b\nb: a\n", "Makefile", &["a"]).is_empty());
        let just = "set shell := ['sh']\ntest filter='': build\n    ./ci/test.sh {{filter}}\nbuild:\n  cargo build\n";
        assert_eq!(lines(just, "justfile", &["test"]), ["./ci/test.sh {{filter}}", "cargo build"]);
        let npm = r#"{"scripts": {"start": "node server.js", "pretest": "sh ci/a.sh", "test": "jest"}}"#;
        assert_eq!(lines(npm, "package.json", &["pretest", "test", "posttest"]), ["sh ci/a.sh", "jest"]);
        assert!(lines("{", "package.json", &["test"]).is_empty());
    }

    #[test]
    fn a_call_says_where_its_recipes_stand_and_what_it_asks_for() {
        let call = |line: &str| call(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let of = |files: &[&str], targets: &[&str]| {
            let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
            Some(Call { files: texts(files), targets: texts(targets) })
        };
        assert_eq!(call("make -j 4 V=1 check"), of(&["GNUmakefile", "makefile", "Makefile"], &["check"]));
        assert_eq!(call("CI=1 make -f ci/rules all"), of(&["ci/rules"], &["all"]));
        assert_eq!(call("make -C sub"), of(&["sub/GNUmakefile", "sub/makefile", "sub/Makefile"], &[]));
        assert_eq!(call("npm t"), of(&["package.json"], &["pretest", "test", "posttest"]));
        assert_eq!(call("yarn run --silent lint"), of(&["package.json"], &["prelint", "lint", "postlint"]));
        assert_eq!(call("cargo test"), None);
        assert!(asks_for_recipes("cd a && npm test") && !asks_for_recipes("npx jest"));
    }
}
