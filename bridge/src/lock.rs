//! Locks of tasks: who does it, and until when that counts (SDLC-6). Pure.

use std::time::Duration;

use holdpoint_protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// How long a lock counts that does not say: a task takes less than an hour.
pub const LOCK_TIME: Duration = Duration::from_secs(60 * 60);
/// How long a lock without its task counts: its holder is about to move the task.
pub const CLAIM_TIME: Duration = Duration::from_secs(60);
/// The ending of a lock's name, behind the task's.
pub const LOCK_ENDING: &str = ".lock";

/// A lock, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLock {
    /// Who has the task.
    pub holder: String,
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The process there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Until when it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

/// A lock as it was found.
#[derive(Debug, Clone, Copy)]
pub struct FoundLock<'a> {
    /// Its text.
    pub text: &'a str,
    /// When it was written.
    pub written: Timestamp,
    /// Whether its task is in the folder of running ones.
    pub has_task: bool,
}

/// The machine that looks.
#[derive(Clone, Copy)]
pub struct LookingHost<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether a process runs here.
    pub alive: &'a dyn Fn(u32) -> bool,
}

/// Why a lock does not count any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockEnd {
    /// Its time is over.
    Expired,
    /// Its process has ended.
    Dead,
}

/// Whether a lock still counts; a text that is no lock counts as one without particulars.
#[must_use]
pub fn ended(found: FoundLock<'_>, now: Timestamp, here: LookingHost<'_>) -> Option<LockEnd> {
    let lock: Option<TaskLock> = serde_json::from_str(found.text).ok();
    let expires = lock.as_ref().and_then(|lock| lock.expires);
    let counts_for = if found.has_task { LOCK_TIME } else { CLAIM_TIME };
    let until = expires.filter(|_| found.has_task).unwrap_or_else(|| found.written.after(counts_for));
    if until <= now {
        return Some(LockEnd::Expired);
    }
    let process = lock.filter(|lock| lock.host.as_deref() == Some(here.name)).and_then(|lock| lock.pid);
    process.filter(|pid| !(here.alive)(*pid)).map(|_| LockEnd::Dead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn ended_at(text: &str, now: i64, has_task: bool) -> Option<LockEnd> {
        let here = LookingHost { name: "box", alive: &|pid| pid == 7 };
        ended(FoundLock { text, written: at(0), has_task }, at(now), here)
    }

    #[test]
    fn a_lock_counts_until_its_time_is_over_or_its_process_has_ended_here() {
        let lock = |host: &str, pid: u32| {
            let (host, pid) = (Some(host.to_owned()), Some(pid));
            serde_json::to_string(&TaskLock { holder: "w".to_owned(), host, pid, expires: Some(at(100)) }).unwrap()
        };
        for (text, now, expected) in [
            (lock("box", 7), 99, None),
            (lock("box", 7), 100, Some(LockEnd::Expired)),
            (lock("box", 8), 1, Some(LockEnd::Dead)),
            (lock("elsewhere", 8), 99, None),
        ] {
            assert_eq!(ended_at(&text, now, true), expected, "{text} at {now}");
        }
    }

    #[test]
    fn a_lock_without_a_time_counts_an_hour_and_without_its_task_a_minute() {
        for text in ["", "me", "{}", r#"{"holder": "me"}"#, r#"{"holder": "me", "expires": "soon"}"#] {
            assert_eq!(
                (ended_at(text, 3_599, true), ended_at(text, 3_600, true)),
                (None, Some(LockEnd::Expired)),
                "{text}"
            );
            assert_eq!(
                (ended_at(text, 59, false), ended_at(text, 60, false)),
                (None, Some(LockEnd::Expired)),
                "{text}"
            );
        }
        let far = r#"{"holder": "me", "expires": "2200-01-01T00:00:00Z"}"#;
        assert_eq!(ended_at(far, 60, false), Some(LockEnd::Expired), "it locks no task for ever");
    }
}
