//! The far side: pulls, publishes what follows, acknowledges.

use std::{sync::Arc, time::Duration};

use async_nats::jetstream::{
    self, Message,
    consumer::{PullConsumer, pull},
};
use bytes::Bytes;
use futures::{StreamExt as _, future};
use holdpoint_sandbox::service;
use tokio::task::JoinSet;

use super::{BATCH_LEN, Connections, PEER, STREAM, Step, YardstickSpec, parse, subject};
use crate::{BenchError, error::Doing as _};

const PULL: &str = "pull messages of the yardstick";
/// How long a pull waits at the broker.
const PULL_WAIT: Duration = Duration::from_secs(30);

/// Serves until the process that started this one is gone.
pub(crate) async fn serve(spec: YardstickSpec) -> Result<(), BenchError> {
    let steps: Arc<[Step]> = spec.steps.into();
    let mut serving = JoinSet::new();
    match spec.connections {
        Connections::One => drop(serving.spawn(all_at_once(spec.url, steps))),
        Connections::PerAgent(agents) => {
            (0..agents).for_each(|_| drop(serving.spawn(one_at_a_time(spec.url.clone(), steps.clone()))));
        }
    }
    tokio::select! {
        () = service::starter_gone() => Ok(()),
        Some(ended) = serving.join_next() => match ended.doing(PULL)? {
            Ok(()) => Err(BenchError::failed(PULL, "the flow of messages broke")),
            Err(error) => Err(error),
        },
    }
}

async fn all_at_once(url: String, steps: Arc<[Step]>) -> Result<(), BenchError> {
    let mut messages = messages(&url, PEER).await?.1;
    while let Some(Ok(message)) = messages.next().await {
        tokio::spawn(answer(message, steps.clone()));
    }
    Ok(())
}

async fn one_at_a_time(url: String, steps: Arc<[Step]>) -> Result<(), BenchError> {
    let (_, consumer) = consumer(&url, PEER).await?;
    loop {
        let mut batch = consumer.batch().max_messages(1).expires(PULL_WAIT).messages().await.doing(PULL)?;
        while let Some(message) = batch.next().await {
            match message {
                Ok(message) => answer(message, steps.clone()).await,
                Err(error) => return Err(BenchError::failed(PULL, error.to_string())),
            }
        }
    }
}

/// A connection of its own, and the consumer.
async fn consumer(url: &str, name: &str) -> Result<(jetstream::Context, PullConsumer), BenchError> {
    const ACTION: &str = "open a consumer of the yardstick";
    let client = async_nats::connect(url).await.doing(ACTION)?;
    let jetstream = jetstream::new(client);
    let stream = jetstream.get_stream(STREAM).await.doing(ACTION)?;
    let consumer = stream.get_consumer::<pull::Config>(name).await.doing(ACTION)?;
    Ok((jetstream, consumer))
}

/// A connection of its own, and what this consumer is given.
pub(super) async fn messages(url: &str, name: &str) -> Result<(jetstream::Context, pull::Stream), BenchError> {
    let (jetstream, consumer) = consumer(url, name).await?;
    let messages = consumer.stream().max_messages_per_batch(BATCH_LEN).messages().await.doing(PULL)?;
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
