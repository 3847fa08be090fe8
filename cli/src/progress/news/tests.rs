use super::*;
use crate::view::tests::flight;

const NOW: i64 = 1_800_000_000_000;

fn running(agent: Option<&str>, purpose: Purpose, role: &str) -> FlightView {
    let mut view = flight();
    view.waypoints.truncate(1);
    let waypoint = &mut view.waypoints[0];
    waypoint.status = Status::Running;
    waypoint.disposition = None;
    waypoint.reason_code = None;
    waypoint.commit = None;
    waypoint.attempts = 0;
    waypoint.criteria.clear();
    waypoint.turn = Some(TurnView {
        turn: format!("turn-{role}").parse().unwrap(),
        role: role.parse().unwrap(),
        purpose,
        opened_at: Timestamp::from_millis(NOW),
        deadline: Timestamp::from_millis(NOW + 1_000_000),
        agent: agent.map(|name| name.parse().unwrap()),
    });
    view
}

fn texts(tracker: &mut Tracker, view: &FlightView, after_ms: i64) -> Vec<String> {
    tracker.update(view, Timestamp::from_millis(NOW + after_ms)).into_iter().map(|news| news.text).collect()
}

#[test]
fn a_turn_is_told_once_with_its_agent() {
    let mut tracker = Tracker::default();
    assert!(texts(&mut tracker, &running(None, Purpose::Build, "builder"), 10).is_empty());
    let held = running(Some("builder-1"), Purpose::Build, "builder");
    assert_eq!(texts(&mut tracker, &held, 300), ["building  attempt 1  builder-1"]);
    assert!(texts(&mut tracker, &held, 600).is_empty());
    assert!(
        texts(&mut tracker, &running(None, Purpose::Build, "builder"), 9_000).is_empty(),
        "the holder was forgotten"
    );
    let taken_over = running(Some("builder-2"), Purpose::Build, "builder");
    assert_eq!(texts(&mut tracker, &taken_over, 9_300), ["building  attempt 1  builder-2"]);
}

#[test]
fn a_turn_that_nobody_takes_is_told_after_a_while() {
    let mut tracker = Tracker::default();
    let waiting = running(None, Purpose::Build, "builder");
    assert!(texts(&mut tracker, &waiting, 2_999).is_empty());
    assert_eq!(texts(&mut tracker, &waiting, 3_000), ["waits for a builder"]);
    assert!(texts(&mut tracker, &waiting, 3_300).is_empty());
}

#[test]
fn verifications_say_what_they_are_for() {
    for (purpose, expected) in [
        (VerificationPurpose::Baseline, "checking the base  v"),
        (VerificationPurpose::Handoff, "verifying  v"),
        (VerificationPurpose::Merge, "verifying the merge  v"),
    ] {
        let view = running(Some("v"), Purpose::Verify(purpose), "verifier");
        assert_eq!(texts(&mut Tracker::default(), &view, 0), [expected]);
    }
}

#[test]
fn a_rework_names_what_is_red_and_who_is_next() {
    let mut tracker = Tracker::default();
    let mut view = running(Some("repair-1"), Purpose::Build, "repair");
    let waypoint = &mut view.waypoints[0];
    waypoint.disposition = Some(Disposition::Rework);
    waypoint.reason_code = Some(ReasonCode::CriteriaFailed);
    waypoint.attempts = 1;
    waypoint.criteria = flight().waypoints[1].criteria.clone();
    let news = tracker.update(&view, Timestamp::from_millis(NOW));
    assert_eq!(news[0].text, "rework (criteria_failed): repair takes the next turn");
    assert_eq!(news[0].red[0].text, "✗ unit");
    assert_eq!(news[0].red[0].reason, Some("exit_code"));
    assert!(news[0].red[0].evidence.is_some());
    assert_eq!(news[1].text, "repairing  attempt 2  repair-1");
    assert!(tracker.update(&view, Timestamp::from_millis(NOW)).is_empty());
    view.waypoints[0].attempts = 2;
    assert_eq!(tracker.update(&view, Timestamp::from_millis(NOW)).len(), 1, "the same verdict again is news");
}

#[test]
fn ends_are_told_with_commit_or_remedy() {
    let news = Tracker::default().update(&flight(), Timestamp::from_millis(NOW));
    let texts: Vec<&str> = news.iter().map(|news| news.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "accept (criteria_met): ✓ unit",
            "landed as bbbbbbbbbb",
            "escalate (not_red): a person has to look at it",
            "blocked: make the check red first",
        ]
    );
}
