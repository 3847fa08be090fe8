//! One thing that is due: an entry in one journal follows from those of another.

use holdpoint_protocol::ids::{TurnId, WaypointId};

/// One thing that is due.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Due {
    /// An accepted commit is based on the head: append its landing.
    Land(WaypointId),
    /// Work on its way to the branch is based on an older head, or waits: merge it with the head, and have that verified.
    Merge(WaypointId),
    /// Work is the next in the queue: merge it with the last entry, and have that verified.
    Stack(WaypointId),
    /// What a kept report's work was integrated with has landed: the report counts.
    Judge(WaypointId),
    /// The turn's deadline has passed.
    Deadline(WaypointId, TurnId),
    /// The open question got no answer in time.
    Unanswered(WaypointId),
    /// The flight's wall budget is used up.
    Budget(WaypointId),
    /// It is to have children, which are not added yet.
    Delegate(WaypointId),
    /// All children that it waits for are complete.
    Gather(WaypointId),
    /// It is a child that its parent does not want any more.
    Recall(WaypointId),
    /// A person ended the flight, and this waypoint is not over.
    Cancel(WaypointId),
    /// It is at a gate that is gone, or whose turn is another role's, by the workflows of today.
    Migrate(WaypointId),
    /// The votes of the fork that it is in decide.
    Join(WaypointId),
    /// Its dependencies are complete and there is room: open its first turn. Or a branch of its fork has no turn yet.
    Open(WaypointId),
}

impl Due {
    /// The waypoint that it is about.
    #[must_use]
    pub fn waypoint(&self) -> &WaypointId {
        match self {
            Self::Land(waypoint)
            | Self::Merge(waypoint)
            | Self::Stack(waypoint)
            | Self::Judge(waypoint)
            | Self::Deadline(waypoint, _)
            | Self::Unanswered(waypoint)
            | Self::Budget(waypoint)
            | Self::Delegate(waypoint)
            | Self::Gather(waypoint)
            | Self::Recall(waypoint)
            | Self::Cancel(waypoint)
            | Self::Migrate(waypoint)
            | Self::Join(waypoint)
            | Self::Open(waypoint) => waypoint,
        }
    }
}
