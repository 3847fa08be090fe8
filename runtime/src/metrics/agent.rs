//! What an agent's process counts: its turns, and how programs hand over their results (RETRY-13).

use std::sync::OnceLock;

use holdpoint_protocol::ids::role;

use super::{CounterFamily, Histograms, Metrics, MetricsError, Published};
use crate::config::Config;

/// Upper bounds of the retries that an exchange took.
const RETRIES: &[f64] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0];

/// The component of a verifier's exchanges.
const JUDGE: &str = "judge";

/// A process is one agent. The code that counts what it does knows nothing of the process.
static COUNTED: OnceLock<Counted> = OnceLock::new();

#[derive(Debug)]
struct Counted {
    role: String,
    turns: CounterFamily,
    exchanges: CounterFamily,
    retries: Histograms,
    failures: CounterFamily,
    circular: CounterFamily,
    help: CounterFamily,
}

impl Counted {
    fn new(role: &str, metrics: &Metrics) -> Self {
        Self {
            role: role.to_owned(),
            turns: metrics.counters("agent_turns", "Turns that this agent took, and how it ended them"),
            exchanges: metrics.counters(
                "exchanges",
                "Exchanges with programs that came to an end: success at once, recovered, escalated or fatal",
            ),
            retries: metrics.histograms(
                "exchange_retries",
                "Format retries that exchanges took before they were good",
                RETRIES,
            ),
            failures: metrics
                .counters("exchange_failures", "Results of programs that could not be used, by what was wrong"),
            circular: metrics
                .counters("exchange_circular", "Exchanges that ended because the same error came twice running"),
            help: metrics.counters("help_requests", "Exchanges that ended because the program called for help"),
        }
    }

    /// Has what is rare begin at nothing, so that its first time is seen as an increase.
    fn begin(&self) {
        let component = if self.role == role::VERIFIER { JUDGE } else { &self.role };
        self.circular.touch(self.labels(component));
        self.help.touch(self.labels(component));
        for outcome in ["success", "recovered", "escalated", "fatal"] {
            let mut labels = self.labels(component);
            labels.push(("outcome", outcome.to_owned()));
            self.exchanges.touch(labels);
        }
        let mut labels = self.labels(component);
        labels.push(("kind", "stuck".to_owned()));
        self.failures.touch(labels);
    }

    fn labels(&self, component: &str) -> Vec<(&'static str, String)> {
        vec![("role", self.role.clone()), ("component", component.to_owned())]
    }
}

/// Serves and sends the metrics of an agent of this role, as configured.
///
/// # Errors
/// [`MetricsError`].
pub async fn publish_agent(role: &str, config: &Config) -> Result<Option<Published>, MetricsError> {
    let metrics = Metrics::new(role);
    let Some(published) = metrics.publish(config).await? else { return Ok(None) };
    COUNTED.get_or_init(|| {
        let counted = Counted::new(role, &metrics);
        counted.begin();
        counted
    });
    Ok(Some(published))
}

/// Counts that a turn was taken, or how it ended. Nothing where nobody asked.
pub fn turn(outcome: &'static str) {
    if let Some(Counted { role, turns, .. }) = COUNTED.get() {
        turns.count(vec![("role", role.clone()), ("outcome", outcome.to_owned())]);
    }
}

/// Counts that an exchange of a component ended: `success`, `recovered`, `escalated` or `fatal`, after so many format retries.
pub fn exchange(component: &str, outcome: &'static str, retries: u32) {
    let Some(counted) = COUNTED.get() else { return };
    let mut labels = counted.labels(component);
    if ["success", "recovered"].contains(&outcome) {
        counted.retries.observe(labels.clone(), f64::from(retries));
    }
    labels.push(("outcome", outcome.to_owned()));
    counted.exchanges.count(labels);
}

/// Counts that a program's result could not be used, by the kind of failure.
pub fn exchange_failed(component: &str, kind: &'static str) {
    let Some(counted) = COUNTED.get() else { return };
    let mut labels = counted.labels(component);
    labels.push(("kind", kind.to_owned()));
    counted.failures.count(labels);
}

/// Counts that an exchange ended because the same error came twice running.
pub fn exchange_circular(component: &str) {
    if let Some(counted) = COUNTED.get() {
        counted.circular.count(counted.labels(component));
    }
}

/// Counts that an exchange of a component ended because its program called for help.
pub fn help(component: &str) {
    if let Some(counted) = COUNTED.get() {
        counted.help.count(counted.labels(component));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_agent_counts_its_turns_and_how_programs_handed_over() {
        let mut config = Config::default();
        assert!(publish_agent("builder", &config).await.unwrap().is_none());
        turn("taken");
        exchange("builder", "success", 0);
        config.metrics.listen = Some("127.0.0.1:0".parse().unwrap());
        let server = publish_agent("builder", &config).await.unwrap().unwrap();
        turn("taken");
        turn("handed_off");
        exchange_failed("builder", "malformed");
        exchange("builder", "recovered", 2);
        exchange("builder", "escalated", 5);
        exchange_circular("builder");
        help("builder");
        let text = server.text();
        for line in [
            "holdpoint_agent_turns_total{role=\"builder\",outcome=\"taken\"} 1\n",
            "holdpoint_agent_turns_total{role=\"builder\",outcome=\"handed_off\"} 1\n",
            "holdpoint_exchanges_total{role=\"builder\",component=\"builder\",outcome=\"recovered\"} 1\n",
            "holdpoint_exchanges_total{role=\"builder\",component=\"builder\",outcome=\"escalated\"} 1\n",
            "holdpoint_exchange_failures_total{role=\"builder\",component=\"builder\",kind=\"malformed\"} 1\n",
            "holdpoint_exchange_circular_total{role=\"builder\",component=\"builder\"} 1\n",
            "holdpoint_help_requests_total{role=\"builder\",component=\"builder\"} 1\n",
            "holdpoint_exchange_retries_sum{role=\"builder\",component=\"builder\"} 2.0\n",
            "holdpoint_exchange_retries_count{role=\"builder\",component=\"builder\"} 1\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
