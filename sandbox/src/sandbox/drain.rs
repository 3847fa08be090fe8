//! Reading a program's output while it runs, under a cap that both streams share.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

/// One read: what a pipe holds by default.
const CHUNK: usize = 64 * 1024;

/// A piece of output, for showing it while the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where it was written.
    pub stream: Stream,
    /// What was written; may begin or end inside a character.
    pub bytes: Vec<u8>,
}

/// One of the two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Bytes that may still be kept, of both streams together.
pub(super) struct Allowance(AtomicUsize);

impl Allowance {
    pub(super) fn new(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    /// How many of `wanted` bytes may be kept.
    fn take(&self, wanted: usize) -> usize {
        let before =
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(wanted)));
        before.unwrap_or_else(|left| left).min(wanted)
    }
}

/// Reads to the end into `kept`, which holds what came so far when the reading is given up. Over the allowance it calls
/// `over` and goes on reading, so that nobody is stuck.
pub(super) async fn drain(
    pipe: Option<impl AsyncRead + Unpin>,
    stream: Stream,
    kept: &mut Vec<u8>,
    allowance: &Allowance,
    tail: Option<&mpsc::Sender<Chunk>>,
    over: impl Fn(),
) -> std::io::Result<()> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = pipe.read(&mut chunk).await?;
        if count == 0 {
            return Ok(());
        }
        let allowed = allowance.take(count);
        let bytes = chunk.get(..allowed).unwrap_or_default();
        kept.extend_from_slice(bytes);
        if let Some(tail) = tail.filter(|_| !bytes.is_empty()) {
            // Full or closed: the tail is for looking at, the record is `kept`.
            let _ = tail.try_send(Chunk { stream, bytes: bytes.to_vec() });
        }
        if allowed < count {
            over();
        }
    }
}
