//! Trees made of other trees.

use gix_object::tree::Editor;
use gix_object::{FindExt, Kind, Tree, WriteTo};

use super::{Odb, kind_of_hash, to_gix};
use crate::error::WorkspaceError;
use crate::mirror::Replacement;
use crate::oid::ObjectId;
use crate::tree::EntryMode;

impl Odb {
    /// The tree `on` (or a commit's tree) with these paths replaced, removals first: a path that goes must not take one that comes along.
    /// A file in the way of a replacement's folder goes, or the other way round. Folders that become empty go.
    pub(crate) fn edit(&self, on: &ObjectId, replacements: &[Replacement]) -> Result<ObjectId, WorkspaceError> {
        let on = self.commit(on)?.map_or_else(|| on.clone(), |commit| commit.tree);
        if !self.is(Kind::Tree, &on)? {
            return Err(WorkspaceError::NoSuchObject { kind: "tree", oid: on });
        }
        let failed = |error: gix_error::Error| self.failed(&error);
        let mut bytes = Vec::new();
        let root: Tree = self.handle.find_tree(&to_gix(&on)?, &mut bytes).map_err(failed)?.into();
        let mut editor = Editor::new(root, &self.handle, kind_of_hash(self.objects.format));
        for (path, _) in replacements.iter().filter(|(_, file)| file.is_none()) {
            editor.remove_if_leaf(path.names()).map_err(failed)?;
        }
        for (path, file) in replacements {
            let Some(file) = file else { continue };
            if file.mode != EntryMode::Gitlink && !self.is(Kind::Blob, &file.oid)? {
                return Err(WorkspaceError::NoSuchObject { kind: "blob", oid: file.oid.clone() });
            }
            editor.upsert(path.names(), file.mode.as_kind(), to_gix(&file.oid)?).map_err(failed)?;
        }
        let written = editor.write(|tree| self.write_tree(tree))?;
        super::from_gix(&written)
    }

    /// With the modes that git writes today, as git does with a tree that it writes again.
    fn write_tree(&self, tree: &Tree) -> Result<gix_hash::ObjectId, WorkspaceError> {
        let mut tree = tree.clone();
        for entry in &mut tree.entries {
            entry.mode = entry.mode.kind().into();
        }
        let mut bytes = Vec::new();
        tree.write_to(&mut bytes).map_err(WorkspaceError::io("write a tree to", &self.objects.dir))?;
        to_gix(&self.write(Kind::Tree, &bytes)?)
    }
}
