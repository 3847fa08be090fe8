//! Symlinks of the base: a file may be known by several names, and each of them counts.
//!
//! Only links whose target is in the tree are followed; nothing here looks at a file system.

use std::collections::BTreeSet;

/// Links that are followed. A tree with more has its own ideas; a clone's first few hundred are those that checks name.
pub const LINKS_MAX: usize = 256;
/// How many links one after another are followed, as a kernel bounds it.
const DEPTH_MAX: usize = 8;
/// Names of one path that are looked at.
const NAMES_MAX: usize = 64;

/// The symlinks of a tree.
#[derive(Debug, Clone, Default)]
pub struct Links(Vec<(String, String)>);

impl Links {
    /// Links from their paths and texts; those that lead outside are left out, and all past [`LINKS_MAX`].
    pub fn new(links: impl IntoIterator<Item = (String, String)>) -> Self {
        let inside = links.into_iter().filter_map(|(path, text)| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let target = super::resolve(folder, &text)?;
            Some((path, target))
        });
        Self(inside.take(LINKS_MAX).collect())
    }

    /// Where `path` leads when links in it are followed.
    #[must_use]
    pub fn resolve(&self, path: &str) -> String {
        let mut path = path.to_owned();
        for _ in 0..DEPTH_MAX {
            let step = self.0.iter().find_map(|(link, target)| renamed(&path, link, target));
            match step {
                Some(next) => path = next,
                None => break,
            }
        }
        path
    }

    /// Whether a link is on the way to `folder`, in its place, or in it.
    #[must_use]
    pub fn touch(&self, folder: &str) -> bool {
        self.0.iter().any(|(link, _)| renamed(link, folder, "").is_some() || renamed(folder, link, "").is_some())
    }

    /// `path` and every other name it has through links.
    #[must_use]
    pub fn names(&self, path: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::from([path.to_owned()]);
        let mut newest = vec![path.to_owned()];
        for _ in 0..DEPTH_MAX {
            let found = newest
                .iter()
                .flat_map(|name| self.0.iter().filter_map(move |(link, target)| renamed(name, target, link)));
            newest = found.filter(|name| !names.contains(name)).collect();
            names.extend(newest.iter().take(NAMES_MAX.saturating_sub(names.len())).cloned());
            if newest.is_empty() || names.len() >= NAMES_MAX {
                break;
            }
        }
        names
    }
}

/// `path` with `from` at its beginning replaced by `to`.
fn renamed(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(list: &[(&str, &str)]) -> Links {
        Links::new(list.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())))
    }

    #[test]
    fn a_path_has_the_names_of_all_links_that_lead_to_it() {
        let links = links(&[("check.sh", "tools/real.sh"), ("tools", "lib/tools"), ("out", "/etc"), ("up", "../x")]);
        let names: Vec<String> = links.names("lib/tools/real.sh").into_iter().collect();
        assert_eq!(names, ["check.sh", "lib/tools/real.sh", "tools/real.sh"]);
        assert_eq!(links.resolve("check.sh"), "lib/tools/real.sh");
        assert_eq!(links.names("etc").len(), 1);
    }

    #[test]
    fn a_link_touches_the_folders_that_it_leads_to_and_is_in() {
        let links = links(&[("docs/skills", "../.claude/skills"), ("a/b", "c")]);
        for (folder, touched) in [("docs/skills", true), ("docs/skills/x", true), ("a", true), ("docs/skill", false)] {
            assert_eq!(links.touch(folder), touched, "{folder}");
        }
    }

    #[test]
    fn links_in_a_circle_come_to_an_end() {
        let links = links(&[("a", "b"), ("b", "a"), ("c", "c/c")]);
        assert!(links.names("a").len() <= NAMES_MAX);
        assert!(!links.resolve("c").is_empty());
    }
}
