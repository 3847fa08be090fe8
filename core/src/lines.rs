//! How many log lines one sender may cause: so many a minute, and then one that says how many were left out. A log that a sender
//! can fill hides what others did, and takes the disk.

use std::collections::BTreeMap;

use holdpoint_protocol::Timestamp;

/// Lines of one sender in a minute.
pub const LINES_A_MINUTE: u32 = 120;
/// A minute, in seconds.
const WINDOW_S: u64 = 60;

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// It is written. So many of this sender's were left out since the last one that was.
    Written {
        /// How many; mostly none.
        left_out: u64,
    },
    /// It is left out.
    LeftOut,
}

/// Who caused how many lines lately. There is an entry for each sender: senders are roles, or kinds of messages, of which there are
/// a handful.
#[derive(Debug, Default)]
pub struct Lines(BTreeMap<String, Window>);

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Timestamp,
    written: u32,
    left_out: u64,
}

impl Lines {
    /// Another line of this sender.
    pub fn next(&mut self, sender: &str, now: Timestamp) -> Line {
        let fresh = Window { began: now, written: 0, left_out: 0 };
        let window = self.0.entry(sender.to_owned()).or_insert(fresh);
        let mut left_out = 0;
        if now.since(window.began).as_secs() >= WINDOW_S {
            left_out = window.left_out;
            *window = fresh;
        }
        if window.written >= LINES_A_MINUTE {
            window.left_out += 1;
            return Line::LeftOut;
        }
        window.written += 1;
        Line::Written { left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_sender_has_its_lines_a_minute_and_then_is_told_how_many_were_left_out() {
        let mut lines = Lines::default();
        let written = (0..1_000).filter(|_| lines.next("builder", at(0)) != Line::LeftOut).count();
        assert_eq!(written, LINES_A_MINUTE as usize);
        assert_eq!(lines.next("verifier", at(1)), Line::Written { left_out: 0 });
        assert_eq!(lines.next("builder", at(59)), Line::LeftOut);
        let left_out = 1_000 - u64::from(LINES_A_MINUTE) + 1;
        assert_eq!(lines.next("builder", at(60)), Line::Written { left_out });
        assert_eq!(lines.next("builder", at(61)), Line::Written { left_out: 0 });
    }
}
