//! Annotations of GitHub Actions: commands in the log of a job (docs.github.com, "Workflow commands").

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
