//! The steps at which a test can stop one of our processes, to kill it or another process there; and a clock that a
//! test can set. Nothing in a release build.
//!
//! A process that is started with [`FOLDER`] in its environment looks into that folder. When the [`FaultOrder`] in it names
//! the step that the process passes, it leaves its number in a file and stops itself (SIGSTOP), once. The writer of the
//! order decides what happens then (a kill, a wake, the end of the broker); nothing here kills a process.

mod order;
mod steps;

#[cfg(debug_assertions)]
mod armed;

pub use order::{FaultOrder, When};
pub use steps::{Role, Step};

/// The variable with the folder of orders. Read in debug builds only.
pub const FOLDER: &str = "HOLDPOINT_FAULTS";
/// The variable with the name of the process, `<role>-<number>`, where it is not the command itself.
pub const PROCESS: &str = "HOLDPOINT_FAULTS_PROCESS";
/// The file in the folder with an [`FaultOrder`].
pub const ORDER: &str = "order";
/// The file that a stopped process leaves its number in. While it is there, nobody stops any more.
pub const STOPPED: &str = "stopped";
/// The file that every passing is noted in, a line each, where it exists: `<process> <before|after> <step>`.
pub const PASSED: &str = "passed";
/// The file that says how far the clock is off, in milliseconds.
pub const CLOCK: &str = "clock";

/// A step under way. It was reached when this was made, and is over when this is dropped.
#[derive(Debug)]
#[must_use = "the step is over when this is dropped"]
pub struct Passing {
    #[cfg(debug_assertions)]
    step: Step,
}

/// Begins a step: `let _at = holdpoint_faults::at(Step::Fetch);` covers the rest of the block.
#[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "steps are for debug builds"))]
pub fn at(step: Step) -> Passing {
    #[cfg(debug_assertions)]
    armed::reach(step, When::Before);
    Passing {
        #[cfg(debug_assertions)]
        step,
    }
}

#[cfg(debug_assertions)]
impl Drop for Passing {
    fn drop(&mut self) {
        armed::reach(self.step, When::After);
    }
}

/// How far the clock of our processes is off, in milliseconds. Always 0 in a release build.
#[must_use]
pub fn clock_offset_ms() -> i64 {
    #[cfg(debug_assertions)]
    return armed::clock_offset_ms();
    #[cfg(not(debug_assertions))]
    return 0;
}

/// The variables that a process called `process` has to get so that it looks into the same folder.
#[must_use]
#[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "steps are for debug builds"))]
pub fn passed_on(process: &str) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    #[cfg(debug_assertions)]
    if let Some(folder) = std::env::var_os(FOLDER) {
        return vec![(FOLDER.into(), folder), (PROCESS.into(), process.into())];
    }
    Vec::new()
}
