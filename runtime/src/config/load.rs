//! Putting the configuration together, and saying what is wrong with it.
//!
//! Each source is first looked at by itself, so that an error names the file, the variable or the flag it comes from.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use config::{Environment, File, FileFormat};
use holdpoint_text::bom;
use tracing_subscriber::EnvFilter;

use super::{ByteSize, Config, MetricsConfig, NotifyConfig, agents::PROMPT_LEAST, home, presets};
use crate::{process::DRAIN_DEADLINE, webhook};

/// What environment variables of the configuration begin with, and what is between their parts.
const PREFIX: &str = "HOLDPOINT";
const SEPARATOR: &str = "__";
/// A shorter wait would be used up by the delays of a busy machine, and turns would be given to two agents.
const ACK_WAIT_MIN: Duration = Duration::from_millis(500);
/// With less, one role's handoffs would have no room for the biggest of them.
const BROKER_DISK_MIN_BYTES: u64 = 256 << 20;
/// With fewer, a person's commands would end each other.
const CONNECTIONS_PER_KEY_MIN: u32 = 4;
/// Handoffs of an agent in an hour at least: a turn takes a dozen.
const HANDOFFS_PER_HOUR_MIN: u32 = 60;
/// Fewer, and a command that follows a flight is refused.
const REQUESTS_PER_MINUTE_MIN: u32 = 60;
/// Agents of one role that one command starts.
const AGENTS_MAX: u32 = 64;
/// A shorter one would refuse handoffs while a replicated stream still moves its leader.
const BLOB_WAIT_MIN: Duration = Duration::from_secs(1);

/// What is wrong with the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file has a syntax error, an unknown key or a bad value.
    #[error("the configuration file {} is wrong", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Line, column, key and what was expected.
        #[source]
        source: toml::de::Error,
    },
    /// A variable names an unknown key or has a bad value.
    #[error("the environment variable {name} is wrong")]
    Variable {
        /// Its name.
        name: String,
        /// What was expected.
        #[source]
        source: config::ConfigError,
    },
    /// A flag names an unknown key or has a bad value.
    #[error("the setting {key} is wrong")]
    Flag {
        /// The key, as `agents.builder.command`.
        key: String,
        /// What was expected.
        #[source]
        source: config::ConfigError,
    },
    /// The sources do not fit together.
    #[error("the configuration does not fit together")]
    Merge(#[source] config::ConfigError),
    /// A value that has the right type cannot be used.
    #[error("{key} {problem}")]
    Value {
        /// The key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Config {
    /// Reads the configuration of this process: defaults < `file` < environment < `overrides` (key and value, as
    /// `("agents.builder.command", "make")`).
    ///
    /// # Errors
    /// [`ConfigError`] names the place that is wrong.
    pub fn load(file: Option<&Path>, overrides: Vec<(String, String)>) -> Result<Self, ConfigError> {
        let prefix = format!("{PREFIX}{SEPARATOR}");
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| name.starts_with(&prefix))?;
            Some((name, value.to_string_lossy().into_owned()))
        });
        Self::load_from(file, variables.collect(), overrides)
    }

    /// As [`Config::load`], with these variables for the environment. Others than those of the configuration are
    /// passed over.
    ///
    /// # Errors
    /// [`ConfigError`] names the place that is wrong.
    pub fn load_from(
        file: Option<&Path>,
        variables: BTreeMap<String, String>,
        overrides: Vec<(String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut builder = config::Config::builder();
        if let Some(path) = file {
            let text =
                std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
            let text = bom::stripped(&text);
            toml::from_str::<Self>(text).map_err(|source| ConfigError::File { path: path.to_owned(), source })?;
            builder = builder.add_source(File::from_str(text, FileFormat::Toml));
        }
        for (name, value) in variables {
            let source = variable(&name, value);
            let alone = config::Config::builder().add_source(source.clone()).build();
            check(alone).map_err(|source| ConfigError::Variable { name, source })?;
            builder = builder.add_source(source);
        }
        for (key, value) in overrides {
            let alone = config::Config::builder().set_override(&key, value.as_str()).and_then(|alone| alone.build());
            check(alone).map_err(|source| ConfigError::Flag { key: key.clone(), source })?;
            builder = builder.set_override(&key, value).map_err(|source| ConfigError::Flag { key, source })?;
        }
        let mut config: Self = check(builder.build()).map_err(ConfigError::Merge)?;
        if let Some(home) = std::env::var_os("HOME").filter(|home| !home.is_empty()) {
            home::expand(&mut config, Path::new(&home));
        }
        presets::apply(&mut config.agents, |name| std::env::var(name).ok());
        config.validate()?;
        Ok(config)
    }

    fn validate(&self) -> Result<(), ConfigError> {
        for url in self.nats.url.split(',') {
            let Some(host) = url.strip_prefix("nats://").or_else(|| url.strip_prefix("tls://")) else {
                return wrong("nats.url", "has to begin with nats:// or tls://");
            };
            // Passwords would be in logs and process lists.
            if host.contains('@') {
                return wrong("nats.url", "must not hold a user or password: use nats.creds");
            }
        }
        if self.nats.creds.is_some() && self.nats.creds_dir.is_some() {
            return wrong("nats.creds_dir", "cannot be set together with nats.creds");
        }
        if self.nats.tls.cert.is_some() != self.nats.tls.key.is_some() {
            return wrong("nats.tls.cert", "and nats.tls.key belong together: set both or none");
        }
        if self.agent.ack_wait.duration() < ACK_WAIT_MIN {
            return wrong("agent.ack_wait", "must be 500ms or more");
        }
        if self.agent.drain.is_some_and(|drain| drain.duration() > DRAIN_DEADLINE) {
            return wrong("agent.drain", "must be 20s or less");
        }
        if self.orchestrator.handoff_ack_wait.duration() < ACK_WAIT_MIN {
            return wrong("orchestrator.handoff_ack_wait", "must be 500ms or more");
        }
        if self.orchestrator.blob_wait.duration() < BLOB_WAIT_MIN {
            return wrong("orchestrator.blob_wait", "must be 1s or more");
        }
        if ![1, 3, 5].contains(&self.orchestrator.replicas) {
            return wrong("orchestrator.replicas", "must be 1, 3 or 5");
        }
        if self.orchestrator.broker_disk.bytes() < BROKER_DISK_MIN_BYTES {
            return wrong("orchestrator.broker_disk", "must be 256MiB or more");
        }
        if self.orchestrator.connections_per_key < CONNECTIONS_PER_KEY_MIN {
            return wrong("orchestrator.connections_per_key", "must be 4 or more");
        }
        if !(1..=100).contains(&self.orchestrator.room_per_key) {
            return wrong("orchestrator.room_per_key", "must be 1 to 100");
        }
        if self.orchestrator.handoffs_per_hour < HANDOFFS_PER_HOUR_MIN {
            return wrong("orchestrator.handoffs_per_hour", "must be 60 or more");
        }
        if self.orchestrator.requests_per_minute < REQUESTS_PER_MINUTE_MIN {
            return wrong("orchestrator.requests_per_minute", "must be 60 or more");
        }
        if self.orchestrator.open_flights == 0 {
            return wrong("orchestrator.open_flights", "must be 1 or more");
        }
        if self.orchestrator.open_waypoints == 0 {
            return wrong("orchestrator.open_waypoints", "must be 1 or more");
        }
        if let Some(endpoint) = &self.telemetry.otlp_endpoint {
            if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
                return wrong("telemetry.otlp_endpoint", "has to begin with http:// or https://");
            }
            if endpoint.contains('@') {
                return wrong("telemetry.otlp_endpoint", "must not hold a user or password");
            }
        }
        if !MetricsConfig::OTLP_INTERVAL.contains(&self.metrics.otlp_interval.duration()) {
            return wrong("metrics.otlp_interval", "has to be from 1s to 1h");
        }
        if let Err(error) = EnvFilter::try_new(&self.telemetry.log) {
            return wrong("telemetry.log", &format!("is no log filter: {error}"));
        }
        let is_empty = |command: &Option<String>| command.as_ref().is_some_and(|command| command.trim().is_empty());
        if is_empty(&self.agents.verifier.judge) {
            return wrong("agents.verifier.judge", "is empty: leave it out instead");
        }
        if is_empty(&self.agents.verifier.judge_resume) {
            return wrong("agents.verifier.judge_resume", "is empty: leave it out instead");
        }
        let too_short = |prompt: ByteSize| prompt < PROMPT_LEAST;
        let least = format!("has to be {PROMPT_LEAST} at least");
        if self.agents.verifier.judge_prompt.is_some_and(too_short) {
            return wrong("agents.verifier.judge_prompt", &least);
        }
        for (role, program) in self.agents.programs() {
            if too_short(program.prompt) {
                return wrong(format!("agents.{role}.prompt"), &least);
            }
            if is_empty(&program.command) {
                return wrong(format!("agents.{role}.command"), "is empty: leave it out instead");
            }
            if is_empty(&program.resume) {
                return wrong(format!("agents.{role}.resume"), "is empty: leave it out instead");
            }
            if program.settings_dir.as_ref().is_some_and(|dir| !dir.is_absolute()) {
                return wrong(format!("agents.{role}.settings_dir"), "has to be an absolute path");
            }
            if !program.ignore.iter().all(|pattern| is_ignorable(pattern)) {
                let problem =
                    "has to be patterns as in a .gitignore, none of which begins with `!` or names everything";
                return wrong(format!("agents.{role}.ignore"), problem);
            }
            if program.count.is_some_and(|count| !(1..=AGENTS_MAX).contains(&count)) {
                return wrong(format!("agents.{role}.count"), &format!("must be 1 to {AGENTS_MAX}"));
            }
        }
        notify(&self.notify)
    }
}

/// Whether a program may leave files of this pattern for itself.
fn is_ignorable(pattern: &str) -> bool {
    let one_line = !pattern.contains(['\0', '\n']) && pattern.trim() == pattern;
    one_line && !pattern.starts_with(['!', '#']) && !pattern.chars().all(|letter| "*/.?".contains(letter))
}

fn wrong(key: impl Into<String>, problem: &str) -> Result<(), ConfigError> {
    Err(ConfigError::Value { key: key.into(), problem: problem.to_owned() })
}

fn notify(config: &NotifyConfig) -> Result<(), ConfigError> {
    if let Some(program) = config.command.first()
        && (program.is_empty() || program.contains('/') && !program.starts_with('/'))
    {
        // A relative path would be another program in another folder, one of the repository's perhaps.
        return wrong("notify.command", "has to begin with an absolute path, or a name that is looked up in PATH");
    }
    let has_token = config.webhook_token_file.is_some();
    match &config.webhook {
        Some(url) => webhook::check(url, has_token).map(|_| ()).or_else(|problem| wrong("notify.webhook", problem)),
        None if has_token => wrong("notify.webhook_token_file", "is of no use without notify.webhook"),
        None => Ok(()),
    }
}

/// One variable as a source. Texts stay texts: a name of digits is no number.
fn variable(name: &str, value: String) -> Environment {
    Environment::with_prefix(PREFIX)
        .prefix_separator(SEPARATOR)
        .separator(SEPARATOR)
        .source(Some([(name.to_owned(), value)].into_iter().collect()))
}

fn check(built: Result<config::Config, config::ConfigError>) -> Result<Config, config::ConfigError> {
    built?.try_deserialize()
}
