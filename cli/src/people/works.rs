//! The work of attempts, as a waypoint's history names it: what was handed off, and the files that turns left that came to no
//! handoff. [`works`] and [`choose`] are pure.

use std::{
    collections::{BTreeSet, HashMap},
    str::FromStr,
};

use holdpoint_protocol::{
    api::{HistoryLine, Standing},
    artifact::{
        Artifact as _, BuildArtifact, ClarificationRequest, HelpRequest, VerificationPurpose, VerificationRequest,
        WorkInProgress,
    },
    facts::{BundleRef, Oid},
    ids::{AgentName, FlightId, TurnId, WaypointId},
    turn::{BuildRequest, Turn, TurnRequest},
};
use holdpoint_text::shown;

use super::find::flight_with;
use crate::{client::Client, failure::Failure};

/// The kind of the entries that open turns, in a history.
const TURN: &str = "turn";

/// Which attempt is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttemptName {
    /// The last one that there is work of.
    Latest,
    /// This one, from 1.
    Number(u32),
    /// Of this one what this agent handed over, also where another was faster.
    By(u32, AgentName),
}

impl FromStr for AttemptName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, agent) = text.split_once('@').map_or((text, None), |(number, agent)| (number, Some(agent)));
        match (number.parse(), agent.map(str::parse)) {
            (_, None) if text == "latest" => Ok(Self::Latest),
            (Ok(number), None) if number > 0 => Ok(Self::Number(number)),
            (Ok(number), Some(Ok(agent))) if number > 0 => Ok(Self::By(number, agent)),
            _ => {
                Err("an attempt is a number from 1, N@AGENT for what one of its agents handed over, or `latest`"
                    .to_owned())
            }
        }
    }
}

/// How far a work came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Came {
    /// It was not taken, as after the end of its turn.
    Late(AgentName),
    /// The files that a turn left, which failed for this reason, or asked.
    Unfinished(String),
    /// It was handed off.
    HandedOff,
}

/// One commit on a base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptWork {
    pub(crate) attempt: u32,
    pub(crate) base: Oid,
    pub(crate) commit: Oid,
    /// What brings base and commit, the flight's snapshot first.
    pub(crate) bundles: Vec<BundleRef>,
    pub(crate) came: Came,
    /// Who handed it over, where that was not judged.
    pub(crate) by: Option<AgentName>,
}

/// The work of an attempt, with its flight and waypoint.
pub(crate) async fn find(
    client: &Client,
    flight: Option<&FlightId>,
    waypoint: &WaypointId,
    attempt: AttemptName,
) -> Result<(FlightId, WaypointId, AttemptWork), Failure> {
    let (flight, waypoint) = flight_with(client, flight, waypoint).await?;
    let all = works(&client.history(&flight, &waypoint).await?);
    match choose(&all, &attempt) {
        Some(work) => Ok((flight, waypoint, work.clone())),
        None => Err(nothing(&waypoint, &attempt, &all)),
    }
}

/// All work that a history names, in order.
pub(crate) fn works(history: &[HistoryLine]) -> Vec<AttemptWork> {
    let mut building: HashMap<TurnId, (u32, BuildRequest)> = HashMap::new();
    let mut all = Vec::new();
    for line in history.iter().filter(|line| line.standing != Some(Standing::Unsigned)) {
        match line.kind.as_str() {
            TURN => match serde_json::from_value::<Turn>(line.artifact.clone()) {
                Ok(Turn { turn_id, attempt, request: TurnRequest::Build(request), .. }) => {
                    building.insert(turn_id, (attempt, *request));
                }
                Ok(Turn { attempt, request: TurnRequest::Verify(request), .. }) => {
                    all.extend(handed_off(attempt, &request));
                }
                _ => {}
            },
            _ => all.extend(left(line, &building)),
        }
    }
    all
}

fn handed_off(attempt: u32, request: &VerificationRequest) -> Option<AttemptWork> {
    (request.purpose == VerificationPurpose::Handoff).then(|| AttemptWork {
        attempt,
        base: request.base.clone(),
        commit: request.commit.clone(),
        bundles: request.bundles.clone(),
        came: Came::HandedOff,
        by: None,
    })
}

/// What an agent handed over at the end of its turn.
fn left(line: &HistoryLine, building: &HashMap<TurnId, (u32, BuildRequest)>) -> Option<AttemptWork> {
    let value = || line.artifact.clone();
    let (turn, agent, commit, bundle, came) = match line.kind.as_str() {
        BuildArtifact::KIND => {
            let built: BuildArtifact = serde_json::from_value(value()).ok()?;
            let came = match built.failure.clone() {
                Some(failure) => Came::Unfinished(failure.reason.to_string()),
                None => Came::HandedOff,
            };
            (built.turn.clone(), built.agent.clone(), built.commit.clone()?, built.bundle.clone()?, came)
        }
        ClarificationRequest::KIND => {
            let asked: ClarificationRequest = serde_json::from_value(value()).ok()?;
            let WorkInProgress { commit, bundle } = asked.work.clone()?;
            (asked.turn.clone(), asked.agent.clone(), commit, bundle, Came::Unfinished("it asked".to_owned()))
        }
        HelpRequest::KIND => {
            let call: HelpRequest = serde_json::from_value(value()).ok()?;
            let WorkInProgress { commit, bundle } = call.work.clone()?;
            (call.turn.clone(), call.agent.clone(), commit, bundle, Came::Unfinished("it called for help".to_owned()))
        }
        _ => return None,
    };
    let (attempt, request) = building.get(&turn)?;
    let mut bundles = request.bundles.clone();
    bundles.push(bundle);
    let came = if line.standing == Some(Standing::Taken) { came } else { Came::Late(agent.clone()) };
    Some(AttemptWork { attempt: *attempt, base: request.base.clone(), commit, bundles, came, by: Some(agent) })
}

/// The work that is meant: of one attempt the last of those that came furthest.
pub(crate) fn choose<'a>(all: &'a [AttemptWork], attempt: &AttemptName) -> Option<&'a AttemptWork> {
    let number = match attempt {
        AttemptName::By(number, agent) => {
            let theirs = |work: &&AttemptWork| work.attempt == *number && work.by.as_ref() == Some(agent);
            return all.iter().rfind(theirs);
        }
        AttemptName::Number(number) => *number,
        AttemptName::Latest => all.iter().map(|work| work.attempt).max()?,
    };
    let rank = |work: &&AttemptWork| match work.came {
        Came::Late(_) => 0,
        Came::Unfinished(_) => 1,
        Came::HandedOff => 2,
    };
    all.iter().filter(|work| work.attempt == number).max_by_key(rank)
}

/// What has to be known of a work that was not handed off; `None`: it was.
pub(crate) fn caveat(AttemptWork { attempt, came, .. }: &AttemptWork) -> Option<String> {
    match came {
        Came::HandedOff => None,
        Came::Unfinished(why) => Some(format!(
            "attempt {attempt} handed nothing off ({}): these are the files that it left",
            shown::line(why)
        )),
        Came::Late(agent) => Some(format!(
            "nobody took or examined this, which {agent} handed over in attempt {attempt}: its turn was over, or it was refused"
        )),
    }
}

fn nothing(waypoint: &WaypointId, attempt: &AttemptName, all: &[AttemptWork]) -> Failure {
    let there: BTreeSet<u32> = all.iter().map(|work| work.attempt).collect();
    let there: Vec<String> = there.into_iter().map(|attempt| attempt.to_string()).collect();
    let history = format!("`holdpoint history {waypoint}` lists its attempts");
    let (message, hint) = match attempt {
        AttemptName::Number(attempt) if !there.is_empty() => {
            let hint = format!("there is work of attempt {}; {history}", there.join(", "));
            (format!("attempt {attempt} of {waypoint} handed no work off, and left no files"), hint)
        }
        AttemptName::By(attempt, agent) => {
            (format!("{agent} handed nothing over in attempt {attempt} of {waypoint}"), history)
        }
        _ => (format!("no attempt of {waypoint} has handed work off yet, or left files"), history),
    };
    Failure::usage("nothing_handed_off", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(attempt: u32, commit: char, came: Came) -> AttemptWork {
        let oid = |digit: char| digit.to_string().repeat(40).parse().unwrap();
        AttemptWork { attempt, base: oid('a'), commit: oid(commit), bundles: Vec::new(), came, by: None }
    }

    fn unfinished() -> Came {
        Came::Unfinished("agent_timeout".to_owned())
    }

    fn late() -> Came {
        Came::Late("builder-2".parse().unwrap())
    }

    #[test]
    fn of_an_attempt_the_work_that_came_furthest_is_meant() {
        let all = [
            work(1, '1', unfinished()),
            work(2, '2', unfinished()),
            work(2, '3', Came::HandedOff),
            work(2, '4', late()),
            work(3, '5', unfinished()),
            work(3, '6', unfinished()),
            work(4, '7', late()),
        ];
        let chosen = |name: &str| choose(&all, &name.parse().unwrap()).map(|work| work.commit.as_str().chars().next());
        for (name, commit) in [("1", '1'), ("2", '3'), ("3", '6'), ("4", '7'), ("latest", '7')] {
            assert_eq!(chosen(name), Some(Some(commit)), "{name}");
        }
        assert_eq!(chosen("5"), None);
        assert_eq!(choose(&[], &AttemptName::Latest), None);
        let theirs = [
            AttemptWork { by: Some("builder-2".parse().unwrap()), ..work(2, '4', late()) },
            work(2, '3', Came::HandedOff),
        ];
        assert_eq!(choose(&theirs, &"2@builder-2".parse().unwrap()), Some(&theirs[0]), "whatever came further");
        assert_eq!(choose(&theirs, &"2@builder-1".parse().unwrap()), None);
    }

    #[test]
    fn an_attempt_is_a_number_one_agents_part_of_it_or_the_latest() {
        assert_eq!("7".parse(), Ok(AttemptName::Number(7)));
        for bad in ["0", "-1", "last", "", "99999999999", "0@builder-1", "1@", "latest@builder-1"] {
            assert!(bad.parse::<AttemptName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn work_that_was_not_handed_off_is_shown_with_why() {
        assert_eq!(caveat(&work(1, '1', Came::HandedOff)), None);
        assert!(caveat(&work(1, '1', unfinished())).unwrap().contains("attempt 1 handed nothing off (agent_timeout)"));
        assert!(caveat(&work(1, '1', late())).unwrap().contains("nobody took or examined this, which builder-2"));
    }
}
