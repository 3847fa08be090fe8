//! Names that differ in nothing but case. Git keeps both; a file system that ignores case, as most on macOS and Windows, has one of
//! them in a checkout, and shows the other as changed.

use std::collections::{BTreeMap, BTreeSet};

/// Groups of names, files or folders above them, that differ in nothing but case and of which the work brought one. What the base has
/// alone is the project's own.
#[must_use]
pub fn case_clashes<'a>(base: &[&'a str], work: &[&'a str]) -> Vec<Vec<&'a str>> {
    let had: BTreeSet<&str> = base.iter().copied().flat_map(with_folders).collect();
    let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for name in work.iter().copied().flat_map(with_folders) {
        groups.entry(name.to_lowercase()).or_default().insert(name);
    }
    let clashes = groups.into_values().filter(|group| group.len() > 1 && !group.iter().all(|name| had.contains(name)));
    clashes.map(|group| group.into_iter().collect()).collect()
}

/// A path, and the folders that it is in.
fn with_folders(path: &str) -> impl Iterator<Item = &str> {
    let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    folders.chain(std::iter::once(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_case_only_are_found_where_the_work_brought_one_of_them() {
        let base = ["docs/A.md", "docs/a.md", "src/lib.rs", "Makefile"];
        let clashes = |new: &[&'static str]| {
            let work: Vec<&str> = base.iter().chain(new).copied().collect();
            case_clashes(&base, &work)
        };
        assert!(clashes(&["src/main.rs", "docs/b.md"]).is_empty(), "those of the base are its own");
        assert_eq!(
            clashes(&["makefile", "src/Lib.rs"]),
            [vec!["Makefile", "makefile"], vec!["src/Lib.rs", "src/lib.rs"]]
        );
        assert_eq!(clashes(&["SRC/x.rs"]), [vec!["SRC", "src"]], "their folders, once");
        assert_eq!(clashes(&["Docs"]), [vec!["Docs", "docs"]], "a file and a folder");
        assert_eq!(clashes(&["docs/Ä", "docs/ä"]), [vec!["docs/Ä", "docs/ä"]]);
    }
}
