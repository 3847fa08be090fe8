//! What an agent's process counts: its turns.

use std::sync::OnceLock;

use super::{Counters, Metrics, MetricsError, Server};
use crate::config::MetricsConfig;

/// A process is one agent. Its turns are counted where nothing is known of the process.
static TURNS: OnceLock<(String, Counters)> = OnceLock::new();

/// Serves the metrics of an agent of this role, where an address is configured.
///
/// # Errors
/// [`MetricsError`].
pub async fn serve_agent(role: &str, config: &MetricsConfig) -> Result<Option<Server>, MetricsError> {
    if config.listen.is_none() {
        return Ok(None);
    }
    let metrics = Metrics::new(role);
    TURNS.get_or_init(|| {
        (role.to_owned(), metrics.counters("agent_turns", "Turns that this agent took, and how it ended them"))
    });
    metrics.serve(config).await
}

/// Counts that a turn was taken, or how it ended. Nothing where nobody asked.
pub fn turn(outcome: &'static str) {
    if let Some((role, turns)) = TURNS.get() {
        turns.count(vec![("role", role.clone()), ("outcome", outcome.to_owned())]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_agent_counts_the_turns_it_took_and_how_they_ended() {
        assert!(serve_agent("builder", &MetricsConfig::default()).await.unwrap().is_none());
        turn("taken");
        let config = MetricsConfig { listen: Some("127.0.0.1:0".parse().unwrap()) };
        let server = serve_agent("builder", &config).await.unwrap().unwrap();
        turn("taken");
        turn("handed_off");
        let text = server.text();
        assert!(text.contains("holdpoint_agent_turns_total{role=\"builder\",outcome=\"taken\"} 1\n"), "{text}");
        assert!(text.contains("holdpoint_agent_turns_total{role=\"builder\",outcome=\"handed_off\"} 1\n"), "{text}");
    }
}
