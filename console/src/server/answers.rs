//! Requests: who is let in, and what they get.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response, sse::Sse},
};

use super::{
    FRESH, Inner, Page, STREAMS_MAX, form, updates,
    words::{plain, refused},
};
use crate::{
    access::{self, Head, Ruling},
    fleet::ConsoleFleet,
    pages,
    problem::ConsoleProblem,
    view::View,
    wanted,
};

/// The longest address, in bytes.
const ADDRESS_BYTES_MAX: usize = 2 << 10;
/// The longest form, in bytes.
const FORM_BYTES_MAX: usize = 64 << 10;
const CSS: &str = include_str!("../../assets/console.css");
const ICON: &str = include_str!("../../assets/icon.svg");
const SCRIPT: &str = include_str!("../../assets/console.js");
/// Nothing from elsewhere, nothing inline, nothing in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// What every answer carries.
const HEADERS: [(&str, &str); 8] = [
    ("content-security-policy", POLICY),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

impl<F: ConsoleFleet> Inner<F> {
    async fn act(&self, body: Body) -> Response {
        let Ok(_place) = self.acts.try_acquire() else {
            return plain(StatusCode::TOO_MANY_REQUESTS, "other acts are under way: send it again in a moment");
        };
        let fields = match form::read(body, FORM_BYTES_MAX, &format!("a form has at most {FORM_BYTES_MAX} bytes")).await
        {
            Ok(fields) => fields,
            Err(refused) => return refused,
        };
        match self.perform(&fields).await {
            Ok(done) => plain(StatusCode::OK, &holdpoint_text::shown::line(&done)),
            Err(problem) => refused(&problem),
        }
    }

    async fn perform(&self, fields: &[(String, String)]) -> Result<String, ConsoleProblem> {
        let wanted = wanted::read(fields)?;
        if let Some(why) = self.rights.refuses(wanted.what.verb()) {
            return Err(ConsoleProblem { not_found: false, message: why, hint: String::new() });
        }
        let flight = wanted.flight.clone();
        let done = self.fleet().act(wanted).await;
        self.cache.forget(&flight).await;
        self.hinted.send_modify(|count| *count = count.wrapping_add(1));
        done
    }
}

/// Answers a request, or does not.
pub(super) async fn answer<F: ConsoleFleet>(State(inner): State<Arc<Inner<F>>>, request: Request) -> Response {
    let mut response = ruled(&inner, request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

async fn ruled<F: ConsoleFleet>(inner: &Arc<Inner<F>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if parts.uri.path_and_query().is_some_and(|address| address.as_str().len() > ADDRESS_BYTES_MAX) {
        return StatusCode::URI_TOO_LONG.into_response();
    }
    let is_post = parts.method == Method::POST;
    if !is_post && parts.method != Method::GET && parts.method != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let text = |name: HeaderName| {
        let mut values = parts.headers.get_all(name).iter();
        let first = values.next().and_then(|value| value.to_str().ok());
        // Twice is as good as wrong.
        if values.next().is_some() { Some("") } else { first }
    };
    let query = parts.uri.query().unwrap_or_default();
    let head = Head {
        is_post,
        path: parts.uri.path(),
        query,
        host: text(header::HOST),
        origin: text(header::ORIGIN),
        site: text(HeaderName::from_static("sec-fetch-site")),
        cookies: parts.headers.get(header::COOKIE).and_then(|value| value.to_str().ok()),
    };
    match access::rule(&inner.secrets, &inner.names, head) {
        Ruling::Enter(path) => within(inner, &path, query, is_post, body).await,
        Ruling::Welcome => {
            let to = format!("/{}/", inner.secrets.prefix);
            let headers = [(header::SET_COOKIE, access::cookie(&inner.secrets)), (header::LOCATION, to)];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Ruling::WrongHost => StatusCode::MISDIRECTED_REQUEST.into_response(),
        Ruling::Foreign => StatusCode::FORBIDDEN.into_response(),
        Ruling::Nothing => StatusCode::NOT_FOUND.into_response(),
        Ruling::Stranger => plain(
            StatusCode::UNAUTHORIZED,
            "open the address that `holdpoint console` printed: it lets this browser in",
        ),
    }
}

/// For those who were let in.
async fn within<F: ConsoleFleet>(
    inner: &Arc<Inner<F>>,
    path: &str,
    query: &str,
    is_post: bool,
    body: Body,
) -> Response {
    match (path, is_post) {
        ("/act", true) => inner.act(body).await,
        ("/plan", true) => inner.plan(body).await,
        ("/document", true) => inner.document(body).await,
        (_, true) => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        ("/console.css", _) => ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], CSS).into_response(),
        ("/console.js", _) => ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT).into_response(),
        ("/icon.svg", _) => ([(header::CONTENT_TYPE, "image/svg+xml")], ICON).into_response(),
        ("/stream", _) => stream(inner, query),
        _ => {
            let address = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
            page(inner, &address).await
        }
    }
}

async fn page<F: ConsoleFleet>(inner: &Arc<Inner<F>>, address: &str) -> Response {
    let Some(view) = View::parse(address) else {
        return shown(inner, None, StatusCode::NOT_FOUND, &failed(&ConsoleProblem::not_found("there is no such page")));
    };
    match inner.main(&view, FRESH).await {
        Ok(page) => shown(inner, Some(&view), StatusCode::OK, &page),
        Err(problem) => {
            if problem.not_found
                && let Some(meant) = inner.meant(&view).await
            {
                let to = format!("/{}{meant}", inner.secrets.prefix);
                return (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response();
            }
            let status = if problem.not_found { StatusCode::NOT_FOUND } else { StatusCode::BAD_GATEWAY };
            shown(inner, None, status, &failed(&problem))
        }
    }
}

fn failed(problem: &ConsoleProblem) -> Page {
    Page { title: "That did not work".to_owned(), main: pages::problem(problem), moving: false }
}

fn shown<F: ConsoleFleet>(inner: &Inner<F>, view: Option<&View>, status: StatusCode, page: &Page) -> Response {
    let mark = updates::mark(&page.main.0);
    let whole = pages::whole(&inner.frame(), view, &page.title, &mark, &page.main).into_string();
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], whole).into_response()
}

fn stream<F: ConsoleFleet>(inner: &Arc<Inner<F>>, query: &str) -> Response {
    let asked: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let value =
        |name: &str| asked.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()).unwrap_or_default();
    let Some(view) = View::parse(&value("of")) else { return StatusCode::NOT_FOUND.into_response() };
    let Ok(place) = Arc::clone(&inner.streams).try_acquire_owned() else {
        return plain(StatusCode::TOO_MANY_REQUESTS, &format!("at most {STREAMS_MAX} open pages follow what happens"));
    };
    Sse::new(updates::follow(Arc::clone(inner), view, value("mark"), place)).into_response()
}
