//! Handoffs that refer to blobs which are not stored. Senders store those first, so a blob that is not there is late, lost, or
//! was never sent: the handoff waits for it, but not for ever.

use holdpoint_admission::intake::is_hopeless;
use holdpoint_protocol::{refusal::RefusalCode, subjects::HandoffSubject};
use holdpoint_runtime::{clock, telemetry::ErrorChain};

use super::{State, handoff::give_back};
use crate::{intake::Taken, refusals};

impl State {
    /// Reports to the sender what is missing and looks at the handoff again later; or refuses it, when it has waited
    /// for long enough. `code` says what is missing, and `what` that it is.
    pub(super) async fn lacks(
        &mut self,
        received: &Taken,
        subject: &HandoffSubject,
        code: RefusalCode,
        what: &str,
        error: &(dyn std::error::Error + Sync),
    ) {
        self.handoff_failed(&subject.waypoint, error);
        let wait = self.shell.blob_wait;
        if is_hopeless(received.stored.time, clock::now(), received.delivery, wait) {
            let what = format!("not stored within {} s: {}", wait.as_secs(), ErrorChain(error));
            return self.refuse(received, subject, RefusalCode::NeverStored, &what).await;
        }
        refusals::tell(&self.shell, received, code, &format!("{what} yet: {}", ErrorChain(error))).await;
        give_back(received, subject).await;
    }
}
