//! What is to be sent of one turn, at a bounded pace. The newest lines stay: what is said last is always sent.

use std::{collections::VecDeque, time::Duration};

use holdpoint_protocol::live::LiveLine;

/// Lines that may be sent at once.
const BURST: u32 = 10;
/// How long it takes until one more may be sent: 100 a minute, so that a minute never has more than
/// [`LINES_A_MINUTE`](crate::lines::LINES_A_MINUTE).
const EVERY: Duration = Duration::from_millis(600);
/// Lines that wait; of more the oldest are left out.
const WAITING_MAX: usize = 20;

/// Lines of one turn that wait to be sent. Times are since its beginning.
#[derive(Debug)]
pub struct Outbox {
    waiting: VecDeque<LiveLine>,
    left_out: u32,
    /// How many may be sent now, and until when that was counted.
    allowed: u32,
    counted: Duration,
}

/// What is done next.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// This line is sent.
    Line(LiveLine),
    /// The next line may be sent after this time.
    Later(Duration),
    /// Nothing waits.
    Nothing,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), left_out: 0, allowed: BURST, counted: Duration::ZERO }
    }
}

impl Outbox {
    /// Puts a line at the end.
    pub fn put(&mut self, line: LiveLine) {
        if self.waiting.len() == WAITING_MAX {
            self.waiting.pop_front();
            self.left_out = self.left_out.saturating_add(1);
        }
        self.waiting.push_back(line);
    }

    /// Takes the oldest line that waits, if one may be sent.
    pub fn take(&mut self, now: Duration) -> Taken {
        if self.waiting.is_empty() {
            return Taken::Nothing;
        }
        while self.allowed < BURST && now >= self.counted + EVERY {
            self.allowed += 1;
            self.counted += EVERY;
        }
        if self.allowed == BURST {
            self.counted = now;
        }
        if self.allowed == 0 {
            return Taken::Later((self.counted + EVERY).saturating_sub(now));
        }
        match self.waiting.pop_front() {
            Some(line) => {
                self.allowed -= 1;
                Taken::Line(LiveLine { left_out: std::mem::take(&mut self.left_out), ..line })
            }
            None => Taken::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{Timestamp, live::LiveKind};

    use super::*;
    use crate::lines::LINES_A_MINUTE;

    fn line(text: usize) -> LiveLine {
        let (turn, at) = ("turn-1".parse().unwrap(), Timestamp::from_millis(0));
        LiveLine { turn, at, kind: LiveKind::Said, text: text.to_string(), left_out: 0 }
    }

    #[test]
    fn a_flood_is_held_to_its_pace_and_what_is_said_last_is_sent() {
        let (mut outbox, mut now) = (Outbox::default(), Duration::ZERO);
        (0..1_000).for_each(|n| outbox.put(line(n)));
        let (mut sent, mut left_out) = (Vec::new(), 0);
        loop {
            match outbox.take(now) {
                Taken::Line(line) => {
                    left_out += line.left_out;
                    sent.push(line.text);
                }
                Taken::Later(pause) => now += pause,
                Taken::Nothing => break,
            }
        }
        assert_eq!(sent.len(), WAITING_MAX);
        assert_eq!(sent.last().unwrap(), "999");
        assert_eq!(left_out as usize, 1_000 - WAITING_MAX);
        assert_eq!(now, EVERY * u32::try_from(WAITING_MAX).unwrap() - EVERY * BURST);
    }

    #[test]
    fn a_minute_has_no_more_lines_than_a_reader_shows() {
        let (mut outbox, mut sent) = (Outbox::default(), Vec::new());
        for millis in 0..180_000_u64 {
            let now = Duration::from_millis(millis);
            outbox.put(line(0));
            if let Taken::Line(_) = outbox.take(now) {
                sent.push(now);
            }
        }
        for from in &sent {
            let minute = sent.iter().filter(|at| (*from..*from + Duration::from_secs(60)).contains(at)).count();
            assert!(minute <= LINES_A_MINUTE as usize, "{minute}");
        }
    }
}
