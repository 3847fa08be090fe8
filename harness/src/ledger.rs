//! What the runs of a turn used up so far, kept by the turn's id. A turn that is delivered once more has what is left of its allowance,
//! and is charged with what was used up before, also where the failure between them was not the program's.

use std::{
    convert::Infallible,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_engine::budget::metering;
use holdpoint_protocol::{artifact::Metered, ids::TurnId};
use holdpoint_runtime::telemetry::ErrorChain;

use crate::meter::RunMeter;

/// How turns are kept that are over: nobody says when one is, and none has the id of another.
const KEPT_MAX: usize = 64;
/// What the files are called.
const PREFIX: &str = "used-";
/// How often what a run used up so far is noted.
const EVERY: Duration = Duration::from_secs(2);

/// The note of one turn.
#[derive(Debug, Clone)]
pub struct TurnLedger {
    /// `None`: it is kept nowhere.
    path: Option<PathBuf>,
    /// What ended runs used up, those of earlier deliveries included.
    pub used: Metered,
}

impl TurnLedger {
    /// What is noted of a turn in this folder.
    #[must_use]
    pub fn of(dir: &Path, turn: &TurnId) -> Self {
        let path = dir.join(format!("{PREFIX}{turn}"));
        let noted = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self { path: Some(path), used: noted.unwrap_or_default() }
    }

    /// One of runs that are no turn's, which goes with them.
    #[must_use]
    pub fn unkept() -> Self {
        Self { path: None, used: Metered::default() }
    }

    /// A run begins. Nothing is run that cannot be noted.
    ///
    /// # Errors
    /// What the system said.
    pub fn begin(&self) -> io::Result<()> {
        if let Some(path) = &self.path {
            forget_old(path);
        }
        self.note(&metering::begun(&self.used))
    }

    /// A run ended.
    pub fn end(&mut self, run: Metered) {
        self.used = metering::plus(std::mem::take(&mut self.used), run);
        self.note_or_say(&self.used);
    }

    /// Notes what a run used up so far, now and then; never comes back.
    pub async fn keep(&self, meter: &RunMeter) -> Infallible {
        loop {
            tokio::time::sleep(EVERY).await;
            self.note_or_say(&metering::plus(self.used.clone(), meter.so_far()));
        }
    }

    fn note_or_say(&self, used: &Metered) {
        if let Err(error) = self.note(used) {
            tracing::warn!(error = %ErrorChain(&error), "cannot note what a turn used up");
        }
    }

    fn note(&self, used: &Metered) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let begun = path.with_extension("part");
        fs::write(&begun, serde_json::to_vec(used)?)?;
        fs::rename(&begun, path)
    }

    /// Where it is; empty where it is nowhere.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or_else(|| Path::new(""))
    }
}

/// Removes the oldest notes beyond the most that are kept.
fn forget_old(path: &Path) {
    let Some(Ok(entries)) = path.parent().map(fs::read_dir) else { return };
    let notes = entries.filter_map(Result::ok).filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut notes: Vec<_> =
        notes.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    notes.sort();
    let over = notes.len().saturating_sub(KEPT_MAX);
    for (_, old) in notes.drain(..over) {
        if let Err(error) = fs::remove_file(&old) {
            tracing::debug!(%error, path = %old.display(), "an old note stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cost: u64) -> Metered {
        Metered { cost_micro_usd: Some(cost), tokens: Some(1), ..Metered::default() }
    }

    #[test]
    fn another_delivery_of_a_turn_begins_with_what_the_one_before_used_up() {
        let (dir, turn) = (tempfile::tempdir().unwrap(), "t1".parse().unwrap());
        let mut ledger = TurnLedger::of(dir.path(), &turn);
        assert_eq!(ledger.used, Metered::default());
        ledger.begin().unwrap();
        ledger.end(run(300));
        let mut again = TurnLedger::of(dir.path(), &turn);
        assert_eq!(again.used, run(300));
        again.begin().unwrap();
        // This one dies in its run.
        let after = TurnLedger::of(dir.path(), &turn).used;
        assert_eq!((after.cost_micro_usd, after.incomplete), (Some(300), true));
        again.end(run(200));
        assert_eq!(TurnLedger::of(dir.path(), &turn).used.cost_micro_usd, Some(500));
        assert_eq!(TurnLedger::of(dir.path(), &"t2".parse().unwrap()).used, Metered::default());
    }

    #[test]
    fn notes_of_few_turns_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..KEPT_MAX + 5 {
            TurnLedger::of(dir.path(), &format!("t{number}").parse().unwrap()).begin().unwrap();
        }
        assert!(fs::read_dir(dir.path()).unwrap().count() <= KEPT_MAX + 1);
    }
}
