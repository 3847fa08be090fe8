//! Why a criterion is red: what the report says of it, and the lines of its check's output that say most.

use holdpoint_bus::blobs;
use holdpoint_evidence::{environment::WORK, telling};
use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{Artifact as _, VerificationReport},
    ids::role,
    reason::CriterionReason,
};
use holdpoint_text::shown;

use super::news::Red;
use crate::client::Client;

/// Lines of output that are shown.
const LINES: usize = 6;
/// The most evidence that is fetched for them: a check's output is capped below that.
const BYTES_MAX: u64 = 32 << 20;
/// What is printed before the command, before how a check ended, and before each of its outputs.
const COMMAND: &str = "$ ";
const ENDED: &str = "ended: ";
const OUTPUT: &str = "--- standard ";

/// Where copies of trees are, in the folder of a turn, behind the number of a run. With overlays all trees are at one path.
const RUNS: &str = "/runs/";
const COPY: &str = "/tree/";
/// What begins the note of a report that has nothing to say but how the check ended.
const PLAIN_END: &str = "the check ended with: ";

/// What is shown of a red result.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Which comparison it did not pass, and how its check ended.
    pub(crate) why: Option<String>,
    /// The check, and what its output says.
    pub(crate) lines: Vec<String>,
}

/// What a red result shows. Evidence that cannot be had is not worth an error here: the verdict stands without.
pub(super) async fn of(client: &Client, red: &Red, history: &[HistoryLine]) -> Shown {
    let note = noted(history, red);
    let evidence = match red.evidence {
        Some(digest) => blobs::get(client.bus(), digest, &role::JUDGING.map(role::id), BYTES_MAX).await.ok(),
        None => None,
    };
    let evidence = evidence.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    read(&evidence, red.reason, note.as_deref())
}

/// What the report with this result says of it.
fn noted(history: &[HistoryLine], red: &Red) -> Option<String> {
    let counts =
        |line: &&HistoryLine| line.kind == VerificationReport::KIND && line.standing != Some(Standing::Unsigned);
    let digest = red.evidence.as_ref()?.to_string();
    history.iter().rev().filter(counts).find_map(|line| {
        let reports = ["criteria", "guards"].iter().filter_map(|list| line.artifact.get(*list)?.as_array()).flatten();
        let mut of_this = reports.filter(|report| {
            let result = &report["result"];
            result["id"] == red.id.as_str() && result["evidence"].get(0).is_some_and(|first| *first == digest.as_str())
        });
        Some(of_this.next()?["note"].as_str()?.to_owned())
    })
}

/// What a piece of evidence shows of a result with this reason and note.
pub(crate) fn read(evidence: &str, reason: Option<CriterionReason>, note: Option<&str>) -> Shown {
    let (head, output) = match evidence.find(OUTPUT) {
        Some(at) => evidence.split_at(at),
        None => (evidence, ""),
    };
    let ended = head.lines().find_map(|line| line.strip_prefix(ENDED)).map(|ended| shown::line(ended).into_owned());
    let note = note.filter(|note| !note.starts_with(PLAIN_END)).map(|note| shown::line(note).into_owned());
    // How it ended says everything where nothing was compared.
    let reason = reason.filter(|reason| *reason != CriterionReason::ExitCode || ended.is_none());
    let compared = note.or_else(|| reason.map(|reason| telling::in_words(reason).to_owned()));
    let why = match (compared, ended) {
        (Some(compared), Some(ended)) if !compared.contains(&ended) => Some(format!("{compared} ({ended})")),
        (Some(compared), _) => Some(compared),
        (None, ended) => ended,
    };
    let command =
        head.lines().next().filter(|line| line.starts_with(COMMAND)).map(|line| shown::line(line).into_owned());
    let output = output.lines().filter(|line| !line.starts_with(OUTPUT)).map(below_the_tree);
    let output = telling::plain(&output.map(|line| line + "\n").collect::<String>());
    let said = telling::lines_that_say_why(&output, LINES).into_iter().flat_map(shown::quoted);
    Shown { why, lines: command.into_iter().chain(said).collect() }
}

/// A line with the paths of files of the tree as they are in the repository: where it was checked out says nothing.
fn below_the_tree(line: &str) -> String {
    let line = line.replace(&format!("{WORK}/"), "");
    let (mut rest, mut short) = (line.as_str(), String::new());
    while let Some((before, behind)) = rest.split_once(RUNS) {
        let is_run = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
        let Some((_, file)) = behind.split_once(COPY).filter(|(number, _)| is_run(number)) else { break };
        let begins = before.rfind(|c: char| " \t\"'(=".contains(c)).map_or(0, |at| at + 1);
        short.push_str(before.get(..begins).unwrap_or_default());
        rest = file;
    }
    short + rest
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{Digest, Timestamp, facts::Verdict};
    use serde_json::json;

    use super::*;

    const EVIDENCE: &str = "$ make test\ntree: aa\nended: exit 1 after 12 ms\n--- standard output: 8 bytes\n1\n2\n3\n4\n\
                            --- standard error: 9 bytes\nFAILED (failures=1)\n\n\u{1b}[1mx\n";

    #[test]
    fn a_check_that_fails_shows_how_it_ended_its_command_and_the_lines_that_say_why() {
        let shown = read(EVIDENCE, Some(CriterionReason::ExitCode), Some("the check ended with: exit 1 after 12 ms"));
        assert_eq!(shown.why.as_deref(), Some("exit 1 after 12 ms"));
        assert_eq!(shown.lines, ["$ make test", "| FAILED (failures=1)", "| x"]);
    }

    #[test]
    fn lines_that_say_nothing_are_left_out_and_nothing_is_shown_of_what_never_ran() {
        let evidence = "$ make\nended: exit 2 after 1 ms\n--- standard output: 3 bytes\nok\n--- standard error: 9 bytes\n\
                        make: *** No rule to make target 'x'.\nerror: a\nb\n";
        assert_eq!(read(evidence, None, None).lines, ["$ make", "| error: a", "| b"]);
        assert_eq!(read("nothing was run", None, None), Shown::default());
    }

    #[test]
    fn a_file_of_the_tree_is_named_as_in_the_repository() {
        for tree in ["/hold/work", "/state/turns/x/runs/12/tree"] {
            let line = format!("File \"{tree}/tests/a.py\", line 7, in /other/runs/b");
            assert_eq!(below_the_tree(&line), "File \"tests/a.py\", line 7, in /other/runs/b");
            assert_eq!(below_the_tree(&format!("{tree}/a.rs:1: {tree}/b.rs")), "a.rs:1: b.rs");
        }
    }

    #[test]
    fn a_comparison_that_was_lost_is_said_before_how_the_check_ended() {
        let weakened = Some(CriterionReason::TestsWeakened);
        let shown = read(EVIDENCE, weakened, Some("not green with the tests as on the base: test_a"));
        let expected = "not green with the tests as on the base: test_a (exit 1 after 12 ms)";
        assert_eq!(shown.why.as_deref(), Some(expected));
        let unexplained = read("ended: exit 0 after 1 ms\n", Some(CriterionReason::FewerTests), None);
        assert_eq!(unexplained.why.as_deref(), Some("fewer tests ran than on the base (exit 0 after 1 ms)"));
        assert_eq!(
            read("", Some(CriterionReason::NoJudge), None).why,
            Some(telling::in_words(CriterionReason::NoJudge).to_owned())
        );
    }

    #[test]
    fn a_note_is_taken_from_the_report_with_this_very_result() {
        let digest = Digest::of(b"evidence");
        let line = |kind: &str, digest: &Digest, standing| HistoryLine {
            at: Timestamp::from_millis(0),
            kind: kind.to_owned(),
            reference: "S/1".to_owned(),
            artifact: json!({"criteria": [{"result": {"id": "unit", "evidence": [digest.to_string()]}, "note": "447 tests ran, 455 on the base"}]}),
            standing,
        };
        let red = Red {
            id: "unit".parse().unwrap(),
            mark: "✗",
            verdict: Verdict::Fail,
            reason: Some(CriterionReason::FewerTests),
            evidence: Some(digest),
        };
        let kind = VerificationReport::KIND;
        let of = |line: HistoryLine| noted(&[line], &red);
        assert_eq!(of(line(kind, &digest, Some(Standing::Taken))).as_deref(), Some("447 tests ran, 455 on the base"));
        assert_eq!(of(line(kind, &Digest::of(b"other"), Some(Standing::Taken))), None);
        assert_eq!(of(line("build_artifact", &digest, Some(Standing::Taken))), None);
        assert_eq!(of(line(kind, &digest, Some(Standing::Unsigned))), None);
    }
}
