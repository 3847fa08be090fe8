//! Finding a server program that is new enough.

use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use holdpoint_sandbox::Tool;

use super::{
    error::BrokerError,
    version::{FLOOR, ServerVersion},
};

/// The variable that names the program, before all other places.
const VARIABLE: &str = "HOLDPOINT_NATS_SERVER";
/// The program's file name.
const PROGRAM: &str = "nats-server";
/// How long it may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// A server program whose version was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerBinary {
    path: PathBuf,
    version: ServerVersion,
}

impl ServerBinary {
    /// Looks in `HOLDPOINT_NATS_SERVER`, then at `hints` (files), then in `PATH`, and takes the first that is new enough.
    /// The variable's program is taken or refused, without looking further.
    ///
    /// # Errors
    /// [`BrokerError::NotFound`], or what is wrong with the first one found.
    pub async fn find(hints: &[PathBuf]) -> Result<Self, BrokerError> {
        if let Some(named) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            return Self::at(Path::new(&named)).await;
        }
        let in_path = env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
        let candidates = hints.iter().cloned().chain(in_path.into_iter().map(|dir| dir.join(PROGRAM)));
        let mut refused = None;
        for candidate in candidates.filter(|path| path.is_file()) {
            match Self::at(&candidate).await {
                Ok(binary) => return Ok(binary),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        let mut places: Vec<String> = hints.iter().map(|hint| hint.display().to_string()).collect();
        places.push("PATH".to_owned());
        Err(refused.unwrap_or(BrokerError::NotFound { places }))
    }

    /// Asks the program at `path` for its version and checks it.
    ///
    /// # Errors
    /// It is not there, reports no version, or is too old.
    pub async fn at(path: &Path) -> Result<Self, BrokerError> {
        if !path.is_file() {
            return Err(BrokerError::NotFound { places: vec![path.display().to_string()] });
        }
        let no_version =
            |source: Box<dyn std::error::Error + Send + Sync>| BrokerError::NoVersion { path: path.to_owned(), source };
        let output = Tool::new(path)
            .arg("--version")
            .timeout(VERSION_TIMEOUT)
            .run_ok()
            .await
            .map_err(|e| no_version(e.into()))?;
        let version: ServerVersion =
            String::from_utf8_lossy(&output.stdout).parse().map_err(|e| no_version(Box::new(e)))?;
        if version < FLOOR {
            return Err(BrokerError::TooOld { found: version, path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), version })
    }

    /// Where the program is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> ServerVersion {
        self.version
    }
}
