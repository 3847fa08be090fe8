//! What people do about work that waits for them: answers, approvals, retries, and steering a flight.

use clap::{ArgGroup, Args};
use holdpoint_protocol::ids::{AgentName, FlightId, GateId, WaypointId};

use super::Place;

/// In whose name an act is signed, and on which fleet.
#[derive(Debug, Clone, Args)]
pub(crate) struct Acting {
    /// In whose name, in a local fleet; that person's key is made when it is first used [default: human-<your user name>]
    #[arg(long = "as", value_name = "human-NAME")]
    pub(crate) person: Option<AgentName>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print the flight as one JSON object; a refusal as {"error": …}
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which waypoint, of which flight.
#[derive(Debug, Clone, Args)]
pub(crate) struct Whose {
    /// The waypoint, the beginning of its name, or `latest`
    pub(crate) waypoint: WaypointId,
    /// The flight; without it the one in which this waypoint waits, or the newest one that has it
    #[arg(long)]
    pub(crate) flight: Option<FlightId>,
}

/// `inbox`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint inbox\n  holdpoint inbox --flight FLIGHT --json\n  \
    holdpoint inbox --notices\n\n\
    Lists questions, calls for help, approvals, and work that is blocked or failed, longest first, each with the \
    commands that move it on. With --notices also what needs no answer: flights that are over, and, of flights that are \
    open or named by --flight, gates that were passed over because of an invalid condition, and agents' turns that were \
    offered again after their deadline.")]
pub(crate) struct InboxArgs {
    /// Also list notifications that need no answer
    #[arg(long)]
    pub(crate) notices: bool,
    /// Of this flight only
    #[arg(long)]
    pub(crate) flight: Option<FlightId>,
    /// Whose it is, in a local fleet [default: human-<your user name>]
    #[arg(long = "as", value_name = "human-NAME")]
    pub(crate) person: Option<AgentName>,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print one JSON object: {"items": [...]}, with --notices and "notices": [...]
    #[arg(long)]
    pub(crate) json: bool,
}

/// `answer`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("answered").required(true).multiple(false).args(["option", "text"]))]
#[command(after_help = "Examples:\n  holdpoint answer w1 --option sqlite\n  \
    holdpoint answer w1 --text 'keep the old name' --constraint 'the public API stays as it is'\n\n\
    The builder's next turn begins with the answer and with the work it had done. A constraint holds for every later \
    turn of the waypoint, the verifier's too. The first valid answer counts.")]
pub(crate) struct AnswerArgs {
    /// Which waypoint
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// One of the options of the question
    #[arg(long, value_name = "X")]
    pub(crate) option: Option<String>,
    /// An answer in your own words
    #[arg(long, value_name = "T")]
    pub(crate) text: Option<String>,
    /// Why
    #[arg(long, value_name = "R")]
    pub(crate) rationale: Option<String>,
    /// What every later turn has to keep to; may be given several times
    #[arg(long = "constraint", value_name = "C")]
    pub(crate) constraints: Vec<String>,
    /// Who answers
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `approve`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint approve w1\n  \
    holdpoint approve w1 --as human-ann --summary 'read the diff, ran it'\n\n\
    Completes the gate for people in which the waypoint waits. Look first: `holdpoint history w1`.")]
pub(crate) struct ApproveArgs {
    /// Which waypoint
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// What was looked at, one or two sentences
    #[arg(long, value_name = "S")]
    pub(crate) summary: Option<String>,
    /// Who approves
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `reject`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint reject w1 --note 'the error message has to name the file'\n\n\
    Sends the work back to the gate that the workflow says, the first one unless it says otherwise; the note is what has to change.")]
pub(crate) struct RejectArgs {
    /// Which waypoint
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// What has to change
    #[arg(long, value_name = "N")]
    pub(crate) note: String,
    /// Who rejects
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `retry`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint retry w1\n  holdpoint retry w1 --reworks +2\n  \
    holdpoint retry w1 --from build --note 'the flaky test is fixed on main'\n\n\
    For anything blocked, failed or dead. Where all attempts are used up, --reworks grants more. Where the agents of a gate \
    cannot work (no login, no credit, no program), everything of the flight that they hold is tried again.")]
pub(crate) struct RetryArgs {
    /// Which waypoint
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// Reworks on top of those that the plan grants: +2
    #[arg(long, value_name = "+N", value_parser = reworks, default_value = "0", hide_default_value = true)]
    pub(crate) reworks: u32,
    /// The gate to go on from: the workflow's first one (build); without it the gate in which the work is held
    #[arg(long, value_name = "GATE")]
    pub(crate) from: Option<GateId>,
    /// Leave what is held for the same cause as it is
    #[arg(long)]
    pub(crate) only: bool,
    /// Words for the next build turn
    #[arg(long, value_name = "N")]
    pub(crate) note: Option<String>,
    /// Who retries
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `cancel`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  holdpoint cancel FLIGHT\n  holdpoint cancel FLIGHT w1 --reason 'done by hand'\n\n\
    Ends a waypoint, or everything in the flight that has not landed. It cannot be undone. What has landed stays."
)]
pub(crate) struct CancelArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// Only this waypoint
    pub(crate) waypoint: Option<WaypointId>,
    /// Why
    #[arg(long, value_name = "R")]
    pub(crate) reason: Option<String>,
    /// Who cancels
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `pause` and `resume`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  holdpoint pause FLIGHT\n  holdpoint resume FLIGHT\n\n\
    While a flight is paused no turn opens and no deadline fires. A turn that an agent holds is finished; what it handed \
    off is looked at when the flight goes on. To start the agents of an interrupted flight again: `holdpoint run --resume`.")]
pub(crate) struct SteerArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// Who does it
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `+2`, or `2`.
fn reworks(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain {
        return Err("a number of reworks is written +2".to_owned());
    }
    digits.parse().map_err(|_| format!("at most +{} at once", u32::MAX))
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use crate::args::{Command, parsed};

    #[test]
    fn an_answer_is_an_option_or_a_text_and_never_both_or_none() {
        let Ok(Command::Answer(args)) = parsed("answer w1 --option a --constraint c --constraint d") else {
            panic!("an answer");
        };
        assert_eq!((args.option.as_deref(), args.constraints.len()), (Some("a"), 2));
        assert!(matches!(parsed("answer w1 --text t --flight f --as human-ann"), Ok(Command::Answer(_))));
        assert_eq!(parsed("answer w1").unwrap_err(), ErrorKind::MissingRequiredArgument);
        assert_eq!(parsed("answer w1 --option a --text t").unwrap_err(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn more_reworks_are_written_with_a_plus_or_without() {
        for (line, reworks) in [("retry w1", 0), ("retry w1 --reworks +2", 2), ("retry w1 --reworks 2", 2)] {
            let Ok(Command::Retry(args)) = parsed(line) else { panic!("{line}") };
            assert_eq!(args.reworks, reworks, "{line}");
        }
        for wrong in ["+", "-1", "++2", "x", "99999999999"] {
            assert!(parsed(&format!("retry w1 --reworks={wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rejection_says_what_has_to_change() {
        assert!(matches!(parsed("reject w1 --note n"), Ok(Command::Reject(_))));
        assert_eq!(parsed("reject w1").unwrap_err(), ErrorKind::MissingRequiredArgument);
    }

    #[test]
    fn a_flight_is_named_to_steer_it_and_a_waypoint_may_be_to_cancel() {
        let Ok(Command::Cancel(args)) = parsed("cancel f w1 --reason r") else { panic!("a cancel") };
        assert!(args.waypoint.is_some());
        let Ok(Command::Cancel(args)) = parsed("cancel f") else { panic!("a cancel") };
        assert!(args.waypoint.is_none());
        assert!(matches!(parsed("pause f"), Ok(Command::Pause(_))));
        assert!(matches!(parsed("resume f"), Ok(Command::Resume(_))));
        assert_eq!(parsed("pause").unwrap_err(), ErrorKind::MissingRequiredArgument);
    }
}
