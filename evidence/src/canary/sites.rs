//! Where canaries are: which files of a tree, by their names and by what the first run printed of them.

use std::collections::BTreeSet;

use super::{FILES_MAX, Language, ending};
use crate::{paths::is_test_path, runners::without_escapes};

/// Files of a tree that have to do with canaries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sites {
    /// To be planted in, where their text allows.
    pub planted: Vec<String>,
    /// Those of them of which the first run shows that tests in them passed: their canaries may not be missing.
    pub shown: BTreeSet<String>,
}

/// Chooses files: those that the first run names, or all that may hold tests where it names none.
pub(super) fn choose(
    languages: &BTreeSet<Language>,
    paths: &BTreeSet<String>,
    on_base: &BTreeSet<String>,
    output: &str,
) -> Sites {
    let mut may_hold = may_hold(languages, paths);
    // Work that adds many files takes no canary from those that were there.
    may_hold.sort_by_key(|path| !on_base.contains(*path));
    let shown: BTreeSet<String> = shown(&may_hold, &without_escapes(output)).into_iter().cloned().collect();
    let named = |path: &&&String| shown.is_empty() || shown.contains(**path);
    let planted = may_hold.iter().filter(named).take(FILES_MAX).map(|path| (*path).clone()).collect();
    Sites { planted, shown }
}

/// The files that may hold tests and nothing that the product needs.
pub(super) fn with_tests(languages: &BTreeSet<Language>, paths: &BTreeSet<String>) -> Vec<String> {
    may_hold(languages, paths).into_iter().filter(|path| !is_product_root(path)).cloned().collect()
}

fn may_hold<'a>(languages: &BTreeSet<Language>, paths: &'a BTreeSet<String>) -> Vec<&'a String> {
    paths.iter().filter(|path| languages.iter().any(|language| holds(*language, path, paths))).collect()
}

/// Files that make packages of Python's folders of tests.
pub(super) fn packages(paths: &BTreeSet<String>) -> Vec<String> {
    let is_package = |path: &&String| is_test_path(path) && path.rsplit('/').next() == Some("__init__.py");
    paths.iter().filter(is_package).cloned().collect()
}

/// Whether a file may hold tests of a language that are run as they are there.
fn holds(language: Language, path: &str, paths: &BTreeSet<String>) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    match language {
        Language::Unittest | Language::Pytest => {
            name.ends_with(".py")
                && is_test_path(path)
                && !matches!(name, "__init__.py" | "conftest.py" | "__main__.py")
        }
        Language::Node => matches!(ending(name), "js" | "mjs" | "cjs") && is_test_path(path),
        Language::Go => {
            let unread = |folder: &str| matches!(folder, "testdata" | "vendor") || folder.starts_with(['_', '.']);
            name.ends_with("_test.go") && !path.split('/').any(unread)
        }
        Language::Rust => root(path).is_some_and(|(package, _)| paths.contains(&format!("{package}Cargo.toml"))),
    }
}

/// The package's folder (with a slash, or empty) and the rest, if a path is a root of a test program where cargo looks
/// for them.
fn root(path: &str) -> Option<(&str, &str)> {
    let split = |folder: &str| {
        let at = if path.starts_with(folder) { Some(0) } else { path.rfind(&format!("/{folder}")).map(|at| at + 1) };
        at.map(|at| path.split_at(at))
    };
    let (package, rest) = split("src/").or_else(|| split("tests/"))?;
    let segments: Vec<&str> = rest.split('/').collect();
    let is_root = match *segments.as_slice() {
        ["src", "lib.rs" | "main.rs"] => true,
        ["tests", name] | ["src", "bin", name] => name.ends_with(".rs"),
        ["tests", _, "main.rs"] | ["src", "bin", _, "main.rs"] => true,
        _ => false,
    };
    is_root.then_some((package, rest))
}

/// Whether a Rust file is the root of a library or program, which cannot be taken away.
pub(super) fn is_product_root(path: &str) -> bool {
    root(path).is_some_and(|(_, rest)| rest.starts_with("src/"))
}

/// The files of which a run shows that tests in them passed.
fn shown<'a>(may_hold: &[&'a String], text: &str) -> BTreeSet<&'a String> {
    let programs = programs(text);
    let passed: Vec<&str> = text.lines().filter(|line| shows_a_pass(line)).collect();
    let packages: Vec<&str> = text.lines().filter_map(passed_package).collect();
    let folders: BTreeSet<&str> =
        may_hold.iter().filter(|path| ending(path) == "go").map(|path| folder(path)).collect();
    let is_shown = |path: &&&String| match ending(path) {
        "rs" => root(path).is_some_and(|(_, rest)| programs.contains(rest)),
        "py" => {
            let module = path.trim_end_matches(".py").replace('/', ".");
            let name = module.rsplit('.').next().unwrap_or_default();
            passed.iter().any(|line| names_file(line, path) || names_module(line, &module, name))
        }
        "go" => is_of_one(folder(path), &packages, &folders),
        _ => false,
    };
    may_hold.iter().filter(is_shown).copied().collect()
}

/// The folder that a file is in.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The package of a line in which go says that tests of it passed.
fn passed_package(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("ok").map(str::trim_start)?;
    let (package, rest) = rest.split_once('\t')?;
    (!rest.contains("[no tests to run]")).then_some(package)
}

/// Whether one of these packages is in a folder of a tree. A module need not have the name of a folder: that at the root of
/// the tree is a package that is in no other one.
fn is_of_one(folder: &str, packages: &[&str], folders: &BTreeSet<&str>) -> bool {
    let is_in = |package: &str, folder: &str| {
        !folder.is_empty() && package.strip_suffix(folder).is_some_and(|before| before.ends_with('/'))
    };
    packages.iter().any(|package| {
        if folder.is_empty() { !folders.iter().any(|other| is_in(package, other)) } else { is_in(package, folder) }
    })
}

/// `tests/test_a.py ..s.`, `tests/test_a.py::test_b PASSED`, `test_b (tests.test_a.A.test_b) ... ok`.
fn shows_a_pass(line: &str) -> bool {
    let marks = || {
        let marks = line.split_whitespace().nth(1).unwrap_or_default();
        marks.contains('.') && marks.bytes().all(|mark| b".FEsxXRu,-".contains(&mark))
    };
    line.ends_with(" ... ok")
        || line.contains(" PASSED")
        || line.starts_with("PASSED ")
        || (line.contains(".py ") && marks())
}

/// Whether a report of pytest's names a file. It names files from its root, which may be a folder of the tree.
fn names_file(line: &str, path: &str) -> bool {
    let word = line.split_whitespace().find(|word| word.contains(".py")).unwrap_or_default();
    let file = word.split("::").next().unwrap_or_default();
    !file.is_empty() && (path == file || path.strip_suffix(file).is_some_and(|folder| folder.ends_with('/')))
}

/// Whether a report of unittest's names a module, which may be imported from any folder.
fn names_module(line: &str, module: &str, name: &str) -> bool {
    let Some((_, class)) = line.split_once(" (") else { return false };
    let class = class.split(')').next().unwrap_or_default();
    class.starts_with(&format!("{module}."))
        || class.starts_with(&format!("{name}."))
        || class.contains(&format!(".{name}."))
}

/// The roots of the test programs in which tests ran, as cargo names them: from the package's folder.
fn programs(text: &str) -> BTreeSet<&str> {
    let (mut heads, mut begun) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let head = line.trim_start();
        if let Some(rest) = head.strip_prefix("Running ") {
            let rest = rest.strip_prefix("unittests ").unwrap_or(rest);
            heads.extend(rest.split_once(" (").map(|(path, _)| path));
        } else if head.starts_with("Doc-tests ") {
            heads.push("");
        } else if let Some(number) = line.strip_prefix("running ").and_then(|rest| rest.split_once(" test")) {
            begun.push(number.0 != "0");
        }
    }
    // Both are in the order of the programs. Where the code under test printed such lines too, all count.
    let same = heads.len() == begun.len();
    let ran = |at: usize| !same || begun.get(at).copied().unwrap_or(true);
    heads.into_iter().enumerate().filter(|(at, head)| !head.is_empty() && ran(*at)).map(|(_, head)| head).collect()
}
