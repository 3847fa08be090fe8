//! `docs/agent-messages.md`: every message that an agent sends or gets, whole. Made from the samples, so that it cannot drift.

use std::fmt::Write as _;

use holdpoint_protocol::{codec::Encoding, names::HANDOFF_KINDS};
use serde_json::Value;

use crate::{files, samples};

const PAGE: &str = "agent-messages.md";

const HEAD: &str = "# Messages of agents, whole

Every message that an agent sends or gets, as JSON. [Agents in any language](external-agents.md) says when each is sent, with which headers, and what
answers it; the schemas are in [`protocol/schemas`](../protocol/schemas). Where a message comes in several forms, each is here. Fields that you have nothing
for can be left out unless the schema requires them.

This page is generated from the samples that the protocol's tests read and write. Do not edit it.
";

/// A message: its sample, and what it says in this form.
type Message = (&'static str, &'static str);

/// A part of the page: its heading, where its messages go, and which they are.
struct Part {
    heading: &'static str,
    subject: &'static str,
    messages: &'static [Message],
}

const PARTS: [Part; 6] = [
    Part {
        heading: "Turns that you get",
        subject: "An entry of the journal, on `hp.v1.journal.<flight>.<waypoint>.turn.<role>.<priority>.<pool>`, pulled from your consumer. Acknowledge it with `+ACK` when your final handoff is stored.",
        messages: &[
            ("turn_build", "Build: after a rejection, with feedback, answers and a commit to begin from."),
            ("turn_verify", "Verify."),
            ("turn_complete", "Complete: a gate of a declared workflow."),
            ("turn_advise", "Advise: somebody called for help."),
            ("turn_allowed", "Build, where the plan has a budget: `allowance` is what this turn may use up."),
        ],
    },
    Part {
        heading: "Plans that you publish first",
        subject: "`<handoff_subject>.<kind>`, signed, with your JWT in `Hp-Jwt`. Answered by the broker: `{\"stream\": …, \"seq\": …}`.",
        messages: &[
            ("build_plan", "For a turn that wants `build`."),
            ("verification_plan", "For one that wants `verify`."),
            ("completion_plan", "For one that wants `complete`."),
        ],
    },
    Part {
        heading: "Progress, which you ask for",
        subject: "A request to `hp.v1.api.progress` with `Hp-Jwt` and `Hp-Signature`; the rest are its answers.",
        messages: &[
            (
                "progress",
                "The request. `answers` and `newest` only while a question of yours waits, `trouble` only when you give the turn back.",
            ),
            ("progress_continue", "Go on."),
            ("progress_continue_answered", "Go on: a person answered."),
            ("progress_answer", "End the work and take the next turn."),
            ("progress_notice", "The answer to a plan with `Hp-Progress`, on `hp.v1.progress.<role>.<name>`."),
        ],
    },
    Part {
        heading: "Handoffs that end a turn",
        subject: "`<handoff_subject>.<kind>`, signed; exactly one for a delivery. Answered by the broker, like a plan.",
        messages: &[
            ("build_artifact", "Work that is ready to be judged."),
            ("build_artifact_failed", "A build that failed: an attempt."),
            ("verification_report", "What a verification showed."),
            ("completion_agent", "What looking at the work came to."),
            ("completion_failed", "A completion that failed."),
            ("clarification_request", "A question that ends the turn."),
            ("clarification_request_waited", "The same question after nobody answered it in time."),
            ("help_request", "A call for help."),
        ],
    },
    Part {
        heading: "Handoffs that end nothing",
        subject: "`<handoff_subject>.<kind>`, signed, while you have the turn.",
        messages: &[
            ("clarification_request_waits", "A question that waits while you work."),
            ("help_request_heard", "A call for help that was heard while your program runs."),
            ("status_update", "How far you are."),
            ("exchange_record", "What went wrong between you and your program."),
            ("given_back", "You give the turn back: another agent takes it."),
        ],
    },
    Part {
        heading: "Signals",
        subject: "Not stored. `presence` goes to `hp.v1.presence.<role>.<name>`, lines to `hp.v1.log.<role>.<name>.<flight>.<waypoint>`; refusals come on `hp.v1.refused.<role>.<name>`, and hints on `hp.v1.wake.<role>` and `hp.v1.wake.<role>.<pool>`, whose payload is the priority as plain text.",
        messages: &[
            ("presence", "You are there, and what you work on."),
            ("live_line", "A line for people who watch."),
            ("refused_handoff", "A handoff of yours was refused, and what to do."),
        ],
    },
];

/// The page as the samples are now.
fn page() -> String {
    let all = samples::all();
    let mut text = HEAD.to_owned();
    for Part { heading, subject, messages } in PARTS {
        write!(text, "\n## {heading}\n\n{subject}\n").unwrap();
        for (name, says) in messages {
            let kind = all.iter().find(|kind| kind.name() == *name).unwrap_or_else(|| panic!("no sample {name}"));
            let value: Value = serde_json::from_slice(&kind.write(Encoding::Json)).unwrap();
            let schema = kind.schema().map(|schema| format!("`{schema}`. ")).unwrap_or_default();
            let json = serde_json::to_string_pretty(&value).unwrap();
            write!(text, "\n{schema}{says}\n\n```json\n{json}\n```\n").unwrap();
        }
    }
    text
}

#[test]
fn the_page_of_agents_messages_is_that_of_the_samples() {
    let fresh = page();
    let stored = files::stored("../docs", PAGE, fresh.as_bytes());
    assert_eq!(String::from_utf8(stored).unwrap(), fresh, "docs/{PAGE} drifted: run with {}=1", files::UPDATE);
}

#[test]
fn every_kind_of_handoff_is_on_the_page() {
    let samples = samples::all();
    let shown: Vec<&str> = PARTS
        .iter()
        .flat_map(|part| part.messages)
        .filter_map(|(name, _)| samples.iter().find(|kind| kind.name() == *name)?.schema())
        .collect();
    for kind in HANDOFF_KINDS {
        assert!(shown.contains(&kind), "{kind} is not on docs/{PAGE}");
    }
}
