//! How large a plan and its parts may be. Every part of a waypoint rides in its turns, and a turn has to fit into one
//! message of the broker; the limits are several times what people write.

use std::ops::RangeInclusive;

/// The most waypoints of one plan. Every waypoint is a journal of its own; more belongs into several flights.
pub const WAYPOINTS_MAX: usize = 5_000;
/// The most criteria of a waypoint. Each is a run in the sandbox and a line of every report.
pub const CRITERIA_MAX: usize = 500;
/// The most guards of a plan. All of them run for every waypoint.
pub const GUARDS_MAX: usize = 500;
/// The most items of any other list: globs, sources, tags, answers. The paths of a change are held against each glob.
pub const ITEMS_MAX: usize = 1_000;
/// The most BDD specs of a waypoint.
pub const TESTS_MAX: usize = 200;
/// The longest BDD specs of a waypoint together, in bytes of JSON.
pub const TESTS_BYTES_MAX: usize = 256 << 10;
/// The most things that tests over HTTP may be given.
pub const GIVEN_MAX: usize = 200;
/// The longest time in milliseconds that a service may take to be ready: half of what a check has.
pub const WITHIN_MS_MAX: u64 = 300_000;
/// The longest goal in bytes. It is the larger part of the task that a program gets, and more text than one reads.
pub const GOAL_BYTES_MAX: usize = 256 << 10;
/// The longest title in bytes: it is the first line of a commit.
pub const TITLE_BYTES_MAX: usize = 1 << 10;
/// The longest statement, option or rationale in bytes. They are sentences, and appear in reports.
pub const SENTENCE_BYTES_MAX: usize = 16 << 10;
/// The longest shell command in bytes. The system takes 128 KiB for one argument of a program, and the sandbox's own
/// words come before it.
pub const COMMAND_BYTES_MAX: usize = 64 << 10;
/// The longest regular expression in bytes. Compiling takes time and memory by its length.
pub const REGEX_BYTES_MAX: usize = 8 << 10;
/// How large a regular expression is once compiled, in bytes, up to which a plan may have any number. Most have a tenth.
pub(crate) const LIGHT_REGEX_BYTES_MAX: usize = 128 << 10;
/// The most larger ones of a plan: each can take 30 ms to compile, and the one who takes the plan in waits for all.
pub const HEAVY_REGEXES_MAX: usize = 100;
/// The longest name, path or tag in bytes: as long as a path of the system.
pub const NAME_BYTES_MAX: usize = 4 << 10;
/// More rounds of the same work help nobody; a plan that needs them is stuck.
pub const ROUNDS_MAX: u64 = 1_000;
/// Advisors that are asked in one round.
pub const ADVISORS_MAX: u32 = 3;
/// The most mutants of a criterion. Each is a whole run of its check; a sample of this size finds tests that notice nothing.
pub const MUTANTS_MAX: u64 = 50;
/// The most mutants of all criteria of a waypoint: each may take two runs, and a report lists every run.
pub const MUTANTS_SUM_MAX: u64 = 500;
/// The most files that work may be said to remove without a question: more than a repository has.
pub const FILES_MAX: u64 = 10_000_000;
/// The longest duration in milliseconds: 30 days. Deadlines stay far from the end of time, and no flight runs longer.
pub const DURATION_MS_MAX: u64 = 30 * 24 * 3_600_000;

/// Rounds that a policy may allow.
pub(crate) const ROUNDS: RangeInclusive<u64> = 0..=ROUNDS_MAX;
/// Mutants that a criterion may ask for.
pub(crate) const MUTANTS: RangeInclusive<u64> = 1..=MUTANTS_MAX;
/// Files that work may remove without a question.
pub(crate) const FILES: RangeInclusive<u64> = 0..=FILES_MAX;
/// Counts that a budget may give.
pub(crate) const COUNT: RangeInclusive<u64> = 1..=u64::MAX;
