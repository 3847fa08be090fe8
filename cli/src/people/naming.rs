//! Which of several things a name means. No I/O.

use holdpoint_protocol::{ids::WaypointId, view::WaypointView};

/// The last of them, as one can name it.
pub(crate) const LATEST: &str = "latest";

/// Why a name means no one thing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unmeant {
    /// Nothing begins so.
    Nothing,
    /// These do.
    Several(Vec<String>),
}

/// What a name means: what is called so, else the last of them where it is `latest`, else the only one that begins so.
pub(super) fn among<'a>(
    named: &str,
    there: impl Iterator<Item = &'a str>,
    latest: Option<&'a str>,
) -> Result<&'a str, Unmeant> {
    let mut begin: Vec<&str> = Vec::new();
    for id in there.filter(|id| id.starts_with(named)) {
        if id == named {
            return Ok(id);
        }
        if !begin.contains(&id) {
            begin.push(id);
        }
    }
    if let Some(latest) = latest.filter(|_| named == LATEST) {
        return Ok(latest);
    }
    match begin.as_slice() {
        [] => Err(Unmeant::Nothing),
        [one] => Ok(one),
        several => Err(Unmeant::Several(several.iter().map(|id| (*id).to_owned()).collect())),
    }
}

/// The waypoint that a name means. `latest` is the one to which something happened last.
pub(super) fn waypoint<'a>(named: &WaypointId, there: &'a [WaypointView]) -> Result<&'a str, Unmeant> {
    among(named.as_str(), there.iter().map(|known| known.id.as_str()), changed_last(there.iter()))
}

/// The waypoint to which something happened last.
pub(super) fn changed_last<'a>(there: impl Iterator<Item = &'a WaypointView>) -> Option<&'a str> {
    there.filter(|known| known.changed_at.is_some()).max_by_key(|known| known.changed_at).map(|known| known.id.as_str())
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::Timestamp;

    use super::*;
    use crate::{people::find::begun_here, view::tests::flight};

    #[test]
    fn a_name_means_what_is_called_so_or_the_only_one_that_begins_so() {
        let meant = |named: &str| among(named, ["cli", "cli-flags", "core"].into_iter(), None);
        assert_eq!(meant("cli"), Ok("cli"));
        assert_eq!(meant("cli-"), Ok("cli-flags"));
        assert_eq!(meant("co"), Ok("core"));
        assert_eq!(meant("c"), Err(Unmeant::Several(["cli", "cli-flags", "core"].map(str::to_owned).to_vec())));
        assert_eq!(meant("docs"), Err(Unmeant::Nothing));
        let flights = ["b-0a1b2c3d", "a-0a1b2c3d"].map(|id| id.parse().unwrap());
        let begun = |named: &str| begun_here(&named.parse().unwrap(), &flights).unwrap().to_string();
        assert_eq!([begun("latest"), begun("a"), begun("c")], ["b-0a1b2c3d", "a-0a1b2c3d", "c"]);
    }

    #[test]
    fn the_latest_waypoint_is_the_one_to_which_something_happened_last_unless_one_is_called_so() {
        let mut there = flight().waypoints;
        there.extend(flight().waypoints.into_iter().take(1));
        for (known, (id, at)) in there.iter_mut().zip([("a", Some(5)), ("b", Some(9)), ("c", None)]) {
            known.id = id.parse().unwrap();
            known.changed_at = at.map(Timestamp::from_millis);
        }
        let latest: WaypointId = "latest".parse().unwrap();
        assert_eq!(waypoint(&latest, &there), Ok("b"));
        there[2].id = latest.clone();
        assert_eq!(waypoint(&latest, &there), Ok("latest"));
        assert_eq!(waypoint(&latest, &there[3..]), Err(Unmeant::Nothing), "nothing has begun");
    }
}
