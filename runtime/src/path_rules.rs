//! The path rules on real trees: brings `holdpoint_evidence::paths` the names, modes and texts it judges by.
//!
//! Verifiers and orchestrators each compute this from the objects, for themselves; which path is what, `evidence` says.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_evidence::paths::{
    self, FOLLOWED_BYTES_MAX, Follow, InvalidGlob, LINKS_MAX, Links, PathJudgement, PathRules,
};
use holdpoint_protocol::plan::{Check, EnvironmentSpec};
use holdpoint_workspace::{Change, EntryMode, Mirror, ObjectId, TreeEntry, WorkspaceError};

use crate::mirror::{path_changes, wire_path};

/// The longest manifest that is read, in bytes. One that is longer counts as steering.
const MANIFEST_LEN_MAX: usize = 4 << 20;

/// The longest text of a symlink, in bytes: what a kernel takes.
const LINK_LEN_MAX: u64 = 4096;

/// What the rules of one waypoint are made from.
#[derive(Debug, Clone, Default)]
pub struct RuleTexts {
    /// The waypoint's scope.
    pub scope: Vec<String>,
    /// Where tests may be added besides.
    pub new_tests: Vec<String>,
    /// Which tests of the base may change.
    pub changed_tests: Vec<String>,
    /// Protected globs of plan and waypoint.
    pub protected: Vec<String>,
    /// The guidance document.
    pub covenant: String,
    /// The commands of checks, guards and the setup of dependencies: scripts of the base that they name are steering.
    pub commands: Vec<String>,
}

impl RuleTexts {
    /// The commands of these checks, and the one that sets dependencies up.
    pub fn commands<'a>(checks: impl Iterator<Item = &'a Check>, environment: Option<&EnvironmentSpec>) -> Vec<String> {
        let setup = environment.and_then(|environment| environment.setup.clone());
        checks.map(|check| check.command.clone()).chain(setup).collect()
    }
}

/// A diff with what the rules say of it.
#[derive(Debug, Default)]
pub struct JudgedDiff {
    /// Every changed path.
    pub changes: Vec<Change>,
    /// What the rules say.
    pub judgement: PathJudgement,
    /// The rules themselves.
    pub rules: PathRules,
    /// Files that Python could import and that the base does not have.
    pub new_modules: BTreeSet<String>,
}

/// Why a diff could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// Git failed, or refused an object.
    #[error("cannot read the trees")]
    Git(#[from] WorkspaceError),
    /// A glob of the plan; a plan that was read has none.
    #[error("the plan has a glob that is none")]
    Glob(#[source] Box<InvalidGlob>),
}

/// Computes the difference of two trees and judges it by the rules.
///
/// # Errors
/// [`JudgeError`].
pub async fn judge(
    mirror: &Mirror,
    base_tree: &ObjectId,
    tree: &ObjectId,
    texts: &RuleTexts,
) -> Result<JudgedDiff, JudgeError> {
    let entries = mirror.list_tree(base_tree).await?;
    let changes = mirror.diff(base_tree, tree).await?;
    let rules = PathRules::new(&texts.scope, &texts.protected)
        .and_then(|rules| rules.with_tests(&texts.new_tests, &texts.changed_tests));
    let mut rules = rules.map_err(|error| JudgeError::Glob(Box::new(error)))?;
    rules.covenant = Some(texts.covenant.clone());
    rules.links = links(mirror, &entries).await?;
    rules.add_scripts(scripts(mirror, &entries, &rules.links, &texts.commands).await?);
    let steering = steering_manifests(mirror, &changes).await?;
    let listed = path_changes(&changes);
    let judgement = paths::judge(&listed, &rules, &steering);
    let on_base = entries.iter().map(|entry| wire_path(&entry.path)).collect();
    let new_modules = paths::new_modules(&listed, &on_base, &rules);
    Ok(JudgedDiff { changes, judgement, rules, new_modules })
}

/// The scripts that these commands name, or come to, on the base.
async fn scripts(
    mirror: &Mirror,
    entries: &[TreeEntry],
    links: &Links,
    commands: &[String],
) -> Result<BTreeSet<String>, WorkspaceError> {
    Ok(followed(mirror, entries, links, commands).await?.into_scripts())
}

/// What those of these commands run that ask task runners for recipes of the base (`npm test`): the command, and below it the
/// lines of the recipes.
///
/// # Errors
/// Git fails.
pub async fn recipes(
    mirror: &Mirror,
    base_tree: &ObjectId,
    commands: &[String],
) -> Result<BTreeMap<String, String>, WorkspaceError> {
    let asking: BTreeSet<&String> = commands.iter().filter(|command| paths::asks_for_recipes(command)).collect();
    let mut found = BTreeMap::new();
    if asking.is_empty() {
        return Ok(found);
    }
    let entries = mirror.list_tree(base_tree).await?;
    let links = links(mirror, &entries).await?;
    for command in asking {
        let lines = followed(mirror, &entries, &links, std::slice::from_ref(command)).await?.into_lines();
        if !lines.is_empty() {
            found.insert(command.clone(), format!("{command}\n{}", lines.join("\n")));
        }
    }
    Ok(found)
}

/// Follows these commands through the files of the base.
async fn followed(
    mirror: &Mirror,
    entries: &[TreeEntry],
    links: &Links,
    commands: &[String],
) -> Result<Follow<impl Fn(&str) -> bool>, WorkspaceError> {
    let files: BTreeMap<String, (EntryMode, &ObjectId)> =
        entries.iter().map(|entry| (wire_path(&entry.path), (entry.mode, &entry.oid))).collect();
    let names: BTreeSet<String> = files.keys().cloned().collect();
    let there = links.clone();
    let mut follow = Follow::new(commands, move |path| names.contains(path) || names.contains(&there.resolve(path)));
    while let Some(path) = follow.wanted() {
        let text = match files.get(&links.resolve(path)) {
            Some((mode @ (EntryMode::File | EntryMode::Executable), oid)) => {
                text_of(mirror, Some(&(*mode, (*oid).clone())), FOLLOWED_BYTES_MAX).await?
            }
            _ => None,
        };
        follow.read(text.as_deref());
    }
    Ok(follow)
}

/// The symlinks of a tree that count: of too many those nearest to its root, and none that no system has.
#[must_use]
pub fn symlinks(entries: &[TreeEntry]) -> Vec<&TreeEntry> {
    let fits = |entry: &&TreeEntry| entry.bytes.is_some_and(|bytes| bytes <= LINK_LEN_MAX);
    let mut found: Vec<&TreeEntry> =
        entries.iter().filter(|entry| entry.mode == EntryMode::Symlink).filter(fits).collect();
    found.sort_by_key(|entry| entry.path.depth());
    found.truncate(LINKS_MAX);
    found
}

/// Where these symlinks lead, each by its text.
#[must_use]
pub fn leads(symlinks: &[&TreeEntry], texts: &[Vec<u8>]) -> Links {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    Links::new(symlinks.iter().zip(texts).map(|(entry, bytes)| (wire_path(&entry.path), text(bytes))))
}

/// Where the symlinks of a tree lead.
///
/// # Errors
/// Git fails.
pub async fn links(mirror: &Mirror, entries: &[TreeEntry]) -> Result<Links, WorkspaceError> {
    let symlinks = symlinks(entries);
    let oids: Vec<ObjectId> = symlinks.iter().map(|entry| entry.oid.clone()).collect();
    Ok(leads(&symlinks, &mirror.read_blobs(&oids, usize::MAX).await?))
}

/// Changed manifests whose test or script parts changed.
async fn steering_manifests(mirror: &Mirror, changes: &[Change]) -> Result<BTreeSet<String>, WorkspaceError> {
    let mut steering = BTreeSet::new();
    for change in changes {
        let path = wire_path(&change.path);
        if !paths::is_manifest(&path) {
            continue;
        }
        let old = text_of(mirror, change.old.as_ref(), MANIFEST_LEN_MAX).await?;
        let new = text_of(mirror, change.new.as_ref(), MANIFEST_LEN_MAX).await?;
        let unreadable = change.old.is_some() != old.is_some() || change.new.is_some() != new.is_some();
        if unreadable || paths::manifest_change_is_steering(&path, old.as_deref(), new.as_deref()) {
            steering.insert(path);
        }
    }
    Ok(steering)
}

/// The text of one side of a change; `None` when it is not there, no file, longer than `cap` or not UTF-8.
///
/// # Errors
/// Git failed, or refused the object.
pub async fn text_of(
    mirror: &Mirror,
    side: Option<&(EntryMode, ObjectId)>,
    cap: usize,
) -> Result<Option<String>, WorkspaceError> {
    let Some((EntryMode::File | EntryMode::Executable, oid)) = side else { return Ok(None) };
    match mirror.read_blob(oid, cap).await {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(WorkspaceError::BlobOverCap { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
