//! Taking a bundle into the mirror.

use std::path::Path;
use std::sync::Arc;

use super::{Mirror, scratch_parent};
use crate::bundle::read_header;
use crate::error::WorkspaceError;
use crate::oid::ObjectId;
use crate::quarantine::{Brought, Expected, Quarantine};

/// A bundle to be taken in, and what it has to be.
#[derive(Debug, Clone, Copy)]
pub struct Import<'a> {
    /// The file.
    pub bundle: &'a Path,
    /// The one ref it has to have, and no other.
    pub ref_name: &'a str,
    /// The commit it was made on: its submodule links may stay, none may come or change, and every object has to be
    /// well-formed. That the bundle builds on it is not looked at ([`Mirror::parents`]). `None` for a snapshot of a user's
    /// repository, whose trees are checked as strictly, and whose odd old commits are taken as they are.
    pub base: Option<&'a ObjectId>,
}

impl Mirror {
    /// Takes a bundle in and gives the commit that its ref names. Who made the commit, and on what, is the caller's to
    /// check ([`Mirror::parents`]).
    ///
    /// # Errors
    /// [`WorkspaceError::Refused`] with the reason when the bundle is not in order; the mirror is then as it was.
    pub async fn import(&self, import: Import<'_>) -> Result<ObjectId, WorkspaceError> {
        let quarantine = Quarantine::new(&self.inner.objects, Some(&scratch_parent(self.dir())))?;
        let (ref_name, base, limits) = (import.ref_name, import.base, self.limits());
        let expected = Expected { ref_name, base, limits };
        let Brought { tip, commit, entries, .. } = quarantine.add(import.bundle, expected).await?;
        // A snapshot is the big one: it is never packed again, and clones begin with a copy of it.
        let whole = import.base.is_none() && read_header(import.bundle)?.prerequisites.is_empty();
        quarantine.release(whole.then_some(&tip))?;
        let cache = &self.inner.cache;
        cache.keep_list(&commit.tree, &Arc::new(entries));
        cache.keep_commit(&tip, &commit);
        Ok(tip)
    }
}
