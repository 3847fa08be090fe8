//! What is wrong with files that cannot be handed off, and how their maker puts it right. Pure.

use holdpoint_runtime::telemetry::ErrorChain;
use holdpoint_workspace::{InputRefusal, WorkspaceError};

/// What is wrong, with a remedy where there is one.
pub(super) fn unusable(error: &WorkspaceError) -> String {
    let WorkspaceError::Refused(refusal) = error else { return ErrorChain(error).to_string() };
    match remedy(refusal) {
        Some(remedy) => format!("{refusal}: {remedy}"),
        None => refusal.to_string(),
    }
}

fn remedy(refusal: &InputRefusal) -> Option<&'static str> {
    Some(match refusal {
        InputRefusal::NestedRepository { .. } => {
            "if its files belong to the work, remove its `.git`; if not, remove the folder or have an ignore file name it"
        }
        InputRefusal::Submodule { .. } | InputRefusal::Gitlink { .. } => {
            "a handoff takes over no change of a submodule, so undo it there, and say what has to change in the submodule's own \
             repository"
        }
        InputRefusal::UnsupportedFile { .. } => "remove it, or put a file in its place",
        InputRefusal::BlobTooLarge { .. } | InputRefusal::TreeTooLarge { .. } | InputRefusal::TooManyEntries { .. } => {
            "remove what does not belong to the work, or have an ignore file name it"
        }
        InputRefusal::Unfit { .. } | InputRefusal::UnusablePath { .. } => "give it another name, or remove it",
        InputRefusal::Unreadable { .. } => "make it readable, or remove it",
        InputRefusal::Unstorable { .. } => "save it in the encoding that its attributes name",
        // It says itself what can be done.
        InputRefusal::Unfiltered { .. }
        | InputRefusal::NotABundle { .. }
        | InputRefusal::BundleTooLarge { .. }
        | InputRefusal::TooManyObjects { .. }
        | InputRefusal::ForeignRefs { .. }
        | InputRefusal::ForeignIndex
        | InputRefusal::WrongFormat
        | InputRefusal::MissingPrerequisite { .. }
        | InputRefusal::BrokenObjects { .. }
        | InputRefusal::OverLimit { .. }
        | InputRefusal::NotACommit { .. }
        | InputRefusal::CommitTooLarge { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maker_hears_what_is_wrong_and_what_puts_it_right() {
        let path = || holdpoint_workspace::RepoPath::new("vendor/lib").unwrap();
        let nested = unusable(&InputRefusal::NestedRepository { path: path() }.into());
        assert!(nested.starts_with("vendor/lib is a git repository inside the working tree: if its files"), "{nested}");
        let change = "api.txt was written there".to_owned();
        let submodule = unusable(&InputRefusal::Submodule { path: path(), change }.into());
        assert!(submodule.starts_with("vendor/lib is a submodule, and api.txt was written there: "), "{submodule}");
        assert_eq!(unusable(&InputRefusal::ForeignIndex.into()), InputRefusal::ForeignIndex.to_string());
    }
}
