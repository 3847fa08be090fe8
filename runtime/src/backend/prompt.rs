//! What an agent's program is told, as Markdown: a pure function of the turn.
//!
//! Nothing in it is a marker that the program could echo by accident: see [`super::markers`]. Words of others have no
//! hidden ones in them; the goal is as the plan has it.

pub(crate) mod parts;

use std::fmt::Write;

use holdpoint_protocol::{
    artifact::{CriterionReport, GuidancePacket},
    plan::TurnBudget,
    reason::ReasonCode,
    turn::{BuildRequest, Collision, CollisionKind, Feedback, LandedMeanwhile, ReviewContext, Turn},
    workflow::ByOutcome,
};
use parts::{
    code_span, code_spans, one_line, push_budget, push_clarifications, push_criteria, push_fenced, push_gate,
    push_tests,
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
    push_gate(&mut text, request.role_description.as_deref(), request.description.as_deref(), &request.context);
    push_outcomes(&mut text, &request.context.outcome_help);
    let _ = writeln!(text, "## Goal\n\n{}\n", request.goal.trim_end());
    if let Some(feedback) = &request.feedback {
        push_feedback(&mut text, feedback, request);
    }
    push_criteria(&mut text, &request.criteria, "Somebody else judges these on the files that you leave.");
    push_tests(&mut text, &request.tests);
    push_paths(&mut text, request);
    push_guidance(&mut text, &turn.guidance, request);
    push_ready(&mut text, &request.budget);
    text
}

/// What outcomes mean at this gate, where it says so.
fn push_outcomes(text: &mut String, help: &ByOutcome<String>) {
    let ByOutcome { complete, needs_review, blocked } = help;
    for (word, help) in [("complete", complete), ("needs_review", needs_review), ("blocked", blocked)] {
        if let Some(help) = help {
            let _ = writeln!(text, "At this gate `{word}` means: {}\n", one_line(help));
        }
    }
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
    push_budget(text, budget);
}

#[cfg(test)]
mod tests;
