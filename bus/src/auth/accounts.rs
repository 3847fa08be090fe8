//! The claims of operator, accounts and users: who exports what to whom.
//!
//! `HOLDPOINT` holds the streams and the orchestrators. `AGENTS` sees imports only: with plain permissions in one
//! account a reply subject or a schedule header is enough to make the broker itself write what the sender may not.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    ids::{AgentName, RoleId},
    roles::Roles,
    streams, subjects,
};
use serde_json::{Value, json};

use super::{
    jwt::VERSION,
    permissions::{self, Template},
};
use crate::connections;

/// A service of `HOLDPOINT` that `AGENTS` uses.
struct Service {
    /// Its subject in `HOLDPOINT`.
    subject: String,
    /// Where `AGENTS` asks for it.
    asked: String,
}

impl Service {
    fn same(subject: String) -> Self {
        Self { asked: subject.clone(), subject }
    }

    /// Gets of a role's blobs and transcripts. Which stream they are in is nobody's business in `AGENTS`.
    fn gets_of(role: &RoleId) -> [Self; 2] {
        [subjects::blobs_of(role), subjects::talk_of(role)].map(|chunks| Self {
            subject: subjects::direct_get(&streams::blob(role), &chunks),
            asked: subjects::direct_get(streams::BLOB_GETS, &chunks),
        })
    }

    fn export(&self) -> Value {
        export(&self.subject, "service")
    }

    fn import(&self, account: &str) -> Value {
        let mut import = import(&self.subject, "service", account);
        if self.asked != self.subject {
            import["local_subject"] = json!(self.asked);
        }
        import
    }
}

/// All services of a fleet with these roles. Each gives one answer to a request: a pull is for one turn.
fn services(roles: &Roles) -> Vec<Service> {
    let mut services = Vec::new();
    for role in roles.handing() {
        services.push(Service::same(subjects::handoffs_of(&role)));
        services.push(Service::same(subjects::blobs_of(&role)));
        services.push(Service::same(subjects::talk_of(&role)));
    }
    services.extend(roles.storing().iter().flat_map(Service::gets_of));
    services.extend(permissions::turn_subjects("*").map(Service::same));
    services.push(Service::same(subjects::api(">")));
    services
}

fn to_agents() -> [String; 3] {
    ["wake", "refused", "progress"].map(|signal| format!("{}.{signal}.>", subjects::ROOT))
}

fn from_agents() -> [String; 2] {
    [format!("{}.presence.>", subjects::ROOT), format!("{}.log.>", subjects::ROOT)]
}

fn export(subject: &str, kind: &str) -> Value {
    json!({"name": subject, "subject": subject, "type": kind})
}

fn import(subject: &str, kind: &str, account: &str) -> Value {
    json!({"name": subject, "subject": subject, "account": account, "type": kind})
}

/// Connections of agents and people together, on all servers: below the 65,536 that a server takes by default, so that
/// orchestrators always find room.
pub(crate) const CONNECTIONS_MAX: u64 = 8_192;

/// Limits of an account. Only the account with the streams may use JetStream.
fn limits(jetstream: bool, connections: Option<u64>) -> Value {
    let store = if jetstream { -1 } else { 0 };
    let connections = connections.map_or_else(|| json!(-1), |most| json!(most));
    json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": connections,
        "leaf": -1, "mem_storage": store, "disk_storage": store, "streams": store, "consumer": store,
    })
}

/// `nats` of the operator's own claims.
pub(super) fn operator(system_account: &str) -> Value {
    json!({"type": "operator", "version": VERSION, "system_account": system_account})
}

/// `nats` of the system account. Its one user is that of [`connections()`].
pub(super) fn system(revoked: &BTreeMap<String, u64>) -> Value {
    json!({"type": "account", "version": VERSION, "limits": limits(false, None), "revocations": revoked})
}

/// Subscriptions of the user `connections`: what it hears, and its inbox.
const SYSTEM_SUBSCRIPTIONS_MAX: i64 = 16;

/// `nats` of the one user of the system account: it looks at the connections of agents and people, and ends them. Ending
/// takes a number, which permissions cannot narrow to an account.
pub(super) fn connections(agents: &str, name: &AgentName) -> Value {
    let publish = [connections::look(agents), connections::end("*")];
    let subscribe = [connections::changes(agents), connections::gone(agents), format!("_INBOX.{name}.>")];
    json!({
        "type": "user", "version": VERSION, "pub": {"allow": publish}, "sub": {"allow": subscribe},
        "subs": SYSTEM_SUBSCRIPTIONS_MAX, "data": -1, "payload": -1,
    })
}

/// `nats` of the account with the streams. `revoked` is by public key, seconds since the epoch.
pub(super) fn holdpoint(
    agents: &str,
    roles: &Roles,
    signing_keys: &[String],
    revoked: &BTreeMap<String, u64>,
) -> Value {
    let mut exports: Vec<Value> = services(roles).iter().map(Service::export).collect();
    exports.extend(to_agents().iter().map(|subject| export(subject, "stream")));
    let imports: Vec<Value> = from_agents().iter().map(|subject| import(subject, "stream", agents)).collect();
    json!({
        "type": "account", "version": VERSION, "limits": limits(true, None),
        "exports": exports, "imports": imports, "signing_keys": signing_keys, "revocations": revoked,
    })
}

/// `nats` of the account of agents and people. Each signing key is scoped to what its role may do.
pub(super) fn agents(
    holdpoint: &str,
    roles: &Roles,
    signing_keys: &[(&RoleId, &str, Template)],
    revoked: &BTreeMap<String, u64>,
) -> Value {
    let mut imports: Vec<Value> = services(roles).iter().map(|service| service.import(holdpoint)).collect();
    imports.extend(to_agents().iter().map(|subject| import(subject, "stream", holdpoint)));
    let exports: Vec<Value> = from_agents().iter().map(|subject| export(subject, "stream")).collect();
    let scopes: Vec<Value> = signing_keys
        .iter()
        .map(|(role, key, template)| json!({"kind": "user_scope", "key": key, "role": role, "template": template}))
        .collect();
    json!({
        "type": "account", "version": VERSION, "limits": limits(false, Some(CONNECTIONS_MAX)),
        "exports": exports, "imports": imports, "signing_keys": scopes, "revocations": revoked,
    })
}

/// `nats` of a user under a scoped key: permissions come from the key's template, and must not be here.
pub(super) fn scoped_user(account: &str, tags: &[String]) -> Value {
    json!({"type": "user", "version": VERSION, "issuer_account": account, "tags": tags})
}

/// Calls that would undo what is written, in the words of the broker's API. Of these an archivist has one, for messages, and a
/// migrator one, which the broker refuses where the stream is.
const UNMAKING: [&str; 6] = [
    "$JS.API.STREAM.DELETE.>",
    "$JS.API.STREAM.PURGE.>",
    "$JS.API.STREAM.MSG.DELETE.>",
    "$JS.API.STREAM.RESTORE.>",
    "$JS.API.STREAM.PEER.REMOVE.>",
    "$JS.API.ACCOUNT.PURGE.>",
];

/// `nats` of an orchestrator: everything within its account but unmaking what is written.
pub(super) fn orchestrator(account: &str) -> Value {
    json!({
        "type": "user", "version": VERSION, "issuer_account": account,
        "pub": {"deny": UNMAKING}, "sub": {}, "subs": -1, "data": -1, "payload": -1,
    })
}

/// Subscriptions of an archivist: its inbox, and uploads.
const ARCHIVIST_SUBSCRIPTIONS_MAX: i64 = 16;

/// `nats` of an archivist: it reads the streams and deletes messages of them by subject. It appends to no journal, hands nothing off,
/// and makes, changes or deletes no stream or consumer. Which messages it deletes is in its request, which permissions do not see:
/// who holds this key can empty every stream.
pub(super) fn archivist(account: &str, name: &AgentName) -> Value {
    let streams = ["STREAM.NAMES", "STREAM.INFO.*", "STREAM.MSG.GET.*", "DIRECT.GET.>", "STREAM.PURGE.*"];
    let calls = streams.iter().map(|call| format!("$JS.API.{call}"));
    let publish: Vec<String> = calls.chain(permissions::OF_ARCHIVISTS.map(subjects::api)).collect();
    let subscribe: Vec<String> = subjects::uploads().into_iter().chain([format!("_INBOX.{name}.>")]).collect();
    json!({
        "type": "user", "version": VERSION, "issuer_account": account,
        "pub": {"allow": publish}, "sub": {"allow": subscribe},
        "subs": ARCHIVIST_SUBSCRIPTIONS_MAX, "data": -1, "payload": -1,
    })
}

/// Subscriptions of a migrator: its inbox.
const MIGRATOR_SUBSCRIPTIONS_MAX: i64 = 4;

/// `nats` of a migrator, which the account itself signs: it reads the streams, copies them out, and restores copies where no stream
/// has the name. A copy says itself what the stream is: who holds this key can make streams of any kind.
pub(super) fn migrator(name: &AgentName) -> Value {
    let calls =
        ["NAMES", "INFO.*", "MSG.GET.*", "SNAPSHOT.*", "RESTORE.*"].map(|call| format!("$JS.API.STREAM.{call}"));
    let copies = ["$JS.API.DIRECT.GET.>", "$JS.SNAPSHOT.ACK.>", "$JS.SNAPSHOT.RESTORE.>"].map(str::to_owned);
    // Whether an orchestrator still runs.
    let orchestrators = format!("$SRV.PING.{}", crate::api::SERVICE);
    let publish: Vec<String> = calls.into_iter().chain(copies).chain([orchestrators]).collect();
    json!({
        "type": "user", "version": VERSION, "pub": {"allow": publish}, "sub": {"allow": [format!("_INBOX.{name}.>")]},
        "subs": MIGRATOR_SUBSCRIPTIONS_MAX, "data": -1, "payload": -1,
    })
}
