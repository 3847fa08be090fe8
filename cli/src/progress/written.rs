//! When the branch is written while a flight goes on: not at each landing of a flight that lands several a second, because each time
//! starts half a dozen processes of git. How it is written is not said here.

use std::time::Duration;

use holdpoint_protocol::{
    facts::Oid,
    view::{FlightStatus, FlightView, WaypointView},
};
use tokio::time::Instant;

/// How long after it was written the branch stays as it is while nobody has to look at it.
const REST: Duration = Duration::from_secs(2);

/// The head that was written last, or tried, and when.
#[derive(Debug, Default)]
pub(super) struct Written(Option<(Oid, Instant)>);

impl Written {
    /// Whether something has landed that is to be written now; it counts as written then. It is at once where a person is waited for,
    /// who may want to look at it, and when the flight is over.
    pub(super) fn is_due(&mut self, view: &FlightView, now: Instant) -> bool {
        let is_new = view.head != view.base && self.0.as_ref().is_none_or(|(head, _)| *head != view.head);
        let may_be_looked_at =
            view.status != FlightStatus::Running || view.waypoints.iter().any(WaypointView::needs_people);
        let rests = self.0.as_ref().is_some_and(|(_, at)| now.duration_since(*at) < REST);
        let is_due = is_new && (may_be_looked_at || !rests);
        if is_due {
            self.0 = Some((view.head.clone(), now));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::state::Status;

    use super::*;
    use crate::view::tests::flight;

    fn landed(digit: char) -> FlightView {
        let mut view = flight();
        view.status = FlightStatus::Running;
        view.waypoints.iter_mut().for_each(|waypoint| waypoint.status = Status::Running);
        view.head = digit.to_string().repeat(40).parse().unwrap();
        view
    }

    #[test]
    fn the_first_landing_is_written_at_once_and_further_ones_after_a_rest() {
        let (mut written, begin) = (Written::default(), Instant::now());
        let base = FlightView { head: landed('c').base, ..landed('c') };
        assert!(!written.is_due(&base, begin), "nothing has landed");
        assert!(written.is_due(&landed('c'), begin));
        assert!(!written.is_due(&landed('d'), begin + REST / 2));
        assert!(written.is_due(&landed('d'), begin + REST));
        assert!(!written.is_due(&landed('d'), begin + 9 * REST), "it is written");
    }

    #[test]
    fn what_a_person_may_look_at_is_written_at_once() {
        let (mut written, begin) = (Written::default(), Instant::now());
        assert!(written.is_due(&landed('c'), begin));
        let mut waits = landed('d');
        waits.waypoints[0].status = Status::Waiting;
        assert!(written.is_due(&waits, begin));
        let over = FlightView { status: FlightStatus::Accepted, ..landed('e') };
        assert!(written.is_due(&over, begin) && !written.is_due(&over, begin));
    }
}
