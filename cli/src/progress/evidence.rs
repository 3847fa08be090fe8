//! The last lines of a red check's output, got from its evidence.

use holdpoint_bus::blobs;
use holdpoint_core::shown;
use holdpoint_protocol::ids::role;

use super::news::Red;
use crate::client::Client;

/// Lines of output that are shown.
const LINES: usize = 5;
/// The most evidence that is fetched for them: a check's output is capped below that.
const BYTES_MAX: u64 = 32 << 20;
/// What stands before how a check ended, and before each of its outputs.
const ENDED: &str = "ended: ";
const OUTPUT: &str = "--- standard ";

/// What of the evidence is shown.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// `exit 1 after 20 ms`, or the reason's word.
    pub(super) ended: Option<String>,
    /// The end of the output.
    pub(super) last_lines: Vec<String>,
}

/// What a red result shows. Evidence that cannot be had is not worth an error here: the verdict stands without.
pub(super) async fn of(client: &Client, red: &Red) -> Shown {
    let by_reason = || Shown { ended: red.reason.map(str::to_owned), last_lines: Vec::new() };
    let Some(digest) = red.evidence else { return by_reason() };
    match blobs::get(client.bus(), digest, &[role::id(role::VERIFIER)], BYTES_MAX).await {
        Ok(bytes) => read(&String::from_utf8_lossy(&bytes), red.reason),
        Err(_) => by_reason(),
    }
}

fn read(evidence: &str, reason: Option<&str>) -> Shown {
    let (head, output) = match evidence.find(OUTPUT) {
        Some(at) => evidence.split_at(at),
        None => (evidence, ""),
    };
    let ended = head.lines().find_map(|line| line.strip_prefix(ENDED)).map(|ended| shown::line(ended).into_owned());
    // Exit 0 is red all the same when something else was demanded: then the reason says more.
    let ended = match (ended, reason) {
        (Some(ended), Some(reason)) if ended.starts_with("exit 0") => Some(format!("{reason} ({ended})")),
        (Some(ended), _) => Some(ended),
        (None, reason) => reason.map(str::to_owned),
    };
    let lines: Vec<&str> = output.lines().filter(|line| !line.starts_with(OUTPUT) && !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    Shown { ended, last_lines: last.iter().flat_map(|line| shown::quoted(line)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIDENCE: &str = "$ make test\ntree: aa\nended: exit 1 after 12 ms\n--- standard output: 8 bytes\n1\n2\n3\n4\n\
                            --- standard error: 9 bytes\nFAILED\n\n\u{1b}[1mx\n";

    #[test]
    fn the_end_of_both_outputs_is_shown() {
        let shown = read(EVIDENCE, Some("exit_code"));
        assert_eq!(shown.ended.as_deref(), Some("exit 1 after 12 ms"));
        assert_eq!(shown.last_lines, ["| 2", "| 3", "| 4", "| FAILED", "| x"]);
    }

    #[test]
    fn a_red_check_that_exits_with_0_shows_its_reason() {
        let shown = read("ended: exit 0 after 1 ms\n", Some("expect_unmatched"));
        assert_eq!(shown.ended.as_deref(), Some("expect_unmatched (exit 0 after 1 ms)"));
        assert_eq!(read("nothing was run: no judge\n", Some("no_judge")).ended.as_deref(), Some("no_judge"));
    }
}
