//! A program's run with an ear at its line.

use std::{convert::Infallible, future::pending, time::Duration};

use tokio::sync::oneshot;

use super::{line::Line, message::Ask};

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

/// Follows a program's run to its end and listens meanwhile. With the first valid request `keep` keeps what is there
/// and says whether that worked; then the asker is told, and the program is ended after a grace. If it did not work, the
/// program is ended at once. Neither `keep` nor `run` is polled any more once the run is over.
pub async fn attend<T>(
    line: &mut Line,
    keep: impl Future<Output = bool>,
    ending: Ending,
    run: impl Future<Output = T>,
) -> (T, Option<Heard>) {
    let mut heard = None;
    let listening = async {
        let mut asked = line.asked().await;
        let heard = heard.insert(Heard { ask: asked.ask.clone(), kept: false });
        if keep.await {
            heard.kept = true;
            asked.taken().await;
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
