//! The yardstick's part of a measurement.

use super::{ALONE, HandoffArgs, Measured, Sync, WARM_UP, share};
use crate::{
    BenchError, Host,
    error::Doing as _,
    usage::Snapshot,
    yardstick::{Connections, Step, Yardstick},
};

/// What the yardstick showed.
pub(super) struct Raw {
    /// With all that its far side does on one connection.
    pub(super) one: Measured,
    /// With a connection for each agent: the yardstick of record.
    pub(super) agents: Measured,
    /// One waypoint at a time, on one connection.
    pub(super) alone: Measured,
}

impl Raw {
    pub(super) async fn measure(
        args: &HandoffArgs,
        host: &Host,
        sync: Sync,
        steps: &[Step],
    ) -> Result<Self, BenchError> {
        let HandoffArgs { waypoints, concurrency, .. } = *args;
        let say = |what: &str| host.say(&format!("{}: the yardstick, {what}", sync.name()));
        say(&format!("{} messages a waypoint", steps.len()));
        let one = drive(host, sync, steps, Connections::One, (waypoints, concurrency)).await?;
        say("a connection per agent");
        // Builders and verifiers.
        let per_agent = Connections::PerAgent(2 * args.agents());
        let agents = drive(host, sync, steps, per_agent, (waypoints, concurrency)).await?;
        say("one waypoint at a time");
        let alone = drive(host, sync, steps, Connections::One, (share(waypoints, ALONE), 1)).await?;
        Ok(Self { one, agents, alone })
    }
}

/// Drives a yardstick of its own: so many waypoints, so many at once.
async fn drive(
    host: &Host,
    sync: Sync,
    steps: &[Step],
    connections: Connections,
    (waypoints, concurrency): (usize, usize),
) -> Result<Measured, BenchError> {
    const ACTION: &str = "read what processes use up";
    host.in_folder(async |dir| {
        let mut yardstick = Yardstick::start(host, dir, sync == Sync::Always, steps.to_vec(), connections).await?;
        yardstick.fly(share(waypoints, WARM_UP), concurrency).await?;
        let before = Snapshot::take(&yardstick.processes()).doing(ACTION)?;
        let sample = yardstick.fly(waypoints, concurrency).await?;
        let usage = before.since().doing(ACTION)?;
        yardstick.stop().await?;
        Ok(Measured { sample, usage })
    })
    .await
}
