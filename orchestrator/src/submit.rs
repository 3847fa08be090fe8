//! Taking a flight in: everything is checked before the first entry, and a repeated request is taken once.

use std::collections::BTreeSet;

use holdpoint_bus::{
    api::Failure,
    journal::{Append, AppendError},
};
use holdpoint_core::gates;
use holdpoint_protocol::{
    Digest,
    api::Submit,
    journal::{Entry, EntryKind, Record, Sequence, Submitted},
    streams,
    subjects::JournalKey,
    version,
};
use holdpoint_runtime::{
    clock,
    mirror::{from_wire, to_wire},
    telemetry::ErrorChain,
};
use holdpoint_workspace::RepoPath;

use crate::{books::outgoing, shell::Shell};

/// Bytes of a covenant that are read.
const COVENANT_LEN_MAX: usize = 1024 * 1024;

/// Checks a submission and appends it.
pub(crate) async fn submit(shell: &Shell, submit: Submit) -> Result<(), Failure> {
    check(&submit)?;
    let mirror = shell
        .mirrors
        .ensure(&shell.bus, &submit.flight, std::slice::from_ref(&submit.snapshot))
        .await
        .map_err(|e| Failure::new(400, format!("the snapshot cannot be used: {}", ErrorChain(&e))))?;
    let base = from_wire(&submit.base);
    let tree = mirror.tree_of(&base).await;
    let tree =
        tree.map_err(|e| Failure::new(400, format!("the snapshot does not bring the base: {}", ErrorChain(&e))))?;
    let covenant = covenant(&mirror, &tree, &submit.covenant).await;
    let covenant = covenant.map_err(|e| Failure::new(500, format!("cannot read the covenant: {}", ErrorChain(&e))))?;
    append(shell, submit, to_wire(&tree), covenant).await
}

fn check(submit: &Submit) -> Result<(), Failure> {
    let refuse = |what: String| Err(Failure::new(400, what));
    if submit.snapshot.tip != submit.base {
        return refuse(format!("the snapshot brings {}, not the base {}", submit.snapshot.tip, submit.base));
    }
    let fleet_or_own =
        submit.fleet.pool == streams::fleet_pool() || submit.fleet.pool == streams::flight_pool(&submit.flight);
    if !fleet_or_own {
        return refuse(format!("pool {} is neither the fleet's nor the flight's own", submit.fleet.pool));
    }
    let plan = &submit.plan;
    let ids: BTreeSet<_> = plan.waypoints.iter().map(|w| &w.id).collect();
    if plan.waypoints.is_empty() || ids.len() != plan.waypoints.len() {
        return refuse("a plan needs waypoints, each with an id of its own".to_owned());
    }
    for waypoint in &plan.waypoints {
        let workflow = waypoint.workflow.as_ref().unwrap_or(&plan.workflow);
        if gates::built_in(workflow).is_none() {
            return refuse(format!("workflow {workflow} of waypoint {} is not known here", waypoint.id));
        }
        if waypoint.criteria.is_empty() || waypoint.depends_on.iter().any(|d| !ids.contains(d)) {
            return refuse(format!("waypoint {} has no criteria, or depends on an unknown one", waypoint.id));
        }
    }
    Ok(())
}

/// The digest of the covenant's text on the base; of no bytes where there is none (FLY-19).
async fn covenant(
    mirror: &holdpoint_workspace::Mirror,
    tree: &holdpoint_workspace::Oid,
    path: &str,
) -> Result<Digest, holdpoint_workspace::Error> {
    let Ok(path) = RepoPath::new(path.as_bytes()) else { return Ok(Digest::of(b"")) };
    let entries = mirror.list_tree(tree).await?;
    let Some(entry) = entries.iter().find(|e| e.path == path) else { return Ok(Digest::of(b"")) };
    Ok(Digest::of(&mirror.read_blob(&entry.oid, COVENANT_LEN_MAX).await?))
}

async fn append(
    shell: &Shell,
    submit: Submit,
    base_tree: holdpoint_protocol::facts::Oid,
    covenant_version: Digest,
) -> Result<(), Failure> {
    let key = JournalKey::flight(&submit.flight);
    let message_id = format!("submit.{}", submit.flight);
    let entry = Entry::Submitted(Box::new(Submitted {
        schema_version: version::CURRENT,
        flight: submit.flight,
        plan: submit.plan,
        base: submit.base,
        base_tree,
        snapshot: submit.snapshot,
        covenant: submit.covenant,
        covenant_version,
        fleet: submit.fleet,
        record: Record { at: clock::now(), previous: None, cause: None, state: None },
    }));
    let kind = EntryKind::Submitted;
    let entry = outgoing(&entry, &kind, message_id, None)
        .map_err(|e| Failure::new(400, format!("the plan cannot be stored: {}", ErrorChain(&e))))?;
    let append = Append { key: &key, kind: &kind, expected: Sequence(0), entry };
    match shell.journal.append(append).await {
        Ok(_) => Ok(()),
        Err(AppendError::Conflict { .. }) => Err(Failure::new(409, "a flight with this id exists already")),
        Err(error) => Err(Failure::new(500, format!("cannot append the submission: {}", ErrorChain(&error)))),
    }
}
