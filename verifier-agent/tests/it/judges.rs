//! Criteria that only a judge can settle.

use holdpoint_harness::{
    acp,
    ask::{Ask, Nobody},
};
use holdpoint_protocol::{
    artifact::{Clarified, IgnoredBecause, PersonVerdict},
    facts::Verdict::{Fail, Inconclusive, Pass},
    ids::TurnId,
    reason::CriterionReason as Reason,
};
use holdpoint_runtime::config::Dialect;
use holdpoint_verifier_agent::{Attempts, VerificationTerms, VerifierSettings};

use crate::support::{Rig, check, criterion, environment, judged, of, only, with_judge};

async fn asked(judge: &str) -> holdpoint_verifier_agent::Findings {
    let rig = Rig::with(&[("a.txt", "a\n")], |settings| with_judge(settings, judge)).await;
    rig.verify(&rig.request(&rig.base, vec![judged("words")]).await).await
}

#[tokio::test]
async fn judge_sees_criterion_evidence_and_tree_and_its_verdict_counts() {
    let judge = r#"cat > "$TMPDIR/question" && grep -q '"statement": "words holds"' "$TMPDIR/question" &&
grep -q '"verdict": "fail"' "$TMPDIR/question" && ! touch a.txt 2>/dev/null && test "$(cat a.txt)" = a &&
echo '{"verdict": "pass", "evidence": ["a.txt:1"], "doubts": ["is it enough?"]}'"#;
    let rig = Rig::with(&[("a.txt", "a\n")], |settings| with_judge(settings, judge)).await;
    let criteria = vec![criterion("check", check("false")), judged("words")];
    let findings = rig.verify(&rig.request(&rig.base, criteria).await).await;
    assert_eq!(of(&findings.criteria[0]), (Fail, Some(Reason::ExitCode)), "a judge overrides no check");
    assert_eq!(of(&findings.criteria[1]), (Pass, None), "{:#?}", findings.criteria);
    assert_eq!(findings.doubts.len(), 1);
    assert!(!findings.doubts[0].blocking);
}

#[tokio::test]
async fn a_judge_may_speak_the_agent_client_protocol_and_writes_nothing() {
    let judge = r#"say() { printf '%s\n' "$1"; }
read -r hello; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r open; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'; read -r prompt
say "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"fs/write_text_file\",\"params\":{\"sessionId\":\"s\",\"path\":\"$PWD/a.txt\",\"content\":\"b\"}}"
read -r got; case "$got" in *error*) verdict=pass;; *) verdict=fail;; esac
case "$prompt" in *'words holds'*) ;; *) verdict=fail;; esac
say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"verdict\": \"'$verdict'\", \"evidence\": [\"a.txt:1\"], \"doubts\": []}"}}}}'
say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'"#;
    let speaks = |settings: &mut VerifierSettings| {
        with_judge(settings, &acp::command_line(judge, None, false));
        settings.judge.as_mut().unwrap().dialect = Dialect::Acp;
    };
    let rig = Rig::with(&[("a.txt", "a\n")], speaks).await;
    let findings = rig.verify(&rig.request(&rig.base, vec![judged("words")]).await).await;
    assert_eq!(only(&findings), (Pass, None), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn a_judge_sees_no_agents_settings_of_the_work_under_the_names_that_its_program_loads() {
    let judge = r#"cat > /dev/null; found=$(find . -name CLAUDE.md -o -name .claude -o -name .mcp.json)
        test -z "$found" && grep -q run-me .claude.set-aside/settings.json && test -f sub/CLAUDE.md.set-aside && test -f a.txt &&
        echo '{"verdict": "pass", "evidence": ["nothing to load"], "doubts": []}'"#;
    let settings = ("{\"hooks\": \"run-me\"}\n", "told\n");
    let files =
        [("a.txt", "a\n"), (".claude/settings.json", settings.0), ("sub/CLAUDE.md", settings.1), (".mcp.json", "{}\n")];
    let rig = Rig::with(&files, |settings| with_judge(settings, judge)).await;
    // A check runs on the work as it is.
    let criteria = vec![criterion("there", check("test -f .claude/settings.json")), judged("words")];
    let findings = rig.verify(&rig.request(&rig.base, criteria).await).await;
    assert_eq!(of(&findings.criteria[0]), (Pass, None));
    assert_eq!(of(&findings.criteria[1]), (Pass, None), "{:?}", findings.criteria[1]);
}

#[tokio::test]
async fn judge_may_refuse_and_must_show() {
    let refused = asked(r#"echo '{"verdict": "fail", "evidence": ["a.txt is empty"], "doubts": []}'"#).await;
    assert_eq!(only(&refused), (Fail, None));
    let unshown = asked(r#"echo '{"verdict": "pass", "evidence": [], "doubts": []}'"#).await;
    assert_eq!(only(&unshown), (Inconclusive, Some(Reason::JudgeWithoutEvidence)));
    assert_eq!(only(&asked("echo looks fine to me").await), (Inconclusive, None));
    let failed = asked(r#"echo '{"verdict": "pass", "evidence": ["x"], "doubts": []}'; exit 1"#).await;
    assert_eq!(only(&failed), (Inconclusive, Some(Reason::ExitCode)));
}

#[tokio::test]
async fn a_judge_that_is_asked_again_goes_on_in_its_conversation_where_it_can() {
    let says = |words: &str| {
        let words = words.replace('"', r#"\""#);
        format!(
            r#"echo '{{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","result":"{words}"}}'"#
        )
    };
    let judge = format!("cat > /dev/null; touch \"$HOME/known\"; {}", says("I think that it holds."));
    let hears = r#"heard=$(cat); case "$heard" in *statement*) exit 8;; *'"retry"'*) ;; *) exit 9;; esac"#;
    let verdict = says(r#"{"verdict": "pass", "evidence": ["a.txt:1"], "doubts": []}"#);
    let resume = format!("{hears}; test {{session}} = s-1 && test -e \"$HOME/known\" && {verdict}");
    for (resume, came) in [(Some(resume), Pass), (None, Inconclusive)] {
        let settings = |settings: &mut VerifierSettings| {
            with_judge(settings, &judge);
            let judge = settings.judge.as_mut().unwrap();
            (judge.dialect, judge.resume) = (Dialect::Claude, resume.clone());
        };
        let rig = Rig::with(&[("a.txt", "a\n")], settings).await;
        let findings = rig.verify(&rig.request(&rig.base, vec![judged("words")]).await).await;
        assert_eq!(findings.criteria[0].result.verdict, came, "{:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn a_judge_has_a_home_in_which_no_check_has_left_anything() {
    let judge = r#"cat > /dev/null; test ! -e "$HOME/.claude" && test ! -e "$HOME/prepared" && echo '{"verdict": "pass", "evidence": ["nothing"], "doubts": []}'"#;
    let rig = Rig::with(&[("a.txt", "a\n")], |settings| with_judge(settings, judge)).await;
    let plants = criterion("plants", check("mkdir \"$HOME/.claude\" && touch \"$HOME/.claude/settings.json\""));
    let mut request = rig.request(&rig.base, vec![plants, judged("words")]).await;
    // With it, all checks of a tree have that in their home.
    request.environment = environment("touch \"$HOME/prepared\"", &["a.txt"]);
    let findings = rig.verify(&request).await;
    assert_eq!([of(&findings.criteria[0]), of(&findings.criteria[1])], [(Pass, None); 2], "{:#?}", findings.criteria);
}

#[tokio::test]
async fn a_call_that_a_judge_only_quotes_is_recorded_and_ends_nothing() {
    let judge =
        r#"printf '```\n>>>HELP<<<\n```\n' >&2; echo '{"verdict": "pass", "evidence": ["a.txt:1"], "doubts": []}'"#;
    let findings = asked(judge).await;
    assert_eq!(only(&findings), (Pass, None), "{:#?}", findings.criteria);
    let ignored: Vec<_> = findings.markers_ignored.iter().map(|one| (one.marker.as_str(), one.why)).collect();
    assert_eq!(ignored, [("help", IgnoredBecause::Fence)]);
}

#[tokio::test]
async fn a_persons_verdict_stands_in_place_of_a_judges_and_never_of_a_checks() {
    let rig = Rig::with(&[("a.txt", "a\n")], |settings| with_judge(settings, "touch \"$TMPDIR/asked\"; exit 1")).await;
    for verdict in [Pass, Fail] {
        let mut request = rig.request(&rig.base, vec![criterion("check", check("false")), judged("words")]).await;
        let said = |id: &str, verdict| PersonVerdict {
            criterion: id.parse().unwrap(),
            verdict,
            note: "read it".to_owned(),
            by: "human-ann".parse().unwrap(),
        };
        request.judged = vec![said("check", Pass), said("words", verdict)];
        let findings = rig.verify(&request).await;
        assert_eq!(of(&findings.criteria[0]), (Fail, Some(Reason::ExitCode)), "a person overrides no check");
        assert_eq!(of(&findings.criteria[1]), (verdict, None));
        let note = findings.criteria[1].note.as_deref().unwrap();
        assert!(note.starts_with("human-ann said") && note.ends_with(": read it"), "{note}");
        assert_eq!(findings.receipt.checks.len(), 1, "the judge was not asked: {:?}", findings.receipt.checks);
    }
}

#[tokio::test]
async fn without_a_judge_such_a_criterion_is_left_open() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let findings = rig.verify(&rig.request(&rig.base, vec![judged("words")]).await).await;
    assert_eq!(only(&findings), (Inconclusive, Some(Reason::NoJudge)));
    assert!(findings.receipt.checks.is_empty());
}

#[tokio::test]
async fn a_judge_that_asks_ends_the_turn_with_its_question() {
    for judge in [
        "holdpoint-ask question 'Which policy?' --option strict; echo \"exit $?\"; exec sleep 600",
        r#"echo '{"question": "Which policy?", "options": ["strict"]}'"#,
    ] {
        let rig = Rig::with(&[("a.txt", "a\n")], |settings| with_judge(settings, judge)).await;
        let criteria = vec![judged("words"), criterion("later", check("true"))];
        let findings = rig.verify(&rig.request(&rig.base, criteria).await).await;
        let asks = findings.asks.as_ref().expect("it asks");
        assert!(matches!(&asks.ask, Ask::Question(asked) if asked.question == "Which policy?"), "{asks:?}");
        assert_eq!(asks.criterion.as_str(), "words");
        assert!(findings.criteria.is_empty() && findings.receipt.checks.is_empty(), "nothing is run after it");
        let output = findings.evidence.iter().find(|evidence| evidence.digest == asks.output).expect("it is kept");
        let text = String::from_utf8_lossy(&output.bytes).into_owned();
        assert!(!judge.contains("exit $?") || text.contains("exit 75"), "{text}");
    }
}

#[tokio::test]
async fn only_the_judge_can_ask() {
    let rig = Rig::with(&[("a.txt", "a\n")], |settings| with_judge(settings, "exit 1")).await;
    let sees_no_line = "test -z \"$HOLDPOINT_TURN_SOCKET\" && ! command -v holdpoint-ask";
    let mut request = rig.request(&rig.base, vec![criterion("check", check(sees_no_line))]).await;
    request.environment = environment(sees_no_line, &["a.txt"]);
    let findings = rig.verify(&request).await;
    assert_eq!(of(&findings.criteria[0]), (Pass, None), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn a_judge_that_is_not_there_says_so() {
    assert_eq!(only(&asked("no-such-judge").await), (Inconclusive, Some(Reason::NotExecutable)));
}

#[tokio::test]
async fn a_judge_that_asked_gets_the_answer() {
    let judge = r#"cat > "$TMPDIR/asked" && grep -q '"option": "strict"' "$TMPDIR/asked" &&
echo '{"verdict": "pass", "evidence": ["a.txt:1"], "doubts": []}'"#;
    let rig = Rig::with(&[("a.txt", "a\n")], |settings| with_judge(settings, judge)).await;
    let mut request = rig.request(&rig.base, vec![judged("words")]).await;
    request.clarifications = vec![Clarified {
        question: "Which policy?".to_owned(),
        option: Some("strict".to_owned()),
        text: None,
        rationale: None,
        constraints: Vec::new(),
        by: "policy".to_owned(),
    }];
    assert_eq!(only(&rig.verify(&request).await), (Pass, None));
}

#[tokio::test]
async fn what_a_judge_used_up_is_kept_with_the_turn_and_another_delivery_has_what_is_left() {
    let answer = r#"{"verdict": "pass", "evidence": ["a.txt:1"], "doubts": []}"#.replace('"', "\\\"");
    let judge = format!(
        r#"cat > /dev/null; echo '{{"type":"result","subtype":"success","is_error":false,"session_id":"s","total_cost_usd":0.0003,"usage":{{"input_tokens":2,"output_tokens":3}},"result":"{answer}"}}'"#
    );
    let settings = |settings: &mut VerifierSettings| {
        with_judge(settings, &judge);
        settings.judge.as_mut().unwrap().dialect = Dialect::Claude;
    };
    let rig = Rig::with(&[("a.txt", "a\n")], settings).await;
    let request = rig.request(&rig.base, vec![judged("words")]).await;
    let attempts = Some(Attempts { flight: "f", interventions: 0 });
    let delivered = async |turn: &str, attempts| {
        let turn: TurnId = turn.parse().unwrap();
        let terms = VerificationTerms { turn: Some(&turn), attempts, ..VerificationTerms::default() };
        let name = format!("{turn}-1");
        let verified =
            Box::pin(rig.workbench.verify_within(terms, (&name, &request), &rig.mirror, &|_| {}, &Nobody)).await;
        let findings = verified.unwrap();
        assert_eq!(only(&findings), (Pass, None), "{:#?}", findings.criteria);
        findings.metered.map(|metered| (metered.cost_micro_usd, metered.tokens, metered.incomplete))
    };
    let used = |runs: u64| Some((Some(300 * runs), Some(5 * runs), false));
    assert_eq!(delivered("t1", None).await, used(1));
    assert_eq!(delivered("t1", None).await, used(2), "its report was not stored: it is judged once more");
    assert_eq!(delivered("t2", attempts).await, used(1), "another turn's use is its own");
    assert_eq!(delivered("t2", attempts).await, used(1), "the verdict stands, and its use is still to be charged");
    assert_eq!(delivered("t3", attempts).await, None, "a later attempt with the same tree cost nothing");
}
