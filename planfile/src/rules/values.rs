//! Rules for single values: texts, commands, expressions, globs, paths, durations.

use std::{collections::HashSet, ops::RangeInclusive};

use holdpoint_evidence::paths::Glob;
use holdpoint_protocol::{plan::Check, time::Millis};
use holdpoint_text::shown;
use regex::{Regex, RegexBuilder};

use crate::{
    plan::limits::{
        COMMAND_BYTES_MAX, DURATION_MS_MAX, HEAVY_REGEXES_MAX, ITEMS_MAX, LIGHT_REGEX_BYTES_MAX, NAME_BYTES_MAX,
        REGEX_BYTES_MAX,
    },
    yaml::{
        findings::PlanProblems,
        path::At,
        words::{not_a_duration, not_a_number, quoted},
    },
};

impl PlanProblems {
    /// A text that says something, and is not too long. Answers whether it may be looked at more closely.
    pub(crate) fn text(&mut self, at: At<'_>, what: &str, text: &str, bytes_max: usize) -> bool {
        let (message, hint) = if text.contains('\0') {
            (format!("{what} has a NUL in it"), "remove it: no program and no commit can have one")
        } else if text.trim().is_empty() {
            (format!("{what} is empty"), "write a text, or remove it")
        } else if text.len() > bytes_max {
            let hint = "make it shorter, and keep long texts in documents that `sources` names";
            (format!("{what} is longer than {} KiB", bytes_max >> 10), hint)
        } else {
            return true;
        };
        self.add(at, message, hint);
        false
    }

    /// A text of one line in which everything can be seen: it appears in commits, lists and prompts, and people go by
    /// it. Answers as [`PlanProblems::text`] does.
    pub(crate) fn name(&mut self, at: At<'_>, what: &str, text: &str, bytes_max: usize) -> bool {
        if !self.text(at, what, text, bytes_max) {
            return false;
        }
        let Some(hidden) = shown::first_hidden(text) else { return true };
        let written = shown::line(hidden.encode_utf8(&mut [0; 4])).into_owned();
        let message = format!("{what} has a character that cannot be seen: `{written}`");
        self.add(
            at,
            message,
            "write it on one line, without control characters, marks of direction and zero-width characters",
        );
        false
    }

    /// A shell command.
    pub(crate) fn command(&mut self, at: At<'_>, what: &str, command: &str) {
        if command.len() > COMMAND_BYTES_MAX {
            let message = format!("{what} is longer than {} KiB, too long for a command line", COMMAND_BYTES_MAX >> 10);
            self.add(at, message, "put it into a script of the repository, and run that");
            return;
        }
        self.wanted(at, what, command, COMMAND_BYTES_MAX);
    }

    /// A text that says what is wanted or how it is shown: words in angle brackets and nothing else, as `holdpoint init` writes them,
    /// still stand for it.
    pub(crate) fn wanted(&mut self, at: At<'_>, what: &str, text: &str, bytes_max: usize) {
        if self.text(at, what, text, bytes_max) && is_placeholder(text) {
            let hint = "write in its place what it stands for";
            self.add(at, format!("{what} is still a placeholder: {}", quoted(text.trim())), hint);
        }
    }

    /// A regular expression. Few may be costly: a handful of bytes can take as long to compile as a thousand others.
    pub(crate) fn regex(&mut self, at: At<'_>, what: &str, text: &str) {
        if !self.text(at, what, text, REGEX_BYTES_MAX) {
            return;
        }
        let mut compiled = RegexBuilder::new(text).size_limit(LIGHT_REGEX_BYTES_MAX).build();
        if let Err(regex::Error::CompiledTooBig(_)) = compiled {
            self.heavy_regexes += 1;
            if self.heavy_regexes > HEAVY_REGEXES_MAX {
                let message =
                    format!("{what} is one costly regular expression more than the {HEAVY_REGEXES_MAX} of a plan");
                self.add(at, message, "repeat less with `{…}`, and write `[a-z]` or `(?-u:\\w)` instead of `\\w`");
                return;
            }
            compiled = Regex::new(text);
        }
        if let Err(error) = compiled {
            let error = error.to_string();
            let why = error.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
            let hint =
                "the syntax is that of Rust's `regex`; put `\\` before (, [, { and . that are meant as they stand";
            self.add(at, format!("{what} is not a regular expression: {why}"), hint);
        }
    }

    /// A list that is not too long. Answers whether its items may be looked at.
    pub(crate) fn length(&mut self, at: At<'_>, what: &str, length: usize, most: usize) -> bool {
        if length <= most {
            return true;
        }
        self.add(at.item(most), format!("{what} has {length} items, more than {most}"), "leave some out");
        false
    }

    /// A list of globs.
    pub(crate) fn globs(&mut self, at: At<'_>, key: &str, globs: &[String]) {
        if !self.length(at, &format!("`{key}`"), globs.len(), ITEMS_MAX) {
            return;
        }
        for (i, glob) in globs.iter().enumerate() {
            // A glob has a limit of its own, which its error names.
            if !self.name(at.item(i), &format!("an item of `{key}`"), glob, usize::MAX) {
                continue;
            }
            if let Err(error) = Glob::new(glob) {
                let message = format!("`{}` in `{key}` is not a glob: {error}", quoted(glob));
                self.add(at.item(i), message, error.hint());
            }
        }
    }

    /// A path inside the repository. Answers whether it is.
    pub(crate) fn path(&mut self, at: At<'_>, what: &str, path: &str) -> bool {
        if !self.name(at, what, path, NAME_BYTES_MAX) {
            return false;
        }
        let outside = path.starts_with('/') || path.split('/').any(|segment| segment == "..");
        if outside {
            let message = format!("`{}` is not a path inside the repository", quoted(path));
            self.add(at, message, "write it from the repository's root, without a leading `/` and without `..`");
        }
        !outside
    }

    /// A span of time.
    pub(crate) fn duration(&mut self, at: At<'_>, key: &str, span: Millis) {
        if !(1..=DURATION_MS_MAX).contains(&span.0) {
            self.say(at, not_a_duration(key, format!("{}ms", span.0)));
        }
    }

    /// A number in a range. Answers whether it is.
    pub(crate) fn number(&mut self, at: At<'_>, key: &str, number: u64, range: &RangeInclusive<u64>) -> bool {
        let fits = range.contains(&number);
        if !fits {
            self.say(at, not_a_number(key, number, range));
        }
        fits
    }

    /// The check of the criterion or guard that is here.
    pub(crate) fn check(&mut self, at: At<'_>, check: &Check) {
        self.command(at.key("check"), "`check`", &check.command);
        if let Some(expect) = &check.expect {
            self.regex(at.key("expect"), "`expect`", expect);
        }
        self.duration(at.key("timeout"), "timeout", check.timeout);
    }
}

/// Whether a text is several words in one pair of angle brackets. No shell takes such a command, and one word may be a name.
fn is_placeholder(text: &str) -> bool {
    let within = text.trim().strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    within.is_some_and(|words| !words.contains(['<', '>']) && words.split_whitespace().count() > 1)
}

/// Reports an id that was seen before.
pub(crate) fn unique<'p, T: Eq + std::hash::Hash + std::fmt::Display>(
    at: At<'_>,
    id: &'p T,
    plural: &str,
    seen: &mut HashSet<&'p T>,
    found: &mut PlanProblems,
) {
    if !seen.insert(id) {
        found.add(at.key("id"), format!("there are two {plural} with the id `{id}`"), "give each its own id");
    }
}
