use holdpoint_protocol::{
    Digest,
    artifact::Disposition,
    codec::PAYLOAD_MAX,
    facts::{CriterionResult, Verdict},
    reason::ReasonCode,
    turn::{CollisionKind, LandedMeanwhile},
};
use proptest::prelude::*;

use super::*;

/// Texts up to several times their bound; control characters take six bytes each in JSON.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![Just("a"), Just("\u{1}"), Just("ä"), Just("line\n"), Just("🦀")];
    (piece, 0..6_000_usize).prop_map(|(piece, times)| piece.repeat(times))
}

fn failing(n: usize, text: &str) -> CriterionReport {
    let evidence = vec![Digest::of(&n.to_be_bytes()); 1 + n % 40];
    CriterionReport {
        result: CriterionResult {
            id: format!("c{n}").parse().unwrap(),
            verdict: Verdict::Fail,
            reason: None,
            evidence,
        },
        command: Some(text.to_owned()),
        exit_code: Some(1),
        output_tail: text.to_owned(),
        note: Some(text.to_owned()),
    }
}

fn clarified(text: &str) -> Clarified {
    Clarified {
        question: text.to_owned(),
        option: None,
        text: Some(text.to_owned()),
        rationale: Some(text.to_owned()),
        constraints: vec!["keep it small".to_owned()],
        by: "policy".to_owned(),
    }
}

fn feedback(counts: [usize; 4], text: &str) -> Feedback {
    let [criteria, notes, paths, answers] = counts;
    let many = |count: usize| vec![text.to_owned(); count];
    let landed = LandedMeanwhile {
        waypoint: "w".parse().unwrap(),
        title: text.to_owned(),
        commit: "a".repeat(40).parse().unwrap(),
        paths: many(paths),
    };
    Feedback {
        disposition: Disposition::Rework,
        reason_code: ReasonCode::CriteriaFailed,
        failing: (0..criteria).map(|n| failing(n, text)).collect(),
        notes: many(notes),
        collision: (paths > 0).then(|| Collision {
            kind: CollisionKind::Conflict,
            paths: many(paths),
            paths_more: 1,
            landed: vec![landed; 20],
            landed_more: 0,
        }),
        clarifications: vec![clarified(text); answers],
        review: None,
    }
}

fn of_any_size() -> impl Strategy<Value = Feedback> {
    let count = || prop_oneof![Just(0_usize), Just(1), 90..130_usize];
    let counts = (count(), count(), count(), prop_oneof![Just(0_usize), Just(3), 195..210_usize]);
    (counts, text())
        .prop_map(|((criteria, notes, paths, answers), text)| feedback([criteria, notes, paths, answers], &text))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 32, ..ProptestConfig::default() })]

    #[test]
    fn bounded_feedback_leaves_room_in_a_message_and_stays_as_it_is(told in of_any_size()) {
        let once = bounded(told, Some("HP_HANDOFF_VERIFIER/7"));
        let answers = size(&once.clarifications);
        prop_assert!(size(&once) - answers <= FEEDBACK_BYTES_MAX, "{}", size(&once) - answers);
        prop_assert!(size(&once) <= PAYLOAD_MAX / 2, "{}", size(&once));
        prop_assert_eq!(bounded(once.clone(), Some("HP_HANDOFF_VERIFIER/7")), once.clone());
        prop_assert_eq!(bounded(once.clone(), None), once);
    }

    #[test]
    fn bounded_feedback_keeps_the_verdicts_and_counts_what_it_leaves_out(told in of_any_size()) {
        let cut = bounded(told.clone(), None);
        prop_assert_eq!(cut.failing.len(), told.failing.len().min(FAILING_MAX));
        for (cut, whole) in cut.failing.iter().zip(&told.failing) {
            prop_assert_eq!((&cut.result.id, cut.result.verdict), (&whole.result.id, whole.result.verdict));
            prop_assert!(whole.result.evidence.starts_with(&cut.result.evidence));
        }
        prop_assert!(cut.notes.len() <= NOTES_MAX);
        let paths = |feedback: &Feedback| {
            feedback.collision.as_ref().map(|c| c.paths.len() + usize::try_from(c.paths_more).unwrap())
        };
        prop_assert_eq!(paths(&cut), paths(&told), "each path is shown or counted");
    }
}

#[test]
fn ordinary_feedback_is_told_as_it_is() {
    let told = feedback([3, 2, 2, 2], "test header ... FAILED\n");
    assert_eq!(bounded(told.clone(), Some("S/1")), told);
}

#[test]
fn what_is_cut_says_so_and_where_the_whole_is() {
    let told = bounded(feedback([FAILING_MAX + 20, NOTES_MAX + 3, 0, 0], &"ab".repeat(30_000)), Some("S/7"));
    assert!(
        told.notes[0].starts_with("and 20 more criteria did not pass: `holdpoint artifact S/7`"),
        "{}",
        told.notes[0]
    );
    assert!(told.notes.iter().any(|note| note.starts_with("and 5 more notes: `holdpoint artifact S/7`")));
    let report = &told.failing[0];
    let stored = format!("`holdpoint artifact {}`", report.result.evidence[0]);
    assert!(report.output_tail.contains(&stored) && report.output_tail.ends_with("abab"), "{}", report.output_tail);
    let note = report.note.as_ref().unwrap();
    assert!(note.starts_with("abab") && note.contains("60000 bytes in all") && note.contains("S/7"), "{note}");
}

#[test]
fn the_newest_answers_are_whole_and_the_oldest_are_left_out_with_a_word() {
    let mut all = vec![clarified(&"x".repeat(10_000)); ANSWERS_MAX + 50];
    all.last_mut().unwrap().question = "the newest?".to_owned();
    let kept = answers(all.clone());
    assert_eq!((kept.len(), kept[0].question.as_str()), (ANSWERS_MAX + 1, ANSWERS_LEFT_OUT));
    assert_eq!(kept.last(), all.last());
    assert!(kept[1].question.len() <= NARROWEST && kept[1].question.contains("holdpoint history"));
    let mut more = kept.clone();
    more.push(clarified("one more"));
    let more = answers(more);
    assert_eq!((more.len(), more[0].question.as_str()), (ANSWERS_MAX + 1, ANSWERS_LEFT_OUT));
}
