//! Workflow files that no orchestrator sees, because the command that was to reload them found that they are not sound
//! (GATE-3, GATE-12): an endpoint of the micro service `holdpoint`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Endpoint of [`ConfigInvalid`].
pub const CONFIG_INVALID: &str = "config_invalid";

/// Says that workflow files were not reloaded because they are not sound, so that it is counted. The answer is a
/// [`ConfigInvalidNoted`]. It changes no flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigInvalid {
    /// What is wrong with them, for the log. A text longer than 500 characters is cut.
    pub message: String,
}

/// It is known now that workflow files are not sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigInvalidNoted {
    /// Whether it was counted: where an orchestrator serves or sends metrics.
    pub counted: bool,
}
