//! Families of subjects, and who tries them.

use holdpoint_protocol::{Digest, ids::role, streams, subjects};

use super::spies::Account;

/// Who tries: one user of each role.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    pub(super) role: &'static str,
    pub(super) name: String,
}

impl Actor {
    pub(super) fn new(role: &'static str) -> Self {
        Self { role, name: format!("{role}-1") }
    }

    /// The user that it would like to be.
    pub(super) fn victim(&self) -> &'static str {
        if self.role == role::VERIFIER { "builder-9" } else { "verifier-9" }
    }
}

/// A subject, from who tries and a mark that is found again.
type Subject = Box<dyn Fn(&Actor, &str) -> String>;

/// Subjects that are used for the same thing.
pub(super) struct Family {
    /// Its name in the table.
    pub(super) name: String,
    subject: Subject,
    /// What it is called in the account with the streams, where that differs.
    mapped: Option<String>,
    /// What is sent; the mark where it does not matter.
    payload: Option<&'static str>,
    /// It has wildcards: one can only listen to it.
    pub(super) listen_only: bool,
}

impl Family {
    fn new(name: impl Into<String>, subject: impl Fn(&Actor, &str) -> String + 'static) -> Self {
        Self { name: name.into(), subject: Box::new(subject), mapped: None, payload: None, listen_only: false }
    }

    fn fixed(subject: &'static str) -> Self {
        Self::new(subject, |_, _| subject.to_owned())
    }

    fn sending(mut self, payload: &'static str) -> Self {
        self.payload = Some(payload);
        self
    }

    pub(super) fn subject(&self, actor: &Actor, mark: &str) -> String {
        (self.subject)(actor, mark)
    }

    fn mapped_to(mut self, subject: String) -> Self {
        self.mapped = Some(subject);
        self
    }

    /// Its subject in an account.
    pub(super) fn subject_in(&self, account: Account, actor: &Actor, mark: &str) -> String {
        let mapped = self.mapped.as_ref().filter(|_| account == Account::Holdpoint);
        mapped.cloned().unwrap_or_else(|| self.subject(actor, mark))
    }

    pub(super) fn payload<'a>(&self, mark: &'a str) -> &'a str {
        self.payload.unwrap_or(mark)
    }
}

/// All roles that sign anything.
pub(super) const ROLES: [&str; 5] = [role::BUILDER, role::VERIFIER, role::REPAIR, role::OPERATOR, role::ORCHESTRATOR];
/// What a pull of one message says.
const PULL: &str = r#"{"batch":1,"no_wait":true}"#;

/// Everything that is tried.
pub(super) fn all() -> Vec<Family> {
    let mut all = stored();
    all.extend(read_and_pulled());
    all.extend(broker_api());
    all.extend(signals());
    all.extend(wildcards());
    all
}

/// What streams store.
fn stored() -> Vec<Family> {
    let mut all = vec![
        Family::new("journal decided", |_, mark| format!("hp.v1.journal.f.{mark}.decided")),
        Family::new("journal turn", |_, mark| format!("hp.v1.journal.f.{mark}.turn.builder.high.fleet")),
        Family::new("journal landed", |_, mark| format!("hp.v1.journal.{mark}._.landed")),
        Family::new("kv", |_, mark| format!("$KV.config.{mark}")),
        Family::new("object chunk", |_, mark| format!("$O.files.C.{mark}")),
        Family::new("object name", |_, mark| format!("$O.files.M.{mark}")),
    ];
    for role in ROLES {
        all.push(Family::new(format!("handoff {role}"), move |_, mark| {
            format!("hp.v1.handoff.{role}.0.f.{mark}.build_plan")
        }));
        all.push(Family::new(format!("blob {role}"), move |_, mark| {
            subjects::blob_chunk(&role::id(role), &Digest::of(mark.as_bytes()), 0)
        }));
    }
    all
}

/// A blob of each role that is there.
pub(super) fn known_blob(role: &'static str) -> String {
    subjects::blob_chunk(&role::id(role), &Digest::of(b"known"), 0)
}

/// What is read from streams, and taken from consumers.
fn read_and_pulled() -> Vec<Family> {
    let mut all = Vec::new();
    for role in ROLES {
        let within = subjects::direct_get(&streams::blob(&role::id(role)), &known_blob(role));
        let stream = within.clone();
        all.push(
            Family::new(format!("get blob {role}"), move |actor, _| match actor.role {
                role::ORCHESTRATOR => stream.clone(),
                _ => format!("$JS.API.DIRECT.GET.HP_BLOB.{}", known_blob(role)),
            })
            .mapped_to(within.clone())
            .sending(""),
        );
        all.push(Family::new(format!("get blob {role} by its stream"), move |_, _| within.clone()).sending(""));
    }
    all.push(Family::fixed("$JS.API.DIRECT.GET.HP_BLOB.hp.v1.blob.*.*.0").sending(""));
    let blobs = role::STORING.map(|name| streams::blob(&role::id(name)));
    let others = ["HP_JOURNAL", "HP_BLOB", "HP_HANDOFF_BUILDER", "HP_HANDOFF_VERIFIER", "KV_config"].map(str::to_owned);
    for stream in blobs.into_iter().chain(others) {
        let (name, get) = (format!("get {stream} by number"), format!("$JS.API.DIRECT.GET.{stream}"));
        all.push(Family::new(name, move |_, _| get.clone()).sending(r#"{"seq":1}"#));
    }
    all.push(Family::fixed("$JS.API.DIRECT.GET.HP_JOURNAL.hp.v1.journal.f.known.decided").sending(""));
    all.push(
        Family::fixed("$JS.API.DIRECT.GET.HP_HANDOFF_VERIFIER.hp.v1.handoff.verifier.0.f.known.build_plan").sending(""),
    );
    for consumer in ["builder_high_fleet", "verifier_high_fleet", "repair_high_fleet", "builder_high_other"] {
        let pull = move |_: &Actor, _: &str| format!("$JS.API.CONSUMER.MSG.NEXT.HP_JOURNAL.{consumer}");
        all.push(Family::new(format!("pull {consumer}"), pull).sending(PULL));
    }
    all.push(Family::fixed("$JS.API.CONSUMER.MSG.NEXT.HP_HANDOFF_BUILDER.orchestrator_0").sending(PULL));
    all
}

/// The broker's own API, and services in general.
fn broker_api() -> Vec<Family> {
    let calls = [
        ("INFO", ""),
        ("STREAM.NAMES", ""),
        ("STREAM.LIST", ""),
        ("STREAM.INFO.{}", ""),
        ("STREAM.CREATE.EVIL", r#"{"name":"EVIL","subjects":["evil.>"]}"#),
        ("STREAM.UPDATE.{}", r#"{"name":"HP_JOURNAL","subjects":["hp.v1.journal.>"],"max_msgs":1}"#),
        ("STREAM.DELETE.{}", ""),
        ("STREAM.PURGE.{}", ""),
        ("STREAM.MSG.GET.{}", r#"{"seq":1}"#),
        ("STREAM.MSG.DELETE.{}", r#"{"seq":1}"#),
        ("STREAM.SNAPSHOT.{}", r#"{"deliver_subject":"evil.snapshot"}"#),
        ("STREAM.RESTORE.EVIL", r#"{"config":{"name":"EVIL"},"state":{}}"#),
        ("STREAM.LEADER.STEPDOWN.{}", ""),
        ("STREAM.PEER.REMOVE.{}", r#"{"peer":"x"}"#),
        ("META.LEADER.STEPDOWN", ""),
        ("SERVER.REMOVE", r#"{"peer":"x"}"#),
        ("ACCOUNT.PURGE.HOLDPOINT", ""),
        ("CONSUMER.NAMES.{}", ""),
        ("CONSUMER.LIST.{}", ""),
        ("CONSUMER.INFO.{}.builder_high_fleet", ""),
        (
            "CONSUMER.CREATE.{}.evil",
            r#"{"stream_name":"HP_JOURNAL","config":{"name":"evil","durable_name":"evil","ack_policy":"none","deliver_subject":"hp.v1.journal.f.evil.decided"}}"#,
        ),
        (
            "CONSUMER.DURABLE.CREATE.{}.evil",
            r#"{"stream_name":"HP_JOURNAL","config":{"durable_name":"evil","ack_policy":"explicit"}}"#,
        ),
        ("CONSUMER.DELETE.{}.builder_high_fleet", ""),
        ("CONSUMER.PAUSE.{}.builder_high_fleet", r#"{"pause_until":"2099-01-01T00:00:00Z"}"#),
        ("CONSUMER.RESET.{}.builder_high_fleet", ""),
        ("CONSUMER.UNPIN.{}.builder_high_fleet", r#"{"group":"x"}"#),
        ("CONSUMER.LEADER.STEPDOWN.{}.builder_high_fleet", ""),
    ];
    let mut all = Vec::new();
    for (call, payload) in calls {
        // Those of users in the account with the streams are tried on a stream that nothing depends on.
        let subject = move |actor: &Actor, _: &str| {
            let inside = [role::ORCHESTRATOR, role::ARCHIVIST].contains(&actor.role);
            let stream = if inside { "DECOY" } else { "HP_JOURNAL" };
            format!("$JS.API.{}", call.replace("{}", stream))
        };
        all.push(Family::new(format!("$JS.API.{call}"), subject).sending(payload));
    }
    for subject in [
        "$SYS.REQ.SERVER.PING",
        "$SYS.REQ.SERVER.PING.CONNZ",
        "$SYS.REQ.ACCOUNT.PING.CONNZ",
        "$SYS.REQ.ACCOUNT.PING.STATZ",
        "$SYS.REQ.ACCOUNT.NSUBS",
        "$SYS.REQ.USER.INFO",
        "$SYS.REQ.CLAIMS.UPDATE",
        "$SYS.REQ.CLAIMS.DELETE",
        "$SRV.PING",
        "$SRV.INFO.holdpoint",
        "$SRV.STATS",
    ] {
        all.push(Family::fixed(subject).sending(""));
    }
    for endpoint in ["status", "submit", "progress", "complete", "task", "retire"] {
        all.push(Family::new(format!("api {endpoint}"), move |_, _| subjects::api(endpoint)));
    }
    all
}

/// What is heard and not stored.
fn signals() -> Vec<Family> {
    let mut all = vec![
        Family::new("own inbox", |actor, mark| format!("_INBOX.{}.own.{mark}", actor.name)),
        Family::new("inbox of another", |actor, mark| format!("_INBOX.{}.{mark}", actor.victim())),
        Family::new("inbox of nobody", |_, mark| format!("_INBOX.{mark}")),
        Family::new("inner reply", |_, mark| format!("_R_.{mark}")),
        Family::new("anything", |_, mark| format!("anything.{mark}")),
        Family::new("own refusals", |actor, _| format!("hp.v1.refused.{}.{}", actor.role, actor.name)),
        Family::new("own progress", |actor, _| format!("hp.v1.progress.{}.{}", actor.role, actor.name)),
        Family::new("own presence", |actor, _| format!("hp.v1.presence.{}.{}", actor.role, actor.name)),
        Family::new("own log", |actor, mark| format!("hp.v1.log.{}.{}.{mark}", actor.role, actor.name)),
        Family::new("presence of a colleague", |actor, _| format!("hp.v1.presence.{}.{}", actor.role, "colleague")),
        Family::new("log of a colleague", |actor, mark| format!("hp.v1.log.{}.colleague.{mark}", actor.role)),
    ];
    for role in ROLES {
        all.push(Family::new(format!("wake {role}"), move |_, _| format!("hp.v1.wake.{role}")));
        all.push(Family::new(format!("calls {role}"), move |_, _| format!("hp.v1.wake.{role}.fleet")));
        all.push(Family::new(format!("refusals {role}"), move |_, _| format!("hp.v1.refused.{role}.{role}-9")));
        all.push(Family::new(format!("progress {role}"), move |_, _| format!("hp.v1.progress.{role}.{role}-9")));
        all.push(Family::new(format!("presence {role}"), move |_, _| format!("hp.v1.presence.{role}.{role}-9")));
        all.push(Family::new(format!("log {role}"), move |_, mark| format!("hp.v1.log.{role}.{role}-9.{mark}")));
    }
    all
}

fn wildcards() -> Vec<Family> {
    let subjects = [
        ">",
        "*",
        "hp.>",
        "hp.v1.journal.>",
        "hp.v1.handoff.>",
        "hp.v1.blob.>",
        "hp.v1.api.>",
        "hp.v1.wake.>",
        "hp.v1.refused.>",
        "hp.v1.progress.>",
        "hp.v1.presence.>",
        "hp.v1.log.>",
        "_INBOX.>",
        "_INBOX.*.>",
        "_R_.>",
        "$JS.>",
        "$JS.API.>",
        "$JS.ACK.>",
        "$JS.EVENT.>",
        "$KV.>",
        "$O.>",
        "$SYS.>",
        "$SRV.>",
    ];
    subjects.into_iter().map(|subject| Family { listen_only: true, ..Family::fixed(subject) }).collect()
}
