//! What a program uses up, and the limit at which it is ended (FLY-32).
//!
//! Time and output are measured. Everything else is the program's own word, read from its output while it runs.
//! `holdpoint_engine::budget::metering` decides what follows from amounts.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use holdpoint_engine::budget::price::Price;
use holdpoint_protocol::{
    artifact::{Failure, Metered},
    budget::{Allowance, Amounts, Limits, Unmetered},
    reason::ReasonCode,
};
use holdpoint_sandbox::OutputStream;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::dialect::{AgentUsage, Continuation, Dialect, DialectReader, Said};

/// Watches what one run of a program uses up; cheap to clone.
#[derive(Debug, Clone)]
pub struct RunMeter(Arc<Watched>);

#[derive(Debug)]
struct Watched {
    limits: Limits,
    price: Option<Price>,
    since: Instant,
    until: Option<Instant>,
    /// `None`: it prints nothing that can be read while it runs.
    reader: Option<Mutex<DialectReader>>,
    printed: AtomicU64,
    reached: AtomicBool,
    /// The program only repeats what is refused.
    hopeless: AtomicBool,
    wake: Notify,
}

impl RunMeter {
    /// Watches a run, in this conversation if in any, that may use up what the limits say. Tokens have this price where the program
    /// names no cost.
    #[must_use]
    pub fn new((dialect, price): (Dialect, Option<Price>), before: Option<&Continuation>, limits: Limits) -> Self {
        let reader = (!dialect.is_plain()).then(|| Mutex::new(DialectReader::new(dialect, before)));
        let until = limits.wall_ms.map(|wall| Instant::now() + Duration::from_millis(wall));
        let (printed, reached) = (AtomicU64::new(0), AtomicBool::new(limits.is_used_up()));
        let (since, hopeless) = (Instant::now(), AtomicBool::new(false));
        Self(Arc::new(Watched { limits, price, since, until, reader, printed, reached, hopeless, wake: Notify::new() }))
    }

    /// The program printed this.
    pub fn saw(&self, stream: OutputStream, bytes: &[u8]) {
        let watched = &*self.0;
        let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let output_bytes = watched.printed.fetch_add(count, Ordering::Relaxed).saturating_add(count);
        let mut used = Amounts { output_bytes, ..Amounts::default() };
        if let Some(reader) = watched.reader.as_ref().filter(|_| stream == OutputStream::Stdout) {
            let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.push(bytes);
            let said = reader.said();
            let Said { usage, tool_calls, .. } = said;
            used.tokens = usage.as_ref().map(AgentUsage::total).unwrap_or_default();
            used.cost_micro_usd = said.cost(watched.price).unwrap_or_default();
            used.tool_calls = tool_calls.unwrap_or_default();
            if said.only_repeats() {
                watched.hopeless.store(true, Ordering::Relaxed);
                watched.wake.notify_waiters();
            }
        }
        if watched.limits.is_reached(used) {
            self.reach();
        }
    }

    /// What the run used up so far, as far as it is known.
    #[must_use]
    pub fn so_far(&self) -> Metered {
        let watched = &*self.0;
        let reader = watched.reader.as_ref().map(|reader| reader.lock().unwrap_or_else(PoisonError::into_inner));
        let said = reader.map(|reader| reader.said().clone().priced(watched.price)).unwrap_or_default();
        let metered = metered(&said, watched.since.elapsed(), watched.printed.load(Ordering::Relaxed));
        Metered { incomplete: true, ..metered }
    }

    /// Whether a limit was reached.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.0.reached.load(Ordering::Relaxed)
    }

    /// Comes back once the program is to be ended: a limit is reached, or it only repeats what is refused.
    pub async fn over(&self) {
        loop {
            let woken = self.0.wake.notified();
            if self.is_reached() || self.0.hopeless.load(Ordering::Relaxed) {
                return;
            }
            match self.0.until {
                None => woken.await,
                Some(until) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(until) => self.reach(),
                },
            }
        }
    }

    fn reach(&self) {
        self.0.reached.store(true, Ordering::Relaxed);
        self.0.wake.notify_waiters();
    }
}

/// Why a program that speaks this dialect, and whose tokens have this price, is not run: it would not report what is limited.
///
/// # Errors
/// The failure of the turn.
pub fn can_be_metered(
    allowance: Option<&Allowance>,
    (dialect, price): (Dialect, Option<Price>),
) -> Result<(), Failure> {
    let Some(Allowance { limits, unmetered: Unmetered::Refuse, .. }) = allowance else { return Ok(()) };
    let reports = match dialect {
        Dialect::Plain => Limits::default(),
        Dialect::Codex | Dialect::Gemini => Limits { cost_micro_usd: price.map(|_| u64::MAX), ..reports_all() },
        // Tokens and cost are not asked of every agent.
        Dialect::Acp => Limits { tokens: None, cost_micro_usd: None, ..reports_all() },
        Dialect::Claude => reports_all(),
    };
    let names = [("tokens", limits.tokens, reports.tokens), ("tool calls", limits.tool_calls, reports.tool_calls)];
    let cost = [("cost", limits.cost_micro_usd, reports.cost_micro_usd)];
    let missing = names.into_iter().chain(cost).find(|(_, limit, reported)| limit.is_some() && reported.is_none());
    let Some((what, ..)) = missing else { return Ok(()) };
    let detail =
        format!("no program was run: it does not report its {what}, which the plan limits (`unmetered: refuse`)");
    Err(Failure { reason: ReasonCode::Unsupported, detail })
}

fn reports_all() -> Limits {
    let any = Some(u64::MAX);
    Limits { tokens: any, cost_micro_usd: any, tool_calls: any, output_bytes: any, wall_ms: any }
}

/// What one run used up, by its own word as far as it is not measured.
#[must_use]
pub fn metered(said: &Said, wall: Duration, output_bytes: u64) -> Metered {
    let Said { usage, cost_micro_usd, estimated, tool_calls, .. } = said;
    let least = said.used_nothing().then_some(0);
    Metered {
        wall: wall.into(),
        output_bytes,
        tokens: usage.as_ref().map(AgentUsage::total).or(least),
        usage: usage.map(Into::into),
        cost_usd: None,
        cost_micro_usd: cost_micro_usd.or(least),
        estimated: *estimated,
        tool_calls: tool_calls.or(least),
        incomplete: !said.finished && least.is_none(),
    }
}

/// What a turn used up in which no program was run.
#[must_use]
pub fn nothing() -> Metered {
    Metered { tokens: Some(0), cost_micro_usd: Some(0), tool_calls: Some(0), ..Metered::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"type":"assistant","message":{"id":"m","model":"x","usage":{"input_tokens":60,"output_tokens":1},"content":[{"type":"tool_use","name":"Bash","input":{}}]}}"#;

    fn limits(tokens: Option<u64>, tool_calls: Option<u64>) -> Limits {
        Limits { tokens, tool_calls, ..Limits::default() }
    }

    #[test]
    fn a_program_reaches_a_limit_by_what_it_says_while_it_runs() {
        for (limits, reached) in [
            (limits(Some(61), None), true),
            (limits(Some(62), None), false),
            (limits(None, Some(1)), true),
            (limits(None, Some(2)), false),
            (Limits { output_bytes: Some(10), ..Limits::default() }, true),
        ] {
            let meter = RunMeter::new((Dialect::Claude, None), None, limits);
            meter.saw(OutputStream::Stdout, format!("{CALL}\n").as_bytes());
            assert_eq!(meter.is_reached(), reached, "{limits:?}");
        }
        let plain = RunMeter::new((Dialect::Plain, None), None, limits(Some(1), None));
        plain.saw(OutputStream::Stdout, CALL.as_bytes());
        assert!(!plain.is_reached(), "what is not read cannot be limited");
    }

    #[test]
    fn tokens_without_a_cost_have_the_configured_price_and_the_cost_says_that_it_is_an_estimate() {
        const DONE: &[u8] =
            br#"{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":0,"output_tokens":100}}"#;
        let price: Price = serde_json::from_str(r#"{"input": 1, "output": 10}"#).unwrap();
        let cost = |limit| Limits { cost_micro_usd: Some(limit), ..Limits::default() };
        for (price, limit, reached) in [(Some(price), 2_000, true), (Some(price), 2_001, false), (None, 1, false)] {
            let meter = RunMeter::new((Dialect::Codex, price), None, cost(limit));
            meter.saw(OutputStream::Stdout, &[DONE, b"\n"].concat());
            assert_eq!(meter.is_reached(), reached, "{limit}");
        }
        let said = crate::dialect::read(Dialect::Codex, DONE, None);
        let of = |said: &Said| metered(said, Duration::ZERO, 0);
        assert_eq!((of(&said).cost_micro_usd, of(&said).estimated), (None, false));
        let estimate = of(&said.priced(Some(price)));
        assert_eq!((estimate.cost_micro_usd, estimate.estimated), (Some(2_000), true));
        let mut named = crate::dialect::read(Dialect::Codex, DONE, None);
        named.cost_micro_usd = Some(7);
        let named = of(&named.priced(Some(price)));
        assert_eq!((named.cost_micro_usd, named.estimated), (Some(7), false), "the program's word comes first");
        let refusing = Allowance { limits: cost(1), unmetered: Unmetered::Refuse, ..Allowance::default() };
        assert!(can_be_metered(Some(&refusing), (Dialect::Codex, Some(price))).is_ok());
        assert!(can_be_metered(Some(&refusing), (Dialect::Plain, Some(price))).is_err(), "nothing to price");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_a_limit_hears_of_it() {
        let meter = RunMeter::new((Dialect::Claude, None), None, limits(Some(61), None));
        let waits = tokio::spawn({
            let meter = meter.clone();
            async move { meter.over().await }
        });
        meter.saw(OutputStream::Stdout, format!("{CALL}\n").as_bytes());
        waits.await.unwrap();
        let refused = RunMeter::new((Dialect::Claude, None), None, Limits::default());
        refused.saw(OutputStream::Stdout, include_bytes!("../fixtures/claude-login-refused.jsonl"));
        refused.over().await;
        assert!(!refused.is_reached(), "no limit is");
        let said =
            crate::dialect::read(Dialect::Claude, include_bytes!("../fixtures/claude-login-refused.jsonl"), None);
        let used = metered(&said, Duration::ZERO, 0);
        assert_eq!(
            (used.tokens, used.cost_micro_usd, used.incomplete),
            (Some(0), Some(0), false),
            "nothing was used up"
        );
        let timed = RunMeter::new((Dialect::Plain, None), None, Limits { wall_ms: Some(1_000), ..Limits::default() });
        timed.over().await;
        assert!(timed.is_reached());
    }

    #[test]
    fn programs_that_do_not_report_what_is_limited_are_refused_where_the_plan_says_so() {
        let allowance = |limits, unmetered| Allowance { limits, unmetered, ..Allowance::default() };
        let cost = Limits { cost_micro_usd: Some(1), ..Limits::default() };
        let refused =
            |limits, unmetered, dialect| can_be_metered(Some(&allowance(limits, unmetered)), (dialect, None)).is_err();
        assert!(refused(cost, Unmetered::Refuse, Dialect::Plain));
        assert!(refused(cost, Unmetered::Refuse, Dialect::Codex));
        assert!(!refused(cost, Unmetered::Refuse, Dialect::Claude));
        assert!(!refused(limits(Some(1), None), Unmetered::Refuse, Dialect::Codex));
        assert!(!refused(cost, Unmetered::Allow, Dialect::Plain));
        assert!(!refused(Limits { wall_ms: Some(1), ..Limits::default() }, Unmetered::Refuse, Dialect::Plain));
    }
}
