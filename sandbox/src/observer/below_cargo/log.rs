//! What libtest lists and logs. No I/O.

use std::collections::BTreeMap;

/// The longest line of a log; of a longer one no end is believed.
const LINE_BYTES_MAX: usize = 1 << 20;
/// With which code libtest ends after failures.
const EXIT_FAILED: i32 = 101;

/// Reads a log against the tests that have to be in it.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The tests by name, and whether they were heard of; `None`: nobody knows them.
    tests: Option<BTreeMap<String, bool>>,
    /// The beginning of a line.
    part: Vec<u8>,
    /// What became of a test whose name is at the end of a later line: reasons may have several.
    open: Option<&'static str>,
    failed: bool,
    /// There was something that libtest does not write.
    odd: bool,
}

impl Log {
    /// For one test.
    pub(super) fn of_one(name: &str) -> Self {
        Self { tests: Some(BTreeMap::from([(name.to_owned(), false)])), ..Self::default() }
    }

    /// For the tests of a list: `name: test`, and in the end how many.
    pub(super) fn of_list(list: &[u8]) -> Self {
        Self { tests: tests(&String::from_utf8_lossy(list)), ..Self::default() }
    }

    /// Takes bytes of the log, and says in messages what became of tests.
    pub(super) fn take(&mut self, bytes: &[u8], mut say: impl FnMut(&str)) {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let last = lines.next_back().unwrap_or_default();
        for end in lines {
            self.keep(end);
            let line = std::mem::take(&mut self.part);
            if let Some((word, name)) = self.line(&String::from_utf8_lossy(&line)) {
                say(&format!("{word} {name}"));
            }
        }
        self.keep(last);
    }

    /// The exit code of a run that came to its end: each test was heard of once, and nothing else.
    pub(super) fn end(&self) -> Option<i32> {
        let whole = self.part.is_empty() && self.open.is_none() && !self.odd;
        let all = self.tests.as_ref().is_some_and(|tests| tests.values().all(|heard| *heard));
        (whole && all).then_some(if self.failed { EXIT_FAILED } else { 0 })
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.part.len() + bytes.len() > LINE_BYTES_MAX {
            self.odd = true;
        } else {
            self.part.extend_from_slice(bytes);
        }
    }

    /// What became of which test, by a line of the log.
    fn line(&mut self, line: &str) -> Option<(&'static str, String)> {
        // How long it took, where that was asked for.
        let line = line.strip_suffix("s>").and_then(|line| line.rsplit_once(" <")).map_or(line, |(line, _)| line);
        let (word, name) = if let Some(word) = self.open {
            // A line of a reason.
            (word, self.last_word(line)?)
        } else {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "ok" => ("passed", rest.to_owned()),
                "failed" | "failed:" => (self.opened("failed"), self.last_word(rest)?),
                "ignored" | "ignored:" => (self.opened("skipped"), self.last_word(rest)?),
                "bench:" => (self.opened("passed"), self.last_word(rest)?),
                _ => {
                    self.odd = true;
                    return None;
                }
            }
        };
        self.open = None;
        self.failed |= word == "failed";
        let heard = self.tests.as_mut().and_then(|tests| tests.get_mut(&name));
        // Unknown, or heard of before.
        self.odd |= heard.is_none_or(|heard| std::mem::replace(heard, true));
        Some((word, name))
    }

    fn opened(&mut self, word: &'static str) -> &'static str {
        self.open = Some(word);
        word
    }

    /// The name of a test at the end of a line, behind a reason. Names of tests have no spaces.
    fn last_word(&self, line: &str) -> Option<String> {
        let word = line.rsplit(' ').next().unwrap_or(line);
        self.tests.as_ref().is_none_or(|tests| tests.contains_key(word)).then(|| word.to_owned())
    }
}

/// The tests of a list, if it is a whole one.
fn tests(list: &str) -> Option<BTreeMap<String, bool>> {
    let mut lines: Vec<&str> = list.lines().filter(|line| !line.is_empty()).collect();
    let (tests, benchmarks) = lines.pop()?.split_once(", ")?;
    let number = |text: &str, of: &str| {
        let (number, what) = text.split_once(' ')?;
        what.strip_suffix('s').unwrap_or(what).eq(of).then(|| number.parse::<usize>().ok()).flatten()
    };
    let whole = number(tests, "test")? + number(benchmarks, "benchmark")?;
    let name =
        |line: &&str| line.strip_suffix(": test").or_else(|| line.strip_suffix(": benchmark")).map(str::to_owned);
    let names: BTreeMap<String, bool> = lines.iter().filter_map(name).map(|name| (name, false)).collect();
    (names.len() == whole).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = b"a::adds: test\na::bad: test\nb: benchmark\n\n2 tests, 1 benchmark\n";

    /// What is said of a log in pieces, and its end.
    fn read(mut log: Log, text: &str) -> (Vec<String>, Option<i32>) {
        let mut said = Vec::new();
        for bytes in text.as_bytes().chunks(7) {
            log.take(bytes, |message| said.push(message.to_owned()));
        }
        (said, log.end())
    }

    #[test]
    fn a_run_ends_when_each_listed_test_was_heard_of() {
        let of = |text: &str| read(Log::of_list(LIST), text);
        let (said, end) = of("ok a::adds\nignored: not\n here a::bad\nbench: 1 ns/iter b\n");
        assert_eq!((said, end), (["passed a::adds", "skipped a::bad", "passed b"].map(str::to_owned).into(), Some(0)));
        let (said, end) = of("ok b\nfailed: note: a panic\n with ok a::adds\n in it a::bad\nok a::adds\n");
        assert_eq!(said, ["passed b", "failed a::adds", "passed a::adds"], "a name at the end of a line is the test's");
        assert_eq!(end, None);
        assert_eq!(of("ok b\nfailed a::bad\nok a::adds <0.001s>\n").1, Some(101));
        assert_eq!(of("ok b\nfailed (time limit exceeded) a::bad\nok a::adds\n").1, Some(101));
        for text in
            ["", "ok a::adds\nok a::bad\n", "ok b\nok a::bad\nok a::adds", "ok a::adds\nok a::bad\nok b\nok b\n"]
        {
            assert_eq!(of(text).1, None, "{text}");
        }
        assert_eq!(of("ok a::adds\nok a::bad\nok b\nok other\n").1, None);
        assert_eq!(of("ok a::adds\nok a::bad\nok b\npassed everything\n").1, None);
    }

    #[test]
    fn what_is_no_list_has_no_end() {
        for list in
            ["", "\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed\n", "a: test\n", "2 tests"]
        {
            let (said, end) = read(Log::of_list(list.as_bytes()), "ok a\nfailed: x b\n");
            assert_eq!((said, end), (["passed a", "failed b"].map(str::to_owned).into(), None), "{list}");
        }
        assert_eq!(Log::of_list(b"a: test\n\n2 tests, 0 benchmarks\n").end(), None);
        assert_eq!(Log::of_list(b"0 tests, 0 benchmarks\n").end(), Some(0));
    }

    #[test]
    fn one_test_is_one_line() {
        assert_eq!(read(Log::of_one("a::b"), "ok a::b\n").1, Some(0));
        assert_eq!(read(Log::of_one("a::b"), "ok c\n").1, None);
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let mut log = Log::of_one("a");
        for _ in 0..3 {
            log.take(&vec![b'x'; LINE_BYTES_MAX / 2], |_| {});
        }
        log.take(b"\nok a\n", |_| {});
        assert!(log.part.len() <= LINE_BYTES_MAX && log.end().is_none());
    }
}
