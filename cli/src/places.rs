//! Paths have to be UTF-8: they go into configuration files, records and answers, which are text. Looked at before anything begins.
//! What the repository's own places are called, [`holdpoint_workspace::UserRepo`] looks at; names of files in a repository may be
//! anything.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
};

use crate::failure::Failure;

/// Variables whose value is a path that is used, besides all whose name begins with [`OURS`].
const VARIABLES: [&str; 4] = ["HOME", "PATH", "TMPDIR", "XDG_STATE_HOME"];
/// What the names of our own variables begin with.
const OURS: &str = "HOLDPOINT_";

/// Refuses arguments, variables of ours and a current folder that are not UTF-8.
pub(crate) fn check() -> Result<(), Failure> {
    check_all(env::args_os().skip(1), env::vars_os())?;
    match env::current_dir() {
        Ok(here) => check_path("the current folder", &here),
        // Commands that need it say that it is gone.
        Err(_) => Ok(()),
    }
}

fn check_all(
    arguments: impl IntoIterator<Item = OsString>,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(), Failure> {
    arguments.into_iter().try_for_each(|argument| check_text("the argument", &argument))?;
    let is_used = |name: &OsStr| {
        VARIABLES.iter().any(|used| name == *used) || name.as_encoded_bytes().starts_with(OURS.as_bytes())
    };
    for (name, value) in variables.into_iter().filter(|(name, _)| is_used(name)) {
        check_text(&format!("the value of {}", name.display()), &value)?;
    }
    Ok(())
}

/// Refuses a path that is not UTF-8. `what` it is begins the message.
pub(crate) fn check_path(what: &str, path: &Path) -> Result<(), Failure> {
    check_text(what, path.as_os_str())
}

fn check_text(what: &str, text: &OsStr) -> Result<(), Failure> {
    if text.to_str().is_some() {
        return Ok(());
    }
    let message = format!("{what} is not UTF-8: {text:?}");
    Err(Failure::usage(
        "not_utf8",
        message,
        "rename the folder or file, or use another one: Holdpoint keeps paths as text",
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    fn odd() -> OsString {
        OsString::from_vec(b"caf\xe9".to_vec())
    }

    #[test]
    fn arguments_and_variables_that_are_used_have_to_be_text_and_others_need_not() {
        let none = || std::iter::empty::<OsString>();
        let variable = |name: &str| [(OsString::from(name), odd())];
        let refused = check_all(none(), variable("HOLDPOINT_STATE_DIR")).unwrap_err();
        assert_eq!(refused.message(), r#"the value of HOLDPOINT_STATE_DIR is not UTF-8: "caf\xE9""#);
        assert!(check_all(none(), variable("TMPDIR")).is_err() && check_all(none(), variable("HOME")).is_err());
        assert!(check_all(none(), variable("LESS")).is_ok());
        assert!(check_all([odd()], []).is_err() && check_all(["é".into()], []).is_ok());
        assert!(check_path("the plan", Path::new(&odd())).is_err());
    }
}
