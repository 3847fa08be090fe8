//! `agent-check`: leads an agent through the contract on a broker of its own, and says what it got right.
//!
//! - `rules`: the contract's sentences, and what was noted of them (pure).
//! - `stage`: broker, keys and an orchestrator's part; `fixture`: repository and turns.
//! - `candidate`: the program under test; `witness`: everything it does at the broker.
//! - `scenes`: what it is led through; `handed`: looking at its handoffs; `manners`: what holds of all scenes.

mod candidate;
mod fixture;
mod handed;
mod manners;
mod rules;
mod scenes;
mod stage;
mod witness;

use std::time::Duration;

use candidate::Candidate;
use holdpoint_protocol::ids::{RoleId, role};
use holdpoint_text::shown;
use rules::{Finding, Outcome, keeps};
use scenes::Run;
use serde_json::json;
use stage::{AGENT, Stage};

use crate::{
    args::AgentCheckArgs,
    failure::{Exit, Failure},
    interrupt::Interrupts,
    output,
};

/// What no run shows of an agent.
const NOT_TRIED: [&str; 6] = [
    "a broker that goes away and comes back",
    "deadlines and wrong clocks",
    "work that is rejected: feedback, and the commit to begin from",
    "questions, calls for help and their answers",
    "turns that want `complete`",
    "budgets",
];

/// Leads an agent through all scenes; ends with 0 when it keeps the contract, else with 1.
pub(crate) async fn agent_check(args: AgentCheckArgs) -> Result<Exit, Failure> {
    let role = RoleId::try_new(args.role.as_str()).expect("a role's word is an id");
    let stage = Box::pin(Stage::set(role.clone(), args.port)).await?;
    let mut candidate = Candidate::new(&args.command, &stage.url, &stage.creds, stage.path("agent.log"));
    if !candidate.is_ours() {
        output::err(&format!(
            "start your agent now with\n  HOLDPOINT_NATS_URL={} HOLDPOINT_CREDS={}",
            stage.url,
            stage.creds.display()
        ));
    }
    let mut interrupts = Interrupts::listen()?;
    let patience = Duration::from_secs(args.patience);
    let mut run = Run::new(&stage, &mut candidate, patience);
    let ended = tokio::select! {
        ended = Box::pin(run.all()) => ended.map(|()| true),
        () = interrupts.next() => Ok(false),
    };
    let notes = run.notes;
    candidate.kill().await;
    if !ended? {
        return Ok(Exit::Interrupted);
    }
    let findings = notes.findings(role.as_str() == role::VERIFIER);
    let kept = keeps(&findings);
    if args.json {
        output::json(
            &json!({"role": role, "agent": AGENT, "keeps": kept, "findings": findings, "not_tried": NOT_TRIED}),
        );
    } else {
        output::out(&shown(&findings, kept));
    }
    if !kept && !candidate.said().is_empty() {
        output::err("the agent's last words:");
        shown::quoted(&candidate.said()).iter().for_each(|line| output::err(line));
    }
    Ok(if kept { Exit::Success } else { Exit::Incomplete })
}

/// One line a sentence, and below what is wrong what was seen and what to do.
fn shown(findings: &[Finding], kept: bool) -> String {
    let mut lines = Vec::new();
    for found in findings {
        let word = match found.outcome {
            Outcome::Right => "right",
            Outcome::Wrong => "WRONG",
            Outcome::Advice => "could",
            Outcome::NotSeen => "  -  ",
        };
        lines.push(format!("{word}  {}", found.sentence));
        lines.extend(found.seen.iter().map(|seen| format!("         seen: {}", shown::line(seen))));
        lines.extend(found.no_occasion.map(|why| format!("         no occasion: {why}")));
        if let Some(hint) = found.hint.filter(|_| !found.seen.is_empty()) {
            lines.push(format!("         do:   {hint}"));
        }
    }
    let count = |outcome| findings.iter().filter(|found| found.outcome == outcome).count();
    let (right, wrong, not_seen) = (count(Outcome::Right), count(Outcome::Wrong), count(Outcome::NotSeen));
    let verdict = if kept { "the agent keeps the contract" } else { "the agent does not keep the contract" };
    lines.push(format!("\n{verdict}: {right} right, {wrong} wrong, {not_seen} without an occasion"));
    lines.push(format!("never tried here: {}", NOT_TRIED.join("; ")));
    lines.join("\n")
}
