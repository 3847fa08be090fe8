//! Reading ractor's events: how a child ended.

use ractor::{ActorId, SupervisionEvent};

use super::budget::Exit;
use crate::telemetry::ErrorChain;

/// What ractor gives as the reason of an actor that was killed.
const KILLED: &str = "killed";

/// The end of a child.
#[derive(Debug)]
pub struct ChildEnd {
    /// Which child.
    pub actor: ActorId,
    /// In order or not.
    pub exit: Exit,
    /// In words.
    pub cause: String,
}

impl ChildEnd {
    /// The end that an event reports; `None` for any other event.
    ///
    /// A child that was killed while it was idle still brings its state along, so that alone does not make an end
    /// orderly.
    #[must_use]
    pub fn of(event: &SupervisionEvent) -> Option<Self> {
        match event {
            SupervisionEvent::ActorTerminated(cell, state, reason) => {
                let cause = reason.clone().unwrap_or_else(|| "ended".to_owned());
                let exit = if state.is_some() && cause != KILLED { Exit::Normal } else { Exit::Failed };
                Some(Self { actor: cell.get_id(), exit, cause })
            }
            SupervisionEvent::ActorFailed(cell, error) => {
                let cause = ErrorChain(error.as_ref()).to_string();
                Some(Self { actor: cell.get_id(), exit: Exit::Failed, cause })
            }
            _ => None,
        }
    }
}
