//! Reading a program's output while it runs, under a cap that both streams share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt};

/// One read: what a pipe holds by default.
const CHUNK: usize = 64 * 1024;

/// One of the two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Sees a program's output while it runs: every byte that is kept, in the order of its stream, and none beyond the limit
/// of output.
///
/// It is called where the output is read, so the program is not read from meanwhile: it must not wait, and what it keeps
/// it bounds by itself. Pieces are of any size, and may begin or end inside a character.
#[derive(Clone)]
pub struct Tap(Arc<See>);

type See = dyn Fn(OutputStream, &[u8]) + Send + Sync;

impl Tap {
    /// A tap that calls this for every piece of output.
    pub fn new(see: impl Fn(OutputStream, &[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(see))
    }

    /// Shows it a piece; an empty one is none.
    pub fn see(&self, stream: OutputStream, bytes: &[u8]) {
        if !bytes.is_empty() {
            (self.0)(stream, bytes);
        }
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tap")
    }
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
    stream: OutputStream,
    kept: &mut Vec<u8>,
    allowance: &Allowance,
    tap: Option<&Tap>,
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
        if let Some(tap) = tap {
            tap.see(stream, bytes);
        }
        if allowed < count {
            over();
        }
    }
}
