//! A program's run with an ear at its line.

use std::{convert::Infallible, future::pending, pin::pin, time::Duration};

use tokio::sync::oneshot;

use super::{
    desk::Waited,
    inside::Inside,
    line::{Asked, Line},
    message::{Ask, Became, Call, Patient},
};
use crate::backend::question::Question;

/// How long a program may go on after its question became the turn's result, to end in order.
const GRACE: Duration = Duration::from_secs(5);

/// What was asked over the line.
#[derive(Debug)]
pub struct Heard {
    /// What was asked.
    pub ask: Ask,
    /// What was there then is kept apart. If not, the program was ended before it heard of it, so nothing came after.
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

/// Follows a program's run to its end and listens meanwhile. What is asked about the turn, and a completion, is answered
/// `inside` it, and the program goes on. A question waits first, as long as its asker does. With the first request that ends
/// the turn `keep` keeps what is there and says whether that worked; then the asker is told, and the program is ended after
/// a grace. If it did not work, the program is ended at once. Neither `keep` nor `run` is polled any more once the run is
/// over.
pub async fn attend<T>(
    line: &mut Line,
    inside: &mut Inside<'_>,
    keep: impl Future<Output = bool>,
    ending: Ending,
    run: impl Future<Output = T>,
) -> (T, Option<Heard>) {
    let mut heard = None;
    let listening = async {
        let (mut asked, ask) = ends_the_turn(line, inside).await;
        let heard = heard.insert(Heard { ask, kept: false });
        if keep.await {
            heard.kept = true;
            asked.became(Became::Result).await;
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
    (ran, heard)
}

/// Answers requests until one has to end the turn.
async fn ends_the_turn(line: &mut Line, inside: &mut Inside<'_>) -> (Asked, Ask) {
    loop {
        let mut asked = line.asked().await;
        match asked.call.clone() {
            Call::Ask(Patient { ask: Ask::Question(question), patience }) if !patience.is_zero() => {
                match waited(line, inside, (question.clone(), patience), &asked).await {
                    Some(Came::Became(became)) => asked.became(became).await,
                    Some(Came::InVain) => return (asked, Ask::Question(question)),
                    None => tracing::info!("whoever asked does not wait for the answer any more"),
                }
            }
            Call::Ask(Patient { ask, .. }) => return (asked, ask),
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

/// What came of waiting for an answer; `None` if the asker is gone. Who asks a question meanwhile is refused.
async fn waited(
    line: &mut Line,
    inside: &mut Inside<'_>,
    (question, patience): (Question, Duration),
    asked: &Asked,
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
                let became = if let Call::Ask(_) = other.call {
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
