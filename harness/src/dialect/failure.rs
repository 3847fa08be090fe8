//! What a failure says: whether the provider of the model refuses and for how long, and whether the conversation is too long.
//!
//! A status decides where the program names one. Words decide otherwise; that a run failed before its model said anything needs none
//! ([`Said::refusal`]).

use std::borrow::Cow;

use serde_json::Value;

use super::{ProviderRefusal, RefusalKind, Said};
use crate::tail::last_lines;

/// The statuses by which a provider says: not now; not you; and not before somebody pays.
const PASSING: [u16; 3] = [429, 503, 529];
const LOGIN: [u16; 2] = [401, 403];
const UNPAID: u16 = 402;
/// The words for the same. A login comes first, and what passes last: a quota that is used up is called a limit of rates as well.
const LOGIN_WORDS: [&str; 19] = [
    "/login",
    "log in",
    "logged in",
    "api key",
    "api-key",
    "unauthorized",
    "unauthenticated",
    "authenticate",
    "authenticationerror",
    "authentication error",
    "authentication fail",
    "authentication required",
    "authorization is required",
    "authorization code",
    "auth method",
    "missing credentials",
    "no credentials",
    "invalid token",
    "token has expired",
];
const LASTING_WORDS: [&str; 6] =
    ["credit balance", "billing", "quota", "usage limit", "session limit", "limit reached"];
const PASSING_WORDS: [&str; 5] = ["too many requests", "overloaded", "rate limit", "ratelimiterror", "at capacity"];
/// How a conversation that is too long reads.
const TOO_LONG: [&str; 3] = ["context_length_exceeded", "context window", "ran out of room"];
/// The lines at the end of an output without events in which a refusal counts.
const LAST_LINES: usize = 4;
/// How a line reads that says that a request is tried again.
const AGAIN_WORDS: [&str; 3] = ["retrying", "reconnecting", "trying again"];

/// The run failed with this message, and with this code or status where the program names one apart.
pub(super) fn failed(message: Option<&str>, status: Option<u16>, said: &mut Said) {
    let message = in_words(message.unwrap_or("the run failed"));
    said.set_error(&message);
    let words = message.to_ascii_lowercase();
    said.context_full = TOO_LONG.iter().any(|sign| words.contains(sign));
    said.refused = refusal(&message, status).filter(|_| !said.context_full);
}

/// The program ended without an event that says why: what it printed last does, where that is a provider's refusal. Statuses do not count
/// there: any number may be in such lines.
pub(super) fn ended_with(output: &[u8], said: &mut Said) {
    let output = last_lines(output);
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
    let says = |text: &str| kind_of(&text.to_ascii_lowercase()).filter(|kind| *kind != RefusalKind::Lasting);
    let line = last.iter().enumerate().find_map(|(at, line)| Some((at, says(line)?)));
    // Words may stand on both sides of a line's end: then no line alone has them.
    let Some((from, kind)) = line.or_else(|| Some((0, says(&last.join(" "))?))) else { return };
    let text = last.get(from..).unwrap_or_default().join(" ");
    said.set_error(&text);
    said.refused = Some(ProviderRefusal { kind, status: None, until: None });
}

/// Whether a line says that the provider refuses, or that a request is tried again.
pub(super) fn is_report(line: &str) -> bool {
    let words = line.to_ascii_lowercase();
    AGAIN_WORDS.iter().any(|sign| words.contains(sign)) || kind_of(&words).is_some()
}

/// The refusal that a failure with this message is, and with this status where the program names it apart; `None`: none.
pub(super) fn refusal(message: &str, status: Option<u16>) -> Option<ProviderRefusal> {
    let words = message.to_ascii_lowercase();
    let status = status.filter(|status| is_refusing(*status)).or_else(|| status_in(&words));
    let kind = match status {
        Some(status) if LOGIN.contains(&status) => RefusalKind::Login,
        Some(UNPAID) => RefusalKind::Lasting,
        Some(_) => kind_of(&words).unwrap_or(RefusalKind::Passing),
        None => kind_of(&words)?,
    };
    Some(ProviderRefusal { kind, status, until: until(message) })
}

/// What the words alone say, in lower case.
fn kind_of(words: &str) -> Option<RefusalKind> {
    let words = words.replace('_', " ");
    let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    let kinds = [
        (&LOGIN_WORDS[..], RefusalKind::Login),
        (&LASTING_WORDS[..], RefusalKind::Lasting),
        (&PASSING_WORDS[..], RefusalKind::Passing),
    ];
    kinds.into_iter().find(|(signs, _)| says(signs)).map(|(_, kind)| kind)
}

/// Whether a status is a provider's refusal, passing or lasting.
pub(super) fn is_refusing(status: u16) -> bool {
    PASSING.contains(&status) || LOGIN.contains(&status) || status == UNPAID
}

/// A status that a program's message about its provider has in it.
fn status_in(words: &str) -> Option<u16> {
    let numbers = words.split(|character: char| !character.is_ascii_alphanumeric());
    numbers.filter_map(|number| number.parse().ok()).find(|status| is_refusing(*status))
}

/// A message that is JSON, or has some in it, in its own words.
fn in_words(message: &str) -> Cow<'_, str> {
    let json = message.find('{').zip(message.rfind('}')).and_then(|(from, to)| message.get(from..=to));
    let value = json.and_then(|json| serde_json::from_str::<Value>(json).ok());
    let found = |places: [&str; 2]| places.into_iter().find_map(|place| value.as_ref()?.pointer(place));
    match (found(["/error/message", "/message"]).and_then(Value::as_str), found(["/error/code", "/code"])) {
        (Some(words), Some(code)) => format!("{words} ({code})").into(),
        (Some(words), None) => words.to_owned().into(),
        (None, _) => message.into(),
    }
}

/// The time behind the words of a limit, as `…|1800000000`.
fn until(message: &str) -> Option<i64> {
    message.rsplit_once('|').and_then(|(_, time)| time.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_that_last_are_told_from_those_that_pass_and_from_other_failures() {
        let kind = |message, status| refusal(message, status).map(|refusal| refusal.kind);
        for login in [
            "Invalid API key \u{b7} Please run /login",
            "Not logged in",
            "unexpected status 401 Unauthorized: Missing bearer",
            "403 Forbidden",
        ] {
            assert_eq!(kind(login, None), Some(RefusalKind::Login), "{login}");
        }
        assert_eq!(kind("API Error: Request not allowed", Some(403)), Some(RefusalKind::Login));
        for lasting in [
            "You've hit your session limit \u{b7} resets 3pm",
            "Credit balance is too low",
            "429 You exceeded your current quota, please check your plan and billing details",
            "Weekly limit reached \u{2219} resets Oct 9 at 10pm",
        ] {
            assert_eq!(kind(lasting, None), Some(RefusalKind::Lasting), "{lasting}");
        }
        for passing in ["Request rejected (429) \u{b7} rate limit", "Overloaded", "unexpected status 503"] {
            assert_eq!(kind(passing, None), Some(RefusalKind::Passing), "{passing}");
        }
        assert_eq!(kind("it went wrong", Some(429)), Some(RefusalKind::Passing));
        assert_eq!(kind("stream closed before response.completed", Some(500)), None);
        assert_eq!(in_words(r#"[API Error: {"error":{"code":401,"message":"no key"}}]"#), "no key (401)");
        assert_eq!(in_words("it has {braces} in it"), "it has {braces} in it");
        assert_eq!(refusal("usage limit reached|1800000000", None).unwrap().until, Some(1_800_000_000));
    }
}
