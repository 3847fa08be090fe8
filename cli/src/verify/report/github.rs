//! The log of a job of GitHub Actions: annotations are commands in it (docs.github.com, "Workflow commands"), and no text of others is one.

use super::{Problem, problems};
use crate::verify::verdict::ChangeVerdict;

/// A line for each problem. GitHub shows ten of each level.
pub(crate) fn annotations(verdict: &ChangeVerdict) -> String {
    problems(verdict).iter().map(line).collect()
}

fn line(Problem { rule, decides, text, place }: &Problem<'_>) -> String {
    let level = if *decides { "error" } else { "warning" };
    let file = place.map(|(path, line)| format!(",file={},line={line}", property(path))).unwrap_or_default();
    format!("::{level} title={}{file}::{}\n", property(rule), data(text))
}

/// Text behind a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A line in which nothing is a command: the runner takes `##[…]` for one wherever it stands, and Azure Pipelines `##vso[…]`. The second
/// `#` is written as `escape`. Commands that begin with `::` have to begin their line, which is ours.
pub(crate) fn inert(text: &str, escape: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let (before, from) = text.split_at(at);
        let named = from.strip_prefix('#').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_lowercase()));
        match named {
            Some(rest) if before.ends_with('#') && rest.starts_with('[') => out.push_str(escape),
            _ => out.push(c),
        }
    }
    out
}
