//! The options of cargo's runners.

/// Options of `cargo test`, `cargo nextest run` and libtest that take the next word for their value.
const VALUED: [&str; 44] = [
    "-p",
    "--package",
    "--exclude",
    "-F",
    "--features",
    "--test",
    "--bin",
    "--bench",
    "--example",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--lockfile-path",
    "--config",
    "-Z",
    "--color",
    "--message-format",
    "-j",
    "--jobs",
    "--build-jobs",
    "--profile",
    "--cargo-profile",
    "-P",
    "--test-threads",
    "--retries",
    "--skip",
    "-E",
    "--filterset",
    "--filter-expr",
    "--partition",
    "--config-file",
    "--user-config-file",
    "--tool-config-file",
    "--run-ignored",
    "--status-level",
    "--final-status-level",
    "--failure-output",
    "--success-output",
    "--max-fail",
    "--no-tests",
    "--show-progress",
    "--format",
    "--logfile",
    "--shuffle-seed",
];

/// Whether the next word of a command line is this option's value.
pub(crate) fn takes_value(option: &str) -> bool {
    VALUED.contains(&option)
}
