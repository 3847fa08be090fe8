//! How many log lines others may cause: so many a minute of each kind, a third of them one sender, and then one that says how
//! many were left out. A log that a sender can fill hides what others did, and takes the disk.

use std::collections::BTreeMap;

use holdpoint_protocol::Timestamp;

/// Lines of one kind in a minute.
pub const LINES_A_MINUTE: u32 = 120;
/// Those of them that one sender may cause.
pub const LINES_OF_ONE: u32 = 40;
/// Senders of which it is kept how many they caused. Beyond, those of the kind that come new in the same minute share one number.
const SENDERS_MAX: usize = 1_024;
/// A minute, in seconds.
const WINDOW_S: u64 = 60;

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFate {
    /// It is written. So many of this kind, or of this sender's, were left out since the last one that was.
    Written {
        /// How many; mostly none.
        left_out: u64,
    },
    /// It is left out.
    LeftOut,
}

/// How many lines were caused lately. There is an entry for each kind: roles, or kinds of messages, of which there are a handful.
#[derive(Debug, Default)]
pub struct LineCounts {
    kinds: BTreeMap<String, Window>,
    senders: BTreeMap<(String, String), Window>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Timestamp,
    written: u32,
    left_out: u64,
}

impl LineCounts {
    /// Another line of this kind.
    pub fn next(&mut self, kind: &str, now: Timestamp) -> LineFate {
        self.kinds.entry(kind.to_owned()).or_insert_with(|| Window::new(now)).next(LINES_A_MINUTE, now)
    }

    /// Another line of this kind that this sender causes. It takes no more of the kind's lines than it may.
    pub fn next_of(&mut self, kind: &str, sender: &str, now: Timestamp) -> LineFate {
        let mut key = (kind.to_owned(), sender.to_owned());
        if self.senders.len() >= SENDERS_MAX && !self.senders.contains_key(&key) {
            self.senders.retain(|_, window| !window.is_over(now));
            if self.senders.len() >= SENDERS_MAX {
                key.1 = String::new();
            }
        }
        let window = self.senders.entry(key).or_insert_with(|| Window::new(now));
        let LineFate::Written { left_out: of_sender } = window.next(LINES_OF_ONE, now) else {
            return LineFate::LeftOut;
        };
        let LineFate::Written { left_out } = self.next(kind, now) else { return LineFate::LeftOut };
        LineFate::Written { left_out: left_out + of_sender }
    }
}

impl Window {
    fn new(began: Timestamp) -> Self {
        Self { began, written: 0, left_out: 0 }
    }

    fn is_over(&self, now: Timestamp) -> bool {
        now.since(self.began).as_secs() >= WINDOW_S
    }

    fn next(&mut self, max: u32, now: Timestamp) -> LineFate {
        let mut left_out = 0;
        if self.is_over(now) {
            left_out = self.left_out;
            *self = Self::new(now);
        }
        if self.written >= max {
            self.left_out += 1;
            return LineFate::LeftOut;
        }
        self.written += 1;
        LineFate::Written { left_out }
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
        let mut lines = LineCounts::default();
        let written = (0..1_000).filter(|_| lines.next("builder", at(0)) != LineFate::LeftOut).count();
        assert_eq!(written, LINES_A_MINUTE as usize);
        assert_eq!(lines.next("verifier", at(1)), LineFate::Written { left_out: 0 });
        assert_eq!(lines.next("builder", at(59)), LineFate::LeftOut);
        let left_out = 1_000 - u64::from(LINES_A_MINUTE) + 1;
        assert_eq!(lines.next("builder", at(60)), LineFate::Written { left_out });
        assert_eq!(lines.next("builder", at(61)), LineFate::Written { left_out: 0 });
    }

    #[test]
    fn one_sender_leaves_lines_of_its_kind_to_others() {
        let mut lines = LineCounts::default();
        let mut written = |sender: &str, count: u32, now| {
            (0..count).filter(|_| lines.next_of("builder", sender, at(now)) != LineFate::LeftOut).count()
        };
        assert_eq!(written("b1", 1_000, 0), LINES_OF_ONE as usize);
        assert_eq!(written("b2", 5, 0), 5, "another is heard");
        assert_eq!(written("b3", 1_000, 1) + written("b4", 1_000, 1), (LINES_A_MINUTE - LINES_OF_ONE - 5) as usize);
        assert_eq!(lines.next_of("builder", "b2", at(2)), LineFate::LeftOut, "of a kind no more than before");
        assert_eq!(lines.next_of("verifier", "b1", at(2)), LineFate::Written { left_out: 0 });
        let LineFate::Written { left_out } = lines.next_of("builder", "b1", at(61)) else { panic!() };
        assert!(left_out >= 1_000 - u64::from(LINES_OF_ONE), "{left_out}");
    }

    #[test]
    fn senders_without_end_take_no_memory_without_end() {
        let mut lines = LineCounts::default();
        for sender in 0..3 * SENDERS_MAX {
            let _ = lines.next_of("builder", &sender.to_string(), at(0));
        }
        assert!(lines.senders.len() <= SENDERS_MAX + 1);
        let _ = lines.next_of("builder", "new", at(60));
        assert!(lines.senders.len() <= 2, "those of the last minute are forgotten");
    }
}
