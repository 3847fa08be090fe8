//! Every answer cut into pages comes out whole, and no page is longer than it may be.

use crate::{
    Digest, Timestamp,
    api::InboxKind,
    facts::{CriterionResult, Verdict},
    ids::WaypointId,
    state::Status,
    view::{FlightStatus, Trouble},
};
use proptest::{collection::vec, prelude::*};

use super::*;

/// A page here, so that the many that are tried take no time.
const LEN: usize = 8 << 10;

/// Titles, so that some pages have one waypoint, some have many, and an item is longer than a page now and then.
fn text() -> impl Strategy<Value = String> {
    let len = prop_oneof![6 => 0..20_usize, 3 => 500..4_000_usize, 1 => LEN..LEN + 10];
    // A control character is six bytes in JSON.
    (len, prop_oneof![Just("x"), Just("ü"), Just("\u{1}")]).prop_map(|(len, text)| text.repeat(len / text.len()))
}

fn waypoint(number: usize, title: String) -> WaypointView {
    let result = CriterionResult {
        id: "c".parse().unwrap(),
        verdict: Verdict::Pass,
        reason: None,
        evidence: vec![Digest::of(title.as_bytes())],
    };
    WaypointView {
        id: format!("w{number}").parse().unwrap(),
        title,
        status: Status::Pending,
        gate: None,
        disposition: None,
        reason_code: None,
        attempts: 0,
        sent_back: 0,
        commit: None,
        criteria: vec![result; number % 3],
        guards: Vec::new(),
        checkpoints: Vec::new(),
        foreign_receipt: None,
        self_checked: false,
        remediation: None,
        parent: None,
        depends_on: Vec::new(),
        waits_for: Vec::new(),
        rollbacks: 0,
        interventions: 0,
        used: None,
        block_reason: None,
        actions: Vec::new(),
        turn: None,
        branches: Vec::new(),
        changed_at: None,
    }
}

fn trouble(since: i64) -> Trouble {
    let (since, last) = (Timestamp::from_millis(since), Timestamp::from_millis(99));
    Trouble { waypoint: None, message: "no disk".to_owned(), since, last, failures: 1 }
}

fn view(titles: Vec<String>, troubles: Vec<i64>) -> FlightView {
    FlightView {
        flight: "f".parse().unwrap(),
        plan: "p".to_owned(),
        status: FlightStatus::Running,
        base: "a".repeat(40).parse().unwrap(),
        branch: "holdpoint/f".to_owned(),
        head: "a".repeat(40).parse().unwrap(),
        paused: false,
        submitted_at: None,
        waypoints: titles.into_iter().enumerate().map(|(number, title)| waypoint(number, title)).collect(),
        next: None,
        landings: Vec::new(),
        brought_by: Vec::new(),
        trouble: troubles.into_iter().map(trouble).collect(),
        trouble_left_out: 0,
        workflows: Vec::new(),
    }
}

/// The page of a view behind this waypoint, as an orchestrator makes it.
fn page(whole: &FlightView, after: Option<&WaypointId>) -> FlightView {
    let all = &whole.waypoints;
    let from = after.map_or(0, |after| all.iter().position(|waypoint| waypoint.id == *after).unwrap() + 1);
    let mut head = FlightView { waypoints: Vec::new(), ..whole.clone() };
    if after.is_some() {
        head.trouble.clear();
    }
    cut_view(head, all[from..].to_vec(), LEN)
}

/// Asks for page after page, as a client does; with the pages themselves.
fn read(whole: &FlightView) -> (FlightView, Vec<FlightView>) {
    let mut joined = page(whole, None);
    let mut pages = vec![joined.clone()];
    while let Some(next) = joined.next.clone() {
        let page = page(whole, Some(&next));
        pages.push(page.clone());
        join_view(&mut joined, page);
    }
    (joined, pages)
}

fn item(flight: usize, waypoint: usize, since: i64, question: String) -> InboxItem {
    InboxItem {
        waits_until: None,
        kind: InboxKind::Question,
        flight: format!("f{flight}").parse().unwrap(),
        waypoint: format!("w{waypoint}").parse().unwrap(),
        gate: None,
        taken_by: None,
        to: Vec::new(),
        context: Default::default(),
        since: Timestamp::from_millis(since),
        block_reason: None,
        question: Some(question),
        decision_context: None,
        options: Vec::new(),
        confidence: None,
        round: None,
        reason_code: None,
        remediation: None,
        evidence: Vec::new(),
        self_checked: false,
        doubts: Vec::new(),
        work: None,
        actions: Vec::new(),
        reference: "r".to_owned(),
    }
}

proptest! {
    #[test]
    fn the_pages_of_a_view_joined_are_the_view_and_none_is_too_long(titles in vec(text(), 0..40), troubles in 0..50_i64) {
        let whole = view(titles, (0..troubles).collect());
        let (joined, pages) = read(&whole);
        prop_assert!(joined == whole, "{} of {} waypoints", joined.waypoints.len(), whole.waypoints.len());
        for page in &pages {
            let len = serde_json::to_vec(page).unwrap().len();
            prop_assert!(len <= LEN || page.waypoints.len() == 1, "{len} bytes, {} waypoints", page.waypoints.len());
        }
        // A page that follows another has something that had no room there.
        for two in pages.windows(2) {
            let len = [&two[0], &two[1]].map(|page| serde_json::to_vec(page).unwrap().len());
            prop_assert!(len[0] + len[1] > LEN - REST_LEN, "pages of {len:?} bytes");
        }
    }

    #[test]
    fn the_pages_of_an_inbox_joined_are_all_that_waits_longest_first(
        waiting in vec((0..4_usize, 0..5_i64, text()), 0..40),
    ) {
        let mut all: Vec<InboxItem> = waiting
            .into_iter()
            .enumerate()
            .map(|(number, (flight, since, question))| item(flight, number, since, question))
            .collect();
        all.sort_by_key(InboxItem::place);
        let (mut joined, mut after) = (Vec::new(), None);
        loop {
            let of_flight = |flight: usize| {
                let id: FlightId = format!("f{flight}").parse().unwrap();
                let behind = |item: &&InboxItem| after.as_ref().is_none_or(|after| item.place() > *after);
                let items = all.iter().filter(|item| item.flight == id).filter(behind).cloned();
                Page::of(items, LEN)
            };
            let page = cut_inbox((0..4).map(of_flight).collect(), LEN);
            let len = serde_json::to_vec(&page).unwrap().len();
            prop_assert!(len <= LEN + REST_LEN || page.items.len() == 1, "{len} bytes, {} items", page.items.len());
            prop_assert!(page.next.is_none() || !page.items.is_empty());
            joined.extend(page.items);
            let Some(next) = page.next else { break };
            after = Some(next);
        }
        prop_assert!(joined == all, "{} of {}", joined.len(), all.len());
    }
}

#[test]
fn many_troubles_are_the_oldest_and_a_count() {
    let whole = view(vec![String::new()], (0..70).rev().collect());
    let page = of_view(FlightView { waypoints: Vec::new(), ..whole.clone() }, whole.waypoints);
    assert_eq!((page.trouble.len(), page.trouble_left_out), (TROUBLES_MAX, 20));
    let since = |n: i64| Timestamp::from_millis(n);
    assert_eq!((page.trouble[0].since, page.trouble[TROUBLES_MAX - 1].since), (since(0), since(49)));
    assert!(serde_json::to_vec(&page).unwrap().len() <= PAGE_LEN);
}

#[test]
fn a_page_without_waypoints_is_the_last_whatever_it_says() {
    let mut joined = view(vec![String::new()], Vec::new());
    let empty = FlightView { waypoints: Vec::new(), next: Some("w0".parse().unwrap()), ..joined.clone() };
    join_view(&mut joined, empty);
    assert_eq!((joined.next, joined.waypoints.len()), (None, 1));
}

#[test]
fn flights_are_read_on_behind_the_last_one_and_not_behind_one_that_is_not_there() {
    let line = |number: usize| FlightLine {
        flight: format!("f{number}").parse().unwrap(),
        plan: "p".repeat(4_000),
        submitted_at: Timestamp::from_millis(0),
        status: FlightStatus::Running,
        paused: false,
    };
    let all: Vec<FlightLine> = (0..1_000).map(line).collect();
    let (mut read, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = of_flights(all.clone(), after.as_ref()).unwrap();
        assert!(serde_json::to_vec(&page).unwrap().len() <= PAGE_LEN);
        read.extend(page.flights);
        pages += 1;
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!((read == all, pages), (true, 4));
    assert_eq!(of_flights(all, Some(&"none".parse().unwrap())), None);
}
