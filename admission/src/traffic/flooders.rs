//! Agents whose keys are to be put out for what they handed off, until it is known which keys these are: a flood may come by a
//! connection that has ended before anybody looked at it.

use std::{collections::BTreeMap, time::Duration};

use holdpoint_protocol::{
    Timestamp,
    ids::{AgentName, RoleId},
};

/// Whose a key is.
pub type User = (RoleId, AgentName);

/// How long the key of an agent is waited for: as long as what it handed off counts.
const WAITED_FOR: Duration = Duration::from_secs(60 * 60);
/// Agents that are waited for, far more than a fleet has. Past that the one that flooded first is forgotten.
const WAITING_MAX: usize = 4_096;

/// See the module.
#[derive(Debug, Default)]
pub struct Flooders(BTreeMap<User, Timestamp>);

impl Flooders {
    /// Takes in who flooded since the last time.
    pub fn add(&mut self, now: Timestamp, users: impl IntoIterator<Item = User>) {
        for user in users {
            if self.0.len() >= WAITING_MAX && !self.0.contains_key(&user) {
                let first = self.0.iter().min_by_key(|(_, since)| **since).map(|(user, _)| user.clone());
                first.and_then(|first| self.0.remove(&first));
            }
            self.0.insert(user, now);
        }
    }

    /// Those whose keys are known now, with these keys. The others are asked about again, for an hour.
    pub fn take_known(&mut self, now: Timestamp, keys: impl Fn(&User) -> Vec<String>) -> Vec<(User, Vec<String>)> {
        let mut known = Vec::new();
        self.0.retain(|user, since| {
            let keys = keys(user);
            let is_known = !keys.is_empty();
            if is_known {
                known.push((user.clone(), keys));
            }
            !is_known && now.since(*since) < WAITED_FOR
        });
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> User {
        ("builder".parse().unwrap(), name.parse().unwrap())
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn an_agent_that_flooded_before_its_key_was_known_is_named_once_it_is() {
        let mut flooders = Flooders::default();
        flooders.add(at(0), [user("early"), user("known")]);
        let keys = |user: &User| if user.1.as_str() == "known" { vec!["K".to_owned()] } else { Vec::new() };
        assert_eq!(flooders.take_known(at(1), keys), [(user("known"), vec!["K".to_owned()])]);
        assert_eq!(flooders.take_known(at(2), |_| Vec::new()), []);
        let all = |_: &User| vec!["E1".to_owned(), "E2".to_owned()];
        assert_eq!(flooders.take_known(at(3_000), all), [(user("early"), all(&user("early")))]);
        assert_eq!(flooders.take_known(at(3_001), all), [], "it is named once");
    }

    #[test]
    fn an_agent_is_waited_for_as_long_as_what_it_handed_off_counts_and_their_number_is_bounded() {
        let mut flooders = Flooders::default();
        flooders.add(at(0), [user("gone")]);
        assert_eq!(flooders.take_known(at(3_600), |_| Vec::new()), []);
        assert_eq!(flooders.take_known(at(3_601), |_| vec!["K".to_owned()]), []);
        for n in 0..=WAITING_MAX {
            flooders.add(at(i64::try_from(n).unwrap()), [user(&format!("a-{n}"))]);
        }
        let named = flooders.take_known(at(9), |_| vec!["K".to_owned()]);
        assert_eq!(named.len(), WAITING_MAX);
        assert!(!named.iter().any(|(known, _)| *known == user("a-0")));
    }
}
