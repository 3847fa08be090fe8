//! Documents and back: every golden, hostile texts, random artifacts; what is derived; what a history says of a turn.

mod derived;
mod revised;

use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    checkpoint::{CheckpointStatus, EstablishedBy},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Texts that a careless writer or reader of YAML, Markdown or terminals would change.
const HOSTILE: [&str; 26] = [
    "",
    " ",
    "---",
    "a\n---\nb: 1\n---\n",
    "line\r\nline\r\n",
    "\r",
    "\u{feff}marked",
    "\u{202e}reversed\u{2066}\u{200b}",
    "\u{1b}[2J\u{1}\u{7f}\u{85}\u{9b}",
    "\u{2028}\u{2029}\u{fffe}\u{ffff}\u{e0001}\u{10ffff}",
    "true",
    "No",
    "null",
    "~",
    "0123",
    "0x1F",
    "1e3",
    "2026-01-16",
    "12:30:45",
    "- a\n- b",
    "key: value # no comment",
    "\"quoted\" \\ 'single' \\u0041",
    "*alias &anchor !tag %x @y `z`",
    "  leading and trailing  \n\n",
    "\ttab\tinside",
    "emoji \u{1f600}\u{fe0f} and ünïcödé",
];

fn line(kind: &str, artifact: Value) -> HistoryLine {
    let at = Timestamp::from_millis(0);
    HistoryLine { at, kind: kind.to_owned(), reference: "HP_HANDOFF_BUILDER/7".to_owned(), artifact, standing: None }
}

fn full_past() -> TurnPast {
    TurnPast {
        waypoint: Some("w".to_owned()),
        gate: Some("build".to_owned()),
        title: Some("A: title\n---".to_owned()),
        started_at: Some(Timestamp::from_millis(1_700_000_000_123)),
        retry_count: Some(2),
        last_failure: Some("criteria_failed: \u{202e}unit".to_owned()),
        required: Some(vec!["tests_passing".to_owned(), "true".to_owned()]),
        settled: Some(settled("\u{202e}`ruff` is missing: ---")),
    }
}

/// What a decision says of checkpoints.
fn settled(message: &str) -> SettledCheckpoints {
    let result = CheckpointResult {
        name: "lint".parse().unwrap(),
        by: EstablishedBy::Command,
        status: CheckpointStatus::Skip,
        message: message.to_owned(),
    };
    let checkpoints = vec![SettledCheckpoint { gate: "qa".parse().unwrap(), result }];
    SettledCheckpoints { checkpoints, score: Some(67), let_on: false }
}

/// Renders and reads a document; both are the same.
#[track_caller]
fn returns(document: &ArtifactDocument) -> String {
    let text = document.render().unwrap();
    let again = match parse("it.md", text.as_bytes()) {
        Ok(again) => again,
        Err(errors) => panic!("{}\n{text}", errors.render()),
    };
    assert_eq!(again, *document, "{text}");
    assert_eq!(again.artifact(), document.artifact());
    text
}

/// Every golden that is JSON of a message, with the kind that its name begins with.
fn goldens() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../protocol/golden");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let mut found: Vec<(String, Value)> = files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap())
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// All kinds that have a body, or keys of their own.
fn kinds() -> Vec<&'static str> {
    let more = ["turn", "landed", "decided", "build_plan", "verification_report", "unknown", "true", "\u{202e}"];
    BODIES.iter().map(|(kind, _)| *kind).chain(more).collect()
}

#[test]
fn every_golden_comes_back_whole_under_every_kind() {
    let goldens = goldens();
    assert!(goldens.len() > 100, "{}", goldens.len());
    for (name, artifact) in &goldens {
        let own = kinds().into_iter().find(|kind| name.starts_with(kind));
        for kind in [own, Some("unknown"), Some("turn"), Some("completion")].into_iter().flatten() {
            for past in [TurnPast::default(), full_past()] {
                returns(&ArtifactDocument::of(&line(kind, artifact.clone()), past));
            }
        }
    }
}

#[test]
fn hostile_texts_come_back_byte_for_byte_wherever_they_stand() {
    for text in HOSTILE {
        for kind in kinds() {
            let mut artifact = json!({
                "waypoint_id": text, "block_reason": text, "free": {text: [text, {"deep": text}]}, "list": [[text], [[]], {}],
                "document": {"text": text, "title": text, "last_failure": text, "checkpoints": [{"name": text}]},
            });
            returns(&ArtifactDocument::of(&line(kind, artifact.clone()), full_past()));
            artifact.as_object_mut().unwrap().remove("document");
            for path in bodies(kind).iter().filter(|path| path.len() == 1) {
                artifact[path[0]] = text.into();
                let shown = returns(&ArtifactDocument::of(&line(kind, artifact.clone()), full_past()));
                assert!(shown.ends_with(text), "{kind}: {shown}");
            }
        }
        let past = TurnPast { title: Some(text.to_owned()), gate: Some(text.to_owned()), ..full_past() };
        returns(&ArtifactDocument::of(&line(text, json!(text)), past));
    }
}

#[test]
fn numbers_and_long_keys_come_back_whole() {
    let numbers = json!([
        0,
        -1,
        i64::MIN,
        i64::MAX,
        u64::MAX,
        9_007_199_254_740_993_u64,
        0.1,
        -0.0,
        1e300,
        1e-7,
        5e-324,
        f64::MAX,
        1.0
    ]);
    let long = "k".repeat(5_000);
    let artifact = json!({"numbers": numbers, long.as_str(): {long.as_str(): [{long.as_str(): 1}]}, "": {"": []}});
    let mut deep = json!({long.as_str(): long.as_str()});
    for _ in 0..20 {
        deep = json!({"in": [deep, 1]});
    }
    for artifact in [artifact, json!({ "deep": deep }), json!(1.5), json!([]), json!({}), Value::Null] {
        returns(&ArtifactDocument::of(&line("completion", artifact), TurnPast::default()));
    }
}

#[test]
fn a_document_begins_with_the_keys_of_handoffs_and_ends_with_its_text() {
    let artifact = json!({
        "waypoint_id": "F001", "produced_at": "2026-01-16T10:45:00Z", "outcome": "complete", "summary": "All done.",
        "document": {
            "text": "# Requirements\n\n---\n", "title": "Obsidian: integration", "retry_count": 1, "last_failure": "no AC",
            "checkpoints": [{"name": "requirements_identified", "by": "statement", "status": "pass"}],
        },
        "metadata": {},
    });
    let required = Some(vec!["requirements_identified".to_owned()]);
    let past = TurnPast { started_at: Some(Timestamp::from_millis(1_768_557_600_000)), required, ..full_past() };
    let shown = returns(&ArtifactDocument::of(&line("completion", artifact), past));
    let expected = "---\nid: \"F001\"\nstage: build\ntitle: \"Obsidian: integration\"\nstarted_at: \"2026-01-16T10:00:00Z\"\n\
        completed_at: \"2026-01-16T10:45:00Z\"\nstatus: complete\nhandoff_ready: true\ncheckpoints:\n  \
        - by: statement\n    name: requirements_identified\n    status: pass\nretry_count: 1\nlast_failure: \"no AC\"\n\
        ref: \"HP_HANDOFF_BUILDER/7\"\nkind: completion\nrequired:\n  - requirements_identified\nbody: \"document.text\"\nartifact:\n  document: {}\n  metadata: {}\n  \
        outcome: complete\n  produced_at: \"2026-01-16T10:45:00Z\"\n  summary: \"All done.\"\n---\n# Requirements\n\n---\n";
    assert_eq!(shown, expected);
}

#[test]
fn keys_may_come_in_any_order_and_as_people_write_them() {
    let text = "\u{feff}---\r\nkind: completion\r\nartifact: {outcome: blocked, blockers: [a b, 7, yes]} # said\r\n\
        status: 'blocked'\r\nstage: 12\r\nretry_count: 3\r\nid: F001\r\nhandoff_ready: true\r\n---\r\nWhich one?\r\n";
    let text = text.replace("retry_count", "body: summary\r\nretry_count");
    let document = parse("it.md", text.as_bytes()).unwrap();
    let artifact = json!({"waypoint_id": "F001", "outcome": "blocked", "blockers": ["a b", 7, "yes"], "summary": "Which one?\r\n"});
    assert_eq!(*document.artifact(), artifact);
    assert_eq!((document.gate(), document.status()), (Some("12"), ArtifactStatus::Blocked));
    assert!(!document.is_ready());
}

#[test]
fn what_a_document_claims_of_its_readiness_is_not_believed() {
    let claims = |checkpoints: &str| {
        let text = format!(
            "---\nstatus: complete\nhandoff_ready: true\ncheckpoints: {checkpoints}\nkind: completion\nbody: document.text\n\
             artifact: {{outcome: complete, document: {{}}}}\n---\nwords"
        );
        parse("it.md", text.as_bytes()).unwrap()
    };
    for (checkpoints, ready) in [
        ("[{name: a, status: pass}]", true),
        ("[]", true),
        ("[{name: a, status: pass}, {name: b, status: fail, message: no}]", false),
        ("[{name: a, status: skip}]", false),
        ("[{name: a}]", false),
        ("pass", false),
        ("[{name: a, status: pass}, {name: b, status: skip}]\nrequired: [a]", true),
        ("[{name: a, status: pass}, {name: b, status: fail}]\nrequired: [a, b]", false),
        ("[{name: a, status: skip}]\nrequired: [a]", false),
        ("[{name: a, status: pass}]\nrequired: [a, c]", false),
        ("[{name: a, status: pass}, {name: a, status: fail}]\nrequired: []", true),
    ] {
        let document = claims(checkpoints);
        assert_eq!(document.is_ready(), ready, "{checkpoints}");
        let again = document.render().unwrap();
        assert!(again.contains(&format!("\nhandoff_ready: {ready}\n")), "{again}");
    }
}

#[test]
fn a_document_that_cannot_be_read_says_where_why_and_what_next() {
    let fenced = |front: &str, body: &str| format!("---\n{front}\n---\n{body}");
    let whole = "kind: completion\nartifact: {outcome: complete}";
    let deep = format!("kind: a\nartifact: {}{}", "[".repeat(70), "]".repeat(70));
    for (text, line, words) in [
        ("no front matter".to_owned(), 1, "no front matter"),
        ("---\nkind: a\n".to_owned(), 1, "no front matter"),
        (fenced("kind: a", ""), 2, "no `artifact`"),
        (fenced("artifact: {}", ""), 2, "no `kind`"),
        (fenced("- a", ""), 2, "is a mapping"),
        (fenced("kind: a\nartifact: {}\nstatsu: complete", ""), 4, "did you mean `status`"),
        (fenced(&format!("{whole}\nstatus: finished"), ""), 4, "`in_progress`, `complete`, `failed`, `blocked`"),
        (fenced(&format!("{whole}\nhandoff_ready: perhaps"), ""), 4, "not true or false"),
        (fenced(&format!("{whole}\nretry_count: -1"), ""), 4, "not a whole number from 0"),
        (fenced(&format!("{whole}\nstarted_at: yesterday"), ""), 4, "not a time"),
        (fenced(&format!("{whole}\nkind: again"), ""), 4, "given twice"),
        (fenced(&format!("{whole}\nbody: outcome"), "x"), 4, "`document.text` or `summary`"),
        (fenced(&format!("{whole}\nbody: document.text"), "x"), 4, "has no `document`"),
        (fenced("kind: completion\nartifact: {summary: a}\nbody: summary", "b"), 4, "given twice"),
        (fenced("kind: completion\nid: a\nartifact: {waypoint_id: b}", ""), 3, "given twice"),
        (fenced(whole, "words"), 2, "in `body: document.text`"),
        (fenced("kind: take\nartifact: {}", "words"), 2, "remove what follows"),
        (fenced(&deep, ""), 3, "nested deeper than 66 levels"),
        (fenced("kind: a\nartifact: {a: &x [1], b: *x}", ""), 3, "aliases are not supported"),
        (fenced("kind: a\nartifact: {a: \"open}", ""), 3, "not YAML"),
        ("\u{fffd}".to_owned() + &"x".repeat(RENDERED_BYTES_MAX), 1, "larger than 16 MiB"),
    ] {
        let errors = parse("it.md", text.as_bytes()).unwrap_err();
        let said: String = errors.errors.iter().map(|error| format!("{} {}\n", error.message, error.hint)).collect();
        assert!(said.contains(words), "{words}: {said}");
        assert!(errors.errors.iter().any(|error| error.line == line), "{words}: {}", errors.render());
    }
    assert!(parse("it.md", b"---\nkind: \xff\n---\n").unwrap_err().errors[0].message.contains("UTF-8"));
}

#[test]
fn an_artifact_past_a_bound_has_no_document_and_says_which() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let of = |artifact| ArtifactDocument::of(&line("completion", artifact), TurnPast::default());
    returns(&of(nested(DEPTH_MAX)));
    assert_eq!(of(nested(DEPTH_MAX + 1)).render(), Err(NoDocument::Deep));
    returns(&of(Value::Array(vec![json!(0); NODES_MAX - 1])));
    assert_eq!(of(Value::Array(vec![json!(0); NODES_MAX])).render(), Err(NoDocument::Many));
    assert_eq!(of(json!("\u{1}".repeat(RENDERED_BYTES_MAX / 6))).render(), Err(NoDocument::Long));
    assert!(NoDocument::Long.to_string().contains("16 MiB"));
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => proptest::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        2 => ".{0,20}",
        1 => proptest::collection::vec(any::<char>(), 0..12).prop_map(|characters| characters.into_iter().collect()),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no such number", |number| number.is_finite()).prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 6, |inner| {
        let entries = proptest::collection::btree_map(texts(), inner.clone(), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(Value::from),
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn any_artifact_with_any_text_comes_back_whole(
        kind in proptest::sample::select(kinds()),
        mut artifact in values(),
        fields in proptest::collection::vec(
            (proptest::sample::select(vec!["waypoint_id", "waypoint", "summary", "last_words", "document", "failure", "question",
                "block_reason", "outcome", "status", "produced_at", "decision"]), values()), 0..5),
        document in proptest::option::of((values(), values(), texts())),
        past in (proptest::option::of(texts()), proptest::option::of(texts()), proptest::option::of(any::<u64>())),
        standing in proptest::sample::select(vec![None, Some(Standing::Taken), Some(Standing::Conflict)]),
    ) {
        if let Value::Object(entries) = &mut artifact {
            entries.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
            if let Some((title, checkpoints, text)) = document {
                entries.insert("document".to_owned(), json!({"title": title, "checkpoints": checkpoints, "text": text}));
            }
        }
        let (title, last_failure, retry_count) = past;
        let past = TurnPast { title, last_failure, retry_count, ..full_past() };
        let line = HistoryLine { standing, ..line(kind, artifact) };
        returns(&ArtifactDocument::of(&line, past));
    }

    #[test]
    fn any_bytes_are_read_or_refused(front in ".{0,200}", body in ".{0,40}") {
        let _ = parse("it.md", format!("---\n{front}\n---\n{body}").as_bytes());
        let _ = parse("it.md", body.as_bytes());
    }
}
