//! The side of the helper: being one. What it evaluates is [`crate::engine`]'s.

use std::{
    io::{self, BufRead as _, Write as _},
    time::Duration,
};

use nix::{
    sys::{
        signal::{SigEvent, SigevNotify, Signal},
        timer::{Expiration, Timer, TimerSetTimeFlags},
    },
    time::ClockId,
};

use crate::{ConditionAnswer, TIME_MAX, engine, message::Request};

/// Processor time after which the system ends a process whose condition the engine cannot interrupt: a native call does not
/// end for it.
const KILLED_AFTER: Duration = TIME_MAX.saturating_add(Duration::from_millis(20));

/// The argument under which an executable of ours becomes the helper.
pub(crate) const ARG: &str = "__conditions";

/// Becomes the helper if this process was started as one; returns otherwise.
///
/// Every executable that evaluates conditions calls this in `main`, before any thread and any runtime.
pub fn maybe_run() {
    if std::env::args_os().nth(1).is_some_and(|arg| arg == ARG) {
        std::process::exit(i32::from(serve().is_err()));
    }
}

/// A line of answers for each line that asks, until nobody asks any more.
fn serve() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut timer = timer()?;
    for line in io::stdin().lock().lines() {
        let Request { conditions, scope } = serde_json::from_str(&line?)?;
        let mut answers: Vec<ConditionAnswer> = Vec::with_capacity(conditions.len());
        for condition in &conditions {
            set(&mut timer, KILLED_AFTER)?;
            answers.push(engine::answer(condition, scope.as_deref()));
        }
        set(&mut timer, Duration::ZERO)?;
        out.write_all(&serde_json::to_vec(&answers)?)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// Counts this process's time, and ends it as a limit of the system does.
fn timer() -> io::Result<Timer> {
    let signal = SigevNotify::SigevSignal { signal: Signal::SIGXCPU, si_value: 0 };
    Ok(Timer::new(ClockId::CLOCK_PROCESS_CPUTIME_ID, SigEvent::new(signal))?)
}

/// The process ends when it has used so much more; none: not at all.
fn set(timer: &mut Timer, more: Duration) -> io::Result<()> {
    Ok(timer.set(Expiration::OneShot(more.into()), TimerSetTimeFlags::empty())?)
}
