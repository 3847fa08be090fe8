//! The gate engine is of no one trade (GATE-4): its identifiers have none of the words that the workflow document keeps out of
//! "core abstractions or config keys". The YAML keys are looked at where they are read (`planfile/src/declared/tests.rs`).

use std::collections::BTreeMap;

use crate::files;

/// The words, as the document lists them; `CI/CD` is two here.
const OF_ONE_TRADE: [&str; 18] = [
    "sdlc", "sprint", "story", "epic", "ticket", "code", "commit", "pr", "review", "merge", "deploy", "release",
    "build", "ci", "cd", "bug", "feature", "hotfix",
];

/// Forms of them that no ending makes.
const IRREGULAR: [&str; 4] = ["built", "stories", "committed", "committing"];

/// What the gate engine is: what may be declared, the gate machine, conditions, and how work moves from gate to gate. Files of
/// `engine/src/waypoint` that are missing here are about turns that make, judge or land work, which a workflow need not have.
const GATE_ENGINE: [&str; 24] = [
    "protocol/src/org.rs",
    "protocol/src/workflow",
    "planfile/src/declared",
    "planfile/src/gates",
    "planfile/src/rules/declared",
    "planfile/src/workflows",
    "conditions/src",
    "engine/src/waypoint/arrival.rs",
    "engine/src/waypoint/branches.rs",
    "engine/src/waypoint/completing.rs",
    "engine/src/waypoint/dead.rs",
    "engine/src/waypoint/leaving.rs",
    "engine/src/waypoint/migrating.rs",
    "engine/src/waypoint/standing.rs",
    "engine/src/waypoint/step/deadline_passed.rs",
    "engine/src/waypoint/step/died.rs",
    "engine/src/waypoint/step/fulfilled.rs",
    "engine/src/waypoint/step/gathered.rs",
    "engine/src/waypoint/step/joined.rs",
    "engine/src/waypoint/step/opened.rs",
    "engine/src/waypoint/step/recalled.rs",
    "engine/src/waypoint/step/reconfigured.rs",
    "engine/src/waypoint/transition.rs",
    "engine/src/waypoint/visits.rs",
];

/// Identifiers that stay, each with why.
const KEPT: [(&str, &str); 17] = [
    ("NeedsReview", OUTCOME),
    ("needs_review", OUTCOME),
    ("ReviewContext", CONTEXT),
    ("review", CONTEXT),
    ("ReasonCode", FOR_PROGRAMS),
    ("reason_code", FOR_PROGRAMS),
    ("Build", PLANE),
    ("BUILDER", PLANE),
    ("needs_builder", PLANE),
    ("BUILT_IN", BUILT_IN),
    ("all_built_in", BUILT_IN),
    ("built_in", BUILT_IN),
    ("is_built_in", BUILT_IN),
    ("Built", INPUT),
    ("Released", INPUT),
    ("MERGE", INPUT),
    ("commit", WORK),
];
const OUTCOME: &str = "the outcome of the workflow document itself";
const CONTEXT: &str = "`reviewContext` of the workflow document itself";
const FOR_PROGRAMS: &str = "a word for programs, as in error code";
const PLANE: &str = "the duty of making work, which an org chart declares as `plane: build`";
const BUILT_IN: &str = "built-in, as of a workflow";
const INPUT: &str = "what the engine of a waypoint is told: the gate engine passes it on and does not look into it";
const WORK: &str = "whether there is work that lands";

#[test]
fn the_gate_engines_own_words_are_of_no_one_trade() -> anyhow::Result<()> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files::sources()?.iter().filter(|file| !file.is_test() && is_gate_engine(&file.path)) {
        let product: String = file.product_lines().map(|(_, line)| format!("{line}\n")).collect();
        for name in identifiers(&product) {
            if words(&name).any(|word| is_of_one_trade(&word)) {
                found.entry(name).or_default().push(file.path.clone());
            }
        }
    }
    let is_kept = |name: &str| KEPT.iter().any(|(kept, _)| *kept == name);
    let wrong: Vec<_> = found.iter().filter(|(name, _)| !is_kept(name)).collect();
    assert!(wrong.is_empty(), "rename these, or say in KEPT why they stay: {wrong:#?}");
    let gone: Vec<_> = KEPT.iter().filter(|(kept, _)| !found.contains_key(*kept)).collect();
    assert!(gone.is_empty(), "these are in KEPT and nowhere else: {gone:#?}");
    Ok(())
}

#[test]
fn words_of_one_trade_are_found_in_every_form_and_place_of_an_identifier() {
    let found = |code: &str| -> Vec<String> {
        identifiers(code).filter(|name| words(name).any(|word| is_of_one_trade(&word))).collect()
    };
    assert_eq!(
        found("fn merge_all(prs: u8) { let x = Sprint::of(CI_URL); }"),
        ["merge_all", "prs", "Sprint", "CI_URL"]
    );
    assert_eq!(
        found("committed reviewers redeployed CodeOwner builtX"),
        ["committed", "reviewers", "CodeOwner", "builtX"]
    );
    assert_eq!(found("// merge\nlet gate = \"a ticket \\\" bug\"; /* epic */ '\"' feature"), ["feature"]);
    assert_eq!(found("decode encoding prior emerge buggy restory circle"), Vec::<String>::new());
}

fn is_gate_engine(path: &str) -> bool {
    GATE_ENGINE.iter().any(|place| {
        let rest = path.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
    })
}

/// The identifiers in a source, without those in comments and texts.
fn identifiers(source: &str) -> impl Iterator<Item = String> {
    let mut all = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => text_length(rest),
            '\'' if rest.starts_with("'\"'") => 3,
            _ if first.is_alphabetic() || first == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                all.push(rest[..end].to_owned());
                end
            }
            _ => first.len_utf8(),
        };
        rest = &rest[length..];
    }
    all.into_iter()
}

/// How long the text is that `source` begins with, with its quotes.
pub(crate) fn text_length(source: &str) -> usize {
    let mut escaped = false;
    for (at, c) in source.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    source.len()
}

/// The words of an identifier, in lower case: `NeedsReview` and `NEEDS_REVIEW` have two.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        let begins = !c.is_alphabetic() || c.is_uppercase() && after_lower;
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words.into_iter()
}

/// Whether it is one of the words, in any form.
fn is_of_one_trade(word: &str) -> bool {
    let ending = |term: &str| word.strip_prefix(term).or_else(|| word.strip_prefix(term.strip_suffix('e')?));
    let is_form =
        |term: &&str| matches!(ending(term), Some("" | "s" | "es" | "d" | "ed" | "er" | "ers" | "r" | "rs" | "ing"));
    let regular = OF_ONE_TRADE.iter().any(|term| is_form(term) && word.len() >= term.len());
    regular || IRREGULAR.contains(&word)
}
