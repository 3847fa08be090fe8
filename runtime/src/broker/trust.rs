//! Following the file of trust roots: keys are added, rotated and revoked while processes run.

use std::{path::PathBuf, time::Duration};

use holdpoint_bus::auth::{Trust, TrustRoots};

use crate::telemetry::ErrorChain;

/// How often the file is looked at. A revoked key is kept out by the broker in the meantime.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Takes over what is written to the file, for as long as anybody uses `trust`. A file that cannot be read changes nothing.
pub(super) fn follow(path: PathBuf, trust: &Trust, look_every: Duration) {
    let (watched, mut known) = (trust.watched(), trust.roots());
    tokio::spawn(async move {
        let mut readable = true;
        while watched.is_used() {
            tokio::time::sleep(look_every).await;
            let found = TrustRoots::load(&path);
            if let Err(error) = &found
                && readable
            {
                tracing::error!(error = %ErrorChain(error), "the trust roots cannot be read: those read before go on counting");
            }
            readable = found.is_ok();
            let Ok(found) = found else { continue };
            if found != *known {
                known = found.clone().into();
                if watched.replace(found) {
                    tracing::info!(file = %path.display(), "took over new trust roots");
                }
            }
        }
    });
}
