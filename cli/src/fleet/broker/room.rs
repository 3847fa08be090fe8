//! Whether the broker's disk has room. The broker says it in its log only, and so it is tried here: a file is written and
//! removed. The caller decides what is done about it.

use std::{io, path::PathBuf, time::Duration};

use tokio::time::Instant;

use crate::{output, state::try_room};

/// How often it is tried.
const TRY_EVERY: Duration = Duration::from_secs(2);

/// The room on the disk of one folder.
#[derive(Debug)]
pub(crate) struct Room {
    dir: PathBuf,
    next: Instant,
    full: bool,
}

impl Room {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, next: Instant::now(), full: false }
    }

    /// Whether there is room now where there was none when this was asked last. Says on standard error when there is none
    /// any more, and when there is again.
    pub(super) async fn is_there_again(&mut self) -> bool {
        if Instant::now() < self.next {
            return false;
        }
        self.next = Instant::now() + TRY_EVERY;
        let dir = self.dir.clone();
        let tried = tokio::task::spawn_blocking(move || try_room(&dir)).await;
        match tried.unwrap_or(Ok(())) {
            Err(error) if is_lack(&error) => {
                if !self.full {
                    let dir = self.dir.display();
                    output::err(&format!(
                        "trouble: the broker has no room in {dir}: {error}; make some, and all goes on"
                    ));
                }
                self.full = true;
                false
            }
            // Something else may be wrong with the folder; the broker's own end shows that.
            _ if self.full => {
                output::err("there is room again: the broker starts again");
                self.full = false;
                true
            }
            _ => false,
        }
    }
}

fn is_lack(error: &io::Error) -> bool {
    [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn room_that_was_never_missing_is_not_there_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut room = Room::new(dir.path().to_owned());
        assert!(!room.is_there_again().await);
        room.full = true;
        assert!(!room.is_there_again().await, "not tried again so soon");
        room.next = Instant::now();
        assert!(room.is_there_again().await);
        assert!(!room.full && std::fs::read_dir(dir.path()).unwrap().next().is_none());
    }
}
