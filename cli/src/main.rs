//! `holdpoint`: every user command, and every process as a subcommand. All of it is in the library.

use std::process::ExitCode;

/// The processes of a fleet pass messages on all day: the system's allocator takes a sixth of an orchestrator's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First of all, before any thread: this executable is also the shim of its own sandbox, what agents ask with, what outlines
    // source files, what evaluates conditions of gates, and what ends a broker that nobody uses.
    holdpoint_sandbox::shim::maybe_run();
    holdpoint_sandbox::observer::maybe_run();
    holdpoint_harness::ask::maybe_run();
    holdpoint_harness::acp::maybe_run();
    holdpoint_harness::over_http::maybe_run();
    holdpoint_outline::maybe_run();
    holdpoint_conditions::maybe_run();
    holdpoint_cli::maybe_keep_broker();
    holdpoint_cli::main()
}
