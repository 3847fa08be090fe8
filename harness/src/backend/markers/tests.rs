use proptest::prelude::*;

use holdpoint_protocol::artifact::{Confidence, IgnoredBecause};

use super::{help::CONTEXT_BYTES_MAX, *};

fn out(text: &str) -> Found {
    read(text.as_bytes(), b"", "", Contract { answers_only: true, ..Contract::default() })
}

/// The same of a turn of the builder at the waypoint `w1`.
fn of_work(text: &str) -> Found {
    let (names, waypoint) = (["builder".to_owned(), "agent".to_owned()], "w1".parse().unwrap());
    let contract = Contract { names: &names, waypoint: Some(&waypoint), answers_only: false };
    read(text.as_bytes(), b"", "", contract)
}

#[test]
fn plain_output_says_nothing() {
    for text in
        ["", "done\n", "<p>hello</p> a < b", "{\"type\":\"result\",\"ok\":true}\n", "<waypoint-completed>w1</x>"]
    {
        assert_eq!(out(text), Found::default(), "{text}");
    }
}

#[test]
fn markers_are_read_with_their_attributes() {
    let found = out("<execution-stage>testing</execution-stage>\n\
         I ran <validation command=\"cargo test --locked > x\" exit='0'>fine</validation> and\n\
         <acceptance-criterion id=\"unit\">\nall\ngreen</acceptance-criterion>\
         <acceptance-criterion>lint: clean</acceptance-criterion>\n\
         <waypoint-complete> w1 at last </waypoint-complete>\n");
    let claim = |id: &str, text: &str| Claim { id: id.to_owned(), text: text.to_owned() };
    assert_eq!(found.markers.stages, ["testing"]);
    let validation = Validation { command: "cargo test --locked > x".to_owned(), exit_code: Some(0) };
    assert_eq!(found.markers.validations, [validation]);
    assert_eq!(found.markers.claims, [claim("unit", "all\ngreen"), claim("lint", "clean")]);
    assert_eq!(found.markers.completions[0].text, "w1 at last");
    assert!(found.markers.unfinished.is_empty());
}

#[test]
fn what_is_in_a_code_fence_is_a_quotation() {
    for fence in ["```", "~~~~", "  ```xml"] {
        let close = fence.trim().trim_end_matches("xml");
        let text = format!("{fence}\n<waypoint-complete>w1</waypoint-complete>\n>>>HELP<<<\n{close}\n");
        let found = out(&text);
        let ignored: Vec<_> = found.ignored.iter().map(|ignored| (ignored.marker.as_str(), ignored.why)).collect();
        assert_eq!(ignored, [("waypoint-complete", IgnoredBecause::Fence), ("help", IgnoredBecause::Fence)], "{text}");
        assert_eq!(Found { ignored: Vec::new(), ..found }, Found::default(), "{text}");
    }
    let open_to_the_end = "````\n```\n<waypoint-complete>w1</waypoint-complete>\n";
    assert!(out(open_to_the_end).markers == Markers::default());
    let after = "```\nx\n```\n<waypoint-complete>w1</waypoint-complete>\n";
    assert_eq!(out(after).markers.completions[0].text, "w1");
    let span = "```not a fence``` <waypoint-complete>w1</waypoint-complete>\n";
    assert_eq!(out(span).markers.completions[0].text, "w1");
}

#[test]
fn a_completion_that_is_never_closed_is_not_one() {
    let found = out("<waypoint-complete>w1\n");
    assert!(found.markers.completions.is_empty() && found.markers.is_unfinished(&"w1".parse().unwrap()));
    let split_by_a_quotation = out("<waypoint-complete>w1\n```\n</waypoint-complete>\n```\n");
    assert!(split_by_a_quotation.markers.completions.is_empty());
}

#[test]
fn help_is_a_line_of_its_own_on_either_stream() {
    let call = |context| Some(HelpCall { context, ..HelpCall::of_line(">>>HELP<<<".to_owned()) });
    assert_eq!(out("x\n  >>>HELP<<<  \r\nmore\n").help, call(None));
    assert_eq!(
        read(b"", b">>>HELP<<<\n{\"why\": 1}\n", "", Contract::default()).help,
        call(Some(serde_json::json!({"why": 1})))
    );
    assert_eq!(out(">>>HELP<<<").help, call(None));
    assert!(out("CLAUDE_CADENCE_SYSTEM_SIGNAL::HELP_REQUEST\n").help.is_some());
    assert_eq!(out("print >>>HELP<<< when stuck\n").help, None);
}

#[test]
fn what_a_program_repeats_of_its_prompt_says_nothing_and_is_recorded() {
    let prompt = "# Goal\n\nEnd with\n<waypoint-complete>w1</waypoint-complete>\nor, if stuck,\n>>>HELP<<<\n";
    let found = read(prompt.as_bytes(), prompt.as_bytes(), prompt, Contract::default());
    assert_eq!((found.help, found.markers != Markers::default()), (None, false));
    let ignored: Vec<_> = found.ignored.iter().map(|ignored| (ignored.marker.as_str(), ignored.why)).collect();
    let echo = |marker| (marker, IgnoredBecause::Echo);
    assert_eq!(ignored, [echo("waypoint-complete"), echo("help"), echo("help")]);
    let own =
        read(b"all done\n<waypoint-complete>w1</waypoint-complete>\n>>>HELP<<<\n", b"", prompt, Contract::default());
    assert!(own.help.is_some() && own.markers.completions.len() == 1 && own.ignored.is_empty());
}

#[test]
fn ignored_markers_are_few_and_their_lines_short_and_printable() {
    let line = format!("<validation>\u{1b}[2J{}</validation>\n", "x".repeat(10_000));
    let found = out(&format!("```\n{}```\n", line.repeat(1000)));
    assert_eq!(found.ignored.len(), IGNORED_MAX);
    assert!(found.ignored[0].line.len() < 300 && !found.ignored[0].line.contains('\u{1b}'));
}

#[test]
fn an_envelope_is_recognized_also_over_several_lines_and_when_broken() {
    let whole = "thinking\n{\n \"component\": \"builder\",\n \"status\": \"success\",\n \"data\": {}\n}\n";
    let Some(PrintedResult::Whole(map)) = out(whole).envelope else { panic!("{whole}") };
    assert_eq!((&map["component"], &map["status"]), (&"builder".into(), &"success".into()));
    let Some(PrintedResult::Broken { cut_off, .. }) = out("{\"component\": \"builder\", \"status\": \"succ").envelope
    else {
        panic!("it was cut off")
    };
    assert!(cut_off);
    assert_eq!(out("```json\n{\"component\":\"b\",\"status\":\"success\",\"data\":{}}\n```\n").envelope, None);
    assert_eq!(out("{\"component\": \"builder\"}\n").envelope, None);
    // What lacks a part is one, and so is what is no JSON.
    assert!(matches!(out("{\"component\": \"b\", \"status\": \"success\"}\n").envelope, Some(PrintedResult::Whole(_))));
    let odd = out("{\"component\": \"b\", \"status\": success}\n").envelope;
    assert!(matches!(odd, Some(PrintedResult::Broken { cut_off: false, .. })), "{odd:?}");
}

#[test]
fn an_object_that_does_not_name_the_contract_is_output() {
    for text in [
        "{\"ts\":\"2026-01-01\",\"level\":\"info\",\"component\":\"web\",\"status\":200,\"msg\":\"GET /\"}\n",
        "{\"component\":\"store\",\"status\":\"UP\"}\n",
        "{\"component\":\"store\",\"version\":\"1.0\",\"status\":\"UP\"}\n",
        "{\"component\":\"builder\",\"status\":\"success\",\"seconds\":3}\n",
        "{\"component\":\"agent\",\"status\":\"success\",\"data\":{\"task_id\":\"another\"}}\n",
        "{\"component\":\"web\",\"status\":\"succ",
        "{\"question\": \"Capital of Peru?\", \"options\": [\"Lima\", \"Cusco\"]}\n",
        "{\"question\": \"Who?\", \"context\": \"He left.\", \"confidence\": 0.93, \"answer\": \"he\"}\n",
        "The page shows <clarification-request> where it is empty.\n",
    ] {
        let found = of_work(text);
        assert_eq!((found.envelope, found.question), (None, None), "{text}");
    }
    for text in [
        "{\"version\":\"1.0\",\"component\":\"builder\",\"status\":\"done\",\"data\":{}}\n",
        "{\"version\":\"1.0\",\"component\":\"somebody\",\"status\":\"success\",\"data\":{}}\n",
        "{\"component\":\"agent\",\"status\":\"success\",\"data\":{\"task_id\":\"w1\"}}\n",
        "{\"component\" \"builder\",\"status\":\"succ",
    ] {
        assert!(of_work(text).envelope.is_some(), "{text}");
    }
    for text in [
        "{\"type\": \"clarification_request\", \"question\": \"Which?\", \"options\": [\"a\"]}\n",
        "{\"waypoint\": \"w1\", \"question\": \"Which?\", \"options\": [\"a\"]}\n",
        "{\"blocking_question\": \"Which?\", \"requested_options\": [\"a\"]}\n",
    ] {
        assert_eq!(of_work(text).question.unwrap().unwrap().question, "Which?", "{text}");
    }
}

#[test]
fn half_a_character_in_a_result_or_a_question_costs_no_more_than_itself() {
    let envelope = of_work(
        "{\"version\":\"1.0\",\"component\":\"builder\",\"status\":\"success\",\"data\":{\"summary\":\"a \\ud83d\"}}\n",
    );
    let Some(PrintedResult::Whole(map)) = envelope.envelope else { panic!("it is whole") };
    assert_eq!(map["data"]["summary"], "a \u{fffd}");
    let asked = of_work("{\"type\":\"clarification_request\",\"question\":\"Which \\ud83d?\"}\n").question;
    assert_eq!(asked.unwrap().unwrap().question, "Which \u{fffd}?");
    let help = out(">>>HELP<<<\n{\"why\": \"\\ud83d\"}\n").help.unwrap();
    assert_eq!(help.context, Some(serde_json::json!({"why": "\u{fffd}"})));
}

#[test]
fn the_last_envelope_counts_and_a_reply_may_stand_in_a_json_block() {
    let both = "{\"component\": \"a\", \"status\": \"s\"}\n{\"component\": \"b\", \"status\": \"s\"}\n";
    assert!(matches!(out(both).envelope, Some(PrintedResult::Whole(map)) if map["component"] == "b"));
    let block = "Here it is:\n```json\n{\"data\": {}}\n```\nand a quotation\n```\n{\"x\": 1}\n```\n";
    assert!(matches!(reply(block.as_bytes()), Some(PrintedResult::Whole(map)) if map.contains_key("data")));
    assert!(matches!(reply(b"{\"data\": {\"a\""), Some(PrintedResult::Broken { cut_off: true, .. })));
    assert_eq!(reply(b"nothing\n"), None);
}

#[test]
fn a_question_is_recognized_by_name_or_shape() {
    let shaped =
        out("{\"question\": \"Which?\", \"options\": [\"a\", 2], \"confidence\": 0.6}\n").question.unwrap().unwrap();
    assert_eq!((shaped.question.as_str(), shaped.confidence), ("Which?", Confidence::Medium));
    assert_eq!(shaped.options, ["a", "2"]);
    for text in [
        "{\"type\": \"clarification_request\", \"question\": \"Which?\"}",
        "{\"ClarificationRequest\": {\"question\": \"Which?\"}}",
        "{\"component\":\"x\"}\n{\"kind\": \"ClarificationRequest\", \"question\": \"Which?\"}",
    ] {
        assert_eq!(out(text).question.unwrap().unwrap().question, "Which?", "{text}");
    }
    assert_eq!(out("{\"question\": \"rhetorical\"}\n").question, None);
}

#[test]
fn a_flood_of_markers_and_open_tags_is_bounded() {
    let found = out(&"<validation>x</validation>".repeat(10_000));
    assert_eq!(found.markers.validations.len(), MARKERS_MAX);
    let long = format!("<waypoint-complete>{}</waypoint-complete>", "ä".repeat(20_000));
    assert!(out(&long).markers.completions[0].text.len() <= TEXT_BYTES_MAX);
}

#[test]
fn the_context_of_a_call_for_help_is_bounded_and_the_call_is_not_lost() {
    let call = |context: &str| out(&format!(">>>HELP<<<\n{context}\n")).help.expect("a call");
    assert!(call("{\"why\": [1, {\"a\": 2}]}").context.is_some());
    assert_eq!(call(&format!("{{\"why\": \"{}\"}}", "x".repeat(CONTEXT_BYTES_MAX))).context, None);
    let nested = |depth: usize| format!("{{\"a\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(call(&nested(31)).context.is_some());
    for depth in [32, 120, 1_000] {
        assert_eq!(call(&nested(depth)).context, None, "{depth}");
    }
}

#[test]
fn objects_that_never_end_and_objects_that_are_too_large_are_not_held_in_memory() {
    // Each of these lines begins an object that goes on to the end of the output.
    let nested = "{\"a\": [\n".repeat(12);
    let text = format!("{nested}{}\n{{\"question\": \"q\", \"options\": []}}\n", "{\"\": 0},".repeat(100_000));
    assert_eq!(out(&text).question.map(|question| question.unwrap().question).as_deref(), Some("q"));
    // An envelope is one however large its data is.
    let data = "x".repeat(1 << 20);
    let envelope = format!("{{\"component\": \"b\", \"status\": \"success\", \"data\": \"{data}\"}}\n");
    assert!(out(&envelope).envelope.is_some());
}

/// Pieces that matter, in any order.
fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "```\n",
        "~~~\n",
        "\n",
        "<waypoint-complete>",
        "w1",
        "</waypoint-complete>",
        "<acceptance-criterion id=\"unit\">",
        "</acceptance-criterion>",
        ">>>HELP<<<\n",
        "{\"a\": \"ä\"}\n",
        "{\"component\":\"b\",\"status\":\"s\",\"data\":{}}\n",
        "{\"question\":\"q\",\"options\":[]}\n",
        " prose ",
        "\r\n",
    ])
}

proptest! {
    #[test]
    fn how_the_output_is_cut_makes_no_difference(
        pieces in proptest::collection::vec(piece(), 0..24),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let text = pieces.concat().into_bytes();
        let mut whole = Scanner::default();
        whole.push(&text);
        let mut cut_at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cut_at.extend([0, text.len()]);
        cut_at.sort_unstable();
        let mut split = Scanner::default();
        for range in cut_at.windows(2) {
            split.push(&text[range[0]..range[1]]);
        }
        prop_assert_eq!(whole.finish(Contract::default()), split.finish(Contract::default()));
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let _ = read(&bytes, &bytes, "", Contract::default());
    }
}
