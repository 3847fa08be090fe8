//! Asking a fleet that runs for agents of more roles: the follower of reloads asks, and the fleet answers between two
//! looks at its processes.

use holdpoint_protocol::ids::RoleId;
use tokio::sync::{mpsc, oneshot};

use crate::failure::Failure;

/// Asks. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Recruiter(mpsc::Sender<Wanted>);

/// Roles that are wanted, each with whether its turns make work.
#[derive(Debug)]
pub(super) struct Wanted {
    roles: Vec<(RoleId, bool)>,
    answer: oneshot::Sender<Result<Vec<RoleId>, Failure>>,
}

impl Recruiter {
    pub(super) fn new() -> (Self, mpsc::Receiver<Wanted>) {
        let (sender, wanted) = mpsc::channel(1);
        (Self(sender), wanted)
    }

    /// Has the fleet start agents for those of these roles that have none. Returns the roles for which it has no program; all
    /// is as it was where the fleet ends meanwhile.
    pub(crate) async fn take_up(&self, roles: Vec<(RoleId, bool)>) -> Result<Vec<RoleId>, Failure> {
        let (answer, answered) = oneshot::channel();
        if roles.is_empty() || self.0.send(Wanted { roles, answer }).await.is_err() {
            return Ok(Vec::new());
        }
        answered.await.unwrap_or(Ok(Vec::new()))
    }
}

impl Wanted {
    pub(super) fn roles(&self) -> &[(RoleId, bool)] {
        &self.roles
    }

    pub(super) fn answer(self, taken: Result<Vec<RoleId>, Failure>) {
        // Nobody waits for it any more.
        let _ = self.answer.send(taken);
    }
}
