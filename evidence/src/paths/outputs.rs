//! What builds, test runs and tools leave in a tree. Git should ignore it, and then it is no work; where git does not, it is said
//! as what it is. It decides nothing else.

use super::file_name;

/// Folders of outputs and caches, at any depth.
const FOLDERS: [&str; 26] = [
    "coverage",
    "htmlcov",
    ".nyc_output",
    "test-results",
    "playwright-report",
    "surefire-reports",
    "dist",
    "build",
    "out",
    "target",
    "obj",
    ".turbo",
    ".next",
    ".nuxt",
    ".output",
    ".svelte-kit",
    ".parcel-cache",
    ".cache",
    ".gradle",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "CMakeFiles",
];
/// Below `bin`, what .NET builds.
const BELOW_BIN: [&str; 2] = ["Debug", "Release"];
/// Ends of file names.
const ENDS: [&str; 14] = [
    ".tsbuildinfo",
    ".tgz",
    ".tar.gz",
    ".whl",
    ".lcov",
    ".gcda",
    ".gcno",
    ".profraw",
    ".pyc",
    ".class",
    ".o",
    ".a",
    ".log",
    ".trx",
];
/// File names.
const NAMES: [&str; 8] = [
    ".coverage",
    "lcov.info",
    "coverage.xml",
    "coverage.out",
    "junit.xml",
    "test-report.xml",
    "CMakeCache.txt",
    ".eslintcache",
];

/// Whether a path looks like the output of a build or of a test run, or like a cache.
#[must_use]
pub fn is_output(path: &str) -> bool {
    let name = file_name(path);
    let mut folders = path.split('/').rev().skip(1).collect::<Vec<_>>();
    folders.reverse();
    folders.iter().any(|folder| FOLDERS.contains(folder))
        || folders.windows(2).any(|pair| matches!(pair, ["bin", below] if BELOW_BIN.contains(below)))
        || ENDS.iter().any(|end| name.ends_with(end))
        || NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_known_by_their_folders_and_names_and_sources_are_not() {
        for path in [
            "coverage/lcov.info",
            "packages/a/dist/index.js",
            "target/classes/A.class",
            "build/CMakeCache.txt",
            "app/bin/Debug/net8.0/app.dll",
            "app/obj/app.assets.json",
            ".turbo/cache/x.tar.zst",
            "tsconfig.tsbuildinfo",
            "pkg-1.0.0.tgz",
            "junit.xml",
        ] {
            assert!(is_output(path), "{path}");
        }
        for path in
            ["src/coverage.js", "bin/run", "bin/tools/Debug.sh", "lib/builder.go", "docs/report.md", "build.rs", "o"]
        {
            assert!(!is_output(path), "{path}");
        }
    }
}
