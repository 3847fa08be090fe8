//! Everything behind an address.

use std::{collections::BTreeMap, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response, sse::Sse},
};
use holdpoint_protocol::{ids::FlightId, view::FlightStatus};
use maud::Markup;
use tokio::{
    net::TcpListener,
    sync::{OwnedMutexGuard, Semaphore, watch},
};

use crate::{
    door::Door,
    fleet::{Fleet, Problem, Shared},
    gate::{self, Head, Names, Ruling, Secrets},
    pages::{self, Crew, Frame},
    pulse,
    shelf::{Book, Shelf},
    view::View,
    wanted::{self, Rights},
};

/// The longest address, in bytes.
const ADDRESS_BYTES_MAX: usize = 2 << 10;
/// The longest form, in bytes.
const FORM_BYTES_MAX: usize = 64 << 10;
/// Pages that are open and follow what happens.
const STREAMS_MAX: usize = 32;
/// Acts that are under way.
const ACTS_MAX: usize = 4;
/// How old what a page shows may be when it is loaded.
const FRESH: Duration = Duration::from_millis(700);
/// How old lists may be that cost a reading of all journals, where nothing hints at a change.
const LISTS: Duration = Duration::from_secs(60);
/// How long a page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);
/// Open flights whose turns the page of the fleet counts: the newest.
const OPEN_FLIGHTS_MAX: usize = 40;

const CSS: &str = include_str!("../assets/console.css");
const ICON: &str = include_str!("../assets/icon.svg");
const SCRIPT: &str = include_str!("../assets/console.js");
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

/// How a console is served.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Under which other names it is reached (`host:port`), where something stands before it.
    pub names: Vec<String>,
    /// Nothing may be done.
    pub read_only: bool,
    /// Three random texts that nobody guesses: the prefix of every path, the token, the cookie.
    pub secrets: [String; 3],
}

/// A console that listens.
pub struct Console<F: Fleet> {
    listener: TcpListener,
    address: String,
    inner: Arc<Inner<F>>,
}

impl<F: Fleet> Console<F> {
    /// Listens.
    ///
    /// # Errors
    /// The address cannot be had.
    pub async fn open(fleet: Shared<F>, settings: Settings) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.listen).await?;
        let at = listener.local_addr()?;
        let mut names = settings.names;
        let shown = names.first().cloned().unwrap_or_else(|| at.to_string());
        if !at.ip().is_unspecified() {
            names.push(at.to_string());
        }
        if at.ip().is_loopback() {
            names.push(format!("localhost:{}", at.port()));
        }
        let [prefix, token, cookie] = settings.secrets;
        let secrets = Secrets { prefix, token, cookie };
        let address = format!("http://{shown}/{}/enter?token={}", secrets.prefix, secrets.token);
        let rights = Rights { me: fleet.me(), read_only: settings.read_only };
        let inner = Arc::new(Inner {
            shelf: Shelf::new(fleet),
            secrets,
            names: Names(names),
            rights,
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            acts: Semaphore::new(ACTS_MAX),
            hinted: watch::Sender::new(0),
        });
        Ok(Self { listener, address, inner })
    }

    /// The address with which a browser is let in.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Serves pages as long as it is polled.
    ///
    /// # Errors
    /// The listener fails.
    pub async fn serve(self) -> io::Result<()> {
        let inner = Arc::clone(&self.inner);
        let hinting = async move {
            loop {
                inner.fleet().hint().await;
                inner.hinted.send_modify(|count| *count = count.wrapping_add(1));
            }
        };
        let router = Router::new().fallback(answer::<F>).with_state(self.inner);
        let serving = axum::serve(Door::new(self.listener), router);
        tokio::select! {
            served = serving.into_future() => served,
            never = hinting => never,
        }
    }
}

/// What all requests share.
pub(crate) struct Inner<F: Fleet> {
    shelf: Shelf<F>,
    secrets: Secrets,
    names: Names,
    rights: Rights,
    streams: Arc<Semaphore>,
    acts: Semaphore,
    hinted: watch::Sender<u64>,
}

/// What stands on a page.
pub(crate) struct Page {
    title: String,
    pub(crate) main: Markup,
    /// Whether something moves by itself.
    pub(crate) moving: bool,
}

impl<F: Fleet> Inner<F> {
    pub(crate) fn fleet(&self) -> &F {
        &self.shelf.fleet
    }

    pub(crate) fn hints(&self) -> watch::Receiver<u64> {
        self.hinted.subscribe()
    }

    pub(crate) fn waits(&self) -> Option<usize> {
        self.shelf.waits()
    }

    /// A flight, as it was last looked at.
    pub(crate) async fn book(&self, flight: &FlightId) -> Result<OwnedMutexGuard<Book<F::Reading>>, Problem> {
        self.shelf.book(flight, Duration::from_secs(3600)).await
    }

    fn frame(&self) -> Frame {
        Frame {
            base: format!("/{}", self.secrets.prefix),
            rights: self.rights.clone(),
            waits: self.shelf.waits(),
            now: self.fleet().now(),
        }
    }

    /// What stands on a page, from what is not older than this.
    pub(crate) async fn main(self: &Arc<Self>, view: &View, age: Duration) -> Result<Page, Problem> {
        let making = async {
            match view {
                View::Flights(page) => self.flights(*page, age).await,
                View::Inbox => {
                    let items = self.shelf.inbox(age).await?;
                    Ok(Page {
                        title: "Inbox".to_owned(),
                        main: pages::inbox(&self.frame(), &items),
                        moving: self.moves(age).await,
                    })
                }
                View::Fleet => self.crew(age).await,
                View::Flight(flight, show) => {
                    let book = self.shelf.book(flight, age).await?;
                    let view = book.view().ok_or_else(|| Problem::not_found("there is no such flight"))?;
                    let main = pages::flight(&self.frame(), &view, &book.account, show);
                    Ok(Page {
                        title: flight.to_string(),
                        main,
                        moving: view.status == FlightStatus::Running && !view.paused,
                    })
                }
                View::Waypoint(..) => self.waypoint(view, age).await,
                View::Patch(flight, waypoint, of) => {
                    let patch = self.fleet().patch(flight, waypoint, of).await?;
                    let main = pages::patch(&self.frame(), flight, waypoint, &patch);
                    Ok(Page { title: format!("{waypoint}: diff"), main, moving: false })
                }
                View::Evidence(digest) => {
                    let bytes = self.fleet().evidence(*digest).await?;
                    Ok(Page { title: "Evidence".to_owned(), main: pages::evidence(*digest, &bytes), moving: false })
                }
            }
        };
        let late = || Problem {
            not_found: false,
            message: format!("the fleet did not answer in {} s", PAGE_TIMEOUT.as_secs()),
            hint: "does an orchestrator run? `holdpoint doctor` looks".to_owned(),
        };
        // Boxed: together the pages are one large future.
        tokio::time::timeout(PAGE_TIMEOUT, Box::pin(making)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn flights(self: &Arc<Self>, page: usize, age: Duration) -> Result<Page, Problem> {
        let lines = self.shelf.flights(age).await?;
        let items = self.shelf.inbox(age).await?;
        let mut waits: BTreeMap<&FlightId, usize> = BTreeMap::new();
        for item in items.iter() {
            *waits.entry(&item.flight).or_default() += 1;
        }
        let per_page = pages::PER_PAGE;
        let shown: Vec<_> = lines.iter().skip(page.saturating_mul(per_page)).take(per_page).cloned().collect();
        let moving = lines.iter().any(|line| line.status == FlightStatus::Running);
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            if inner.shelf.fill(&shown, age.max(FRESH)).await {
                inner.hinted.send_modify(|count| *count = count.wrapping_add(1));
            }
        });
        let about = |line: &_| self.shelf.summary(line);
        let of = |line: &holdpoint_protocol::api::FlightLine| waits.get(&line.flight).copied().unwrap_or(0);
        let main = pages::flights(&self.frame(), &lines, page, about, of);
        Ok(Page { title: "Flights".to_owned(), main, moving })
    }

    async fn waypoint(&self, view: &View, age: Duration) -> Result<Page, Problem> {
        let View::Waypoint(flight, id) = view else { return Err(Problem::not_found("there is no such page")) };
        let book = self.shelf.book(flight, age).await?;
        let missing = || Problem::not_found(format!("there is no waypoint {id} in the flight {flight}"));
        let standing = book.view().ok_or_else(missing)?;
        let waypoint = standing.waypoints.iter().find(|waypoint| waypoint.id == *id).ok_or_else(missing)?;
        let past = self.shelf.past(flight, waypoint).await?;
        let account = &book.account;
        let parts = pages::Parts { view: &standing, waypoint, account, history: &past.history, waits: &past.waits };
        let main = pages::waypoint(&self.frame(), parts);
        Ok(Page { title: id.to_string(), main, moving: standing.status == FlightStatus::Running && !standing.paused })
    }

    async fn moves(&self, age: Duration) -> bool {
        let lines = self.shelf.flights(age).await;
        lines.is_ok_and(|lines| lines.iter().any(|line| line.status == FlightStatus::Running))
    }

    async fn crew(&self, age: Duration) -> Result<Page, Problem> {
        let listed = if age > FRESH { LISTS } else { age };
        let lines = self.shelf.flights(listed).await?;
        let dead = self.shelf.dead(listed).await?;
        let open = lines.iter().filter(|line| matches!(line.status, FlightStatus::Running | FlightStatus::Waiting));
        let open: Vec<_> = open.collect();
        let mut crew = Crew { heard: self.fleet().heard_of(), dead: dead.to_vec(), ..Crew::default() };
        crew.left_out = open.len().saturating_sub(OPEN_FLIGHTS_MAX);
        for line in open.iter().take(OPEN_FLIGHTS_MAX) {
            let Ok(book) = self.shelf.book(&line.flight, age).await else { continue };
            let Some(view) = book.view() else { continue };
            drop(book);
            crew.take(&view);
        }
        let moving = open.iter().any(|line| line.status == FlightStatus::Running);
        Ok(Page { title: "Fleet".to_owned(), main: pages::fleet(&self.frame(), &crew), moving })
    }

    async fn act(&self, body: Body) -> Response {
        let Ok(_place) = self.acts.try_acquire() else {
            return plain(StatusCode::TOO_MANY_REQUESTS, "other acts are under way: send it again in a moment");
        };
        let Ok(Ok(bytes)) = tokio::time::timeout(PAGE_TIMEOUT, to_bytes(body, FORM_BYTES_MAX)).await else {
            return plain(StatusCode::PAYLOAD_TOO_LARGE, &format!("a form has at most {FORM_BYTES_MAX} bytes"));
        };
        let fields: Vec<(String, String)> = form_urlencoded::parse(&bytes).into_owned().collect();
        match self.perform(&fields).await {
            Ok(done) => plain(StatusCode::OK, &holdpoint_core::shown::line(&done)),
            Err(problem) => {
                let both = format!("{}. {}", problem.message.trim_end_matches('.'), problem.hint);
                plain(StatusCode::CONFLICT, &holdpoint_core::shown::line(both.trim()))
            }
        }
    }

    async fn perform(&self, fields: &[(String, String)]) -> Result<String, Problem> {
        let wanted = wanted::read(fields)?;
        if let Some(why) = self.rights.refuses(wanted.what.verb()) {
            return Err(Problem { not_found: false, message: why, hint: String::new() });
        }
        let flight = wanted.flight.clone();
        let done = self.fleet().act(wanted).await;
        self.shelf.forget(&flight).await;
        self.hinted.send_modify(|count| *count = count.wrapping_add(1));
        done
    }
}

/// Answers a request, or does not.
async fn answer<F: Fleet>(State(inner): State<Arc<Inner<F>>>, request: Request) -> Response {
    let mut response = ruled(&inner, request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

async fn ruled<F: Fleet>(inner: &Arc<Inner<F>>, request: Request) -> Response {
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
    match gate::rule(&inner.secrets, &inner.names, head) {
        Ruling::Enter(path) => within(inner, &path, query, is_post, body).await,
        Ruling::Welcome => {
            let to = format!("/{}/", inner.secrets.prefix);
            let headers = [(header::SET_COOKIE, gate::cookie(&inner.secrets)), (header::LOCATION, to)];
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

/// For whoever was let in.
async fn within<F: Fleet>(inner: &Arc<Inner<F>>, path: &str, query: &str, is_post: bool, body: Body) -> Response {
    match (path, is_post) {
        ("/act", true) => inner.act(body).await,
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

async fn page<F: Fleet>(inner: &Arc<Inner<F>>, address: &str) -> Response {
    let Some(view) = View::parse(address) else {
        return shown(inner, None, StatusCode::NOT_FOUND, &failed(&Problem::not_found("there is no such page")));
    };
    match inner.main(&view, FRESH).await {
        Ok(page) => shown(inner, Some(&view), StatusCode::OK, &page),
        Err(problem) => {
            let status = if problem.not_found { StatusCode::NOT_FOUND } else { StatusCode::BAD_GATEWAY };
            shown(inner, None, status, &failed(&problem))
        }
    }
}

fn failed(problem: &Problem) -> Page {
    Page { title: "That did not work".to_owned(), main: pages::problem(problem), moving: false }
}

fn shown<F: Fleet>(inner: &Inner<F>, view: Option<&View>, status: StatusCode, page: &Page) -> Response {
    let mark = pulse::mark(&page.main.0);
    let whole = pages::whole(&inner.frame(), view, &page.title, &mark, &page.main).into_string();
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], whole).into_response()
}

fn stream<F: Fleet>(inner: &Arc<Inner<F>>, query: &str) -> Response {
    let asked: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let value =
        |name: &str| asked.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()).unwrap_or_default();
    let Some(view) = View::parse(&value("of")) else { return StatusCode::NOT_FOUND.into_response() };
    let Ok(place) = Arc::clone(&inner.streams).try_acquire_owned() else {
        return plain(StatusCode::TOO_MANY_REQUESTS, &format!("at most {STREAMS_MAX} open pages follow what happens"));
    };
    Sse::new(pulse::follow(Arc::clone(inner), view, value("mark"), place)).into_response()
}

fn plain(status: StatusCode, words: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], words.to_owned()).into_response()
}
