//! Processes that evaluate conditions, and which of them stay for the next ones.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use holdpoint_sandbox::{AnsweringTool, Confinement, Limit, Tool, ToolAnswer, ToolError};
use tokio::{task::JoinHandle, time::Instant};

use crate::{ConditionAnswer, ConditionFailure, message::Request, serve};

/// Bytes of address space. The engine has its own bound far below. Limits are set right after the start, when our allocator may have
/// reserved a GiB already.
const ADDRESS_SPACE_MAX: u64 = 4 << 30;
/// Time in which a request is answered, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of all answers: failures are short.
const ANSWERS_LEN_MAX: usize = 1 << 20;
/// Processor time of a process in its whole life. Each condition has a limit of its own far below ([`serve`]).
const LIFE_MAX: Duration = Duration::from_secs(20);
/// Requests to one process; then it is replaced, so that nothing adds up in it.
const REQUESTS_MAX: u32 = 1_000;
/// Processes that stay.
pub(crate) const KEPT_MAX: usize = 4;
/// For how long one stays that nobody asks.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(60);
/// Processes that evaluate something at the same time: further requests wait, in the order in which they came.
pub(crate) const RUNNING_MAX: usize = 4;

/// A process that evaluates conditions of one owner. It is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Evaluator {
    process: AnsweringTool,
    answered: u32,
}

/// How a request went.
#[derive(Debug)]
pub(crate) enum Evaluated {
    /// Each condition by itself.
    Answers(Vec<ConditionAnswer>),
    /// One of them ended the process.
    Ended(ConditionFailure),
}

impl Evaluator {
    /// Starts one.
    pub(crate) async fn start(program: &Path) -> Result<Self, ToolError> {
        let confinement = Confinement {
            read: Vec::new(),
            write: Vec::new(),
            memory_bytes: ADDRESS_SPACE_MAX,
            cpu: LIFE_MAX,
            file_bytes: 0,
        };
        let tool = Tool::new(program).arg(serve::ARG).confined(confinement);
        let process = tool.timeout(PATIENCE).output_cap(ANSWERS_LEN_MAX).answering().await?;
        Ok(Self { process, answered: 0 })
    }

    /// Whether it has answered as often as one process may.
    pub(crate) fn is_done(&self) -> bool {
        self.answered >= REQUESTS_MAX
    }

    /// Asks it. `None` in place of the evaluator: something went over its bounds, and it is gone.
    pub(crate) async fn ask(mut self, request: &Request) -> Result<(Evaluated, Option<Self>), ToolError> {
        let line = serde_json::to_vec(request).expect("texts and JSON are written without fail");
        let said = match self.process.ask(&line).await {
            Err(ToolError::OverLimit { limit: Limit::ProcessorTime(_), .. }) => {
                return Ok((Evaluated::Ended(ConditionFailure::Time), None));
            }
            other => other?,
        };
        self.answered += 1;
        let answers = match said {
            ToolAnswer::Line(line) => serde_json::from_slice::<Vec<ConditionAnswer>>(&line).ok(),
            ToolAnswer::Ended => None,
        };
        let Some(answers) = answers.filter(|answers| answers.len() == request.conditions.len()) else {
            return Ok((Evaluated::Ended(ConditionFailure::Memory), None));
        };
        let stays = !answers.iter().any(ConditionAnswer::is_over_bounds);
        Ok((Evaluated::Answers(answers), stays.then_some(self)))
    }
}

/// What stays for the next requests, each by its owner and since when: the one that was used last stands last.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    all: VecDeque<(String, Instant, T)>,
    /// Drops what nobody asked for long.
    sweeper: Option<JoinHandle<()>>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { all: VecDeque::new(), sweeper: None }
    }
}

impl<T> Kept<T> {
    /// Takes one of this owner out.
    pub(crate) fn take(&mut self, owner: &str) -> Option<T> {
        let at = self.all.iter().rposition(|(of, _, _)| of == owner)?;
        self.all.remove(at).map(|(_, _, one)| one)
    }

    /// Puts one in. Where there are too many, the one that waited longest is dropped.
    pub(crate) fn put(&mut self, owner: &str, one: T, now: Instant) {
        if self.all.len() >= KEPT_MAX {
            self.all.pop_front();
        }
        self.all.push_back((owner.to_owned(), now, one));
    }

    /// Drops what has waited since then or longer. Since when the next one waits; `None`: nothing is left.
    fn sweep(&mut self, since: Option<Instant>) -> Option<Instant> {
        while let Some((_, waits, _)) = self.all.front() {
            if since.is_none_or(|since| *waits > since) {
                return Some(*waits);
            }
            self.all.pop_front();
        }
        None
    }
}

impl<T: Send + 'static> Kept<T> {
    /// Puts one in that is dropped once nobody asked for it for `idle`.
    pub(crate) fn put_for(kept: &Arc<Mutex<Self>>, owner: &str, one: T, idle: Duration) {
        let mut all = locked(kept);
        all.put(owner, one, Instant::now());
        if all.sweeper.as_ref().is_none_or(JoinHandle::is_finished) {
            // It holds nothing: what stays goes with its helper.
            all.sweeper = Some(tokio::spawn(swept(Arc::downgrade(kept), idle)));
        }
    }
}

/// Sweeps until nothing is left.
async fn swept<T>(kept: Weak<Mutex<Kept<T>>>, idle: Duration) {
    loop {
        let next = {
            let Some(kept) = kept.upgrade() else { return };
            let mut kept = locked(&kept);
            let next = kept.sweep(Instant::now().checked_sub(idle));
            if next.is_none() {
                // The next one put in begins another sweep.
                kept.sweeper = None;
            }
            next
        };
        let Some(since) = next else { return };
        tokio::time::sleep_until(since + idle).await;
    }
}

/// What is behind a lock, also after a panic.
pub(crate) fn locked<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_its_owners_and_the_longest_unused_goes_first() {
        let (mut kept, now) = (Kept::default(), Instant::now());
        for n in 0..KEPT_MAX {
            kept.put(&format!("flight-{n}"), n, now);
        }
        assert_eq!((kept.take("flight-0"), kept.take("flight-0"), kept.take("nobody")), (Some(0), None, None));
        kept.put("flight-0", 10, now);
        kept.put("another", 11, now);
        assert_eq!((kept.take("flight-1"), kept.take("flight-0"), kept.take("another")), (None, Some(10), Some(11)));
        assert_eq!(kept.all.len(), KEPT_MAX - 2);
    }

    #[test]
    fn what_nobody_asked_for_long_is_swept_and_nothing_else() {
        let (mut kept, start) = (Kept::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(kept.sweep(Some(at(9))), None);
        for (owner, seconds) in [("one", 1), ("two", 2), ("three", 3)] {
            kept.put(owner, owner, at(seconds));
        }
        assert_eq!(kept.sweep(None), Some(at(1)), "the machine has not run for that long");
        let one = kept.take("one").unwrap();
        kept.put("one", one, at(4));
        assert_eq!(kept.sweep(Some(at(2))), Some(at(3)));
        assert_eq!((kept.take("two"), kept.take("three"), kept.take("one")), (None, Some("three"), Some("one")));
    }
}
