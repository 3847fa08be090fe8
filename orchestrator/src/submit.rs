//! Taking a flight in: everything is checked before the first entry, and a repeated request is taken once.

use holdpoint_bus::{
    api::ApiFailure,
    blobs::{self, BlobError},
    journal::{Append, AppendError, Begun},
};
use holdpoint_planfile::{gates::Workflow, plan, workflows};
use holdpoint_protocol::{
    Digest,
    api::Submit,
    facts::{BlobRef, BundleRef},
    ids::{AgentName, role},
    journal::{Entry, EntryKind, Record, Sequence, Submitted},
    plan::Mode,
    streams,
    subjects::{Fence, JournalKey},
    version,
    workflow::RecordedWorkflow,
};
use holdpoint_runtime::{
    clock,
    mirror::{from_wire, to_wire},
    path_rules,
    telemetry::ErrorChain,
};
use holdpoint_workspace::{Mirror, TreeEntry};

use crate::{
    books::{Books, outgoing},
    examine::{is_missing, is_none_of},
    retire, roles,
    shell::Shell,
    snapshots::Facts,
};

/// How much of a plan is named that wants a network.
const WANTS_SHOWN_MAX: usize = 5;

/// Why a flight of one agent alone is refused where the operator gave no leave for it.
const ALONE: &str = "this fleet flies no plan of `mode: single`, in which the agent that made the work checks it: its operator allows it \
                     with `holdpoint keys role add solo`, and agents of that role; or remove `mode: single`, and a verifier judges";

/// How many problems of a plan a refusal lists: they go into one line of a header. Senders with a file have held
/// it against the same rules before.
const PROBLEMS_TOLD_MAX: usize = 20;

/// Bytes of a covenant that are read.
const COVENANT_LEN_MAX: usize = 1024 * 1024;

/// Bytes of an index that is worth a message: with fewer objects (some two thousand) checking again takes no time.
const INDEX_LEN_MIN: u64 = 64 << 10;

/// Refuses a plan that wants what the fleet's verifiers do not have: a network.
pub(crate) fn check_network(submit: &Submit) -> Result<(), ApiFailure> {
    let wants = plan::that_want_network(&submit.plan);
    if wants.is_empty() {
        return Ok(());
    }
    Err(ApiFailure::new(400, wants.in_a_line(WANTS_SHOWN_MAX)))
}

/// What became of a submission.
pub(crate) enum Taken {
    /// The flight begins with this.
    Now(Box<Books>),
    /// It was taken before.
    Earlier,
}

/// Checks a submission of an operator and appends it. `digest` is that of the request: one with the same is the same
/// submission.
pub(crate) async fn submit(shell: &Shell, submit: Submit, by: AgentName, digest: Digest) -> Result<Taken, ApiFailure> {
    let unsound = submit.workflows.iter().any(|spec| Workflow::try_new(spec).is_err());
    check(&submit).inspect_err(|_| {
        if unsound {
            shell.metrics.invalid_config();
        }
    })?;
    let workflows = workflows(&submit).inspect_err(|_| shell.metrics.invalid_config())?;
    check_roles(shell, &workflows, submit.plan.policy.mode).await?;
    let waypoints = submit.plan.waypoints.len();
    // Until the flight is counted as one that was begun.
    let _room = shell.open.admit(shell, &submit.flight, &by, waypoints).await?;
    let mut facts = facts(shell, &submit).await?;
    if !is_stored(shell, &facts.snapshot).await? {
        // It left with the last flight that named it.
        shell.snapshots.forget(&submit.snapshot);
        facts = self::facts(shell, &submit).await?;
    }
    let taken = append(shell, submit, workflows, facts, by, digest).await?;
    if let Taken::Now(books) = &taken {
        shell.open.opened(books.counted());
    }
    Ok(taken)
}

/// What is known of the snapshot, or can be found out.
async fn facts(shell: &Shell, submit: &Submit) -> Result<Facts, ApiFailure> {
    let look = async || look_at(shell, submit).await;
    shell.snapshots.facts(&submit.snapshot, &submit.covenant, look).await
}

/// Fetches the snapshot and checks it.
async fn look_at(shell: &Shell, submit: &Submit) -> Result<Facts, ApiFailure> {
    let snapshot = &submit.snapshot;
    let mirror = shell.mirrors.ensure(&shell.bus, &submit.flight, std::slice::from_ref(snapshot)).await;
    let mirror = mirror.map_err(|error| {
        let refused = error.is_refusal() || is_none_of(&error, snapshot) || is_missing(&error, snapshot);
        unusable("use the snapshot", refused, &error)
    })?;
    let base = from_wire(&submit.base);
    let tree = mirror.tree_of(&base).await;
    let tree = tree.map_err(|error| unusable("read the base", error.is_refusal(), &error))?;
    let covenant = covenant(&mirror, &tree, &submit.covenant).await;
    let covenant = covenant.map_err(|error| unusable("read the covenant", error.is_refusal(), &error))?;
    let index = index(shell, &mirror).await;
    let index = index.map_err(|error| unusable("store the snapshot's index", false, &error))?;
    // Never one that came with the request: agents take it for checked.
    let snapshot = BundleRef { index, ..submit.snapshot.clone() };
    Ok(Facts { tree: to_wire(&tree), covenant, snapshot })
}

/// Why a snapshot cannot be taken: for what is in it, which sending it again does not change, or for something here, as a git that
/// takes too long, or a disk that is full.
fn unusable(action: &str, is_refused: bool, error: &dyn std::error::Error) -> ApiFailure {
    let error = ErrorChain(error);
    if is_refused {
        return ApiFailure::new(400, format!("cannot {action}: {error}"));
    }
    ApiFailure::new(503, format!("cannot {action} now: {error}: submit it again"))
}

/// Whether what brings a snapshot is on the broker.
async fn is_stored(shell: &Shell, snapshot: &BundleRef) -> Result<bool, ApiFailure> {
    for blob in std::iter::once(&snapshot.blob).chain(&snapshot.index) {
        let missing = blobs::missing(&shell.bus, &blob.role, vec![blob.digest]).await;
        let missing =
            missing.map_err(|e| ApiFailure::new(503, format!("cannot look for the snapshot: {}", ErrorChain(&e))))?;
        if missing.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn check(submit: &Submit) -> Result<(), ApiFailure> {
    let refuse = |what: String| Err(ApiFailure::new(400, what));
    if submit.snapshot.tip != submit.base {
        return refuse(format!("the snapshot brings {}, not the base {}", submit.snapshot.tip, submit.base));
    }
    let fleet_or_own =
        submit.fleet.pool == streams::fleet_pool() || submit.fleet.pool == streams::flight_pool(&submit.flight);
    if !fleet_or_own {
        return refuse(format!("pool {} is neither the fleet's nor the flight's own", submit.fleet.pool));
    }
    let found = plan::validate_submission(submit);
    if let Some(waypoint) = submit.plan.waypoints.iter().find(|one| one.tests_file.is_some() && one.tests.is_empty()) {
        // The submitter has read the file: nobody else reads it.
        return refuse(format!("waypoint {} has a `testsFile` and no `tests`: send what the file says", waypoint.id));
    }
    let specs = workflows::specs(&submit.plan, &submit.workflows);
    if let Some(gate) = workflows::check_by_plan(&specs).next().filter(|_| submit.plan.checks.is_empty()) {
        // The submitter has looked at the repository: nobody else does.
        return refuse(format!("gate {gate} has `checks: auto`, and the plan has no `checks`: send which ones"));
    }
    if found.is_empty() {
        return Ok(());
    }
    refuse(format!("the plan cannot be flown: {}", found.in_a_line(PROBLEMS_TOLD_MAX)))
}

/// The workflows that the flight is flown by: those that its plan names, and those of children, sent along or built in, each sound.
fn workflows(submit: &Submit) -> Result<Vec<RecordedWorkflow>, ApiFailure> {
    let find = |name: &str| {
        let spec = workflows::named(name, &submit.workflows);
        let spec = spec.ok_or_else(|| ApiFailure::new(400, format!("workflow {name} is not known here")))?;
        match Workflow::try_new(&spec) {
            Ok(_) => Ok(spec),
            Err(error) => Err(ApiFailure::new(400, format!("workflow {name} cannot be flown: {error}"))),
        }
    };
    let nested = |name: &str| {
        let what = format!("workflow {name} is that of children, and has children itself");
        ApiFailure::new(400, format!("{what}: fly children by a workflow that has none"))
    };
    let used = workflows::used(&submit.plan).into_iter().map(str::to_owned);
    Ok(workflows::with_children(used, find, nested)?.into_iter().map(RecordedWorkflow::from).collect())
}

/// Refuses workflows with roles that the fleet does not have: nobody would ever take their turns. A role that was added just
/// now is waited for.
async fn check_roles(shell: &Shell, workflows: &[RecordedWorkflow], mode: Mode) -> Result<(), ApiFailure> {
    let specs = workflows.iter().map(|recorded| &recorded.workflow);
    let flown = specs.filter_map(|spec| Some(Workflow::try_new(spec).ok()?.under(mode)));
    let flown: Vec<Workflow> = flown.collect();
    let wanted = || flown.iter().flat_map(|workflow| workflow.agent_roles().map(move |(role, _)| (role, workflow)));
    if roles::known(shell, wanted().map(|(role, _)| role.clone()).collect()).await {
        return Ok(());
    }
    let roles = shell.roles();
    let Some((role, workflow)) = wanted().find(|(role, _)| !roles.is_agents(role)) else { return Ok(()) };
    if role.as_str() == role::SOLO {
        return Err(ApiFailure::new(400, ALONE));
    }
    let what = format!("workflow {} has gates of the role {role}, and this fleet has no such agents", workflow.name);
    let remedy = format!("add it with `holdpoint keys role add {role}` and reload the broker");
    Err(ApiFailure::new(400, format!("{what}: {remedy}")))
}

/// Stores what was found out when every object of the snapshot was checked, so that agents need not check them again.
async fn index(shell: &Shell, mirror: &Mirror) -> Result<Option<BlobRef>, IndexError> {
    let Some(file) = mirror.snapshot_index()? else { return Ok(None) };
    let role = role::id(role::ORCHESTRATOR);
    let bytes = std::fs::metadata(&file).map_err(|source| BlobError::Io { path: file.clone(), source })?.len();
    if bytes < INDEX_LEN_MIN {
        return Ok(None);
    }
    let digest = blobs::put_file(&shell.bus, &role, &file).await?;
    Ok(Some(BlobRef { role, digest, bytes }))
}

/// Why the index of a snapshot cannot be stored.
#[derive(Debug, thiserror::Error)]
enum IndexError {
    #[error(transparent)]
    Git(#[from] holdpoint_workspace::WorkspaceError),
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// The digest of the covenant's text on the base, wherever in its tree a link leads; of no bytes where there is none (FLY-19).
async fn covenant(
    mirror: &Mirror,
    tree: &holdpoint_workspace::ObjectId,
    path: &str,
) -> Result<Digest, holdpoint_workspace::WorkspaceError> {
    let entries = mirror.list_tree(tree).await?;
    let links = path_rules::links(mirror, &entries).await?;
    let file = links.resolve(path);
    let is_file = |entry: &&TreeEntry| entry.as_map_file().is_some_and(|entry| entry.path == file);
    let Some(entry) = entries.iter().find(is_file) else { return Ok(Digest::of(b"")) };
    Ok(Digest::of(&mirror.read_blob(&entry.oid, COVENANT_LEN_MAX).await?))
}

async fn append(
    shell: &Shell,
    submit: Submit,
    workflows: Vec<RecordedWorkflow>,
    facts: Facts,
    by: AgentName,
    digest: Digest,
) -> Result<Taken, ApiFailure> {
    let key = JournalKey::flight(&submit.flight);
    let message_id = format!("submit.{}.{}", submit.flight, digest.hex());
    let submitted = Submitted {
        schema_version: version::CURRENT,
        flight: submit.flight,
        by: Some(by),
        plan: submit.plan,
        base: submit.base,
        base_tree: facts.tree,
        snapshot: facts.snapshot,
        covenant: submit.covenant,
        covenant_version: facts.covenant,
        fleet: submit.fleet,
        workflows,
        record: Record::at(clock::now()),
    };
    let (kind, entry) = (EntryKind::Submitted, Entry::Submitted(Box::new(submitted)));
    let outgoing = outgoing(&entry, &kind, message_id, None)
        .map_err(|e| ApiFailure::new(400, format!("the plan cannot be stored: {}", ErrorChain(&e))))?;
    let digest = Digest::of(&outgoing.payload);
    let append = Append { key: &key, kind: &kind, fence: Fence::Flight, expected: Sequence(0), entry: outgoing };
    match (shell.journal.begin(append).await, entry) {
        (Ok(Begun::Now(sequence)), Entry::Submitted(submitted)) => {
            Ok(Taken::Now(Box::new(Books::new(*submitted, sequence, digest))))
        }
        (Ok(_), _) => Ok(Taken::Earlier),
        (Err(AppendError::Conflict { .. }), _) => {
            let left = retire::left(shell, &key.flight).await.ok().flatten();
            let what =
                left.map_or_else(|| "another flight with this id exists already".to_owned(), |left| left.to_string());
            Err(ApiFailure::new(409, format!("{what}: submit this one under another id")))
        }
        // It may be stored: the same again finds out.
        (Err(error @ AppendError::Unacknowledged { .. }), _) => {
            Err(ApiFailure::new(503, format!("the submission was not acknowledged: {}", ErrorChain(&error))))
        }
        (Err(error), _) => Err(ApiFailure::new(500, format!("cannot append the submission: {}", ErrorChain(&error)))),
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_sandbox::Tool;
    use holdpoint_workspace::{Import, InputLimits, UserRepo};

    use super::*;

    #[tokio::test]
    async fn the_version_of_a_covenant_is_the_digest_of_its_text_on_the_base() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("repo");
        std::fs::create_dir_all(repo.join("docs")).unwrap();
        std::fs::write(repo.join("docs/RULES.md"), "Be kind.\n").unwrap();
        std::os::unix::fs::symlink("docs/RULES.md", repo.join("CLAUDE.md")).unwrap();
        let by = ["-c", "user.name=U", "-c", "user.email=u@localhost"];
        for args in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "-m", "first"]] {
            Tool::new("git").args(by).args(args).dir(&repo).run_ok().await.unwrap();
        }
        let user = UserRepo::open(&repo).await.unwrap();
        let base = user.resolve("HEAD").await.unwrap();
        let bundle = user.snapshot(&base, &dir.path().join("snapshot.bundle")).await.unwrap();
        // What the working tree became meanwhile is nothing to it.
        std::fs::write(repo.join("docs/RULES.md"), "Be cruel.\n").unwrap();
        let folder = dir.path().join("mirror");
        std::fs::create_dir(&folder).unwrap();
        let mirror = Mirror::open_or_create(&folder, base.format(), InputLimits::default()).await.unwrap();
        mirror.import(Import { bundle: &bundle.path, ref_name: &bundle.ref_name, base: None }).await.unwrap();
        let tree = mirror.tree_of(&base).await.unwrap();
        for (path, text) in
            [("docs/RULES.md", "Be kind.\n"), ("CLAUDE.md", "Be kind.\n"), ("AGENTS.md", ""), ("docs", "")]
        {
            assert_eq!(covenant(&mirror, &tree, path).await.unwrap(), Digest::of(text.as_bytes()), "{path}");
        }
    }
}
