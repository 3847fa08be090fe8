//! Documents that are edited: what differs is shown, and what is sent is signed.

use std::time::Duration;

use axum::{body::Body, http::StatusCode, response::Response};
use holdpoint_protocol::{
    artifact::Verb,
    checkpoint::DOCUMENT_BYTES_MAX,
    ids::{FlightId, WaypointId},
};

use super::{
    FRESH, Inner, form,
    words::{fragment, plain, refused},
};
use crate::{connections::PAGE_TIMEOUT, fleet::ConsoleFleet, pages, problem::ConsoleProblem};

/// The longest form: each byte of a text becomes three at most.
const FORM_BYTES_MAX: usize = 3 * DOCUMENT_BYTES_MAX + 1024;

/// The text that a person wrote in the place of a document's.
struct Edit {
    flight: FlightId,
    waypoint: WaypointId,
    /// The reference of the document.
    of: String,
    text: String,
}

impl Edit {
    fn asked(&self) -> pages::Asked<'_> {
        pages::Asked { flight: &self.flight, waypoint: &self.waypoint, of: &self.of, with: None }
    }
}

impl<F: ConsoleFleet> Inner<F> {
    /// Shows what an edit changes, or sends it.
    pub(super) async fn document(&self, body: Body) -> Response {
        let Ok(_place) = self.acts.try_acquire() else {
            return plain(StatusCode::TOO_MANY_REQUESTS, "other acts are under way: send it again in a moment");
        };
        let too_long = format!("a document has at most {DOCUMENT_BYTES_MAX} bytes: nothing was done");
        let fields = match form::read(body, FORM_BYTES_MAX, &too_long).await {
            Ok(fields) => fields,
            Err(refused) => return refused,
        };
        let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        // Where a newer document is there, its button names that one.
        let of = field("onto").or_else(|| field("of")).unwrap_or_default().to_owned();
        let named = |name: &str| field(name).unwrap_or_default();
        let (Ok(flight), Ok(waypoint)) = (named("flight").parse(), named("waypoint").parse()) else {
            return plain(StatusCode::BAD_REQUEST, "no document is named: nothing was done");
        };
        // Browsers end the lines of a form's fields with both characters.
        let edit = Edit { flight, waypoint, of, text: named("text").replace("\r\n", "\n") };
        if edit.text.len() > DOCUMENT_BYTES_MAX {
            return plain(StatusCode::PAYLOAD_TOO_LARGE, &too_long);
        }
        let sends = named("go") != "look";
        let doing = async { if sends { self.revise(&edit).await } else { self.looked_at(&edit, FRESH).await } };
        let late = |_| plain(StatusCode::GATEWAY_TIMEOUT, "the fleet did not answer in time: load the page to see");
        tokio::time::timeout(PAGE_TIMEOUT, Box::pin(doing)).await.unwrap_or_else(late)
    }

    /// What the edit changes of the newest document.
    async fn looked_at(&self, edit: &Edit, age: Duration) -> Response {
        match self.differs(edit, age).await {
            Ok((shown, _)) => fragment(&shown),
            Err(problem) => refused(&problem),
        }
    }

    /// What the edit changes of the newest document, and whether that is another one than was edited.
    async fn differs(&self, edit: &Edit, age: Duration) -> Result<(maud::Markup, bool), ConsoleProblem> {
        let (_, past) = self.past(&edit.flight, &edit.waypoint, age).await?;
        let shown = pages::edited(&self.frame(), edit.asked(), &past.history, &edit.text);
        shown.ok_or_else(|| ConsoleProblem::not_found(format!("{} has no such document", edit.waypoint)))
    }

    async fn revise(&self, edit: &Edit) -> Response {
        if let Some(why) = self.rights.refuses(Verb::Revise) {
            return plain(StatusCode::CONFLICT, &why);
        }
        let done = self.fleet().revise(&edit.of, &edit.text).await;
        self.cache.forget(&edit.flight).await;
        self.hinted.send_modify(|count| *count = count.wrapping_add(1));
        match done {
            Ok(done) => {
                let newest = self.past(&edit.flight, &edit.waypoint, Duration::ZERO).await.ok();
                let history = newest.as_ref().map_or(&[][..], |(_, past)| &past.history);
                fragment(&pages::revised(&self.frame(), edit.asked(), history, &done))
            }
            // The text stays in its field: both are shown where somebody else was faster.
            Err(problem) => match self.differs(edit, Duration::ZERO).await {
                Ok((shown, true)) => fragment(&shown),
                _ => refused(&problem),
            },
        }
    }
}
