//! Work of a builder that is more than nothing: a file of its waypoint's name, on the base.

use bytes::Bytes;
use holdpoint_bus::blobs;
use holdpoint_harness::agent::{Job, WorkError};
use holdpoint_protocol::{
    artifact::BuildArtifact,
    facts::{BlobRef, BundleRef},
    turn::BuildRequest,
};
use holdpoint_runtime::mirror::{MirrorStore, from_wire, to_wire};
use holdpoint_workspace::{CommitMeta, HANDOFF_REF, InputLimits};

/// Makes commits in a mirror of its own.
#[derive(Debug)]
pub(super) struct Commits {
    dir: tempfile::TempDir,
    mirrors: MirrorStore,
}

impl Commits {
    pub(super) fn new() -> std::io::Result<Self> {
        let dir = tempfile::tempdir()?;
        let mirrors = MirrorStore::new(dir.path().join("mirrors"), InputLimits::default());
        Ok(Self { dir, mirrors })
    }

    /// What a builder hands off that changes nothing, with a commit.
    pub(super) async fn commit(
        &self,
        job: &Job,
        request: &BuildRequest,
        unchanged: BuildArtifact,
    ) -> Result<BuildArtifact, WorkError> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| WorkError::new("make a commit", error);
        let made = Box::pin(self.make(job, request)).await.map_err(failed)?;
        let mut artifact = unchanged;
        (artifact.commit, artifact.bundle) = (Some(made.tip.clone()), Some(made));
        Ok(artifact)
    }

    async fn make(
        &self,
        job: &Job,
        request: &BuildRequest,
    ) -> Result<BundleRef, Box<dyn std::error::Error + Send + Sync>> {
        let mirror = self.mirrors.ensure(&job.bus, &job.turn.flight, &request.bundles).await?;
        let base = from_wire(&request.base);
        let place = self.dir.path().join(job.turn.turn_id.as_str());
        mirror.checkout(&base, &place).await?;
        std::fs::write(place.join(job.turn.waypoint.as_str()), job.turn.turn_id.as_str())?;
        let tree = mirror.capture(&place, &base).await?;
        std::fs::remove_dir_all(&place)?;
        let meta = CommitMeta {
            name: "Bench".to_owned(),
            email: "bench@localhost".to_owned(),
            epoch_seconds: 1_700_000_000,
            message: "work\n".to_owned(),
        };
        let commit = mirror.commit_on(&base, &tree, &meta).await?;
        let file = self.dir.path().join(format!("{}.bundle", job.turn.turn_id));
        mirror.thin_bundle(&base, &commit, HANDOFF_REF, &file).await?;
        let bytes = Bytes::from(std::fs::read(&file)?);
        std::fs::remove_file(&file)?;
        let len = bytes.len() as u64;
        let digest = blobs::put(&job.bus, &job.role, bytes).await?;
        let blob = BlobRef { role: job.role.clone(), digest, bytes: len };
        Ok(BundleRef { blob, tip: to_wire(&commit), index: None })
    }
}
