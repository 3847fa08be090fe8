//! What a benchmark gets from its caller: a broker's program, a place, a way to say how far it is, a way to stop.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_bus::broker::ServerBinary;
use tempfile::TempDir;
use tokio::{sync::watch, time::Instant};

use crate::BenchError;

/// How long processes that were just killed may go on writing into a folder that is removed.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(5);
const REMOVE_PAUSE: Duration = Duration::from_millis(50);

/// The surroundings of a benchmark.
pub struct Host {
    /// The broker's program; `None` for a benchmark that has no broker.
    pub server: Option<ServerBinary>,
    /// Where everything is written; a folder of its own is made in it and removed at the end. `None`: the system's
    /// place for temporary folders.
    pub dir: Option<PathBuf>,
    /// Says how far it is, a line at a time.
    pub progress: Box<dyn Fn(&str) + Send + Sync>,
    /// Becomes true when the user wants it to end.
    pub stop: watch::Receiver<bool>,
}

impl Host {
    /// The broker's program.
    pub(crate) fn server(&self) -> Result<ServerBinary, BenchError> {
        self.server.clone().ok_or_else(|| BenchError::usage("this benchmark needs a broker", "give it nats-server"))
    }

    /// Says how far it is.
    pub(crate) fn say(&self, line: &str) {
        (self.progress)(line);
    }

    /// Does `work` in a folder of its own. When the user wants it to end, `work` is dropped; the folder goes either way.
    pub(crate) async fn in_folder<T>(
        &self,
        work: impl AsyncFnOnce(&Path) -> Result<T, BenchError>,
    ) -> Result<T, BenchError> {
        let dir = self.folder()?;
        let mut stop = self.stop.clone();
        let result = tokio::select! {
            result = Box::pin(work(dir.path())) => result,
            Ok(_) = stop.wait_for(|stop| *stop) => Err(BenchError::Interrupted),
        };
        remove(dir).await?;
        result
    }

    fn folder(&self) -> Result<TempDir, BenchError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("holdpoint-bench-");
        let parent = self.dir.clone().unwrap_or_else(std::env::temp_dir);
        builder.tempdir_in(&parent).map_err(|source| BenchError::Io { path: parent, source })
    }
}

/// Removes a folder that killed processes may have written to until a moment ago.
async fn remove(dir: TempDir) -> Result<(), BenchError> {
    let path = dir.keep();
    let deadline = Instant::now() + REMOVE_TIMEOUT;
    loop {
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Ok(()) => return Ok(()),
            Err(_) if Instant::now() < deadline => tokio::time::sleep(REMOVE_PAUSE).await,
            Err(source) => return Err(BenchError::Io { path, source }),
        }
    }
}
