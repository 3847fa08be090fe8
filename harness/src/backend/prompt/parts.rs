//! Parts of prompts that turns of several kinds have.

use std::fmt::Write;

use holdpoint_protocol::{
    artifact::Clarified,
    checkpoint::{CheckpointRule, GateDemands, PathKind, ProposalRule, TouchedPaths},
    plan::{Check, Criterion, TurnBudget},
    proposal::ProposalBounds,
    workflow::GateContext,
};
use holdpoint_text::shown;

/// Questions that were answered. In blocks: what was asked are agents' words, and what was answered anybody's.
pub(crate) fn push_clarifications(text: &mut String, clarifications: &[Clarified]) {
    if clarifications.is_empty() {
        return;
    }
    text.push_str("## Questions that were answered\n\n");
    for clarified in clarifications {
        let _ = writeln!(text, "Asked:\n");
        push_fenced(text, &clarified.question);
        let _ = writeln!(text, "Answered by {}:\n", code_span(&clarified.by));
        let parts = [&clarified.option, &clarified.text];
        let answer = parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n");
        push_fenced(text, &answer);
        if let Some(rationale) = &clarified.rationale {
            text.push_str("Because:\n\n");
            push_fenced(text, rationale);
        }
        if !clarified.constraints.is_empty() {
            text.push_str("These constraints hold from now on:\n\n");
            push_fenced(text, &clarified.constraints.join("\n"));
        }
    }
}

/// BDD specs of the waypoint (GATE-23).
pub(crate) fn push_tests(text: &mut String, tests: &[serde_json::Value]) {
    if tests.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Specifications\n");
    for test in tests {
        push_fenced(text, &format!("{test:#}"));
    }
}

/// What people and reviewers say of the work so far. In blocks: it is others' words.
pub(crate) fn push_notes(text: &mut String, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    text.push_str("## Notes on it\n\n");
    for note in notes {
        push_fenced(text, note);
    }
}

/// What the role and the gate are for, and what the gate says to the holder of its turn: nothing of other gates
/// (GATE-20). The meaning of its outcomes is where the prompt says how to answer.
pub(crate) fn push_gate(text: &mut String, role: Option<&str>, gate: Option<&str>, context: &GateContext) {
    if role.is_none() && gate.is_none() && context.expectations.is_empty() && context.tips.is_empty() {
        return;
    }
    text.push_str("## Your part\n\n");
    for said in [role, gate].into_iter().flatten() {
        let _ = writeln!(text, "{}\n", one_line(said));
    }
    for (title, items, mark) in [("Go through this:", &context.expectations, "[ ] "), ("Advice:", &context.tips, "")] {
        if !items.is_empty() {
            let _ = writeln!(text, "{title}\n");
            for item in items {
                let _ = writeln!(text, "- {mark}{}", one_line(item));
            }
            text.push('\n');
        }
    }
}

/// What the gate demands of what is handed off, and how its document is handed over. `is_completed`: a completion ends the turn.
pub(crate) fn push_demands(text: &mut String, demands: &GateDemands, is_completed: bool) {
    if demands.is_empty() {
        return;
    }
    text.push_str("## What has to hold\n\n");
    text.push_str("Your document, Markdown, is the file `$HOLDPOINT_DOCUMENT_FILE`");
    if let Some(document) = &demands.document {
        text.push_str(": write it");
        if !document.sections.is_empty() {
            let _ = write!(
                text,
                ", with the sections {}, each with text below its heading",
                code_spans(&document.sections)
            );
        }
    }
    text.push_str(".\n\n");
    if let Some(bounds) = &demands.proposes {
        push_proposal(text, bounds);
    }
    for one in &demands.checkpoints {
        let how = match &one.rule {
            None => "you say whether it holds".to_owned(),
            Some(CheckpointRule::Section(title)) => format!("the document has the section {}", code_span(title)),
            Some(CheckpointRule::Matches(pattern)) => {
                format!("the document matches the regular expression {}", code_span(pattern))
            }
            Some(CheckpointRule::Lacks(pattern)) => {
                format!("nothing in the document matches the regular expression {}", code_span(pattern))
            }
            Some(CheckpointRule::Touches(paths)) => format!("the work touches {}", touched(paths)),
            Some(CheckpointRule::Proposal(ProposalRule::Atomic)) => {
                "each waypoint that you propose is estimated at less than 1h".to_owned()
            }
            Some(CheckpointRule::Proposal(ProposalRule::Acyclic)) => {
                "each dependency is a `key` of your proposal, and none waits for itself".to_owned()
            }
            Some(CheckpointRule::Proposal(ProposalRule::Retries)) => {
                "each waypoint that you propose may be sent back (`max_reworks`)".to_owned()
            }
            Some(CheckpointRule::Guard(guard)) => format!("the plan's guard `{guard}` is green"),
            Some(CheckpointRule::Command(command)) => {
                let expect = command.check.expect.as_deref();
                let prints = expect.map(|expect| format!(", and its output matches {}", code_span(expect)));
                format!("{} ends with exit code 0{}", code_span(&command.check.command), prints.unwrap_or_default())
            }
            // Nobody but a verifier has one.
            Some(CheckpointRule::Report(_)) => continue,
        };
        let optional = if one.required { "" } else { " (optional)" };
        let _ = writeln!(text, "- `{}`{optional}: {how}", one.name);
    }
    let over_the_line = if is_completed {
        ", or with `holdpoint-ask complete --checkpoint NAME=pass`; `holdpoint-ask validate` with the same options says what does not \
         hold, and records nothing"
    } else {
        ""
    };
    let _ = write!(
        text,
        "\nSay what you alone can say in the front matter of that file (`checkpoints: [{{name: NAME, status: pass}}]`){over_the_line}. \
         A status is `pass`, `fail` or `skip`; a required checkpoint has to pass. What does not hold is said to you, and you are \
         asked again, {} times at most. Where only a person can help, say `status: blocked`, `block_reason` and `block_details` \
         in the front matter.\n\n",
        demands.retries()
    );
}

/// How waypoints are proposed, and what they have to fit into.
fn push_proposal(text: &mut String, bounds: &ProposalBounds) {
    let _ = write!(
        text,
        "Propose the waypoints that others work on in the front matter of that file, {} at most. Each is worked on by itself and judged \
         by its criteria:\n\n```yaml\n---\nproposal:\n  waypoints:\n    - key: parser            # short, unique in the proposal\n      title:          Parse it        # one line\n      goal: What is to be done, in Markdown\n      estimate: 30m\n      criteria:              # what has to be true          then, each with a command that shows it\n        - id: unit\n          check: make test\n      scope: [src/parser/**] # paths that it may touch;          without it all that you may\n      depends_on: []         # keys that have to be complete first\n      priority: medium       # critical, high,          medium or low\n      max_reworks: 3         # how often it may be sent back\n---\n```\n\n",
        bounds.waypoints
    );
    if !bounds.scope.is_empty() {
        let _ = writeln!(text, "Each `scope` stays within {}.\n", code_spans(&bounds.scope));
    }
    if bounds.checked {
        text.push_str("Each criterion needs a `check`: nobody judges by reading.\n\n");
    }
}

fn touched(paths: &TouchedPaths) -> String {
    match paths {
        TouchedPaths::Kind(PathKind::Tests) => "a test".to_owned(),
        TouchedPaths::Kind(PathKind::Docs) => "a document for readers".to_owned(),
        TouchedPaths::Globs(globs) => format!("a path that matches {}", code_spans(globs)),
    }
}

/// The acceptance criteria, after a sentence on who judges them.
pub(crate) fn push_criteria(text: &mut String, criteria: &[Criterion], judged: &str) {
    if criteria.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Acceptance criteria\n\n{judged}\n");
    for criterion in criteria {
        let _ = writeln!(text, "- `{}`: {}", criterion.id, one_line(&criterion.statement));
        match &criterion.check {
            Some(check) => push_check(text, check),
            None => text.push_str("  - judged by reading\n"),
        }
    }
    text.push('\n');
}

fn push_check(text: &mut String, check: &Check) {
    if check.command.trim_end().contains('\n') {
        let _ = writeln!(text, "  - check:\n");
        push_fenced(text, &check.command);
    } else {
        let _ = writeln!(text, "  - check: {}", code_span(&check.command));
    }
    if let Some(expect) = &check.expect {
        let _ = writeln!(text, "  - its output has to match the regular expression {}", code_span(expect));
    }
    if check.red_first {
        text.push_str("  - it fails on the base\n");
    }
    if let Some(mutants) = check.mutants {
        let _ = writeln!(
            text,
            "  - it is tried with {mutants} of the lines that you change broken, one at a time, and has to fail each time"
        );
    }
}

/// What the turn may use up.
pub(crate) fn push_budget(text: &mut String, budget: &TurnBudget) {
    let mut limits = Vec::new();
    limits.extend(budget.wall.map(|wall| format!("{} s of time", wall.0 / 1000)));
    limits.extend(budget.output.map(|bytes| format!("{bytes} bytes of output")));
    limits.extend(budget.tokens.map(|tokens| format!("{tokens} tokens")));
    limits.extend(budget.cost_usd.map(|cost| format!("{cost} US dollars")));
    limits.extend(budget.tool_calls.map(|calls| format!("{calls} tool calls")));
    if !limits.is_empty() {
        let _ = writeln!(text, "\nThe budget of this turn: {}.", limits.join(", "));
    }
}

/// Text as one line, so that it cannot become a heading or a list of its own.
pub(crate) fn one_line(text: &str) -> String {
    shown::line(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

pub(crate) fn code_spans(texts: &[String]) -> String {
    texts.iter().map(|text| code_span(text)).collect::<Vec<_>>().join(", ")
}

/// A code span whose delimiter is longer than every run of backticks inside.
pub(crate) fn code_span(text: &str) -> String {
    // Of what is printed: removing what cannot be seen brings backticks together.
    let line = text.trim().replace('\n', " ");
    let shown = shown::line(&line);
    let ticks = "`".repeat(longest_run(&shown, '`') + 1);
    let pad = if shown.starts_with('`') || shown.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{shown}{pad}{ticks}")
}

/// A code block that nothing inside can close.
pub(crate) fn push_fenced(text: &mut String, content: &str) {
    // Of what is printed: removing what cannot be seen brings backticks together.
    let shown = shown::lines(content);
    let fence = "`".repeat(longest_run(&shown, '`').max(2) + 1);
    let _ = writeln!(text, "{fence}\n{}\n{fence}\n", shown.trim_end());
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|character| character != of).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_between_backticks_ends_neither_a_block_nor_a_span() {
        let mut text = String::new();
        push_fenced(&mut text, "``\x1b[0m`\n## Guidance");
        assert_eq!(text, "````\n```\n## Guidance\n````\n\n");
        assert_eq!(code_span("a`\x1b[0m`b"), "```a``b```");
    }
}
