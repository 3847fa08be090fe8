//! Held work that is tried again, and with it what is held for the same cause: agents that can work again can do so for all of it.

use holdpoint_protocol::{
    api::InboxItem,
    artifact::{Act, Retry, RetryBody, Verb},
    ids::{FlightId, WaypointId},
};

use crate::{
    client::{Client, is_passing},
    failure::Failure,
    people::{
        act::{About, perform},
        words,
    },
};

/// What is held for the same cause as this waypoint, and can be tried again. Nothing where nobody answers: the act on the waypoint
/// itself is stored nevertheless.
pub(crate) async fn held_with(
    client: &Client,
    flight: &FlightId,
    waypoint: &WaypointId,
) -> Result<Vec<InboxItem>, Failure> {
    match client.inbox(Some(flight)).await {
        Ok(items) => Ok(others(&items, waypoint)),
        Err(error) if is_passing(&error) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn others(items: &[InboxItem], waypoint: &WaypointId) -> Vec<InboxItem> {
    let held: Vec<&InboxItem> = items.iter().filter(|item| item.waypoint == *waypoint).collect();
    let is_with = |item: &&InboxItem| {
        item.waypoint != *waypoint
            && item.actions.contains(&Verb::Retry)
            && held.iter().any(|first| first.waits_with(item))
    };
    items.iter().filter(is_with).cloned().collect()
}

/// Has them tried again, one signed act each; what became of it, in a sentence. What somebody else has had tried again meanwhile is left.
pub(crate) async fn all(client: &Client, items: &[InboxItem]) -> Option<String> {
    let mut again: Vec<&WaypointId> = Vec::new();
    let mut refused = Vec::new();
    for item in items {
        let about = About { flight: item.flight.clone(), waypoint: Some(item.waypoint.clone()) };
        let agent = client.bus().name().clone();
        let body = RetryBody { agent, on: Some(item.reference.clone()), from: None, reworks: 0, note: None };
        match perform(client, &about, &Act::Retry(Box::new(Retry::new(about.origin(), body)))).await {
            Ok(()) => again.push(&item.waypoint),
            Err(failure) => refused.push(format!("{}: {}", item.waypoint, failure.message())),
        }
    }
    let freed =
        (!again.is_empty()).then(|| format!("also tried again, as the same held it: {}", words::waypoints(&again)));
    let all: Vec<String> = freed.into_iter().chain(refused).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{api::InboxKind, reason::ReasonCode};

    use super::*;
    use crate::people::words::tests::question;

    #[test]
    fn what_the_agents_of_the_same_gate_hold_is_tried_again_with_the_waypoint_that_is_named() {
        let held = |waypoint: &str, gate: &str| InboxItem {
            kind: InboxKind::Held,
            waypoint: waypoint.parse().unwrap(),
            gate: Some(gate.parse().unwrap()),
            reason_code: Some(ReasonCode::NotExecutable),
            actions: vec![Verb::Retry],
            ..question()
        };
        let all = [
            held("a", "build"),
            held("b", "build"),
            held("c", "review"),
            InboxItem { reason_code: Some(ReasonCode::AttemptsExhausted), ..held("d", "build") },
            InboxItem { actions: Vec::new(), ..held("e", "build") },
            held("f", "build"),
        ];
        let with = |named: &str| -> Vec<String> {
            others(&all, &named.parse().unwrap()).into_iter().map(|item| item.waypoint.to_string()).collect()
        };
        assert_eq!(with("a"), ["b", "f"]);
        assert_eq!(with("f"), ["a", "b"]);
        assert_eq!([with("c"), with("d"), with("x")], [const { Vec::<String>::new() }; 3]);
    }
}
