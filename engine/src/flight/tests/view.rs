//! What people are shown of a flight.

use super::*;

#[test]
fn the_view_shows_what_the_contract_asks_for() {
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &[]), waypoint("c", &["b"])]);
    fixture.accept("a");
    fixture.land("a");
    fixture.feed("b", Input::Open);
    fixture.build_ok("b");
    fixture.report("b", |r| r.criteria[0].result.verdict = Verdict::Fail).turn();
    let shown = serde_json::to_value(view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None)).unwrap();
    let landed = fixture.flight.landed[0].commit.to_string();
    assert_eq!(shown["status"], "running");
    assert_eq!((&shown["branch"], &shown["plan"]), (&"holdpoint/demo-1".into(), &"demo".into()));
    assert_eq!((&shown["base"], &shown["head"]), (&oid(0xa).to_string().into(), &landed.clone().into()));
    assert_eq!(shown["landings"].as_array().unwrap().len(), 1);
    assert_eq!(shown["brought_by"], shown["landings"]);
    let line = |n: usize| {
        let w = &shown["waypoints"][n];
        [&w["id"], &w["status"], &w["gate"], &w["disposition"], &w["reason_code"], &w["attempts"], &w["commit"]]
            .map(ToString::to_string)
            .join(" ")
    };
    assert_eq!(line(0), format!(r#""a" "complete" null "accept" "criteria_met" 1 "{landed}""#));
    assert_eq!(line(1), r#""b" "running" "build" "rework" "criteria_failed" 1 null"#);
    assert_eq!(line(2), r#""c" "pending" null null null 0 null"#);
    assert_eq!(shown["waypoints"][1]["criteria"][0]["verdict"], "fail");
    assert_eq!(shown["waypoints"][1]["criteria"][0]["evidence"].as_array().unwrap().len(), 1);
    let c = &shown["waypoints"][2];
    assert_eq!((&c["depends_on"], &c["waits_for"]), (&serde_json::json!(["b"]), &serde_json::json!(["b"])));
}

#[test]
fn the_view_says_when_something_happened_to_a_waypoint_last() {
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &[]), waypoint("c", &["b"])]);
    let shown = |fixture: &Fixture| {
        let view = view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None).unwrap();
        <[Option<Timestamp>; 3]>::try_from(view.waypoints.iter().map(|w| w.changed_at).collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(shown(&fixture), [None; 3]);
    let begin = fixture.now;
    fixture.feed("b", Input::Open);
    assert_eq!(shown(&fixture), [None, Some(begin), None]);
    fixture.now = begin.after(Duration::from_secs(7));
    fixture.accept("a");
    fixture.land("a");
    let [a, b, c] = shown(&fixture);
    assert!(a > b, "{a:?} {b:?}");
    assert_eq!((b, c), (Some(begin), None), "what happened to others does not count");
    let after = a.unwrap().after(Duration::from_secs(9));
    fixture.now = after;
    fixture.build_ok("b");
    assert_eq!(shown(&fixture), [a, Some(after), None]);
}

#[test]
fn the_view_counts_rollbacks_what_people_did_and_what_was_used() {
    let mut plan = plan(vec![waypoint("a", &[])]);
    plan.guards.push(guard());
    plan.policy.max_reworks = 1;
    plan.waypoints[0].budget.total.tokens = Some(1_000_000);
    let mut fixture = Fixture::new(plan, fleet());
    fixture.metered = Some(Box::new(Metered { tokens: Some(900), ..Metered::default() }));
    fixture.feed("a", Input::Open);
    fixture.report("a", |_| {}).turn();
    let red = |fixture: &mut Fixture| {
        fixture.build_ok("a").turn();
        fixture.report("a", |r| r.guards[0].result.verdict = Verdict::Fail)
    };
    red(&mut fixture).turn();
    red(&mut fixture).decided();
    fixture.retry("a", |retry| retry.reworks = 1).turn();
    let shown = view(&fixture.flight, &fixture.waypoints, None, Vec::new(), |_, _| None).unwrap();
    let [a] = &shown.waypoints[..] else { panic!("one waypoint") };
    assert_eq!((a.rollbacks, a.interventions, a.sent_back), (1, 1, 1));
    assert!(a.used.is_some_and(|used| used.tokens == 2 * 900), "{:?}", a.used);
}

#[test]
fn a_later_page_of_the_view_begins_behind_a_waypoint_and_has_the_lists_of_the_first_no_more() {
    let mut fixture = fixture(vec![waypoint("a", &[]), waypoint("b", &[]), waypoint("c", &["b"])]);
    fixture.accept("a");
    fixture.land("a");
    fixture.feed("b", Input::Open);
    let trouble = || {
        let (message, now) = ("disk full".to_owned(), fixture.now);
        vec![Trouble { waypoint: None, message, since: now, last: now, failures: 1 }]
    };
    let holder = |_: &WaypointId, _: &TurnId| Some("b1".parse().unwrap());
    let page = |after: Option<&str>| {
        let after = after.map(|after| after.parse().unwrap());
        view(&fixture.flight, &fixture.waypoints, after.as_ref(), trouble(), holder)
    };
    let first = page(None).unwrap();
    assert_eq!((first.waypoints.len(), first.landings.len(), first.trouble.len(), first.next), (3, 1, 1, None));
    assert_eq!(first.waypoints[1].turn.as_ref().unwrap().agent, Some("b1".parse().unwrap()));
    let later = page(Some("a")).unwrap();
    assert_eq!(later.waypoints, first.waypoints[1..]);
    assert_eq!((later.status, later.head), (first.status, first.head));
    assert_eq!((later.landings.len(), later.brought_by.len(), later.trouble.len()), (0, 0, 0));
    assert_eq!(page(Some("none")), None);
}
