//! Markdown, for the summary of a job or a comment.

use holdpoint_account::words::markdown as plain;

use super::{because, headline, problems};
use crate::verify::verdict::ChangeVerdict;

/// The verdict as a table, and what is to be said against it.
pub(crate) fn markdown(verdict: &ChangeVerdict) -> String {
    let sign = if verdict.shown { "✅" } else { "❌" };
    let mut text =
        format!("### {sign} {}: `{}`\n\n{}\n\n", verdict.word(), verdict.reason_code, plain(&headline(verdict)));
    text.push_str("| | verdict | command | why |\n| --- | --- | --- | --- |\n");
    for (kind, one) in verdict.judged() {
        let why = if one.is_green() { one.why.clone().unwrap_or_default() } else { because(one) };
        let command = one.command.as_deref().or(one.statement.as_deref()).unwrap_or_default();
        let (id, result) = (&one.result.id, one.result.verdict.as_str());
        text.push_str(&format!("| {kind} {id} | {result} | {} | {} |\n", plain(command), plain(&why)));
    }
    let beyond: Vec<String> = problems(verdict)
        .into_iter()
        .filter(|problem| problem.place.is_some() || !problem.decides)
        .map(|problem| {
            let place = problem.place.map(|(path, line)| format!("{}:{line}: ", plain(path))).unwrap_or_default();
            format!("- **{}**: {place}{}\n", problem.rule, plain(&problem.text))
        })
        .collect();
    if !beyond.is_empty() {
        text.push('\n');
        text.push_str(&beyond.concat());
    }
    text
}
