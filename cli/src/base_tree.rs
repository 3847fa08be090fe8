//! The tree of a plan's base, links inside of it followed: what the plan's patterns match there, and which documents that it names
//! nobody will get.

use std::collections::BTreeMap;

use holdpoint_evidence::{map::MapFile, paths::Links};
use holdpoint_planfile::guides;
use holdpoint_protocol::plan::Plan;
use holdpoint_runtime::{mirror::wire_path, path_rules};
use holdpoint_text::shown;
use holdpoint_workspace::{EntryMode, TreeEntry, UserRepo, WorkspaceError};

use crate::ready::{COVENANT, Ready};

/// A base's tree.
pub(crate) struct BaseTree<'r> {
    repo: &'r UserRepo,
    entries: Vec<TreeEntry>,
    links: Links,
}

impl<'r> BaseTree<'r> {
    /// That of a plan.
    pub(crate) async fn of(Ready { repo, base, .. }: &'r Ready) -> Result<Self, WorkspaceError> {
        let entries = repo.list_tree(base).await?;
        let symlinks = path_rules::symlinks(&entries);
        let mut texts = Vec::with_capacity(symlinks.len());
        for link in &symlinks {
            texts.push(repo.read_blob(&link.oid, usize::MAX).await?);
        }
        let links = path_rules::leads(&symlinks, &texts);
        Ok(Self { repo, entries, links })
    }

    /// Every path in it, as path rules see it.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.entries.iter().map(|entry| wire_path(&entry.path)).collect()
    }

    /// Its files whose name is text.
    pub(crate) fn files(&self) -> impl Iterator<Item = MapFile<'_>> {
        self.entries.iter().filter_map(TreeEntry::as_map_file)
    }

    /// Its links whose name is text.
    pub(crate) fn linked(&self) -> impl Iterator<Item = &str> {
        let links = self.entries.iter().filter(|entry| matches!(entry.mode, EntryMode::Symlink | EntryMode::Gitlink));
        links.filter_map(|entry| entry.path.as_str())
    }

    /// Where its links lead.
    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// The bytes of one of its files.
    pub(crate) async fn read(&self, file: &str, cap: usize) -> Result<Vec<u8>, WorkspaceError> {
        match self.entries.iter().find(|entry| entry.path.as_str() == Some(file)) {
            Some(entry) => self.repo.read_blob(&entry.oid, cap).await,
            None => Ok(Vec::new()),
        }
    }

    /// Documents of guidance that are not there, or are links to what is not there.
    pub(crate) fn lost(&self, plan: &Plan) -> Vec<String> {
        let files: BTreeMap<&str, MapFile<'_>> = self.files().map(|file| (file.path, file)).collect();
        let is_there = |name: &str| files.contains_key(name) || files.contains_key(self.links.resolve(name).as_str());
        let covenant = plan.covenant.as_deref().unwrap_or(COVENANT);
        let is_guide =
            |path: &str| guides::is_covenant(covenant, path) || plan.sources.iter().any(|named| named == path);
        let dangling = self.linked().filter(|path| is_guide(path) && !is_there(path)).map(|path| {
            let path = shown::line(path);
            format!("{path} is a link to no file of the repository, so no agent gets it: commit the file itself")
        });
        let covenant =
            plan.covenant.as_deref().filter(|path| !is_there(path) && !self.linked().any(|link| link == *path));
        let covenant = covenant.map(|path| format!("the covenant {} is not on the base", shown::line(path)));
        let none = !plan.sources.is_empty() && guides::source(&plan.sources, is_there).is_none();
        let sources = none.then(|| "none of the documents in `sources` is on the base".to_owned());
        dangling.chain(covenant).chain(sources).collect()
    }
}
