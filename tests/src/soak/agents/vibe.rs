//! Mistral Vibe, over the Agent Client Protocol.

use std::process::Command;

use super::{Agent, DONE, RIGHT, SCENARIOS, Scenario, WRONG};
use crate::world::World;

pub(super) const AGENT: Agent = Agent {
    preset: "vibe-acp",
    variable: "HOLDPOINT_SOAK_VIBE",
    configure,
    overload: "fail 503 overloaded",
    scenarios: &FLIGHTS,
    // Its conversations stay on the machine.
    goes_on: false,
};

const FLIGHTS: [Scenario; 7] = {
    let mut all = SCENARIOS;
    // While it loads a conversation that was killed in a command, it asks the model to go on with that turn; then it waits for
    // a permission that it does not ask for, and is started afresh.
    all[6].steps = &[WRONG, "run sleep 600", RIGHT, RIGHT, DONE];
    all
};

fn configure(command: &mut Command, world: &World, port: u16) {
    let config = format!(
        "active_model = \"soak\"\n[[providers]]\nname = \"soak\"\napi_base = \"http://127.0.0.1:{port}/v1\"\n\
         api_key_env_var = \"SOAK_MODEL_KEY\"\n[[models]]\nname = \"gpt-soak\"\nprovider = \"soak\"\nalias = \"soak\"\n"
    );
    world.write("vibe/config.toml", &config);
    command.env("VIBE_HOME", world.path("vibe"));
}
