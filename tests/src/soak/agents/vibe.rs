//! Mistral Vibe, over the Agent Client Protocol.

use std::process::Command;

use super::{Agent, SCENARIOS};
use crate::world::World;

pub(super) const AGENT: Agent = Agent {
    preset: "vibe-acp",
    variable: "HOLDPOINT_SOAK_VIBE",
    configure,
    overload: "fail 503 overloaded",
    scenarios: &SCENARIOS,
    // Its conversations stay on the machine.
    goes_on: false,
};

fn configure(command: &mut Command, world: &World, port: u16) {
    let config = format!(
        "active_model = \"soak\"\n[[providers]]\nname = \"soak\"\napi_base = \"http://127.0.0.1:{port}/v1\"\n\
         api_key_env_var = \"SOAK_MODEL_KEY\"\n[[models]]\nname = \"gpt-soak\"\nprovider = \"soak\"\nalias = \"soak\"\n"
    );
    world.write("vibe/config.toml", &config);
    command.env("VIBE_HOME", world.path("vibe"));
}
