//! What agents print when their model's provider refuses a login, or there is none; shortened.

use super::*;

/// An agent, its dialect, what it prints on standard output and on standard error, and why it was refused by its own word.
type Recorded<'a> = (&'a str, Dialect, String, &'a str, &'a str);

fn error(message: &str, code: i64) -> String {
    format!("{}\n", json!({"type": "error", "message": message, "code": code}))
}

fn opened(then: &str) -> String {
    format!("{}\n{then}", json!({"type": "session", "session": "s-1", "agent": "an agent", "continued": false}))
}

fn events(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[test]
fn every_agent_says_in_its_dialect_that_its_login_is_refused_or_that_it_has_none() {
    let invalid = r#"{"error":{"code":401,"message":"invalid api key","status":"UNAUTHENTICATED"}}"#;
    let codex = "unexpected status 401 Unauthorized: invalid api key, url: http://127.0.0.1:8080/v1/responses";
    let all: [Recorded<'_>; 16] = [
        (
            "claude",
            Dialect::Claude,
            events(recorded!("claude-login-refused")),
            "",
            "trying again: 401 authentication_failed, retry 3 of 10",
        ),
        ("claude", Dialect::Claude, events(recorded!("claude-not-logged-in")), "", "Not logged in · Please run /login"),
        ("codex", Dialect::Codex, events(recorded!("codex-login-refused")), "", codex),
        ("gemini", Dialect::Gemini, events(recorded!("gemini-login-refused")), "", "invalid api key (401)"),
        (
            "gemini without a login",
            Dialect::Gemini,
            String::new(),
            "YOLO mode is enabled. All tool calls will be automatically approved.\nManual authorization is required but the current \
             session is non-interactive.\n",
            "Manual authorization is required but the current session is non-interactive.",
        ),
        ("gemini --acp", Dialect::Acp, opened(&error(invalid, 401)), "", "invalid api key (401)"),
        (
            "gemini --acp",
            Dialect::Acp,
            error("Gemini API key is missing or not configured.", -32_000),
            "",
            "Gemini API key is missing or not configured.",
        ),
        (
            "claude-agent-acp",
            Dialect::Acp,
            opened(&error("Internal error: Failed to authenticate. API Error: 401 invalid api key", -32_603)),
            "",
            "Internal error: Failed to authenticate. API Error: 401 invalid api key",
        ),
        (
            "claude-agent-acp",
            Dialect::Acp,
            opened(&error("Authentication required", -32_000)),
            "",
            "Authentication required",
        ),
        (
            "codex-acp",
            Dialect::Acp,
            opened(&error(&format!("Internal error: {codex}"), -32_603)),
            "",
            &format!("Internal error: {codex}"),
        ),
        (
            "qwen",
            Dialect::Acp,
            opened(&error("Internal error: 401 invalid api key", -32_603)),
            "",
            "Internal error: 401 invalid api key",
        ),
        (
            "opencode",
            Dialect::Acp,
            opened(&error("Internal error: invalid api key", -32_603)),
            "",
            "Internal error: invalid api key",
        ),
        ("an agent of the protocol", Dialect::Acp, error("no", -32_000), "", "no"),
        (
            "aider, which ends well",
            Dialect::Plain,
            "Repo-map: using 1024 tokens\n\nlitellm.AuthenticationError: AuthenticationError: OpenAIException - invalid api\nkey\n\
             The API provider is not able to authenticate you. Check your API key.\n\n"
                .to_owned(),
            "Warning: Input is not a terminal (fd=0).\n",
            "litellm.AuthenticationError: AuthenticationError: OpenAIException - invalid api key The API provider is not able to \
             authenticate you. Check your API key.",
        ),
        (
            "mini",
            Dialect::Plain,
            "User:\nMake it.\n".to_owned(),
            "AuthenticationError: litellm.AuthenticationError: AuthenticationError:\nOpenAIException - invalid api key\n",
            "AuthenticationError: litellm.AuthenticationError: AuthenticationError: OpenAIException - invalid api key",
        ),
        (
            "a program that ends before its first event",
            Dialect::Claude,
            String::new(),
            "Please set an Auth method in your settings.json\n",
            "Please set an Auth method in your settings.json",
        ),
    ];
    for (agent, dialect, stdout, stderr, why) in all {
        let said = read(dialect, stdout.as_bytes(), None).and_printed(stderr.as_bytes());
        let kind = said.refusal(false).map(|refusal| refusal.kind);
        assert_eq!((kind, said.why()), (Some(RefusalKind::Login), why), "{agent}: {said:?}");
        assert_eq!(
            said.used_nothing(),
            dialect != Dialect::Plain,
            "what a plain program used up nobody knows: {agent}"
        );
    }
}

#[test]
fn a_run_that_only_repeats_a_refused_login_is_known_after_the_third_time() {
    for (dialect, output) in
        [(Dialect::Claude, recorded!("claude-login-refused")), (Dialect::Codex, recorded!("codex-login-refused"))]
    {
        let mut reader = DialectReader::new(dialect, None);
        let tried = |said: &Said| said.trying.as_deref().is_some_and(|line| line.contains('3'));
        for line in output.split_inclusive(|byte| *byte == b'\n') {
            reader.push(line);
            assert_eq!(reader.said().only_repeats(), tried(reader.said()) || reader.said().repeats > 3, "{dialect:?}");
        }
        assert!(reader.said().only_repeats());
    }
    // What passes is waited for by the program, and an answer between two refusals ends the row.
    assert!(!claude(recorded!("claude-overloaded-then-done")).only_repeats());
    let refused = events(recorded!("claude-login-refused"));
    let answer =
        r#"{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"I look."}]}}"#;
    assert!(
        !claude(
            refused
                .replace("\"attempt\":3", "\"attempt\":1")
                .replacen(
                    "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":2",
                    &format!("{answer}\n{{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":2"),
                    1,
                )
                .as_bytes()
        )
        .only_repeats()
    );
    let until = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1800000000}}"#;
    assert!(
        !claude(format!("{until}\n{}", refused.replace("401", "429")).as_bytes()).only_repeats(),
        "it names a time"
    );
}

#[test]
fn what_a_plain_program_says_of_logins_and_numbers_is_no_refusal() {
    for (stdout, stderr) in [
        ("I looked.\nDone: 503 tests passed, 401 of them new.\n", ""),
        ("The billing page shows the quota now.\n", ""),
        ("Unauthorized requests are answered now.\n1\n2\n3\n4\n", "Retrying 429\n1\n2\n3\n4\n"),
    ] {
        let said = read(Dialect::Plain, stdout.as_bytes(), None).and_printed(stderr.as_bytes());
        assert_eq!((said.refused, said.error.as_deref(), said.text.as_slice()), (None, None, stdout.as_bytes()));
    }
    let cut = read(Dialect::Plain, b"OpenAIException - invalid api\nkey\n", None).and_printed(b"");
    assert_eq!(cut.why(), "OpenAIException - invalid api key", "a line ends in the middle of it");
    let limited = read(
        Dialect::Plain,
        b"litellm.RateLimitError: too many requests\nTry again later or check your quotas.\n",
        None,
    );
    assert_eq!(limited.and_printed(b"").refused.map(|refusal| refusal.kind), Some(RefusalKind::Passing));
    // An agent that spoke is not judged by what else is on standard error.
    let said = claude(recorded!("claude-done")).and_printed(b"invalid api key\n");
    assert!(said.refused.is_none() && said.error.is_none());
}
