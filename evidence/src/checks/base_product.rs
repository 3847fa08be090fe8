//! The tests of the tree under review on the product of the base: what was red there has to be red again.
//!
//! Tests that were emptied, or patched from their own side, are green without the work. This compares runs and names; that
//! a product forges its own report is not seen here, because the base's product has no part in it.

use std::collections::BTreeSet;

use holdpoint_protocol::facts::Verdict;

use super::run::JudgedRun;
use crate::runners::{Runner, TestCounts, TestNames};

/// The runs of a check that passes on the tree under review.
#[derive(Debug, Clone, Copy)]
pub struct ProductRuns<'a> {
    /// On the tree under review.
    pub first: &'a JudgedRun,
    /// On the base.
    pub base: &'a JudgedRun,
    /// On the tree under review with the product as on the base.
    pub product: &'a JudgedRun,
    /// Whether the check had to be red on the base.
    pub red_first: bool,
    /// Whether every changed test is a new file.
    pub only_added: bool,
}

/// What the base's product says of the tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProductSays {
    /// Nothing against them.
    Nothing,
    /// Tests that were red on the base, or where it is empty the whole check, pass without the work.
    Green(BTreeSet<String>),
    /// Added tests, or where it is empty the whole check, pass without the work, and nothing else speaks for it.
    NothingNew(BTreeSet<String>),
}

/// Whether a run with the base's product could say anything of a green `first` one: otherwise it need not be made.
#[must_use]
pub fn base_product_may_say(first: &JudgedRun, base: &JudgedRun, red_first: bool) -> bool {
    let adds_names = |(names, base): (&TestNames, &TestNames)| {
        names.green.iter().any(|name| !base.green.contains(name) && !base.red.contains(name))
    };
    is_red(base, red_first) || both_named(first, base).any(adds_names)
}

/// Compares the run with the base's product with the others.
#[must_use]
pub fn with_base_product(runs: ProductRuns<'_>) -> ProductSays {
    let red_on_base = is_red(runs.base, runs.red_first);
    let mut emptied = BTreeSet::new();
    let mut added = BTreeSet::new();
    for (first, product, base) in names(runs) {
        let passes_without = first.green.intersection(&product.green);
        for name in passes_without {
            match base {
                Some(base) if base.red.contains(name) => drop(emptied.insert(name.clone())),
                Some(base) if !base.green.contains(name) => drop(added.insert(name.clone())),
                _ => {}
            }
        }
    }
    if red_on_base && !emptied.is_empty() {
        return ProductSays::Green(emptied);
    }
    if red_on_base && is_whole_green(runs) {
        let failed = runs.base.counts.as_ref().is_some_and(|counts| {
            let total = counts.total();
            total.failed > 0 && !total.uncollected
        });
        let shown = runs.first.counts.is_some() && (!runs.only_added || failed);
        let none = BTreeSet::new();
        return if runs.red_first || shown { ProductSays::Green(none) } else { ProductSays::NothingNew(none) };
    }
    if added.is_empty() { ProductSays::Nothing } else { ProductSays::NothingNew(added) }
}

/// Whether a file of the product may be put back without a test of `first` that notices: `without` is the run with that
/// file as on the base. Fewer tests are no silence: those in the file went with it.
#[must_use]
pub fn goes_unnoticed(first: &JudgedRun, without: &JudgedRun) -> bool {
    without.alone().0 == Verdict::Pass && ran(without) >= ran(first)
}

fn is_red(run: &JudgedRun, by_report: bool) -> bool {
    let verdict = if by_report { run.alone().0 } else { run.outcome.0 };
    verdict != Verdict::Pass
}

/// A run of no test is green for nothing.
fn is_whole_green(runs: ProductRuns<'_>) -> bool {
    runs.product.alone().0 == Verdict::Pass && (ran(runs.first) == 0 || ran(runs.product) > 0)
}

fn ran(run: &JudgedRun) -> u64 {
    run.counts.as_ref().map_or(0, |counts| counts.total().run)
}

/// The names of each runner on the tree under review, with the base's product, and on the base.
fn names(runs: ProductRuns<'_>) -> Vec<(&TestNames, &TestNames, Option<&TestNames>)> {
    let (Some(first), Some(product)) = (&runs.first.counts, &runs.product.counts) else { return Vec::new() };
    let mut all = Vec::new();
    for (runner, first) in &first.by_runner {
        if let (Some(first), Some(product)) = (&first.names, names_of(product, *runner)) {
            let base = runs.base.counts.as_ref().and_then(|counts| names_of(counts, *runner));
            all.push((first, product, base));
        }
    }
    all
}

/// The names of each runner that printed them in both runs.
fn both_named<'a>(one: &'a JudgedRun, other: &'a JudgedRun) -> impl Iterator<Item = (&'a TestNames, &'a TestNames)> {
    let runners = one.counts.iter().flat_map(|counts| &counts.by_runner);
    runners.filter_map(|(runner, tally)| {
        let other = other.counts.as_ref().and_then(|counts| names_of(counts, *runner));
        Some((tally.names.as_ref()?, other?))
    })
}

fn names_of(counts: &TestCounts, runner: Runner) -> Option<&TestNames> {
    counts.by_runner.get(&runner).and_then(|tally| tally.names.as_ref())
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::reason::CriterionReason;

    use super::*;
    use crate::checks::CheckEnd;

    const CHECK: &str = "python3 -m unittest -v";

    /// A run of unittest with these tests.
    fn run(green: &[&str], red: &[&str]) -> JudgedRun {
        let mut output: String = green.iter().map(|name| format!("{name} (t.T.{name}) ... ok\n")).collect();
        output += &red.iter().map(|name| format!("{name} (t.T.{name}) ... FAIL\n")).collect::<String>();
        let end = if red.is_empty() { "OK".to_owned() } else { format!("FAILED (failures={})", red.len()) };
        output += &format!("\nRan {} tests in 0.001s\n\n{end}\n", green.len() + red.len());
        let exit = Some(i32::from(!red.is_empty()));
        let run = JudgedRun::read(CHECK, CheckEnd { exit, ..CheckEnd::default() }, None, &output, true);
        assert!(run.counts.as_ref().unwrap().by_runner[&Runner::Unittest].names.is_some(), "{output}");
        run
    }

    /// The same with counts alone.
    fn nothing_named(run: &JudgedRun) -> JudgedRun {
        let mut run = run.clone();
        for tally in run.counts.as_mut().unwrap().by_runner.values_mut() {
            tally.names = None;
        }
        run
    }

    fn nothing_ran() -> JudgedRun {
        let outcome = (Verdict::Fail, Some(CriterionReason::ExitCode));
        JudgedRun { outcome, counts: None, silent: None, red: false, names_no_runner: false, observed: None }
    }

    fn says(
        first: &JudgedRun,
        base: &JudgedRun,
        product: &JudgedRun,
        red_first: bool,
        only_added: bool,
    ) -> ProductSays {
        with_base_product(ProductRuns { first, base, product, red_first, only_added })
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| format!("{name} (t.T.{name})")).collect()
    }

    #[test]
    fn a_test_that_was_red_has_to_be_red_again_without_the_work() {
        let (base, first) = (run(&["b"], &["a"]), run(&["a", "b"], &[]));
        assert_eq!(says(&first, &base, &base, false, false), ProductSays::Nothing);
        assert_eq!(says(&first, &base, &first, false, false), ProductSays::Green(set(&["a"])));
        let emptied_among_others = run(&["a", "b"], &["c"]);
        let more = run(&["a", "b", "c"], &[]);
        assert_eq!(says(&more, &base, &emptied_among_others, false, true), ProductSays::Green(set(&["a"])));
    }

    #[test]
    fn a_red_base_that_turns_green_by_renamed_tests_alone_is_found_as_a_whole() {
        let (base, first) = (run(&["b"], &["a"]), run(&["b", "renamed"], &[]));
        assert_eq!(says(&first, &base, &first, false, false), ProductSays::Green(BTreeSet::new()));
        assert_eq!(says(&first, &base, &run(&["b"], &["renamed"]), false, false), ProductSays::Nothing);
        assert_eq!(says(&first, &base, &run(&[], &[]), false, false), ProductSays::Nothing, "no test ran");
    }

    #[test]
    fn new_tests_that_need_no_work_fail_only_what_had_to_be_red_first() {
        let (base, first) = (nothing_ran(), run(&["new"], &[]));
        assert_eq!(says(&first, &base, &first, true, true), ProductSays::Green(BTreeSet::new()));
        assert_eq!(says(&first, &base, &first, false, true), ProductSays::NothingNew(BTreeSet::new()));
        assert_eq!(says(&first, &base, &nothing_ran(), true, true), ProductSays::Nothing);
        let (base, first) = (run(&["b"], &[]), run(&["b", "new"], &[]));
        assert_eq!(says(&first, &base, &first, false, true), ProductSays::NothingNew(set(&["new"])));
        assert_eq!(says(&first, &base, &run(&["b"], &["new"]), false, true), ProductSays::Nothing);
        assert_eq!(says(&base, &base, &base, true, false), ProductSays::Nothing, "nothing was red");
    }

    #[test]
    fn the_base_product_is_worth_a_run_only_behind_a_red_base_or_where_tests_were_added_by_name() {
        let (red, green) = (run(&["b"], &["a"]), run(&["a", "b"], &[]));
        let more = run(&["a", "b", "new"], &[]);
        assert!(base_product_may_say(&green, &red, false) && base_product_may_say(&more, &green, false));
        assert!(!base_product_may_say(&green, &green, false));
        assert!(!base_product_may_say(&more, &nothing_named(&green), true), "there are no names to compare");
        assert!(base_product_may_say(&more, &nothing_ran(), false));
        // Whatever the run would be: where it is not worth making, it says nothing.
        for first in [&green, &more, &nothing_named(&more)] {
            for base in [&red, &green, &nothing_named(&green), &nothing_ran()] {
                for product in [&red, &green, &more, &nothing_named(&green), &nothing_ran()] {
                    let found = says(first, base, product, false, false);
                    assert!(base_product_may_say(first, base, false) || found == ProductSays::Nothing, "{found:?}");
                }
            }
        }
    }

    #[test]
    fn a_file_goes_unnoticed_only_where_as_many_tests_stay_green() {
        let first = run(&["a", "b"], &[]);
        assert!(goes_unnoticed(&first, &first));
        assert!(!goes_unnoticed(&first, &run(&["a"], &[])) && !goes_unnoticed(&first, &run(&["a"], &["b"])));
    }
}
