//! The prompt of an agent's program, as Markdown: a pure function of the turn.
//!
//! Nothing in it is a marker that the program could echo by accident: see [`super::markers`]. Words of others have no
//! hidden ones in them; the goal is as the plan has it.

pub(crate) mod parts;
pub(crate) mod sections;

use std::fmt::Write;

use holdpoint_protocol::{
    artifact::{CriterionReport, GuidancePacket, VerificationRequest},
    plan::{Criterion, TurnBudget},
    reason::ReasonCode,
    turn::{BuildRequest, Collision, CollisionKind, DependencyOutcome, Feedback, LandedMeanwhile, ReviewContext, Turn},
    workflow::ByOutcome,
};
use parts::{
    code_span, code_spans, one_line, push_budget, push_clarifications, push_criteria, push_demands, push_fenced,
    push_gate, push_notes, push_tests,
};
use sections::{Sections, Worth};

use crate::context::{Guide, RepositoryContext};

/// How much of a map a prompt shows.
const MAP_SHOWN_BYTES: usize = 3 << 10;

/// The prompt of a build or repair turn, in sections.
pub(crate) fn prompt(turn: &Turn, request: &BuildRequest, context: &RepositoryContext) -> Sections {
    let mut sections = Sections::default();
    sections.keep(|text| {
        let _ = writeln!(text, "# {}\n", one_line(&request.title));
        let _ = writeln!(
            text,
            "You work as `{}` on waypoint `{}` of flight `{}`, attempt {}. The current directory is a git clone of the \
             repository, made for this turn and thrown away afterwards. Edit the files in it.\n",
            turn.role, turn.waypoint, turn.flight, turn.attempt
        );
    });
    add_wanted(&mut sections, turn, request);
    sections.add(Worth::Covenants, |text| push_guides(text, context));
    sections.add(Worth::Skills, |text| push_skills(text, &context.skills));
    sections.add(Worth::Map, |text| push_map(text, context));
    sections.keep(|text| push_ready(text, &request.budget));
    sections
}

/// What a person reads who took over such a turn: the same as an agent's program but for how it is done.
#[must_use]
pub fn for_person(turn: &Turn, request: &BuildRequest) -> String {
    let mut text = String::new();
    let (flight, waypoint) = (&turn.flight, &turn.waypoint);
    let _ = writeln!(text, "# {}\n", one_line(&request.title));
    let _ = writeln!(
        text,
        "You took over the turn of role `{}` on waypoint `{waypoint}` of flight `{flight}`, attempt {}, until {}. The \
         clone next to this file is yours: edit the files in it.\n",
        turn.role, turn.attempt, turn.deadline
    );
    let mut wanted = Sections::default();
    add_wanted(&mut wanted, turn, request);
    text.push_str(&wanted.within(usize::MAX));
    let _ = writeln!(
        text,
        "## When you are ready\n\n`holdpoint hand-in {waypoint} --flight {flight}` hands the files in as they are; no \
         commit is needed, and ignored files do not count. `holdpoint release {waypoint} --flight {flight}` gives the \
         turn back. Who hands work in cannot approve it later."
    );
    text
}

/// What is wanted of one who does such a turn with files alone, without what to do in the end.
#[must_use]
pub fn for_files(turn: &Turn, request: &BuildRequest) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "# {}\n", one_line(&request.title));
    let mut wanted = Sections::default();
    add_wanted(&mut wanted, turn, request);
    text.push_str(&wanted.within(usize::MAX));
    text
}

/// What was wrong before, for one who reads files alone.
#[must_use]
pub fn what_was_wrong(feedback: &Feedback) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "It was not accepted: {} (`{}`).\n", feedback.disposition, feedback.reason_code);
    if let Some(ReviewContext { from_gate, from_role, .. }) = &feedback.review {
        let _ = writeln!(text, "Gate `{from_gate}` sent it back: role {from_role}.\n");
    }
    push_clarifications(&mut text, &feedback.clarifications);
    feedback.failing.iter().for_each(|report| push_failing(&mut text, report));
    push_notes(&mut text, &feedback.notes);
    text
}

/// What a person reads who took over a verifier's turn. Nothing in it is a word of who made the work (FLY-18).
#[must_use]
pub fn for_judge(turn: &Turn, request: &VerificationRequest) -> String {
    let mut text = String::new();
    let (flight, waypoint) = (&turn.flight, &turn.waypoint);
    let _ = writeln!(
        text,
        "# What to judge of {waypoint}\n\nYou took over the verification of waypoint `{waypoint}` of flight `{flight}`, until \
         {}. The clone next to this file has the work, commit `{}` on base `{}`. Nothing in it is handed in.\n",
        turn.deadline, request.commit, request.base
    );
    push_gate(
        &mut text,
        request.gate.role_description.as_deref(),
        request.gate.description.as_deref(),
        &request.gate.context,
    );
    push_clarifications(&mut text, &request.clarifications);
    let open: Vec<Criterion> = request.criteria.iter().filter(|criterion| criterion.check.is_none()).cloned().collect();
    push_criteria(&mut text, &open, "These are yours to judge. A verifier runs the checks of the others.");
    push_tests(&mut text, &request.tests);
    let verdicts: String = open.iter().map(|criterion| format!(" --verdict {}=pass", criterion.id)).collect();
    let _ = writeln!(
        text,
        "## When you are ready\n\n`holdpoint hand-in {waypoint} --flight {flight}{verdicts} --note '…'`, with `fail` where it \
         does not hold, and a note that says what you looked at. `holdpoint release {waypoint} --flight {flight}` leaves it \
         to the judge."
    );
    text
}

/// What is wanted of the maker of the work.
fn add_wanted(sections: &mut Sections, turn: &Turn, request: &BuildRequest) {
    sections.add(Worth::Part, |text| {
        push_gate(text, request.role_description.as_deref(), request.description.as_deref(), &request.context);
        push_outcomes(text, &request.context.outcome_help);
    });
    sections.keep(|text| push_demands(text, &request.context.demands, false));
    sections.add(Worth::Goal, |text| {
        let _ = writeln!(text, "## Goal\n\n{}\n", request.goal.trim_end());
    });
    if let Some(feedback) = &request.feedback {
        sections.add(Worth::Clarifications, |text| push_clarifications(text, &feedback.clarifications));
        sections.add(Worth::Feedback, |text| push_feedback(text, feedback, request));
        sections.add(Worth::Notes, |text| push_notes(text, &feedback.notes));
    }
    sections.add(Worth::Criteria, |text| {
        push_criteria(text, &request.criteria, "Somebody else judges these on the files that you leave.");
    });
    sections.add(Worth::Dependencies, |text| push_dependencies(text, &request.dependencies));
    sections.add(Worth::Specifications, |text| push_tests(text, &request.tests));
    sections.add(Worth::Paths, |text| push_paths(text, request));
    sections.add(Worth::Guidance, |text| push_guidance(text, &turn.guidance, request));
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
}

/// What work collided with on its way to the branch (FLY-39).
fn push_collision(text: &mut String, collision: &Collision) {
    let _ = writeln!(text, "## What your change collided with\n");
    let said = match collision.kind {
        CollisionKind::Conflict => {
            "Other waypoints landed before your last change, and git could not merge it with theirs. You start from what \
             landed, without your change. Make it again so that both hold; what they did stays."
        }
        CollisionKind::RedMerge => {
            "Other waypoints landed before your last change. It was merged with theirs, and the merge was not accepted. You \
             start from the merge, which has your change and theirs. Fix it so that both hold; keep their changes."
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

/// What the work builds on. In a block: titles are the plan's words.
fn push_dependencies(text: &mut String, dependencies: &[DependencyOutcome]) {
    if !dependencies.is_empty() {
        let _ = writeln!(
            text,
            "## What landed before\n\nYou build on these, each a commit on the branch you start from:\n"
        );
        let line = |d: &DependencyOutcome| format!("{} ({}), commit {}", d.waypoint, one_line(&d.title), d.commit);
        push_fenced(text, &dependencies.iter().map(line).collect::<Vec<_>>().join("\n"));
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

/// What the repository says itself. In blocks: they are its words.
fn push_guides(text: &mut String, context: &RepositoryContext) {
    for Guide { path, text: said, cut } in &context.guides {
        let more = if *cut { " (its beginning)" } else { "" };
        let _ = writeln!(text, "## {} says{more}\n", code_span(path));
        push_fenced(text, said);
    }
    if let Some(source) = &context.source {
        let _ = writeln!(text, "{} is there: where it and the goal disagree, it counts.\n", code_span(source));
    }
}

/// What the repository knows of this kind of work (FLY-35). In blocks: they are its words.
fn push_skills(text: &mut String, skills: &[Guide]) {
    for Guide { path, text: said, cut } in skills {
        let more = match (said.is_empty(), cut) {
            (true, _) => " (there is no room for it here: read the file)",
            (false, true) => " (its beginning)",
            (false, false) => "",
        };
        let _ = writeln!(text, "## Skill for this work: {}{more}\n", code_span(path));
        if !said.is_empty() {
            push_fenced(text, said);
        }
    }
}

/// The beginning of the repository's map.
fn push_map(text: &mut String, context: &RepositoryContext) {
    if !context.map.is_empty() {
        let shown = context.map.get(..context.map.floor_char_boundary(MAP_SHOWN_BYTES)).unwrap_or_default();
        let _ = writeln!(
            text,
            "## The repository\n\nThe beginning of its map: `holdpoint-ask context map` prints all {} bytes, and `holdpoint-ask context \
             file PATH`, `search TEXT` and `symbol NAME` look further.\n",
            context.map.len()
        );
        push_fenced(text, shown);
    }
}

fn push_ready(text: &mut String, budget: &TurnBudget) {
    let _ = writeln!(
        text,
        "## When you are ready\n\nIf a decision is missing that you must not guess, ask: `holdpoint-ask question TEXT --option A \
         --option B` (see `holdpoint-ask --help`). It waits, and prints the answer. When it exits with 75, end: a person answers, and another turn goes on \
         from your files. If you are stuck, call for help: `holdpoint-ask help TEXT`, or print `>>>HELP<<<` as a line of its own \
         and behind it, if you like, a line of JSON that says why; then end. The files as you leave them are what is handed off; no commit is needed, and ignored \
         files do not count. Exit code 0 means \"ready to be judged\", any other that the attempt failed. Nothing is \
         accepted because you say so."
    );
    push_budget(text, budget);
}

#[cfg(test)]
pub(crate) mod tests;
