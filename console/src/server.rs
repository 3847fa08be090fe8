//! Everything behind an address: what pages show. Requests are answered in [`answers`].

mod answers;
mod documents;
mod form;
mod plans;
mod updates;
mod words;

use std::{collections::BTreeMap, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use holdpoint_protocol::{
    api::InboxItem,
    ids::{FlightId, WaypointId},
    view::{FlightStatus, FlightView},
};
use maud::Markup;
use tokio::{
    net::TcpListener,
    sync::{OwnedMutexGuard, Semaphore, watch},
};

use crate::{
    access::{Names, Secrets},
    cache::{Book, Cache, Past},
    connections::{Connections, PAGE_TIMEOUT},
    fleet::{ConsoleFleet, Shared},
    pages::{self, Crew, Frame},
    problem::ConsoleProblem,
    view::View,
    wanted::Rights,
};

/// Pages that are open and follow what happens.
const STREAMS_MAX: usize = 32;
/// Acts that are under way.
const ACTS_MAX: usize = 4;
/// How old what a page shows may be when it is loaded.
const FRESH: Duration = Duration::from_millis(700);
/// How old lists may be that cost a reading of all journals, where nothing hints at a change.
const LISTS: Duration = Duration::from_secs(60);
/// Open flights whose turns the page of the fleet counts: the newest.
const OPEN_FLIGHTS_MAX: usize = 40;

/// How a console is served.
#[derive(Debug, Clone)]
pub struct ConsoleSettings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Under which other names it is reached (`host:port`), where there is something in front of it.
    pub names: Vec<String>,
    /// Nothing may be done.
    pub read_only: bool,
    /// Three random texts that nobody guesses: the prefix of every path, the token, the cookie.
    pub secrets: [String; 3],
}

/// A console that listens.
pub struct Console<F: ConsoleFleet> {
    listener: TcpListener,
    address: String,
    inner: Arc<Inner<F>>,
}

impl<F: ConsoleFleet> Console<F> {
    /// Listens.
    ///
    /// # Errors
    /// The address cannot be had.
    pub async fn open(fleet: Shared<F>, settings: ConsoleSettings) -> io::Result<Self> {
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
            cache: Cache::new(fleet),
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
        let router = Router::new().fallback(answers::answer::<F>).with_state(self.inner);
        let serving = axum::serve(Connections::new(self.listener), router);
        tokio::select! {
            served = serving.into_future() => served,
            never = hinting => never,
        }
    }
}

/// What all requests share.
pub(crate) struct Inner<F: ConsoleFleet> {
    cache: Cache<F>,
    secrets: Secrets,
    names: Names,
    rights: Rights,
    streams: Arc<Semaphore>,
    acts: Semaphore,
    hinted: watch::Sender<u64>,
}

/// The content of a page.
pub(crate) struct Page {
    title: String,
    pub(crate) main: Markup,
    /// Whether something moves by itself.
    pub(crate) moving: bool,
}

impl<F: ConsoleFleet> Inner<F> {
    pub(crate) fn fleet(&self) -> &F {
        &self.cache.fleet
    }

    pub(crate) fn hints(&self) -> watch::Receiver<u64> {
        self.hinted.subscribe()
    }

    pub(crate) fn waits(&self) -> Option<usize> {
        self.cache.waits()
    }

    /// A flight, as it was last looked at.
    pub(crate) async fn book(&self, flight: &FlightId) -> Result<OwnedMutexGuard<Book<F::Reading>>, ConsoleProblem> {
        self.cache.book(flight, Duration::from_secs(3600)).await
    }

    fn frame(&self) -> Frame {
        Frame {
            base: format!("/{}", self.secrets.prefix),
            rights: self.rights.clone(),
            waits: self.cache.waits(),
            unplanned: self.fleet().unplanned(),
            now: self.fleet().now(),
            typed: F::typed,
        }
    }

    /// The content of a page, from what is not older than this.
    pub(crate) async fn main(self: &Arc<Self>, view: &View, age: Duration) -> Result<Page, ConsoleProblem> {
        let making = async {
            match view {
                View::Flights(page) => self.flights(*page, age).await,
                View::Inbox => {
                    let items = self.cache.inbox(age).await?;
                    Ok(Page {
                        title: "Inbox".to_owned(),
                        main: pages::inbox(&self.frame(), &items),
                        moving: self.moves(age).await,
                    })
                }
                View::Fleet => self.crew(age).await,
                View::Submit => {
                    let main = pages::submit(&self.frame(), plans::PLAN_BYTES_MAX);
                    Ok(Page { title: "Submit a plan".to_owned(), main, moving: false })
                }
                View::Flight(flight, show) => {
                    let book = self.cache.book(flight, age).await?;
                    let view = book.view().ok_or_else(|| ConsoleProblem::not_found("there is no such flight"))?;
                    let rests = !view.paused && self.fleet().rests(flight);
                    let main = pages::flight(&self.frame(), (&view, rests), &book.account, show);
                    Ok(Page {
                        title: flight.to_string(),
                        main,
                        moving: view.status == FlightStatus::Running && !view.paused,
                    })
                }
                View::Waypoint(flight, waypoint) => self.waypoint(flight, waypoint, age).await,
                View::Document(flight, waypoint, of, with) => {
                    let (_, past) = self.past(flight, waypoint, age).await?;
                    let asked = pages::Asked { flight, waypoint, of, with: with.as_deref() };
                    let main = pages::document(&self.frame(), asked, &past.history);
                    let missing = || ConsoleProblem::not_found(format!("{waypoint} has no such artifact"));
                    Ok(Page { title: format!("{waypoint}: {of}"), main: main.ok_or_else(missing)?, moving: false })
                }
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
        let late = || ConsoleProblem {
            not_found: false,
            message: format!("the fleet did not answer in {} s", PAGE_TIMEOUT.as_secs()),
            hint: "does an orchestrator run? `holdpoint doctor` looks".to_owned(),
        };
        // Boxed: together the pages are one large future.
        tokio::time::timeout(PAGE_TIMEOUT, Box::pin(making)).await.unwrap_or_else(|_| Err(late()))
    }

    /// The page that an address means under which there is nothing; `None`: there is none, or nobody says so in time.
    pub(crate) async fn meant(&self, view: &View) -> Option<View> {
        let (flight, waypoint) = view.named()?;
        let asked = tokio::time::timeout(PAGE_TIMEOUT, self.fleet().meant(flight, waypoint));
        let (flight, waypoint) = asked.await.ok()?.ok()?;
        Some(view.of(flight, waypoint)).filter(|meant| meant != view)
    }

    async fn flights(self: &Arc<Self>, page: usize, age: Duration) -> Result<Page, ConsoleProblem> {
        let lines = self.cache.flights(age).await?;
        let items = self.cache.inbox(age).await?;
        let mut waits: BTreeMap<&FlightId, usize> = BTreeMap::new();
        for (item, _) in InboxItem::by_cause(items.iter().filter(|item| item.is_for(&self.rights.me))) {
            *waits.entry(&item.flight).or_default() += 1;
        }
        let per_page = pages::PER_PAGE;
        let shown: Vec<_> = lines.iter().skip(page.saturating_mul(per_page)).take(per_page).cloned().collect();
        let moving = lines.iter().any(|line| line.status == FlightStatus::Running);
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            if inner.cache.fill(&shown, age.max(FRESH)).await {
                inner.hinted.send_modify(|count| *count = count.wrapping_add(1));
            }
        });
        let about = |line: &_| self.cache.summary(line);
        let of = |line: &holdpoint_protocol::api::FlightLine| waits.get(&line.flight).copied().unwrap_or(0);
        let rests = |line: &holdpoint_protocol::api::FlightLine| !line.paused && self.fleet().rests(&line.flight);
        let main = pages::flights(&self.frame(), &lines, page, (about, of, rests));
        Ok(Page { title: "Flights".to_owned(), main, moving })
    }

    /// How a flight stands, and what happened to one of its waypoints.
    async fn past(
        &self,
        flight: &FlightId,
        id: &WaypointId,
        age: Duration,
    ) -> Result<(Arc<FlightView>, Arc<Past>), ConsoleProblem> {
        let standing = self.cache.book(flight, age).await?.view();
        let missing = || ConsoleProblem::not_found(format!("there is no waypoint {id} in the flight {flight}"));
        let standing = standing.ok_or_else(missing)?;
        let waypoint = standing.waypoints.iter().find(|waypoint| waypoint.id == *id).ok_or_else(missing)?;
        let past = self.cache.past(flight, waypoint).await?;
        Ok((standing, past))
    }

    async fn waypoint(&self, flight: &FlightId, id: &WaypointId, age: Duration) -> Result<Page, ConsoleProblem> {
        let (standing, past) = self.past(flight, id, age).await?;
        let book = self.book(flight).await?;
        let account = &book.account;
        let parts =
            pages::Parts { view: &standing, waypoint: &past.of, account, history: &past.history, waits: &past.waits };
        let main = pages::waypoint(&self.frame(), parts);
        Ok(Page { title: id.to_string(), main, moving: standing.status == FlightStatus::Running && !standing.paused })
    }

    async fn moves(&self, age: Duration) -> bool {
        let lines = self.cache.flights(age).await;
        lines.is_ok_and(|lines| lines.iter().any(|line| line.status == FlightStatus::Running))
    }

    async fn crew(&self, age: Duration) -> Result<Page, ConsoleProblem> {
        let listed = if age > FRESH { LISTS } else { age };
        let lines = self.cache.flights(listed).await?;
        let dead = self.cache.dead(listed).await?;
        let open = lines.iter().filter(|line| !line.status.is_over());
        let open: Vec<_> = open.collect();
        // An older orchestrator does not say.
        let storage = self.cache.storage(listed).await.ok();
        let mut crew = Crew { heard: self.fleet().heard_of(), dead: dead.to_vec(), storage, ..Crew::default() };
        crew.left_out = open.len().saturating_sub(OPEN_FLIGHTS_MAX);
        for line in open.iter().take(OPEN_FLIGHTS_MAX) {
            let Ok(book) = self.cache.book(&line.flight, age).await else { continue };
            let Some(view) = book.view() else { continue };
            drop(book);
            crew.take(&view);
        }
        let moving = open.iter().any(|line| line.status == FlightStatus::Running);
        Ok(Page { title: "Fleet".to_owned(), main: pages::fleet(&self.frame(), &crew), moving })
    }
}
