//! What trees depend on: set up once for each state of its inputs, and laid under what runs on them.

use holdpoint_protocol::{
    artifact::CheckRun,
    facts::{
        Verdict::{Fail, Inconclusive, Pass},
        ViolationKind,
    },
    plan::Check,
    reason::CriterionReason as Reason,
};
use holdpoint_sandbox::{Bounds, Property, Sandbox};
use holdpoint_verifier_agent::Findings;

use crate::support::{Rig, SHIM, check, criterion, environment, guard, judged, only, with_judge};

/// A setup that makes a dependency of what its lock says, and leaves something in its home.
const SETUP: &str = "mkdir -p deps/bin && cp lock deps/lock && cp lock \"$HOME/cache\" && ls > deps/seen && \
                     printf '#!/bin/sh\\necho tool of %s\\n' \"$PWD\" > deps/bin/tool && chmod +x deps/bin/tool";

fn setups(findings: &Findings) -> Vec<&CheckRun> {
    findings.receipt.checks.iter().filter(|run| run.criterion.is_none()).collect()
}

async fn rig() -> Rig {
    Rig::new(&[("lock", "1\n"), ("src.txt", "s\n"), (".gitignore", "deps/\nbuild/\n")]).await
}

/// Where nothing keeps trees apart but copies.
async fn rig_of_copies() -> Rig {
    let all = [
        Property::Loopback,
        Property::NoForeignProcesses,
        Property::NoNetwork,
        Property::NoReadsOutside,
        Property::NoForeignSockets,
        Property::TreeEnded,
        Property::MemoryLimited,
        Property::ProcessesLimited,
        Property::NoWritesOutside,
        Property::NoPrivilegeGain,
        Property::NoDangerousSyscalls,
        Property::DiskLimited,
    ];
    let sandbox = Sandbox::new(SHIM).without_namespaces().waiving(all).bounded(Bounds::default());
    let files = [("lock", "1\n"), ("src.txt", "s\n"), (".gitignore", "deps/\nbuild/\n")];
    Rig::in_sandbox(&files, |_| {}, sandbox).await
}

#[tokio::test]
async fn a_setup_runs_once_for_each_state_of_its_inputs_and_sees_nothing_else() {
    for (rig, at) in [(rig().await, "/hold/work"), (rig_of_copies().await, "")] {
        let looks = "test \"$(cat deps/lock \"$HOME/cache\" | sort -u)\" = \"$(cat lock)\" && test \"$(cat deps/seen)\" = \"$(printf 'deps\\nlock')\" && cat src.txt && tool";
        let same = rig.change(&[("src.txt", Some("t\n"))]).await;
        let other = rig.change(&[("lock", Some("2\n"))]).await;
        for (commit, made) in [(&rig.base, 1), (&same, 0), (&other, 1), (&other, 0)] {
            let mut request =
                rig.request(commit, vec![criterion("only", check(looks)), criterion("twice", check(looks))]).await;
            request.environment = environment(SETUP, &["lock"]);
            request.environment.path = vec!["deps/bin".to_owned()];
            request.environment.env.insert("MODE".to_owned(), "m".to_owned());
            let findings = rig.verify(&request).await;
            assert!(findings.criteria.iter().all(|report| report.result.verdict == Pass), "{:#?}", findings.criteria);
            assert_eq!(setups(&findings).len(), made);
            assert!(findings.criteria[0].output_tail.contains(&format!("tool of {at}")), "{:#?}", findings.criteria);
            let kept_apart = findings.receipt.properties.iter().find(|one| one.property == "tree_thrown_away").unwrap();
            assert_eq!(kept_apart.mechanism.as_deref(), Some(if at.is_empty() { "copy" } else { "overlay" }));
        }
    }
}

#[tokio::test]
async fn what_runs_write_is_thrown_away_and_no_other_run_sees_it() {
    for rig in [rig().await, rig_of_copies().await] {
        let untouched = "test \"$(cat deps/lock)\" = 1 && test ! -e build && test \"$(cat src.txt)\" = s && test ! -e \"$HOME/x\" && test -e \"$HOME/cache\"";
        let poisons = "echo 9 > deps/lock; rm -rf deps/bin; mkdir build; echo x > src.txt; echo x > \"$HOME/x\"; rm \"$HOME/cache\"";
        let criteria = vec![
            criterion("first", check(untouched)),
            criterion("poisons", check(poisons)),
            criterion("then", check(untouched)),
        ];
        let mut request = rig.request(&rig.base, criteria).await;
        request.environment = environment(SETUP, &["lock"]);
        let findings = rig.verify(&request).await;
        assert!(findings.criteria.iter().all(|report| report.result.verdict == Pass), "{:#?}", findings.criteria);
    }
}

#[tokio::test]
async fn what_a_setup_compiled_lies_under_the_build_output_that_the_runs_of_one_tree_share() {
    for rig in [rig().await, rig_of_copies().await] {
        let setup = format!("{SETUP} && mkdir -p \"$GOCACHE\" && cp lock \"$GOCACHE/a\" && cp lock \"$GOCACHE/b\"");
        let first = "cd \"$GOCACHE\" && test \"$(cat a b)\" = \"$(printf '1\\n1')\" && test ! -e own && echo 2 > a && rm b && echo own > own";
        let next = "cd \"$GOCACHE\" && test \"$(cat a)\" = 2 && test ! -e b && test -e own && test ! -e next && test -n \"$CARGO_TARGET_DIR\"";
        let last = "cd \"$GOCACHE\" && test ! -e b && test -e next";
        let other = rig.change(&[("src.txt", Some("t\n"))]).await;
        for commit in [&rig.base, &other] {
            let criteria = vec![
                criterion("first", check(first)),
                criterion("next", check(&format!("{next} && echo next > next"))),
                criterion("last", check(last)),
            ];
            let mut request = rig.request(commit, criteria).await;
            request.environment = environment(&setup, &["lock"]);
            let findings = rig.verify(&request).await;
            assert!(findings.criteria.iter().all(|report| report.result.verdict == Pass), "{:#?}", findings.criteria);
        }
    }
}

#[tokio::test]
async fn a_check_may_write_what_git_ignores_and_is_red_for_anything_else_that_it_does_not_do_on_the_base() {
    for rig in [rig().await, rig_of_copies().await] {
        let commit = rig.change(&[("new.txt", Some("n\n")), ("more.txt", Some("m\n"))]).await;
        let writes = |command: &str| Check { writes_tree: true, ..check(command) };
        for (check, red) in [
            (check("mkdir build && echo x > build/out"), None),
            (check("mkdir -p deps/.cache && echo x > deps/.cache/x"), None),
            (check("test ! -e new.txt || echo x > src.txt"), Some("it changed files of the tree: src.txt")),
            (check("test ! -e new.txt || rm src.txt"), Some("it changed files of the tree: src.txt")),
            (check("test ! -e new.txt || echo 2 > deps/lock"), Some("it changed dependencies: deps/lock")),
            (
                check("test ! -e new.txt || { mkdir out && cp new.txt more.txt out; }"),
                Some("that git does not ignore: out/"),
            ),
            (check("echo x > src.txt; mkdir out; touch out/$(ls | wc -l)"), None),
            (writes("test ! -e new.txt || echo x > src.txt; echo x > other"), None),
            (writes("test ! -e new.txt || rm -r deps"), Some("it changed dependencies: deps")),
        ] {
            let mut request = rig.request(&commit, vec![criterion("only", check.clone())]).await;
            request.environment = environment(SETUP, &["lock"]);
            let findings = rig.verify(&request).await;
            let expected = red.map_or((Pass, None), |_| (Fail, Some(Reason::TreeChanged)));
            assert_eq!(only(&findings), expected, "{}: {:#?}", check.command, findings.criteria);
            let note = findings.criteria[0].note.clone().unwrap_or_default();
            assert!(red.is_none_or(|red| note.contains(red)), "{note}");
        }
    }
}

#[tokio::test]
async fn a_setup_that_fails_on_the_base_settles_nothing_and_shows_its_output() {
    let rig = Rig::with(&[("lock", "1\n")], |settings| with_judge(settings, "true")).await;
    let mut request = rig.request(&rig.base, vec![criterion("check", check("true")), judged("words")]).await;
    request.guards = vec![guard("guard", check("true"))];
    request.environment = environment("echo no such registry; exit 1", &["lock"]);
    let findings = rig.verify(&request).await;
    for report in findings.criteria.iter().chain(&findings.guards) {
        let came = (report.result.verdict, report.result.reason, report.output_tail.as_str());
        assert_eq!(came, (Inconclusive, Some(Reason::SetupFailed), "no such registry"));
    }
    assert_eq!(findings.receipt.checks.len(), 1);
}

#[tokio::test]
async fn work_is_red_whose_inputs_cannot_be_set_up_while_those_of_the_base_can() {
    let rig = rig().await;
    let commit = rig.change(&[("lock", Some("broken\n"))]).await;
    let mut request = rig.request(&commit, vec![criterion("only", check("true"))]).await;
    request.environment = environment("cat lock; ! grep broken lock", &["lock"]);
    let findings = rig.verify(&request).await;
    assert_eq!(only(&findings), (Fail, Some(Reason::SetupFailed)), "{:#?}", findings.criteria);
    let mut request = rig.request(&commit, vec![criterion("only", check("true"))]).await;
    request.environment = environment("echo 'error: no such gem: x'; exit 1", &["lock"]);
    let failed = rig.workbench.verify("turn-1", &request, &rig.mirror, &|_| {}, &holdpoint_harness::ask::Nobody).await;
    let error = failed.unwrap_err();
    let said = error.to_string();
    assert!(
        !error.is_permanent() && said.contains("nor that of the base") && said.contains("no such gem: x"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(rig.temp.path().join("environments/control")).unwrap().count(), 1, "only the lock");
}

#[tokio::test]
async fn a_setup_that_changes_its_inputs_or_reaches_past_its_folder_is_refused_by_name() {
    let rig = rig().await;
    for (setup, names) in [
        ("echo 2 > lock", "changed lock"),
        ("rm lock", "changed lock"),
        ("mv lock deps && ln -s deps lock", "changed lock"),
    ] {
        let mut request = rig.request(&rig.base, vec![criterion("only", check("true"))]).await;
        request.environment = environment(setup, &["lock"]);
        let findings = rig.verify(&request).await;
        assert_eq!(only(&findings), (Inconclusive, Some(Reason::SetupChanged)), "{setup}: {:#?}", findings.criteria);
        let note = findings.criteria[0].note.as_deref().unwrap_or_default();
        assert!(note.contains(names) && note.contains("npm ci"), "{note}");
    }
}

#[tokio::test]
async fn work_that_puts_a_file_among_the_dependencies_breaks_the_rules_of_paths() {
    let rig = rig().await;
    let tool = rig.add_ignored("deps/bin/tool", b"#!/bin/sh\necho all is well\n").await;
    let mut request = rig.request(&tool, vec![criterion("only", check("true"))]).await;
    request.environment = environment(SETUP, &["lock"]);
    let findings = rig.verify(&request).await;
    let broken: Vec<_> = findings.violations.iter().map(|one| (one.kind, one.path.as_str())).collect();
    assert_eq!(broken, [(ViolationKind::Steering, "deps/bin/tool")]);
}
