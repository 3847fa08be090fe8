//! Every YAML file in a format of ours explains each of its keys, where the key first appears (GATE-36). A reader of Compose,
//! Kubernetes or Prometheus files knows theirs: comments there say why, or nothing.

use std::collections::HashSet;

use crate::files::{self, TextFile};

/// A key and its place.
struct Key<'file> {
    name: &'file str,
    line: usize,
    explained: bool,
}

/// The keys of block mappings, and of flow mappings on one line. Knows as much YAML as our own files use: no keys in
/// quotes.
fn keys(file: &TextFile) -> Vec<Key<'_>> {
    let mut keys = Vec::new();
    let mut comment_above = false;
    let mut literal_above: Option<usize> = None;
    for (index, line) in file.text.lines().enumerate() {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if literal_above.is_some_and(|above| content.is_empty() || indent > above) {
            continue;
        }
        literal_above = None;
        if content.starts_with('#') {
            comment_above = true;
            continue;
        }
        let is_explained = comment_above || line.contains(" #");
        keys.extend(flow_keys(line).map(|name| Key { name, line: index + 1, explained: is_explained }));
        let item = content.trim_start_matches("- ");
        let key_indent = indent + content.len() - item.len();
        if let Some((name, value)) = item.split_once(':').filter(|(name, value)| is_key(name, value)) {
            keys.push(Key { name, line: index + 1, explained: comment_above || value.contains(" #") });
            let value = value.split(" #").next().unwrap_or_default().trim();
            if value.starts_with('|') || value.starts_with('>') {
                literal_above = Some(key_indent);
            }
        }
        comment_above = false;
    }
    keys
}

/// The keys of flow mappings in a line.
fn flow_keys(line: &str) -> impl Iterator<Item = &str> {
    let has_some = bare(line).contains('{');
    let parts = line.split(" #").next().unwrap_or_default().split(['{', ',']).skip(1);
    let keys = parts.filter_map(|part| part.split_once(':').map(|(name, value)| (name.trim(), value)));
    keys.filter(move |(name, value)| has_some && is_key(name, value)).map(|(name, _)| name)
}

fn is_key(name: &str, value: &str) -> bool {
    // `<<` takes the keys of another mapping in.
    let plain = |character: char| character.is_alphanumeric() || "_-.<".contains(character);
    !name.is_empty() && name.chars().all(plain) && (value.is_empty() || value.starts_with(' '))
}

/// Where files are whose keys other programs define.
const FORMATS_OF_OTHERS: [&str; 6] =
    [".github/", "action.yml", "compose.yaml", "deploy/", "templates/", "tests/kubernetes/"];
/// The chart's values, whose keys are ours.
const OUR_VALUES: &str = "deploy/helm/holdpoint/values.yaml";

#[test]
fn every_key_of_yaml_in_a_format_of_ours_is_explained() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    // Fixtures are input for tests, wrong on purpose, and nobody's example.
    let ours = |file: &TextFile| {
        let others = FORMATS_OF_OTHERS.iter().any(|place| file.path.starts_with(place));
        (!others || file.path == OUR_VALUES) && !file.path.contains("/fixtures/")
    };
    for file in files::below("", &[".yaml", ".yml"])?.into_iter().filter(ours) {
        let mut seen = HashSet::new();
        for key in keys(&file) {
            if seen.insert(key.name) && !key.explained {
                wrong.push(format!("{}:{}: `{}` has no comment", file.path, key.line, key.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// Whether a file declares workflows or an org chart.
fn is_declaration(file: &TextFile) -> bool {
    let has =
        |key: &str| file.text.lines().any(|line| line.split(" #").next().is_some_and(|line| line.trim_end() == key));
    has("workflow:") || has("workflows:") || has("roles:")
}

/// What of a line is neither quoted nor a comment.
fn bare(line: &str) -> String {
    let mut quote = None;
    let mut bare = String::new();
    for character in line.split(" #").next().unwrap_or_default().chars() {
        match quote {
            Some(open) => quote = (character != open).then_some(open),
            None if character == '"' || (character == '\'' && bare.ends_with([' ', '['])) => quote = Some(character),
            None => bare.push(character),
        }
    }
    bare
}

#[test]
fn no_key_of_a_shipped_declaration_hides_in_a_line() -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    let mut seen = 0;
    let shipped = |file: &TextFile| !file.path.contains("/fixtures/") && is_declaration(file);
    for file in files::below("", &[".yaml", ".yml"])?.into_iter().filter(shipped) {
        seen += 1;
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
            if bare(line).contains('{') || line.trim_start().trim_start_matches("- ").starts_with(['"', '\'']) {
                wrong.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "one key a line, without quotes: {wrong:#?}");
    assert!(seen >= 17, "{seen} declarations were found");
    Ok(())
}

#[test]
fn a_key_that_hides_in_a_line_is_found() {
    assert!(bare("- {id: a} # x").contains('{'));
    assert!(bare("agents: [{a: 1}]").contains('{'));
    assert!(!bare("when: \"tags[{}]\"").contains('{'));
    assert!(!bare("name: x # {").contains('{'));
}

#[test]
fn a_key_without_a_comment_is_found_and_text_is_not_taken_for_keys() {
    let text = "# a plan\nplan: x\nwaypoints: # units of work\n  - id: a\n    goal: | # Markdown\n      not: a key\n    bare: 1\n";
    let file = TextFile { path: "x.yaml".to_owned(), text: text.to_owned() };
    let found: Vec<_> = keys(&file).into_iter().map(|key| (key.name, key.explained)).collect();
    assert_eq!(found, [("plan", true), ("waypoints", true), ("id", false), ("goal", true), ("bare", false)]);
    let text = "a: {b: c, d: {e: f}}\ng: {h: i} # why\nj: \"{{ k: l }}\" # why\n";
    let file = TextFile { path: "x.yaml".to_owned(), text: text.to_owned() };
    let found: Vec<_> = keys(&file).into_iter().map(|key| (key.name, key.explained)).collect();
    let [unexplained, explained] = [false, true];
    let flow = [("b", unexplained), ("d", unexplained), ("e", unexplained), ("a", unexplained)];
    assert_eq!(found, [&flow[..], &[("h", explained), ("g", explained), ("j", explained)]].concat());
}
