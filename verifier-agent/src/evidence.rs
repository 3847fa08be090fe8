//! Evidence: what a run printed, as the bytes that are stored and the lines that are shown.
//!
//! No I/O. The stored form begins with what was run and how it ended, so it is never empty and stands for itself.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

use holdpoint_evidence::telling;
use holdpoint_protocol::{Digest, facts::Oid, time::Millis};
use holdpoint_sandbox::{Ended, RunOutcome, Tap};

/// Lines of output that a report shows.
const TAIL_LINES: usize = 20;
/// Bytes of output that a report shows.
const TAIL_BYTES: usize = 2 << 10;

/// Bytes of a running program's output that are remembered in the order they came, at least: the end of them is shown.
const KEPT_BYTES: usize = 64 << 10;
/// Bytes of each output of a mutant's run that are kept, from its start and from its end: there may be a hundred of them.
const MUTANT_OUTPUT_BYTES: usize = 32 << 10;

/// Bytes to be stored under their digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What they are called.
    pub digest: Digest,
    /// The bytes; never empty.
    pub bytes: Vec<u8>,
}

impl Evidence {
    /// Takes bytes as evidence.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { digest: Digest::of(&bytes), bytes }
    }

    /// A run: a head that names it, with what an observer heard of it, then both outputs. Of a mutant the head says what was
    /// broken, and the outputs are cut.
    pub(crate) fn of_run(
        command: &str,
        tree: &Oid,
        broken: Option<&str>,
        outcome: &RunOutcome,
        heard: &[String],
    ) -> Self {
        let duration = Millis::from(outcome.duration).0;
        let mut head = String::new();
        for line in command.trim_end().lines() {
            let _ = writeln!(head, "$ {line}");
        }
        if let Some(broken) = broken {
            let _ = writeln!(head, "mutant: {broken}");
        }
        let _ = writeln!(head, "tree: {tree}\nended: {} after {duration} ms", ending(outcome.ended));
        for line in heard {
            let _ = writeln!(head, "observed: {line}");
        }
        let mut bytes = head.into_bytes();
        for (name, output) in [("standard output", &outcome.stdout), ("standard error", &outcome.stderr)] {
            bytes.extend(format!("--- {name}: {} bytes\n", output.len()).bytes());
            let output: &[u8] = if broken.is_some() { &shortened(output) } else { output };
            bytes.extend_from_slice(output);
            if output.last().is_some_and(|last| *last != b'\n') {
                bytes.push(b'\n');
            }
        }
        Self::new(bytes)
    }

    /// What a person says who judged.
    pub(crate) fn of_person(said: &str) -> Self {
        Self::new(format!("{said}\n").into_bytes())
    }

    /// Why nothing was run.
    pub(crate) fn of_reason(reason: &str) -> Self {
        Self::new(format!("nothing was run: {reason}\n").into_bytes())
    }
}

/// The start and the end of an output.
fn shortened(output: &[u8]) -> Vec<u8> {
    let half = MUTANT_OUTPUT_BYTES / 2;
    match (output.get(..half), output.len().checked_sub(half).and_then(|from| output.get(from..))) {
        (Some(start), Some(end)) if output.len() > MUTANT_OUTPUT_BYTES => {
            let words = format!("\n[{} bytes are left out here]\n", output.len() - MUTANT_OUTPUT_BYTES);
            [start, words.as_bytes(), end].concat()
        }
        _ => output.to_vec(),
    }
}

/// How a program ended, in short. [`telling`] says what a code means to a shell.
pub(crate) fn ending(ended: Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("exit {code}"),
        Ended::Signalled(signal) => telling::signal(signal),
        Ended::TimedOut => "its time was up".to_owned(),
        Ended::OutputLimit => "it printed more than allowed".to_owned(),
        Ended::MemoryLimit => "it used more memory than allowed".to_owned(),
        Ended::DiskLimit => "it used up more disk space than allowed".to_owned(),
    }
}

/// Both outputs as text, one after the other: what `expect` and the runners' counts are read from. It does not depend
/// on how the two streams were scheduled.
pub(crate) fn text(outcome: &RunOutcome) -> String {
    let mut text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&String::from_utf8_lossy(&outcome.stderr));
    text
}

/// The end of both outputs, interleaved about as they came (two pipes have no order between them), as far as it can be shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interleaved(Arc<Mutex<Vec<u8>>>);

impl Interleaved {
    /// What puts a program's output here while it runs.
    pub(crate) fn tap(&self) -> Tap {
        let Self(kept) = self.clone();
        Tap::new(move |_, bytes| keep(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), bytes))
    }

    /// The last lines. Where they are all blank, those of one output after the other.
    pub(crate) fn last_lines(&self, outcome: &RunOutcome) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = last_lines(&String::from_utf8_lossy(&kept));
        if lines.is_empty() { last_lines(&text(outcome)) } else { lines }
    }
}

/// Adds to the end of a record of at most twice [`KEPT_BYTES`].
fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(bytes);
    if kept.len() > 2 * KEPT_BYTES {
        kept.drain(..kept.len() - KEPT_BYTES);
    }
}

/// The end of a text: at most [`TAIL_LINES`] lines and [`TAIL_BYTES`] bytes.
pub(crate) fn last_lines(text: &str) -> String {
    let text = text.trim_end();
    let by_lines = text.rmatch_indices('\n').nth(TAIL_LINES - 1).map_or(0, |(at, _)| at + 1);
    let by_bytes = text.len().saturating_sub(TAIL_BYTES);
    let start = (by_lines.max(by_bytes)..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn outcome(stdout: &str, stderr: &str) -> RunOutcome {
        RunOutcome {
            ended: Ended::Exited(1),
            stdout: stdout.into(),
            stderr: stderr.into(),
            duration: Duration::from_millis(7),
            tree_ended: true,
            properties: Vec::new(),
        }
    }

    fn tree() -> Oid {
        "a".repeat(40).parse().unwrap()
    }

    #[test]
    fn evidence_names_the_run_and_is_never_empty() {
        let evidence = Evidence::of_run("make\ntest\n", &tree(), None, &outcome("out", ""), &[]);
        let text = String::from_utf8(evidence.bytes.clone()).unwrap();
        let head = format!("$ make\n$ test\ntree: {}\nended: exit 1 after 7 ms\n", tree());
        assert_eq!(text, format!("{head}--- standard output: 3 bytes\nout\n--- standard error: 0 bytes\n"));
        assert_eq!(evidence.digest, Digest::of(&evidence.bytes));
    }

    #[test]
    fn evidence_of_a_mutant_says_what_was_broken_and_is_cut_in_the_middle() {
        let long = format!("start{}end", "x".repeat(MUTANT_OUTPUT_BYTES));
        let evidence = Evidence::of_run("test", &tree(), Some("a.py:1: x"), &outcome(&long, "short"), &[]);
        let text = String::from_utf8(evidence.bytes).unwrap();
        assert!(text.starts_with("$ test\nmutant: a.py:1: x\ntree: "), "{text}");
        assert!(text.contains("\nstart") && text.contains("\n[8 bytes are left out here]\n") && text.contains("end\n"));
        assert!(text.len() < MUTANT_OUTPUT_BYTES + 300 && text.ends_with("short\n"));
    }

    #[test]
    fn tail_has_the_last_lines_within_its_bounds() {
        let lines: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        assert_eq!(last_lines(&lines.join("\n")), lines[80..].join("\n"));
        assert_eq!(last_lines("short\n\n"), "short");
        assert_eq!(last_lines(""), "");
        let long = last_lines(&"ä".repeat(5_000));
        assert!(long.len() <= TAIL_BYTES && long.chars().all(|c| c == 'ä'));
    }

    #[test]
    fn the_tail_is_interleaved_as_it_came_and_holds_a_bounded_part() {
        let (ended, tail) = (outcome("2\n", "1\n"), Interleaved::default());
        assert_eq!(tail.last_lines(&ended), "2\n1", "nothing was seen: one after the other");
        let mut kept = tail.0.lock().unwrap();
        keep(&mut kept, b"1\n");
        keep(&mut kept, b"2\n");
        drop(kept);
        assert_eq!(tail.last_lines(&ended), "1\n2");
        for n in 0..100_000 {
            let mut kept = tail.0.lock().unwrap();
            keep(&mut kept, format!("{n}\n").as_bytes());
            assert!(kept.len() <= 2 * KEPT_BYTES);
        }
        assert!(tail.last_lines(&ended).ends_with("99998\n99999"));
    }
}
