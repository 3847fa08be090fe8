//! The configuration that every process shares: one typed value, checked before anything starts.
//!
//! Defaults < TOML file < environment (`HOLDPOINT__NATS__URL`, …) < flags. Unknown keys are refused by name. A process
//! reads what it needs of it; nothing here looks whether files exist or a server answers.

mod agents;
mod dialect;
mod home;
mod load;
pub mod presets;
mod sections;
#[cfg(test)]
mod tests;
mod units;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::webhook;

pub use agents::{AgentsConfig, PROMPT_DEFAULT, ProgramConfig, Variables, VerifierConfig};
pub use dialect::{Dialect, Permissions};
pub use load::ConfigError;
pub use presets::PRESETS;
pub use sections::{
    AgentConfig, HealthConfig, LogFormat, MetricsConfig, NatsConfig, NotifyConfig, OrchestratorConfig, SandboxConfig,
    TelemetryConfig, TlsConfig,
};
pub use units::{ByteSize, InvalidUnit, TimeSpan};

/// Everything that can be configured.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The broker.
    pub nats: NatsConfig,
    /// This agent process.
    pub agent: AgentConfig,
    /// What the agents of each role run.
    pub agents: AgentsConfig,
    /// What may be missing of the sandbox.
    pub sandbox: SandboxConfig,
    /// Logs and traces.
    pub telemetry: TelemetryConfig,
    /// What health checks look at.
    pub health: HealthConfig,
    /// What Prometheus is served.
    pub metrics: MetricsConfig,
    /// How people hear of what waits for them.
    pub notify: NotifyConfig,
    /// This orchestrator process.
    pub orchestrator: OrchestratorConfig,
}

impl Config {
    /// The text of a configuration file that says the same. It holds the values of `env`, which may be secret.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("plain tables with text keys have a TOML form")
    }

    /// The same with every value of `env` hidden, and of the webhook all but its host.
    #[must_use]
    pub fn redacted(&self) -> Self {
        let mut shown = self.clone();
        shown.agents.programs_mut().for_each(|(_, program)| program.env.hide());
        if let Some(url) = &mut shown.notify.webhook {
            *url = webhook::shown(url);
        }
        shown
    }
}

/// What is printed at start: TOML, without secrets.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted().to_toml())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
