//! The program `holdpoint-acp`, inside the sandbox: the client of an agent that runs next to it.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{ChildStdin, ChildStdout},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel},
    thread,
    time::{Duration, Instant},
};

use holdpoint_runtime::process::exit;
use holdpoint_sandbox::beside::{Beside, Pipes, end_like};
use holdpoint_text::shown;
use serde_json::Value;

use super::{
    PROGRAM,
    event::AcpEvent,
    permission::PermissionRequest,
    talk::{AcpConversation, AcpSettings, Do},
    wire,
};
use crate::{
    ask::{SOCKET_VARIABLE, client::ask, message::Became},
    dialect::{Line, Lines},
    personality,
};

/// The longest prompt, in bytes.
const PROMPT_BYTES_MAX: u64 = 32 << 20;
/// Lines of the agent that wait to be heard, and messages that wait to be read by it.
const HEARD_MAX: usize = 16;
const SENT_MAX: usize = 64;
/// How long an agent may take to end with its input. Some never do, and each of their turns would last as much longer.
const INPUT_END_TIME: Duration = Duration::from_millis(300);
/// How long it may take to end when it is asked to.
const LEAVE_TIME: Duration = Duration::from_secs(5);
/// What can be typed.
const USAGE: &str = "\
Speaks with an agent by the Agent Client Protocol. For turns of agents with `dialect = \"acp\"`: Holdpoint starts it.

Usage: holdpoint-acp [--ask] [--session ID] COMMAND

Starts COMMAND, a shell command line, tells it what is on standard input, and prints what it says as JSON lines.

--ask      a person gives permissions, by way of this turn; without it everything is allowed that the sandbox allows
--session  the conversation to go on with
";

/// Becomes `holdpoint-acp` if this executable was started under that name; returns otherwise.
///
/// Every executable that runs agents calls this in `main`, before any thread and any runtime.
pub fn maybe_run() {
    let Some(arguments) = personality::started_as(PROGRAM) else { return };
    std::process::exit(i32::from(run(arguments)))
}

/// What was typed: the agent's command line, the conversation, and whether a person gives permissions.
#[derive(Debug, Default)]
struct Typed {
    command: String,
    session: Option<String>,
    asks: bool,
}

fn typed(arguments: impl Iterator<Item = String>) -> Option<Typed> {
    let (mut typed, mut arguments, mut commands) = (Typed::default(), arguments, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--ask" => typed.asks = true,
            "--session" => typed.session = Some(arguments.next()?),
            _ => commands.push(argument),
        }
    }
    typed.command = commands.pop().filter(|command| !command.trim().is_empty() && !command.starts_with("--"))?;
    commands.is_empty().then_some(typed)
}

fn run(arguments: impl Iterator<Item = String>) -> u8 {
    let Some(typed) = typed(arguments) else {
        // Nobody is left to tell when standard error is gone; the same below.
        let _ = io::stderr().write_all(USAGE.as_bytes());
        return exit::USAGE;
    };
    match conversation(typed) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{PROGRAM}: {}", shown::line(&error.to_string()));
            exit::ENVIRONMENT
        }
    }
}

/// What reaches the client.
enum Reached {
    Line(Vec<u8>),
    TooLong,
    Gone,
    Answered { id: Value, asked: PermissionRequest, name: Option<String>, turn_is_over: bool },
}

/// Both ways to and from an agent.
struct Ways {
    sent: SyncSender<String>,
    reached: Receiver<Reached>,
    answers: SyncSender<Reached>,
    /// The agent has read everything that it was sent.
    written: Receiver<()>,
}

fn conversation(typed: Typed) -> io::Result<u8> {
    let mut prompt = String::new();
    io::stdin().take(PROMPT_BYTES_MAX).read_to_string(&mut prompt)?;
    let tree = std::env::current_dir()?;
    let (mut agent, pipes) = Beside::start_apart(&typed.command)?;
    let ways = ways(pipes);
    let settings = AcpSettings { prompt, tree: tree.clone(), session: typed.session, asks: typed.asks };
    let well = converse(settings, &tree, &ways)?;
    let Ways { sent, written, .. } = ways;
    // The end of its input tells the agent to end.
    drop(sent);
    let _ = written.recv_timeout(LEAVE_TIME);
    let ended = agent.ended_within(INPUT_END_TIME);
    match ended.or_else(|| agent.asked_to_end(LEAVE_TIME)) {
        _ if well => Ok(0),
        Some(status) => end_like(status, 1),
        None => Ok(1),
    }
}

/// Speaks until the conversation is over, and says whether the agent has answered.
fn converse(settings: AcpSettings, tree: &Path, ways: &Ways) -> io::Result<bool> {
    let (mut talk, first) = AcpConversation::begin(settings);
    let mut todo = VecDeque::from(first);
    let (mut patience, mut since) = (talk.patience(), Instant::now());
    loop {
        while let Some(next) = todo.pop_front() {
            match next {
                Do::Send(message) => match ways.sent.try_send(message.to_string()) {
                    // Of an agent that is gone the other way tells.
                    Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                    Err(TrySendError::Full(_)) => todo = talk.deaf().into(),
                },
                Do::Print(event) => print(&event)?,
                Do::File(id, wanted) => {
                    let done = wanted.done(tree);
                    if let Err((_, why)) = &done {
                        print(&AcpEvent::Refused { request: wanted.in_words(), why: why.clone() })?;
                    }
                    todo.push_front(Do::Send(wire::answer(&id, done)));
                }
                Do::Ask(id, asked) => ask_a_person(id, asked, ways.answers.clone()),
                Do::End { well } => return Ok(well),
            }
        }
        if talk.patience() != patience {
            (patience, since) = (talk.patience(), Instant::now());
        }
        let left = patience.map(|patience| patience.time.saturating_sub(since.elapsed()));
        let reached = match left {
            Some(left) => ways.reached.recv_timeout(left),
            None => ways.reached.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        todo = match reached {
            Ok(Reached::Line(line)) => talk.hear(Some(&line)),
            Ok(Reached::TooLong) => talk.hear(None),
            Ok(Reached::Gone) | Err(RecvTimeoutError::Disconnected) => talk.gone(),
            Ok(Reached::Answered { id, asked, name, turn_is_over }) => {
                talk.answered(&id, &asked, name.as_deref(), turn_is_over)
            }
            Err(RecvTimeoutError::Timeout) => talk.late(),
        }
        .into();
    }
}

/// Opens both ways; each has a thread, so that neither end waits for the other.
fn ways(pipes: Pipes) -> Ways {
    let (sent, to_send) = sync_channel(SENT_MAX);
    let (hears, reached) = sync_channel(HEARD_MAX);
    let (wrote, written) = channel();
    let answers = hears.clone();
    thread::spawn(move || write(pipes.stdin, &to_send, &wrote));
    thread::spawn(move || listen(pipes.stdout, &hears));
    Ways { sent, reached, answers, written }
}

fn write(mut stdin: ChildStdin, messages: &Receiver<String>, wrote: &Sender<()>) {
    for mut message in messages {
        message.push('\n');
        if stdin.write_all(message.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            break;
        }
    }
    drop(stdin);
    // Nobody may wait any more.
    let _ = wrote.send(());
}

fn listen(mut stdout: ChildStdout, hears: &SyncSender<Reached>) {
    let (mut lines, mut chunk) = (Lines::default(), vec![0; 64 << 10]);
    let tell = |line: Line<'_>| {
        // Nobody listens any more once the conversation is over.
        let _ = hears.send(match line {
            Line::Whole(line) => Reached::Line(line.to_vec()),
            Line::TooLong => Reached::TooLong,
        });
    };
    while let Ok(count @ 1..) = stdout.read(&mut chunk) {
        lines.push(chunk.get(..count).unwrap_or_default(), tell);
    }
    lines.end(tell);
    let _ = hears.send(Reached::Gone);
}

/// Asks a person, by way of the turn; the answer reaches the client like everything else.
fn ask_a_person(id: Value, asked: PermissionRequest, answers: SyncSender<Reached>) {
    thread::spawn(move || {
        let line = std::env::var_os(SOCKET_VARIABLE).map(PathBuf::from);
        let became = line.map(|line| ask(asked.question(), &line));
        let (name, turn_is_over) = match became {
            Some(Ok(Became::Answer(answer))) => (answer.option.or(answer.text), false),
            Some(Ok(Became::Result)) => (None, true),
            _ => (None, false),
        };
        let name = name.map(|name| name.trim().to_owned());
        // Nobody waits any more once the conversation is over.
        let _ = answers.send(Reached::Answered { id, asked, name, turn_is_over });
    });
}

fn print(event: &AcpEvent) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Option<(String, Option<String>, bool)> {
        let Typed { command, session, asks } = typed(words.iter().map(|word| (*word).to_owned()))?;
        Some((command, session, asks))
    }

    #[test]
    fn one_command_line_is_typed_and_nothing_else() {
        assert_eq!(of(&["gemini --acp"]), Some(("gemini --acp".to_owned(), None, false)));
        let whole = of(&["--ask", "--session", "s-1", "agent"]);
        assert_eq!(whole, Some(("agent".to_owned(), Some("s-1".to_owned()), true)));
        for wrong in [&[][..], &["a", "b"], &["--session"], &["--session", "s"], &["--help"], &[" "]] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
    }
}
