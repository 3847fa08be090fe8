//! What the bridge writes at the top of its files, and what others wrote below. Pure.
//!
//! A file of the bridge begins with front matter of plain `key: value` lines. The line `turn` names the turn that it was written for: a
//! file with another turn's name was moved for a turn that is over.

use std::{collections::BTreeMap, fmt::Write as _};

use holdpoint_planfile::plan::front_matter;
use holdpoint_protocol::{
    artifact::Disposition,
    ids::{TurnId, WaypointId},
    turn::Feedback,
};

/// The line around front matter.
const FENCE: &str = "---";
/// An editor may put it before a text.
const BOM: char = '\u{feff}';
/// The longest title that is made of a first line, in characters.
const TITLE_LEN_MAX: usize = 100;
/// The longest comment, in characters; the most that are taken of one file.
const COMMENT_LEN_MAX: usize = 2_000;
/// Comments of one file.
const COMMENTS_MAX: usize = 50;

/// The key of the turn that a file was written for.
const TURN: &str = "turn";
/// The key of the gate that a file was written for.
const GATE: &str = "gate";
/// The key of the question that a file asks.
const QUESTION: &str = "question";
/// The heading below which an answer is written.
const ANSWER: &str = "## Answer";

/// A file, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarkedText<'a> {
    marks: BTreeMap<&'a str, &'a str>,
    /// The text below the front matter; all of it where the file is none of the bridge's.
    pub body: &'a str,
}

impl<'a> MarkedText<'a> {
    /// Takes a file apart. Front matter that names neither a turn nor a question is its writer's, and a part of the text.
    #[must_use]
    pub fn read(text: &'a str) -> Self {
        let whole = Self { marks: BTreeMap::new(), body: text };
        let Some((front, body)) = front_matter::split(text.trim_start_matches(BOM)) else { return whole };
        let marks: Option<BTreeMap<&str, &str>> = front.lines().skip(1).map(|line| line.split_once(": ")).collect();
        match marks {
            Some(marks) if marks.contains_key(TURN) || marks.contains_key(QUESTION) => {
                Self { marks, body: body.trim_start_matches(['\r', '\n']) }
            }
            _ => whole,
        }
    }

    /// The turn that it was written for.
    #[must_use]
    pub fn turn(&self) -> Option<&'a str> {
        self.marks.get(TURN).copied()
    }

    /// The gate that it was written for.
    #[must_use]
    pub fn gate(&self) -> Option<&'a str> {
        self.marks.get(GATE).copied()
    }

    /// Whether the bridge wrote it.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        !self.marks.is_empty()
    }

    /// The question that it asks.
    #[must_use]
    pub fn question(&self) -> Option<&'a str> {
        self.marks.get(QUESTION).copied()
    }

    /// What stands below the heading for answers; `None`: nothing.
    #[must_use]
    pub fn answer(&self) -> Option<&'a str> {
        let (_, answer) = self.body.split_once(&format!("\n{ANSWER}"))?;
        Some(answer.trim()).filter(|answer| !answer.is_empty())
    }
}

/// A task's file.
#[must_use]
pub fn task(waypoint: &WaypointId, gate: &str, turn: &TurnId, clone: Option<&str>, body: &str) -> String {
    let mut text = format!("{FENCE}\nid: {waypoint}\n{GATE}: {gate}\n{TURN}: {turn}\n");
    if let Some(clone) = clone {
        let _ = writeln!(text, "clone: {clone}");
    }
    let _ = write!(text, "{FENCE}\n\n{}\n", body.trim_end());
    text
}

/// The file in which a question waits for its answer.
#[must_use]
pub fn clarify(waypoint: &WaypointId, reference: &str, question: &str, context: &str, options: &[String]) -> String {
    let mut text = format!("{FENCE}\nid: {waypoint}\n{QUESTION}: {reference}\n{FENCE}\n\n{}\n", question.trim());
    if !context.trim().is_empty() {
        let _ = write!(text, "\n{}\n", context.trim());
    }
    if !options.is_empty() {
        text.push_str("\nAnswers that the asker can work with:\n\n");
        for option in options {
            let _ = writeln!(text, "- {}", option.trim());
        }
    }
    let _ = write!(text, "\n{ANSWER}\n\n");
    text
}

/// The title of a text: its first heading, or its first line.
#[must_use]
pub fn title(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != FENCE);
    let first = lines.next().unwrap_or_default();
    first.trim_start_matches('#').trim().chars().take(TITLE_LEN_MAX).collect()
}

/// The lines of a text that another one does not have, as comments: without marks of lists and without headings.
#[must_use]
pub fn comments(before: &str, after: &str) -> Vec<String> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in before.lines() {
        *known.entry(line.trim()).or_default() += 1;
    }
    let mut comments = Vec::new();
    for line in after.lines().map(str::trim) {
        match known.get_mut(line) {
            // A line that is there twice was added once.
            Some(left) if *left > 0 => *left -= 1,
            _ if line.starts_with('#') || comments.len() >= COMMENTS_MAX => {}
            _ => {
                let plain = line.trim_start_matches(['-', '*', '>']).trim();
                comments.extend((!plain.is_empty()).then(|| plain.chars().take(COMMENT_LEN_MAX).collect()));
            }
        }
    }
    comments
}

/// Whether work is here again because somebody or a check sent it back, and not for an answer.
#[must_use]
pub fn is_sent_back(feedback: Option<&Feedback>) -> bool {
    feedback.is_some_and(|feedback| {
        matches!(feedback.disposition, Disposition::Rework | Disposition::Rollback)
            && (feedback.review.is_some() || !feedback.failing.is_empty() || !feedback.notes.is_empty())
    })
}

/// What the folder says of a task, in a file of its own.
#[must_use]
pub fn feedback(task: &str, turn: Option<&TurnId>, words: &str) -> String {
    let turn = turn.map_or("-", TurnId::as_str);
    format!("{FENCE}\nid: {task}\n{TURN}: {turn}\n{FENCE}\n\n# {task}\n\n{}\n", words.trim())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id() -> WaypointId {
        "login".parse().unwrap()
    }

    #[test]
    fn a_task_says_which_turn_it_was_written_for_and_keeps_its_text() {
        let text =
            task(&id(), "document", &"turn-1".parse().unwrap(), Some("clones/x"), "# Log in\n\nwith a password\n");
        let read = MarkedText::read(&text);
        assert_eq!((read.turn(), read.body), (Some("turn-1"), "# Log in\n\nwith a password\n"));
        assert!(text.contains("\nclone: clones/x\n"), "{text}");
    }

    #[test]
    fn front_matter_of_a_user_is_a_part_of_the_text() {
        for text in
            ["---\ntitle: x\n---\nbody", "---\nno end", "plain", "", "---\n", "---\nturn: t\nnot a line\n---\nx"]
        {
            assert_eq!(MarkedText::read(text), MarkedText { marks: BTreeMap::new(), body: text }, "{text:?}");
        }
    }

    #[test]
    fn an_answer_is_the_text_below_its_heading_and_empty_space_is_none() {
        let asked = clarify(&id(), "HP_X/7", "Which one?", "Both exist.", &["a".to_owned(), "b".to_owned()]);
        let read = MarkedText::read(&asked);
        assert_eq!((read.question(), read.answer()), (Some("HP_X/7"), None));
        assert!(read.body.contains("- a\n- b\n") && read.body.contains("Both exist."), "{asked}");
        let answered = format!("{asked}  the first\n\nas always \n");
        assert_eq!(MarkedText::read(&answered).answer(), Some("the first\n\nas always"));
    }

    #[test]
    fn an_answer_is_read_from_an_editor_that_writes_lines_of_windows() {
        let asked = clarify(&id(), "HP_X/7", "Which one?", "Both exist.", &[]);
        let saved = format!("{BOM}{}", format!("{asked}the first\n").replace('\n', "\r\n"));
        let read = MarkedText::read(&saved);
        assert_eq!((read.question(), read.answer()), (Some("HP_X/7"), Some("the first")));
        assert!(read.body.starts_with("Which one?"), "{read:?}");
    }

    #[test]
    fn comments_are_the_lines_that_somebody_added() {
        let before = "# Log in\n\nwith a password\n- x\n";
        let after = "# Log in\n\nwith a password\n- x\n\n## Comments\n\n- say how long a session lasts\n* x\nplain\n";
        assert_eq!(comments(before, after), ["say how long a session lasts", "x", "plain"]);
        assert_eq!(comments(before, before), Vec::<String>::new());
        let doubled = format!("{before}- x\n");
        assert_eq!(comments(before, &doubled), ["x"], "a line that is there twice was added once");
        assert_eq!(comments("", &"y\n".repeat(1_000)).len(), COMMENTS_MAX);
    }

    #[test]
    fn the_title_is_the_first_line_without_its_mark() {
        for (text, expected) in
            [("\n## Log in \nx", "Log in"), ("plain\n# h", "plain"), ("", ""), ("---\na: b", "a: b")]
        {
            assert_eq!(title(text), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back_from_a_task(body in "\\PC{0,200}") {
            let text = task(&id(), "plan", &"turn-2".parse().unwrap(), None, &body);
            let read = MarkedText::read(&text);
            prop_assert_eq!(read.turn(), Some("turn-2"));
            prop_assert_eq!(read.body.trim_end(), body.trim_start_matches('\n').trim_end());
        }

        #[test]
        fn no_text_ends_the_process(text in "(---\n)?(\\PC|\n){0,200}") {
            let read = MarkedText::read(&text);
            let _ = (read.answer(), title(&text), comments(&text, read.body));
        }
    }
}
