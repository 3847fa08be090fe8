//! What an orchestrator saw of its fleet's journals, against what the broker has when it starts. A store that was lost, or put
//! back from an older copy, shows here.

use holdpoint_protocol::journal::Sequence;

/// How a broker's journals stand to those that were seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// What was seen is there.
    Same,
    /// There are no journals any more.
    Gone,
    /// They end before what was seen.
    Older {
        /// Their last entry.
        last: Sequence,
    },
    /// They are as long, and another entry is where the last one was seen.
    Other,
}

/// Compares. `seen` is the last entry that was seen, with its signature; `last` the last one that is there (`None`: there is no
/// stream), and `there` the signature of the entry at `seen` (`None`: it was archived, or is not there).
#[must_use]
pub fn compare(seen: (Sequence, &str), last: Option<Sequence>, there: Option<&str>) -> Store {
    let (until, signature) = seen;
    match last {
        None => Store::Gone,
        Some(last) if last < until => Store::Older { last },
        Some(_) if there.is_some_and(|there| there != signature) => Store::Other,
        Some(_) => Store::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_told_from_none_an_older_and_another_one() {
        let seen = (Sequence(7), "s");
        for (last, there, is) in [
            (None, None, Store::Gone),
            (Some(0), None, Store::Older { last: Sequence(0) }),
            (Some(6), None, Store::Older { last: Sequence(6) }),
            (Some(7), Some("s"), Store::Same),
            (Some(9), Some("s"), Store::Same),
            (Some(9), None, Store::Same),
            (Some(9), Some("another"), Store::Other),
        ] {
            assert_eq!(compare(seen, last.map(Sequence), there), is, "{last:?} {there:?}");
        }
    }
}
