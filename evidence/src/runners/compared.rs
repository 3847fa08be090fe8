//! Comparing the counts of runs: with the base, and with the tests as on the base. Names speak where they are known.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::reason::CriterionReason;

use super::{Runner, Tally, TestCounts, TestNames, node};

/// What libtest writes behind the names of some tests.
const LIBTEST_KINDS: [&str; 3] = [" - should panic", " - compile fail", " - compile"];

/// Why a run with counts `now` is not green although it ended well: fewer tests ran, or more were skipped, than on the
/// base. `now` is `None` when nothing was understood, which is fewer than anything.
///
/// Where names are known in both runs, only what ran on the base can be skipped too many. Of tests that the base could not
/// collect nobody knows whether they were skipped there.
#[must_use]
pub fn compare(base: &TestCounts, now: Option<&TestCounts>) -> Option<CriterionReason> {
    let nothing = Tally::default();
    let pairs = || {
        base.by_runner
            .iter()
            .map(|(runner, base)| (base, now.and_then(|now| now.by_runner.get(runner)).unwrap_or(&nothing)))
    };
    if pairs().any(|(base, now)| now.run < base.run) {
        return Some(CriterionReason::FewerTests);
    }
    pairs().any(|(base, now)| more_skipped(base, now)).then_some(CriterionReason::MoreSkipped)
}

fn more_skipped(base: &Tally, now: &Tally) -> bool {
    let skipped = now.names.as_ref().and_then(|names| names.skipped.as_ref());
    match (&base.names, skipped) {
        // Where the base has no test for the check, all that are skipped are new.
        _ if base.uncollected || base.run + base.skipped == 0 => false,
        (Some(base), Some(skipped)) => skipped.iter().any(|name| has(base, name)),
        _ => now.skipped > base.skipped,
    }
}

/// Whether something in `now` was ended by the code under test and not by its runner. Where the base has the same it is
/// the project's way of testing (scripts without a test library, say), and nothing is said.
#[must_use]
pub fn ended_early(base: Option<&TestCounts>, now: &TestCounts) -> bool {
    let on_base = |runner| base.and_then(|base| base.by_runner.get(runner)).is_some_and(|tally| tally.unended > 0);
    now.by_runner.iter().any(|(runner, tally)| tally.unended > 0 && !on_base(runner))
}

/// Tests of the base, by name, that did not run in `now[0]`, which is judged. A test that went to another file or module under its
/// own name is not missing. Nor is one that is green in another of the runs, where as many others came: it may have another name
/// now. Where names are not known, nothing is.
#[must_use]
pub fn missing(base: &TestCounts, now: &[&TestCounts]) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    for (runner, base) in &base.by_runner {
        let of = |counts: &&TestCounts| counts.by_runner.get(runner).and_then(|tally| tally.names.clone());
        let (Some(base), Some(first)) = (&base.names, now.first().and_then(of)) else { continue };
        let mut moved = leaves(*runner, all(&first).filter(|name| !has(base, name)));
        let others: Vec<TestNames> = now.iter().skip(1).filter_map(of).collect();
        // A file of Node's that failed as a whole could not be loaded: what it is now are its tests.
        let loaded = |name: &&String| *runner != Runner::NodeTest || !node::is_file(name) || base.green.contains(*name);
        let mut put_back = BTreeSet::new();
        for name in all(base).filter(loaded) {
            if has(&first, name) {
                continue;
            }
            match moved.get_mut(&leaf(*runner, name)).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None if others.iter().any(|other| other.green.contains(name)) => drop(put_back.insert(name.clone())),
                None => drop(missing.insert(name.clone())),
            }
        }
        let came: u64 = moved.values().sum();
        if came != put_back.len() as u64 {
            missing.append(&mut put_back);
        }
    }
    missing
}

/// Whether fewer tests ran in `now` than in `whole`, and which are missing, where both have names. Tests that only went
/// elsewhere are not missed; as many under other names were renamed. `None`: none is missed.
#[must_use]
pub fn short_of(whole: &TestCounts, now: Option<&TestCounts>) -> Option<BTreeSet<String>> {
    let nothing = Tally::default();
    let mut lost = None;
    for (runner, whole) in &whole.by_runner {
        let now = now.and_then(|now| now.by_runner.get(runner)).unwrap_or(&nothing);
        if now.run >= whole.run {
            continue;
        }
        let alone = |tally: &Tally| TestCounts { by_runner: BTreeMap::from([(*runner, tally.clone())]) };
        let names = missing(&alone(whole), &[&alone(now)]);
        if !names.is_empty() || whole.names.is_none() || now.names.is_none() {
            lost.get_or_insert_with(BTreeSet::new).extend(names);
        }
    }
    lost
}

/// Tests of the base that are not green with the tests as on the base, by name.
///
/// `composed` is the run of the new code with the base's tests; `base` is the run on the base, which knows of tests
/// that `composed` did not even get to; of those only the ones that `first` shows green are reported. `None`: names are
/// not understood in both runs.
#[must_use]
pub fn weakened(base: Option<&TestCounts>, first: &TestCounts, composed: &TestCounts) -> Option<BTreeSet<String>> {
    let mut lost = BTreeSet::new();
    for (runner, first) in &first.by_runner {
        let first = first.names.as_ref()?;
        let composed = composed.by_runner.get(runner)?.names.as_ref()?;
        lost.extend(composed.red.iter().cloned());
        let on_base = base.and_then(|base| base.by_runner.get(runner)).and_then(|tally| tally.names.as_ref());
        let known = on_base.into_iter().flat_map(all);
        lost.extend(known.filter(|name| first.green.contains(*name) && !composed.green.contains(*name)).cloned());
    }
    Some(lost)
}

/// Takes the names out of the counts of a base that another run of it, whose names are known, does not have. Gives them.
pub fn keep_steady(base: &mut TestCounts, again: &TestCounts) -> BTreeSet<String> {
    let mut unsteady = BTreeSet::new();
    for (runner, tally) in &mut base.by_runner {
        let again = again.by_runner.get(runner).and_then(|tally| tally.names.as_ref());
        let (Some(names), Some(again)) = (&mut tally.names, again) else { continue };
        for names in [&mut names.green, &mut names.red] {
            unsteady.extend(names.extract_if(.., |name| !has(again, name)));
        }
    }
    unsteady
}

fn all(names: &TestNames) -> impl Iterator<Item = &String> {
    names.green.iter().chain(&names.red)
}

fn has(names: &TestNames, name: &str) -> bool {
    names.green.contains(name) || names.red.contains(name)
}

fn leaves<'a>(runner: Runner, names: impl Iterator<Item = &'a String>) -> BTreeMap<String, u64> {
    let mut leaves = BTreeMap::new();
    for name in names {
        *leaves.entry(leaf(runner, name)).or_default() += 1;
    }
    leaves
}

/// The name of a libtest test without its kind.
pub(super) fn without_kind(name: &str) -> &str {
    let name = without_number(name);
    LIBTEST_KINDS.iter().find_map(|kind| name.strip_suffix(kind)).unwrap_or(name)
}

/// A name without the number that a repeated one was given.
fn without_number(name: &str) -> &str {
    match name.rsplit_once(" [") {
        Some((name, number)) if number.trim_end_matches(']').bytes().all(|b| b.is_ascii_digit()) => name,
        _ => name,
    }
}

/// The name of a test without the file, module or class it is in. Line numbers of doc tests and the parameters of
/// parametrised tests lose their digits: they change when something else does.
pub(super) fn leaf(runner: Runner, name: &str) -> String {
    let name = without_number(name);
    let after = |text: &str, separator: &str| text.rsplit(separator).next().unwrap_or(text).to_owned();
    match runner {
        Runner::CargoTest | Runner::Nextest => {
            // A test that should panic is another one than the test of that name that should not.
            let kind = LIBTEST_KINDS.iter().find(|kind| name.ends_with(**kind)).copied().unwrap_or_default();
            let name = name.strip_suffix(kind).unwrap_or(name);
            let name = name.split(" (line ").next().unwrap_or(name);
            let item = after(name, " - ");
            let item = if runner == Runner::Nextest { after(&item, " ") } else { item };
            after(&item, "::") + kind
        }
        Runner::Pytest => {
            let (path, parameters) = name.split_once('[').unwrap_or((name, ""));
            let digits = |c: char| !c.is_ascii_digit();
            format!("{}[{}", after(path, "::"), parameters.chars().filter(|c| digits(*c)).collect::<String>())
        }
        Runner::Unittest => name.split(" (").next().unwrap_or(name).to_owned(),
        Runner::GoTest => name.split_once(' ').map_or(name, |(_, test)| test).to_owned(),
        Runner::NodeTest if node::is_file(name) => after(name, "/"),
        Runner::NodeTest | Runner::Jest | Runner::Vitest | Runner::Mocha => after(name, " > "),
        Runner::Junit => after(name, "."),
        // A suite is no place: both parts are the test's name.
        Runner::Ctest | Runner::GoogleTest => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(runner: Runner, green: &[&str], red: &[&str]) -> TestCounts {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let names = Some(TestNames { green: set(green), red: set(red), skipped: None });
        let (passed, failed) = (green.len() as u64, red.len() as u64);
        let tally = Tally { run: passed + failed, passed, failed, names, ..Tally::default() };
        TestCounts { by_runner: BTreeMap::from([(runner, tally)]) }
    }

    #[test]
    fn a_test_of_the_base_that_ran_nowhere_is_missing_whatever_came_in_its_place() {
        let base = counts(Runner::CargoTest, &["a::tests::hard", "a::tests::easy"], &["a::tests::red"]);
        let first = counts(Runner::CargoTest, &["a::tests::easy", "a::tests::trivial", "a::tests::more"], &[]);
        let lost = |now: &[&TestCounts]| missing(&base, now).into_iter().collect::<Vec<_>>();
        assert_eq!(lost(&[&first]), ["a::tests::hard", "a::tests::red"]);
        // Put back with the tests of the base, and green there: as many others may be the same under another name, more may not.
        let composed = counts(Runner::CargoTest, &["a::tests::hard", "a::tests::easy"], &["a::tests::red"]);
        assert_eq!(lost(&[&first, &composed]), ["a::tests::hard", "a::tests::red"]);
        let renamed = counts(Runner::CargoTest, &["a::tests::easy", "a::tests::difficult"], &[]);
        assert_eq!(lost(&[&renamed, &composed]), ["a::tests::red"]);
        let nameless = TestCounts { by_runner: BTreeMap::from([(Runner::CargoTest, Tally::default())]) };
        assert!(lost(&[&nameless]).is_empty(), "without names only the counts speak");
    }

    #[test]
    fn a_file_that_could_not_be_loaded_on_the_base_is_missed_by_none_of_its_tests() {
        let base = counts(Runner::NodeTest, &["subtracts"], &["/trees/1/test/a.test.js"]);
        assert!(missing(&base, &[&counts(Runner::NodeTest, &["subtracts", "adds"], &[])]).is_empty());
        assert_eq!(
            missing(&base, &[&counts(Runner::NodeTest, &["adds"], &[])]).into_iter().collect::<Vec<_>>(),
            ["subtracts"]
        );
        let base = counts(Runner::NodeTest, &["/trees/1/test/a.test.js"], &[]);
        assert_eq!(missing(&base, &[&counts(Runner::NodeTest, &["adds"], &[])]).len(), 1, "it ran there");
    }

    #[test]
    fn a_test_that_moved_under_its_own_name_is_not_missing() {
        let table: &[(Runner, &str, &str, bool)] = &[
            (Runner::CargoTest, "old::tests::works", "new::tests::works", true),
            (Runner::CargoTest, "old::tests::works", "new::tests::fine", false),
            (Runner::CargoTest, "src/a.rs - add (line 5)", "src/b.rs - add (line 9)", true),
            (Runner::CargoTest, "a::bad - should panic", "b::bad - should panic", true),
            (Runner::CargoTest, "a::bad - should panic", "b::good - should panic", false),
            (Runner::CargoTest, "a::adds", "a::adds - should panic", false),
            (Runner::CargoTest, "src/a.rs - add (line 5)", "src/a.rs - add (line 5) - compile", false),
            (Runner::Nextest, "retry::it backs_off", "retry::all it::backs_off", true),
            (Runner::Pytest, "tests/a.py::T::test_b[x-1]", "tests/c.py::test_b[x-2]", true),
            (Runner::Pytest, "tests/a.py::test_b", "tests/a.py::test_c", false),
            (Runner::Unittest, "test_a (tests.test_x.X.test_a)", "test_a (tests.test_y.Y.test_a)", true),
            (Runner::GoTest, "example.com/a TestX/sub", "example.com/b TestX/sub", true),
            (Runner::NodeTest, "suite > adds", "adds", true),
            (Runner::NodeTest, "/trees/1/test/a.test.js", "/trees/2/test/a.test.js", true),
            (Runner::NodeTest, "suite > adds", "suite > subtracts", false),
        ];
        for (runner, old, new, moved) in table {
            let (base, first) = (counts(*runner, &[old], &[]), counts(*runner, &[new], &[]));
            assert_eq!(missing(&base, &[&first]).is_empty(), *moved, "{old} to {new}");
        }
        // One new home is not a home for two.
        let base = counts(Runner::CargoTest, &["a::works", "b::works", "b::works [2]"], &[]);
        let first = counts(Runner::CargoTest, &["c::works", "c::x", "c::y"], &[]);
        assert_eq!(missing(&base, &[&first]).len(), 2);
    }

    #[test]
    fn what_was_ended_early_speaks_unless_the_base_has_the_same() {
        let of = |unended| {
            let tally = Tally { unended, ..Tally::default() };
            TestCounts { by_runner: BTreeMap::from([(Runner::NodeTest, tally)]) }
        };
        assert!(ended_early(None, &of(1)) && ended_early(Some(&of(0)), &of(1)));
        assert!(!ended_early(Some(&of(1)), &of(2)) && !ended_early(None, &of(0)));
    }
}
