//! Skill packs: what a repository knows of one kind of work, told to those who do that kind of work (FLY-35). Which files are
//! skills, what one says of where it applies ([`read()`]), and which apply to a turn. Pure: the files come from the caller.
//!
//! What a skill says is the repository's words. Nothing here runs its commands, and it decides nothing.

mod read;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use holdpoint_evidence::{
    map::{MapFile, language},
    paths::{Glob, Links, SKILLS_FOLDER},
};
use holdpoint_protocol::{plan::Criterion, reason::ReasonCode};

pub use read::read;

/// Bytes of the largest skill.
pub const FILE_BYTES_MAX: usize = 24 << 10;
/// Skills of one repository that are looked at.
pub const LOOKED_AT_MAX: usize = 32;
/// Skills that one turn gets.
const ATTACHED_MAX: usize = 4;
/// Bytes of an item of a condition.
const ITEM_BYTES_MAX: usize = 256;
/// Segments of a path of a condition.
const DEPTH_MAX: usize = 16;

/// A skill pack.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Its path from the repository's root.
    pub path: String,
    /// Everything behind its front matter, Markdown.
    pub text: String,
    applies: Applies,
}

/// Where a skill applies. Each list that has items must match, by one of its items.
#[derive(Debug, Clone)]
struct Applies {
    /// Languages of the files that the work is about, as the map of a repository names them.
    stack: Vec<&'static str>,
    /// These files, or folders that they are in.
    paths: Vec<String>,
    /// Words in the waypoint's title, goal and criteria.
    words: Vec<String>,
    /// What the last attempt came to.
    reasons: Vec<ReasonCode>,
}

/// Which conditions of skills hold for a set of paths.
#[derive(Debug)]
pub struct Covered {
    languages: BTreeSet<&'static str>,
    /// Of each skill whether one of its paths is there, or it asks for none.
    by_path: Vec<bool>,
}

impl Covered {
    /// Looks at the paths that work is about ([`paths`]).
    #[must_use]
    pub fn by(skills: &[Skill], paths: &[&str]) -> Self {
        let languages = paths.iter().filter_map(|path| language(path)).map(|language| language.name).collect();
        let mut by_path: Vec<bool> = skills.iter().map(|skill| skill.applies.paths.is_empty()).collect();
        let mut wanted: HashMap<&str, Vec<usize>> = HashMap::new();
        for (of, skill) in skills.iter().enumerate() {
            skill.applies.paths.iter().for_each(|path| wanted.entry(path).or_default().push(of));
        }
        for path in paths.iter().flat_map(|path| with_folders(path)) {
            if wanted.is_empty() {
                break;
            }
            for of in wanted.remove(path).unwrap_or_default() {
                by_path[of] = true;
            }
        }
        Self { languages, by_path }
    }
}

/// The folders of a path, and itself, as far as a skill can name them.
fn with_folders(path: &str) -> impl Iterator<Item = &str> {
    let folders = path.match_indices('/').take(DEPTH_MAX).map(|(end, _)| &path[..end]);
    folders.chain([path]).filter(|path| path.len() <= ITEM_BYTES_MAX)
}

/// Whether this is a skill's file: `docs/skills/NAME.md`, or `docs/skills/NAME/SKILL.md`.
#[must_use]
pub fn is_skill(path: &str) -> bool {
    let Some(inside) = path.strip_prefix(SKILLS_FOLDER).and_then(|rest| rest.strip_prefix('/')) else { return false };
    match inside.split_once('/') {
        Some((_, file)) => file == "SKILL.md",
        None => inside.ends_with(".md") && inside != "README.md",
    }
}

/// Whether something in this place would be a skill, a folder of one, or the folder of all: `docs/skills`, `docs/skills/NAME`.
#[must_use]
pub fn may_be_skills(path: &str) -> bool {
    let inside = path.strip_prefix(SKILLS_FOLDER).map(|rest| rest.strip_prefix('/').unwrap_or(rest));
    is_skill(path) || inside.is_some_and(|inside| !inside.contains('/') && !inside.contains('.'))
}

/// The skills among these files of a tree, by name, each with the file that it is: another one where a link leads to it.
#[must_use]
pub fn among<'a>(files: impl IntoIterator<Item = &'a str>, links: &Links) -> BTreeMap<String, &'a str> {
    let linked = links.touch(SKILLS_FOLDER);
    let mut found = BTreeMap::new();
    for file in files {
        if is_skill(file) {
            found.insert(file.to_owned(), file);
        } else if linked && let Some(name) = links.names(file).into_iter().find(|name| is_skill(name)) {
            found.insert(name, file);
        }
    }
    found
}

/// The paths that work is about: files of its focus ([`holdpoint_evidence::map::focus`]), and what its scope names that is not there yet. Work
/// whose scope matches nothing yet is about every file.
#[must_use]
pub fn paths<'a>(files: &[MapFile<'a>], focus: &[usize], scope: &'a [String]) -> Vec<&'a str> {
    let all = || files.iter().map(|file| file.path);
    let mut about: Vec<&str> = focus.iter().filter_map(|at| files.get(*at)).map(|file| file.path).collect();
    let is_path = |glob: &&str| Glob::new(glob).is_ok_and(|glob| glob.is_literal());
    let named: Vec<&str> = scope.iter().map(String::as_str).filter(is_path).collect();
    if !named.is_empty() {
        let there: HashSet<&str> = all().collect();
        about.extend(named.into_iter().filter(|path| !there.contains(path)));
    }
    if about.is_empty() { all().collect() } else { about }
}

/// The words of a waypoint that skills look at.
#[must_use]
pub fn words(title: &str, goal: &str, criteria: &[Criterion]) -> String {
    let statements = criteria.iter().map(|criterion| criterion.statement.as_str());
    [title, goal].into_iter().chain(statements).collect::<Vec<_>>().join("\n")
}

/// The skills that apply to work with these words ([`words`]), whose last attempt came to this: those that ask for the most come
/// first, then by path; `ATTACHED_MAX` at most.
#[must_use]
pub fn relevant<'s>(skills: &'s [Skill], covered: &Covered, words: &str, reason: Option<ReasonCode>) -> Vec<&'s Skill> {
    let words = spaced(words);
    let by_path = skills.iter().zip(&covered.by_path).filter(|(_, by_path)| **by_path).map(|(skill, _)| skill);
    let mut found: Vec<&Skill> = by_path.filter(|skill| skill.applies.to(&covered.languages, &words, reason)).collect();
    found.sort_by_key(|skill| (Reverse(skill.applies.conditions()), skill.path.as_str()));
    found.truncate(ATTACHED_MAX);
    found
}

impl Applies {
    /// Whether everything but its paths holds. `words` are as [`spaced`] has them.
    fn to(&self, languages: &BTreeSet<&str>, words: &str, reason: Option<ReasonCode>) -> bool {
        let Self { stack, paths: _, words: wanted, reasons } = self;
        (stack.is_empty() || stack.iter().any(|language| languages.contains(language)))
            && (wanted.is_empty() || wanted.iter().any(|wanted| words.contains(wanted.as_str())))
            && (reasons.is_empty() || reason.is_some_and(|reason| reasons.contains(&reason)))
    }

    /// How many conditions it has.
    fn conditions(&self) -> usize {
        let Self { stack, paths, words, reasons } = self;
        [stack.is_empty(), paths.is_empty(), words.is_empty(), reasons.is_empty()].iter().filter(|no| !**no).count()
    }
}

/// The words of a text, in lower case, with one space before and behind each. `C++` and `C#` are words.
fn spaced(text: &str) -> String {
    let mut spaced = String::from(" ");
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#'));
    for word in words.filter(|word| word.contains(char::is_alphanumeric)) {
        spaced.extend(word.chars().flat_map(char::to_lowercase));
        spaced.push(' ');
    }
    spaced
}

#[cfg(test)]
mod tests;
