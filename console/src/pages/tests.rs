pub(crate) mod samples;

use std::cell::Cell;

use holdpoint_protocol::{Digest, api::InboxItem, state::Status};
use holdpoint_text::shown;
use maud::Markup;
use samples::{frame, golden, history, plan};
use serde_json::Value;

use super::*;
use crate::{
    account::FlightAccount,
    fleet::{Condition, Mistake, Patch, PlanInspection},
    problem::ConsoleProblem,
    view::Show,
};

/// What an agent, a plan or a repository might say.
const HOSTILE: &str = "<script>alert(1)</script>&lt;\"'> onload=x \u{202e}\u{2066}\u{200b}\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}1m\r--><svg onload=alert(1)>";

/// Nothing of it is markup, and nothing of it is hidden or moves anything.
#[track_caller]
fn clean(markup: &Markup, what: &str) {
    let text = &markup.0;
    assert!(!text.contains("<script>alert") && !text.contains("<svg onload"), "{what}: {text}");
    assert!(!text.contains("alert(1)</script>") && !text.contains("\"'> onload"), "{what}: {text}");
    let hidden = text.chars().find(|c| !matches!(c, '\n' | '\t') && shown::first_hidden(&c.to_string()).is_some());
    assert_eq!(hidden, None, "{what}: {text}");
}

/// The value, once for each text in it that can be anything, with a hostile one in its place.
fn each_hostile(value: &Value, look: &mut dyn FnMut(Value)) {
    fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(path.to_owned()),
            Value::Array(all) => {
                all.iter().enumerate().for_each(|(at, one)| leaves(one, &format!("{path}/{at}"), found));
            }
            Value::Object(all) => all.iter().for_each(|(key, one)| leaves(one, &format!("{path}/{key}"), found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    leaves(value, "", &mut found);
    for path in found {
        let mut changed = value.clone();
        *changed.pointer_mut(&path).unwrap() = HOSTILE.into();
        look(changed);
    }
}

/// Renders a sample with a hostile text in each place that takes one, and as it is; how many there were.
fn tried<T: serde::de::DeserializeOwned>(name: &str, value: &Value, render: impl Fn(&T) -> Markup) -> usize {
    let count = Cell::new(0);
    clean(&render(&serde_json::from_value(value.clone()).unwrap()), name);
    each_hostile(value, &mut |changed| {
        // Ids, digests and words of closed lists cannot be anything.
        if let Ok(sample) = serde_json::from_value::<T>(changed) {
            count.set(count.get() + 1);
            clean(&render(&sample), name);
        }
    });
    count.get()
}

#[test]
fn nothing_of_a_flight_or_of_what_waits_is_markup_or_hidden() {
    let shows = [Show::Graph, Show::Board, Show::Timeline, Show::List(0, None), Show::Landed];
    let of_view = tried("flight_view", &golden("flight_view"), |view| {
        let all: String =
            shows.iter().map(|show| flight(&frame(), (view, false), &FlightAccount::default(), show).0).collect();
        maud::PreEscaped(all)
    });
    assert!(of_view >= 4, "titles, branch, plan and remediation: {of_view}");
    let items = golden("inbox")["items"].clone();
    let of_items = tried("inbox", &items, |items: &Vec<_>| inbox(&frame(), items));
    assert!(of_items >= 8, "questions, options, doubts, remediation: {of_items}");
    let lines = Value::from(vec![golden("flight_line")]);
    assert!(
        tried("flight_line", &lines, |lines: &Vec<_>| flights(
            &frame(),
            lines,
            0,
            (|_: &_| None, |_: &_| 0, |_: &_| true)
        )) >= 1
    );
}

#[test]
fn works_that_the_same_holds_are_one_thing_with_one_button() {
    let held = |waypoint: &str, gate: &str| -> InboxItem {
        let item = serde_json::json!({
            "kind": "held", "flight": "f", "waypoint": waypoint, "gate": gate, "since": "2026-11-22T10:00:00Z", "question": null,
            "options": [], "confidence": null, "round": null, "reason_code": "not_executable", "remediation": "log in", "evidence": [],
            "actions": ["retry"], "ref": waypoint,
        });
        serde_json::from_value(item).unwrap()
    };
    let items = [held("a", "build"), held("b", "build"), held("c", "review"), held("d", "build")];
    let shown = inbox(&frame(), &items).0;
    assert!(shown.contains("2 things wait for you"), "{shown}");
    assert_eq!((shown.matches("<article").count(), shown.matches("value=\"retry\"").count()), (2, 2), "{shown}");
    let (first, second) = shown.split_once("</article>").unwrap();
    for other in ["b", "d"] {
        assert!(first.contains("The same holds") && first.contains(&format!("/flight/f/{other}")), "{first}");
    }
    assert!(!second.contains("The same holds"), "{second}");
}

#[test]
fn work_that_its_own_agent_checked_is_called_self_checked_and_no_other_work_is() {
    let view: holdpoint_protocol::view::FlightView = serde_json::from_value(golden("flight_view")).unwrap();
    let account = FlightAccount::of(plan());
    for self_checked in [true, false] {
        let item = serde_json::json!({
            "kind": "approval", "flight": "f", "waypoint": "w", "gate": "approve", "since": "2026-11-22T10:00:00Z", "question": null,
            "options": [], "confidence": null, "round": null, "reason_code": null, "remediation": null, "evidence": [],
            "self_checked": self_checked, "actions": ["approve"], "ref": "w",
        });
        let waits: [InboxItem; 1] = [serde_json::from_value(item).unwrap()];
        let of = |criteria: &Value| -> holdpoint_protocol::view::WaypointView {
            let waypoint = samples::waypoint("w", Status::Complete);
            let mut waypoint = serde_json::to_value(waypoint).unwrap();
            (waypoint["criteria"], waypoint["self_checked"]) = (criteria.clone(), self_checked.into());
            serde_json::from_value(waypoint).unwrap()
        };
        let subject = of(&serde_json::json!([{"id": "c", "verdict": "pass", "reason": null, "evidence": []}]));
        let report = history("verification_report", &{
            let mut report = golden("verification_report");
            report["self_checked"] = self_checked.into();
            report
        });
        let parts = Parts { view: &view, waypoint: &subject, account: &account, history: &report, waits: &[] };
        for page in [inbox(&frame(), &waits).0, waypoint(&frame(), parts).0] {
            assert_eq!(page.contains("self-checked"), self_checked, "{page}");
        }
    }
}

#[test]
fn nothing_that_stands_in_a_waypoints_history_is_markup_or_hidden() {
    let kinds = [
        ("turn", "turn_build"),
        ("turn", "turn_baseline"),
        ("turn", "turn_complete"),
        ("decided", "decided_failed"),
        ("build_artifact", "build_artifact"),
        ("build_artifact", "build_artifact_failed"),
        ("verification_report", "verification_report"),
        ("completion", "completion"),
        ("clarification_request", "clarification_request"),
        ("clarification_response", "clarification_response"),
        ("help_request", "help_request"),
    ];
    let view: holdpoint_protocol::view::FlightView = serde_json::from_value(golden("flight_view")).unwrap();
    let subject = samples::waypoint("w", Status::Running);
    let account = FlightAccount::of(plan());
    let mut places = 0;
    for (kind, name) in kinds {
        let artifact = golden(name);
        let render = |artifact: &Value| {
            let history = history(kind, artifact);
            let parts = Parts { view: &view, waypoint: &subject, account: &account, history: &history, waits: &[] };
            waypoint(&frame(), parts)
        };
        clean(&render(&artifact), name);
        each_hostile(&artifact, &mut |changed| {
            places += 1;
            clean(&render(&changed), name);
        });
    }
    assert!(places > 150, "{places}");
}

#[test]
fn a_document_and_what_differs_from_another_are_no_markup() {
    let (flight, id) = ("f".parse().unwrap(), "w".parse().unwrap());
    let mut places = 0;
    for kind in ["build_artifact", "completion", "clarification_request"] {
        let artifact = golden(kind);
        each_hostile(&artifact, &mut |changed| {
            places += 1;
            let lines = Value::from(vec![
                samples::line(kind, "HP/1", &artifact),
                samples::line(HOSTILE, HOSTILE, &changed),
                samples::line(kind, "HP/3", &changed),
            ]);
            let history: Vec<_> = serde_json::from_value(lines).unwrap();
            for (of, with) in [("HP/3", None), (HOSTILE, Some("HP/1"))] {
                let asked = Asked { flight: &flight, waypoint: &id, of, with };
                let page = document(&frame(), asked, &history).unwrap();
                assert!(page.0.contains("What differs"), "{}", page.0);
                clean(&page, kind);
            }
        });
    }
    assert!(places > 40, "{places}");
}

#[test]
fn a_document_is_compared_with_the_one_before_it_of_its_gate_and_kind_unless_another_is_named() {
    let (flight, id) = ("f".parse().unwrap(), "w".parse().unwrap());
    let turn =
        |turn: &str, gate: &str| samples::line("turn", turn, &serde_json::json!({"turn_id": turn, "gate": gate}));
    let says = |reference: &str, turn: &str, words: &str| {
        samples::line("completion", reference, &serde_json::json!({"turn": turn, "summary": words}))
    };
    let lines = vec![
        turn("t1", "draft"),
        says("HP/1", "t1", "first words"),
        turn("t2", "review"),
        says("HP/2", "t2", "reviewed"),
        turn("t3", "draft"),
        says("HP/3", "t3", "second words"),
        turn("t4", "draft"),
        says("HP/4", "t4", "third words"),
    ];
    let history: Vec<_> = serde_json::from_value(Value::from(lines)).unwrap();
    let page = |of, with| {
        let asked = Asked { flight: &flight, waypoint: &id, of, with };
        document(&frame(), asked, &history).map(|page| page.0)
    };
    for (of, with, said) in [
        ("HP/4", None, Some("006-draft-completion.md → 008-draft-completion.md")),
        ("HP/3", None, Some("002-draft-completion.md → 006-draft-completion.md")),
        ("HP/1", None, None),
        ("HP/1", Some("HP/4"), Some("002-draft-completion.md → 008-draft-completion.md")),
        ("HP/4", Some("HP/2"), Some("004-review-completion.md → 008-draft-completion.md")),
    ] {
        let shown = page(of, with).unwrap();
        assert_eq!(shown.contains("What differs"), said.is_some(), "{of}: {shown}");
        assert!(said.is_none_or(|said| shown.contains(said)), "{of}: {shown}");
    }
    assert!(page("HP/3", None).unwrap().contains("first"), "the words before stand in the difference alone");
    assert!(page("HP/9", None).is_none() && page("HP/1", Some("HP/9")).is_none());
}

#[test]
fn a_plan_output_and_diffs_are_no_markup() {
    let view: holdpoint_protocol::view::FlightView = serde_json::from_value(golden("flight_view")).unwrap();
    let subject = samples::waypoint("w", Status::Pending);
    let planned = serde_json::to_value(plan()).unwrap();
    let of_plan = tried("plan", &planned, |plan: &holdpoint_protocol::plan::Plan| {
        let account = FlightAccount::of(plan.clone());
        let parts = Parts { view: &view, waypoint: &subject, account: &account, history: &[], waits: &[] };
        waypoint(&frame(), parts)
    });
    assert!(of_plan >= 3, "{of_plan}");
    clean(&evidence(Digest::of(b"x"), HOSTILE.as_bytes()), "evidence");
    let (flight, id) = ("f".parse().unwrap(), "w".parse().unwrap());
    let hostile = format!("diff --git a/{HOSTILE} b/x\n+{HOSTILE}\n-{HOSTILE}");
    clean(&patch(&frame(), &flight, &id, &Patch::Text(hostile)), "patch");
    let hunk = format!("@@ -1,2 +1,2 @@ {HOSTILE}\n-{HOSTILE} a\n+{HOSTILE} b\n {HOSTILE}\n\\ {HOSTILE}\n");
    let hostile = format!("diff --git a/x b/{HOSTILE}.py\nnew {HOSTILE}\n{hunk}");
    clean(&patch(&frame(), &flight, &id, &Patch::Text(hostile)), "sides");
    let mistake = Mistake { line: Some(1), message: HOSTILE.to_owned(), hint: HOSTILE.to_owned() };
    let condition = Condition { name: HOSTILE.to_owned(), ok: false, says: HOSTILE.to_owned() };
    let (base, notes) = (Some(HOSTILE.to_owned()), vec![HOSTILE.to_owned()]);
    tried("looked", &planned, |plan: &holdpoint_protocol::plan::Plan| {
        let (mistakes, machine) = (vec![mistake.clone()], vec![condition.clone()]);
        looked(
            &PlanInspection { mistakes, plan: Some(plan.clone()), base: base.clone(), notes: notes.clone(), machine },
            HOSTILE,
        )
    });
    let failed = ConsoleProblem { not_found: false, message: HOSTILE.to_owned(), hint: HOSTILE.to_owned() };
    clean(&problem(&failed), "problem");
    clean(&whole(&frame(), None, HOSTILE, "0", &problem(&failed)), "title");
}

#[test]
fn a_flight_of_five_thousand_waypoints_is_shown_a_page_at_a_time() {
    let mut view: holdpoint_protocol::view::FlightView = serde_json::from_value(golden("flight_view")).unwrap();
    view.waypoints = (0..5_000).map(|at| samples::waypoint(&format!("w{at}"), Status::Pending)).collect();
    let account = FlightAccount::default();
    let best = flight(&frame(), (&view, false), &account, &Show::Best).0;
    assert!(best.contains("Page 1 of 25") && best.contains("w199<") && !best.contains("w200<"), "{}", best.len());
    let last = flight(&frame(), (&view, false), &account, &Show::List(24, None)).0;
    assert!(last.contains("w4999<") && !last.contains("w4799<"));
    for show in [Show::Graph, Show::Board, Show::List(0, None), Show::List(usize::MAX, None)] {
        let page = flight(&frame(), (&view, false), &account, &show).0;
        assert!(page.len() < 200_000, "{show:?} has {} bytes", page.len());
    }
}

#[test]
fn colours_of_words_differ_enough_from_their_grounds_in_both_schemes() {
    let css = include_str!("../../assets/console.css");
    let (light, dark) = css.split_once("prefers-color-scheme: dark").unwrap();
    for (scheme, text) in [("light", light), ("dark", dark)] {
        let colour = |name: &str| {
            let at = text.find(&format!("--{name}: #")).unwrap() + name.len() + 5;
            u32::from_str_radix(&text[at..at + 6], 16).unwrap()
        };
        let light_of = |colour: u32| {
            let part = |shift: u32| {
                let value = f64::from((colour >> shift) & 0xff) / 255.0;
                if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0)
        };
        let states = ["running", "waiting", "failed", "complete", "pending"];
        let mut pairs: Vec<(String, String)> =
            states.map(|state| (state.to_owned(), format!("{state}-ground"))).to_vec();
        for word in ["text", "dim", "link", "failed"] {
            pairs.extend(["ground", "raised"].map(|ground| (word.to_owned(), ground.to_owned())));
        }
        pairs.extend(states.map(|state| ("text".to_owned(), format!("{state}-ground"))));
        pairs.extend(["waiting", "link"].map(|ground| ("ground".to_owned(), ground.to_owned())));
        for (word, ground) in pairs {
            let (a, b) = (light_of(colour(&word)), light_of(colour(&ground)));
            let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
            assert!(contrast >= 4.5, "{scheme}: {word} on {ground}: {contrast:.2}");
        }
    }
}
