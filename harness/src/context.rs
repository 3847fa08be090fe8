//! What a turn's program learns of the repository before it looks for itself (FLY-17, FLY-19, FLY-31, FLY-33): a bounded map,
//! the covenants nearest to its files as they are on the base, and which source counts.
//!
//! - [`RepositoryContext`]: what is laid out and pushed with the prompt; `skills`: of it, the skill packs.
//! - [`pull`]: slices that a program asks for by name, over its line.
//!
//! Everything is read from git's objects, never from a working tree; a link counts as the file of the same tree that it leads to.
//! It is the repository's words: shown in blocks, bounded, and never to a verifier. `holdpoint_evidence::map` decides what a map says.

pub mod pull;
mod skills;

use std::collections::BTreeMap;

use holdpoint_evidence::{
    map::{self, LogLine, MapFile, Outline},
    paths::Links,
};
use holdpoint_outline::{OutlineHelper, SourceFile};
use holdpoint_planfile::{
    guides,
    skills::{paths, words},
};
use holdpoint_protocol::{reason::ReasonCode, turn::BuildRequest};
use holdpoint_runtime::{mirror::from_wire, path_rules, telemetry::ErrorChain};
use holdpoint_workspace::{Mirror, ObjectId, RepoPath, TreeEntry, WorkspaceError};

use self::pull::Repository;

/// Bytes of all covenants together that are shown, and of all skills.
const GUIDES_BYTES_MAX: usize = 24 << 10;
/// Bytes of the largest covenant that is read.
const GUIDE_BYTES_READ_MAX: u64 = 256 << 10;
/// Commits in the map.
const LOG_COUNT: u32 = 10;
/// Paths by which commits are looked for.
const LOG_PATHS_MAX: usize = 100;
/// Characters of a commit's id that are shown.
const COMMIT_CHARS: usize = 12;

/// A covenant, or a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guide {
    /// Its path on the base.
    pub path: String,
    /// What it says, or its beginning.
    pub text: String,
    /// Whether that is not all of it.
    pub cut: bool,
}

impl Guide {
    /// As much of a document as there is room `left`, which it takes.
    fn within(left: &mut usize, path: &str, text: &str) -> Self {
        let shown = text.get(..text.floor_char_boundary(*left)).unwrap_or_default();
        *left -= shown.len();
        Self { path: path.to_owned(), text: shown.to_owned(), cut: shown.len() < text.len() }
    }
}

/// What a program learns of the repository.
#[derive(Debug, Default)]
pub struct RepositoryContext {
    /// The map.
    pub map: String,
    /// Covenants, the nearest first.
    pub guides: Vec<Guide>,
    /// Skills that apply, the most specific first.
    pub skills: Vec<Guide>,
    /// The source that counts, on the base.
    pub source: Option<String>,
    /// What files define, as far as that was looked at.
    pub outlines: Vec<Outline>,
}

/// What a turn is about.
#[derive(Debug, Clone)]
pub struct TurnSubject<'a> {
    /// The commit that its work is based on.
    pub base: ObjectId,
    /// The commit whose files it starts from.
    pub start: ObjectId,
    /// Globs of the paths that it may touch; empty: all.
    pub scope: &'a [String],
    /// The path of the repository's covenant.
    pub covenant: &'a str,
    /// The plan's sources, the first wins.
    pub sources: &'a [String],
    /// What it says itself, for skills ([`holdpoint_planfile::skills::words`]).
    pub words: String,
    /// What the last attempt came to.
    pub reason: Option<ReasonCode>,
}

impl<'a> From<&'a BuildRequest> for TurnSubject<'a> {
    fn from(request: &'a BuildRequest) -> Self {
        Self {
            base: from_wire(&request.base),
            start: from_wire(&request.start),
            scope: &request.scope,
            covenant: &request.covenant,
            sources: &request.sources,
            words: words(&request.title, &request.goal, &request.criteria),
            reason: request.feedback.as_ref().map(|feedback| feedback.reason_code),
        }
    }
}

impl RepositoryContext {
    /// Looks at the commit that a turn starts from. Files that cannot be outlined are named in the map all the same.
    ///
    /// # Errors
    /// Git failed us.
    pub async fn of(
        mirror: &Mirror,
        subject: &TurnSubject<'_>,
        outline: Option<&OutlineHelper>,
    ) -> Result<Self, WorkspaceError> {
        let TurnSubject { base, start, scope, covenant, sources, words, reason } = subject;
        let entries = mirror.list_tree(start).await?;
        let named: Vec<(MapFile<'_>, &TreeEntry)> = entries.iter().filter_map(named).collect();
        let files: Vec<MapFile<'_>> = named.iter().map(|(file, _)| *file).collect();
        let mut changed = Vec::new();
        if base != start {
            let changes = mirror.diff(base, start).await?;
            changed.extend(changes.iter().filter_map(|change| change.path.as_str()).map(str::to_owned));
        }
        let focus = map::focus(&files, scope, &changed);
        let outlined: Vec<&(MapFile<'_>, &TreeEntry)> =
            map::to_outline(&files, &focus).into_iter().filter_map(|at| named.get(at)).collect();
        let outlines = outlines(mirror, &outlined, outline).await?;
        let log = log(mirror, start, &files, &focus).await?;
        let map = map::map(start.as_str(), &files, &focus, &outlines, &log);
        let on_base = if base == start { entries.clone() } else { mirror.list_tree(base).await? };
        let focused: Vec<&str> = focus.iter().filter_map(|at| files.get(*at)).map(|file| file.path).collect();
        let documents = Documents::of(mirror, &on_base).await?;
        let guides = guides_of(mirror, covenant, &documents, &focused).await?;
        let skills = skills::attached(mirror, &documents, &paths(&files, &focus, scope), words, *reason).await?;
        let source = guides::source(sources, |path| documents.find(path).is_some()).map(str::to_owned);
        Ok(Self { map, guides, skills, source, outlines })
    }

    /// The commit that a turn starts from, for slices of it.
    #[must_use]
    pub fn repository<'a>(&'a self, mirror: &'a Mirror, start: ObjectId) -> Repository<'a> {
        Repository::new(mirror, start, &self.outlines)
    }
}

/// The files of a commit by their names, links inside of its tree followed.
struct Documents<'a> {
    files: BTreeMap<&'a str, &'a TreeEntry>,
    links: Links,
}

impl<'a> Documents<'a> {
    async fn of(mirror: &Mirror, entries: &'a [TreeEntry]) -> Result<Self, WorkspaceError> {
        let files = entries.iter().filter_map(named).map(|(file, entry)| (file.path, entry)).collect();
        let links = path_rules::links(mirror, entries).await?;
        Ok(Self { files, links })
    }

    /// The file that a name leads to.
    fn find(&self, name: &str) -> Option<(&'a str, &'a TreeEntry)> {
        let found =
            self.files.get_key_value(name).or_else(|| self.files.get_key_value(self.links.resolve(name).as_str()));
        found.map(|(path, entry)| (*path, *entry))
    }
}

fn named(entry: &TreeEntry) -> Option<(MapFile<'_>, &TreeEntry)> {
    Some((entry.as_map_file()?, entry))
}

async fn outlines(
    mirror: &Mirror,
    files: &[&(MapFile<'_>, &TreeEntry)],
    helper: Option<&OutlineHelper>,
) -> Result<Vec<Outline>, WorkspaceError> {
    let Some(helper) = helper else { return Ok(Vec::new()) };
    let oids: Vec<ObjectId> = files.iter().map(|(_, entry)| entry.oid.clone()).collect();
    let cap = usize::try_from(map::OUTLINE_BYTES_MAX).unwrap_or(usize::MAX);
    let texts = mirror.read_blobs(&oids, cap).await?;
    let sources: Vec<SourceFile> = files
        .iter()
        .zip(texts)
        .map(|((file, _), text)| SourceFile {
            name: file.path.to_owned(),
            text: String::from_utf8_lossy(&text).into_owned(),
        })
        .collect();
    match helper.outline(&sources).await {
        Ok(found) => {
            Ok(sources.into_iter().zip(found).map(|(source, symbols)| outlined(source.name, symbols)).collect())
        }
        Err(error) => {
            tracing::warn!(error = %ErrorChain(&error), "the map of the repository has no symbols");
            Ok(Vec::new())
        }
    }
}

fn outlined(path: String, symbols: Vec<holdpoint_outline::Symbol>) -> Outline {
    let symbols =
        symbols.into_iter().map(|symbol| map::MapSymbol { line: symbol.line, kind: symbol.kind, name: symbol.name });
    Outline { path, symbols: symbols.collect() }
}

async fn log(
    mirror: &Mirror,
    start: &ObjectId,
    files: &[MapFile<'_>],
    focus: &[usize],
) -> Result<Vec<LogLine>, WorkspaceError> {
    // With as many paths as that the whole history says as much.
    let by_path = focus.len() < files.len() && focus.len() <= LOG_PATHS_MAX;
    let focused = focus.iter().filter(|_| by_path).filter_map(|at| files.get(*at));
    let paths: Vec<RepoPath> = focused.filter_map(|file| RepoPath::new(file.path).ok()).collect();
    let logged = mirror.log(start, &paths, LOG_COUNT).await?;
    let lines = logged.into_iter().map(|logged| LogLine {
        commit: logged.commit.as_str().chars().take(COMMIT_CHARS).collect(),
        day: logged.day,
        subject: logged.subject,
    });
    Ok(lines.collect())
}

/// The covenants as they are on the base, the nearest first, until their bytes are used up.
async fn guides_of(
    mirror: &Mirror,
    covenant: &str,
    documents: &Documents<'_>,
    focus: &[&str],
) -> Result<Vec<Guide>, WorkspaceError> {
    let fits = |entry: &TreeEntry| entry.bytes.is_some_and(|bytes| bytes <= GUIDE_BYTES_READ_MAX);
    let find = |name: &str| documents.find(name).filter(|(_, entry)| fits(entry)).map(|(path, _)| path);
    let chosen = guides::guides(covenant, find, focus);
    let oids: Vec<ObjectId> =
        chosen.iter().filter_map(|guide| documents.files.get(guide.file)).map(|entry| entry.oid.clone()).collect();
    let cap = usize::try_from(GUIDE_BYTES_READ_MAX).unwrap_or(usize::MAX).saturating_mul(oids.len());
    let texts = mirror.read_blobs(&oids, cap).await?;
    let mut left = GUIDES_BYTES_MAX;
    let mut guides = Vec::new();
    for (guide, text) in chosen.into_iter().zip(texts) {
        guides.push(Guide::within(&mut left, &guide.name, &String::from_utf8_lossy(&text)));
    }
    Ok(guides)
}
