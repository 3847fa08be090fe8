//! What a clone has besides the work that is captured: people and the next attempt hear of it by name, so that nothing that was
//! made is passed over in silence.

use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_protocol::facts::{LEFT_OUT_MAX, LeftOut, LeftOutKind};

use super::Mirror;
use super::capture::{Reading, excluding, names};
use super::special;
use crate::droppings::undeclared;
use crate::error::{InputRefusal, WorkspaceError};
use crate::objects::Odb;
use crate::oid::ObjectId;
use crate::path::{RepoPath, escaped};

/// Ignored paths whose rules are looked up: those that are named, and as many of a lesser kind that may be in front of them.
const LOOKED_UP_MAX: usize = 10 * LEFT_OUT_MAX;
/// Characters of a path or a rule that are shown.
const SHOWN_MAX: usize = 200;
/// Characters of why something is left out.
const WHY_MAX: usize = 1_000;

/// An ignored path that is in no other one, and the first file in it.
type Outermost<'a> = (&'a [u8], &'a [u8]);

impl Mirror {
    /// What the clone has besides. What cannot be listed is an item, too.
    pub(super) async fn left_out(&self, reading: &Reading, base: &ObjectId) -> Vec<LeftOut> {
        let mut all = self.elsewhere(&reading.dir, base).await;
        match self.ignored_files(reading).await {
            Ok(ignored) => all.extend(ignored),
            Err(error) => {
                let why = format!("git cannot list them: {error}");
                all.push(LeftOut { kind: LeftOutKind::Ignored, what: "ignored files".to_owned(), why });
            }
        }
        let declared = |folder: &Vec<u8>| {
            let why = "a cache, by its own CACHEDIR.TAG".to_owned();
            LeftOut { kind: LeftOutKind::Dropping, what: shown(folder) + "/", why }
        };
        all.extend(reading.caches.iter().map(declared));
        all.extend(self.special_files(reading).await);
        all
    }

    /// What is neither a file nor a folder nor a link, and no rule ignores: git passes over it in silence.
    async fn special_files(&self, reading: &Reading) -> Vec<LeftOut> {
        let (dir, base, caches) = (reading.dir.clone(), Arc::clone(&reading.base), reading.caches.clone());
        let look = move |_: &Odb| Ok(special::files(&dir, &base, &caches));
        let found = self.inner.objects.at_length(look).await.unwrap_or_default();
        let paths: Vec<Outermost<'_>> = found.iter().map(|(path, _)| (path.as_slice(), path.as_slice())).collect();
        let rules = self.rules(reading, &paths).await.unwrap_or_default();
        let rules = rules.into_iter().chain(std::iter::repeat(Rule::None));
        let unruled = found.iter().zip(rules).filter(|(_, rule)| *rule == Rule::None);
        let unfit = |what: String, why: String| LeftOut { kind: LeftOutKind::Unfit, what, why };
        unruled.map(|((path, what), _)| unfit(shown(path), format!("{what}, which no commit can hold"))).collect()
    }

    async fn ignored_files(&self, reading: &Reading) -> Result<Vec<LeftOut>, WorkspaceError> {
        let Reading { dir, scratch, earlier, .. } = reading;
        let git = scratch.git("ls-files").work_tree(dir).long();
        let git = git.args(["-z", "--others", "--ignored", "--exclude-standard", "--directory"]);
        let program = self.ignored.as_deref().map_or(&[][..], |ignored| &ignored.rules.program);
        let listed = git.args(excluding(program)).run_ok().await?;
        let work: HashSet<&[u8]> = earlier.iter().map(|path| path.as_bytes()).collect();
        let mut ignored = outermost(names(&listed).filter(|name| !work.contains(name)));
        // Single files are work more often than folders full of them.
        ignored.sort_by_key(|(outer, _)| outer.ends_with(b"/"));
        let more = ignored.len().saturating_sub(LOOKED_UP_MAX);
        ignored.truncate(LOOKED_UP_MAX);
        let rules = self.rules(reading, &ignored).await?;
        let mut found: Vec<LeftOut> = ignored.iter().zip(rules).map(|((outer, _), rule)| rule.of(outer)).collect();
        if more > 0 {
            let (what, why) = (format!("{more} more paths"), "ignored, or left by tools".to_owned());
            found.push(LeftOut { kind: LeftOutKind::Ignored, what, why });
        }
        Ok(found)
    }

    /// By which rule each path, or the first file in it, is ignored.
    async fn rules(&self, reading: &Reading, paths: &[Outermost<'_>]) -> Result<Vec<Rule>, WorkspaceError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let Reading { dir, scratch, .. } = reading;
        let both = paths.iter().flat_map(|(outer, first)| [outer, first]);
        let asked = both.flat_map(|path| [&b"./"[..], *path, b"\0"]).flatten().copied().collect();
        let git =
            scratch.git("check-ignore").work_tree(dir).args(["-v", "-z", "--non-matching", "--no-index", "--stdin"]);
        let answer = git.stdin(asked).magic_paths().long().run().await?.stdout;
        let fields: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
        let own = scratch.exclude_file();
        let rules: Vec<Rule> = fields.chunks_exact(4).map(|fields| Rule::read(fields, &own)).collect();
        let each =
            rules.chunks(2).map(|both| both.iter().find(|rule| **rule != Rule::None).unwrap_or(&Rule::None).clone());
        Ok(each.chain(std::iter::repeat(Rule::None)).take(paths.len()).collect())
    }
}

/// A rule by which a path is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    /// An ignore file says so, in words.
    File(String),
    /// The flight says so, with this pattern.
    Flight(String),
    /// It is a tool's.
    Tool(&'static str),
    /// No file says so: the agent's program leaves it for itself.
    None,
}

impl Rule {
    /// One of git's answers: the file, the line, the pattern and the path. `own` is the exclude file that is ours.
    fn read(fields: &[&[u8]], own: &std::path::Path) -> Self {
        let [source, line, pattern, _] = fields else { return Self::None };
        if source.is_empty() || pattern.starts_with(b"!") {
            return Self::None;
        }
        let line = String::from_utf8_lossy(line).into_owned();
        if *source == own.as_os_str().as_encoded_bytes() {
            let tool = line.parse().ok().and_then(undeclared);
            return tool.map_or_else(|| Self::Flight(shown(pattern)), Self::Tool);
        }
        Self::File(format!("{}:{line} `{}`", shown(source), shown(pattern)))
    }

    fn of(self, path: &[u8]) -> LeftOut {
        let (kind, why) = match self {
            Self::File(rule) => (LeftOutKind::Ignored, format!("ignored by {rule}")),
            Self::Flight(pattern) => (LeftOutKind::Ignored, format!("ignored by the flight's rule `{pattern}`")),
            Self::Tool(whose) => (LeftOutKind::Dropping, whose.to_owned()),
            Self::None => (LeftOutKind::Dropping, "the agent's program leaves it for itself".to_owned()),
        };
        LeftOut { kind, what: shown(path), why }
    }
}

/// Of names in git's order those that are in no folder before them, each with the first file in it.
fn outermost<'a>(names: impl Iterator<Item = &'a [u8]>) -> Vec<Outermost<'a>> {
    let mut found: Vec<Outermost<'a>> = Vec::new();
    for name in names {
        match found.last_mut() {
            Some((outer, first)) if outer.ends_with(b"/") && name.starts_with(outer) => {
                if first.ends_with(b"/") {
                    *first = name;
                }
            }
            _ => found.push((name, name)),
        }
    }
    found
}

/// What is refused, with why.
pub(super) fn unfit(path: Option<&RepoPath>, refused: &InputRefusal) -> LeftOut {
    let kind = LeftOutKind::Unfit;
    let why = match refused {
        InputRefusal::Unstorable { .. } => format!("kept as it is, though {refused}"),
        _ => refused.to_string(),
    };
    match path.map(ToString::to_string).or_else(|| refused.path()) {
        Some(whole) => {
            let rest = why.strip_prefix(&whole).map(|rest| rest.trim_start().trim_start_matches("is ").to_owned());
            LeftOut { kind, what: whole, why: rest.unwrap_or(why) }
        }
        None => LeftOut { kind, what: "some of the files".to_owned(), why },
    }
}

/// What was left out as a handoff names it: the most surprising first, at most so many, and each within bounds.
#[must_use]
pub fn named(mut all: Vec<LeftOut>) -> Vec<LeftOut> {
    all.sort_by_key(|left_out| left_out.kind);
    few(all)
        .into_iter()
        .map(|one| LeftOut { what: cut(one.what, SHOWN_MAX), why: cut(one.why, WHY_MAX), ..one })
        .collect()
}

/// So many as a handoff names.
fn few(mut all: Vec<LeftOut>) -> Vec<LeftOut> {
    if all.len() > LEFT_OUT_MAX {
        let more = all.split_off(LEFT_OUT_MAX - 1);
        let kind = more.first().map_or(LeftOutKind::Dropping, |first| first.kind);
        let what = format!("{} more", more.len());
        all.push(LeftOut { kind, what, why: format!("a handoff names {LEFT_OUT_MAX} at most") });
    }
    all
}

/// A path or a rule as printable text.
pub(super) fn shown(bytes: &[u8]) -> String {
    cut(escaped(bytes), SHOWN_MAX)
}

fn cut(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) if !text.ends_with('…') => format!("{}…", text.get(..at).unwrap_or_default()),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_once_with_the_first_file_in_them() {
        let names = ["a.log", "logs/", "logs/deep/", "logs/deep/x.log", "logs/y.log", "target/", "z.log"];
        let found = outermost(names.iter().map(|name| name.as_bytes()));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let found: Vec<(String, String)> = found.iter().map(|(outer, first)| (text(outer), text(first))).collect();
        let wanted = [("a.log", "a.log"), ("logs/", "logs/deep/x.log"), ("target/", "target/"), ("z.log", "z.log")];
        assert_eq!(found, wanted.map(|(outer, first)| (outer.to_owned(), first.to_owned())));
    }

    #[test]
    fn a_list_that_is_too_long_says_how_many_it_leaves_out() {
        let one = |n: usize| LeftOut { kind: LeftOutKind::Ignored, what: n.to_string(), why: String::new() };
        assert_eq!(few((0..LEFT_OUT_MAX).map(one).collect()).len(), LEFT_OUT_MAX);
        let short = few((0..LEFT_OUT_MAX + 5).map(one).collect());
        assert_eq!((short.len(), short.last().unwrap().what.as_str()), (LEFT_OUT_MAX, "6 more"));
    }
}
