//! What an agent's program is told, as Markdown: a pure function of the turn.
//!
//! Nothing in it is a marker that the program could echo by accident: see [`super::markers`]. Words of others have no
//! hidden ones in them; the goal is as the plan has it.

use std::fmt::Write;

use holdpoint_core::shown;
use holdpoint_protocol::{
    artifact::{Clarified, CriterionReport, GuidancePacket},
    plan::{Check, Criterion, TurnBudget},
    reason::ReasonCode,
    turn::{BuildRequest, Collision, CollisionKind, Feedback, LandedMeanwhile, ReviewContext, Turn},
};

/// The prompt of a build or repair turn.
#[must_use]
pub fn prompt(turn: &Turn, request: &BuildRequest) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "# {}\n", one_line(&request.title));
    let _ = writeln!(
        text,
        "You work as `{}` on waypoint `{}` of flight `{}`, attempt {}. The current directory is a git clone of the \
         repository, made for this turn and thrown away afterwards. Edit the files in it.\n",
        turn.role, turn.waypoint, turn.flight, turn.attempt
    );
    let _ = writeln!(text, "## Goal\n\n{}\n", request.goal.trim_end());
    if let Some(feedback) = &request.feedback {
        push_feedback(&mut text, feedback, request);
    }
    push_criteria(&mut text, &request.criteria);
    push_tests(&mut text, &request.tests);
    push_paths(&mut text, request);
    push_guidance(&mut text, &turn.guidance, request);
    push_ready(&mut text, &request.budget);
    text
}

fn push_feedback(text: &mut String, feedback: &Feedback, request: &BuildRequest) {
    push_clarifications(text, &feedback.clarifications);
    if let Some(collision) = &feedback.collision {
        push_collision(text, collision);
    } else if feedback.reason_code == ReasonCode::ClarificationOpen {
        let from = if request.start == request.base { "the base" } else { "the files as they were when you asked" };
        let _ = writeln!(text, "You start from {from}.\n");
    } else {
        let _ = writeln!(text, "## What was wrong with the last attempt\n");
        let from = if request.start == request.base {
            "the base, without the last attempt's changes"
        } else {
            "the last attempt's files"
        };
        let _ = writeln!(
            text,
            "It was not accepted: {} (`{}`). You start from {from}.\n",
            feedback.disposition, feedback.reason_code
        );
        if let Some(ReviewContext { from_gate, from_role, from_agent, at }) = &feedback.review {
            let by = from_agent.as_ref().map(|agent| format!(" ({agent})")).unwrap_or_default();
            let _ = writeln!(text, "Gate `{from_gate}` sent it back: role {from_role}{by}, {at}.\n");
        }
    }
    for report in &feedback.failing {
        push_failing(text, report);
    }
    for note in &feedback.notes {
        push_fenced(text, note);
    }
}

/// Questions that were answered. In blocks: what was asked are agents' words, and what was answered anybody's.
fn push_clarifications(text: &mut String, clarifications: &[Clarified]) {
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

/// What accepted work collided with (FLY-39).
fn push_collision(text: &mut String, collision: &Collision) {
    let _ = writeln!(text, "## What your accepted change collided with\n");
    let said = match collision.kind {
        CollisionKind::Conflict => {
            "Your last change was accepted, but other waypoints landed before it, and git could not merge it with \
             theirs. You start from what landed, without your change. Make it again so that both hold; what they did \
             stays."
        }
        CollisionKind::RedMerge => {
            "Your last change was accepted, but other waypoints landed before it. The two could be merged, and the \
             merge is red although each was green alone. You start from the merge, which has your change and theirs. \
             Mend it so that both hold; what they did stays."
        }
    };
    let _ = writeln!(text, "{said}\n");
    // In blocks: names of files are other agents' words, and could be markers.
    if !collision.paths.is_empty() {
        text.push_str("Both changed:\n\n");
        push_fenced(text, &format!("{}{}", collision.paths.join("\n"), and_more(collision.paths_more)));
    }
    if !collision.landed.is_empty() {
        let landed: Vec<String> = collision.landed.iter().map(landed_line).collect();
        text.push_str("Landed meanwhile, with its commit on the branch you start from:\n\n");
        push_fenced(text, &format!("{}{}", landed.join("\n"), and_more(collision.landed_more)));
    }
}

fn landed_line(landed: &LandedMeanwhile) -> String {
    let changed =
        if landed.paths.is_empty() { String::new() } else { format!("; it changed {}", landed.paths.join(", ")) };
    format!("{} ({}), commit {}{changed}", landed.waypoint, one_line(&landed.title), landed.commit)
}

fn and_more(count: u32) -> String {
    if count == 0 { String::new() } else { format!("\nand {count} more") }
}

fn push_failing(text: &mut String, report: &CriterionReport) {
    let result = &report.result;
    let reason = result.reason.map(|reason| format!(", `{reason}`")).unwrap_or_default();
    let _ = writeln!(text, "- `{}`: {}{reason}", result.id, result.verdict.as_str());
    if let Some(command) = &report.command {
        let exit = report.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
        let _ = writeln!(text, "  - command: {}{exit}", code_span(command));
    }
    text.push('\n');
    if let Some(note) = &report.note {
        // In a block: it may quote names and lines of the work, and these could be markers.
        let _ = writeln!(text, "  What decided:\n");
        push_fenced(text, note);
    }
    if !report.output_tail.trim().is_empty() {
        let _ = writeln!(text, "  Its last lines of output:\n");
        push_fenced(text, &report.output_tail);
    }
}

fn push_criteria(text: &mut String, criteria: &[Criterion]) {
    if criteria.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Acceptance criteria\n\nSomebody else judges these on the files that you leave.\n");
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

fn push_tests(text: &mut String, tests: &[serde_json::Value]) {
    if tests.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Specifications\n");
    for test in tests {
        push_fenced(text, &format!("{test:#}"));
    }
}

fn push_paths(text: &mut String, request: &BuildRequest) {
    let _ = writeln!(text, "## What may be changed\n");
    if request.scope.is_empty() {
        text.push_str("- Any file but those below.\n");
    } else {
        let _ = writeln!(text, "- Only paths that match: {}.", code_spans(&request.scope));
    }
    if !request.protected.is_empty() {
        let _ = writeln!(text, "- Never: {}.", code_spans(&request.protected));
    }
    text.push_str(
        "- Files that decide what a check runs (CI, test-runner and build-tool configuration, guidance documents) stay \
         as they are unless a scope above names them.\n- Tests may be added, but those of the base must go on passing \
         as they are.\n\n",
    );
}

fn push_guidance(text: &mut String, guidance: &GuidancePacket, request: &BuildRequest) {
    let _ = writeln!(text, "## Guidance\n");
    if !request.covenant.is_empty() {
        let _ =
            writeln!(text, "- The repository's own guidance, where it exists, is in {}.", code_span(&request.covenant));
    }
    if !request.sources.is_empty() {
        let _ = writeln!(text, "- Documents, the first wins: {}.", code_spans(&request.sources));
    }
    for constraint in &guidance.constraints {
        let _ = writeln!(text, "- {}", one_line(constraint));
    }
    for stop in &guidance.stop_conditions {
        let _ = writeln!(text, "- Stop when: {}", one_line(stop));
    }
    text.push('\n');
}

fn push_ready(text: &mut String, budget: &TurnBudget) {
    let _ = writeln!(
        text,
        "## When you are ready\n\nIf a decision is missing that you must not guess, ask: `holdpoint-ask question TEXT --option A \
         --option B` (see `holdpoint-ask --help`). It waits, and prints the answer. When it exits with 75, end: a person answers, and another turn goes on \
         from your files. The files as you leave them are what is handed off; no commit is needed, and ignored \
         files do not count. Exit code 0 means \"ready to be judged\", any other that the attempt failed. Nothing is \
         accepted because you say so."
    );
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
fn one_line(text: &str) -> String {
    shown::line(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

fn code_spans(texts: &[String]) -> String {
    texts.iter().map(|text| code_span(text)).collect::<Vec<_>>().join(", ")
}

/// A code span whose delimiter is longer than every run of backticks inside.
fn code_span(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text, '`') + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{}{pad}{ticks}", shown::line(&text.trim().replace('\n', " ")))
}

/// A code block that nothing inside can close.
fn push_fenced(text: &mut String, content: &str) {
    let fence = "`".repeat(longest_run(content, '`').max(2) + 1);
    let _ = writeln!(text, "{fence}\n{}\n{fence}\n", shown::lines(content).trim_end());
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|character| character != of).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
