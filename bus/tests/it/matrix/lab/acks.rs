//! Acknowledging what was delivered to others.

use futures::StreamExt as _;
use holdpoint_protocol::{ids::role, plan::Priority, streams};

use super::Lab;
use crate::{
    matrix::families::{ROLES, known_blob},
    support::{Raw, SOON, flight},
};

/// What an acknowledgement can say that changes anything.
const WORDS: [&str; 4] = ["+ACK", "-NAK", "+TERM", "+NXT"];

impl Lab {
    /// Every role tries to answer for a delivery of every role, in the form of today's servers and of later ones.
    pub(in crate::matrix) async fn acknowledge_for_others(&self) {
        for owner in role::AGENTS {
            let mine = self.broker.raw_agent(owner, &format!("{owner}-9")).await;
            let mut attackers = Vec::new();
            for role in ROLES.into_iter().filter(|role| *role != owner && *role != role::ORCHESTRATOR) {
                attackers.push(self.broker.raw(&self.credentials(role, &format!("{role}-1"))).await);
            }
            // Agents of the role, but of another pool.
            let other = streams::flight_pool(&flight("other"));
            attackers.push(self.broker.raw(&self.broker.mint(owner, "other", &other)).await);
            let (ack, next) = (pull(&mine, owner).await, pull(&mine, owner).await);
            let before = self.pending(owner).await;
            assert!(before > 1);
            let later = ack.replacen("$JS.ACK.", "$JS.ACK._.hash.", 1);
            for attacker in &attackers {
                for word in WORDS {
                    for subject in [&ack, &later] {
                        attacker.publish_with_reply(subject, "_INBOX.nobody.1", word).await;
                    }
                }
                // Answered after everything before.
                let missing = known_blob(role::BUILDER).replacen(".0", ".99", 1);
                attacker.ask(&format!("$JS.API.DIRECT.GET.HP_BLOB.{missing}"), "").await;
            }
            // Acknowledgements are taken in order. Whose they are can.
            assert_eq!(mine.ask(&next, "+ACK").await, "");
            assert_eq!(self.pending(owner).await, before - 1);
            assert_eq!(mine.ask(&ack, "+ACK").await, "");
            assert_eq!(self.pending(owner).await, before - 2);
        }
    }

    async fn pending(&self, role: &str) -> usize {
        let stream = async_nats::jetstream::new(self.owner.0.clone()).get_stream(streams::JOURNAL).await.unwrap();
        stream.consumer_info(consumer(role)).await.unwrap().num_ack_pending
    }
}

fn consumer(role: &str) -> String {
    streams::turn_consumer(&role.parse().unwrap(), &streams::fleet_pool(), Priority::High)
}

/// Takes a turn; where it is acknowledged.
async fn pull(raw: &Raw, role: &str) -> String {
    let inbox = raw.0.new_inbox();
    let mut answers = raw.0.subscribe(inbox.clone()).await.unwrap();
    let subject = format!("$JS.API.CONSUMER.MSG.NEXT.HP_JOURNAL.{}", consumer(role));
    raw.publish_with_reply(&subject, &inbox, r#"{"batch":1,"no_wait":true}"#).await;
    let message = tokio::time::timeout(SOON, answers.next()).await.unwrap().unwrap();
    message.reply.expect("a delivery has where to acknowledge it").to_string()
}
