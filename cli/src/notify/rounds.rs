//! A task of its own for each courier: a way that is slow or hangs holds up neither the other way nor the next look.
//!
//! Between the look and a courier is room for one round, which holds all that is so at the moment: a newer one takes the place
//! of one that was not begun, and a courier leaves an older one for it after the notification that it is at. A
//! notification that was in a round, was not delivered and is not true any more is dropped, counted and logged.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::{
    courier::Courier,
    round::{Round, Slot},
};

/// The couriers at work. They end when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Couriers {
    slots: Vec<(&'static str, Arc<Slot>)>,
    tasks: JoinSet<()>,
}

impl Couriers {
    /// Sets another one to work.
    pub(super) fn add(&mut self, courier: Courier) {
        let slot = Arc::new(Slot::default());
        self.slots.push((courier.way(), slot.clone()));
        self.tasks.spawn(work(courier, slot));
    }

    /// Gives each the newest round; waits for none.
    pub(super) fn tell(&self, round: Round) {
        let round = Arc::new(round);
        for (way, slot) in &self.slots {
            let dropped = slot.put(round.clone());
            if dropped > 0 {
                let so_far = slot.dropped();
                tracing::warn!(way, dropped, so_far, "notifications were not sent in the time in which they were so");
            }
        }
    }

    /// Waits until each has delivered what it can of the last round.
    pub(super) async fn finish(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    /// How many notifications were dropped, by way.
    #[cfg(test)]
    pub(super) fn dropped(&self) -> Vec<(&'static str, u64)> {
        self.slots.iter().map(|(way, slot)| (*way, slot.dropped())).collect()
    }
}

async fn work(mut courier: Courier, slot: Arc<Slot>) {
    loop {
        let round = slot.take().await;
        if round.is_last {
            courier.hurry();
        }
        courier.deliver(&round, &slot).await;
        if round.is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

    use holdpoint_protocol::view::FlightStatus;
    use holdpoint_runtime::webhook::Webhook;
    use tempfile::TempDir;
    use tokio::net::TcpListener;

    use super::{
        super::{event::Event, way::Way},
        *,
    };

    const SOON: Duration = Duration::from_secs(60);

    fn over(flight: &str) -> Event {
        Event::FlightOver { flight: flight.parse().unwrap(), status: FlightStatus::Accepted }
    }

    fn round(flights: &[&str], is_last: bool) -> Round {
        Round::new(flights.iter().map(|flight| over(flight)).collect(), Vec::new(), is_last)
    }

    /// A command that writes its input into the file `told`.
    fn command(dir: &Path) -> Courier {
        let program = dir.join("tell");
        fs::write(&program, "#!/bin/sh\ncat >> \"$1\"/told; echo >> \"$1\"/told\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (program, args) = (program.to_str().unwrap().to_owned(), vec![dir.to_str().unwrap().to_owned()]);
        Courier::new(Way::Command { program, args, timeout: SOON }, dir.join("notified.json"))
    }

    async fn told(dir: &Path, lines: usize) {
        let all_told = async {
            while fs::read_to_string(dir.join("told")).unwrap_or_default().lines().count() < lines {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(SOON, all_told).await.expect("the command is told");
    }

    #[tokio::test]
    async fn a_webhook_that_hangs_holds_up_no_later_round_of_the_command_and_what_it_misses_is_counted() {
        let dir = TempDir::new().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let webhook = Webhook::new(&url, None, SOON * 10).unwrap();
        let mut couriers = Couriers::default();
        couriers.add(command(dir.path()));
        couriers.add(Courier::new(Way::Webhook(Box::new(webhook)), dir.path().join("notified-webhook.json")));
        couriers.tell(round(&["f1"], false));
        // It is at the webhook, which never answers.
        let _hangs = tokio::time::timeout(SOON, listener.accept()).await.unwrap().unwrap();
        told(dir.path(), 1).await;
        couriers.tell(round(&["f1", "f2"], false));
        told(dir.path(), 2).await;
        couriers.tell(round(&["f1", "f3"], false));
        told(dir.path(), 3).await;
        assert_eq!(couriers.dropped(), [("notify.command", 0), ("notify.webhook", 1)], "f2 is not so any more");
    }

    #[tokio::test]
    async fn the_last_round_is_delivered_before_the_couriers_end() {
        let dir = TempDir::new().unwrap();
        let mut couriers = Couriers::default();
        couriers.add(command(dir.path()));
        couriers.tell(round(&["f1"], false));
        couriers.tell(round(&["f1", "f2", "f3"], true));
        tokio::time::timeout(SOON, couriers.finish()).await.unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("told")).unwrap().lines().count(), 3);
    }
}
