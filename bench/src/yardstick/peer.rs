//! The far side: pulls, publishes what follows, acknowledges.

use std::sync::Arc;

use async_nats::jetstream::{self, Message, consumer::pull};
use bytes::Bytes;
use futures::{StreamExt as _, future};
use holdpoint_sandbox::service;

use super::{BATCH_LEN, PEER, STREAM, Step, YardstickSpec, parse, subject};
use crate::{BenchError, error::Doing as _};

/// Serves until the process that started this one is gone.
pub(crate) async fn serve(spec: YardstickSpec) -> Result<(), BenchError> {
    let mut messages = messages(&spec.url, PEER).await?.1;
    let steps: Arc<[Step]> = spec.steps.into();
    let pulling = async {
        while let Some(Ok(message)) = messages.next().await {
            tokio::spawn(answer(message, steps.clone()));
        }
    };
    tokio::select! {
        () = service::starter_gone() => Ok(()),
        () = pulling => Err(BenchError::failed("pull messages of the yardstick", "the flow of messages broke")),
    }
}

/// A connection of its own, and what this consumer is given.
pub(super) async fn messages(url: &str, consumer: &str) -> Result<(jetstream::Context, pull::Stream), BenchError> {
    const ACTION: &str = "open a consumer of the yardstick";
    let client = async_nats::connect(url).await.doing(ACTION)?;
    let jetstream = jetstream::new(client);
    let stream = jetstream.get_stream(STREAM).await.doing(ACTION)?;
    let consumer = stream.get_consumer::<pull::Config>(consumer).await.doing(ACTION)?;
    let messages = consumer.stream().max_messages_per_batch(BATCH_LEN).messages().await.doing(ACTION)?;
    Ok((jetstream, messages))
}

/// A failure leaves the message unacknowledged; the driver then waits in vain and says so.
async fn answer(message: Message, steps: Arc<[Step]>) {
    let Some((step, waypoint)) = parse(&message.subject) else { return };
    let Some(Step { then, .. }) = steps.get(step) else { return };
    let stored = then.iter().map(|next| publish(&message.context, &steps, *next, waypoint));
    if future::try_join_all(stored).await.is_ok() {
        let _ = message.double_ack().await;
    }
}

/// Publishes and awaits the acknowledgement.
pub(super) async fn publish(
    jetstream: &jetstream::Context,
    steps: &[Step],
    step: usize,
    waypoint: &str,
) -> Result<(), jetstream::context::PublishError> {
    let len = steps.get(step).map_or(0, |step| step.len);
    let payload = Bytes::from(vec![b'x'; len]);
    jetstream.publish(subject(steps, step, waypoint), payload).await?.await.map(drop)
}
