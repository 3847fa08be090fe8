//! What the broker lets happen: the one place where it is written down for every role.

use std::collections::BTreeSet;

use super::{Line, families::Family, ways::Way};

/// Roles; family (`<role>`: the role's own); ways; what comes of it. Everything that is not here has no effect. Actions
/// of an orchestrator within its own account are not here.
///
/// Reply subjects are not checked by the broker: an answer goes where the sender says, but within its own account only
/// (`agents-elsewhere`), and never into a stream (`forged`). Inboxes have names that cannot be guessed.
///
/// The broker serves its API, and questions about an account, from the system's account (`system`). Calls that would
/// undo what is written, and those about other accounts, are not among them, but for an archivist's purge.
const TABLE: &str = "
builder verifier repair operator | handoff <role>         | publish                                                        | stored agents holdpoint
builder verifier repair operator | handoff <role>         | request message-id                                             | stored agents holdpoint answered
builder verifier repair operator | handoff <role>         | reply-*                                                        | stored agents agents-elsewhere holdpoint
builder verifier repair operator | handoff <role>         | schedule-* rollup ttl batch                                    | agents holdpoint refused

builder verifier repair operator | blob <role>            | publish                                                        | stored agents holdpoint
builder verifier repair operator | blob <role>            | request message-id                                             | stored agents holdpoint answered
builder verifier repair operator | blob <role>            | reply-*                                                        | stored agents agents-elsewhere holdpoint
builder verifier repair operator | blob <role>            | schedule-* rollup ttl batch                                    | agents holdpoint refused

builder verifier repair operator | get blob builder       | publish                                                        | agents holdpoint
builder verifier repair operator | get blob builder       | request message-id schedule-* rollup ttl batch                 | agents holdpoint answered
builder verifier repair operator | get blob builder       | reply-*                                                        | agents agents-elsewhere holdpoint
builder verifier repair operator | get blob repair        | publish                                                        | agents holdpoint
builder verifier repair operator | get blob repair        | request message-id schedule-* rollup ttl batch                 | agents holdpoint answered
builder verifier repair operator | get blob repair        | reply-*                                                        | agents agents-elsewhere holdpoint
builder verifier repair operator | get blob operator      | publish                                                        | agents holdpoint
builder verifier repair operator | get blob operator      | request message-id schedule-* rollup ttl batch                 | agents holdpoint answered
builder verifier repair operator | get blob operator      | reply-*                                                        | agents agents-elsewhere holdpoint
builder verifier repair operator | get blob orchestrator  | publish                                                        | agents holdpoint
builder verifier repair operator | get blob orchestrator  | request message-id schedule-* rollup ttl batch                 | agents holdpoint answered
builder verifier repair operator | get blob orchestrator  | reply-*                                                        | agents agents-elsewhere holdpoint
verifier repair operator         | get blob verifier      | publish                                                        | agents holdpoint
verifier repair operator         | get blob verifier      | request message-id schedule-* rollup ttl batch                 | agents holdpoint answered
verifier repair operator         | get blob verifier      | reply-*                                                        | agents agents-elsewhere holdpoint
builder verifier repair operator | $JS.API.DIRECT.GET.HP_BLOB.hp.v1.blob.*.*.0 | publish request message-id schedule-* rollup ttl batch reply-* | agents

builder verifier repair          | pull <role>_high_fleet | publish request message-id schedule-* rollup ttl batch reply-* | agents holdpoint

builder verifier repair          | api progress           | publish                                                        | agents holdpoint
builder verifier repair          | api progress           | request message-id schedule-* rollup ttl batch                 | agents holdpoint refused
builder verifier repair          | api progress           | reply-*                                                        | agents agents-elsewhere holdpoint
builder verifier repair operator | api complete           | publish                                                        | agents holdpoint
builder verifier repair operator | api complete           | request message-id schedule-* rollup ttl batch                 | agents holdpoint refused
builder verifier repair operator | api complete           | reply-*                                                        | agents agents-elsewhere holdpoint
builder verifier repair operator | api task               | publish                                                        | agents holdpoint
builder verifier repair operator | api task               | request message-id schedule-* rollup ttl batch                 | agents holdpoint refused
builder verifier repair operator | api task               | reply-*                                                        | agents agents-elsewhere holdpoint
operator                         | api status             | publish                                                        | agents holdpoint
operator                         | api status             | request message-id schedule-* rollup ttl batch                 | agents holdpoint refused
operator                         | api status             | reply-*                                                        | agents agents-elsewhere holdpoint
operator                         | api submit             | publish                                                        | agents holdpoint
operator                         | api submit             | request message-id schedule-* rollup ttl batch                 | agents holdpoint refused
operator                         | api submit             | reply-*                                                        | agents agents-elsewhere holdpoint

builder verifier repair operator | own presence           | publish request message-id schedule-* rollup ttl batch reply-* | agents holdpoint
builder verifier repair operator | own log                | publish request message-id schedule-* rollup ttl batch reply-* | agents holdpoint

builder verifier repair          | wake <role>            | subscribe queue                                                | hears-agents hears-holdpoint
builder verifier repair          | calls <role>           | subscribe queue                                                | hears-agents hears-holdpoint
builder verifier repair          | own progress           | subscribe queue                                                | hears-agents hears-holdpoint
builder verifier repair operator | own refusals           | subscribe queue                                                | hears-agents hears-holdpoint
builder verifier repair operator | own inbox              | subscribe queue                                                | hears-agents
operator                         | own presence           | subscribe queue                                                | hears-agents
operator                         | presence *             | subscribe queue                                                | hears-agents
operator                         | hp.v1.presence.>       | subscribe queue                                                | hears-agents
operator                         | own log                | subscribe queue                                                | hears-agents
operator                         | log *                  | subscribe queue                                                | hears-agents
operator                         | hp.v1.log.>            | subscribe queue                                                | hears-agents

archivist                        | $JS.API.DIRECT.GET.*   | publish request message-id reply-* schedule-* rollup ttl batch | inside
archivist                        | get *                  | publish request message-id reply-* schedule-* rollup ttl batch | inside
archivist                        | api status             | publish request message-id reply-* schedule-* rollup ttl batch | inside
archivist                        | api retire             | publish request message-id reply-* schedule-* rollup ttl batch | inside
archivist                        | $JS.API.STREAM.NAMES   | publish request message-id reply-* schedule-* rollup ttl batch | inside system
archivist                        | $JS.API.STREAM.INFO.{} | publish request message-id reply-* schedule-* rollup ttl batch | inside system
archivist                        | $JS.API.STREAM.MSG.GET.{} | publish request message-id reply-* schedule-* rollup ttl batch | inside system
archivist                        | $JS.API.STREAM.PURGE.{} | publish request message-id reply-* schedule-* rollup ttl batch | inside system
archivist                        | blob builder           | subscribe queue                                                | hears-agents hears-holdpoint
archivist                        | blob verifier          | subscribe queue                                                | hears-agents hears-holdpoint
archivist                        | blob repair            | subscribe queue                                                | hears-agents hears-holdpoint
archivist                        | blob operator          | subscribe queue                                                | hears-agents hears-holdpoint
archivist                        | blob orchestrator      | subscribe queue                                                | hears-holdpoint
archivist                        | hp.v1.blob.>           | subscribe queue                                                | hears-agents hears-holdpoint

orchestrator                     | handoff builder        | subscribe queue                                                | hears-agents
orchestrator                     | handoff verifier       | subscribe queue                                                | hears-agents
orchestrator                     | handoff repair         | subscribe queue                                                | hears-agents
orchestrator                     | handoff operator       | subscribe queue                                                | hears-agents
orchestrator                     | blob builder           | subscribe queue                                                | hears-agents
orchestrator                     | blob verifier          | subscribe queue                                                | hears-agents
orchestrator                     | blob repair            | subscribe queue                                                | hears-agents
orchestrator                     | blob operator          | subscribe queue                                                | hears-agents
orchestrator                     | get blob *             | subscribe queue                                                | hears-agents
orchestrator                     | pull *                 | subscribe queue                                                | hears-agents
orchestrator                     | api *                  | subscribe queue                                                | hears-agents
orchestrator                     | >                      | subscribe queue                                                | hears-agents
orchestrator                     | hp.>                   | subscribe queue                                                | hears-agents
orchestrator                     | hp.v1.handoff.>        | subscribe queue                                                | hears-agents
orchestrator                     | hp.v1.blob.>           | subscribe queue                                                | hears-agents
orchestrator                     | hp.v1.api.>            | subscribe queue                                                | hears-agents
orchestrator                     | $JS.>                  | subscribe queue                                                | hears-agents
orchestrator                     | $JS.API.>              | subscribe queue                                                | hears-agents
orchestrator                     | own presence           | subscribe queue                                                | hears-agents
orchestrator                     | presence *             | subscribe queue                                                | hears-agents
orchestrator                     | hp.v1.presence.>       | subscribe queue                                                | hears-agents
orchestrator                     | own log                | subscribe queue                                                | hears-agents
orchestrator                     | log *                  | subscribe queue                                                | hears-agents
orchestrator                     | hp.v1.log.>            | subscribe queue                                                | hears-agents
orchestrator                     | wake *                 | publish request message-id reply-* schedule-* rollup ttl batch trace-* | agents
orchestrator                     | calls *                | publish request message-id reply-* schedule-* rollup ttl batch trace-* | agents
orchestrator                     | own refusals           | publish request message-id reply-* schedule-* rollup ttl batch trace-* | agents
orchestrator                     | refusals *             | publish request message-id reply-* schedule-* rollup ttl batch trace-* | agents
orchestrator                     | own progress           | publish request message-id reply-* schedule-* rollup ttl batch trace-* | agents
orchestrator                     | progress *             | publish request message-id reply-* schedule-* rollup ttl batch trace-* | agents
orchestrator                     | $JS.API.INFO           | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.STREAM.NAMES   | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.STREAM.LIST    | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.STREAM.INFO.{} | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.STREAM.CREATE.EVIL | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.STREAM.UPDATE.{} | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.STREAM.MSG.GET.{} | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.STREAM.SNAPSHOT.{} | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.STREAM.LEADER.STEPDOWN.{} | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.META.LEADER.STEPDOWN | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.SERVER.REMOVE  | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.NAMES.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.LIST.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.INFO.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.CREATE.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.DURABLE.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.DELETE.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.PAUSE.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.RESET.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.UNPIN.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $JS.API.CONSUMER.LEADER.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $SYS.REQ.ACCOUNT.PING.* | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $SYS.REQ.SERVER.PING.CONNZ | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
orchestrator                     | $SYS.REQ.USER.INFO     | publish request message-id reply-* schedule-* rollup ttl batch trace-* | system
";

/// The table, a line for each role, family and way.
pub(super) fn allowed(roles: &[&str], families: &[Family]) -> BTreeSet<Line> {
    let mut lines = BTreeSet::new();
    for line in TABLE.lines().filter(|line| !line.trim().is_empty()) {
        let columns: Vec<_> = line.split('|').map(str::trim).collect();
        let [whose, family, ways, effect] = columns[..] else { panic!("not four columns: {line}") };
        for role in whose.split(' ').filter(|role| roles.contains(role)) {
            let named = families.iter().filter(|known| matches(&family.replace("<role>", role), &known.name));
            for known in named {
                for way in Way::PUBLISHING.into_iter().chain(Way::LISTENING) {
                    if ways.split(' ').any(|pattern| matches(pattern, way.word())) {
                        lines.insert((role.to_owned(), known.name.clone(), way.word().to_owned(), effect.to_owned()));
                    }
                }
            }
        }
    }
    lines
}

/// A pattern is a name, or the beginning of one and `*`.
fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |begin| name.starts_with(begin))
}
