//! The part that is there in debug builds: reads the order, counts passings, stops.

use std::{
    collections::HashMap,
    env, fs,
    fs::OpenOptions,
    io::Write as _,
    path::PathBuf,
    sync::{Mutex, OnceLock, PoisonError},
};

use nix::sys::signal::{Signal, raise};

use crate::{CLOCK, FOLDER, FaultOrder, ORDER, PASSED, PROCESS, STOPPED, Step, When};

/// The command that the user started has no number.
const COMMAND: &str = "run";

/// This process's order when it passed its first step.
struct Armed {
    folder: PathBuf,
    process: String,
    order: Option<FaultOrder>,
    passed: Mutex<HashMap<(Step, When), u32>>,
}

fn armed() -> Option<&'static Armed> {
    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
    let read = || {
        let folder = PathBuf::from(env::var_os(FOLDER).filter(|folder| !folder.is_empty())?);
        let process = env::var(PROCESS).unwrap_or_else(|_| COMMAND.to_owned());
        let order = fs::read_to_string(folder.join(ORDER)).ok().and_then(|text| FaultOrder::parse(&text));
        let order = order.filter(|order| order.is_for(&process));
        Some(Armed { folder, process, order, passed: Mutex::default() })
    };
    ARMED.get_or_init(read).as_ref()
}

/// This process is at this side of this step.
pub(crate) fn reach(step: Step, when: When) {
    let Some(armed) = armed() else { return };
    let nth = {
        let mut passed = armed.passed.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.entry((step, when)).or_default();
        *count += 1;
        *count
    };
    armed.note(step, when);
    let meant = |order: &FaultOrder| order.step == step && order.when == when && order.nth == nth;
    if armed.order.as_ref().is_some_and(meant) {
        armed.stop();
    }
}

impl Armed {
    /// One line, appended whole, if a test wants to know.
    fn note(&self, step: Step, when: When) {
        if let Ok(mut file) = OpenOptions::new().append(true).open(self.folder.join(PASSED)) {
            // A note that is lost shows as a step that nobody passed.
            let _ = file.write_all(format!("{} {} {}\n", self.process, when.name(), step.name()).as_bytes());
        }
    }

    /// Once over all processes and restarts: the file is made by the first one only, and whole.
    fn stop(&self) {
        let part = self.folder.join(format!("{STOPPED}.{}", std::process::id()));
        let written = fs::write(&part, std::process::id().to_string());
        let first = written.and_then(|()| fs::hard_link(&part, self.folder.join(STOPPED)));
        let _ = fs::remove_file(&part);
        if first.is_ok() {
            // Comes back when a test wakes us. A kill ends it here.
            let _ = raise(Signal::SIGSTOP);
        }
    }
}

/// Read again each time: a test moves the clock while the process runs.
pub(crate) fn clock_offset_ms() -> i64 {
    let Some(armed) = armed() else { return 0 };
    let text = fs::read_to_string(armed.folder.join(CLOCK)).unwrap_or_default();
    text.trim().parse().unwrap_or_default()
}
