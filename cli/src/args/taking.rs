//! Turns that people take over from agents.

use std::path::PathBuf;

use clap::Args;
use holdpoint_protocol::{
    facts::Verdict,
    ids::{CriterionId, FlightId, WaypointId},
};

use super::people::{Acting, Whose};

/// `take`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint take w1\n  \
    holdpoint take w1 --into ~/w1 --as human-ann\n\n\
    Takes an open turn from its agents. A builder's turn: makes a clone with the work so far next to the repository \
    (../<repository>-w1), and what is wanted in a file next to it. Edit, then `holdpoint hand-in w1`; it is verified like \
    an agent's work. A gate that agents complete: `holdpoint approve w1` or `holdpoint reject w1` completes it. \
    A verification: read the clone of the work, then `holdpoint hand-in w1 --verdict ID=pass --note N` judges the criteria \
    without a check. `holdpoint release w1` gives the turn back; it goes back by itself after a day. \
    Called again by the person who has the turn, it makes the clone once more.")]
pub(crate) struct TakeArgs {
    /// Which waypoint
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// Where the clone is made: a folder that is not there yet
    #[arg(long, value_name = "DIR")]
    pub(crate) into: Option<PathBuf>,
    /// Who takes it
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `hand-in`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint hand-in w1\n  cd ~/w1 && holdpoint hand-in\n  \
    holdpoint hand-in w1 --from ~/w1 --as human-ann\n  \
    holdpoint hand-in w1 --verdict readable=pass --note 'read every line of src/retry.rs'\n\n\
    Hands in the files of the clone that `holdpoint take` made, as they are; no commit is needed, and ignored files do not \
    count. Then the clone is removed, unless it has files that git ignores. Who hands work in cannot approve it later. Of a verification that was taken over: a verdict on each criterion \
    without a check; a verifier runs the checks and puts your verdicts in the place of a judge's.")]
pub(crate) struct HandInArgs {
    /// The waypoint; inside of the clone it is known
    pub(crate) waypoint: Option<WaypointId>,
    /// The flight; without it the one in which this waypoint waits, or the newest one that has it
    #[arg(long)]
    pub(crate) flight: Option<FlightId>,
    /// The clone, where it was made with --into
    #[arg(long, value_name = "DIR", conflicts_with = "verdicts")]
    pub(crate) from: Option<PathBuf>,
    /// Of a verification: the verdict on a criterion without a check, ID=pass or ID=fail; one for each
    #[arg(long = "verdict", value_name = "ID=VERDICT", value_parser = verdict, requires = "note")]
    pub(crate) verdicts: Vec<(CriterionId, Verdict)>,
    /// What the verdicts rest on
    #[arg(long, value_name = "N", requires = "verdicts")]
    pub(crate) note: Option<String>,
    /// Who hands it in
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `release`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint release w1\n\n\
    Gives a turn back that `holdpoint take` took: it is its agents' again, as it was. The clone stays where it is, and \
    nothing of it is handed in.")]
pub(crate) struct ReleaseArgs {
    /// Which waypoint
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// Who gives it back
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `readable=pass`.
fn verdict(text: &str) -> Result<(CriterionId, Verdict), String> {
    let said = text.rsplit_once('=').and_then(|(id, word)| {
        let verdict = [Verdict::Pass, Verdict::Fail].into_iter().find(|verdict| verdict.as_str() == word)?;
        Some((id.parse().ok()?, verdict))
    });
    said.ok_or_else(|| "a verdict is written ID=pass or ID=fail".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use holdpoint_protocol::facts::Verdict;

    use crate::args::{Command, parsed};

    #[test]
    fn a_turn_is_taken_handed_in_and_released_by_its_waypoint() {
        let Ok(Command::Take(args)) = parsed("take w1 --flight f --into d --as human-ann") else { panic!("a take") };
        assert!(args.into.is_some() && args.whose.flight.is_some());
        let Ok(Command::HandIn(args)) = parsed("hand-in w1 --from d") else { panic!("work") };
        assert!(args.from.is_some());
        assert!(matches!(parsed("release w1"), Ok(Command::Release(_))));
        let Ok(Command::HandIn(args)) = parsed("hand-in w1 --verdict a=pass --verdict b=fail --note n") else {
            panic!("verdicts")
        };
        assert_eq!(
            args.verdicts.iter().map(|(_, verdict)| *verdict).collect::<Vec<_>>(),
            [Verdict::Pass, Verdict::Fail]
        );
        for wrong in ["a", "a=", "a=inconclusive", "=pass", "a=pass --from d"] {
            assert!(parsed(&format!("hand-in w1 --note n --verdict {wrong}")).is_err(), "{wrong}");
        }
        assert!(parsed("hand-in w1 --verdict a=pass").is_err(), "without what it rests on");
        assert_eq!(parsed("take").unwrap_err(), ErrorKind::MissingRequiredArgument);
    }
}
