//! The skill packs that a turn gets (FLY-35), as they are on its base: what work changes in them counts once it has landed.

use holdpoint_planfile::{
    plan::PlanErrors,
    skills::{self, Covered, FILE_BYTES_MAX, LOOKED_AT_MAX, Skill},
};
use holdpoint_protocol::reason::ReasonCode;
use holdpoint_workspace::{Mirror, ObjectId, TreeEntry, WorkspaceError};

use super::{Documents, GUIDES_BYTES_MAX, Guide};

/// The skills that apply to work on these paths, with these words, whose last attempt came to this; until their bytes are used up.
/// Those that cannot be read are left out, with a warning.
pub(super) async fn attached(
    mirror: &Mirror,
    documents: &Documents<'_>,
    paths: &[&str],
    words: &str,
    reason: Option<ReasonCode>,
) -> Result<Vec<Guide>, WorkspaceError> {
    let named = skills::among(documents.files.keys().copied(), &documents.links);
    let entry = |(name, file): (String, &str)| Some((name, *documents.files.get(file)?));
    let mut found: Vec<(String, &TreeEntry)> = named.into_iter().filter_map(entry).collect();
    if found.len() > LOOKED_AT_MAX {
        tracing::warn!(skills = found.len(), bound = LOOKED_AT_MAX, "a repository has more skills than are looked at");
        found.truncate(LOOKED_AT_MAX);
    }
    found.retain(|(name, entry)| {
        let fits = entry.bytes.is_some_and(|bytes| bytes <= FILE_BYTES_MAX as u64);
        if !fits {
            tracing::warn!(skill = name, bytes = entry.bytes, "a skill is too large, and left out");
        }
        fits
    });
    let oids: Vec<ObjectId> = found.iter().map(|(_, entry)| entry.oid.clone()).collect();
    let texts = mirror.read_blobs(&oids, FILE_BYTES_MAX * oids.len()).await?;
    let read = found.iter().zip(texts).filter_map(|((name, _), bytes)| {
        let warn = |errors: &PlanErrors| {
            let problem = errors.errors.first().map(|error| error.message.as_str());
            tracing::warn!(skill = name, problem, "a skill cannot be read, and is left out");
        };
        skills::read(name, &bytes).inspect_err(warn).ok()
    });
    let skills: Vec<Skill> = read.collect();
    let relevant = skills::relevant(&skills, &Covered::by(&skills, paths), words, reason);
    let mut left = GUIDES_BYTES_MAX;
    Ok(relevant.into_iter().map(|skill| Guide::within(&mut left, &skill.path, &skill.text)).collect())
}
