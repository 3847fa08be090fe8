use proptest::prelude::*;
use serde_json::json;

use super::*;

fn lines_of(printed: &PrintListener, pieces: &[(OutputStream, &str)]) -> Vec<(String, bool)> {
    let tap = printed.tap(None);
    pieces.iter().for_each(|(stream, text)| tap.see(*stream, text.as_bytes()));
    printed.end().into_iter().map(|event| (event.raw_line, event.context.is_some())).collect()
}

fn plain(prompt: &str, text: &str) -> Vec<(String, bool)> {
    lines_of(&PrintListener::of(Dialect::Plain, None, prompt), &[(OutputStream::Stdout, text)])
}

fn said_by_claude(text: &str) -> String {
    let content = json!([{"type": "text", "text": text}]);
    format!("{}\n", json!({"type": "assistant", "message": {"id": "m", "content": content}}))
}

const HELP: &str = ">>>HELP<<<";

#[tokio::test(start_paused = true)]
async fn a_call_is_heard_when_its_line_has_come_and_its_context_a_moment_later() {
    let printed = PrintListener::of(Dialect::Plain, None, "");
    let tap = printed.tap(None);
    let waits = tokio::spawn({
        let printed = printed.clone();
        async move { printed.called().await }
    });
    tap.see(OutputStream::Stdout, b"at work\n>>>HE");
    tokio::task::yield_now().await;
    assert!(!waits.is_finished());
    tap.see(OutputStream::Stdout, b"LP<<<\n");
    tokio::task::yield_now().await;
    assert!(!waits.is_finished(), "its context may come");
    tap.see(OutputStream::Stdout, b"{\"reason\": \"stuck\"}\n");
    let call = waits.await.unwrap();
    assert_eq!((call.raw_line.as_str(), call.context), (HELP, Some(json!({"reason": "stuck"}))));
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_context_does_not_wait_for_one_for_longer_than_it_may() {
    let printed = PrintListener::of(Dialect::Plain, None, "");
    printed.tap(None).see(OutputStream::Stderr, b">>>HELP<<<\n");
    let before = tokio::time::Instant::now();
    assert_eq!(printed.called().await.context, None);
    assert_eq!(before.elapsed(), CONTEXT_TIME);
}

#[test]
fn every_call_is_an_event_with_its_own_context_whatever_stream_it_came_on() {
    let printed = PrintListener::of(Dialect::Plain, None, "");
    let pieces = [
        (OutputStream::Stdout, ">>>HELP<<<\n{\"a\""),
        (OutputStream::Stderr, "CLAUDE_CADENCE_SYSTEM_SIGNAL::HELP_REQUEST\n"),
        (OutputStream::Stdout, ": 1}\nmore\n"),
        (OutputStream::Stderr, "no context\n>>>HELP<<<"),
    ];
    let expected = [(HELP, true), ("CLAUDE_CADENCE_SYSTEM_SIGNAL::HELP_REQUEST", false), (HELP, false)];
    assert_eq!(lines_of(&printed, &pieces), expected.map(|(line, context)| (line.to_owned(), context)));
    let many = lines_of(
        &PrintListener::of(Dialect::Plain, None, ""),
        &[(OutputStream::Stdout, &format!("{HELP}\n").repeat(1000))],
    );
    assert_eq!(many.len(), HELP_EVENTS_MAX);
}

#[test]
fn what_stands_in_a_fence_an_echoed_prompt_or_a_json_string_is_no_call() {
    let prompt = "# Goal\n\nWhen you are stuck, print\n\n>>>HELP<<<\n\nand end.\n";
    for text in [
        "```\n>>>HELP<<<\n```\n",
        prompt,
        "    When you are stuck, print\n    >>>HELP<<<\n",
        "{\"say\": \">>>HELP<<<\"}\n",
        "{\n  \"say\":\n  \">>>HELP<<<\"\n}\n",
        "I print >>>HELP<<< when stuck\n",
    ] {
        assert_eq!(plain(prompt, text), [], "{text}");
    }
    assert_eq!(plain(prompt, &format!("{prompt}I am stuck\n{HELP}\n")).len(), 1, "behind an echo");
    assert_eq!(plain("", prompt).len(), 1, "nobody told it that");
}

#[test]
fn in_a_dialect_only_what_the_agent_says_is_a_call() {
    let claude = |text: &str| lines_of(&PrintListener::of(Dialect::Claude, None, ""), &[(OutputStream::Stdout, text)]);
    assert_eq!(claude(&said_by_claude("I am stuck.\n>>>HELP<<<\n{\"step\": 17}")), [(HELP.to_owned(), true)]);
    let tool = json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": HELP}]}});
    assert_eq!(claude(&format!("{tool}\n")), []);
    assert_eq!(claude(&said_by_claude("```\n>>>HELP<<<\n```")), []);
    let codex = json!({"type": "item.completed", "item": {"type": "agent_message", "text": HELP}});
    let printed = PrintListener::of(Dialect::Codex, None, "");
    assert_eq!(lines_of(&printed, &[(OutputStream::Stdout, &format!("{codex}\n"))]), [(HELP.to_owned(), false)]);
}

proptest! {
    #[test]
    fn how_what_is_printed_is_cut_makes_no_difference(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "```\n", ">>>HELP<<<\n", "{\"a\": \"ä\"}\n", " prose ", "\n", "\r\n", "told\n",
        ]), 0..24),
        in_a_dialect in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let said = pieces.concat();
        let (dialect, text) = if in_a_dialect { (Dialect::Claude, said_by_claude(&said)) } else { (Dialect::Plain, said) };
        let bytes = text.into_bytes();
        let of = |cuts: &[usize]| {
            let printed = PrintListener::of(dialect, None, "told\n>>>HELP<<<\n");
            let tap = printed.tap(None);
            cuts.windows(2).for_each(|range| tap.see(OutputStream::Stdout, &bytes[range[0]..range[1]]));
            printed.end().into_iter().map(|event| (event.raw_line, event.context)).collect::<Vec<_>>()
        };
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
        at.sort_unstable();
        prop_assert_eq!(of(&at), of(&[0, bytes.len()]));
    }
}
