//! What waits for people and what follows from their acts, in words. Pure. Questions are agents' words: nothing in them
//! moves a terminal's cursor, and no line of theirs looks like a command that we suggest.

use holdpoint_evidence::telling;
use holdpoint_protocol::{
    api::{HistoryLine, InboxItem, InboxKind, Standing},
    artifact::{Artifact as _, BuildArtifact, Verb, VerificationReport},
    facts::{LeftOut, LeftOutKind},
    ids::{AgentName, FlightId, WaypointId},
    state::{Purpose, Status},
    view::{FlightView, WaypointView},
    workflow::{ByOutcome, GateContext},
};
use holdpoint_text::{shown, units::seconds};
use serde_json::Value;

use crate::{
    notify::{ConditionFailed, Event, OfferedAgain},
    people::key,
    typed::{in_text, typed, typed_as},
};

/// Lines of a question that are shown; `--json` has all of it.
const QUESTION_LINES_MAX: usize = 40;
/// The end of an agent's last words that is shown.
const LAST_WORDS_LINES: usize = 5;

/// Waypoints that are named in one line.
const NAMED_MAX: usize = 12;

/// Items of the inbox. Works that wait for one thing are one item: one command has all of them tried again.
pub(crate) fn items(all: &[InboxItem]) -> Vec<String> {
    let shown = InboxItem::by_cause(all).into_iter().map(|(first, others)| {
        let others: Vec<&WaypointId> = others.into_iter().map(|other| &other.waypoint).collect();
        let also = (!others.is_empty()).then(|| {
            format!("\n    the same holds {}: `holdpoint retry` has all of them tried again", waypoints(&others))
        });
        std::iter::once(item(first)).chain(also).collect()
    });
    shown.collect()
}

/// The first waypoints of a list by name, and how many more there are.
pub(crate) fn waypoints(all: &[&WaypointId]) -> String {
    let named: Vec<&str> = all.iter().take(NAMED_MAX).map(|id| id.as_str()).collect();
    let more = all.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// An item of the inbox: what, where, since when, and the lines of [`details`].
pub(crate) fn item(item: &InboxItem) -> String {
    let InboxItem { waypoint, flight, since, gate, reason_code, .. } = item;
    let gate = gate.as_ref().map(|gate| format!(", in {gate}")).unwrap_or_default();
    let reason = reason_code.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let checked = if item.self_checked { format!(", {}", telling::SELF_CHECKED) } else { String::new() };
    let head = format!("{}{reason}  {waypoint}  of {flight}{gate}, since {}{checked}", item.kind, seconds(*since));
    let details = details(item).into_iter().map(|line| format!("\n    {line}"));
    std::iter::once(head).chain(details).collect()
}

/// A notification that needs no answer, in a line.
pub(crate) fn notice(event: &Event) -> String {
    match event {
        Event::Waits(waiting, _) => item(waiting),
        Event::FlightOver { flight, status } => format!("over  {flight}: {status}"),
        Event::ConditionFailed(failed) => {
            let ConditionFailed { flight, waypoint, gate, at, error, .. } = failed.as_ref();
            let (error, at) = (shown::line(error), seconds(*at));
            format!("gate left out  {waypoint}  of {flight}: the condition of {gate} is invalid ({error}), at {at}")
        }
        Event::OfferedAgain(again) => {
            let OfferedAgain { flight, waypoint, gate, role, at, timeout, .. } = again.as_ref();
            let at = seconds(*at);
            format!(
                "offered again  {waypoint}  of {flight}: nobody answered {gate} in {timeout} s, {role} has it, at {at}"
            )
        }
    }
}

/// What there is to know of an item, and the commands that move it on.
pub(crate) fn details(item: &InboxItem) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(quoted(item.question.as_deref()));
    lines.extend(item.block_reason.and_then(telling::obstacle).map(str::to_owned));
    if let Some(context) = &item.decision_context {
        lines.push("because:".to_owned());
        lines.extend(quoted(Some(context)));
    }
    if !item.to.is_empty() {
        lines.push(format!("for {}", item.to.iter().map(AgentName::as_str).collect::<Vec<_>>().join(", ")));
    }
    lines.extend(context(&item.context));
    lines.extend(item.options.iter().map(|option| format!("- {}", shown::line(option))));
    if let Some(confidence) = item.confidence {
        let round = item.round.map(|round| format!(", question {round}")).unwrap_or_default();
        lines.push(format!("confidence of its best guess: {confidence}{round}"));
    }
    if let Some(until) = item.waits_until {
        lines.push(format!("its program waits for the answer until {}", seconds(until)));
    }
    lines.extend(doubts(&item.doubts));
    // Of what is open the commands below say it.
    let is_held = matches!(item.kind, InboxKind::Held | InboxKind::Failed);
    lines.extend(item.remediation.as_deref().filter(|_| is_held).map(|text| in_text(&shown::line(text))));
    if item.work.is_some() {
        let of = format!("{} --flight {}", item.waypoint, item.flight);
        let (diff, fetch) =
            (typed(&format!("holdpoint diff {of}")), typed(&format!("holdpoint fetch {of} --attempt latest")));
        lines.push(format!("its last work is kept: `{diff}` shows it, `{fetch}` writes a branch of it"));
    }
    lines.extend(item.actions.iter().map(|verb| format!("> {}", for_whom(*verb, item))));
    lines
}

/// The command that does it, in the name of somebody who may.
fn for_whom(verb: Verb, item: &InboxItem) -> String {
    let command = command(verb, &item.flight, &item.waypoint);
    if command.contains(" --as ") || item.allows(verb, &key::default_name()) {
        return command;
    }
    let them = item.taken_by.as_ref().or_else(|| item.to.first());
    them.map_or_else(|| command.clone(), |person| typed_as(&command, person))
}

/// The first lines of an agent's words.
fn quoted(text: Option<&str>) -> Vec<String> {
    let mut lines = shown::quoted(text.unwrap_or_default());
    if lines.len() > QUESTION_LINES_MAX {
        lines.truncate(QUESTION_LINES_MAX);
        lines.push("…".to_owned());
    }
    lines
}

/// What a gate says to the one who completes it, one line each.
fn context(said: &GateContext) -> Vec<String> {
    let line = |what: &str, text: &str| format!("{what}: {}", shown::line(text));
    let ByOutcome { complete, needs_review, blocked } = &said.outcome_help;
    let help = [("approve", complete), ("reject", needs_review), ("blocked", blocked)];
    let expectations = said.expectations.iter().map(|text| line("expects", text));
    let tips = said.tips.iter().map(|text| line("tip", text));
    let help = help.into_iter().filter_map(|(what, text)| Some(line(what, text.as_ref()?)));
    expectations.chain(tips).chain(help).collect()
}

/// What a verification doubts, one line each.
pub(crate) fn doubts(doubts: &[String]) -> impl Iterator<Item = String> + '_ {
    doubts.iter().map(|doubt| format!("doubt: {}", shown::line(doubt)))
}

/// What the report in a line of a history doubts.
pub(crate) fn doubts_of(line: &HistoryLine) -> Vec<String> {
    let doubts = line.artifact.get("doubts").filter(|_| line.kind == VerificationReport::KIND);
    let text = |doubt: &Value| Some(doubt.get("text")?.as_str()?.to_owned());
    doubts.and_then(Value::as_array).map(|doubts| doubts.iter().filter_map(text).collect()).unwrap_or_default()
}

/// What the last agent said that handed off a tree in which it changed nothing; nothing where it changed something.
pub(crate) fn last_words(history: &[HistoryLine]) -> Vec<String> {
    let taken = |line: &&HistoryLine| line.kind == BuildArtifact::KIND && line.standing == Some(Standing::Taken);
    let built = history.iter().rev().find(taken);
    let words = built.and_then(|line| line.artifact.get("last_words")?.as_str()).unwrap_or_default();
    let mut lines = shown::quoted(words);
    lines = lines.split_off(lines.len().saturating_sub(LAST_WORDS_LINES));
    if !lines.is_empty() {
        lines.insert(0, "the agent changed nothing, and said:".to_owned());
    }
    lines
}

/// What the last clone had besides what was handed off, from this kind on; nothing where its handoff was not taken.
pub(crate) fn left_out(history: &[HistoryLine], up_to: LeftOutKind) -> Vec<String> {
    let taken = |line: &&HistoryLine| line.kind == BuildArtifact::KIND && line.standing == Some(Standing::Taken);
    let built = history.iter().rev().find(taken);
    built.map(|line| left_out_of(line, up_to)).unwrap_or_default()
}

/// What is left out by a line of a history, up to this kind.
pub(crate) fn left_out_of(line: &HistoryLine, up_to: LeftOutKind) -> Vec<String> {
    let left_out = line.artifact.get("left_out").filter(|_| line.kind == BuildArtifact::KIND).cloned();
    let left_out: Vec<LeftOut> = left_out.and_then(|list| serde_json::from_value(list).ok()).unwrap_or_default();
    let shown = left_out.iter().filter(|one| one.kind <= up_to);
    shown.map(|one| format!("left out: {} ({})", shown::line(&one.what), shown::line(&one.why))).collect()
}

/// The command that does it.
pub(crate) fn command(verb: Verb, flight: &FlightId, waypoint: &WaypointId) -> String {
    let word = verb.as_str();
    let (what, more) = match verb {
        Verb::Cancel => (format!("{flight} {waypoint}"), ""),
        Verb::Pause | Verb::Resume => (flight.to_string(), ""),
        Verb::Reconfigure => return typed(&format!("holdpoint org reload --flight {flight}")),
        _ => (
            format!("{waypoint} --flight {flight}"),
            match verb {
                Verb::Answer => " --text '…' (or --option '…')",
                Verb::Reject => " --note '…'",
                Verb::Budget => " --cost-usd +5",
                _ => "",
            },
        ),
    };
    format!("{}{more}", typed(&format!("holdpoint {word} {what}")))
}

/// What an act did and what follows: `answered; w1 builds again`.
pub(crate) fn done(verb: Verb, view: &FlightView, waypoint: Option<&WaypointId>) -> String {
    let did = match verb {
        Verb::Answer => "answered",
        Verb::Approve => "approved",
        Verb::Reject => "sent back",
        Verb::Retry => "retried",
        Verb::Cancel => "cancelled",
        Verb::Pause => "paused",
        Verb::Resume => "resumed",
        Verb::Take => "taken over",
        Verb::Release => "given back",
        Verb::HandIn => "handed in",
        Verb::Reconfigure => "reloaded",
        Verb::Budget => "raised",
        Verb::Revise => "revised",
    };
    let of_waypoint = waypoint.and_then(|id| view.waypoints.iter().find(|waypoint| waypoint.id == *id));
    let follows = match of_waypoint {
        Some(waypoint) => format!("{} {}", waypoint.id, follows(verb, waypoint)),
        None if view.paused => {
            format!("no turn of {} opens until `{}`", view.flight, typed(&format!("holdpoint resume {}", view.flight)))
        }
        None => format!("{} is {}", view.flight, view.status),
    };
    let paused = if view.paused && waypoint.is_some() { ", once the flight is resumed" } else { "" };
    format!("{did}; {follows}{paused}")
}

fn follows(verb: Verb, waypoint: &WaypointView) -> String {
    let turn = waypoint.turn.as_ref().filter(|_| waypoint.status == Status::Running);
    match turn.map(|turn| &turn.purpose) {
        Some(Purpose::Build) if matches!(verb, Verb::Answer | Verb::Reject | Verb::Retry | Verb::Budget) => {
            "builds again".to_owned()
        }
        Some(Purpose::Build) => "builds".to_owned(),
        Some(Purpose::Verify(_)) => "goes to a verifier".to_owned(),
        Some(Purpose::Complete) if verb == Verb::Approve => "goes on to the next gate".to_owned(),
        Some(Purpose::Complete) => {
            waypoint.gate.as_ref().map_or_else(|| "goes on".to_owned(), |gate| format!("goes on at gate {gate}"))
        }
        Some(Purpose::Advise) => "waits for advice".to_owned(),
        None => format!("is {}", waypoint.status),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use holdpoint_protocol::{
        Timestamp,
        artifact::Confidence,
        checkpoint::GateDemands,
        reason::{BlockReason, ReasonCode},
    };

    use super::*;
    use crate::view::tests::flight;

    #[test]
    fn an_agent_that_changed_nothing_is_quoted_and_one_that_changed_something_is_not() {
        let line = |artifact: Value, standing| HistoryLine {
            at: Timestamp::from_millis(0),
            kind: "build_artifact".to_owned(),
            reference: "HP_JOURNAL/1".to_owned(),
            artifact,
            standing: Some(standing),
        };
        let said = line(serde_json::json!({"last_words": "I\u{1b}[2J cannot.\n> holdpoint cancel f"}), Standing::Taken);
        let late = line(serde_json::json!({"last_words": "late"}), Standing::Conflict);
        let list = serde_json::json!([
            {"kind": "elsewhere", "what": "branch x", "why": "1 commit"},
            {"kind": "ignored", "what": "a.log", "why": "ignored by .gitignore:1 `*.log`"},
            {"kind": "dropping", "what": "__pycache__/", "why": "compiled Python"},
        ]);
        let left = [line(serde_json::json!({"left_out": list}), Standing::Taken), late.clone()];
        assert_eq!(left_out(&left, LeftOutKind::Elsewhere), ["left out: branch x (1 commit)"]);
        assert_eq!(left_out(&left, LeftOutKind::Ignored).len(), 2);
        assert_eq!(left_out_of(&left[0], LeftOutKind::Dropping).len(), 3);
        let changed = line(serde_json::json!({}), Standing::Taken);
        let shown = last_words(&[changed.clone(), said.clone(), late]);
        assert_eq!(shown, ["the agent changed nothing, and said:", "| I\\u{1b}[2J cannot.", "| > holdpoint cancel f"]);
        assert!(last_words(&[said, changed]).is_empty() && last_words(&[]).is_empty());
    }

    /// An open question.
    pub(crate) fn question() -> InboxItem {
        InboxItem {
            kind: InboxKind::Question,
            flight: "f".parse().unwrap(),
            waypoint: "w".parse().unwrap(),
            gate: Some("build".parse().unwrap()),
            since: Timestamp::from_millis(0),
            taken_by: None,
            to: Vec::new(),
            context: GateContext::default(),
            block_reason: Some(BlockReason::NeedsHumanInput),
            question: Some("Which\u{1b}[2J one\u{202e}?\nReally.".to_owned()),
            decision_context: None,
            options: vec!["a".to_owned(), "b\u{7}".to_owned()],
            confidence: Some(Confidence::Low),
            waits_until: Some(Timestamp::from_millis(60_000)),
            round: Some(1),
            reason_code: None,
            remediation: None,
            evidence: Vec::new(),
            self_checked: false,
            doubts: Vec::new(),
            work: None,
            actions: vec![Verb::Answer, Verb::Cancel],
            reference: "q1".to_owned(),
        }
    }

    #[test]
    fn a_question_is_shown_with_its_options_and_its_commands_and_nothing_that_moves_the_cursor() {
        let shown = item(&question());
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "question  w  of f, in build, since 1970-01-01T00:00:00Z");
        assert_eq!(lines[1..5], ["    | Which\\u{1b}[2J one\\u{202e}?", "    | Really.", "    - a", "    - b\\u{7}"]);
        assert!(shown.contains("its program waits for the answer until 1970-01-01T00:01:00Z"), "{shown}");
        assert!(shown.contains("> holdpoint answer w --flight f"), "{shown}");
        assert!(shown.contains("> holdpoint cancel f w"), "{shown}");
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'));
    }

    #[test]
    fn what_depends_on_the_answer_is_quoted_below_the_question() {
        let context = Some("The API\n> holdpoint cancel f".to_owned());
        let lines = details(&InboxItem { decision_context: context, ..question() });
        assert_eq!(lines[2..5], ["because:", "| The API", "| > holdpoint cancel f"], "{lines:?}");
    }

    #[test]
    fn a_gate_says_what_it_expects_and_what_outcomes_mean_there() {
        let said = GateContext {
            expectations: vec!["Every line\n> holdpoint approve w was read".to_owned()],
            tips: vec!["Begin with the tests".to_owned()],
            outcome_help: ByOutcome { needs_review: Some("It is built again".to_owned()), ..ByOutcome::default() },
            demands: GateDemands::default(),
        };
        let approval = InboxItem { kind: InboxKind::Approval, question: None, context: said, ..question() };
        let lines = details(&approval);
        assert_eq!(lines[1..3], ["tip: Begin with the tests", "reject: It is built again"], "{lines:?}");
        assert!(lines[0].starts_with("expects: Every line") && !lines[0].contains('\n'), "{lines:?}");
    }

    #[test]
    fn no_line_of_an_agents_question_looks_like_a_command_that_we_suggest() {
        let mut asked = question();
        asked.question = Some("Which?\r\n\n> holdpoint answer w --flight f --option 'delete it'\n    > holdpoint approve w\r> x\u{2028}> holdpoint".to_owned());
        asked.options.push("a\n> holdpoint answer w --option b".to_owned());
        let shown = item(&asked);
        let ours: Vec<&str> = shown.lines().filter(|line| line.trim_start().starts_with('>')).collect();
        assert_eq!(
            ours,
            ["    > holdpoint answer w --flight f --text '…' (or --option '…')", "    > holdpoint cancel f w"],
            "{shown}"
        );
        assert!(
            shown.contains("\n    | > holdpoint answer w --flight f --option 'delete it'\n"),
            "it stays visible: {shown}"
        );
    }

    #[test]
    fn a_long_question_is_cut() {
        let long = InboxItem { question: Some("x\n".repeat(1_000)), ..question() };
        assert!(item(&long).lines().count() < QUESTION_LINES_MAX + 10);
    }

    #[test]
    fn works_that_are_held_because_the_agents_of_a_gate_cannot_work_are_one_item_with_one_command() {
        let held = |waypoint: &str, gate: &str, why: &str| InboxItem {
            kind: InboxKind::Held,
            waypoint: waypoint.parse().unwrap(),
            gate: Some(gate.parse().unwrap()),
            reason_code: Some(ReasonCode::NotExecutable),
            remediation: Some(format!("no credit (request {why})")),
            question: None,
            actions: vec![Verb::Retry, Verb::Cancel],
            ..question()
        };
        let all = [
            held("a", "build", "1"),
            held("b", "build", "2"),
            question(),
            held("c", "review", "3"),
            held("d", "build", "4"),
            InboxItem { flight: "other".parse().unwrap(), ..held("e", "build", "5") },
            InboxItem { reason_code: Some(ReasonCode::NotRed), ..held("g", "build", "6") },
        ];
        let shown = items(&all);
        assert_eq!(shown.len(), 5, "{shown:?}");
        assert_eq!((shown[0].matches("no credit").count(), shown[0].matches("> holdpoint retry a ").count()), (1, 1));
        assert!(shown[0].contains("the same holds b, d: `holdpoint retry` has all"), "{}", shown[0]);
        assert!(shown[2..].iter().all(|item| !item.contains("the same holds")), "{shown:?}");
        let many: Vec<WaypointId> = (0..NAMED_MAX + 3).map(|n| format!("w{n}").parse().unwrap()).collect();
        assert!(waypoints(&many.iter().collect::<Vec<_>>()).ends_with("w11 and 3 more"));
    }

    #[test]
    fn what_is_held_says_how_to_mend_it() {
        let remediation = Some("raise the budget".to_owned());
        let held = InboxItem { kind: InboxKind::Held, question: None, remediation, ..question() };
        assert!(item(&held).contains("raise the budget") && !item(&held).contains("holdpoint diff"));
        let kept = InboxItem { work: Some("c".repeat(40).parse().unwrap()), ..held };
        let shown = item(&kept);
        assert!(shown.contains("`holdpoint diff w --flight f` shows it"), "{shown}");
        assert!(shown.contains("`holdpoint fetch w --flight f --attempt latest`"), "{shown}");
    }

    #[test]
    fn an_approval_shows_what_the_verification_doubts_before_the_commands() {
        let doubts = vec!["src/a.rs (adds)\u{202e}\n> holdpoint approve w".to_owned(), "two".to_owned()];
        let approval = InboxItem { kind: InboxKind::Approval, doubts, ..question() };
        let shown = item(&approval);
        let doubts = "    doubt: src/a.rs (adds)\\u{202e}\\n> holdpoint approve w\n    doubt: two\n    > holdpoint";
        assert!(shown.contains(doubts), "{shown}");
    }

    #[test]
    fn what_an_act_did_and_what_follows_is_one_line() {
        let mut view = flight();
        let two: WaypointId = "two".parse().unwrap();
        assert_eq!(done(Verb::Retry, &view, Some(&two)), "retried; two is blocked");
        assert_eq!(done(Verb::Cancel, &view, None), "cancelled; p-00000000 is incomplete");
        view.paused = true;
        assert_eq!(done(Verb::Retry, &view, Some(&two)), "retried; two is blocked, once the flight is resumed");
        assert!(done(Verb::Pause, &view, None).contains("holdpoint resume p-00000000"));
    }
}
