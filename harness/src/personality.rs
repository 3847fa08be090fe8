//! What an executable is besides itself: started under another name, it is the program of that name.

use std::{os::unix::ffi::OsStrExt as _, path::Path};

/// The arguments of this process, if it was started under this name.
pub(crate) fn started_as(program: &str) -> Option<impl Iterator<Item = String>> {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_default();
    Path::new(&called).file_name().filter(|name| name.as_bytes() == program.as_bytes())?;
    Some(arguments.map(|argument| argument.to_string_lossy().into_owned()))
}
