//! Which page an address means. Addresses are below the console's random prefix, and begin with `/` here.

use std::fmt;

use holdpoint_protocol::{
    Digest,
    ids::{FlightId, WaypointId},
    state::Status,
};

/// The longest reference of an artifact in an address.
const REFERENCE_BYTES_MAX: usize = 200;

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum View {
    /// All flights, a page of them from 0.
    Flights(usize),
    /// One flight.
    Flight(FlightId, Show),
    /// One waypoint.
    Waypoint(FlightId, WaypointId),
    /// What an attempt changed: the reference of its build artifact.
    Patch(FlightId, WaypointId, String),
    /// An artifact as a document, by its reference, and another one that it is compared with.
    Document(FlightId, WaypointId, String, Option<String>),
    /// What waits for people.
    Inbox,
    /// A plan is handed in.
    Submit,
    /// Agents, queues, deaths.
    Fleet,
    /// Captured output.
    Evidence(Digest),
}

/// What of a flight is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Show {
    /// The graph where it is small, else the list.
    Best,
    /// Waypoints and their dependencies.
    Graph,
    /// Waypoints by gate.
    Board,
    /// Turns by agent.
    Timeline,
    /// All waypoints, a page of them from 0, of this status only.
    List(usize, Option<Status>),
    /// What landed.
    Landed,
}

/// The statuses, in the order in which people want to see them.
pub(crate) const STATUSES: [Status; 7] = [
    Status::Waiting,
    Status::Blocked,
    Status::Failed,
    Status::Running,
    Status::Pending,
    Status::Complete,
    Status::Cancelled,
];

impl View {
    /// Reads an address; `None`: there is no such page.
    pub(crate) fn parse(address: &str) -> Option<Self> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let asked: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let value = |name: &str| asked.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let reference = |name: &str| value(name).filter(|of| of.len() <= REFERENCE_BYTES_MAX).map(str::to_owned);
        let page = value("page").and_then(|page| page.parse().ok()).unwrap_or(0);
        let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        Some(match parts.as_slice() {
            [""] => Self::Flights(page),
            ["inbox"] => Self::Inbox,
            ["fleet"] => Self::Fleet,
            ["submit"] => Self::Submit,
            ["evidence", hex] => Self::Evidence(Digest::from_hex(hex).ok()?),
            ["flight", flight] => {
                let status = value("status").and_then(|word| STATUSES.into_iter().find(|s| s.as_str() == word));
                let show = match value("show").unwrap_or_default() {
                    "graph" => Show::Graph,
                    "board" => Show::Board,
                    "timeline" => Show::Timeline,
                    "list" => Show::List(page, status),
                    "landed" => Show::Landed,
                    _ => Show::Best,
                };
                Self::Flight(flight.parse().ok()?, show)
            }
            ["flight", flight, waypoint] => Self::Waypoint(flight.parse().ok()?, waypoint.parse().ok()?),
            ["flight", flight, waypoint, "diff"] => {
                Self::Patch(flight.parse().ok()?, waypoint.parse().ok()?, reference("of")?)
            }
            ["flight", flight, waypoint, "document"] => {
                let with = if value("with").is_some() { Some(reference("with")?) } else { None };
                Self::Document(flight.parse().ok()?, waypoint.parse().ok()?, reference("of")?, with)
            }
            _ => return None,
        })
    }
}

impl View {
    /// The flight and waypoint whose names are in the address.
    pub(crate) fn named(&self) -> Option<(&FlightId, Option<&WaypointId>)> {
        match self {
            Self::Flight(flight, _) => Some((flight, None)),
            Self::Waypoint(flight, waypoint) | Self::Patch(flight, waypoint, _) => Some((flight, Some(waypoint))),
            _ => None,
        }
    }

    /// The same page of another flight and waypoint.
    pub(crate) fn of(&self, flight: FlightId, waypoint: Option<WaypointId>) -> Self {
        match (self.clone(), waypoint) {
            (Self::Flight(_, show), None) => Self::Flight(flight, show),
            (Self::Waypoint(..), Some(waypoint)) => Self::Waypoint(flight, waypoint),
            (Self::Patch(_, _, of), Some(waypoint)) => Self::Patch(flight, waypoint, of),
            (other, _) => other,
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flights(0) => f.write_str("/"),
            Self::Flights(page) => write!(f, "/?page={page}"),
            Self::Inbox => f.write_str("/inbox"),
            Self::Fleet => f.write_str("/fleet"),
            Self::Submit => f.write_str("/submit"),
            Self::Evidence(digest) => write!(f, "/evidence/{}", digest.hex()),
            Self::Waypoint(flight, waypoint) => write!(f, "/flight/{flight}/{waypoint}"),
            Self::Patch(flight, waypoint, of) => {
                let of: String = form_urlencoded::byte_serialize(of.as_bytes()).collect();
                write!(f, "/flight/{flight}/{waypoint}/diff?of={of}")
            }
            Self::Document(flight, waypoint, of, with) => {
                let mut query = form_urlencoded::Serializer::new(String::new());
                query.append_pair("of", of);
                if let Some(with) = with {
                    query.append_pair("with", with);
                }
                write!(f, "/flight/{flight}/{waypoint}/document?{}", query.finish())
            }
            Self::Flight(flight, show) => {
                write!(f, "/flight/{flight}")?;
                match show {
                    Show::Best => Ok(()),
                    Show::Graph => f.write_str("?show=graph"),
                    Show::Board => f.write_str("?show=board"),
                    Show::Timeline => f.write_str("?show=timeline"),
                    Show::Landed => f.write_str("?show=landed"),
                    Show::List(page, None) => write!(f, "?show=list&page={page}"),
                    Show::List(page, Some(status)) => {
                        write!(f, "?show=list&page={page}&status={status}")
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_found_by_its_address_again() {
        let flight = || "harden-0a1b2c3d".parse().unwrap();
        let waypoint = || "w1".parse().unwrap();
        let shows = [
            Show::Best,
            Show::Graph,
            Show::Board,
            Show::Timeline,
            Show::Landed,
            Show::List(3, None),
            Show::List(0, Some(Status::Failed)),
        ];
        let mut views: Vec<View> = shows.into_iter().map(|show| View::Flight(flight(), show)).collect();
        views.extend([
            View::Flights(0),
            View::Flights(2),
            View::Inbox,
            View::Fleet,
            View::Submit,
            View::Evidence(Digest::of(b"x")),
        ]);
        views.push(View::Waypoint(flight(), waypoint()));
        views.push(View::Patch(flight(), waypoint(), "HP_HANDOFF_BUILDER/12".to_owned()));
        for with in [None, Some("HP_JOURNAL/1 &x=y".to_owned())] {
            views.push(View::Document(flight(), waypoint(), "HP_HANDOFF_BUILDER/12".to_owned(), with));
        }
        for view in views {
            assert_eq!(View::parse(&view.to_string()), Some(view));
        }
    }

    #[test]
    fn what_is_no_address_of_a_page_is_none() {
        for address in [
            "",
            "x",
            "/x",
            "/flight/",
            "/flight/../w",
            "/flight/f/w/x",
            "/evidence/zz",
            "/flight/f/w/diff",
            "/flight/f/w/document",
            "//",
        ] {
            assert_eq!(View::parse(address), None, "{address}");
        }
    }
}
