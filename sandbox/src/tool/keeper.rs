//! Ends confined tools when this process is gone, however it went.
//!
//! The keeper is a small process of its own. It waits for the end of a pipe whose other end only we hold, and then ends
//! everything that carries our mark in its environment, which children inherit. It knows no numbers of processes, so no
//! tool has to be registered with it, and none is mistaken. One serves all tools of this process.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::process::ProcessId;

/// The variable that holds the mark.
const VARIABLE: &str = "HOLDPOINT_KEPT_FOR";
/// The first look may miss what is just being started; a later one does not.
const SCRIPT: &str = r#"
while read -r _; do :; done
for look in 1 2 3; do
    for file in $(grep -lsF -- "$1" /proc/[0-9]*/environ); do
        pid=${file#/proc/}
        kill -KILL "${pid%/environ}" 2>/dev/null
    done
    sleep 0.2
done
"#;

static KEEPER: Mutex<Option<Keeper>> = Mutex::new(None);

struct Keeper {
    process: Child,
    mark: String,
}

/// The variable that a tool has to carry, and its value. There is a keeper that ends whatever carries it.
pub(super) fn mark() -> std::io::Result<(&'static str, String)> {
    let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Keeper { process, mark }) = keeper.as_mut()
        && matches!(process.try_wait(), Ok(None))
    {
        return Ok((VARIABLE, mark.clone()));
    }
    let own = ProcessId::current().ok_or(std::io::ErrorKind::NotFound)?;
    // Both numbers together name a process of this boot; the last point ends them.
    let mark = format!("{}.{}.", own.pid, own.start_time);
    *keeper = Some(Keeper { process: start(&format!("{VARIABLE}={mark}"))?, mark: mark.clone() });
    Ok((VARIABLE, mark))
}

/// Its own group: what ends ours, or a Ctrl-C at the terminal, must not end it first.
fn start(mark: &str) -> std::io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", SCRIPT, "holdpoint-keeper", mark]).env_clear().current_dir("/").process_group(0);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| super::DEFAULT_PATH.into()));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}
