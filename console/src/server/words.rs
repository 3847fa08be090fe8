//! Answers that are words alone, for the page's script to show.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::problem::ConsoleProblem;

/// Why something was not done.
pub(super) fn refused(problem: &ConsoleProblem) -> Response {
    let both = format!("{}. {}", problem.message.trim_end_matches('.'), problem.hint);
    plain(StatusCode::CONFLICT, &holdpoint_core::shown::line(both.trim()))
}

/// One line.
pub(super) fn plain(status: StatusCode, words: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], words.to_owned()).into_response()
}
