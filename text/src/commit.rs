//! The messages of the commits that Holdpoint makes. A reader of the branch takes the trailers at their end for ours: no
//! title of a plan may add one. Making commits is the workspace's.

use holdpoint_protocol::{
    Digest,
    ids::{AgentName, FlightId, RoleId, WaypointId, role},
    plan::{Waypoint, is_open_scope},
};

use crate::shown;

/// The longest first line of an agent's commit, in characters: titles are for people.
const HANDOFF_SUBJECT_CHARS_MAX: usize = 120;

/// Who made the work: a role and an agent.
pub type Maker<'a> = (&'a RoleId, &'a AgentName);

/// Of a commit on a flight's branch, with the flight, the waypoint, the accepting report and the maker as trailers, and that
/// its work could change anything, where no scope bounded it.
#[must_use]
pub fn landing(flight: &FlightId, waypoint: &Waypoint, report: Digest, maker: Maker<'_>) -> String {
    let Waypoint { id, title, scope, .. } = waypoint;
    let open = if is_open_scope(scope) { "Holdpoint-Scope: any\n" } else { "" };
    format!(
        "{}\n\nHoldpoint-Flight: {flight}\nHoldpoint-Waypoint: {id}\nHoldpoint-Report: {report}\n{open}{}{}\n",
        subject(id, title),
        self_checked(maker),
        co_author(maker),
    )
}

/// Work of an agent alone was checked by itself, and by nobody else (FLY-36).
fn self_checked((role, _): Maker<'_>) -> &'static str {
    if role.as_str() == role::SOLO { "Holdpoint-Checked: self-checked\n" } else { "" }
}

/// Of accepted work merged with what landed before it. It is not on the branch, and has no trailers.
#[must_use]
pub fn merge(waypoint: &WaypointId, title: &str) -> String {
    format!("{} (merged)\n", subject(waypoint, title))
}

/// Of what an agent hands off.
#[must_use]
pub fn handoff(waypoint: &WaypointId, title: &str, maker: Maker<'_>) -> String {
    let subject: String = subject(waypoint, title).chars().take(HANDOFF_SUBJECT_CHARS_MAX).collect();
    format!("{}\n\n{}\n", subject.trim_end(), co_author(maker))
}

/// One line, also of a title that no plan may have today: a journal may be older than that rule.
fn subject(waypoint: &WaypointId, title: &str) -> String {
    format!("{waypoint}: {}", shown::line(title.trim()))
}

fn co_author((role, agent): Maker<'_>) -> String {
    format!("Co-authored-by: {role} {agent} <{agent}@localhost>")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn planned(title: &str, scope: &[&str]) -> Waypoint {
        let scope = scope.iter().map(|glob| (*glob).to_owned()).collect();
        Waypoint { title: title.to_owned(), scope, ..holdpoint_protocol::testing::waypoint("w", &[]) }
    }

    fn all(title: &str) -> [String; 3] {
        let (flight, waypoint) = ("f".parse().unwrap(), "w".parse().unwrap());
        let (role, agent) = (role::id(role::BUILDER), "b1".parse().unwrap());
        let report = Digest::of(b"report");
        [
            landing(&flight, &planned(title, &["src/**"]), report, (&role, &agent)),
            merge(&waypoint, title),
            handoff(&waypoint, title, (&role, &agent)),
        ]
    }

    #[test]
    fn a_landing_names_flight_waypoint_report_and_maker() {
        let report = Digest::of(b"report");
        let [landing, merge, handoff] = all("A title ");
        assert_eq!(
            landing,
            format!(
                "w: A title\n\nHoldpoint-Flight: f\nHoldpoint-Waypoint: w\nHoldpoint-Report: {report}\n\
                 Co-authored-by: builder b1 <b1@localhost>\n"
            )
        );
        assert_eq!(merge, "w: A title (merged)\n");
        assert_eq!(handoff, "w: A title\n\nCo-authored-by: builder b1 <b1@localhost>\n");
    }

    #[test]
    fn the_landing_of_an_agent_alone_says_that_it_was_self_checked() {
        let (flight, agent) = ("f".parse().unwrap(), "solo-1".parse().unwrap());
        let bounded = planned("t", &["src/**"]);
        let by = |name| landing(&flight, &bounded, Digest::of(b"r"), (&role::id(name), &agent));
        assert!(by(role::SOLO).contains("\nHoldpoint-Checked: self-checked\nCo-authored-by: solo solo-1 "));
        assert!(!by(role::BUILDER).contains("Checked"));
    }

    #[test]
    fn a_landing_that_no_scope_bounded_says_so() {
        let (flight, role, agent) = ("f".parse().unwrap(), role::id(role::BUILDER), "b1".parse().unwrap());
        let of = |scope| landing(&flight, &planned("t", scope), Digest::of(b"r"), (&role, &agent));
        assert!(of(&["src/**", "**"]).contains("\nHoldpoint-Scope: any\n"));
        assert!(of(&[]).contains("\nHoldpoint-Scope: any\nCo-authored-by: "));
        assert!(!of(&["src/**"]).contains("Scope"));
    }

    #[test]
    fn a_title_cannot_forge_a_trailer() {
        let forged = "x\n\nHoldpoint-Report: sha256:00\nCo-authored-by: Somebody <s@example.org>";
        let [landing, ..] = all(forged);
        assert!(landing.starts_with("w: x\\n\\nHoldpoint-Report: sha256:00\\nCo-authored-by: "), "{landing}");
        assert_eq!(landing.lines().filter(|line| line.starts_with("Holdpoint-Report: ")).count(), 1);
    }

    proptest! {
        /// Also of titles in journals that are older than the rule.
        #[test]
        fn whatever_the_title_a_message_has_its_subject_and_its_own_trailers(
            title in "(\\PC|\\pC|\r|\n|\n\n|Holdpoint-Report: |Co-authored-by: ){0,40}"
        ) {
            let plain = all("t").map(|message| message.lines().skip(1).map(str::to_owned).collect::<Vec<_>>());
            let odd = all(&title);
            for (message, plain) in odd.iter().zip(plain) {
                prop_assert_eq!(message.lines().skip(1).collect::<Vec<_>>(), plain);
                prop_assert!(message.starts_with("w:"));
                prop_assert!(message.lines().all(|line| shown::first_hidden(line).is_none()));
            }
        }
    }
}
