//! Draining a pipe into memory under a cap.

use tokio::io::{AsyncRead, AsyncReadExt};

/// One read: big enough that a busy tool is not slowed down.
const CHUNK: usize = 64 * 1024;

/// Why draining stopped early.
#[derive(Debug)]
pub(super) enum Error {
    /// More bytes came than the cap allows.
    OverCap,
    /// The pipe failed.
    Io(std::io::Error),
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        Self::Io(source)
    }
}

/// Everything up to the end; an error when it is more than `cap` bytes.
pub(super) async fn all(pipe: Option<impl AsyncRead + Unpin>, cap: usize) -> Result<Vec<u8>, Error> {
    let mut kept = Vec::new();
    let Some(mut pipe) = pipe else { return Ok(kept) };
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = pipe.read(&mut chunk).await?;
        if count == 0 {
            return Ok(kept);
        }
        if kept.len() + count > cap {
            return Err(Error::OverCap);
        }
        kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
    }
}

/// The last `keep` bytes; what comes before is read and dropped.
pub(super) async fn tail(pipe: Option<impl AsyncRead + Unpin>, keep: usize) -> Result<Vec<u8>, Error> {
    let mut kept = Vec::new();
    let Some(mut pipe) = pipe else { return Ok(kept) };
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = pipe.read(&mut chunk).await?;
        if count == 0 {
            return Ok(kept);
        }
        kept.extend_from_slice(chunk.get(..count).unwrap_or_default());
        if kept.len() > keep {
            kept.drain(..kept.len() - keep);
        }
    }
}
