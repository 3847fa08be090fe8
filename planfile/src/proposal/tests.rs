use holdpoint_protocol::testing::{id, proposing, waypoint};
use holdpoint_protocol::{ids::WaypointId, plan::Waypoint, proposal::PROPOSED_MAX, time::Millis};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::checkpoints::read_document;

fn changed(change: impl FnOnce(&mut ProposedWaypoint)) -> PlanProposal {
    let mut proposal = proposing(&[("a", &[]), ("b", &["a"])]);
    change(&mut proposal.waypoints[1]);
    proposal
}

#[test]
fn a_proposal_that_cannot_be_added_says_why() {
    let many: Vec<String> = (0..=PROPOSED_MAX).map(|n| format!("w{n}")).collect();
    let many: Vec<(&str, &[&str])> = many.iter().map(|key| (key.as_str(), [].as_slice())).collect();
    let scoped = ProposalBounds { scope: vec!["src/**".to_owned()], ..ProposalBounds::default() };
    let checked = ProposalBounds { checked: true, ..ProposalBounds::default() };
    let own = ProposalBounds::default();
    for (proposal, bounds, wrong) in [
        (PlanProposal::default(), &own, "the plan has no waypoints"),
        (proposing(&many), &own, "it has 65 waypoints, and the flight takes 64 more at most"),
        (proposing(&many), &ProposalBounds { waypoints: 3, ..own.clone() }, "takes 3 more at most"),
        (changed(|one| one.key = id("a")), &own, "there are two waypoints with the id `a`"),
        (changed(|one| one.criteria.clear()), &own, "waypoint `b` has no criteria"),
        (changed(|one| one.goal.clear()), &own, "waypoint `b` has no `goal`"),
        (changed(|one| one.depends_on = vec![id("c")]), &own, "depends on `c`, which is not in the plan"),
        (proposing(&[("a", &["b"]), ("b", &["a"])]), &own, "in a circle: a → b → a"),
        (changed(|one| one.scope = vec!["/x".to_owned()]), &own, "scope"),
        (changed(|one| one.scope = vec!["**".to_owned()]), &scoped, "`**` in the scope of `b` is outside"),
        (changed(|one| one.criteria[0].check.as_mut().unwrap().network = true), &own, "wants a network"),
        (changed(|one| one.criteria[0].check = None), &checked, "has no `check`, and nobody here judges"),
        (changed(|one| one.max_reworks = 1_001), &own, "max_reworks"),
    ] {
        let found = unsound(Some(&proposal), bounds).unwrap_or_default();
        assert!(found.contains(wrong), "{wrong}: {found}");
    }
    assert!(unsound(None, &own).unwrap().contains("there is no proposal"));
    for (sound, bounds) in [
        (changed(|_| {}), &own),
        (changed(|one| one.criteria[0].check = None), &own),
        (changed(|one| one.scope = vec!["src/a/**".to_owned()]), &scoped),
    ] {
        assert_eq!(unsound(Some(&sound), bounds), None);
    }
}

#[test]
fn each_rule_for_proposals_is_broken_by_its_own_fault() {
    use ProposalRule::{Acyclic, Atomic, Retries};
    let circle = proposing(&[("a", &["b"]), ("b", &["a"])]);
    for (proposal, expected) in [
        (changed(|_| {}), vec![]),
        (changed(|one| one.estimate = None), vec![Atomic]),
        (changed(|one| one.estimate = Some(Millis(3_600_000))), vec![Atomic]),
        (changed(|one| one.estimate = Some(Millis(3_599_999))), vec![]),
        (circle, vec![Acyclic]),
        (changed(|one| one.max_reworks = 0), vec![Retries]),
    ] {
        let of = |rule: &ProposalRule| broken(*rule, Some(&proposal)).is_some();
        assert_eq!([Atomic, Acyclic, Retries].into_iter().filter(of).collect::<Vec<_>>(), expected, "{proposal:?}");
    }
    assert!([Atomic, Acyclic, Retries].into_iter().all(|rule| broken(rule, None).is_some()));
}

#[test]
fn a_proposal_is_read_from_a_documents_front_matter_and_from_json_alike() {
    let text = "---\nproposal:\n  waypoints:\n    - key: a\n      goal: do it\n      estimate: 30m\n      criteria: [{id: c, check: make test}]\n\
                \x20   - {key: b, title: B, goal: do more, depends_on: [a], scope: [src/**], priority: high, max_reworks: 1, \
                criteria: [{id: c, statement: it holds}]}\n---\n# Plan\n";
    let written = read_document(text.as_bytes(), "d.md").unwrap();
    let proposal = written.proposal.unwrap();
    let [a, b] = proposal.waypoints.as_slice() else { panic!("two waypoints") };
    assert_eq!((a.title.as_str(), a.estimate, a.max_reworks), ("a", Some(Millis(1_800_000)), 3));
    assert_eq!((b.title.as_str(), &b.depends_on, b.max_reworks), ("B", &vec![id("a")], 1));
    let json = json!({"waypoints": [
        {"key": "a", "goal": "do it", "estimate": "30m", "criteria": [{"id": "c", "check": "make test"}]},
        {"key": "b", "title": "B", "goal": "do more", "depends_on": ["a"], "scope": ["src/**"], "priority": "high",
         "max_reworks": 1, "criteria": [{"id": "c", "statement": "it holds"}]},
    ]});
    assert_eq!(of_json(&json).unwrap(), proposal);
    let wrong = of_json(&json!({"waypoints": [{"goal": "x", "etimate": "1h"}]})).unwrap_err().render();
    assert!(wrong.contains("key") && wrong.contains("estimate"), "{wrong}");
    assert!(read_document(b"---\nproposal: soon\n---\n", "d.md").is_err());
}

fn named(parent: &str, before: usize, taken: &[&str]) -> Vec<Waypoint> {
    let proposal = proposing(&[("x", &[]), ("y", &["x"])]);
    children(&waypoint(parent, &[]), "task", &proposal, before, |id| taken.contains(&id.as_str()))
}

#[test]
fn children_are_named_after_their_parent_and_count_on() {
    let ids = |all: &[Waypoint]| all.iter().map(|one| one.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&named("w", 0, &[])), ["w_01", "w_02"]);
    assert_eq!(ids(&named("w", 2, &[])), ["w_03", "w_04"]);
    assert_eq!(ids(&named("w", 98, &["w_100"])), ["w_99", "w_101"]);
    let long = "p".repeat(64);
    assert_eq!(ids(&named(&long, 0, &[])), [1, 2].map(|n| format!("{}_0{n}", "p".repeat(58))));
    let [_, second] = named("w", 0, &[]).try_into().unwrap();
    assert_eq!((second.depends_on, second.workflow.as_deref()), (vec![id("w_01")], Some("task")));
    assert_eq!(second.max_reworks, Some(3));
}

#[test]
fn a_child_may_touch_no_more_than_its_parent() {
    let mut parent = waypoint("w", &[]);
    parent.scope = vec!["src/**".to_owned()];
    parent.protected = vec!["golden/**".to_owned()];
    parent.tags = vec!["api".to_owned()];
    let proposal = proposing(&[("x", &[])]);
    let [child] = children(&parent, "task", &proposal, 0, |_| false).try_into().unwrap();
    assert_eq!((child.scope, child.protected, child.tags), (parent.scope, parent.protected, parent.tags));
}

proptest! {
    #[test]
    fn children_of_any_proposal_have_names_of_their_own_and_depend_on_each_other_as_proposed(
        count in 1..20_usize,
        edges in prop::collection::vec((0..20_usize, 0..20_usize), 0..30),
        before in 0..2_000_usize,
    ) {
        let keys: Vec<String> = (0..count).map(|n| format!("k{n}")).collect();
        let mut proposal = proposing(&keys.iter().map(|key| (key.as_str(), [].as_slice())).collect::<Vec<_>>());
        for (from, to) in edges.into_iter().filter(|(from, to)| from < to && *to < count) {
            let key = proposal.waypoints[from].key.clone();
            if !proposal.waypoints[to].depends_on.contains(&key) {
                proposal.waypoints[to].depends_on.push(key);
            }
        }
        prop_assert_eq!(unsound(Some(&proposal), &ProposalBounds::default()), None);
        let made = children(&waypoint("w", &[]), "task", &proposal, before, |_| false);
        prop_assert_eq!(made.len(), count);
        let ids: std::collections::BTreeSet<&WaypointId> = made.iter().map(|one| &one.id).collect();
        prop_assert_eq!(ids.len(), count);
        for (child, proposed) in made.iter().zip(&proposal.waypoints) {
            let place = |key: &WaypointId| proposal.waypoints.iter().position(|one| one.key == *key).unwrap();
            let expected: Vec<WaypointId> = proposed.depends_on.iter().map(|key| made[place(key)].id.clone()).collect();
            prop_assert_eq!(&child.depends_on, &expected);
        }
    }
}
