//! Whether a delivery was answered for good. A heartbeat after an answer with a delay would have the broker deliver again after the
//! acknowledgement wait instead.

use tokio::sync::Mutex;

/// The answer to one delivery.
#[derive(Debug, Default)]
pub(crate) struct Settled(Mutex<bool>);

impl Settled {
    /// No heartbeat goes out from now on; one that is on its way is there before the answer.
    pub(crate) async fn settle(&self) {
        *self.0.lock().await = true;
    }

    /// Sends a heartbeat, unless the delivery was answered.
    pub(crate) async fn beat<E>(&self, send: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        let settled = self.0.lock().await;
        if *settled { Ok(()) } else { send.await }
    }
}
