//! Commands of checkpoints: what of them runs, on which tree, and when a tool counts as missing.

use holdpoint_protocol::{
    artifact::{CheckpointAsked, TreeTested},
    checkpoint::{CheckpointCommand, NeededTool},
    facts::Verdict,
    reason::CriterionReason,
};

use crate::support::{Rig, check};

fn asked(gate: &str, id: &str, command: &str, needs: &[(&str, &str)]) -> CheckpointAsked {
    let needs = needs.iter().map(|(tool, probe)| NeededTool { tool: (*tool).to_owned(), probe: (*probe).to_owned() });
    let command = CheckpointCommand { check: check(command), needs: needs.collect() };
    CheckpointAsked { gate: gate.parse().unwrap(), id: id.parse().unwrap(), command }
}

#[tokio::test]
async fn a_command_is_settled_on_the_work_and_its_tool_is_looked_for_on_the_base() {
    let rig = Rig::new(&[("tool", "there\n"), ("readme", "x\n")]).await;
    // The work takes one tool away, and brings another one.
    let commit = rig.change(&[("tool", None), ("other", Some("there\n")), ("made", Some("y\n"))]).await;
    let mut request = rig.request(&commit, Vec::new()).await;
    let on_path = |program: &str| format!("command -v {program}");
    request.checkpoints = vec![
        asked("build", "made", "test -f made", &[("sh", &on_path("sh"))]),
        asked("qa", "hidden", "grep -q z made", &[("tool", "test -f tool")]),
        asked("qa", "brought", "test -f made", &[("other", "test -f other")]),
        asked("qa", "absent", "no-such-linter made", &[("no-such-linter", &on_path("no-such-linter"))]),
        asked("qa", "unnamed", "no-such-linter made", &[]),
    ];
    let findings = rig.verify(&request).await;
    let found: Vec<_> = findings
        .checkpoints
        .iter()
        .map(|one| {
            let result = &one.report.result;
            (one.gate.as_str(), result.id.as_str(), result.verdict, result.reason)
        })
        .collect();
    let missing = Some(CriterionReason::ToolMissing);
    assert_eq!(
        found,
        [
            ("build", "made", Verdict::Pass, None),
            ("qa", "hidden", Verdict::Fail, Some(CriterionReason::ExitCode)),
            ("qa", "brought", Verdict::Inconclusive, missing),
            ("qa", "absent", Verdict::Inconclusive, missing),
            // Nobody said what it needs, so that it is not there is no excuse.
            ("qa", "unnamed", Verdict::Inconclusive, Some(CriterionReason::NotExecutable)),
        ]
    );
    let note = findings.checkpoints[3].report.note.as_deref().unwrap();
    assert_eq!(note, "`no-such-linter` is missing: `command -v no-such-linter` does not end well on the base");
    let runs = |command: &str| -> Vec<TreeTested> {
        let of = findings.receipt.checks.iter().filter(|run| run.command == command);
        of.map(|run| run.tested).collect()
    };
    assert!(runs("test -f tool").iter().all(|tested| *tested == TreeTested::Base));
    assert_eq!(runs("grep -q z made"), [TreeTested::Handoff], "what runs no tests is compared with nothing");
    assert_eq!(runs("no-such-linter made"), [TreeTested::Handoff], "what is missing is not run");
}
