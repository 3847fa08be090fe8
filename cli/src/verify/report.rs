//! A verdict in the forms that others read: lines and Markdown for people, JUnit for test reports, SARIF for code scanning, and the
//! annotations of GitHub Actions, and a report of GitLab's Code Quality. Pure.

mod codequality;
mod github;
mod junit;
mod markdown;
mod sarif;

use holdpoint_account::words::verdict_mark;
use holdpoint_engine::policy;
use holdpoint_evidence::telling;
use holdpoint_protocol::facts::Violation;
use holdpoint_text::{shown, units};
use holdpoint_verifier_agent::suspects;

pub(crate) use codequality::codequality;
pub(crate) use github::{annotations, inert};
pub(crate) use junit::junit;
pub(crate) use markdown::markdown;
pub(crate) use sarif::sarif;

use super::verdict::{ChangeVerdict, JudgedOne};

/// Something that keeps a change from being shown, or that a person should look at.
struct Problem<'a> {
    /// What kind of problem: a reason of the contract.
    rule: &'a str,
    /// Whether the change is not shown because of it.
    decides: bool,
    text: String,
    /// The file and line it is about, where it is about one.
    place: Option<(&'a str, u32)>,
}

/// Everything that is to be said against a change, what decides first.
fn problems(verdict: &ChangeVerdict) -> Vec<Problem<'_>> {
    let red = verdict.judged().filter(|(_, one)| !one.is_green()).map(|(kind, one)| Problem {
        rule: one.result.reason.map_or("inconclusive", |reason| reason.as_str()),
        decides: true,
        text: format!("{kind} {}: {}", one.result.id, because(one)),
        place: None,
    });
    let violations = verdict.violations.iter().map(|violation: &Violation| Problem {
        rule: violation.kind.as_str(),
        decides: true,
        text: policy::broken(violation),
        place: Some((&violation.path, 1)),
    });
    let suspects = verdict.suspects.iter().map(|one| Problem {
        rule: &one.rule,
        decides: false,
        text: format!("{} `{}`", one.sentence, one.text),
        place: Some((&one.path, one.line)),
    });
    let warnings = verdict.warnings.iter().map(|text| Problem {
        rule: "warning",
        decides: false,
        text: text.clone(),
        place: None,
    });
    red.chain(violations).chain(suspects).chain(warnings).collect()
}

/// Why a result is not green.
fn because(one: &JudgedOne) -> String {
    let words = || one.result.reason.map(telling::in_words).unwrap_or("it is not settled");
    one.why.clone().unwrap_or_else(|| words().to_owned())
}

/// What was judged, in one line.
fn headline(verdict: &ChangeVerdict) -> String {
    let work = verdict.work.as_deref().unwrap_or("the patch");
    let diff = &verdict.diff;
    let of = verdict.waypoint.as_ref().map(|waypoint| format!(" as work on {waypoint}")).unwrap_or_default();
    let files = units::counted(usize::try_from(diff.files).unwrap_or(usize::MAX), "file");
    format!("{work} on {}{of}: {files}, +{} -{}", verdict.base, diff.insertions, diff.deletions)
}

/// The verdict in lines.
pub(crate) fn lines(verdict: &ChangeVerdict) -> Vec<String> {
    let mut lines = vec![headline(verdict)];
    for (kind, one) in verdict.judged() {
        let sign = verdict_mark(one.result.verdict);
        let what = one.command.as_deref().or(one.statement.as_deref()).unwrap_or_default();
        let why = if one.is_green() { String::new() } else { format!(": {}", because(one)) };
        lines.push(format!("  {sign} {kind} {} ({}){}", one.result.id, shown::line(what), shown::line(&why)));
        // The first one is the command.
        lines.extend(one.lines.iter().skip(1).map(|line| format!("      {line}")));
    }
    lines.extend(verdict.violations.iter().map(|one| format!("  ✗ {}", shown::line(&policy::broken(one)))));
    lines.extend(verdict.suspects.iter().map(|one| format!("  ! {}", shown::line(&suspects::in_words(one)))));
    lines.extend(verdict.warnings.iter().map(|text| format!("  ! {}", shown::line(text))));
    lines.push(format!("{}: {}", verdict.word(), verdict.reason_code));
    lines
}

#[cfg(test)]
mod tests {
    use holdpoint_outline::{ChangeFinding, FindingGroup};
    use holdpoint_protocol::{
        Digest,
        facts::{CriterionResult, DiffSummary, Verdict, ViolationKind},
        reason::{CriterionReason, ReasonCode},
    };

    use super::*;

    /// A change with something of every kind against it, in texts that want to be more than texts.
    fn verdict() -> ChangeVerdict {
        let one = |id: &str, verdict, reason, why: Option<&str>| JudgedOne {
            result: CriterionResult {
                id: id.parse().unwrap(),
                verdict,
                reason,
                evidence: vec![Digest::of(id.as_bytes())],
            },
            statement: None,
            command: Some(format!("make {id}")),
            exit_code: Some(0),
            why: why.map(str::to_owned),
            lines: vec![format!("$ make {id}"), "| ]]> <b> | ::error::".to_owned()],
        };
        ChangeVerdict {
            shown: false,
            reason_code: ReasonCode::CriteriaFailed,
            plan: None,
            waypoint: None,
            base: "b".repeat(40),
            work: Some("a".repeat(40)),
            tree: "c".repeat(40),
            diff: DiffSummary { files: 2, insertions: 10, deletions: 3 },
            criteria: vec![
                JudgedOne { lines: Vec::new(), ..one("unit", Verdict::Pass, None, None) },
                one("lint", Verdict::Fail, Some(CriterionReason::ExitCode), Some("exit 2 & <more>")),
            ],
            guards: vec![one("suite", Verdict::Inconclusive, None, None)],
            violations: vec![Violation { kind: ViolationKind::OutOfScope, path: "docs/a b.md".to_owned() }],
            suspects: vec![ChangeFinding {
                path: "src/a.py".to_owned(),
                line: 7,
                rule: "looks-at-callers".to_owned(),
                group: FindingGroup::Suspicious,
                sentence: "Product code looks at who calls it.".to_owned(),
                text: "sys._getframe(1)".to_owned(),
            }],
            warnings: vec!["100% of | it\n::warning::x".to_owned()],
            runs: 4,
        }
    }

    #[test]
    fn lines_name_every_verdict_with_its_reason_and_end_with_the_verdict() {
        let expected = format!(
            "{} on {}: 2 files, +10 -3\n  ✓ criterion unit (make unit)\n  ✗ criterion lint (make lint): exit 2 & <more>\n      \
             | ]]> <b> | ::error::\n  ? guard suite (make suite): it is not settled\n      | ]]> <b> | ::error::\n  \
             ✗ docs/a b.md is outside the scope\n  ! src/a.py:7: Product code looks at who calls it. (looks-at-callers: \
             `sys._getframe(1)`)\n  ! 100% of | it\\n::warning::x\nnot shown: criteria_failed",
            "a".repeat(40),
            "b".repeat(40),
        );
        assert_eq!(lines(&verdict()).join("\n"), expected);
    }

    #[test]
    fn junit_has_a_case_for_each_verdict_and_one_for_the_paths() {
        let text = junit(&verdict());
        let document = roxmltree::Document::parse(&text).unwrap();
        let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
        let counts = ["tests", "failures", "errors"].map(|name| suite.attribute(name).unwrap());
        assert_eq!(counts, ["4", "2", "1"]);
        let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
        assert_eq!(failure.attribute("message"), Some("exit 2 & <more>"));
        assert_eq!(failure.text(), Some("$ make lint\n| ]]> <b> | ::error::"));
    }

    #[test]
    fn sarif_has_a_result_for_each_problem_with_the_file_that_it_is_about() {
        let sarif = sarif(&verdict());
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let found: Vec<(&str, &str)> =
            results.iter().map(|one| (one["ruleId"].as_str().unwrap(), one["level"].as_str().unwrap())).collect();
        let expected = [
            ("exit_code", "error"),
            ("inconclusive", "error"),
            ("out_of_scope", "error"),
            ("looks-at-callers", "warning"),
            ("warning", "warning"),
        ];
        assert_eq!(found, expected);
        let uri = &results[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(uri, "docs/a%20b.md");
        assert_eq!(results[3]["locations"][0]["physicalLocation"]["region"]["startLine"], 7);
    }

    #[test]
    fn code_quality_has_an_issue_for_each_problem_with_a_place() {
        let issues = codequality(&verdict());
        let found: Vec<_> =
            issues.as_array().unwrap().iter().map(|one| (&one["check_name"], &one["severity"])).collect();
        assert_eq!(found, [(&"out_of_scope".into(), &"blocker".into()), (&"looks-at-callers".into(), &"major".into())]);
        assert_eq!(issues[1]["location"], serde_json::json!({"path": "src/a.py", "lines": {"begin": 7}}));
        assert_ne!(issues[0]["fingerprint"], issues[1]["fingerprint"]);
    }

    #[test]
    fn no_text_of_others_is_a_command_of_a_log_wherever_it_stands_in_a_line() {
        for (text, expected) in [
            ("| ##[add-mask]x", "| #\\u{23}[add-mask]x"),
            ("a ##vso[task.x]y ##[error]", "a #\\u{23}vso[task.x]y #\\u{23}[error]"),
            ("###[x]", "##\\u{23}[x]"),
            ("## [x] ##vso ##", "## [x] ##vso ##"),
        ] {
            assert_eq!(inert(text, "\\u{23}"), expected);
        }
        let json = serde_json::json!({"a": "##[error]x"});
        let safe = inert(&json.to_string(), "\\u0023");
        assert!(!safe.contains("##[") && serde_json::from_str::<serde_json::Value>(&safe).unwrap() == json, "{safe}");
    }

    #[test]
    fn texts_of_others_begin_no_annotation_and_no_markup() {
        let annotations = annotations(&verdict());
        let lines: Vec<&str> = annotations.lines().collect();
        assert!(
            lines.iter().all(|line| line.starts_with("::error ") || line.starts_with("::warning ")),
            "{annotations}"
        );
        assert_eq!(lines.len(), 5);
        assert!(lines[2].starts_with("::error title=out_of_scope,file=docs/a b.md,line=1::"), "{annotations}");
        assert!(lines[4].ends_with("::100%25 of | it%0A::warning::x"), "{annotations}");
        let markdown = markdown(&verdict());
        assert!(
            markdown.contains("not shown") && !markdown.contains("<b>") && !markdown.contains("<more>"),
            "{markdown}"
        );
        assert!(
            markdown.lines().filter(|line| line.starts_with('|')).all(|line| line.matches(" | ").count() == 3),
            "{markdown}"
        );
    }
}
