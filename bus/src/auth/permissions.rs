//! What a role may publish and read: the templates of the scoped signing keys.
//!
//! The server fills `{{…}}` in from the user's JWT: its name, and the pool in its tags. The role is in the template
//! itself, so that the holder of a role's signing key can make users of that role only.

use holdpoint_protocol::{
    api::{ARTIFACT, EXPORT, FLIGHTS, MESSAGES, STATUS},
    completing::{COMPLETE, TASK},
    facts::Harness,
    ids::{PoolId, RoleId, role},
    plan::Priority,
    retire::RETIRE,
    streams, subjects,
};
use serde::{Deserialize, Serialize};

/// The tag that names the user's pool.
const POOL_TAG: &str = "pool";

/// The tag that names Holdpoint's own harness. No permission depends on it.
const HARNESS_TAG: &str = "harness";

/// Subscriptions of one connection: an agent has a handful, and a client library a few more.
const SUBSCRIPTIONS_MAX: i64 = 128;

/// The permissions part of a scoped signing key, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Template {
    #[serde(rename = "pub")]
    publish: Lists,
    #[serde(rename = "sub")]
    subscribe: Lists,
    subs: i64,
    data: i64,
    payload: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Lists {
    allow: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deny: Vec<String>,
}

/// The template of a role's signing key. `makes`: its turns make work, as a builder's do.
///
/// It names no other role, so that a role more changes nobody's permissions: the broker ends the connections of the
/// users whose permissions change.
pub(super) fn template(role: &RoleId, makes: bool) -> Template {
    let root = subjects::ROOT;
    let mut publish = Lists {
        allow: vec![
            subjects::handoffs_of(role),
            subjects::blobs_of(role),
            format!("{root}.presence.{role}.{{{{name()}}}}"),
            format!("{root}.log.{role}.{{{{name()}}}}.>"),
        ],
        deny: Vec::new(),
    };
    let mut subscribe = Lists {
        allow: vec!["_INBOX.{{name()}}.>".to_owned(), format!("{root}.refused.{role}.{{{{name()}}}}")],
        deny: Vec::new(),
    };
    publish.allow.push(subjects::direct_get(streams::BLOB_GETS, &subjects::blobs()));
    if makes {
        // Conversations of its programs are for this role alone.
        publish.allow.push(subjects::talk_of(role));
        publish.allow.push(subjects::direct_get(streams::BLOB_GETS, &subjects::talk_of(role)));
    }
    if makes && role.as_str() != role::REPAIR {
        // A maker of work does not see how it is judged. Repair gets the evidence, and people see everything.
        publish.deny.push(subjects::direct_get(streams::BLOB_GETS, &subjects::blobs_of(&role::id(role::VERIFIER))));
    }
    if takes_turns(role) {
        publish.allow.extend(OF_AGENTS.map(subjects::api));
        let consumers = Priority::ALL.map(|priority| format!("{role}_{}_{{{{tag({POOL_TAG})}}}}", priority.as_str()));
        publish.allow.extend(consumers.iter().flat_map(|consumer| turn_subjects(consumer)));
        let wake_one = format!("{}.{{{{tag({POOL_TAG})}}}}", subjects::wake(role));
        subscribe.allow.extend([subjects::wake(role), wake_one, format!("{root}.progress.{role}.{{{{name()}}}}")]);
    } else {
        publish.allow.push(subjects::api(">"));
        publish.deny.extend([PROGRESS, RETIRE].map(subjects::api));
        subscribe.allow.extend([format!("{root}.presence.>"), format!("{root}.log.>")]);
    }
    Template { publish, subscribe, subs: SUBSCRIPTIONS_MAX, data: -1, payload: -1 }
}

/// The endpoint without which work stalls, and the one that is for agents alone.
pub(crate) const PROGRESS: &str = holdpoint_protocol::api::PROGRESS;

/// The endpoints for agents. People call all but the first as well.
pub(crate) const OF_AGENTS: [&str; 3] = [PROGRESS, COMPLETE, TASK];

/// The endpoints for archivists. People call all but the last as well.
pub(crate) const OF_ARCHIVISTS: [&str; 6] = [STATUS, FLIGHTS, ARTIFACT, EXPORT, MESSAGES, RETIRE];

/// Whether users of this role may call the endpoint.
pub(crate) fn may_call(role: &RoleId, endpoint: &str) -> bool {
    match role.as_str() {
        role::OPERATOR => ![PROGRESS, RETIRE].contains(&endpoint),
        role::ARCHIVIST => OF_ARCHIVISTS.contains(&endpoint),
        _ => OF_AGENTS.contains(&endpoint),
    }
}

/// Whether credentials of this role are for a pool of agents. The others are people and their scripts, and the fleet's own.
pub(super) fn takes_turns(role: &RoleId) -> bool {
    !role::OWN.contains(&role.as_str())
}

/// What is published to pull from a consumer of the journal and to acknowledge. Acknowledgements have two forms: the
/// longer one, with domain and account, comes with server 2.16. Not `CONSUMER.INFO`: the server answers it for the account
/// of the asker, which has no streams.
pub(super) fn turn_subjects(consumer: &str) -> [String; 3] {
    let stream = streams::JOURNAL;
    [
        format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"),
        format!("$JS.ACK.{stream}.{consumer}.>"),
        format!("$JS.ACK._.*.{stream}.{consumer}.>"),
    ]
}

/// The tags of an agent's JWT: its pool, and whose harness it is for where that is Holdpoint's own.
pub(super) fn agent_tags(pool: &PoolId, harness: Harness) -> Vec<String> {
    let mut tags = vec![format!("{POOL_TAG}:{pool}")];
    if !harness.is_foreign() {
        tags.push(own_harness());
    }
    tags
}

/// Whether a tag names an agent's pool.
pub(super) fn is_pool(tag: &str) -> bool {
    tag.split_once(':').is_some_and(|(name, _)| name == POOL_TAG)
}

/// Whose harness a user's tags name. Only the role's signing key can put them there.
pub(super) fn harness(tags: &[String]) -> Harness {
    if tags.contains(&own_harness()) { Harness::Holdpoint } else { Harness::Foreign }
}

fn own_harness() -> String {
    format!("{HARNESS_TAG}:{}", Harness::Holdpoint.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_broker_and_the_service_let_the_same_calls_through() {
        for name in [role::BUILDER, "writer", role::OPERATOR] {
            let role: RoleId = name.parse().unwrap();
            let Lists { allow, deny } = template(&role, false).publish;
            for endpoint in [PROGRESS, COMPLETE, TASK, RETIRE, "submit"] {
                let subject = subjects::api(endpoint);
                let allowed = allow.contains(&subject) || allow.contains(&subjects::api(">"));
                assert_eq!(allowed && !deny.contains(&subject), may_call(&role, endpoint), "{name} {endpoint}");
            }
        }
    }

    #[test]
    fn a_template_names_the_consumers_that_turns_are_in() {
        let role = role::id(role::REPAIR);
        let allowed = template(&role, true).publish.allow;
        for priority in Priority::ALL {
            let pool = streams::fleet_pool();
            let consumer = streams::turn_consumer(&role, &pool, priority);
            let templated = consumer.replace(pool.as_str(), "{{tag(pool)}}");
            for subject in turn_subjects(&templated) {
                assert!(allowed.contains(&subject), "{subject}");
            }
        }
    }
}
