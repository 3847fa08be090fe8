//! Folders of a repository that are projects of their own.

use std::collections::BTreeSet;

/// How far below the root they are looked for: `frontend`, `services/api`.
const DEPTH_MAX: usize = 2;
/// The most of them that are set up and tested together.
const FOLDERS_MAX: usize = 12;
/// Files that say of their folder that it is a project.
const MARKS: [&str; 13] = [
    "Cargo.toml",
    "Gemfile.lock",
    "build.gradle",
    "build.gradle.kts",
    "go.mod",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "requirements.txt",
    "settings.gradle",
    "settings.gradle.kts",
    "setup.py",
    "uv.lock",
];
/// Folders whose projects are not the repository's own work: they document it, or tests read them.
const PASSED_OVER: [&str; 16] = [
    "doc",
    "docs",
    "example",
    "examples",
    "fixtures",
    "node_modules",
    "sample",
    "samples",
    "spec",
    "target",
    "template",
    "templates",
    "test",
    "testdata",
    "tests",
    "vendor",
];

/// The folders, each without those inside of it; none where they are too many to be meant.
pub(super) fn of_projects<'p>(paths: &BTreeSet<&'p str>) -> Vec<&'p str> {
    let mut folders: Vec<&str> = Vec::new();
    let is_plain = |folder: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        let parts: Vec<&str> = folder.split('/').collect();
        folder.chars().all(is_plain)
            && parts.len() <= DEPTH_MAX
            && parts.iter().all(|part| !part.starts_with(['.', '-']) && !PASSED_OVER.contains(part))
    };
    let marked = paths.iter().filter_map(|path| path.rsplit_once('/').filter(|(_, name)| MARKS.contains(name)));
    let mut marked: Vec<&str> = marked.map(|(folder, _)| folder).filter(|folder| is_plain(folder)).collect();
    marked.sort_unstable();
    for folder in marked {
        let inside =
            |known: &&str| folder.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if !folders.iter().any(inside) {
            folders.push(folder);
        }
    }
    if folders.len() > FOLDERS_MAX { Vec::new() } else { folders }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_in_folders_near_the_root_and_not_in_those_that_document_or_test() {
        for (paths, folders) in [
            (vec!["frontend/package.json", "backend/go.mod", "README.md"], vec!["backend", "frontend"]),
            (vec!["services/api/requirements.txt", "services/web/package.json"], vec!["services/api", "services/web"]),
            (vec!["app/package.json", "app/sub/package.json", "app-b/package.json"], vec!["app", "app-b"]),
            (vec!["docs/requirements.txt", "tests/x/package.json", "a/b/c/go.mod", ".x/go.mod", "a b/go.mod"], vec![]),
            (vec!["package.json", "go.mod"], vec![]),
        ] {
            assert_eq!(of_projects(&paths.iter().copied().collect()), folders, "{paths:?}");
        }
        let many: Vec<String> = (0..FOLDERS_MAX + 1).map(|n| format!("p{n}/go.mod")).collect();
        assert!(of_projects(&many.iter().map(String::as_str).collect()).is_empty());
    }
}
