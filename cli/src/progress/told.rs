//! What happens in a flight as lines of JSON, for scripts.

use holdpoint_protocol::{
    Timestamp,
    view::{FlightView, WaypointView},
};
use serde_json::{Value, json};

use super::{board, news::News};

/// Something that happened to a waypoint, and how that stands now.
pub(super) fn transition(view: &FlightView, news: &News, now: Timestamp) -> Value {
    let waypoint = view.waypoints.iter().find(|waypoint| waypoint.id == news.waypoint);
    let of = |field: fn(&WaypointView) -> Value| waypoint.map_or(Value::Null, field);
    let red = news.red.iter().map(
        |red| json!({"id": red.id, "reason": red.reason, "evidence": red.evidence, "verdict": red.verdict.as_str()}),
    );
    json!({
        "event": "transition", "at": now, "flight": view.flight, "waypoint": news.waypoint, "text": news.text,
        "status": of(|w| json!(w.status)), "gate": of(|w| json!(w.gate)), "attempts": of(|w| json!(w.attempts)),
        "disposition": of(|w| json!(w.disposition)), "reason_code": of(|w| json!(w.reason_code)),
        "commit": of(|w| json!(w.commit)), "turn": of(|w| json!(w.turn)), "red": red.collect::<Vec<_>>(),
    })
}

/// How the flight stands, where nothing has happened for a while.
pub(super) fn heartbeat(view: &FlightView, now: Timestamp) -> Value {
    json!({"event": "heartbeat", "at": now, "flight": view.flight, "status": view.status, "text": board::summary(view, now)})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{progress::news::Tracker, view::tests::flight};

    #[test]
    fn an_event_has_the_words_and_how_the_waypoint_stands() {
        let (view, now) = (flight(), Timestamp::from_millis(0));
        let events: Vec<Value> =
            Tracker::default().update(&view, now).iter().map(|news| transition(&view, news, now)).collect();
        let landed = events.iter().find(|event| event["text"] == "landed as bbbbbbbbbb").unwrap();
        assert_eq!((&landed["event"], &landed["waypoint"]), (&json!("transition"), &json!("one")));
        assert_eq!((&landed["status"], &landed["attempts"]), (&json!("complete"), &json!(1)));
        let held = events.iter().find(|event| event["waypoint"] == "two").unwrap();
        assert_eq!((&held["status"], &held["red"][0]["verdict"]), (&json!("blocked"), &json!("fail")));
        assert!(heartbeat(&view, now)["text"].as_str().unwrap().starts_with("1/2 landed"));
    }
}
