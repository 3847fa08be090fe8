//! Whether a program still comes on: its output, and what it asks over its line (RETRY-3).

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use holdpoint_sandbox::Tap;
use tokio::time::{Instant, sleep, sleep_until};

use super::book::Draft;
use crate::{
    ask::{DeclaredPlan, Desk, Planning, Recording, Storing, TurnEnding, Waiting},
    backend::{markers::HelpCall, question::ValidQuestion},
    live::Live,
    meter::RunMeter,
};

/// How often it is looked whether a question still waits.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Watches one run of a program; cheap to clone.
#[derive(Debug, Clone)]
pub struct Stall {
    limit: Option<Duration>,
    shown: Option<Tap>,
    seen: Arc<Seen>,
    meter: Option<RunMeter>,
}

#[derive(Debug)]
struct Seen {
    last: Mutex<Instant>,
    waiting: AtomicUsize,
    stuck: AtomicBool,
}

impl Stall {
    /// Watches from now on; without a limit nothing is ever stuck.
    #[must_use]
    pub fn new(limit: Option<Duration>) -> Self {
        let last = Mutex::new(Instant::now());
        Self {
            limit,
            shown: None,
            seen: Arc::new(Seen { last, waiting: AtomicUsize::new(0), stuck: AtomicBool::new(false) }),
            meter: None,
        }
    }

    /// Shows the output that it watches to this tap as well.
    #[must_use]
    pub fn showing(self, shown: Option<Tap>) -> Self {
        Self { shown, ..self }
    }

    /// Ends the program as well when it reaches a limit.
    #[must_use]
    pub fn metered(self, meter: RunMeter) -> Self {
        Self { meter: Some(meter), ..self }
    }

    /// Whether the program reached a limit.
    #[must_use]
    pub fn has_reached_limit(&self) -> bool {
        self.meter.as_ref().is_some_and(RunMeter::is_reached)
    }

    /// The program did something.
    pub fn saw(&self) {
        *self.seen.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// After how long without a sign it is stuck.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// What sees the program's output, and shows it to another tap as well.
    #[must_use]
    pub fn tap(&self, other: Option<Tap>) -> Tap {
        let stall = self.clone();
        Tap::new(move |stream, bytes| {
            stall.saw();
            if let Some(meter) = &stall.meter {
                meter.saw(stream, bytes);
            }
            for tap in [&other, &stall.shown].into_iter().flatten() {
                tap.see(stream, bytes);
            }
        })
    }

    /// Whether the program was found stuck.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.seen.stuck.load(Ordering::Relaxed)
    }

    /// Comes back once the program is to be ended: it is stuck, reached a limit, or only repeats what is refused.
    pub async fn over(self) {
        match self.meter.clone() {
            None => self.stuck().await,
            Some(meter) => tokio::select! {
                () = self.stuck() => {}
                () = meter.over() => {}
            },
        }
    }

    /// Comes back once the program is stuck. While a question of it waits for an answer it is not.
    async fn stuck(self) {
        let Some(limit) = self.limit else { return std::future::pending().await };
        loop {
            let until = *self.seen.last.lock().unwrap_or_else(PoisonError::into_inner) + limit;
            if self.seen.waiting.load(Ordering::Relaxed) > 0 {
                sleep(LOOK_EVERY.min(limit)).await;
            } else if until <= Instant::now() {
                self.seen.stuck.store(true, Ordering::Relaxed);
                return;
            } else {
                sleep_until(until).await;
            }
        }
    }

    fn pause(&self) -> Paused<'_> {
        self.seen.waiting.fetch_add(1, Ordering::Relaxed);
        Paused(self)
    }
}

/// A question waits as long as this lives.
struct Paused<'a>(&'a Stall);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.saw();
        self.0.seen.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A desk at which a program that waits is not stuck.
pub struct Patiently<'a> {
    /// Where its questions wait.
    pub desk: &'a dyn Desk,
    /// What watches it.
    pub stall: Stall,
}

impl Desk for Patiently<'_> {
    fn patience_max(&self) -> Duration {
        self.desk.patience_max()
    }

    fn ask(&self, question: ValidQuestion, patience: Duration) -> Waiting<'_> {
        Box::pin(async move {
            let _paused = self.stall.pause();
            self.desk.ask(question, patience).await
        })
    }

    fn calls_for_help(&self, call: HelpCall) -> Recording<'_> {
        self.desk.calls_for_help(call)
    }

    fn over(&self) -> TurnEnding<'_> {
        self.desk.over()
    }

    fn live(&self) -> Live {
        self.desk.live()
    }

    fn keep(&self, output: Vec<u8>) -> Storing<'_> {
        self.desk.keep(output)
    }

    fn plan<'b>(&'b self, plan: &'b DeclaredPlan) -> Planning<'b> {
        self.desk.plan(plan)
    }

    fn record(&self, draft: Draft) -> Recording<'_> {
        self.desk.record(draft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(300);

    #[tokio::test(start_paused = true)]
    async fn a_program_is_stuck_when_it_says_nothing_for_as_long_as_the_limit() {
        let stall = Stall::new(Some(LIMIT));
        let watched = tokio::spawn(stall.clone().stuck());
        for _ in 0..3 {
            sleep(LIMIT - Duration::from_secs(1)).await;
            assert!(!stall.is_stuck());
            stall.saw();
        }
        watched.await.unwrap();
        assert!(stall.is_stuck());
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_whose_question_waits_is_not_stuck() {
        let stall = Stall::new(Some(LIMIT));
        let watched = tokio::spawn(stall.clone().stuck());
        let paused = stall.pause();
        sleep(3 * LIMIT).await;
        assert!(!stall.is_stuck());
        drop(paused);
        let before = Instant::now();
        watched.await.unwrap();
        assert!(before.elapsed() >= LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_nothing_is_stuck() {
        let stall = Stall::new(None);
        assert!(tokio::time::timeout(10 * LIMIT, stall.clone().stuck()).await.is_err() && !stall.is_stuck());
    }
}
