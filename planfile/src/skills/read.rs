//! Reading a skill: front matter between two lines of `---`, and Markdown behind it. Every problem is found at once, with its
//! place.

use holdpoint_evidence::{map, paths::Glob};
use holdpoint_protocol::reason::ReasonCode;

use super::{Applies, DEPTH_MAX, FILE_BYTES_MAX, ITEM_BYTES_MAX, Skill, spaced};
use crate::yaml::{
    error::{PlanErrors, Problems},
    fields::{Fields, word},
    front_matter,
    place::Position,
    source::{self, FileBound},
    tree::{self, FileKind, Node, Value},
    words::quoted,
};

/// Items of one condition.
const ITEMS_MAX: usize = 16;
/// The keys of `applies`.
const KEYS: &[&str] = &["stack", "paths", "words", "reasons"];
/// What a skill has at least.
const LEAST: &str = "begin the file with `---`, `applies: {stack: [rust]}` and `---`, each a line; its text follows";

const BOUND: FileBound = FileBound {
    bytes: FILE_BYTES_MAX,
    what: "the skill",
    hint: "keep to what an agent needs, and name documents for the rest",
};

const KIND: FileKind =
    FileKind { name: "skill's front matter", least: LEAST, depth: "a skill's front matter needs three levels" };

/// Reads the file of a skill.
///
/// # Errors
/// It has no front matter, or one that does not say where the skill applies.
pub fn read(path: &str, bytes: &[u8]) -> Result<Skill, PlanErrors> {
    source::read(bytes, path, BOUND, |text, problems| skill(path, text, problems))
}

fn skill(path: &str, text: &str, problems: &mut Problems) -> Option<Skill> {
    let Some((front, body)) = front_matter::split(text) else {
        problems.add(Position::START, "the skill has no front matter: nothing says where it applies", LEAST);
        return None;
    };
    let root = tree::load(front, &KIND, problems)?;
    // Other programs have keys of their own there.
    let fields = Fields::free(&root, "the front matter", LEAST, problems)?;
    fields.demand("applies", "say where it applies: `applies: {stack: [rust]}`", problems);
    let applies = applies(fields.get("applies", problems)?, problems)?;
    let body = body.trim();
    if body.is_empty() {
        problems.add(root.at, "the skill says nothing", "write what agents should know behind the second `---`");
    }
    Some(Skill { path: path.to_owned(), text: body.to_owned(), applies })
}

fn applies(node: &Node, problems: &mut Problems) -> Option<Applies> {
    let fields = Fields::open(node, "`applies`", KEYS, problems)?;
    if fields.entries().is_empty() {
        let hint = "name `stack`, `paths`, `words` or `reasons`; what holds for all work belongs in AGENTS.md";
        problems.add(node.at, "`applies` has no condition", hint);
    }
    Some(Applies {
        stack: items(&fields, "stack", problems, language),
        paths: items(&fields, "paths", problems, path_of),
        words: items(&fields, "words", problems, |text| match spaced(text) {
            spaced if spaced.trim().is_empty() => {
                Err((format!("`{}` has no letter and no digit", quoted(text)), "write a word, or several".to_owned()))
            }
            spaced => Ok(spaced),
        }),
        reasons: items(&fields, "reasons", problems, reason),
    })
}

/// The items of a condition, as far as `take` takes them; else it says what is wrong, and what to do.
fn items<T>(
    fields: &Fields<'_>,
    key: &str,
    problems: &mut Problems,
    take: impl Fn(&str) -> Result<T, (String, String)>,
) -> Vec<T> {
    let Some(node) = fields.get(key, problems) else { return Vec::new() };
    match &node.value {
        Value::List(items) if items.is_empty() => {
            let hint = "name at least one, or leave the key out";
            problems.add(node.at, format!("`{key}` is empty: the skill would apply nowhere"), hint);
        }
        Value::List(items) if items.len() > ITEMS_MAX => {
            problems.add(node.at, format!("`{key}` has more than {ITEMS_MAX} items"), "name fewer");
            return Vec::new();
        }
        _ => {}
    }
    let what = format!("an item of `{key}`");
    fields.list(key, problems, |node, problems| {
        let word = word(node, &what, problems)?;
        if word.text.len() > ITEM_BYTES_MAX {
            problems.add(word.at, format!("{what} has more than {ITEM_BYTES_MAX} bytes"), "write a shorter one");
            return None;
        }
        take(word.text).map_err(|(message, hint)| problems.add(word.at, message, hint)).ok()
    })
}

/// A file or a folder. `a/` and `a/**` are the folder `a`.
fn path_of(text: &str) -> Result<String, (String, String)> {
    let path = text.strip_suffix("/**").or_else(|| text.strip_suffix('/')).unwrap_or(text);
    let is_path = Glob::new(path).is_ok_and(|glob| glob.is_literal());
    if is_path && path.matches('/').count() < DEPTH_MAX {
        return Ok(path.to_owned());
    }
    let hint = "write it from the repository's root without `*`, such as `crates/net`, which is everything below; kinds of files are \
                named by `stack`";
    Err((format!("`{}` is not the path of a file or folder", quoted(text)), hint.to_owned()))
}

fn language(text: &str) -> Result<&'static str, (String, String)> {
    map::known_languages().find(|name| name.eq_ignore_ascii_case(text)).ok_or_else(|| {
        let names: Vec<&str> = map::known_languages().collect();
        (
            format!("`{}` is not a language that is known by its files", quoted(text)),
            format!("one of {}", names.join(", ")),
        )
    })
}

fn reason(text: &str) -> Result<ReasonCode, (String, String)> {
    ReasonCode::ALL.iter().copied().find(|code| code.as_str() == text).ok_or_else(|| {
        let hint = "write the `reason_code` of a decision, such as `merge_conflict`; docs/contract.md lists them";
        (format!("`{}` is not a reason code", quoted(text)), hint.to_owned())
    })
}
