//! Which documents of a repository guide a piece of work (FLY-19, FLY-33): the covenant nearest to its files, and the first of
//! the plan's sources that there is. Pure: whether a document is there comes from the caller, and nobody reads it here.

use std::collections::BTreeSet;

/// The source of a plan that names none.
pub const SOURCE_DEFAULT: &str = "docs/product-spec.md";
/// Documents of guidance that are shown.
const GUIDES_MAX: usize = 6;

/// The covenants for work on the files in `focus`, the nearest first: in the folder of a file, or in one above it, those with
/// the name that the covenant at `covenant` has, and that one itself, last. Only what is among `files`.
#[must_use]
pub fn guides<'a>(covenant: &str, files: &BTreeSet<&'a str>, focus: &[&str]) -> Vec<&'a str> {
    let name = covenant.rsplit('/').next().unwrap_or(covenant);
    let mut folders: BTreeSet<&str> = BTreeSet::new();
    for path in focus {
        folders.extend(path.match_indices('/').filter_map(|(end, _)| path.get(..=end)));
    }
    let mut near: Vec<&str> =
        folders.into_iter().filter_map(|f| files.get(format!("{f}{name}").as_str())).copied().collect();
    near.retain(|path| *path != covenant);
    near.sort_by_key(|path| std::cmp::Reverse(path.matches('/').count()));
    near.truncate(GUIDES_MAX - 1);
    near.extend(files.get(covenant).copied());
    near
}

/// Which of the plan's sources counts: the first that is there. Without one, the waypoint's goal is all there is.
#[must_use]
pub fn source(sources: &[String], is_there: impl Fn(&str) -> bool) -> Option<&str> {
    let mut named = sources.iter().map(String::as_str);
    if sources.is_empty() {
        return Some(SOURCE_DEFAULT).filter(|path| is_there(path));
    }
    named.find(|path| is_there(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [&str; 6] = [
        "AGENTS.md",
        "core/AGENTS.md",
        "core/src/engine/AGENTS.md",
        "core/src/gates.rs",
        "web/AGENTS.md",
        "docs/spec.md",
    ];

    fn files() -> BTreeSet<&'static str> {
        FILES.into_iter().collect()
    }

    #[test]
    fn the_nearest_covenant_comes_first_and_none_of_another_folder() {
        let of = |focus: &[&str]| guides("AGENTS.md", &files(), focus);
        assert_eq!(of(&["core/src/engine/leave.rs"]), ["core/src/engine/AGENTS.md", "core/AGENTS.md", "AGENTS.md"]);
        assert_eq!(of(&["core/src/gates.rs", "core/build.rs"]), ["core/AGENTS.md", "AGENTS.md"]);
        assert_eq!(of(&["README.md"]), ["AGENTS.md"]);
        assert_eq!(of(&[]), ["AGENTS.md"]);
    }

    #[test]
    fn a_covenant_of_another_name_is_looked_for_by_that_name() {
        assert_eq!(guides("docs/spec.md", &files(), &["core/src/gates.rs"]), ["docs/spec.md"]);
        assert!(guides("GUIDE.md", &files(), &["core/src/gates.rs"]).is_empty(), "there is none");
    }

    #[test]
    fn covenants_are_bounded_and_the_repositorys_own_stays() {
        let paths: Vec<String> = (0..20).map(|n| format!("d{n}/AGENTS.md")).collect();
        let files: BTreeSet<&str> = paths.iter().map(String::as_str).chain(["AGENTS.md"]).collect();
        let focus: Vec<&str> = paths.iter().map(String::as_str).collect();
        let found = guides("AGENTS.md", &files, &focus);
        assert_eq!((found.len(), found.last()), (GUIDES_MAX, Some(&"AGENTS.md")));
    }

    #[test]
    fn the_first_source_that_is_there_counts() {
        let sources = ["docs/none.md".to_owned(), "docs/spec.md".to_owned(), "AGENTS.md".to_owned()];
        let is_there = |path: &str| FILES.contains(&path);
        assert_eq!(source(&sources, is_there), Some("docs/spec.md"));
        assert_eq!(source(&sources[..1], is_there), None);
        assert_eq!(source(&[], is_there), None);
        assert_eq!(source(&[], |path| path == SOURCE_DEFAULT), Some(SOURCE_DEFAULT));
    }
}
