//! Names of task files: `{PRIORITY_}?{TYPE}_{ID}.md`, in which the id of an execution task ends with its sequence number (SDLC-5). Pure.

use std::fmt;

use holdpoint_protocol::{
    ids::{ID_LEN_MAX, WaypointId},
    plan::Priority,
};

/// The ending of every task file.
const ENDING: &str = ".md";
/// Characters of a request's id: the ids of its tasks are longer by `_` and their number.
pub const REQUEST_ID_LEN_MAX: usize = ID_LEN_MAX - 8;
/// Digits of a sequence number, at least.
const SEQUENCE_DIGITS_MIN: usize = 2;

/// What a task file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskKind {
    /// A request of a user.
    New,
    /// A specification is wanted.
    Doc,
    /// A plan is wanted, estimated or carried out.
    Plan,
    /// A task of a plan.
    Exec,
}

impl TaskKind {
    /// All of them, in the order in which a request goes through them.
    pub const ALL: [Self; 4] = [Self::New, Self::Doc, Self::Plan, Self::Exec];

    /// The word in names.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::Doc => "DOC",
            Self::Plan => "PLAN",
            Self::Exec => "EXEC",
        }
    }
}

/// The name of a task file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskName {
    /// Which is picked up first.
    pub priority: Priority,
    /// What it is for.
    pub kind: TaskKind,
    /// The waypoint: the request, or one of its tasks.
    pub waypoint: WaypointId,
}

/// Why a file in a task folder is no task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTaskName {
    /// It begins with no type, or ends otherwise.
    #[error(
        "it is not called TYPE_ID.md, with a type of NEW, DOC, PLAN or EXEC, and CRITICAL_, HIGH_, MEDIUM_ or LOW_ before it at most"
    )]
    Form,
    /// The part behind the type is no id.
    #[error(
        "{0:?} is no id: use letters, digits, `_` and `-`, at most {REQUEST_ID_LEN_MAX} of them, a letter or digit first"
    )]
    Id(String),
    /// A request is called like a task of another one.
    #[error("{0:?} ends like the number of a task, `_01`: leave the number out, or write it without `_`")]
    Numbered(String),
    /// An execution task has no number.
    #[error("{0:?} has no number: an execution task is called EXEC_ID_01.md")]
    Unnumbered(String),
}

impl TaskName {
    /// The name of a file of this waypoint.
    #[must_use]
    pub fn of(priority: Priority, kind: TaskKind, waypoint: WaypointId) -> Self {
        Self { priority, kind, waypoint }
    }

    /// Reads a file's name.
    ///
    /// # Errors
    /// [`BadTaskName`].
    pub fn parse(file: &str) -> Result<Self, BadTaskName> {
        let stem = file.strip_suffix(ENDING).ok_or(BadTaskName::Form)?;
        let (priority, rest) = match stem.split_once('_') {
            Some((word, rest)) => match Priority::ALL.into_iter().find(|priority| capital(*priority) == word) {
                Some(priority) => (priority, rest),
                None => (Priority::Medium, stem),
            },
            None => return Err(BadTaskName::Form),
        };
        let (word, id) = rest.split_once('_').ok_or(BadTaskName::Form)?;
        let kind = TaskKind::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or(BadTaskName::Form)?;
        let bad = || BadTaskName::Id(id.chars().take(ID_LEN_MAX).collect());
        let waypoint = WaypointId::try_new(id).map_err(|_| bad())?;
        match (kind, parent(&waypoint)) {
            (TaskKind::Exec, Some(_)) => {}
            (TaskKind::Exec, None) => return Err(BadTaskName::Unnumbered(id.to_owned())),
            (_, Some(_)) => return Err(BadTaskName::Numbered(id.to_owned())),
            (_, None) if id.len() > REQUEST_ID_LEN_MAX => return Err(bad()),
            (_, None) => {}
        }
        Ok(Self { priority, kind, waypoint })
    }

    /// Where it stands in a queue: what is taken first is least.
    #[must_use]
    pub fn rank(&self) -> (Priority, &str) {
        (self.priority, self.waypoint.as_str())
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.priority != Priority::Medium {
            write!(f, "{}_", capital(self.priority))?;
        }
        write!(f, "{}_{}{ENDING}", self.kind.as_str(), self.waypoint)
    }
}

/// The request that a task with this id is of; `None`: it is no task's id.
#[must_use]
pub fn parent(waypoint: &WaypointId) -> Option<WaypointId> {
    let (request, number) = waypoint.as_str().rsplit_once('_')?;
    let is_number = number.len() >= SEQUENCE_DIGITS_MIN && number.bytes().all(|digit| digit.is_ascii_digit());
    if is_number { WaypointId::try_new(request).ok() } else { None }
}

/// The prefix of a priority.
fn capital(priority: Priority) -> &'static str {
    match priority {
        Priority::Critical => "CRITICAL",
        Priority::High => "HIGH",
        Priority::Medium => "MEDIUM",
        Priority::Low => "LOW",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(text: &str) -> WaypointId {
        text.parse().unwrap()
    }

    #[test]
    fn names_are_read_as_the_source_has_them() {
        for (file, priority, kind, waypoint) in [
            ("NEW_login.md", Priority::Medium, TaskKind::New, "login"),
            ("DOC_login-page.md", Priority::Medium, TaskKind::Doc, "login-page"),
            ("CRITICAL_PLAN_login.md", Priority::Critical, TaskKind::Plan, "login"),
            ("MEDIUM_DOC_x.md", Priority::Medium, TaskKind::Doc, "x"),
            ("EXEC_login_01.md", Priority::Medium, TaskKind::Exec, "login_01"),
            ("LOW_EXEC_a_b_1234.md", Priority::Low, TaskKind::Exec, "a_b_1234"),
            ("NEW_HIGH_DOC_x.md", Priority::Medium, TaskKind::New, "HIGH_DOC_x"),
        ] {
            assert_eq!(TaskName::parse(file), Ok(TaskName::of(priority, kind, id(waypoint))), "{file}");
        }
    }

    #[test]
    fn a_name_that_is_none_says_what_is_wrong_with_it() {
        use BadTaskName::{Form, Id, Numbered, Unnumbered};
        let long = format!("NEW_{}.md", "x".repeat(REQUEST_ID_LEN_MAX + 1));
        for (file, wrong) in [
            ("NEW_login", Form),
            ("login.md", Form),
            ("NEW.md", Form),
            ("TASK_x.md", Form),
            ("high_NEW_x.md", Form),
            ("NEW_.md", Id(String::new())),
            ("NEW_a b.md", Id("a b".to_owned())),
            ("NEW_../x.md", Id("../x".to_owned())),
            ("NEW_a_01.md", Numbered("a_01".to_owned())),
            ("EXEC_a.md", Unnumbered("a".to_owned())),
            ("EXEC_a_1.md", Unnumbered("a_1".to_owned())),
            (long.as_str(), Id("x".repeat(REQUEST_ID_LEN_MAX + 1))),
        ] {
            assert_eq!(TaskName::parse(file), Err(wrong), "{file}");
        }
    }

    #[test]
    fn a_critical_task_is_picked_up_before_all_others_and_equals_by_their_ids() {
        let mut names =
            ["LOW_DOC_a.md", "DOC_c.md", "CRITICAL_DOC_z.md", "HIGH_EXEC_b_02.md", "HIGH_EXEC_b_01.md", "DOC_b.md"];
        names.sort_by_key(|name| {
            let name = TaskName::parse(name).unwrap();
            (name.priority, name.waypoint)
        });
        let order =
            ["CRITICAL_DOC_z.md", "HIGH_EXEC_b_01.md", "HIGH_EXEC_b_02.md", "DOC_b.md", "DOC_c.md", "LOW_DOC_a.md"];
        assert_eq!(names, order);
    }

    proptest! {
        #[test]
        fn what_is_written_as_a_name_is_read_as_the_same_task(
            priority in prop::sample::select(Priority::ALL.to_vec()),
            kind in prop::sample::select(TaskKind::ALL.to_vec()),
            request in "[A-Za-z0-9][A-Za-z0-9-]{0,20}",
            number in 1_u32..5_000,
        ) {
            let text = if kind == TaskKind::Exec { format!("{request}_{number:02}") } else { request.clone() };
            let name = TaskName::of(priority, kind, id(&text));
            prop_assert_eq!(TaskName::parse(&name.to_string()), Ok(name.clone()));
            prop_assert_eq!(parent(&name.waypoint), (kind == TaskKind::Exec).then(|| id(&request)));
        }

        #[test]
        fn no_name_of_a_file_ends_the_process(file in "\\PC{0,100}") {
            let _ = TaskName::parse(&file);
        }
    }
}
