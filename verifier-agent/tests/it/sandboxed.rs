//! What a check can do, and what it cannot.

use holdpoint_protocol::{
    facts::Verdict::{Fail, Inconclusive, Pass},
    plan::Check,
    reason::CriterionReason,
};

use holdpoint_harness::ask::Nobody;
use holdpoint_sandbox::{Bounds, Sandbox, SandboxError};

use crate::support::{Rig, SHIM, check, criterion, only, settings};

#[tokio::test]
async fn check_cannot_change_what_it_judges() {
    let rig = Rig::new(&[("a.txt", "a\n"), ("dir/b.txt", "b\n")]).await;
    for command in
        ["echo x > a.txt", "echo x > new.txt", "rm a.txt", "chmod 777 a.txt", "mv dir moved", "touch -d @0 a.txt"]
    {
        let as_it_was =
            "test \"$(cat a.txt dir/b.txt)\" = \"$(printf 'a\\nb')\" && ! test -e new.txt && ! test -x a.txt";
        let criteria = vec![criterion("writes", check(command)), criterion("then", check(as_it_was))];
        let findings = rig.verify(&rig.request(&rig.base, criteria).await).await;
        assert!(findings.criteria.iter().all(|r| r.result.verdict == Pass), "{command}: {:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn check_that_writes_gets_a_copy_that_nobody_else_sees() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let writes = |command: &str| Check { writes_tree: true, ..check(command) };
    let criteria = vec![
        criterion("writes", writes("echo x > a.txt && echo y > new.txt && grep x a.txt")),
        criterion("reads", check("grep a a.txt && ! test -e new.txt")),
        criterion("writes-again", writes("grep a a.txt && ! test -e new.txt")),
    ];
    let findings = rig.verify(&rig.request(&rig.base, criteria).await).await;
    assert!(findings.criteria.iter().all(|r| r.result.verdict == Pass), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn check_has_scratch_of_its_own_and_a_clean_environment() {
    let rig = Rig::with(&[("a.txt", "a\n")], |settings| {
        settings.check_env.insert("CI".to_owned(), "1".to_owned());
    })
    .await;
    let criteria = vec![
        criterion("writes", check("echo x > \"$HOME/x\" && echo x > \"$TMPDIR/x\"")),
        criterion("finds-nothing", check("! test -e \"$HOME/x\" && ! test -e \"$TMPDIR/x\" && test \"$CI\" = 1")),
        criterion("sees-no-agent", check("! env | grep -i -e holdpoint_ -e nats -e '^USER='")),
    ];
    let findings = rig.verify(&rig.request(&rig.base, criteria).await).await;
    assert!(findings.criteria.iter().all(|r| r.result.verdict == Pass), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn checkout_has_the_tree_and_no_word_of_its_maker() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let commit = rig.change(&[("b.txt", Some("b\n"))]).await;
    let findings = rig
        .check(&commit, "! test -e .git && test \"$(ls -A | sort | tr '\\n' ' ')\" = 'a.txt b.txt ' && ! git log")
        .await;
    assert_eq!(only(&findings), (Pass, None), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn check_reads_neither_the_state_folder_nor_the_users_repository() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    for place in ["repo", "mirror", "state", "snapshot.bundle"] {
        let path = rig.temp.path().join(place);
        let command = format!("ls -A {0} 2>/dev/null | grep . || cat {0}", path.display());
        let report = rig.check_base(check(&command)).await;
        assert_eq!(report.result.verdict, Fail, "{place}: {}", report.output_tail);
    }
}

const LOOPBACK: &str = "import socket, threading
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()
threading.Thread(target=lambda: s.accept()[0].sendall(b'hello')).start()
c = socket.create_connection(s.getsockname(), timeout=30)
assert c.recv(5) == b'hello'
";

#[tokio::test]
async fn check_has_a_loopback_and_no_other_network() {
    let outside = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = outside.local_addr().unwrap().port();
    let connect = format!("import socket\nsocket.create_connection(('127.0.0.1', {port}), timeout=30)\n");
    let rig = Rig::new(&[("loopback.py", LOOPBACK), ("connect.py", &connect)]).await;
    let inside = rig.check_base(check("python3 loopback.py")).await;
    assert_eq!(inside.result.verdict, Pass, "{}", inside.output_tail);
    let refused = rig.check_base(check("python3 connect.py")).await;
    assert_eq!(refused.result.verdict, Fail, "{}", refused.output_tail);
    let asked = rig.check_base(Check { network: true, ..check("python3 connect.py") }).await;
    assert_eq!(asked.result.verdict, Pass, "{}", asked.output_tail);
}

#[tokio::test]
async fn left_overs_of_a_crash_are_cleared_at_the_start() {
    let temp = tempfile::tempdir().unwrap();
    let old = temp.path().join("state/turns/old/trees");
    std::fs::create_dir_all(&old).unwrap();
    holdpoint_verifier_agent::VerifierWorkbench::new(settings(temp.path()), Sandbox::new(SHIM)).unwrap();
    assert!(!old.exists());
}

#[tokio::test]
async fn check_that_uses_up_memory_or_disk_settles_nothing_and_is_told_as_limit() {
    let bounds = Bounds { memory_bytes: Some(256 << 20), disk_bytes: 32 << 20, ..Bounds::default() };
    let rig = Rig::in_sandbox(&[("a.txt", "a\n")], |_| {}, Sandbox::new(SHIM).bounded(bounds)).await;
    for flood in ["python3 -c 'a = bytearray(2**30); print(len(a))'", "cat /dev/zero > \"$TMPDIR/big\""] {
        let findings = rig.check(&rig.base, flood).await;
        assert_eq!(only(&findings), (Inconclusive, Some(CriterionReason::Limit)), "{flood}");
    }
    assert_eq!(only(&rig.check(&rig.base, "true").await), (Pass, None));
}

#[tokio::test]
async fn missing_property_is_refused_or_by_setting_reported() {
    let weaker = || Sandbox::new(SHIM).without_namespaces();
    let rig = Rig::in_sandbox(&[("a.txt", "a\n")], |_| {}, weaker()).await;
    let Err(SandboxError::NotEnforceable { properties }) = rig.workbench.prove().await else {
        panic!("without namespaces there is no loopback of its own")
    };
    let request = rig.request(&rig.base, vec![criterion("only", check("true"))]).await;
    assert!(rig.workbench.verify("turn", &request, &rig.mirror, &|_| {}, &Nobody).await.is_err());

    let waived = weaker().waiving(properties.iter().copied());
    let rig = Rig::in_sandbox(&[("a.txt", "a\n")], |_| {}, waived).await;
    rig.workbench.prove().await.unwrap();
    let findings = rig.check(&rig.base, "true").await;
    assert_eq!(only(&findings), (Pass, None));
    for property in properties {
        let reported = findings.receipt.properties.iter().find(|p| p.property == property.name()).unwrap();
        assert_eq!(reported.mechanism, None, "{property}");
    }
}
