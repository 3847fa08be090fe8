//! The course of one conversation: what is done when the agent says something. Pure; bounded whatever it says.
//!
//! ```text
//! initialize → session/load, session/resume or session/new (→ session/set_mode) → session/prompt → its answer
//! ```
//!
//! One request of ours is open at a time. What an agent reports before it is asked is the past of a conversation that it loads,
//! and not its words.

use std::{path::PathBuf, time::Duration};

use serde_json::{Value, json};

use super::{
    chunks::{ChunkKind, Chunks},
    event::{self, AcpEvent, beginning},
    files,
    mode::{self, ModeChoice},
    permission::{PermissionDecision, PermissionRequest, ToolCalls, outcome},
    wire::{self, BAD_PARAMS, NO_METHOD, WireMessage},
};

/// The version of the protocol.
const VERSION: u64 = 1;
/// How long an agent may take to say what it can, to load a conversation, and to open one.
const HELLO_TIME: Duration = Duration::from_secs(60);
const LOAD_TIME: Duration = Duration::from_secs(60);
const OPEN_TIME: Duration = Duration::from_secs(120);
/// How long an agent may take to stop when it is asked to.
const CANCEL_TIME: Duration = Duration::from_secs(5);
/// Bytes that may come of which nothing is printed. What is printed is the turn's output, and bounded there.
const UNPRINTED_BYTES_MAX: u64 = 64 << 20;
/// How many lines that say nothing are reported, and how much of each is shown.
const PASSED_MAX: u32 = 20;
const PASSED_BYTES: usize = 200;
/// Permissions that wait for a person at once.
const ASKED_MAX: usize = 8;
/// Where agents say in their answer to a prompt how many tokens it took.
const USAGE_PLACES: [&str; 3] = ["/usage", "/_meta/usage", "/_meta/quota/token_count"];
/// Goes before the prompt of a conversation that takes the place of a lost one.
const LOST: &str = "This conversation is new: an earlier one about the same work could not be gone on with. What this is about is in the JSON \
                    file that `$HOLDPOINT_TURN_FILE` names; the files as they are now are in the current directory.\n\n";

/// What a conversation is about.
#[derive(Debug, Clone)]
pub struct AcpSettings {
    /// What the agent gets.
    pub prompt: String,
    /// Where it works.
    pub tree: PathBuf,
    /// The conversation to go on with.
    pub session: Option<String>,
    /// Whether a person gives permissions.
    pub asks: bool,
}

/// How long the agent may take for what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Our request that it has, so that the time of the next one begins with it.
    request: u64,
    /// From its beginning on.
    pub time: Duration,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub enum Do {
    /// To send this to the agent.
    Send(Value),
    /// To print this.
    Print(AcpEvent),
    /// To do this for the request with this id.
    File(Value, files::FileRequest),
    /// To ask a person for the request with this id.
    Ask(Value, PermissionRequest),
    /// To end: the agent has answered, or it failed.
    End {
        /// Whether it has answered.
        well: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Hello,
    /// The agent goes on with a conversation; whether it can begin a new one instead.
    Loading,
    Opening,
    /// It only reads, and is to write; whether its conversation is the one to go on with.
    SettingMode {
        continued: bool,
    },
    Prompted,
    Cancelled,
    Over,
}

/// One conversation.
#[derive(Debug)]
pub struct AcpConversation {
    settings: AcpSettings,
    stage: Stage,
    /// The id of our open request.
    id: u64,
    agent: Option<String>,
    session: Option<String>,
    chunks: Chunks,
    unprinted: u64,
    passed: u32,
    /// Ids of requests for which a person is asked.
    asked: Vec<Value>,
    calls: ToolCalls,
}

impl AcpConversation {
    /// Begins a conversation.
    #[must_use]
    pub fn begin(settings: AcpSettings) -> (Self, Vec<Do>) {
        let mut talk = Self {
            settings,
            stage: Stage::Hello,
            id: 0,
            agent: None,
            session: None,
            chunks: Chunks::default(),
            unprinted: 0,
            passed: 0,
            asked: Vec::new(),
            calls: ToolCalls::default(),
        };
        let hello = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": false},
            "clientInfo": {"name": "holdpoint", "version": env!("CARGO_PKG_VERSION")},
        });
        let first = talk.request("initialize", &hello);
        (talk, vec![first])
    }

    /// How long the agent may take for what it does now; `None`: as long as the turn.
    #[must_use]
    pub fn patience(&self) -> Option<Patience> {
        let time = match self.stage {
            Stage::Hello => HELLO_TIME,
            Stage::Loading => LOAD_TIME,
            Stage::Opening | Stage::SettingMode { .. } => OPEN_TIME,
            Stage::Cancelled => CANCEL_TIME,
            Stage::Prompted | Stage::Over => return None,
        };
        Some(Patience { request: self.id, time })
    }

    /// The agent took longer than that.
    #[must_use]
    pub fn late(&mut self) -> Vec<Do> {
        let seconds = self.patience().map_or(0, |patience| patience.time.as_secs());
        match self.stage {
            Stage::Cancelled => self.over(true),
            Stage::Loading => self.fail(format!("the agent did not load its conversation in {seconds} s"), None),
            Stage::Hello => self.fail(format!("the agent did not answer `initialize` in {seconds} s"), None),
            _ => self.fail(format!("the agent did not open a conversation in {seconds} s"), None),
        }
    }

    /// The agent printed a line; `None`: one that is too long to be read.
    #[must_use]
    pub fn hear(&mut self, line: Option<&[u8]>) -> Vec<Do> {
        if self.stage == Stage::Over {
            return Vec::new();
        }
        let bytes = line.map_or(crate::dialect::LINE_BYTES_MAX, <[u8]>::len);
        let done = match line.ok_or("it is too long").and_then(wire::read) {
            Ok(message) => self.take(message, bytes),
            Err(why) => self.pass(why, line.unwrap_or_default()),
        };
        if !done.iter().any(|done| matches!(done, Do::Print(_) | Do::End { .. })) {
            self.unprinted = self.unprinted.saturating_add(bytes as u64);
            if self.unprinted > UNPRINTED_BYTES_MAX {
                return self
                    .fail(format!("the agent sent more than {UNPRINTED_BYTES_MAX} bytes that say nothing"), None);
            }
        }
        done
    }

    /// The agent ended.
    #[must_use]
    pub fn gone(&mut self) -> Vec<Do> {
        match self.stage {
            Stage::Over => Vec::new(),
            Stage::Cancelled => self.over(true),
            _ => self.fail("the agent's program ended before it answered".to_owned(), None),
        }
    }

    /// The agent does not read what it is sent.
    #[must_use]
    pub fn deaf(&mut self) -> Vec<Do> {
        self.fail("the agent does not read what it is sent".to_owned(), None)
    }

    /// A person answered with the name of a choice; or with none, and then the turn may be over for this agent.
    #[must_use]
    pub fn answered(
        &mut self,
        id: &Value,
        asked: &PermissionRequest,
        name: Option<&str>,
        turn_is_over: bool,
    ) -> Vec<Do> {
        self.asked.retain(|open| open != id);
        let choice = name.and_then(|name| asked.named(name)).or_else(|| asked.by(false));
        let choice = choice.filter(|_| !turn_is_over);
        let allowed = choice.is_some_and(|choice| choice.allows != Some(false));
        let mut done = vec![
            Do::Print(AcpEvent::Permission { tool: asked.tool.clone(), allowed }),
            Do::Send(wire::answer(id, Ok(outcome(choice)))),
        ];
        if turn_is_over && self.stage == Stage::Prompted {
            done.push(Do::Send(wire::notice("session/cancel", &json!({"sessionId": self.session}))));
            self.stage = Stage::Cancelled;
        }
        done
    }

    fn take(&mut self, message: WireMessage, bytes: usize) -> Vec<Do> {
        match message {
            WireMessage::Answer { id, result } if id == json!(self.id) => match result {
                Ok(result) => self.granted(result),
                Err((code, message)) => self.denied(code, message),
            },
            WireMessage::Answer { .. } => self.pass("it answers nothing that was asked", &[]),
            WireMessage::Notice { method, params } if method == "session/update" => self.update(params, bytes),
            // What else is reported, now or in later versions of the protocol, is nothing to us.
            WireMessage::Notice { .. } => Vec::new(),
            WireMessage::Request { id, method, params } => self.wanted(id, (&method, &params), bytes),
        }
    }

    /// Our open request was granted.
    fn granted(&mut self, result: Value) -> Vec<Do> {
        match self.stage {
            Stage::Hello => self.hello(&result),
            Stage::Loading => self.opened(&result, true),
            Stage::SettingMode { continued } => self.prompt(continued),
            Stage::Opening => {
                let Some(session) = result.get("sessionId").and_then(Value::as_str) else {
                    return self.fail("the agent opened a conversation without an id".to_owned(), None);
                };
                self.session = Some(session.to_owned());
                self.opened(&result, false)
            }
            Stage::Prompted | Stage::Cancelled => {
                let stop_reason = result.get("stopReason").and_then(Value::as_str).unwrap_or("unknown");
                let well = stop_reason == "end_turn" || self.stage == Stage::Cancelled;
                let usage =
                    USAGE_PLACES.iter().filter_map(|place| result.pointer(place)).find(|usage| usage.is_object());
                let end = AcpEvent::End { stop_reason: beginning(stop_reason, 64), usage: usage.cloned() };
                let mut done = self.end_of_message();
                done.push(Do::Print(end));
                done.extend(self.over(well));
                done
            }
            Stage::Over => Vec::new(),
        }
    }

    fn denied(&mut self, code: i64, message: String) -> Vec<Do> {
        match self.stage {
            // It no longer knows the conversation.
            Stage::Loading => self.open(),
            Stage::SettingMode { continued } => self.only_reads(&message, continued),
            Stage::Cancelled => self.over(true),
            _ => self.fail(message, Some(code)),
        }
    }

    fn hello(&mut self, result: &Value) -> Vec<Do> {
        let version = result.get("protocolVersion").and_then(Value::as_u64);
        if version != Some(VERSION) {
            let its = version.map_or_else(|| "none that it names".to_owned(), |version| version.to_string());
            return self.fail(format!("the agent speaks another version of the protocol than {VERSION}: {its}"), None);
        }
        let text = |path: &str| result.pointer(path).and_then(Value::as_str);
        let name =
            text("/agentInfo/name").map(|name| format!("{name} {}", text("/agentInfo/version").unwrap_or_default()));
        self.agent = name.map(|name| beginning(name.trim(), 128));
        let can = |path: &str| result.pointer(path).is_some_and(|can| can == true || can.is_object());
        let method = if can("/agentCapabilities/loadSession") {
            "session/load"
        } else if can("/agentCapabilities/sessionCapabilities/resume") {
            "session/resume"
        } else {
            return self.open();
        };
        let Some(session) = self.settings.session.clone() else { return self.open() };
        self.stage = Stage::Loading;
        let params = json!({"sessionId": session, "cwd": self.settings.tree, "mcpServers": []});
        self.session = Some(session);
        vec![self.request(method, &params)]
    }

    fn open(&mut self) -> Vec<Do> {
        (self.stage, self.session) = (Stage::Opening, None);
        let params = json!({"cwd": self.settings.tree, "mcpServers": []});
        vec![self.request("session/new", &params)]
    }

    /// The conversation is open. One in which the agent only reads is set to another mode first.
    fn opened(&mut self, result: &Value, continued: bool) -> Vec<Do> {
        match mode::choice(result, self.settings.asks) {
            ModeChoice::Stays => self.prompt(continued),
            ModeChoice::Becomes(mode) => {
                self.stage = Stage::SettingMode { continued };
                let params = json!({"sessionId": self.session, "modeId": mode});
                vec![self.request("session/set_mode", &params)]
            }
            ModeChoice::Reads(mode) => self.only_reads(&mode, continued),
        }
    }

    /// Which may be what its role wants.
    fn only_reads(&mut self, mode: &str, continued: bool) -> Vec<Do> {
        let mut done = vec![Do::Print(AcpEvent::Reads { mode: beginning(mode, 256) })];
        done.extend(self.prompt(continued));
        done
    }

    fn prompt(&mut self, continued: bool) -> Vec<Do> {
        let Some(session) = self.session.clone() else { return self.open() };
        self.stage = Stage::Prompted;
        let lost = if self.settings.session.is_some() && !continued { LOST } else { "" };
        let text = format!("{lost}{}", self.settings.prompt);
        let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        let opened = AcpEvent::Session { session, agent: self.agent.clone(), continued };
        vec![Do::Print(opened), self.request("session/prompt", &params)]
    }

    fn update(&mut self, params: Value, bytes: usize) -> Vec<Do> {
        let of_ours = params.get("sessionId").and_then(Value::as_str) == self.session.as_deref();
        if !of_ours || !matches!(self.stage, Stage::Prompted | Stage::Cancelled) {
            return Vec::new();
        }
        let Some(update) = params.get("update") else { return Vec::new() };
        let text = |path: &str| update.pointer(path).and_then(Value::as_str);
        let kind = match text("/sessionUpdate") {
            Some("agent_message_chunk") => ChunkKind::Message,
            Some("agent_thought_chunk") => ChunkKind::Thought,
            Some("user_message_chunk") | None => return Vec::new(),
            Some(_) => {
                self.calls.note(update);
                let mut done = self.end_of_message();
                done.push(Do::Print(event::of_update(update.clone(), bytes)));
                return done;
            }
        };
        let used = update.pointer("/_meta/usage").filter(|usage| usage.is_object());
        let used = used.map(|usage| json!({"sessionUpdate": "request_usage", "usage": usage}));
        let mut done: Vec<Do> = used.map(|used| Do::Print(event::of_update(used, bytes))).into_iter().collect();
        if let Some(piece) = text("/content/text") {
            done.extend(self.chunks.push(kind, text("/messageId"), piece).into_iter().map(Do::Print));
        }
        done
    }

    /// The agent wants something of its client.
    fn wanted(&mut self, id: Value, (method, params): (&str, &Value), bytes: usize) -> Vec<Do> {
        let refuse = |id: &Value, why: (i64, String)| Do::Send(wire::answer(id, Err(why)));
        if params.get("sessionId").and_then(Value::as_str) != self.session.as_deref() || self.session.is_none() {
            return vec![refuse(&id, (BAD_PARAMS, "there is no such conversation".to_owned()))];
        }
        let mut done = self.end_of_message();
        match method {
            "fs/read_text_file" | "fs/write_text_file" => match files::FileRequest::of(method, params) {
                Ok(wanted) => done.push(Do::File(id, wanted)),
                Err(why) => done.push(refuse(&id, why)),
            },
            "session/request_permission" => done.extend(self.permission(id, params, bytes)),
            _ => done.push(refuse(&id, (NO_METHOD, format!("this client has no {}", beginning(method, 64))))),
        }
        done
    }

    fn permission(&mut self, id: Value, params: &Value, bytes: usize) -> Vec<Do> {
        let Some(asked) = PermissionRequest::of(params, &self.calls) else {
            let why = (BAD_PARAMS, "`options` has to have answers with `optionId` and `name`".to_owned());
            return vec![Do::Send(wire::answer(&id, Err(why)))];
        };
        let mut done: Vec<Do> = self.first_heard(params, bytes).map(Do::Print).into_iter().collect();
        done.extend(match asked.decide(self.settings.asks) {
            PermissionDecision::Choose(choice) => vec![
                Do::Print(AcpEvent::Permission { tool: asked.tool, allowed: true }),
                Do::Send(wire::answer(&id, Ok(outcome(Some(&choice))))),
            ],
            PermissionDecision::Ask if self.asked.len() < ASKED_MAX => {
                self.asked.push(id.clone());
                vec![Do::Ask(id, asked)]
            }
            PermissionDecision::Ask => self.answered(&id, &asked, None, false),
        });
        done
    }

    /// The tool call that a request for a permission is the first to name: some agents report it afterwards, or never.
    fn first_heard(&mut self, params: &Value, bytes: usize) -> Option<AcpEvent> {
        let mut call = params.get("toolCall")?.as_object()?.clone();
        call.insert("sessionUpdate".to_owned(), "tool_call".into());
        let call = Value::Object(call);
        if self.calls.knows(&call) {
            return None;
        }
        self.calls.note(&call);
        Some(event::of_update(call, bytes))
    }

    fn end_of_message(&mut self) -> Vec<Do> {
        self.chunks.end().into_iter().map(Do::Print).collect()
    }

    /// A line that says nothing is passed over; the first ones are reported.
    fn pass(&mut self, why: &str, line: &[u8]) -> Vec<Do> {
        self.passed = self.passed.saturating_add(1);
        if self.passed > PASSED_MAX {
            return Vec::new();
        }
        let line = line.get(..line.len().min(PASSED_BYTES)).unwrap_or_default();
        vec![Do::Print(AcpEvent::Passed { why: why.to_owned(), line: String::from_utf8_lossy(line).into_owned() })]
    }

    fn fail(&mut self, message: String, code: Option<i64>) -> Vec<Do> {
        let mut done = self.end_of_message();
        done.push(Do::Print(AcpEvent::Error { message: beginning(&message, 2 << 10), code }));
        done.extend(self.over(false));
        done
    }

    fn over(&mut self, well: bool) -> Vec<Do> {
        self.stage = Stage::Over;
        vec![Do::End { well }]
    }

    fn request(&mut self, method: &str, params: &Value) -> Do {
        self.id += 1;
        Do::Send(wire::request(self.id, method, params))
    }
}

#[cfg(test)]
mod tests;
