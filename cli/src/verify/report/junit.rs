//! JUnit XML, as readers of test reports take it.

use holdpoint_engine::policy;
use holdpoint_protocol::facts::Verdict;

use super::because;
use crate::verify::verdict::{ChangeVerdict, JudgedOne};

/// A case for each criterion and guard, and one for the path rules.
pub(crate) fn junit(verdict: &ChangeVerdict) -> String {
    let mut cases: Vec<String> = verdict.judged().map(|(kind, one)| case(kind, one)).collect();
    let broken: Vec<String> = verdict.violations.iter().map(policy::broken).collect();
    let body = broken.first().map(|first| outcome("failure", first, &broken.join("\n"))).unwrap_or_default();
    cases.push(format!("    <testcase classname=\"paths\" name=\"scope\">{body}</testcase>\n"));
    let of = |wanted: Verdict| verdict.judged().filter(|(_, one)| one.result.verdict == wanted).count();
    let failures = of(Verdict::Fail) + usize::from(!broken.is_empty());
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"holdpoint verify\" tests=\"{}\" \
         failures=\"{failures}\" errors=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
        cases.len(),
        of(Verdict::Inconclusive),
        cases.concat(),
    )
}

fn case(kind: &str, one: &JudgedOne) -> String {
    let body = match one.result.verdict {
        Verdict::Pass => String::new(),
        Verdict::Fail => outcome("failure", &because(one), &one.lines.join("\n")),
        Verdict::Inconclusive => outcome("error", &because(one), &one.lines.join("\n")),
    };
    format!("    <testcase classname=\"{kind}\" name=\"{}\">{body}</testcase>\n", escaped(one.result.id.as_str()))
}

fn outcome(tag: &str, message: &str, text: &str) -> String {
    format!("<{tag} message=\"{}\">{}</{tag}>", escaped(message), escaped(text))
}

/// Text as XML takes it; characters that no XML can have are left out (XML 1.0, section 2.2).
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", u32::from(c))),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c < ' ' => {}
            c => out.push(c),
        }
    }
    out
}
