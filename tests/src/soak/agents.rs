//! The programs of real coding agents through whole flights, with their presets as they are, against a model that
//! says what it is asked to: `tests/agents/model.py` on the loopback. No network is needed, and no account.

#![expect(clippy::print_stdout, reason = "its table is what a long run is for")]

mod acp;
mod aider;
mod model;
mod moved;
mod npm;
mod vibe;

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::Terms;
use crate::world::World;
use model::{Model, Request};

/// How long one flight may take.
const FLIGHT_MAX: Duration = Duration::from_secs(240);

const PLAN: &str = "plan: agents\nwaypoints:\n\
                    \x20 - {id: w1, title: Make made.txt, goal: It says hello., criteria: [{id: c, statement: It says hello, check: \
                    'grep -qx hello made.txt'}]}\n";

/// A coding agent.
struct Agent {
    /// Its preset, which is the name of its program.
    preset: &'static str,
    /// The variable with the program's path.
    variable: &'static str,
    /// Shows it where the model is.
    configure: fn(&mut Command, &World, u16),
    /// A refusal that passes, which it tries again by itself.
    overload: &'static str,
    /// The flights that it is to fly.
    scenarios: &'static [Scenario],
    /// It goes on with a conversation in a later turn.
    goes_on: bool,
}

const AGENTS: [Agent; 9] = [
    Agent {
        preset: "claude",
        variable: "HOLDPOINT_SOAK_CLAUDE",
        configure: claude,
        overload: "fail 529 overloaded",
        scenarios: &SCENARIOS,
        goes_on: true,
    },
    Agent {
        preset: "codex",
        variable: "HOLDPOINT_SOAK_CODEX",
        configure: codex,
        overload: "fail 503 overloaded",
        scenarios: &SCENARIOS,
        goes_on: true,
    },
    aider::AGENT,
    vibe::AGENT,
    npm::GEMINI,
    npm::QWEN,
    npm::OPENCODE,
    npm::CLAUDE_AGENT_ACP,
    npm::CODEX_ACP,
];

/// A flight, and what has to come of it.
#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    /// What the model says, request by request; `overload` stands for the agent's own kind of it.
    steps: &'static [&'static str],
    /// Tool calls of a turn, where they are limited.
    calls: Option<u32>,
    /// 0: its role is stopped, since its login is refused.
    attempts: u64,
    /// What its requests have to be like.
    looks: fn(&[Request]) -> Result<(), String>,
}

const WRONG: &str = "run printf 'hullo\\n' > made.txt";
const RIGHT: &str = "run printf 'hello\\n' > made.txt";
const DONE: &str = "say Done.\n\n<waypoint-complete>w1</waypoint-complete>";

/// Has silence end a program sooner than it gives up by itself.
const IMPATIENT: &str = "retry_settings:\n  stuck_after: 10s\n";

/// A key that is not taken.
const REFUSED: Scenario = Scenario {
    name: "a refused login, no attempt used",
    steps: &["fail 401 invalid api key"],
    calls: None,
    attempts: 0,
    looks: |_| Ok(()),
};

const SCENARIOS: [Scenario; 8] = [
    Scenario { name: "right the first time", steps: &[RIGHT, DONE], calls: None, attempts: 1, looks: |_| Ok(()) },
    Scenario {
        name: "wrong, then right, in one conversation",
        steps: &[WRONG, DONE, RIGHT, DONE],
        calls: None,
        attempts: 2,
        looks: went_on,
    },
    Scenario {
        name: "overload first, no attempt used",
        steps: &["overload", "overload", RIGHT, DONE],
        calls: None,
        attempts: 1,
        looks: |_| Ok(()),
    },
    Scenario {
        name: "a stream that breaks off",
        steps: &["cut", RIGHT, DONE],
        calls: None,
        attempts: 1,
        looks: |_| Ok(()),
    },
    Scenario {
        name: "killed in its turn, no attempt used",
        steps: &["run kill -9 $(ps -o ppid= -p $PPID) $PPID", RIGHT, DONE],
        calls: None,
        attempts: 1,
        looks: |_| Ok(()),
    },
    Scenario {
        name: "a model that stalls, no attempt used",
        steps: &["stall 120", RIGHT, DONE],
        calls: None,
        attempts: 1,
        looks: |_| Ok(()),
    },
    // Unlimited it would be stuck, and started afresh in its turn.
    Scenario {
        name: "a budget of two tool calls for a turn",
        steps: &[WRONG, "run sleep 600", RIGHT, DONE],
        calls: Some(2),
        attempts: 2,
        looks: |_| Ok(()),
    },
    REFUSED,
];

/// Flies all agents through all scenarios whose name is asked for.
pub fn run(terms: &Terms) -> Result<(), String> {
    let (mut wrong, mut flown) = (Vec::new(), 0);
    println!(
        "  {:<16} {:<40} {:<10} {:>8} {:>8} {:>10}",
        "agent", "flight", "came to", "attempts", "requests", "seconds"
    );
    let wanted = |name: &str| terms.only.as_ref().is_none_or(|only| name.contains(only));
    for agent in &AGENTS {
        let all = agent.scenarios.iter().map(|scenario| (scenario.name, Some(scenario)));
        for (flight, scenario) in all.chain(agent.goes_on.then_some((moved::FLIGHT, None))) {
            let name = format!("{} {flight}", agent.preset);
            if !wanted(&name) {
                continue;
            }
            let program = std::env::var(agent.variable).map_err(|_| {
                format!("{} is not set: `cargo xtask soak agents` gets the programs and sets it", agent.variable)
            })?;
            let program = Path::new(&program);
            flown += 1;
            let flown = scenario.map_or_else(|| moved::fly(agent, program), |scenario| fly(agent, program, scenario));
            if let Err(problem) = flown {
                println!("  {:<16} {flight:<40} wrong", agent.preset);
                wrong.push(format!("{name}: {problem}"));
            }
        }
    }
    if wanted(acp::NAME) {
        flown += 1;
        if let Err(problem) = acp::fly() {
            println!("  {:<16} {:<40} wrong", "acp", acp::FLIGHT);
            wrong.push(format!("{}: {problem}", acp::NAME));
        }
    }
    if flown == 0 {
        return Err("no flight's name has that in it".to_owned());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn fly(agent: &Agent, program: &Path, scenario: &Scenario) -> Result<(), String> {
    // At its first start an agent may get packages for longer than that.
    let stalls = scenario.steps.iter().any(|step| step.starts_with("stall"));
    let impatient = stalls.then_some((".holdpoint/handoff.yaml", IMPATIENT));
    let files: Vec<_> = [("kept", "kept\n")].into_iter().chain(impatient).collect();
    let world = World::new(&files);
    world.plan(&match scenario.calls {
        Some(calls) => format!("budget: {{tool_calls: 100, on_exceeded: degrade}}\n{}", limited(calls)),
        None => PLAN.to_owned(),
    });
    fs::create_dir(world.path("bin")).map_err(|error| error.to_string())?;
    symlink(program, world.path("bin").join(agent.preset)).map_err(|error| error.to_string())?;
    let steps: Vec<&str> =
        scenario.steps.iter().map(|step| if *step == "overload" { agent.overload } else { *step }).collect();
    let model = Model::start(&steps, &world.path("requests.jsonl"))?;
    let args = world.run_args(&["--builder", agent.preset, "--pass-env", "SOAK_MODEL_KEY"]);
    let mut command = world.command(&args);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", world.path("bin").display())).env("SOAK_MODEL_KEY", "none");
    (agent.configure)(&mut command, &world, model.port());
    let begun = Instant::now();
    let run = world.start_with(command);
    let run = run.finish_by(begun + FLIGHT_MAX).map_err(|_| format!("no end after {FLIGHT_MAX:?}"))?;
    let took = begun.elapsed();
    let requests = model.requests()?;
    let waypoint = run.waypoint("w1");
    let is_stopped = run.code != 0 && waypoint["reason_code"] == "not_executable";
    if is_stopped != (scenario.attempts == 0) || run.code != 0 && !is_stopped {
        return Err(run.to_string());
    }
    let attempts = waypoint["attempts"].as_u64().unwrap_or_default();
    let came_to = run.json()["status"].as_str().unwrap_or_default().to_owned();
    println!(
        "  {:<16} {:<40} {:<10} {:>8} {:>8} {:>10.1}",
        agent.preset,
        scenario.name,
        came_to,
        attempts,
        requests.len(),
        took.as_secs_f64()
    );
    if attempts != scenario.attempts {
        return Err(format!("{attempts} attempts, and not {}:\n{run}", scenario.attempts));
    }
    (scenario.looks)(&requests)
}

/// The plan with a limit of tool calls for each turn of its waypoint.
fn limited(calls: u32) -> String {
    PLAN.replace("{id: w1, ", &format!("{{id: w1, budget: {{tool_calls: {calls}}}, "))
}

/// The second attempt has all messages of the first before its own.
fn went_on(requests: &[Request]) -> Result<(), String> {
    let messages = |at: usize| requests.get(at).map_or(0, |request| request.messages);
    if messages(2) > messages(1) {
        return Ok(());
    }
    Err(format!("the second attempt began a new conversation: {requests:?}"))
}

fn claude(command: &mut Command, world: &World, port: u16) {
    let settings = world.path("claude");
    fs::create_dir_all(&settings).expect("a world's folder");
    command.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}")).env("ANTHROPIC_API_KEY", "none");
    command.env("CLAUDE_CONFIG_DIR", settings).env("CLAUDE_CODE_MAX_RETRIES", "3");
}

fn codex(command: &mut Command, world: &World, port: u16) {
    let config = format!(
        "model = \"gpt-soak\"\nmodel_provider = \"soak\"\n[model_providers.soak]\nname = \"soak\"\n\
         base_url = \"http://127.0.0.1:{port}/v1\"\nwire_api = \"responses\"\nenv_key = \"SOAK_MODEL_KEY\"\n"
    );
    world.write("codex/config.toml", &config);
    command.env("CODEX_HOME", world.path("codex"));
}
