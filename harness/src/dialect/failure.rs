//! What a failure says: whether the provider of the model refuses and for how long, and whether the conversation is too long.
//!
//! A status decides where the program names one. Words decide otherwise; that a run failed before its model said anything needs none
//! ([`Said::refusal`]).

use super::{ProviderRefusal, RefusalKind, Said};

/// The statuses by which a provider says: not now; and those by which it says: not you.
const PASSING: [u16; 3] = [429, 503, 529];
const LASTING: [u16; 3] = [401, 402, 403];
/// The words for the same. What lasts comes first: a quota that is used up is called a limit of rates as well.
const LASTING_WORDS: [&str; 11] = [
    "/login",
    "log in",
    "logged in",
    "api key",
    "unauthorized",
    "credit balance",
    "billing",
    "quota",
    "usage limit",
    "session limit",
    "limit reached",
];
const PASSING_WORDS: [&str; 4] = ["too many requests", "overloaded", "rate limit", "at capacity"];
/// How a conversation that is too long reads.
const TOO_LONG: [&str; 3] = ["context_length_exceeded", "context window", "ran out of room"];

/// The run failed with this message.
pub(super) fn failed(message: Option<&str>, said: &mut Said) {
    let message = message.unwrap_or("the run failed");
    said.set_error(message);
    let words = message.to_ascii_lowercase();
    said.context_full = TOO_LONG.iter().any(|sign| words.contains(sign));
    said.refused = refusal(message, None).filter(|_| !said.context_full);
}

/// The refusal that a failure with this message is, and with this status where the program names it apart; `None`: none.
pub(super) fn refusal(message: &str, status: Option<u16>) -> Option<ProviderRefusal> {
    let words = message.to_ascii_lowercase().replace('_', " ");
    let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    let status = status.filter(|status| is_refusing(*status)).or_else(|| {
        let all = PASSING.into_iter().chain(LASTING);
        all.into_iter()
            .find(|status| words.contains(&format!("status {status}")) || words.contains(&format!("status: {status}")))
    });
    let kind = if status.is_some_and(|status| LASTING.contains(&status)) || says(&LASTING_WORDS) {
        RefusalKind::Lasting
    } else if status.is_some() || says(&PASSING_WORDS) {
        RefusalKind::Passing
    } else {
        return None;
    };
    Some(ProviderRefusal { kind, status, until: until(message) })
}

/// Whether a status is a provider's refusal, passing or lasting.
pub(super) fn is_refusing(status: u16) -> bool {
    PASSING.contains(&status) || LASTING.contains(&status)
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
        for lasting in [
            "You've hit your session limit \u{b7} resets 3pm",
            "Invalid API key \u{b7} Please run /login",
            "Credit balance is too low",
            "Not logged in",
            "429 You exceeded your current quota, please check your plan and billing details",
            "unexpected status 401 Unauthorized: Missing bearer",
            "Weekly limit reached \u{2219} resets Oct 9 at 10pm",
        ] {
            assert_eq!(kind(lasting, None), Some(RefusalKind::Lasting), "{lasting}");
        }
        assert_eq!(kind("API Error: Request not allowed", Some(403)), Some(RefusalKind::Lasting));
        for passing in ["Request rejected (429) \u{b7} rate limit", "Overloaded", "unexpected status 503"] {
            assert_eq!(kind(passing, None), Some(RefusalKind::Passing), "{passing}");
        }
        assert_eq!(kind("it went wrong", Some(429)), Some(RefusalKind::Passing));
        assert_eq!(kind("stream closed before response.completed", Some(500)), None);
        assert_eq!(refusal("usage limit reached|1800000000", None).unwrap().until, Some(1_800_000_000));
    }
}
