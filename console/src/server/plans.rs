//! Plans that are looked at and submitted.

use axum::{body::Body, http::StatusCode, response::Response};

use super::{
    Inner, form,
    words::{fragment, plain, refused},
};
use crate::{connections::PAGE_TIMEOUT, fleet::ConsoleFleet, pages};

/// The longest plan that is taken here, in bytes; `holdpoint submit` takes longer ones.
pub(crate) const PLAN_BYTES_MAX: usize = 256 << 10;
/// The longest form: each byte of a plan becomes three at most.
const FORM_BYTES_MAX: usize = 3 * PLAN_BYTES_MAX + 1024;

impl<F: ConsoleFleet> Inner<F> {
    /// Looks at the plan of a form, or submits it.
    pub(super) async fn plan(&self, body: Body) -> Response {
        let Ok(_place) = self.acts.try_acquire() else {
            return plain(StatusCode::TOO_MANY_REQUESTS, "other acts are under way: send it again in a moment");
        };
        let too_long = format!("a plan has at most {PLAN_BYTES_MAX} bytes here: `holdpoint submit` takes longer ones");
        let fields = match form::read(body, FORM_BYTES_MAX, &too_long).await {
            Ok(fields) => fields,
            Err(refused) => return refused,
        };
        let field = |name: &str| fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
        // Browsers end the lines of a form's fields with both characters.
        let text = field("plan").replace("\r\n", "\n");
        if text.len() > PLAN_BYTES_MAX {
            return plain(StatusCode::PAYLOAD_TOO_LARGE, &too_long);
        }
        let doing = async {
            match field("go") {
                "submit" => self.begin(&text).await,
                _ => match self.fleet().look(&text).await {
                    Ok(looked) => fragment(&pages::looked(&looked, &text)),
                    Err(problem) => refused(&problem),
                },
            }
        };
        let late = |_| plain(StatusCode::GATEWAY_TIMEOUT, "it took too long: is the repository large?");
        tokio::time::timeout(PAGE_TIMEOUT, Box::pin(doing)).await.unwrap_or_else(late)
    }

    async fn begin(&self, text: &str) -> Response {
        if let Some(why) = self.frame().submits() {
            return plain(StatusCode::CONFLICT, &why);
        }
        match self.fleet().submit(text).await {
            Ok(flight) => {
                self.cache.forget(&flight).await;
                self.hinted.send_modify(|count| *count = count.wrapping_add(1));
                fragment(&pages::submitted(&self.frame(), &flight))
            }
            Err(problem) => refused(&problem),
        }
    }
}
