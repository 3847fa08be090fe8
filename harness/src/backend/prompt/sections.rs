//! A prompt in sections, under a bound (FLY-32): what does not fit is cut, the section of least worth first, and the prompt says at
//! its end what was cut and where the whole is. Pure.
//!
//! A block of others' words that is cut is closed: nothing in it gets out.

use std::fmt::Write as _;

use crate::backend::markers::closing_fence;

/// Bytes that the words on what was cut have room in.
const SUMMARY_BYTES: usize = 1_536;

/// Sections that can be cut, those first that a program can do without most easily.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worth {
    Map,
    Skills,
    Covenants,
    SoFar,
    Specifications,
    Dependencies,
    Given,
    Patch,
    Part,
    Clarifications,
    Documents,
    Feedback,
    Paths,
    Criteria,
    Notes,
    Guidance,
    Question,
    Goal,
}

impl Worth {
    /// The section's name, and where the whole of it is.
    fn whole(self) -> (&'static str, &'static str) {
        const TURN: &str = "the file `$HOLDPOINT_TURN_FILE`";
        const DIFF: &str = "the file `$HOLDPOINT_DIFF_FILE`";
        match self {
            Self::Map => ("the map of the repository", "`holdpoint-ask context map`"),
            Self::Skills => ("the repository's skills", "the files of that name in the current directory"),
            Self::Covenants => ("the repository's guidance", "the files of that name in the current directory"),
            Self::SoFar => ("what was done so far", DIFF),
            Self::Specifications => ("the specifications", TURN),
            Self::Dependencies => ("what landed before", TURN),
            Self::Given => ("what was said before", TURN),
            Self::Patch => ("what the work changes", DIFF),
            Self::Documents => ("the documents of earlier gates", "the files in `$HOLDPOINT_DOCUMENTS_DIR`"),
            Self::Part => ("your part", TURN),
            Self::Clarifications => ("questions and their answers", TURN),
            Self::Feedback => ("what earlier turns came to", TURN),
            Self::Notes => ("notes on earlier turns", TURN),
            Self::Guidance => ("the constraints of your role", TURN),
            Self::Question => ("the question", TURN),
            Self::Paths => ("what may be changed", TURN),
            Self::Criteria => ("the acceptance criteria", TURN),
            Self::Goal => ("the goal", TURN),
        }
    }
}

#[derive(Debug, Clone)]
struct Section {
    /// `None`: it is never cut.
    worth: Option<Worth>,
    text: String,
}

/// A prompt so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sections(Vec<Section>);

impl Sections {
    /// Adds words without which the program does not know what it is: they are never cut, and they are few.
    pub(crate) fn keep(&mut self, write: impl FnOnce(&mut String)) {
        self.push(None, write);
    }

    /// Adds a section that can be cut.
    pub(crate) fn add(&mut self, worth: Worth, write: impl FnOnce(&mut String)) {
        self.push(Some(worth), write);
    }

    fn push(&mut self, worth: Option<Worth>, write: impl FnOnce(&mut String)) {
        let mut text = String::new();
        write(&mut text);
        if !text.is_empty() {
            self.0.push(Section { worth, text });
        }
    }

    /// The prompt, in at most so many bytes as far as sections that can be cut allow it.
    pub(crate) fn within(mut self, bytes_max: usize) -> String {
        let length = |sections: &[Section]| sections.iter().map(|section| section.text.len()).sum::<usize>();
        if length(&self.0) > bytes_max {
            let room = bytes_max.saturating_sub(SUMMARY_BYTES);
            let mut cut = Vec::new();
            let mut by_worth: Vec<usize> = (0..self.0.len()).filter(|at| self.0[*at].worth.is_some()).collect();
            by_worth.sort_by_key(|at| self.0[*at].worth);
            for at in by_worth {
                let excess = length(&self.0).saturating_sub(room);
                if excess == 0 {
                    break;
                }
                let section = &mut self.0[at];
                let whole = section.text.len();
                section.text = beginning(&section.text, whole.saturating_sub(excess));
                cut.extend(section.worth.map(|worth| (worth, section.text.len(), whole)));
            }
            self.keep(|text| push_summary(text, bytes_max, &cut));
        }
        self.0.into_iter().map(|section| section.text).collect()
    }
}

/// At most so many bytes of a section, as whole lines unless that loses most of it, with the block closed that it would leave open.
/// Less than a heading is nothing.
fn beginning(text: &str, bytes_max: usize) -> String {
    let mut room = bytes_max;
    loop {
        let start = &text[..text.floor_char_boundary(room)];
        let whole = start.rfind('\n').map_or(0, |end| end + 1);
        let start = if whole * 2 >= start.len() { &start[..whole] } else { start };
        if start.lines().filter(|line| !line.trim().is_empty()).count() < 2 {
            return String::new();
        }
        let line_end = if start.ends_with('\n') { "" } else { "\n" };
        let closing = closing_fence(start).map(|fence| format!("{fence}\n")).unwrap_or_default();
        let cut = format!("{start}{line_end}{closing}\n");
        match cut.len().checked_sub(bytes_max) {
            None | Some(0) => return cut,
            Some(over) => room = start.len().saturating_sub(over),
        }
    }
}

fn push_summary(text: &mut String, bytes_max: usize, cut: &[(Worth, usize, usize)]) {
    let _ = writeln!(text, "\n## What is not here\n\nThis prompt has a bound of {bytes_max} bytes. Cut were:\n");
    for (worth, left, whole) in cut {
        let (name, place) = worth.whole();
        let _ = writeln!(text, "- {name}: {left} of {whole} bytes are here, all of it is in {place}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backend::prompt::parts::push_fenced;

    fn sections(goal: usize, map: &str) -> Sections {
        let mut sections = Sections::default();
        sections.keep(|text| text.push_str("# Title\n\n"));
        sections.add(Worth::Goal, |text| {
            let _ = writeln!(text, "## Goal\n\n{}\n", "do it\n".repeat(goal));
        });
        sections.add(Worth::Map, |text| {
            text.push_str("## The repository\n\n");
            push_fenced(text, map);
        });
        sections.keep(|text| text.push_str("## When you are ready\n\nEnd.\n"));
        sections
    }

    #[test]
    fn what_fits_is_whole_and_says_nothing_of_a_bound() {
        let whole = sections(3, "a\nb").within(usize::MAX);
        assert_eq!(sections(3, "a\nb").within(whole.len()), whole);
        assert!(!whole.contains("What is not here"));
        assert!(whole.ends_with("End.\n"));
    }

    #[test]
    fn the_section_of_least_worth_is_cut_first_and_named_with_the_place_of_the_whole() {
        let map = "src/lib.rs\n".repeat(1_000);
        let cut = sections(100, &map).within(8_000);
        assert!(cut.len() <= 8_000, "{}", cut.len());
        assert_eq!(cut.matches("do it").count(), 100, "the goal is whole");
        assert!(cut.contains("- the map of the repository: ") && cut.contains("`holdpoint-ask context map`"), "{cut}");
        assert!(!cut.contains("- the goal"));
        // Nothing of the map is left where the goal itself has too little room.
        let less = sections(2_000, &map).within(4_000);
        assert!(less.len() <= 4_000 && less.contains("- the map of the repository: 0 of "), "{less}");
        assert!(less.contains("- the goal: ") && less.contains("$HOLDPOINT_TURN_FILE"), "{less}");
        assert!(less.contains("## When you are ready"));
    }

    #[test]
    fn of_one_long_line_the_beginning_is_kept() {
        let mut sections = Sections::default();
        sections.keep(|text| text.push_str("# Title\n\n"));
        sections.add(Worth::Goal, |text| {
            let _ = writeln!(text, "## Goal\n\n{}\n", "do it and ".repeat(1_000));
        });
        let cut = sections.within(6_000);
        assert!(cut.len() <= 6_000 && cut.matches("do it").count() > 300, "{cut}");
        assert!(cut.contains("- the goal: "));
    }

    proptest! {
        #[test]
        fn nothing_gets_out_of_a_block_that_is_cut(map in "(?:[`~a\n ]|``\\x1b\\[0m`){0,2000}", bytes_max in 1_100_usize..3_000) {
            let cut = sections(1, &map).within(bytes_max);
            prop_assert!(cut.len() <= bytes_max.max(1_200));
            let (headings, before): (Vec<_>, _) =
                (cut.match_indices("\n## ").map(|(at, _)| at).collect(), |at: usize| &cut[..=at]);
            for at in headings {
                prop_assert_eq!(closing_fence(before(at)), None, "{}", cut);
            }
            prop_assert_eq!(closing_fence(&cut), None);
        }
    }
}
