//! Tests and fixtures, by name and folder, for the common ecosystems.
//!
//! Tests inside product files (Rust's `mod tests`, doc tests) have no path of their own: they change with
//! their file, and only the counts speak for them.

/// Folders in which everything is a test or a fixture, at any depth.
const FOLDERS: &[&str] = &[
    "tests",
    "test",
    "__tests__",
    "spec",
    "specs",
    "testdata",
    "test-data",
    "test_data",
    "fixtures",
    "__fixtures__",
    "__snapshots__",
    "__mocks__",
    "snapshots",
    "e2e",
    "cypress",
];

/// Ends of file names without their last ending, by language of that ending.
const STEM_ENDS: &[(&[&str], &[&str])] = &[
    (&["py"], &["_test", "_tests"]),
    (&["go"], &["_test"]),
    (&["rs"], &["_test", "_tests"]),
    (&["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts"], &[".test", ".spec", "-test", "_test"]),
    (&["java", "kt", "scala", "groovy", "cs", "php", "swift"], &["Test", "Tests", "IT", "Spec"]),
    (&["rb"], &["_spec", "_test"]),
    (&["exs"], &["_test"]),
    (&["c", "cc", "cpp", "cxx"], &["_test", "_tests", "_unittest"]),
];

/// Whole file names.
const NAMES: &[&str] = &["tests.py", "tests.rs", "test.rs", "test.py", "test.js", "test.mjs", "test.ts"];

/// Whether `path` is a test or a fixture.
#[must_use]
pub fn is_test_path(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    in_test_folder(folders) || is_test_name(name)
}

/// Whether a new test file is a module that a product file names (`mod tests;`): without it that file does not build, so
/// it stays where the tests are as on the base. It cannot change what the tests next to it do.
#[must_use]
pub fn is_test_module(path: &str) -> bool {
    path.ends_with(".rs") && path.split('/').rev().skip(1).any(|folder| folder == "src")
}

/// Whether one of the folders of a path (without its file name) is a test folder.
pub(super) fn in_test_folder(folders: &str) -> bool {
    folders.split('/').any(|segment| FOLDERS.contains(&segment))
}

/// Whether a file name alone says that it is a test.
pub(super) fn is_test_name(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let by_start = matches!(ending, "py" | "c" | "cc" | "cpp" | "rb" | "php") && stem.starts_with("test_");
    let by_end = STEM_ENDS
        .iter()
        .any(|(endings, ends)| endings.contains(&ending) && ends.iter().any(|end| stem.ends_with(end) && stem != *end));
    by_start || by_end || ending == "snap" || NAMES.contains(&name)
}
