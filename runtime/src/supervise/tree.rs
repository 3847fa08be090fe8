//! A whole tree of actors, as its process sees it.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use ractor::{Actor as _, ActorRef, SpawnErr};
use tokio::task::JoinHandle;

use super::{
    child::Child,
    supervisor::{Meltdown, Msg, Supervisor, SupervisorArgs},
};

/// A running tree. Dropping it kills it at once, in the middle of whatever it does: nothing may depend on an orderly end.
#[derive(Debug)]
pub struct Tree {
    root: ActorRef<Msg>,
    ended: JoinHandle<()>,
    meltdown: Arc<OnceLock<Meltdown>>,
}

impl Tree {
    /// Starts a root supervisor with these children.
    ///
    /// # Errors
    /// The root itself could not be started. A child that does not start is restarted.
    pub async fn start(children: Vec<Child>) -> Result<Self, SpawnErr> {
        let meltdown = Arc::new(OnceLock::new());
        let args = SupervisorArgs { children, meltdown: meltdown.clone() };
        let (root, ended) = Supervisor::spawn(None, Supervisor, args).await?;
        Ok(Self { root, ended, meltdown })
    }

    /// Asks all children to take no more work and to end. An actor that is not done after `deadline` and a short grace
    /// is killed.
    pub fn drain(&self, deadline: Duration) {
        // Fails only when the tree has ended.
        let _ = self.root.cast(Msg::Drain(deadline));
    }

    /// Waits for the end of the tree. May be cancelled and called again, but not after it returned.
    ///
    /// # Errors
    /// [`Meltdown`] when it ended because a child's restarts were used up.
    pub async fn ended(&mut self) -> Result<(), Meltdown> {
        // The task of an actor does not panic: ractor catches that.
        let _ = (&mut self.ended).await;
        match self.meltdown.get() {
            Some(meltdown) => Err(meltdown.clone()),
            None => Ok(()),
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // ractor spares children that are draining when it kills their supervisor.
        for child in self.root.get_children() {
            child.kill();
        }
        self.root.kill();
    }
}
