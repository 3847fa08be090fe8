//! What a form asks for: an act, checked as far as it can be before anybody is asked.

use holdpoint_protocol::{
    artifact::Verb,
    ids::{FlightId, WaypointId},
    workflow,
};

use crate::problem::ConsoleProblem;

/// The longest text of a form's field, in characters.
pub(crate) const TEXT_CHARS_MAX: usize = 8_000;

/// An act that a person wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedAct {
    /// The flight.
    pub flight: FlightId,
    /// The waypoint; `None`: the whole flight.
    pub waypoint: Option<WaypointId>,
    /// What the person looked at, as the inbox names it: once something else waits, the act changes nothing.
    pub seen: Option<String>,
    /// What is to be done.
    pub what: ActKind,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActKind {
    /// The open question is answered.
    Answer {
        /// One of its options, counted from 0: an option may have characters that do not come back from a page.
        option: Option<usize>,
        /// An answer in other words.
        text: Option<String>,
    },
    /// A gate for people is completed.
    Approve {
        /// What was looked at.
        summary: Option<String>,
    },
    /// Work is sent back.
    Reject {
        /// What has to change.
        note: String,
    },
    /// Held work is tried again.
    Retry {
        /// Reworks on top of the plan's.
        reworks: u32,
        /// Words for the next build turn.
        note: Option<String>,
    },
    /// A waypoint or a flight ends.
    Cancel {
        /// Why.
        reason: Option<String>,
    },
    /// No turn of a flight opens.
    Pause,
    /// A paused flight goes on.
    Resume,
}

impl ActKind {
    /// The verb of the act.
    #[must_use]
    pub fn verb(&self) -> Verb {
        match self {
            Self::Answer { .. } => Verb::Answer,
            Self::Approve { .. } => Verb::Approve,
            Self::Reject { .. } => Verb::Reject,
            Self::Retry { .. } => Verb::Retry,
            Self::Cancel { .. } => Verb::Cancel,
            Self::Pause => Verb::Pause,
            Self::Resume => Verb::Resume,
        }
    }
}

/// Reads the fields of a form.
///
/// # Errors
/// What is missing or too long.
pub(crate) fn read(fields: &[(String, String)]) -> Result<WantedAct, ConsoleProblem> {
    let field = |name: &str| {
        let value = fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    if let Some((name, _)) = fields.iter().find(|(_, value)| value.chars().count() > TEXT_CHARS_MAX) {
        let name: String = name.chars().take(20).collect();
        return Err(wrong(&format!("{name} has more than {TEXT_CHARS_MAX} characters")));
    }
    let flight = field("flight").and_then(|flight| flight.parse().ok()).ok_or_else(|| wrong("no flight is named"))?;
    let waypoint = match field("waypoint") {
        Some(waypoint) => Some(waypoint.parse().map_err(|_| wrong("that is no name of a waypoint"))?),
        None => None,
    };
    let what = match field("verb").as_deref().unwrap_or_default() {
        "answer" => {
            let option =
                field("option").map(|at| at.parse().map_err(|_| wrong("there is no such option"))).transpose()?;
            let text = field("text");
            if option.is_none() && text.is_none() {
                return Err(wrong("choose an option or write an answer"));
            }
            // Words of one's own go before an option that happens to be chosen.
            let option = option.filter(|_| text.is_none());
            ActKind::Answer { option, text }
        }
        "approve" => ActKind::Approve { summary: field("note") },
        "reject" => ActKind::Reject { note: field("note").ok_or_else(|| wrong("say what has to change"))? },
        "retry" => {
            let reworks = field("reworks").unwrap_or_else(|| "0".to_owned());
            let reworks = reworks.trim_start_matches('+').parse().map_err(|_| wrong("reworks are a number"))?;
            ActKind::Retry { reworks, note: field("note") }
        }
        "cancel" => ActKind::Cancel { reason: field("note") },
        "pause" => ActKind::Pause,
        "resume" => ActKind::Resume,
        _ => return Err(wrong("there is no such act")),
    };
    if waypoint.is_none() && !matches!(what, ActKind::Cancel { .. } | ActKind::Pause | ActKind::Resume) {
        return Err(wrong("no waypoint is named"));
    }
    Ok(WantedAct { flight, waypoint, seen: field("seen"), what })
}

fn wrong(message: &str) -> ConsoleProblem {
    ConsoleProblem {
        not_found: false,
        message: message.to_owned(),
        hint: "nothing was done; correct it and send it again".to_owned(),
    }
}

/// What the key that the console runs with may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rights {
    /// Whose key it is.
    pub(crate) me: holdpoint_protocol::ids::AgentName,
    /// Nothing may be done.
    pub(crate) read_only: bool,
}

impl Rights {
    /// Why no plan is submitted, if none is.
    pub(crate) fn submits(&self) -> Option<String> {
        self.read_only.then(|| "this console was started with --read-only".to_owned())
    }

    /// Why this is not done here, if it is not.
    pub(crate) fn refuses(&self, verb: Verb) -> Option<String> {
        if let Some(why) = self.submits() {
            return Some(why);
        }
        let of_people = matches!(verb, Verb::Approve | Verb::Reject | Verb::Revise);
        (of_people && !workflow::is_human(&self.me)).then(|| {
            format!("only a person's key does this, and {} is none: its name does not begin with human-", self.me)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&str, &str)]) -> Result<ActKind, String> {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        read(&pairs).map(|wanted| wanted.what).map_err(|problem| problem.message)
    }

    #[test]
    fn a_form_is_an_act_or_says_what_is_missing() {
        let on = [("flight", "f-1"), ("waypoint", "w")];
        let with = |more: &[(&'static str, &'static str)]| asked(&[&on[..], more].concat());
        assert_eq!(with(&[("verb", "answer"), ("option", "1")]), Ok(ActKind::Answer { option: Some(1), text: None }));
        let both = with(&[("verb", "answer"), ("option", "1"), ("text", " mine ")]);
        assert_eq!(both, Ok(ActKind::Answer { option: None, text: Some("mine".into()) }));
        assert!(with(&[("verb", "answer"), ("text", "  ")]).unwrap_err().contains("option"));
        assert!(with(&[("verb", "reject")]).unwrap_err().contains("has to change"));
        assert_eq!(with(&[("verb", "retry"), ("reworks", "+2")]), Ok(ActKind::Retry { reworks: 2, note: None }));
        assert!(with(&[("verb", "retry"), ("reworks", "x")]).is_err());
        assert!(with(&[("verb", "reconfigure")]).is_err());
        assert_eq!(asked(&[("verb", "pause"), ("flight", "f")]), Ok(ActKind::Pause));
        assert!(asked(&[("verb", "approve"), ("flight", "f")]).unwrap_err().contains("waypoint"));
        assert!(asked(&[("verb", "pause"), ("flight", "../f")]).is_err());
        let long = "x".repeat(TEXT_CHARS_MAX + 1);
        assert!(asked(&[("verb", "reject"), ("flight", "f"), ("waypoint", "w"), ("note", &long)]).is_err());
    }

    #[test]
    fn only_a_persons_key_completes_gates_and_nothing_is_done_read_only() {
        let rights = |me: &str, read_only| Rights { me: me.parse().unwrap(), read_only };
        assert_eq!(rights("human-ann", false).refuses(Verb::Approve), None);
        for of_people in [Verb::Reject, Verb::Revise] {
            assert!(rights("ci", false).refuses(of_people).unwrap().contains("human-"));
        }
        assert_eq!(rights("ci", false).refuses(Verb::Retry), None);
        assert!(rights("human-ann", true).refuses(Verb::Retry).unwrap().contains("--read-only"));
    }
}
