//! Tests over HTTP, with services of Python's standard library in the real sandbox.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use holdpoint_evidence::over_http::command;
use holdpoint_protocol::{
    artifact::{CriterionReport, TreeTested, VerificationPurpose, VerificationRequest},
    facts::Verdict::{self, Fail, Inconclusive, Pass},
    plan::{Check, Criterion, EvidenceLevel, HttpExpected, HttpGiven, HttpTest},
    reason::CriterionReason,
    time::Millis,
};

use crate::support::{Rig, check, criterion, of, tested};

/// A service: ready at `/health`, and with what the tests below ask.
const API: &str = r#"
import http.server, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, "up")
        if self.path == "/me":
            known = self.headers.get("Authorization") == "Bearer s3cret-token"
            print("asked by", self.headers.get("Authorization"), file=sys.stderr, flush=True)
            return self.answer(200, "ann", X_Id="7") if known else self.answer(401, "missing token")
        if self.path == "/moved":
            return self.answer(302, "", Location="/me")
        self.answer(404, "nothing here")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answer(201, "%s as %s" % (body, self.headers["Content-Type"]))

http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"#;
const MINT: &str = "#!/bin/sh\necho minted on port $PORT\necho TOKEN=s3cret-token\n";

fn test(when: &str, then: HttpExpected) -> HttpTest {
    HttpTest {
        run: "python3 api.py".to_owned(),
        ready: Some("GET /health".to_owned()),
        within: Millis(60_000),
        given: "no token".to_owned(),
        with: HttpGiven::default(),
        when: when.to_owned(),
        then,
    }
}

fn status(status: u16) -> HttpExpected {
    HttpExpected { status: Some(status), ..HttpExpected::default() }
}

fn with_token(test: HttpTest) -> HttpTest {
    let headers = [("Authorization".to_owned(), "Bearer ${TOKEN}".to_owned())].into();
    HttpTest {
        with: HttpGiven { env_from: Some("sh mint.sh".to_owned()), headers },
        given: "a token".to_owned(),
        ..test
    }
}

/// A service that is this program of Python's, asked for `/`.
fn served(within: u64) -> HttpTest {
    HttpTest { ready: None, within: Millis(within), ..test("GET /", status(200)) }
}

async fn rig(api: &str) -> Rig {
    Rig::new(&[("api.py", api), ("mint.sh", MINT)]).await
}

async fn verdict(rig: &Rig, test: &HttpTest) -> CriterionReport {
    rig.check_base(check(&command(test))).await
}

/// Whether a process whose command line has this word is there within the deadline that tests have.
fn is_gone(word: &str) -> bool {
    let runs = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| std::fs::read(Path::new(&entry.path()).join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count() > 0
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while runs() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[tokio::test]
async fn a_service_is_started_asked_and_compared() {
    let rig = rig(API).await;
    let ann = HttpExpected {
        status: Some(200),
        body_contains: vec!["ann".to_owned()],
        headers: [("x-id".to_owned(), "7".to_owned())].into(),
    };
    let posted = HttpExpected { body_contains: vec!["{\"a\": 1} as application/json".to_owned()], ..status(201) };
    for test in [
        test("GET /me", status(401)),
        with_token(test("GET /me", ann)),
        test("POST /new {\"a\": 1}", posted),
        test("GET /moved", status(302)),
        HttpTest { ready: None, ..test("GET /nothing", status(404)) },
    ] {
        let report = verdict(&rig, &test).await;
        assert_eq!(of(&report), (Pass, None), "{}: {}", test.when, report.output_tail);
    }
}

#[tokio::test]
async fn a_service_of_changed_work_is_asked_below_the_guards_of_new_modules_and_strictly() {
    let rig = rig("raise SystemExit('not yet')\n").await;
    // What the service prints is no report of a test runner.
    let noisy = API.replace(
        "print(\"asked by\"",
        "print(\"FAILED (failures=1)\\n\\nRan 1 test in 0s\\n\\nFAILED\", flush=True); print(\"asked by\"",
    );
    let work = [("api.py", Some(noisy.as_str())), ("helper.py", Some("x = 1\n"))];
    let commit = rig.change(&work).await;
    for evidence in [EvidenceLevel::Fast, EvidenceLevel::Strict] {
        let check = Check { evidence, ..check(&command(&with_token(test("GET /me", status(200))))) };
        let findings = rig.verify(&rig.request(&commit, vec![criterion("only", check)]).await).await;
        assert_eq!(of(&findings.criteria[0]), (Pass, None), "{}", findings.criteria[0].output_tail);
        assert_eq!(tested(&findings), [TreeTested::Handoff]);
    }
}

#[tokio::test]
async fn a_wrong_status_is_red_with_what_was_expected_what_came_and_the_log_and_no_secret() {
    let rig = rig(API).await;
    let wrong = with_token(test("GET /me", HttpExpected { body_contains: vec!["bob".to_owned()], ..status(404) }));
    let request = rig.request(&rig.base, vec![criterion("only", check(&command(&wrong)))]).await;
    let findings = rig.verify(&request).await;
    let report = &findings.criteria[0];
    assert_eq!(of(report), (Fail, Some(CriterionReason::ExitCode)));
    let shown = crate::support::shown(&findings, &findings.receipt.checks[0]);
    for text in [&report.output_tail, &shown] {
        for part in [
            "given a token: GET /me\n",
            "response: status 200, a body of 3 bytes: ann\n",
            "log: asked by ***\n",
            "red: expected status 404, got 200\n",
            "red: expected a body with \"bob\"",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        assert!(!text.contains("s3cret-token"), "{text}");
    }
    assert!(shown.contains("  > Authorization: ***\n") && shown.contains("  < x-id: 7\n"), "{shown}");
    assert!(shown.contains("`env_from` printed:\n  | minted on port ") && shown.contains("  | TOKEN=***\n"), "{shown}");
}

#[tokio::test]
async fn a_service_that_does_not_serve_has_its_reason() {
    let rig = Rig::new(&[
        ("dies.py", "print('no database', flush=True)\nraise SystemExit(3)\n"),
        ("hangs.py", "import socket, os, time\ns = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))\ntime.sleep(600)\n"),
        ("idles.py", "import time\nprint('warming up', flush=True)\ntime.sleep(600)\n"),
        ("elsewhere.py", "import socket, time\ns = socket.create_server(('127.0.0.1', 8099))\ntime.sleep(600)\n"),
        ("garbage.py", "import socket, os\ns = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))\nwhile True:\n  c, _ = s.accept()\n  c.recv(9999)\n  c.sendall(b'SSH-2.0-x\\r\\n')\n  c.close()\n"),
        ("endless.py", "import socket, os\ns = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))\nwhile True:\n  c, _ = s.accept()\n  c.recv(9999)\n  try:\n    c.sendall(b'HTTP/1.1 200 OK\\r\\n\\r\\n')\n    while True: c.sendall(b'x' * 65536)\n  except OSError: pass\n"),
        ("sick.py", "import http.server, os\nclass H(http.server.BaseHTTPRequestHandler):\n  def do_GET(self): self.send_error(503)\nhttp.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), H).serve_forever()\n"),
    ])
    .await;
    let ready = |within| HttpTest { ready: Some("GET /health".to_owned()), ..served(within) };
    for (run, test, why) in [
        (
            "python3 dies.py",
            served(60_000),
            "red: the service's command ended (exit code 3) before the test; it has to stay",
        ),
        ("python3 dies.py", served(60_000), "log: no database\n"),
        (
            "python3 hangs.py",
            ready(3_000),
            "was not ready within 3000 ms (`GET /health` on $PORT): no complete response",
        ),
        ("python3 idles.py", served(8_000), "log: warming up\n"),
        (
            "python3 idles.py",
            served(1_000),
            "was not ready within 1000 ms (a connection on $PORT): nothing takes connections",
        ),
        ("python3 elsewhere.py", served(3_000), "something listens on port 8099, which is not $PORT"),
        ("python3 sick.py", ready(5_000), "its last answer had status 503"),
        ("python3 garbage.py", served(60_000), "red: it answered with something that is no HTTP/1.1"),
        ("python3 endless.py", served(60_000), "red: its body is longer than 1024 KiB"),
    ] {
        let report = verdict(&rig, &HttpTest { run: run.to_owned(), ..test }).await;
        assert_eq!(of(&report), (Fail, Some(CriterionReason::ExitCode)), "{run}: {}", report.output_tail);
        assert!(report.output_tail.contains(why), "{run}: {why}: {}", report.output_tail);
    }
}

#[tokio::test]
async fn a_service_that_misbehaves_does_not_stand_in_for_the_verdict_and_leaves_nothing_running() {
    let flood = format!(
        "import threading, sys\ndef flood():\n  while True: print('flood ' * 999, flush=True)\nthreading.Thread(target=flood, daemon=True).start()\n{API}"
    );
    let rig = Rig::new(&[("api.py", API), ("flood.py", &flood)]).await;
    let asked = |run: &str, expected: u16| HttpTest { run: run.to_owned(), ..test("GET /me", status(expected)) };
    for (run, expected, verdict_of, part) in [
        ("exec python3 flood.py", 401, Pass, ""),
        ("exec python3 flood.py", 200, Fail, "red: expected status 200, got 401"),
        ("kill -9 $PPID; exec python3 api.py keeps-on-1", 401, Fail, "what started it was killed by signal 9"),
        ("kill -9 0", 401, Fail, "what started it was killed by signal 9"),
        ("python3 api.py keeps-on-2 &", 401, Fail, "ended (exit code 0) before the test"),
        ("(setsid python3 api.py keeps-on-3 &); sleep 600", 401, Pass, ""),
    ] {
        let report = verdict(&rig, &asked(run, expected)).await;
        assert_eq!(report.result.verdict, verdict_of, "{run}: {}", report.output_tail);
        assert!(report.output_tail.contains(part), "{run}: {}", report.output_tail);
    }
    for number in 1..=3 {
        assert!(is_gone(&format!("keeps-on-{number}")), "{number}");
    }
    // All of the run: then nobody is left to say anything, and the verdict is none.
    let report = verdict(&rig, &asked("kill -9 -1", 401)).await;
    assert_eq!(of(&report), (Inconclusive, Some(CriterionReason::Signal)), "{}", report.output_tail);
}

#[tokio::test]
async fn a_program_that_is_not_there_settles_nothing() {
    let rig = rig(API).await;
    for run in ["nosuch-python3 api.py", "./mint.sh"] {
        let report = verdict(&rig, &HttpTest { run: run.to_owned(), ..test("GET /me", status(401)) }).await;
        assert_eq!(of(&report), (Inconclusive, Some(CriterionReason::NotExecutable)), "{run}: {}", report.output_tail);
    }
}

#[tokio::test]
async fn a_command_that_gives_no_variables_is_red_with_what_it_printed() {
    let rig = rig(API).await;
    for (command, why, printed) in [
        (
            "echo no key; exit 4",
            "`env_from: echo no key; exit 4` failed (exit code 4); its last line is: no key",
            "| no key",
        ),
        (
            "echo KEY=x",
            "the header Authorization names ${TOKEN}, and `env_from: echo KEY=x` printed no line TOKEN=",
            "| KEY=x",
        ),
        ("yes TOKEN=abcdef | head -c 100000", "printed more than 64 KiB", "| TOKEN=***"),
    ] {
        let mut test = with_token(test("GET /me", status(200)));
        test.with.env_from = Some(command.to_owned());
        let request = rig.request(&rig.base, vec![criterion("only", check(&super::over_http::command(&test)))]).await;
        let findings = rig.verify(&request).await;
        let shown = crate::support::shown(&findings, &findings.receipt.checks[0]);
        assert_eq!(findings.criteria[0].result.verdict, Fail, "{shown}");
        assert!(shown.contains(why) && shown.contains(printed), "{command}: {shown}");
    }
}

#[tokio::test]
async fn red_first_and_the_tests_of_the_base_are_as_of_other_checks() {
    let rig = Rig::new(&[("api.py", API), ("tests/test_api.py", "expected = 'ann'\n")]).await;
    let red_first = |test: &HttpTest| Criterion {
        check: Some(Check { red_first: true, ..check(&command(test)) }),
        ..criterion("only", check("x"))
    };
    let new = test("GET /new", status(200));
    let fixed = API.replace("\"/moved\"", "\"/new\"").replace("302, \"\", Location=\"/me\"", "200, \"\"");
    let baseline = async |test: &HttpTest| {
        let request: VerificationRequest = rig.request(&rig.base, vec![red_first(test)]).await;
        let request = VerificationRequest { purpose: VerificationPurpose::Baseline, ..request };
        let verdict: Verdict = rig.verify(&request).await.criteria[0].result.verdict;
        verdict
    };
    assert_eq!(baseline(&new).await, Fail);
    assert_eq!(baseline(&test("GET /me", status(401))).await, Pass, "green before the work");
    let commit = rig.change(&[("api.py", Some(&fixed)), ("tests/test_api.py", Some("expected = 'bob'\n"))]).await;
    let findings = rig.verify(&rig.request(&commit, vec![red_first(&new)]).await).await;
    assert_eq!(of(&findings.criteria[0]), (Pass, None), "{}", findings.criteria[0].output_tail);
    assert_eq!(tested(&findings), [TreeTested::Handoff, TreeTested::TestsAsOnBase]);
}
