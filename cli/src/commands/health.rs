//! `health`: whether the process that this machine or container is for is well.

use holdpoint_runtime::{clock, config::Config, health};
use serde_json::json;

use crate::{
    args::HealthArgs,
    failure::{Exit, Failure, chain},
    output,
};

/// Looks at the last sign of life.
pub(super) fn health(args: &HealthArgs) -> Result<Exit, Failure> {
    let config = Config::load(args.config.as_deref(), Vec::new())?;
    let Some(file) = &config.health.file else {
        let hint = "HOLDPOINT__HEALTH__FILE, or `file` below [health], names it for the process and for this command";
        return Err(Failure::usage(
            "no_health_file",
            "health.file is not configured: no process says here how it is",
            hint,
        ));
    };
    let (exit, well, words) = match health::look(file, clock::now()) {
        Ok(sign) => (Exit::Success, true, format!("{} is well", sign.name)),
        Err(unwell) => (Exit::Incomplete, false, chain(&unwell)),
    };
    if args.json {
        output::json(&json!({"well": well, "detail": words}));
    } else {
        output::out(&words);
    }
    Ok(exit)
}
