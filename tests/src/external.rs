//! Agents from outside with a fleet of ours: their credentials, their programs, and a client that says anything.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use holdpoint_bus::auth::{Authority, Credentials};
use holdpoint_protocol::{
    ids::{AgentName, RoleId},
    streams,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::world::{RunningProcess, World, eventually, root};

/// The Python that has what the example agents need.
///
/// # Panics
/// There is none: `cargo xtask tools` makes it.
pub fn python() -> PathBuf {
    let python = root().join("target/tools/python/bin/python");
    assert!(python.exists(), "{} is not there: run `cargo xtask tools`", python.display());
    python
}

/// One of the example agents.
pub fn example(name: &str) -> PathBuf {
    root().join("examples/external-agents/python").join(name)
}

/// A fleet of ours that stays.
pub struct Up {
    /// The command that keeps it.
    pub running: RunningProcess,
    /// Where its broker is.
    pub url: String,
}

/// Starts a fleet in a world and waits until plans can be submitted to it.
pub fn up(world: &World, args: &[&str], env: &[(&str, &str)]) -> Up {
    let mut command = world.command(&[&["up", "--repo", "."], args].concat());
    command.envs(env.iter().copied());
    let mut running = world.start_with(command);
    let announced = format!("up/{}.json", running.pid());
    let state = running.until("the fleet", || world.state_folder().filter(|state| state.join(&announced).is_file()));
    let broker: Value = serde_json::from_slice(&fs::read(state.join("broker.json")).unwrap()).unwrap();
    Up { running, url: broker["url"].as_str().unwrap().to_owned() }
}

/// Credentials of an agent of the fleet in this world, signed with the keys in its state folder.
pub fn credentials(world: &World, role: &RoleId, name: &str) -> Credentials {
    let keys = world.state_folder().expect("a fleet was started").join("keys");
    let authority = Authority::load(&keys).unwrap().expect("keys were made");
    let name: AgentName = name.parse().unwrap();
    authority.mint_agent(role, &name, &streams::fleet_pool(), None).unwrap()
}

/// A file with credentials of an operator of the fleet in this world.
pub fn operator(world: &World, name: &str) -> PathBuf {
    let keys = world.state_folder().expect("a fleet was started").join("keys");
    let authority = Authority::load(&keys).unwrap().expect("keys were made");
    let creds = world.path(&format!("{name}.creds"));
    authority.mint_operator(&name.parse().unwrap()).save(&creds).unwrap();
    creds
}

/// A running agent from outside. It is killed when this goes.
pub struct Foreign {
    child: Child,
    log: PathBuf,
}

impl Foreign {
    /// Starts an example agent with credentials of its own.
    pub fn start(world: &World, up: &Up, role: &RoleId, name: &str, program: &str, env: &[(&str, &str)]) -> Self {
        let creds = world.path(&format!("{name}.creds"));
        credentials(world, role, name).save(&creds).unwrap();
        let log = world.path(&format!("{name}.log"));
        let mut command = Command::new(python());
        command.arg(example(program)).env("HOLDPOINT_NATS_URL", &up.url).env("HOLDPOINT_CREDS", &creds);
        command.env("PYTHONDONTWRITEBYTECODE", "1").envs(env.iter().copied()).current_dir(world.path("home"));
        let out = File::create(&log).unwrap();
        command.stdin(Stdio::null()).stderr(out.try_clone().unwrap()).stdout(out);
        Self { child: command.spawn().unwrap(), log }
    }

    /// What it printed.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and waits until it has.
    pub fn end(&mut self) {
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM).unwrap();
        let ended = eventually("the agent's end", || self.child.try_wait().unwrap());
        assert!(ended.success(), "{ended}: {}", self.said());
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Stops or wakes one of the fleet's own agents.
pub fn signal_own(up: &Up, role: &str, signal: Signal) {
    let agent = eventually("the fleet's own agent", || up.running.child(&["agent", role]));
    kill(Pid::from_raw(agent.pid), signal).unwrap();
}

/// Whether a file is there.
pub fn there(path: &Path) -> Option<()> {
    path.exists().then_some(())
}
