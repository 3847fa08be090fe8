use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::Verb,
};

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
        attempt: 1,
        opened_at: Timestamp::from_millis(NOW),
        deadline: Timestamp::from_millis(NOW + 1_000_000),
        agent: agent.map(|name| name.parse().unwrap()),
        overdue: 0,
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
    waypoint.turn.as_mut().unwrap().attempt = 2;
    waypoint.criteria = flight().waypoints[1].criteria.clone();
    let news = tracker.update(&view, Timestamp::from_millis(NOW));
    assert_eq!(news[0].text, "rework (criteria_failed): repair takes the next turn");
    assert_eq!((news[0].red[0].mark, news[0].red[0].id.as_str()), ("✗", "unit"));
    assert_eq!(news[0].red[0].reason, Some(CriterionReason::ExitCode));
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
            "blocked: make the check red\\u{1b}[2J first",
        ]
    );
}

#[test]
fn what_a_person_cancelled_calls_for_nobody() {
    let mut view = flight();
    view.waypoints.remove(0);
    view.waypoints[0].status = Status::Cancelled;
    view.waypoints[0].remediation = None;
    let news = Tracker::default().update(&view, Timestamp::from_millis(NOW));
    let told: Vec<_> = news.iter().map(|news| (news.text.as_str(), news.waits)).collect();
    assert_eq!(told, [("cancelled", false)]);
}

/// An entry that sent the work back for the so-manieth time, because of these verdicts.
fn sent_back(times: u32, reason: &str, verdict: &str) -> HistoryLine {
    let mut turn: serde_json::Value =
        serde_json::from_str(include_str!("../../../../protocol/golden/turn.json")).unwrap();
    turn["decision"]["disposition"] = "rework".into();
    turn["decision"]["reason_code"] = reason.into();
    turn["request"]["feedback"]["reason_code"] = reason.into();
    turn["request"]["feedback"]["notes"] = serde_json::json!(["it says\n\u{1b}[1mwhy"]);
    let state = &mut turn["record"]["state"];
    state["counters"]["reworks"] = times.into();
    state["counters"]["conflicts"] = 0.into();
    state["guards"] = serde_json::json!([]);
    state["criteria"][0]["verdict"] = verdict.into();
    let at = Timestamp::from_millis(NOW);
    HistoryLine {
        at,
        kind: "turn".to_owned(),
        reference: format!("HP_JOURNAL/{times}"),
        artifact: turn,
        standing: None,
    }
}

fn accepted(sent_back: u32) -> FlightView {
    let mut view = flight();
    view.waypoints.truncate(1);
    view.waypoints[0].attempts = sent_back + 1;
    view.waypoints[0].sent_back = sent_back;
    view
}

#[test]
fn a_rework_between_two_looks_is_told_from_the_history() {
    let mut tracker = Tracker::since(None);
    let building = running(Some("builder-1"), Purpose::Build, "builder");
    assert!(tracker.gaps(&building).is_empty());
    texts(&mut tracker, &building, 300);

    let gaps = tracker.gaps(&accepted(2));
    assert_eq!(gaps.len(), 1);
    let history = vec![
        sent_back(1, "criteria_failed", "fail"),
        sent_back(2, "agent_failed", "fail"),
        sent_back(3, "agent_failed", "fail"),
    ];
    let news = tracker.fill(&gaps[0], history);
    let told: Vec<(&str, usize)> = news.iter().map(|news| (news.text.as_str(), news.red.len())).collect();
    let expected = [
        ("rework (criteria_failed): repair takes the next turn", 1),
        ("rework (agent_failed): repair takes the next turn", 0),
    ];
    assert_eq!(told, expected, "with what was red, once; what the view does not know yet comes with the next");
    texts(&mut tracker, &accepted(2), 600);
    assert!(tracker.gaps(&accepted(2)).is_empty());
}

#[test]
fn a_rework_that_the_view_shows_itself_is_told_once() {
    let mut tracker = Tracker::since(None);
    let mut view = running(Some("repair-1"), Purpose::Build, "repair");
    view.waypoints[0].disposition = Some(Disposition::Rework);
    view.waypoints[0].reason_code = Some(ReasonCode::CriteriaFailed);
    view.waypoints[0].sent_back = 1;
    assert!(tracker.gaps(&view).is_empty(), "nothing was missed");
    view.waypoints[0].sent_back = 2;
    let gaps = tracker.gaps(&view);
    let history = vec![sent_back(1, "criteria_failed", "fail"), sent_back(2, "criteria_failed", "fail")];
    assert_eq!(tracker.fill(&gaps[0], history).len(), 1, "the other one is in the view");
}

#[test]
fn an_unsigned_entry_is_no_decision_and_the_past_of_a_flight_that_is_joined_is_not_told() {
    let mut forged = sent_back(1, "criteria_failed", "fail");
    forged.standing = Some(Standing::Unsigned);
    let mut tracker = Tracker::since(None);
    let gaps = tracker.gaps(&accepted(1));
    assert!(tracker.fill(&gaps[0], vec![forged]).is_empty());
    assert!(Tracker::since(Some(&accepted(5))).gaps(&accepted(5)).is_empty());
}

#[test]
fn an_acceptance_after_a_missed_conflict_is_told_again_and_one_that_only_was_merged_again_is_not() {
    let mut tracker = Tracker::since(None);
    let mut view = accepted(0);
    view.waypoints[0].commit = None;
    view.waypoints[0].status = Status::Running;
    assert_eq!(texts(&mut tracker, &view, 0), ["accept (criteria_met): ✓ unit"]);

    view.waypoints[0].sent_back = 1;
    let gaps = tracker.gaps(&view);
    assert!(tracker.fill(&gaps[0], Vec::new()).is_empty(), "merged anew: nobody decided");
    assert!(texts(&mut tracker, &view, 300).is_empty());

    view.waypoints[0].sent_back = 2;
    let gaps = tracker.gaps(&view);
    assert_eq!(tracker.fill(&gaps[0], vec![sent_back(2, "merge_conflict", "pass")]).len(), 1);
    assert_eq!(texts(&mut tracker, &view, 600), ["accept (criteria_met): ✓ unit"]);
}

#[test]
fn a_rework_that_is_done_already_names_nobody_as_next() {
    let mut view = running(Some("v"), Purpose::Verify(VerificationPurpose::Handoff), "verifier");
    view.waypoints[0].disposition = Some(Disposition::Rework);
    view.waypoints[0].reason_code = Some(ReasonCode::CriteriaFailed);
    view.waypoints[0].sent_back = 1;
    assert_eq!(texts(&mut Tracker::since(None), &view, 0), ["rework (criteria_failed)", "verifying  v"]);
}

#[test]
fn a_failed_turn_is_told_with_its_own_words_and_without_them_if_they_cannot_be_had() {
    let mut view = running(Some("repair-1"), Purpose::Build, "repair");
    view.waypoints[0].disposition = Some(Disposition::Rework);
    view.waypoints[0].reason_code = Some(ReasonCode::AgentFailed);
    view.waypoints[0].sent_back = 1;
    let rework = "rework (agent_failed): repair takes the next turn";
    for history in [vec![sent_back(1, "agent_failed", "pass")], Vec::new()] {
        let mut tracker = Tracker::since(None);
        let gaps = tracker.gaps(&view);
        let news = tracker.fill(&gaps[0], history.clone());
        let told: Vec<(&str, usize)> = news.iter().map(|news| (news.text.as_str(), news.notes.len())).collect();
        assert_eq!(told, if history.is_empty() { vec![] } else { vec![(rework, 2)] });
        let after = texts(&mut tracker, &view, 0);
        assert_eq!(after.contains(&rework.to_owned()), history.is_empty(), "once: {after:?}");
        assert!(tracker.gaps(&view).is_empty());
    }
}

#[test]
fn a_question_that_waits_in_its_turn_is_told_each_time_one_opens() {
    let mut tracker = Tracker::default();
    let turn = running(Some("builder-1"), Purpose::Build, "builder");
    assert_eq!(texts(&mut tracker, &turn, 10), ["building  attempt 1  builder-1"]);
    let mut asks = turn.clone();
    let waypoint = &mut asks.waypoints[0];
    (waypoint.disposition, waypoint.reason_code) = (Some(Disposition::Escalate), Some(ReasonCode::ClarificationOpen));
    let mut answered = asks.clone();
    asks.waypoints[0].actions = vec![Verb::Answer, Verb::Cancel];
    answered.waypoints[0].actions = vec![Verb::Cancel];
    for _ in 0..2 {
        let news = tracker.update(&asks, Timestamp::from_millis(NOW));
        assert_eq!(
            news.iter().map(|news| (news.text.as_str(), news.waits)).collect::<Vec<_>>(),
            [("asks, and waits for the answer in its turn", true)]
        );
        assert!(texts(&mut tracker, &asks, 20).is_empty());
        assert!(texts(&mut tracker, &answered, 30).is_empty(), "the turn goes on");
    }
}

/// Work whose turn nobody answered in time: it is this role's now, in this turn.
fn passed_on(status: Status, role: &str, remediation: Option<&str>) -> FlightView {
    let mut view = running(None, Purpose::Build, role);
    let waypoint = &mut view.waypoints[0];
    waypoint.status = status;
    waypoint.disposition = Some(Disposition::Escalate);
    waypoint.reason_code = Some(ReasonCode::GateTimeout);
    waypoint.remediation = remediation.map(str::to_owned);
    view
}

#[test]
fn each_role_that_a_turn_goes_on_to_is_told() {
    let mut tracker = Tracker::default();
    let told = |tracker: &mut Tracker, view: &FlightView| texts(tracker, view, 0);
    let senior = passed_on(Status::Running, "senior", None);
    assert_eq!(told(&mut tracker, &senior), ["escalate (gate_timeout): senior takes the next turn"]);
    let chief = passed_on(Status::Running, "chief", None);
    assert_eq!(told(&mut tracker, &chief), ["escalate (gate_timeout): chief takes the next turn"]);
    let lead = passed_on(Status::Waiting, "lead", Some("it is lead's now"));
    assert_eq!(told(&mut tracker, &lead), ["waiting: it is lead's now"]);
    assert!(told(&mut tracker, &lead).is_empty());
    let director = passed_on(Status::Waiting, "director", Some("it is director's now"));
    assert_eq!(told(&mut tracker, &director), ["waiting: it is director's now"]);
    let mut taken = passed_on(Status::Waiting, "director", None);
    taken.waypoints[0].turn.as_mut().unwrap().turn = "turn-taken".parse().unwrap();
    taken.waypoints[0].turn.as_mut().unwrap().agent = Some("human-ada".parse().unwrap());
    assert!(told(&mut tracker, &taken).is_empty(), "its person knows");
}

#[test]
fn a_turn_that_is_offered_to_the_same_role_again_says_why() {
    let mut view = running(None, Purpose::Build, "builder");
    for (overdue, expected) in [
        (1, "waits for a builder: nobody answered its turn in time, and it is open once more"),
        (3, "waits for a builder: nobody answered its turn in time, 3 times, and it is open once more"),
    ] {
        view.waypoints[0].turn.as_mut().unwrap().overdue = overdue;
        assert_eq!(texts(&mut Tracker::default(), &view, 3_000), [expected]);
    }
}
