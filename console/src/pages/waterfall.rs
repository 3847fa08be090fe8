//! A waypoint's turns below each other, over time: how long each waited for an agent, how long the agent worked, and how long the
//! decision took, and below a verifier's turn every run of a check. From the journal, from when handoffs were stored and from
//! receipts; the spans of a trace have every step in between.

use holdpoint_protocol::{
    Timestamp,
    api::HistoryLine,
    artifact::{Artifact as _, CheckRun, ChecklistReceipt, TreeTested, VerificationReport},
    facts::Verdict,
};
use holdpoint_text::units::span;
use maud::{Markup, html};
use serde::Deserialize as _;

use super::{
    frame::Frame,
    parts::{outcome, time, word},
    report::tree_in_words,
};
use crate::{account::TurnLine, view::View};

/// Turns that are drawn: the newest.
const TURNS_MAX: usize = 60;
/// Runs of checks that are drawn below one turn: the first.
const RUNS_MAX: usize = 12;
/// Runs of checks that are listed: those of the newest turns.
const LISTED_MAX: usize = 500;
const WIDTH: u64 = 700;
const LABEL: u64 = 190;
const ROW: u64 = 24;

/// A turn, and what handoffs say of it.
struct Bar<'a> {
    turn: &'a TurnLine,
    /// When its agent said that it had it.
    began: Option<Timestamp>,
    /// When its result was stored.
    ended: Option<Timestamp>,
    /// What its verifier ran, by its receipt.
    runs: Vec<CheckRun>,
    /// When that verifier took the turn: one that had it before may have died.
    runs_began: Option<Timestamp>,
}

impl<'a> Bar<'a> {
    fn of(turn: &'a TurnLine, history: &[HistoryLine]) -> Self {
        let of_it = |line: &&HistoryLine| line.kind != "turn" && line.artifact["turn"] == turn.turn.as_str();
        let said: Vec<&HistoryLine> = history.iter().filter(of_it).collect();
        let is_plan = |line: &&HistoryLine| line.kind.ends_with("_plan");
        let began = said.iter().copied().find(is_plan).map(|line| line.at);
        let ended = said.iter().copied().rfind(|line| !is_plan(line)).map(|line| line.at);
        let reported = said.iter().rfind(|line| line.kind == VerificationReport::KIND);
        let receipt = reported.and_then(|line| ChecklistReceipt::deserialize(&line.artifact["receipt"]).ok());
        let runs = receipt.map(|receipt| receipt.checks).unwrap_or_default();
        let is_same =
            |line: &HistoryLine, key: &str| reported.is_some_and(|told| told.artifact[key] == line.artifact[key]);
        let taken = said.iter().find(|line| is_plan(line) && is_same(line, "delivery") && is_same(line, "agent"));
        let runs_began = taken.map(|line| line.at);
        Self { turn, began, ended: ended.filter(|ended| began.is_none_or(|began| *ended >= began)), runs, runs_began }
    }

    /// From when to when a run took, where it is known: within its turn's work, whatever a receipt says.
    fn time_of(&self, run: &CheckRun) -> Option<(Timestamp, Timestamp)> {
        let (began, ended) = (self.runs_began?, self.ended?);
        let begin = began.after(run.after?.duration()).min(ended);
        Some((begin, begin.after(run.duration.duration()).min(ended)))
    }

    /// The runs that are drawn, and when each was.
    fn drawn(&self) -> impl Iterator<Item = (&CheckRun, (Timestamp, Timestamp))> {
        self.runs.iter().filter_map(|run| Some((run, self.time_of(run)?))).take(RUNS_MAX)
    }

    /// How long it waited for an agent, how long the agent had it, and how long its end took, as far as each is known.
    fn parts(&self, now: Timestamp) -> [Option<(Timestamp, Timestamp)>; 3] {
        let over = self.turn.over.unwrap_or(now);
        let Some(began) = self.began else { return [Some((self.turn.opened, over)), None, None] };
        let ended = self.ended.unwrap_or(over).min(over);
        [Some((self.turn.opened, began)), Some((began, ended)), self.ended.map(|ended| (ended, over))]
    }
}

/// The picture and the same as a table; nothing where no turn was opened.
pub(super) fn waterfall(frame: &Frame, turns: &[&TurnLine], history: &[HistoryLine]) -> Markup {
    let shown = turns.get(turns.len().saturating_sub(TURNS_MAX)..).unwrap_or_default();
    let bars: Vec<Bar<'_>> = shown.iter().map(|turn| Bar::of(turn, history)).collect();
    let Some(from) = bars.iter().map(|bar| bar.turn.opened).min() else { return html! {} };
    html! {
        h2 { "Turns over time" }
        @if turns.len() > shown.len() { p.hint { "The newest " (shown.len()) " of " (turns.len()) "." } }
        div.scroll tabindex="0" role="region" aria-label="Turns over time" { (picture(&bars, from, frame.now)) }
        p.hint.legend { span.key.k-wait {} " waits for an agent or a person " span.key.k-work {} " an agent has it " span.key.k-end {} " handed off, not yet over " span.key.k-pass {} " a check that passed " span.key.k-fail {} " one that did not " span.key.k-tried {} " one that failed where it tries the check, not the work" }
        details {
            summary { "As a table" }
            div.scroll tabindex="0" role="region" aria-label="Turns of this waypoint" { (table(&bars, frame.now)) }
            @if bars.iter().any(|bar| !bar.runs.is_empty()) {
                div.scroll tabindex="0" role="region" aria-label="Runs of checks" { (runs(frame, &bars)) }
            }
            p.hint { "Every step in between is a span of its trace: " code { "holdpoint trace" } "." }
        }
    }
}

/// One line of the picture.
struct Row {
    label: String,
    /// What is drawn, with the class of its colour.
    parts: Vec<(Timestamp, Timestamp, &'static str)>,
    /// How long it took in all, and where that is written.
    took: (Timestamp, String),
}

fn rows(bar: &Bar<'_>, now: Timestamp) -> Vec<Row> {
    let over = bar.turn.over.unwrap_or(now);
    let parts = bar.parts(now).into_iter().zip(["k-wait", "k-work", "k-end"]);
    let parts = parts.filter_map(|(part, class)| part.map(|(begin, end)| (begin, end, class))).collect();
    let turn = Row { label: label(bar.turn), parts, took: (over, span(over.since(bar.turn.opened))) };
    let run = |(run, (begin, end)): (&CheckRun, (Timestamp, Timestamp))| {
        let class = match (run.verdict, run.tested) {
            (Verdict::Pass, _) => "k-pass",
            (_, TreeTested::Handoff | TreeTested::TestsAsOnBase | TreeTested::Watched) => "k-fail",
            // It says what the check is worth: most of these have to fail.
            _ => "k-tried",
        };
        let what = run.criterion.as_ref().map_or("setup", |criterion| criterion.as_str());
        let label = format!("{what} · {}", tree_in_words(run.tested));
        let label = format!("\u{2007}\u{2007}{}", label.chars().take(28).collect::<String>());
        Row { label, parts: vec![(begin, end, class)], took: (end, span(run.duration.duration())) }
    };
    std::iter::once(turn).chain(bar.drawn().map(run)).collect()
}

fn picture(bars: &[Bar<'_>], from: Timestamp, now: Timestamp) -> Markup {
    let until = bars.iter().map(|bar| bar.turn.over.unwrap_or(now)).max().unwrap_or(now);
    let all = until.since(from).as_millis().max(1);
    let x =
        |at: Timestamp| LABEL + u64::try_from(at.since(from).as_millis() * u128::from(WIDTH) / all).unwrap_or(WIDTH);
    let rows: Vec<Row> = bars.iter().flat_map(|bar| rows(bar, now)).collect();
    let (width, height) = (LABEL + WIDTH + 70, rows.len() as u64 * ROW + 4);
    html! {
        svg.waterfall width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="img" aria-label="Turns over time; the table has the same" {
            @for (at, row) in rows.iter().enumerate() {
                @let y = at as u64 * ROW + 3;
                text.small x="2" y=(y + 13) { (row.label) }
                @for (begin, end, class) in &row.parts {
                    rect class=(class) x=(x(*begin)) y=(y) width=(x(*end).saturating_sub(x(*begin)).max(1)) height=(ROW - 6) {}
                }
                text.small x=(x(row.took.0) + 5) y=(y + 13) { (row.took.1) }
            }
        }
    }
}

fn label(turn: &TurnLine) -> String {
    let who = turn.agent.as_ref().map_or_else(|| turn.role.to_string(), ToString::to_string);
    format!("{} · {who}", turn.gate).chars().take(28).collect()
}

fn table(bars: &[Bar<'_>], now: Timestamp) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Opened" } th scope="col" { "Gate" } th scope="col" { "Who" } th scope="col" { "Waited" } th scope="col" { "Worked" } th scope="col" { "Ended in" } th scope="col" { "Came to" } } }
            tbody { @for bar in bars.iter().rev() { tr {
                td { (time(bar.turn.opened)) }
                td { (bar.turn.gate) }
                td { @match &bar.turn.agent { Some(agent) => { (agent) } None => { (bar.turn.role) } } }
                @for part in bar.parts(now) { td { @match part { Some((begin, end)) => { (span(end.since(begin))) } None => { "–" } } } }
                td { @match (bar.turn.over, bar.turn.outcome) { (None, _) => { "open" } (Some(_), Some(with)) => { (outcome(with)) } (Some(_), None) => { "over" } } }
            } } }
        }
    }
}

/// Every run of a check, by turn, newest first.
fn runs(frame: &Frame, bars: &[Bar<'_>]) -> Markup {
    let all: usize = bars.iter().map(|bar| bar.runs.len()).sum();
    let shown = bars.iter().rev().flat_map(|bar| bar.runs.iter().map(move |run| (bar, run))).take(LISTED_MAX);
    html! {
        @if all > LISTED_MAX { p.hint { "The first " (LISTED_MAX) " of " (all) " runs." } }
        table {
            thead { tr { th scope="col" { "Began" } th scope="col" { "Of" } th scope="col" { "Command" } th scope="col" { "On" } th scope="col" { "Took" } th scope="col" { "Verdict" } } }
            tbody { @for (bar, run) in shown { tr {
                td { @match bar.time_of(run) { Some((begin, _)) => { (time(begin)) } None => { (unknown_begin(run)) } } }
                td { @match &run.criterion { Some(criterion) => { (criterion) } None => { "setup" } } }
                td { code.long { (word(&run.command)) } }
                td { (tree_in_words(run.tested)) }
                td { (span(run.duration.duration())) }
                td { a href=(frame.href(&View::Evidence(run.output))) { (run.verdict.as_str()) } }
            } } }
        }
    }
}

/// What stands in the place of when a run began.
fn unknown_begin(run: &CheckRun) -> String {
    run.known_from.as_ref().map_or_else(|| "–".to_owned(), |report| format!("known from {report}"))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{Digest, state::Purpose};
    use serde_json::json;

    use super::*;
    use crate::pages::tests::samples::frame;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn line(ms: i64, kind: &str, turn: &str) -> HistoryLine {
        let artifact = json!({"turn": turn});
        HistoryLine { at: at(ms), kind: kind.to_owned(), reference: String::new(), artifact, standing: None }
    }

    fn turn(id: &str, opened: i64, over: Option<i64>) -> TurnLine {
        TurnLine {
            turn: id.parse().unwrap(),
            waypoint: "w".parse().unwrap(),
            gate: "build".parse().unwrap(),
            role: "builder".parse().unwrap(),
            purpose: Purpose::Build,
            agent: None,
            opened: at(opened),
            over: over.map(at),
            outcome: None,
        }
    }

    #[test]
    fn a_turn_is_waiting_working_and_ending_as_far_as_its_handoffs_say() {
        let (id, other) = ("0123456789abcdef0123456789abcdef", "ffffffffffffffffffffffffffffffff");
        let history =
            [line(2_000, "build_plan", id), line(9_000, "build_artifact", id), line(3_000, "build_plan", other)];
        let over = turn(id, 0, Some(10_000));
        let parts = Bar::of(&over, &history).parts(at(99_000));
        assert_eq!(parts, [Some((at(0), at(2_000))), Some((at(2_000), at(9_000))), Some((at(9_000), at(10_000)))]);
        let works = turn(other, 0, None);
        assert_eq!(Bar::of(&works, &history).parts(at(5_000))[1..], [Some((at(3_000), at(5_000))), None]);
        let nobody = turn(id, 0, None);
        assert_eq!(Bar::of(&nobody, &[]).parts(at(5_000)), [Some((at(0), at(5_000))), None, None]);
        assert!(waterfall(&frame(), &[], &history).0.is_empty());
        assert!(waterfall(&frame(), &[&over], &history).0.contains("k-work"));
    }

    #[test]
    fn runs_of_checks_stand_below_their_turn_and_never_outside_of_it() {
        let id = "0123456789abcdef0123456789abcdef";
        let run = |after: Option<u64>, duration: u64, verdict: &str| {
            json!({"criterion": "unit", "command": "make <b>", "tested": "handoff", "tree": "c".repeat(40), "exit_code": 0, "signal": null,
                   "duration": duration, "after": after, "output": Digest::of(b"x"), "output_bytes": 1, "verdict": verdict, "reason": null})
        };
        let mut runs = [run(Some(500), 1_000, "pass"), run(Some(6_000), 99_000, "fail"), run(None, 5, "pass")];
        runs[2]["known_from"] = "report-1".into();
        let mut report = line(9_000, VerificationReport::KIND, id);
        report.artifact["receipt"] = json!({"checks": runs, "properties": [], "foreign": true});
        let history = [line(2_000, "verification_plan", id), report];
        let over = turn(id, 0, Some(10_000));
        let bar = Bar::of(&over, &history);
        let times: Vec<_> = bar.runs.iter().map(|run| bar.time_of(run)).collect();
        assert_eq!(times, [Some((at(2_500), at(3_500))), Some((at(8_000), at(9_000))), None]);
        let page = waterfall(&frame(), &[&over], &history).0;
        assert_eq!(
            (page.matches("k-pass").count(), page.matches("k-fail").count()),
            (2, 2),
            "one bar each, and the legend"
        );
        assert!(page.contains("make &lt;b&gt;") && page.contains("the work"), "{page}");
        assert!(page.contains("known from report-1"), "{page}");
    }

    #[test]
    fn runs_begin_with_the_delivery_that_was_reported_and_those_that_try_a_check_are_no_failures() {
        let id = "0123456789abcdef0123456789abcdef";
        let run = json!({"criterion": "unit", "command": "make", "tested": "mutant", "tree": "c".repeat(40), "exit_code": 1, "signal": null,
            "duration": 100, "after": 500, "output": Digest::of(b"x"), "output_bytes": 1, "verdict": "fail", "reason": "exit_code"});
        let by = |mut line: HistoryLine, delivery: u32| {
            (line.artifact["delivery"], line.artifact["agent"]) = (json!(delivery), json!("v1"));
            line
        };
        let mut report = by(line(9_000, VerificationReport::KIND, id), 2);
        report.artifact["receipt"] = json!({"checks": vec![run; 600], "properties": [], "foreign": false});
        let plan = |ms, delivery| by(line(ms, "verification_plan", id), delivery);
        let history = [plan(2_000, 1), plan(5_000, 2), plan(6_000, 2), report];
        let over = turn(id, 0, Some(10_000));
        let bar = Bar::of(&over, &history);
        assert_eq!((bar.began, bar.time_of(&bar.runs[0])), (Some(at(2_000)), Some((at(5_500), at(5_600)))));
        let page = waterfall(&frame(), &[&over], &history).0;
        assert_eq!((page.matches("k-fail").count(), page.matches("k-tried").count()), (1, 1 + RUNS_MAX));
        assert!(page.contains("The first 500 of 600 runs."), "{page}");
        assert_eq!(page.matches(">make<").count(), LISTED_MAX);
    }
}
