//! `budget` and `cost`: raising limits, and where tokens and money went.

use clap::{ArgGroup, Args, ValueEnum};
use holdpoint_protocol::ids::{FlightId, WaypointId};

use super::{Place, people::Acting};

/// `budget`
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("raised").required(true).multiple(true).args(["cost_usd", "tokens", "tool_calls", "output", "wall"]))]
#[command(after_help = "Examples:\n  holdpoint budget FLIGHT --cost-usd +5\n  \
    holdpoint budget retry-backoff --flight FLIGHT --tokens +200000\n\n\
    Raises what the plan limits: of a flight its budget; of a waypoint what each of its turns and what all of them may \
    use up. Work that was held because the limit was reached is tried again.")]
pub(crate) struct BudgetArgs {
    /// A flight, or a waypoint of the flight that --flight names or of the newest one that has it
    #[arg(value_name = "FLIGHT|WAYPOINT")]
    pub(crate) target: WaypointId,
    /// The flight of the waypoint
    #[arg(long)]
    pub(crate) flight: Option<FlightId>,
    /// Raise by this many US dollars: +5 or +0.50
    #[arg(long, value_name = "+N", value_parser = dollars, allow_negative_numbers = true)]
    pub(crate) cost_usd: Option<u64>,
    /// Raise by this many tokens
    #[arg(long, value_name = "+N", value_parser = number, allow_negative_numbers = true)]
    pub(crate) tokens: Option<u64>,
    /// Raise by this many tool calls
    #[arg(long, value_name = "+N", value_parser = number, allow_negative_numbers = true)]
    pub(crate) tool_calls: Option<u64>,
    /// Raise by this many bytes of output
    #[arg(long, value_name = "+N", value_parser = number, allow_negative_numbers = true)]
    pub(crate) output: Option<u64>,
    /// Raise by this many seconds of wall time
    #[arg(long, value_name = "+SECONDS", value_parser = number, allow_negative_numbers = true)]
    pub(crate) wall: Option<u64>,
    /// Who raises it
    #[command(flatten)]
    pub(crate) acting: Acting,
}

/// `cost`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  holdpoint cost FLIGHT\n  holdpoint cost FLIGHT --by agent --csv > cost.csv\n\n\
    Tokens, cost and tool calls are the word of agents' programs; time and output are measured. `claimed` counts turns whose \
    harness is not Holdpoint's: everything that these report is a claim. Attempts after the first one stand apart, as \
    reworks. A turn whose agent died reported nothing and is in no line.")]
pub(crate) struct CostArgs {
    /// The flight
    pub(crate) flight: FlightId,
    /// By what amounts are put together
    #[arg(long, value_enum, default_value_t = CostBy::Waypoint)]
    pub(crate) by: CostBy,
    /// Which repository, and which fleet
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print one JSON object; cost in millionths of a dollar
    #[arg(long)]
    pub(crate) json: bool,
    /// Print comma-separated values with a heading
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// By what amounts are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostBy {
    /// The waypoint
    Waypoint,
    /// The role that had the turn
    Role,
    /// The agent
    Agent,
    /// The gate
    Gate,
}

/// `+5`, or `5`.
fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain.then(|| digits.parse().ok()).flatten();
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| "a limit is raised by a whole number above 0, such as +5".to_owned())
}

/// `+5` or `+0.50`, in millionths of a dollar.
fn dollars(text: &str) -> Result<u64, String> {
    let wrong = || "a limit is raised by an amount above 0, such as +5 or +0.50, with six decimals at most".to_owned();
    let text = text.strip_prefix('+').unwrap_or(text);
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(part) || part.len() > 6 || text.ends_with('.') {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
    let micro = whole.checked_mul(1_000_000).and_then(|micro| micro.checked_add(part));
    micro.filter(|micro| *micro > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;
    use crate::args::{Command, parsed};

    #[test]
    fn dollars_are_read_exactly() {
        for (text, micro) in [("+5", 5_000_000), ("0.50", 500_000), ("+1.000001", 1_000_001), ("+0.1", 100_000)] {
            assert_eq!(dollars(text), Ok(micro), "{text}");
        }
        for wrong in ["", "+", "-1", "1.", ".5", "1.0000001", "0", "1e3", "99999999999999999999"] {
            assert!(dollars(wrong).is_err(), "{wrong}");
        }
        assert_eq!(number("+20"), Ok(20));
        assert!(number("+0").is_err() && number("-1").is_err());
    }

    #[test]
    fn an_amount_below_nothing_is_an_amount_that_is_wrong() {
        for line in ["budget w1 --cost-usd -5", "budget w1 --tokens -5", "budget w1 --tokens 0"] {
            assert_eq!(parsed(line).unwrap_err(), ErrorKind::ValueValidation, "{line}");
        }
        assert!(matches!(parsed("budget w1 --cost-usd +5"), Ok(Command::Budget(_))));
    }
}
