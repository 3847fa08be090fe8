//! A program's run with an ear at its line.

use std::{convert::Infallible, future::pending, pin::pin, time::Duration};

use tokio::sync::oneshot;

use super::{
    desk::{Desk, Waited},
    line::{Asked, Line},
    message::{Ask, Became},
};

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

/// Follows a program's run to its end and listens meanwhile. A question waits at the `desk` first, as long as its asker
/// does. With the first request that ends the turn `keep` keeps what is there and says whether that worked; then the asker is
/// told, and the program is ended after a grace. If it did not work, the program is ended at once. Neither `keep` nor `run` is
/// polled any more once the run is over.
pub async fn attend<T>(
    line: &mut Line,
    desk: &dyn Desk,
    keep: impl Future<Output = bool>,
    ending: Ending,
    run: impl Future<Output = T>,
) -> (T, Option<Heard>) {
    let mut heard = None;
    let listening = async {
        let mut asked = ends_the_turn(line, desk).await;
        let heard = heard.insert(Heard { ask: asked.ask.clone(), kept: false });
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
async fn ends_the_turn(line: &mut Line, desk: &dyn Desk) -> Asked {
    loop {
        let mut asked = line.asked().await;
        let Ask::Question(question) = asked.ask.clone() else { return asked };
        let (patience, most) = (asked.patience, desk.patience_max());
        if patience.is_zero() {
            return asked;
        }
        if patience > most {
            let (patience, most) = (patience.as_secs(), most.as_secs());
            let why = format!("a patience of {patience}s is too long: {most}s at most (agent.question_patience)");
            asked.became(Became::Refused(why)).await;
        } else {
            match waited(line, desk.ask(question, patience), &asked).await {
                Some(Waited::Answered(answer)) => asked.became(Became::Answer(answer)).await,
                Some(Waited::InVain) => return asked,
                None => tracing::info!("whoever asked does not wait for the answer any more"),
            }
        }
        line.settled(asked);
    }
}

/// What came of waiting for an answer; `None` if the asker is gone. Who asks meanwhile is refused.
async fn waited(line: &mut Line, waiting: impl Future<Output = Waited>, asked: &Asked) -> Option<Waited> {
    let mut waiting = pin!(waiting);
    let mut gone = pin!(asked.gone());
    loop {
        tokio::select! {
            waited = &mut waiting => return Some(waited),
            () = &mut gone => return None,
            other = line.another() => {
                let mut other = other?;
                let why = "another question of this turn waits for its answer: ask when that one has it";
                other.became(Became::Refused(why.to_owned())).await;
            }
        }
    }
}
