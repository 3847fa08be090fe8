//! Work of high impact, which a person is asked about before anybody judges it (FLY-21). Pure: what git says of the work, and what was
//! answered before.

use holdpoint_protocol::{artifact::Clarified, facts::PathChange};

/// The answers that the question offers: the first one agrees.
pub const OPTIONS: [&str; 2] = ["go on with it", "take another way"];

/// The question that these changes are, where the plan has one asked before more than so many files are removed, and nobody has agreed
/// to as many yet; `None`: they are none. A rename removes a file.
#[must_use]
pub fn question(ask_before_removing: Option<u32>, changes: &[PathChange], answered: &[Clarified]) -> Option<String> {
    let removed = changes.iter().filter(|change| change.new_mode.is_none()).count();
    let most = usize::try_from(ask_before_removing?).unwrap_or(usize::MAX);
    if removed <= most {
        return None;
    }
    let question = format!(
        "The work removes {removed} files, and the plan has you asked before more than {most} are removed. Is that meant?"
    );
    let agreed = |said: &Clarified| said.question == question && said.option.as_deref() == Some(OPTIONS[0]);
    (!answered.iter().any(agreed)).then_some(question)
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::facts::ChangeStatus;

    use super::*;

    fn removed(count: usize) -> Vec<PathChange> {
        let change = |path: String| PathChange {
            path,
            status: ChangeStatus::Deleted,
            old_mode: Some("100644".to_owned()),
            new_mode: None,
        };
        (0..count).map(|n| change(format!("f{n}"))).collect()
    }

    fn answer(question: &str, option: &str) -> Clarified {
        Clarified {
            question: question.to_owned(),
            option: Some(option.to_owned()),
            text: None,
            rationale: None,
            constraints: Vec::new(),
            by: "human-ada".to_owned(),
        }
    }

    #[test]
    fn removing_more_files_than_the_plan_allows_is_a_question_until_somebody_agrees_to_as_many() {
        let asked = question(Some(2), &removed(3), &[]).unwrap();
        let agreed = [answer(&asked, OPTIONS[0])];
        for (most, count, answered, asks) in [
            (None, 9, &[][..], false),
            (Some(2), 2, &[], false),
            (Some(0), 1, &[], true),
            (Some(2), 3, &agreed, false),
            (Some(2), 4, &agreed, true),
            (Some(2), 3, &[answer(&asked, OPTIONS[1])], true),
            (Some(2), 3, &[answer("Another question?", OPTIONS[0])], true),
        ] {
            assert_eq!(question(most, &removed(count), answered).is_some(), asks, "{most:?} {count}");
        }
        let kept = PathChange { new_mode: Some("100755".to_owned()), ..removed(1).remove(0) };
        assert_eq!(question(Some(0), &[kept], &[]), None);
    }
}
