//! A program's run with an ear at its line.

use std::{convert::Infallible, future::pending, pin::pin, time::Duration};

use holdpoint_protocol::artifact::HelpEvent;
use holdpoint_runtime::clock;
use tokio::sync::oneshot;

use super::{
    desk::Waited,
    inside::Inside,
    line::{AskLine, LineRequest},
    message::{Ask, Became, Patient, ValidRequest},
    printed::PrintListener,
};
use crate::backend::{markers::HelpCall, question::ValidQuestion};

/// How long a program may go on after its question became the turn's result, to end in order.
const GRACE: Duration = Duration::from_secs(5);

/// What was asked over the line, or called for in print.
#[derive(Debug)]
pub struct ProgramAsks {
    /// What was asked.
    pub ask: Ask,
    /// Everything that was there then is kept apart. If not, the program was ended before it heard of it, so nothing
    /// came after.
    pub kept: bool,
}

/// Ends a program that is attended.
#[derive(Debug)]
pub struct Ending(oneshot::Sender<()>);

/// A handle that ends a program, and what the program's run waits for: without end if the handle is dropped unused.
pub fn ending() -> (Ending, impl Future<Output = ()> + Send + use<>) {
    let (sender, receiver) = oneshot::channel();
    let ended = async {
        if receiver.await.is_err() {
            pending::<()>().await;
        }
    };
    (Ending(sender), ended)
}

/// Follows a program's run to its end and listens meanwhile. Questions about the turn, and a completion, are answered
/// `inside` it, and the program goes on. A question waits first, as long as its asker does. With the first request that
/// ends the turn, or the first call for help that is `printed`, `keep` keeps what is there and says whether that
/// worked; then the asker hears of it, and the program is ended after a grace. A call for help is reported at once. If
/// it did not work, the program is ended at once. Neither `keep` nor `run` is polled any more once the run is over.
pub async fn attend<T>(
    line: &mut AskLine,
    inside: &mut Inside<'_>,
    printed: &PrintListener,
    keep: impl Future<Output = bool>,
    ending: Ending,
    run: impl Future<Output = T>,
) -> (T, Option<ProgramAsks>) {
    let (mut heard, mut is_told) = (None, false);
    let desk = inside.desk();
    let listening = async {
        let heard_first = tokio::select! {
            (asked, ask) = ends_the_turn(line, inside) => (Some(asked), ask),
            call = printed.called() => (None, Ask::Help(call)),
        };
        // A completion over the line wins over a printed one, if the program ends well.
        let (asked, ask) = match heard_first {
            (None, _) if inside.is_completed() => {
                let (asked, ask) = ends_the_turn(line, inside).await;
                (Some(asked), ask)
            }
            heard_first => heard_first,
        };
        let ask = seen_now(ask);
        let heard = heard.insert(ProgramAsks { ask: ask.clone(), kept: false });
        let kept = &mut heard.kept;
        let keeping = async {
            *kept = keep.await;
            *kept
        };
        let told = async {
            if let Ask::Help(call) = ask {
                desk.calls_for_help(call).await;
                is_told = true;
            }
        };
        let (kept, ()) = tokio::join!(keeping, told);
        if kept {
            if let Some(mut asked) = asked {
                asked.became(Became::Result).await;
            }
            tokio::time::sleep(GRACE).await;
        }
        // Fails only when the program has ended by itself.
        let _ = ending.0.send(());
        pending::<Infallible>().await
    };
    let ran = tokio::select! {
        ran = run => ran,
        never = listening => match never {},
    };
    // The program has ended by itself before it heard that: what follows takes its time.
    if !is_told
        && !inside.is_completed()
        && let Some(call) = called(heard.as_ref(), printed)
    {
        desk.calls_for_help(call).await;
    }
    (ran, heard)
}

/// The call of a program that has ended.
fn called(heard: Option<&ProgramAsks>, printed: &PrintListener) -> Option<HelpCall> {
    match heard {
        Some(ProgramAsks { ask: Ask::Help(call), .. }) => Some(call.clone()),
        Some(_) => None,
        None => printed.last_word(),
    }
}

/// A call for help over the line is an event like one in print.
fn seen_now(ask: Ask) -> Ask {
    match ask {
        Ask::Help(call) if call.events.is_empty() => {
            let (raw_line, context) = (call.raw_line.clone(), call.context.clone());
            let event = HelpEvent { timestamp: clock::now(), raw_line, context };
            Ask::Help(HelpCall { events: vec![event], ..call })
        }
        ask => ask,
    }
}

/// Answers requests until one has to end the turn.
async fn ends_the_turn(line: &mut AskLine, inside: &mut Inside<'_>) -> (LineRequest, Ask) {
    loop {
        let mut asked = line.asked().await;
        match asked.call.clone() {
            ValidRequest::Ask(Patient { ask: Ask::Question(question), patience }) if !patience.is_zero() => {
                match waited(line, inside, (question.clone(), patience), &asked).await {
                    Some(Came::Became(became)) => asked.became(became).await,
                    Some(Came::InVain) => return (asked, Ask::Question(question)),
                    None => tracing::info!("the program that asked no longer waits for the answer"),
                }
            }
            ValidRequest::Ask(Patient { ask, .. }) => return (asked, ask),
            call => asked.became(inside.reply(&call).await).await,
        }
        line.settled(asked);
    }
}

/// What came of a question that may wait.
enum Came {
    /// This, and the turn goes on.
    Became(Became),
    /// Nobody answered.
    InVain,
}

/// What came of waiting for an answer; `None` if the asker is gone. A question asked meanwhile is refused.
async fn waited(
    line: &mut AskLine,
    inside: &mut Inside<'_>,
    (question, patience): (ValidQuestion, Duration),
    asked: &LineRequest,
) -> Option<Came> {
    let (desk, most) = (inside.desk(), inside.desk().patience_max());
    if patience > most {
        let (patience, most) = (patience.as_secs(), most.as_secs());
        let why = format!("a patience of {patience}s is too long: {most}s at most (agent.question_patience)");
        return Some(Came::Became(Became::Refused(why)));
    }
    let mut waiting = pin!(desk.ask(question, patience));
    let mut gone = pin!(asked.gone());
    loop {
        tokio::select! {
            waited = &mut waiting => return Some(match waited {
                Waited::Answered(answer) => {
                    inside.learn(&answer);
                    Came::Became(Became::Answer(answer))
                }
                Waited::InVain => Came::InVain,
            }),
            () = &mut gone => return None,
            other = line.another() => {
                let mut other = other?;
                let became = if let ValidRequest::Ask(_) = other.call {
                    let why = "another question of this turn waits for its answer: ask when that one has it";
                    Became::Refused(why.to_owned())
                } else {
                    inside.reply(&other.call).await
                };
                other.became(became).await;
            }
        }
    }
}
