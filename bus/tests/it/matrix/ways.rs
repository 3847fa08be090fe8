//! Ways to use a subject, and what each may bring about.

use async_nats::HeaderMap;
use holdpoint_protocol::ids::role;

use super::families::Actor;

/// One way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A plain publish.
    Publish,
    /// With a reply subject of one's own.
    Request,
    /// So that an answer goes into the journal.
    ReplyIntoJournal,
    /// So that an answer becomes a verifier's handoff (a builder's, for a verifier).
    ReplyIntoHandoff,
    /// So that an answer goes to another user's inbox.
    ReplyIntoInbox,
    /// A message for later, into the journal.
    ScheduleJournal,
    /// A message for later, into another role's handoffs.
    ScheduleHandoff,
    /// Everything before is to be forgotten.
    Rollup,
    /// It is to be forgotten soon.
    TimeToLive,
    /// With the id that another user's message will have.
    MessageId,
    /// As a part of a batch.
    Batch,
    /// The broker is to report on the message into the journal.
    TraceIntoJournal,
    /// The broker is to report on the message into another role's handoffs.
    TraceIntoHandoff,
    /// Listening.
    Subscribe,
    /// Listening together with others.
    QueueSubscribe,
}

impl Way {
    pub(super) const PUBLISHING: [Self; 13] = [
        Self::Publish,
        Self::Request,
        Self::ReplyIntoJournal,
        Self::ReplyIntoHandoff,
        Self::ReplyIntoInbox,
        Self::ScheduleJournal,
        Self::ScheduleHandoff,
        Self::Rollup,
        Self::TimeToLive,
        Self::MessageId,
        Self::Batch,
        Self::TraceIntoJournal,
        Self::TraceIntoHandoff,
    ];
    pub(super) const LISTENING: [Self; 2] = [Self::Subscribe, Self::QueueSubscribe];

    /// The word for it in the table.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Request => "request",
            Self::ReplyIntoJournal => "reply-journal",
            Self::ReplyIntoHandoff => "reply-handoff",
            Self::ReplyIntoInbox => "reply-inbox",
            Self::ScheduleJournal => "schedule-journal",
            Self::ScheduleHandoff => "schedule-handoff",
            Self::Rollup => "rollup",
            Self::TimeToLive => "ttl",
            Self::MessageId => "message-id",
            Self::Batch => "batch",
            Self::TraceIntoJournal => "trace-journal",
            Self::TraceIntoHandoff => "trace-handoff",
            Self::Subscribe => "subscribe",
            Self::QueueSubscribe => "queue",
        }
    }

    /// Where the broker is to write for the sender, if it is.
    fn target(self, actor: &Actor, mark: &str) -> Option<String> {
        let other = if actor.role == role::VERIFIER { role::BUILDER } else { role::VERIFIER };
        match self {
            Self::ReplyIntoJournal | Self::ScheduleJournal | Self::TraceIntoJournal => {
                Some(format!("hp.v1.journal.f.{mark}.decided"))
            }
            Self::ReplyIntoHandoff | Self::ScheduleHandoff | Self::TraceIntoHandoff => {
                Some(format!("hp.v1.handoff.{other}.0.f.{mark}.build_plan"))
            }
            Self::ReplyIntoInbox => Some(format!("_INBOX.{}.{mark}", actor.victim())),
            _ => None,
        }
    }

    /// The reply subject, if there is one. All but plain publishes want to know what becomes of them.
    pub(super) fn reply(self, actor: &Actor, mark: &str) -> Option<String> {
        match self {
            Self::Publish => None,
            Self::ReplyIntoJournal | Self::ReplyIntoHandoff | Self::ReplyIntoInbox => self.target(actor, mark),
            _ => Some(format!("_INBOX.{}.{mark}", actor.name)),
        }
    }

    pub(super) fn headers(self, actor: &Actor, mark: &str) -> HeaderMap {
        let mut map = HeaderMap::new();
        let target = self.target(actor, mark).unwrap_or_default();
        match self {
            Self::ScheduleJournal | Self::ScheduleHandoff => {
                map.insert("Nats-Schedule", "@at 2020-01-01T00:00:00Z");
                map.insert("Nats-Schedule-Target", target.as_str());
            }
            Self::Rollup => map.insert("Nats-Rollup", "all"),
            Self::TimeToLive => map.insert("Nats-TTL", "1s"),
            Self::MessageId => map.insert("Nats-Msg-Id", format!("{}.{mark}", actor.role).as_str()),
            Self::Batch => {
                map.insert("Nats-Batch-Id", mark);
                map.insert("Nats-Batch-Sequence", "1");
                map.insert("Nats-Batch-Commit", "1");
            }
            Self::TraceIntoJournal | Self::TraceIntoHandoff => map.insert("Nats-Trace-Dest", target.as_str()),
            _ => {}
        }
        map
    }
}
