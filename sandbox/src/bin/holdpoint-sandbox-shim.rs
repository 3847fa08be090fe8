//! A shim of its own, and a way to try the sandbox by hand.
//!
//! It reads one command as JSON from standard input, runs it, and prints how it ended as JSON. Arguments are names of
//! properties to do without. It is no part of any flight: the processes are their own shims.

use std::io::{Read, Write};

use holdpoint_sandbox::{Command, Ended, Property, Sandbox};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    holdpoint_sandbox::shim::maybe_run();
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let command: Command = serde_json::from_str(&text)?;
    let name = |name: String| serde_json::from_value::<Property>(name.into());
    let waived = std::env::args().skip(1).map(name).collect::<Result<Vec<_>, _>>()?;
    let sandbox = Sandbox::of_this_executable().waiving(waived);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(sandbox.run(&command, None))?;
    let ended = match outcome.ended {
        Ended::Exited(code) => format!("exited {code}"),
        Ended::Signalled(signal) => format!("signalled {signal}"),
        Ended::TimedOut => "timed out".to_owned(),
        Ended::OutputLimit => "output limit".to_owned(),
        Ended::MemoryLimit => "memory limit".to_owned(),
        Ended::DiskLimit => "disk limit".to_owned(),
    };
    let report = serde_json::json!({
        "ended": ended,
        "stdout": String::from_utf8_lossy(&outcome.stdout),
        "stderr": String::from_utf8_lossy(&outcome.stderr),
        "tree_ended": outcome.tree_ended,
        "properties": outcome.properties,
    });
    writeln!(std::io::stdout(), "{report:#}")?;
    Ok(())
}
