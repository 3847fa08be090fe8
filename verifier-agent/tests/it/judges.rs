//! Criteria that only a judge can settle.

use holdpoint_protocol::{
    facts::Verdict::{Fail, Inconclusive, Pass},
    reason::CriterionReason as Reason,
};

use crate::support::{Rig, check, criterion, judged, of, only, with_judge};

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
async fn without_a_judge_such_a_criterion_is_left_open() {
    let rig = Rig::new(&[("a.txt", "a\n")]).await;
    let findings = rig.verify(&rig.request(&rig.base, vec![judged("words")]).await).await;
    assert_eq!(only(&findings), (Inconclusive, Some(Reason::NoJudge)));
    assert!(findings.receipt.checks.is_empty());
}
