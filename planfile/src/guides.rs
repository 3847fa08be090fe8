//! Which documents of a repository guide a piece of work (FLY-19, FLY-33): the covenant nearest to its files, and the first of
//! the plan's sources that there is. Pure: whether a document is there comes from the caller, and nobody reads it here.

use std::collections::BTreeSet;

/// The source of a plan that names none.
pub const SOURCE_DEFAULT: &str = "docs/product-spec.md";
/// Documents of guidance that are shown.
const GUIDES_MAX: usize = 6;

/// A document that guides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuideFile<'a> {
    /// Under which name it was looked for.
    pub name: String,
    /// Which file it is: another one where the name is a link.
    pub file: &'a str,
}

/// The covenants for work on the files in `focus`, the nearest first: in the folder of a file, or in one above it, those with
/// the name that the covenant at `covenant` has, and that one itself, last. `find` gives the file that a name leads to; each file
/// comes once.
#[must_use]
pub fn guides<'a>(covenant: &str, find: impl Fn(&str) -> Option<&'a str>, focus: &[&str]) -> Vec<GuideFile<'a>> {
    let found = |name: String| Some(GuideFile { file: find(&name)?, name });
    let own = found(covenant.to_owned());
    let name = name_of(covenant);
    let mut folders: Vec<&str> = focus
        .iter()
        .flat_map(|path| path.match_indices('/').filter_map(|(end, _)| path.get(..=end)))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.matches('/').count()));
    let mut seen: BTreeSet<&str> = own.iter().map(|own| own.file).collect();
    let near = folders.into_iter().filter_map(|folder| found(format!("{folder}{name}")));
    let mut guides: Vec<GuideFile<'a>> = near.filter(|near| seen.insert(near.file)).take(GUIDES_MAX - 1).collect();
    guides.extend(own);
    guides
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a path has the place of a covenant: that of the repository, or one of its name in any folder.
#[must_use]
pub fn is_covenant(covenant: &str, path: &str) -> bool {
    name_of(covenant) == name_of(path)
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

    fn names(covenant: &str, files: &[&'static str], focus: &[&str]) -> Vec<String> {
        let find = |name: &str| files.iter().find(|file| **file == name).copied();
        guides(covenant, find, focus).into_iter().map(|guide| guide.name).collect()
    }

    #[test]
    fn the_nearest_covenant_comes_first_and_none_of_another_folder() {
        let of = |focus: &[&str]| names("AGENTS.md", &FILES, focus);
        assert_eq!(of(&["core/src/engine/leave.rs"]), ["core/src/engine/AGENTS.md", "core/AGENTS.md", "AGENTS.md"]);
        assert_eq!(of(&["core/src/gates.rs", "core/build.rs"]), ["core/AGENTS.md", "AGENTS.md"]);
        assert_eq!(of(&["README.md"]), ["AGENTS.md"]);
        assert_eq!(of(&[]), ["AGENTS.md"]);
    }

    #[test]
    fn a_covenant_of_another_name_is_looked_for_by_that_name() {
        assert_eq!(names("docs/spec.md", &FILES, &["core/src/gates.rs"]), ["docs/spec.md"]);
        assert!(names("GUIDE.md", &FILES, &["core/src/gates.rs"]).is_empty(), "there is none");
    }

    #[test]
    fn a_document_of_several_names_comes_once() {
        let find = |name: &str| match name {
            "AGENTS.md" | "web/AGENTS.md" => Some("CLAUDE.md"),
            "web/src/AGENTS.md" => Some("web/RULES.md"),
            _ => None,
        };
        let found = guides("AGENTS.md", find, &["web/src/a.ts"]);
        let guide = |name: &str, file| GuideFile { name: name.to_owned(), file };
        assert_eq!(found, [guide("web/src/AGENTS.md", "web/RULES.md"), guide("AGENTS.md", "CLAUDE.md")]);
    }

    #[test]
    fn covenants_are_bounded_and_the_repositorys_own_stays() {
        let paths: Vec<String> = (0..20).map(|n| format!("d{n}/AGENTS.md")).collect();
        let focus: Vec<&str> = paths.iter().map(String::as_str).collect();
        let find = |name: &str| focus.iter().chain(&["AGENTS.md"]).find(|file| **file == name).copied();
        let found = guides("AGENTS.md", find, &focus);
        assert_eq!((found.len(), found.last().unwrap().file), (GUIDES_MAX, "AGENTS.md"));
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
