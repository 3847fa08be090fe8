//! The client of tests over HTTP (GATE-32), inside the sandbox: it starts the service as its child, waits until it is ready, asks
//! once, and ends with the test's verdict. What a response says is decided in [`holdpoint_evidence::over_http`].

mod ask;
mod service;

use std::{
    io::{self, Write as _},
    net::TcpListener,
    os::unix::fs::symlink,
    path::Path,
    process::ExitStatus,
    time::{Duration, Instant},
};

use holdpoint_evidence::over_http::{
    BODY_BYTES_MAX, HttpAnswer, HttpExchange, HttpRequestLine, HttpSecrets, HttpVariables, REQUEST_WITHIN,
    VARIABLES_BYTES_MAX, VARIABLES_WITHIN, differences, evidence, filled, listening, variables,
};
use holdpoint_protocol::plan::HttpTest;
use holdpoint_sandbox::{Command, Sandbox, beside};

pub use holdpoint_evidence::over_http::{PROGRAM, is_asked_by};

use crate::personality;
use ask::Sent;
use service::Attached;

/// Exit codes: as expected; not as expected; a program could not be run; a program was not found.
const GREEN: u8 = 0;
const RED: u8 = 1;
const NOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;
/// How often it is tried whether the service is ready.
const READY_EVERY: Duration = Duration::from_millis(50);

/// Becomes the client if this executable was started under its name; returns otherwise.
///
/// Every executable that runs checks or agents calls this in `main`, before any thread and any runtime.
pub fn maybe_run() {
    let Some(mut arguments) = personality::started_as(PROGRAM) else { return };
    let (code, text) = match arguments.next().map(|argument| serde_json::from_str::<HttpTest>(&argument)) {
        Some(Ok(test)) => run(&test),
        Some(Err(error)) => (NOT_RUN, format!("{PROGRAM}: the argument is no test over HTTP: {error}\n")),
        None => (NOT_RUN, format!("{PROGRAM}: the argument is missing: a test over HTTP in JSON\n")),
    };
    // Nobody is left to tell when standard output is gone.
    let _ = io::stdout().write_all(text.as_bytes());
    std::process::exit(code.into());
}

/// Puts the client before all other programs of a command, with a link in the folder `dir`, which is made. It is the shim of
/// `sandbox`, which calls [`maybe_run`] in its `main`.
///
/// # Errors
/// The file system refuses, or the sandbox's executable is gone.
pub fn grant(dir: &Path, sandbox: &Sandbox, command: &mut Command) -> io::Result<()> {
    let executable = sandbox.executable()?;
    std::fs::create_dir_all(dir)?;
    symlink(&executable, dir.join(PROGRAM))?;
    command.profile.read.extend([dir.to_owned(), executable]);
    let path = command.env.get("PATH").cloned().unwrap_or_default();
    command.env.insert("PATH".to_owned(), format!("{}:{path}", dir.display()));
    Ok(())
}

/// Why a test is not green, and the exit code that says so.
#[derive(Debug, PartialEq, Eq)]
struct Missed {
    code: u8,
    why: Vec<String>,
}

impl Missed {
    fn red(why: impl Into<String>) -> Self {
        Self { code: RED, why: vec![why.into()] }
    }

    fn environment(why: impl Into<String>) -> Self {
        Self { code: NOT_RUN, why: vec![why.into()] }
    }

    /// A command ended that should not have, or not so. Where a shell could not run it, that is no fault of the work.
    fn ended(status: ExitStatus, why: String) -> Self {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        let code = code.filter(|code| matches!(*code, NOT_RUN | NOT_FOUND)).unwrap_or(RED);
        Self { code, why: vec![why] }
    }
}

/// What is known of a test while it runs, for its evidence.
#[derive(Debug, Default)]
struct Known {
    printed: String,
    sent: Option<Sent>,
    answer: Option<HttpAnswer>,
    secrets: HttpSecrets,
}

fn run(test: &HttpTest) -> (u8, String) {
    let secrets = HttpSecrets::of(&test.with, &HttpVariables::new());
    let mut known = Known { secrets, ..Known::default() };
    let mut service = None;
    let ended = attempt(test, &mut service, &mut known);
    let (log, log_before) = service.map(Attached::end).unwrap_or_default();
    let (code, red) = match ended {
        Ok(()) => (GREEN, Vec::new()),
        Err(missed) => (missed.code, missed.why),
    };
    let (headers, body) = known.sent.as_ref().map_or((&[][..], ""), |sent| (&sent.headers, &sent.body));
    let exchange = HttpExchange {
        given: &test.given,
        request: &test.when,
        headers,
        body,
        answer: known.answer.as_ref(),
        printed: &known.printed,
        log: &log,
        log_before,
        red: &red,
    };
    (code, evidence(exchange, &known.secrets))
}

fn attempt(test: &HttpTest, service: &mut Option<Attached>, known: &mut Known) -> Result<(), Missed> {
    let request = HttpRequestLine::read(&test.when);
    let request = request.ok_or_else(|| Missed::environment(format!("`{}` is no request", test.when)))?;
    let no_loopback = |error| Missed::environment(format!("there is no loopback to start a service on: {error}"));
    let port = free_port().map_err(no_loopback)?;
    beside::keep_apart().map_err(|error| Missed::environment(format!("the client cannot be kept apart: {error}")))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Missed::environment(format!("the client cannot work here: {error}")))?;
    let before = listened_to();
    let started = Attached::start(&test.run, port);
    let service = service.insert(started.map_err(|error| Missed::environment(format!("start the service: {error}")))?);
    wait_until_ready(test, port, service, &runtime).map_err(|missed| Missed {
        why: missed.why.into_iter().map(|why| format!("{why}{}", elsewhere(&before, port))).collect(),
        ..missed
    })?;
    let with = variables_of(test, port, known)?;
    let sent = sent(test, request, &with)?;
    let sent = known.sent.insert(sent);
    let answer = runtime.block_on(ask::ask(port, sent, REQUEST_WITHIN, BODY_BYTES_MAX)).map_err(|why| {
        let ended = service.ended().map(|status| format!("; the service ended ({})", said(status)));
        Missed::red(format!("{why}{}", ended.unwrap_or_default()))
    })?;
    let found = differences(&test.then, known.answer.insert(answer));
    if found.is_empty() { Ok(()) } else { Err(Missed { code: RED, why: found }) }
}

/// A port that is free now. In a run's own network only what the run starts could take it.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Asks until the service is ready, ends, or its time is over.
fn wait_until_ready(
    test: &HttpTest,
    port: u16,
    service: &mut Attached,
    runtime: &tokio::runtime::Runtime,
) -> Result<(), Missed> {
    let within = test.within.duration();
    let deadline = Instant::now() + within;
    loop {
        let ready = is_ready(test, port, deadline.saturating_duration_since(Instant::now()), runtime);
        // Also of one that answers: a service that leaves another process behind is not the one that was started.
        if let Some(status) = service.ended() {
            let why = format!(
                "the service's command ended ({}) before the test; it has to stay in the foreground and listen on $PORT",
                said(status)
            );
            return Err(Missed::ended(status, why));
        }
        let Err(last) = ready else { return Ok(()) };
        // A last try without time would say nothing but that.
        if Instant::now() + READY_EVERY >= deadline {
            let asked = test.ready.as_deref().map_or_else(|| "a connection".to_owned(), |ready| format!("`{ready}`"));
            let time = format!("{} ms", within.as_millis());
            return Err(Missed::red(format!("the service was not ready within {time} ({asked} on $PORT): {last}")));
        }
        std::thread::sleep(READY_EVERY);
    }
}

fn is_ready(test: &HttpTest, port: u16, left: Duration, runtime: &tokio::runtime::Runtime) -> Result<(), String> {
    let within = left.min(REQUEST_WITHIN);
    let Some(ready) = test.ready.as_deref().and_then(HttpRequestLine::read) else {
        return runtime.block_on(ask::connects(port, within));
    };
    let sent = Sent::new(ready.method, ready.path);
    let answer = runtime.block_on(ask::ask(port, &sent, within, BODY_BYTES_MAX))?;
    if (200..300).contains(&answer.status) {
        Ok(())
    } else {
        Err(format!("its last answer had status {}", answer.status))
    }
}

/// Where a service may be that is not on its port.
fn elsewhere(before: &std::collections::BTreeSet<u16>, port: u16) -> String {
    let others: Vec<String> =
        listened_to().difference(before).filter(|other| **other != port).map(u16::to_string).collect();
    if others.is_empty() {
        String::new()
    } else {
        format!("; something listens on port {}, which is not $PORT", others.join(", "))
    }
}

/// The ports on which something in this network listens, as far as the system says so.
fn listened_to() -> std::collections::BTreeSet<u16> {
    let read = |table| std::fs::read_to_string(table).unwrap_or_default();
    ["/proc/net/tcp", "/proc/net/tcp6"].map(read).iter().flat_map(|table| listening(table)).collect()
}

/// The variables that the test's command gives.
fn variables_of(test: &HttpTest, port: u16, known: &mut Known) -> Result<HttpVariables, Missed> {
    let Some(command) = &test.with.env_from else { return Ok(HttpVariables::new()) };
    let started = Attached::start(command, port);
    let mut started = started.map_err(|error| Missed::environment(format!("start `{command}`: {error}")))?;
    let status = started.ended_within(VARIABLES_WITHIN);
    let (printed, before) = started.end();
    let with = variables(&printed);
    known.secrets = HttpSecrets::of(&test.with, &with);
    let last = printed.lines().last().unwrap_or_default().to_owned();
    known.printed = printed;
    let Some(status) = status else {
        let seconds = VARIABLES_WITHIN.as_secs();
        return Err(Missed::red(format!(
            "`env_from: {command}` did not end within {seconds} s; its last line is: {last}"
        )));
    };
    if !status.success() {
        let why = format!("`env_from: {command}` failed ({}); its last line is: {last}", said(status));
        return Err(Missed::ended(status, why));
    }
    if before > 0 {
        let most = VARIABLES_BYTES_MAX >> 10;
        return Err(Missed::red(format!("`env_from: {command}` printed more than {most} KiB")));
    }
    Ok(with)
}

/// The request with its variables.
fn sent(test: &HttpTest, line: HttpRequestLine<'_>, with: &HttpVariables) -> Result<Sent, Missed> {
    let command = test.with.env_from.as_deref().unwrap_or_default();
    let fill = |what: &str, text: &str| {
        let missing =
            |name| Missed::red(format!("{what} names ${{{name}}}, and `env_from: {command}` printed no line {name}=…"));
        filled(text, with).map_err(missing)
    };
    let mut sent = Sent::new(line.method, line.path);
    for (name, value) in &test.with.headers {
        sent.headers.push((name.clone(), fill(&format!("the header {name}"), value)?));
    }
    if let Some(body) = line.body {
        // A body of JSON may have `${…}` of its own where nothing gives variables.
        sent.body = if test.with.env_from.is_some() { fill("the body", body)? } else { body.to_owned() };
        sent.say_type();
    }
    Ok(sent)
}

/// How a command ended, in words.
fn said(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("what started it was killed by signal {signal}"),
        (None, None) => "in no way that is known".to_owned(),
    }
}

#[cfg(test)]
mod tests;
