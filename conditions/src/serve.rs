//! The side of the helper: being one. What it evaluates is [`crate::engine`]'s.

use std::io::{self, BufRead as _, Write as _};

use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    time::{ClockId, clock_gettime},
};

use crate::{ConditionAnswer, TIME_MAX, engine, message::Request};

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
    for line in io::stdin().lock().lines() {
        let Request { conditions, scope } = serde_json::from_str(&line?)?;
        let mut answers: Vec<ConditionAnswer> = Vec::with_capacity(conditions.len());
        for condition in &conditions {
            limit_processor_time()?;
            answers.push(engine::answer(condition, scope.as_deref()));
        }
        out.write_all(&serde_json::to_vec(&answers)?)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// The system ends this process when the next condition takes longer than the engine lets it, by a second or two, which is what
/// the system counts in: some calls cannot be interrupted.
fn limit_processor_time() -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let until = used.tv_sec.unsigned_abs() + TIME_MAX.as_secs() + 2;
    let hard = getrlimit(Resource::Cpu).maximum;
    let soft = hard.map_or(until, |hard| hard.min(until));
    Ok(setrlimit(Resource::Cpu, Rlimit { current: Some(soft), maximum: hard })?)
}
