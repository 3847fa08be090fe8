//! How a program asks: with `holdpoint-ask` while it runs, or by what it prints; and what of its files goes with that.

use std::{sync::Mutex, time::Duration};

use holdpoint_harness::{
    ask::{Desk, Nobody, Waited, Waiting},
    backend::question::ValidQuestion,
    build_turn::{BuildTurnOutcome, Built, CapturedWork},
};
use holdpoint_protocol::{
    artifact::{Clarified, Confidence},
    reason::ReasonCode,
};
use holdpoint_sandbox::Sandbox;

use crate::support::{SHIM, Shop, agent, failure, ready};

/// With and without namespaces: there the line is a pair of pipes.
pub(crate) fn walls() -> [Sandbox; 2] {
    use holdpoint_sandbox::Property::{Loopback, NoForeignProcesses, NoPrivilegeGain, ProcessesLimited};
    let waived = [Loopback, NoPrivilegeGain, NoForeignProcesses, ProcessesLimited];
    [Sandbox::new(SHIM), Sandbox::new(SHIM).without_namespaces().waiving(waived)]
}

async fn run_in(shop: &Shop, sandbox: Sandbox, command: &str) -> Built {
    shop.bench_in(sandbox, command, |_| {}).await.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap()
}

/// A person next to the harness: answers what has options, by the first of them, and never anything else.
#[derive(Default)]
struct Person(Mutex<Vec<(String, Duration)>>);

impl Desk for Person {
    fn patience_max(&self) -> Duration {
        Duration::from_secs(600)
    }

    fn ask(&self, question: ValidQuestion, patience: Duration) -> Waiting<'_> {
        self.0.lock().unwrap().push((question.question.clone(), patience));
        Box::pin(async move {
            let Some(option) = question.options.first().cloned() else { return std::future::pending().await };
            Waited::Answered(Box::new(Clarified {
                question: question.question,
                option: Some(option),
                text: None,
                rationale: Some("it is\nshort".to_owned()),
                constraints: vec!["no detour".to_owned()],
                by: "human-ann".to_owned(),
            }))
        })
    }
}

async fn run_at(desk: &dyn Desk, shop: &Shop, sandbox: Sandbox, command: &str) -> Built {
    shop.bench_in(sandbox, command, |_| {}).await.run(&shop.turn(), &agent(), &shop.mirror, desk).await.unwrap()
}

fn question(built: &Built) -> (&ValidQuestion, Option<&CapturedWork>) {
    match &built.outcome {
        BuildTurnOutcome::Clarify(question, work) => (question, work.as_ref()),
        other => panic!("{other:?}: {}", output(built)),
    }
}

fn output(built: &Built) -> String {
    std::fs::read_to_string(&built.output).unwrap()
}

/// The text of a file in the work that went with a question.
async fn text(shop: &Shop, work: Option<&CapturedWork>, name: &str) -> Option<String> {
    let (commit, bundle) = work.expect("the work went with it");
    assert!(bundle.bytes > 0);
    let tree = shop.mirror.tree_of(commit).await.unwrap();
    shop.text(&tree, name).await
}

#[tokio::test]
async fn a_login_shell_finds_the_line_and_a_profile_of_its_own_is_left_alone() {
    let shop = Shop::new().await;
    let command =
        "cat \"$HOME/.profile\"; sh -l -c 'holdpoint-ask status'; echo own=1 > \"$HOME/.profile\"; echo done >> a.txt";
    let bench = shop.workbench(command).await;
    for (turn, said) in [(1, "ends_with"), (2, "own=1")] {
        let built = bench.run(&shop.turn(), &agent(), &shop.mirror, &Nobody).await.unwrap();
        assert!(ready(&built).work.is_some() && output(&built).contains(said), "{turn}: {}", output(&built));
    }
}

#[tokio::test]
async fn a_question_while_it_runs_becomes_the_result_with_the_files_of_that_moment() {
    for sandbox in walls() {
        let shop = Shop::new().await;
        let command = "echo so far >> a.txt; echo new > new.txt; echo secret > ignored.log
            holdpoint-ask question 'Which way?' --option left --option right --confidence medium --context 'the API' \
                --patience 60s
            echo \"asked: $?\"; echo late >> a.txt; rm new.txt; exec sleep 600";
        let built = run_in(&shop, sandbox, command).await;
        let (question, work) = question(&built);
        assert_eq!((question.question.as_str(), question.decision_context.as_str()), ("Which way?", "the API"));
        assert_eq!(
            (question.options.as_slice(), question.confidence),
            (&["left", "right"].map(str::to_owned)[..], Confidence::Medium)
        );
        assert_eq!(text(&shop, work, "a.txt").await.unwrap(), "one\nso far\n");
        assert_eq!(text(&shop, work, "new.txt").await.unwrap(), "new\n");
        assert_eq!(text(&shop, work, "ignored.log").await, None);
        let output = output(&built);
        assert!(output.contains("\nasked: 75\n") && output.contains("the turn's result now"), "{output}");
        assert_eq!(built.exit_code, None, "the program was ended");
    }
}

#[tokio::test]
async fn an_answer_in_time_is_printed_and_the_program_goes_on_in_its_turn() {
    for sandbox in walls() {
        let (shop, person) = (Shop::new().await, Person::default());
        let command = "for way in left right; do
                holdpoint-ask question \"$way or straight on?\" --option $way --option 'straight on' >> said.txt 2>> beside.txt
                echo \"exit $?\" >> said.txt
            done
            holdpoint-ask question 'Too long?' --option yes --patience 11m 2>> beside.txt; echo \"exit $?\" >> said.txt";
        let built = run_at(&person, &shop, sandbox, command).await;
        let ready = ready(&built);
        let text = async |name| shop.text(&ready.tree, name).await.unwrap_or_default();
        assert_eq!(text("said.txt").await, "left\nexit 0\nright\nexit 0\nexit 2\n", "{}", output(&built));
        let beside = text("beside.txt").await;
        assert!(beside.contains("answered by human-ann\nrationale: it is\nshort\nconstraint: no detour\n"), "{beside}");
        assert!(beside.contains("600s at most (agent.question_patience)"), "{beside}");
        let minute = Duration::from_secs(60);
        let asked = [("left or straight on?".to_owned(), minute), ("right or straight on?".to_owned(), minute)];
        assert_eq!(*person.0.lock().unwrap(), asked);
    }
}

#[tokio::test]
async fn one_question_waits_at_a_time_and_one_that_nobody_waits_for_ends_nothing() {
    for (sandbox, sockets) in walls().into_iter().zip([true, false]) {
        let (shop, person) = (Shop::new().await, Person::default());
        // Over pipes the second asker waits for its turn; over a socket it is refused.
        let second = "holdpoint-ask question 'Which?' --option a >> said.txt 2>&1; echo \"exit $?\" >> said.txt";
        let while_one_waits = if sockets { second } else { "" };
        let command = format!(
            "holdpoint-ask question 'Nobody knows' & asker=$!; sleep 1
            {while_one_waits}
            kill -9 $asker; wait $asker
            for attempt in $(seq 60); do
                answer=$(holdpoint-ask question 'Which way?' --option left 2> why.txt) && break; sleep 0.5
            done
            rm why.txt; echo \"$answer\" >> said.txt"
        );
        let built = run_at(&person, &shop, sandbox, &command).await;
        let said = shop.text(&ready(&built).tree, "said.txt").await.unwrap_or_default();
        assert!(said.ends_with("left\n"), "{said}: {}", output(&built));
        assert!(!sockets || said.contains("another question of this turn waits") && said.contains("exit 2"), "{said}");
        assert_eq!(person.0.lock().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn a_program_that_ends_when_it_has_asked_is_not_waited_for() {
    let shop = Shop::new().await;
    let built = shop.run("holdpoint-ask question 'Which?' || exit $?").await;
    assert_eq!(built.exit_code, Some(75));
    assert!(question(&built).1.is_none(), "nothing was changed");
}

#[tokio::test]
async fn a_call_for_help_goes_over_the_same_line() {
    let shop = Shop::new().await;
    let built = shop.run("echo two >> a.txt; holdpoint-ask help 'no key for the service'").await;
    let BuildTurnOutcome::Help(call, work) = &built.outcome else { panic!("{:?}", built.outcome) };
    assert_eq!(call.raw_line, "no key for the service");
    assert_eq!(text(&shop, work.as_ref(), "a.txt").await.unwrap(), "one\ntwo\n");
}

#[tokio::test]
async fn what_cannot_be_asked_is_told_to_the_program_and_the_turn_goes_on() {
    for sandbox in walls() {
        let shop = Shop::new().await;
        let command = r#"holdpoint-ask question > no.txt 2>&1; echo "exit $?" >> no.txt
            long=$(printf '%03000d' 0); holdpoint-ask question "$long" >> no.txt 2>&1; echo "exit $?" >> no.txt
            env -u HOLDPOINT_TURN_SOCKET holdpoint-ask help x >> no.txt 2>&1; echo "exit $?" >> no.txt"#;
        let built = run_in(&shop, sandbox, command).await;
        let text = shop.text(&ready(&built).tree, "no.txt").await.unwrap();
        assert!(text.contains("0 were given") && text.contains("its question has 3000 bytes"), "{text}");
        assert!(text.contains("HOLDPOINT_TURN_SOCKET is not set"), "{text}");
        let exits: Vec<&str> = text.lines().filter(|line| line.starts_with("exit")).collect();
        assert_eq!(exits, ["exit 2", "exit 2", "exit 3"], "{text}");
    }
}

/// Speaks over the line by itself, whatever the line is, and prints what comes back.
pub(crate) const SPEAK: &str = r#"
import os, socket, stat, sys
path = os.environ["HOLDPOINT_TURN_SOCKET"]
os.chdir(os.path.dirname(path))
name = os.path.basename(path)
def speak(line):
    if stat.S_ISFIFO(os.stat(name).st_mode):
        requests, replies = open(name, "wb", 0), open(name + ".reply", "rb", 0)
        requests.write(line)
        return replies.readline()
    line_ = socket.socket(socket.AF_UNIX)
    line_.connect(name)
    line_.sendall(line)
    return line_.makefile("rb").readline()
"#;

#[tokio::test]
async fn requests_that_are_none_are_refused_by_the_harness_too() {
    for sandbox in walls() {
        let shop = Shop::new().await;
        std::fs::write(shop.path("speak.py"), format!("{SPEAK}\nfor line in [b'nonsense\\n', b'{{\"id\": \"1\", \"ask\": \"help\", \"text\": \"\"}}\\n', b'{{\"id\": \"2\", \"ask\": \"question\", \"text\": \"q\", \"options\": [\"a\", \"a\"]}}\\n']:\n    print(speak(line).decode(), end='')\nprint(speak(b'{{\"id\": \"3\", \"ask\": \"help\", \"text\": \"at last\"}}\\n').decode())\n")).unwrap();
        let built = run_in(&shop, sandbox, &format!("python3 -u {}", shop.path("speak.py").display())).await;
        let output = output(&built);
        assert!(matches!(&built.outcome, BuildTurnOutcome::Help(call, None) if call.raw_line == "at last"), "{output}");
        for said in ["cannot be read", "no text", "there twice", r#"{"id":"3","result":null}"#] {
            assert!(output.contains(said), "{said}: {output}");
        }
    }
}

#[tokio::test]
async fn a_program_that_asks_without_end_is_not_heard_without_end() {
    for sandbox in walls() {
        let shop = Shop::new().await;
        let flood = "import threading\nfor _ in range(200):\n    threading.Thread(target=speak, args=(b'nonsense\\n',), daemon=True).start()\nos._exit(0)\n";
        std::fs::write(shop.path("flood.py"), format!("{SPEAK}\n{flood}")).unwrap();
        let built =
            run_in(&shop, sandbox, &format!("python3 {}; echo two >> a.txt", shop.path("flood.py").display())).await;
        assert_eq!(shop.text(&ready(&built).tree, "a.txt").await.unwrap(), "one\ntwo\n");
    }
}

#[tokio::test]
async fn a_request_over_the_bound_is_answered_with_the_bound() {
    for sandbox in walls() {
        let shop = Shop::new().await;
        let asks = r#"for _ in range(64): speak(b'{"id": "1", "ask": "status"}\n')
print(speak(b'{"id": "2", "ask": "status"}\n').decode())"#;
        std::fs::write(shop.path("asks.py"), format!("{SPEAK}\n{asks}\n")).unwrap();
        let built = run_in(&shop, sandbox, &format!("python3 {}", shop.path("asks.py").display())).await;
        assert!(output(&built).contains("a turn hears 64 requests"), "{}", output(&built));
    }
}

#[tokio::test]
async fn files_that_cannot_be_handed_off_do_not_silence_a_question() {
    let shop = Shop::new().await;
    let built = shop.run("mkdir nested; git init -q nested; echo x > nested/x; holdpoint-ask question 'Which?'").await;
    let (asked, work) = question(&built);
    assert_eq!((asked.question.as_str(), work.is_none()), ("Which?", true));
    let built = shop.run("mkfifo pipe; echo '{\"type\": \"clarification_request\", \"question\": \"Which?\"}'").await;
    assert!(question(&built).1.is_none());
}

#[tokio::test]
async fn files_that_cannot_be_copied_go_with_the_question_as_they_were() {
    let shop = Shop::new().await;
    // Not even its owner may read the ignored file, so the copy fails: the program is ended before it hears of anything.
    let command = "echo so far >> a.txt; echo x > closed.log; chmod 000 closed.log
        holdpoint-ask question 'Which?'; echo late >> a.txt; echo went on; exec sleep 600";
    let built = shop.run(command).await;
    let (asked, work) = question(&built);
    assert_eq!(asked.question, "Which?");
    assert_eq!(text(&shop, work, "a.txt").await.unwrap(), "one\nso far\n");
    assert!(!output(&built).ends_with("went on\n"), "{}", output(&built));
}

#[tokio::test]
async fn a_printed_question_goes_with_the_work_too() {
    for asks in [
        "echo '{\"type\": \"ClarificationRequest\", \"question\": \"Which?\", \"options\": [\"a\"]}'; exit 1",
        "echo '<clarification-request options=\"a\">Which?</clarification-request>'",
        "echo '{\"version\": \"1.0\", \"component\": \"b\", \"status\": \"partial\", \"data\": {\"question\": \"Which?\", \"options\": [\"a\"]}}'",
    ] {
        let shop = Shop::new().await;
        let built = shop.run(&format!("echo two >> a.txt; {asks}")).await;
        let (asked, work) = question(&built);
        assert_eq!((asked.question.as_str(), asked.options.len()), ("Which?", 1));
        assert_eq!(text(&shop, work, "a.txt").await.unwrap(), "one\ntwo\n");
    }
}

#[tokio::test]
async fn a_malformed_question_is_an_invalid_handoff() {
    let shop = Shop::new().await;
    let built = shop.run("echo '{\"type\": \"ClarificationRequest\", \"options\": []}'").await;
    assert_eq!(failure(&built).reason, ReasonCode::HandoffInvalid);
    assert!(failure(&built).detail.contains("no text"), "{}", failure(&built).detail);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_broken_environment() {
    let shop = Shop::new().await;
    std::fs::write(shop.path("notes.txt"), "not a program\n").unwrap();
    for command in ["no-such-program --fast".to_owned(), shop.path("notes.txt").display().to_string()] {
        let built = shop.run(&command).await;
        let failure = failure(&built);
        assert_eq!(failure.reason, ReasonCode::NotExecutable, "{}", failure.detail);
        assert!(failure.detail.contains(command.split(' ').next().unwrap()), "{}", failure.detail);
    }
}
