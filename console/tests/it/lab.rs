//! A console on a free port, before a fleet of one flight in memory; and requests as they are written on the wire.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use holdpoint_console::{
    Console, ConsoleFleet, ConsoleProblem, ConsoleSettings, FlightAccount, HeardOf, Mistake, Patch, PlanInspection,
    WantedAct,
};
use holdpoint_protocol::{
    Digest, Timestamp,
    api::{DeadTurn, FlightLine, HistoryLine, InboxItem},
    ids::{AgentName, FlightId, WaypointId},
    storage::Storage,
    view::FlightView,
};
use holdpoint_text::live::Spoken;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Notify, watch},
    task::JoinHandle,
};

pub(crate) const FLIGHT: &str = "harden-0a1b2c3d";
/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// One flight, in memory.
pub(crate) struct Memory {
    pub(crate) me: AgentName,
    pub(crate) view: Mutex<Value>,
    pub(crate) acts: Mutex<Vec<WantedAct>>,
    /// The documents of the gate `draft`, the newest last.
    pub(crate) documents: Mutex<Vec<String>>,
    pub(crate) looks: AtomicU32,
    pub(crate) submitted: AtomicU32,
    pub(crate) hints: Notify,
    /// How often a flight was read from its beginning.
    pub(crate) opened: AtomicU32,
    /// Questions that are not answered yet.
    pub(crate) silent: watch::Sender<Vec<&'static str>>,
}

/// The reference of a document of the gate `draft`, counted from 1.
pub(crate) fn reference_of(document: usize) -> String {
    format!("HP_HANDOFF_WRITER/{document}")
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

impl Memory {
    fn new(me: &str) -> Self {
        let waypoint = json!({
            "id": "w", "title": "Retries <b>back off</b>", "status": "waiting", "gate": "build", "disposition": null, "reason_code": null,
            "attempts": 1, "commit": null, "criteria": [], "guards": [], "remediation": null, "turn": null,
            "actions": ["answer", "approve", "cancel"],
        });
        let oid = "a".repeat(40);
        let view = json!({
            "flight": FLIGHT, "plan": "harden", "status": "waiting", "base": oid, "branch": format!("holdpoint/{FLIGHT}"), "head": oid,
            "paused": false, "waypoints": [waypoint], "landings": [],
        });
        let me = me.parse().unwrap();
        Self {
            me,
            view: view.into(),
            acts: Mutex::default(),
            documents: vec!["# Impact\n\nNone <i>yet</i>.\n".to_owned()].into(),
            looks: AtomicU32::new(0),
            submitted: AtomicU32::new(0),
            hints: Notify::new(),
            opened: AtomicU32::new(0),
            silent: watch::Sender::default(),
        }
    }

    /// From now on these questions are not answered, and all others are.
    pub(crate) fn keep_silent(&self, on: &[&'static str]) {
        self.silent.send_replace(on.to_vec());
    }

    async fn may_answer(&self, question: &str) {
        self.silent.subscribe().wait_for(|silent| !silent.contains(&question)).await.unwrap();
    }

    /// The flight is paused, or goes on.
    pub(crate) fn pause(&self, paused: bool) {
        self.view.lock().unwrap()["paused"] = paused.into();
        self.hints.notify_one();
    }
}

impl ConsoleFleet for Memory {
    type Reading = ();
    type Listening = ();

    fn me(&self) -> AgentName {
        self.me.clone()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_790_000_000_000)
    }

    fn typed(command: &str) -> String {
        command.to_owned()
    }

    fn rests(&self, _: &FlightId) -> bool {
        false
    }

    async fn flights(&self) -> Result<Vec<FlightLine>, ConsoleProblem> {
        let line =
            json!({"flight": FLIGHT, "plan": "harden", "submitted_at": "2026-11-22T10:00:00Z", "status": "waiting"});
        Ok(vec![read(line)])
    }

    async fn status(&self, flight: &FlightId) -> Result<FlightView, ConsoleProblem> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        if flight.as_str() != FLIGHT {
            return Err(ConsoleProblem::not_found("there is no such flight"));
        }
        Ok(read(self.view.lock().unwrap().clone()))
    }

    async fn meant(
        &self,
        flight: &FlightId,
        waypoint: Option<&WaypointId>,
    ) -> Result<(FlightId, Option<WaypointId>), ConsoleProblem> {
        if flight.as_str() != "latest" && flight.as_str() != FLIGHT {
            return Err(ConsoleProblem::not_found("there is no such flight"));
        }
        Ok((read(FLIGHT.into()), waypoint.filter(|named| named.as_str() == "latest").map(|_| read("w".into()))))
    }

    async fn inbox(&self, _: Option<&FlightId>) -> Result<Vec<InboxItem>, ConsoleProblem> {
        let item = json!({
            "kind": "question", "flight": FLIGHT, "waypoint": "w", "gate": "build", "since": "2026-11-22T10:00:00Z",
            "question": "Which <i>one</i>?", "options": ["a", "b & c"], "confidence": null, "round": 1, "reason_code": null,
            "remediation": null, "evidence": [], "actions": ["answer", "approve", "cancel"], "ref": "HP/7",
        });
        Ok(vec![read(item)])
    }

    async fn storage(&self) -> Result<Storage, ConsoleProblem> {
        let stream = json!({"stream": "HP_BLOB_BUILDER", "bytes": 943_718, "bytes_max": 1 << 20, "messages": 3, "messages_max": null});
        Ok(read(json!({"version": "0.1.0", "bytes": 943_718, "bytes_max": 1 << 30, "streams": [stream]})))
    }

    async fn dead(&self) -> Result<Vec<DeadTurn>, ConsoleProblem> {
        Ok(Vec::new())
    }

    async fn history(&self, _: &FlightId, waypoint: &WaypointId) -> Result<Vec<HistoryLine>, ConsoleProblem> {
        self.may_answer(&format!("history of {waypoint}")).await;
        let line = |kind: &str, reference: String, artifact: Value| -> HistoryLine {
            read(
                json!({"at": "2026-11-22T10:00:00Z", "kind": kind, "ref": reference, "artifact": artifact, "standing": "taken"}),
            )
        };
        let documents = self.documents.lock().unwrap();
        let turn = json!({"turn_id": "t", "gate": "draft", "waypoint": "w", "request": {"context": {}}, "record": {}});
        let mut history = vec![line("turn", "HP_JOURNAL/1".to_owned(), turn)];
        history.extend(documents.iter().enumerate().map(|(at, text)| {
            let kind = if at == 0 { "completion" } else { "revise" };
            let artifact = json!({"waypoint_id": "w", "turn": "t", "gate": "draft", "document": {"text": text}});
            line(kind, reference_of(at + 1), artifact)
        }));
        let newest = json!([{"gate": "draft", "from": reference_of(documents.len())}]);
        history.push(line("decided", "HP_JOURNAL/2".to_owned(), json!({"record": {"state": {"documents": newest}}})));
        Ok(history)
    }

    async fn open(&self, _: &FlightId) -> Result<(), ConsoleProblem> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn read_on(&self, (): &mut (), _: &mut FlightAccount) -> Result<(), ConsoleProblem> {
        self.may_answer("read on").await;
        Ok(())
    }

    async fn evidence(&self, _: Digest) -> Result<Vec<u8>, ConsoleProblem> {
        Ok(b"<script>alert(1)</script>\x1b[2J".to_vec())
    }

    async fn patch(&self, _: &FlightId, _: &WaypointId, _: &str) -> Result<Patch, ConsoleProblem> {
        Ok(Patch::Text("+<script>\n".to_owned()))
    }

    fn heard_of(&self) -> Vec<HeardOf> {
        Vec::new()
    }

    async fn hint(&self) {
        self.hints.notified().await;
    }

    async fn listen(&self, _: &FlightId, _: &WaypointId) -> Result<(), ConsoleProblem> {
        Ok(())
    }

    fn learn(&self, (): &mut (), _: &FlightView) -> Vec<Spoken> {
        Vec::new()
    }

    async fn next(&self, (): &mut ()) -> Spoken {
        std::future::pending().await
    }

    fn unplanned(&self) -> Option<String> {
        None
    }

    async fn look(&self, text: &str) -> Result<PlanInspection, ConsoleProblem> {
        let mistake =
            Mistake { line: Some(2), message: "<i>odd</i>".to_owned(), hint: format!("{} bytes", text.len()) };
        Ok(PlanInspection { mistakes: vec![mistake], ..PlanInspection::default() })
    }

    async fn submit(&self, _: &str) -> Result<FlightId, ConsoleProblem> {
        self.submitted.fetch_add(1, Ordering::Relaxed);
        Ok(FLIGHT.parse().unwrap())
    }

    async fn revise(&self, reference: &str, text: &str) -> Result<String, ConsoleProblem> {
        let mut documents = self.documents.lock().unwrap();
        if reference != reference_of(documents.len()) {
            let message = "another one is the newest".to_owned();
            return Err(ConsoleProblem { not_found: false, message, hint: String::new() });
        }
        documents.push(text.to_owned());
        Ok("revised; w is looked at".to_owned())
    }

    async fn act(&self, wanted: WantedAct) -> Result<String, ConsoleProblem> {
        self.acts.lock().unwrap().push(wanted);
        Ok("answered; w builds again".to_owned())
    }
}

/// A console that runs as long as this lives.
pub(crate) struct Lab {
    pub(crate) fleet: Arc<Memory>,
    pub(crate) host: String,
    pub(crate) prefix: String,
    pub(crate) token: String,
    serving: JoinHandle<()>,
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// What a request says beyond its first line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) host: &'a str,
    pub(crate) origin: Option<&'a str>,
    pub(crate) cookie: Option<&'a str>,
    pub(crate) body: &'a str,
}

impl Lab {
    /// With the key of `me`.
    pub(crate) async fn open(me: &str, read_only: bool) -> Self {
        let fleet = Arc::new(Memory::new(me));
        let secret = |letter: &str| letter.repeat(32);
        let listen = (Ipv4Addr::LOCALHOST, 0).into();
        let settings =
            ConsoleSettings { listen, names: Vec::new(), read_only, secrets: [secret("p"), secret("t"), secret("c")] };
        let console = Console::open(Arc::clone(&fleet), settings).await.unwrap();
        let address = console.address().to_owned();
        let host = address.split('/').nth(2).unwrap().to_owned();
        let (prefix, token) = (format!("/{}", secret("p")), secret("t"));
        assert_eq!(address, format!("http://{host}{prefix}/enter?token={token}"));
        let serving = tokio::spawn(async move { console.serve().await.unwrap() });
        Self { fleet, host, prefix, token, serving }
    }

    /// A request as this console's own pages make it.
    pub(crate) fn own<'a>(&'a self, path: &'a str) -> Ask<'a> {
        let cookie = Some("holdpoint=cccccccccccccccccccccccccccccccc");
        Ask { method: "GET", path, host: &self.host, origin: None, cookie, body: "" }
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn ask(&self, ask: Ask<'_>) -> String {
        let mut stream = self.begin(ask).await;
        let mut answer = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Sends a request.
    pub(crate) async fn begin(&self, ask: Ask<'_>) -> TcpStream {
        let Ask { method, path, host, origin, cookie, body } = ask;
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        if let Some(origin) = origin {
            head.push_str(&format!("origin: {origin}\r\n"));
        }
        if let Some(cookie) = cookie {
            head.push_str(&format!("cookie: {cookie}\r\n"));
        }
        let mut stream = TcpStream::connect(&self.host).await.unwrap();
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        stream
    }

    /// A page, with the cookie.
    pub(crate) async fn page(&self, path: &str) -> String {
        let path = format!("{}{path}", self.prefix);
        self.ask(self.own(&path)).await
    }

    /// An act, as the page's own script sends it.
    pub(crate) async fn act(&self, body: &str) -> String {
        self.post("/act", body).await
    }

    /// A form, as the page's own script sends it.
    pub(crate) async fn post(&self, to: &str, body: &str) -> String {
        let (path, origin) = (format!("{}{to}", self.prefix), format!("http://{}", self.host));
        self.ask(Ask { method: "POST", origin: Some(&origin), body, ..self.own(&path) }).await
    }
}

/// The status of an answer.
pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The body of an answer.
pub(crate) fn content(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}
