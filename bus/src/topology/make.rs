//! Making a stream while somebody else makes the same one.

use std::time::Duration;

use async_nats::jetstream::{context::CreateStreamError, stream::Config};
use tokio::{
    select,
    time::{sleep, timeout},
};

use crate::Bus;

/// How long a stream may take before it is looked for.
const LOOK_AFTER: Duration = Duration::from_millis(500);
/// How long such a look may take.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// Makes or changes a stream. Of two who make the same one at once, a cluster answers one: the other looks whether it is there and led,
/// and asks again. Nobody answers for a stream without a leader.
pub(super) async fn stream(bus: &Bus, config: &Config) -> Result<(), CreateStreamError> {
    let asked = || bus.jetstream().create_or_update_stream(config.clone());
    select! {
        made = asked() => made.map(drop),
        () = is_there(bus, &config.name) => asked().await.map(drop),
    }
}

/// Waits until a stream is there, and led.
async fn is_there(bus: &Bus, name: &str) {
    loop {
        sleep(LOOK_AFTER).await;
        if let Ok(Ok(found)) = timeout(LOOK_MAX, bus.jetstream().get_stream(name)).await
            && found.cached_info().cluster.as_ref().is_none_or(|cluster| cluster.leader.is_some())
        {
            return;
        }
    }
}
