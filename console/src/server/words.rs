//! Answers for the page's script to show: words alone, or a part of a page.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use maud::Markup;

use crate::problem::ConsoleProblem;

/// Why something was not done.
pub(super) fn refused(problem: &ConsoleProblem) -> Response {
    let both = format!("{}. {}", problem.message.trim_end_matches('.'), problem.hint);
    plain(StatusCode::CONFLICT, &holdpoint_text::shown::line(both.trim()))
}

/// Markup that the page's script puts into the page.
pub(super) fn fragment(markup: &Markup) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], markup.0.clone()).into_response()
}

/// One line.
pub(super) fn plain(status: StatusCode, words: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], words.to_owned()).into_response()
}
