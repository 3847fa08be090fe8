//! Which connections of one key are too many. Another module looks at what the broker holds.

use std::collections::BTreeMap;

/// A key with more connections than it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionExcess<C> {
    /// The key.
    pub key: String,
    /// How many connections it has.
    pub connections: usize,
    /// The newest of them, so that as many are left as it may have; the newest first.
    pub ended: Vec<C>,
}

/// Which connections have to end so that no key has more than `most`: each with its key, in the order of its age. The
/// oldest stay: what worked goes on working whatever else comes with its key.
#[must_use]
pub fn excess<C: Ord>(connections: impl IntoIterator<Item = (String, C)>, most: usize) -> Vec<ConnectionExcess<C>> {
    let mut by_key: BTreeMap<String, Vec<C>> = BTreeMap::new();
    for (key, connection) in connections {
        by_key.entry(key).or_default().push(connection);
    }
    let over = by_key.into_iter().filter(|(_, all)| all.len() > most);
    over.map(|(key, mut all)| {
        all.sort_unstable();
        let connections = all.len();
        let mut ended = all.split_off(most);
        ended.reverse();
        ConnectionExcess { key, connections, ended }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(all: &[(&str, u64)], most: usize) -> Vec<(String, usize, Vec<u64>)> {
        let over = excess(all.iter().map(|(key, since)| ((*key).to_owned(), *since)), most);
        over.into_iter().map(|over| (over.key, over.connections, over.ended)).collect()
    }

    #[test]
    fn the_newest_connections_of_a_key_end_and_no_other_keys() {
        let all = [("a", 5), ("b", 7), ("a", 1), ("a", 9), ("b", 2), ("a", 4), ("b", 8), ("a", 2)];
        assert_eq!(ended(&all, 3), [("a".to_owned(), 5, vec![9, 5])]);
        assert_eq!(ended(&all, 2), [("a".to_owned(), 5, vec![9, 5, 4]), ("b".to_owned(), 3, vec![8])]);
        assert_eq!(ended(&all, 5), []);
    }
}
