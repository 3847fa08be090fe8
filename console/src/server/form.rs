//! The fields of a form that is posted, within a size and a time.

use axum::{
    body::{Body, to_bytes},
    http::StatusCode,
    response::Response,
};

use super::words::plain;
use crate::connections::PAGE_TIMEOUT;

/// Reads a form of at most this many bytes. `too_long` is what a longer one gets as an answer.
///
/// # Errors
/// The answer to one that is too long, broke off, or takes longer than a page may take.
pub(super) async fn read(body: Body, max: usize, too_long: &str) -> Result<Vec<(String, String)>, Response> {
    match tokio::time::timeout(PAGE_TIMEOUT, to_bytes(body, max)).await {
        Ok(Ok(bytes)) => Ok(form_urlencoded::parse(&bytes).into_owned().collect()),
        // Nobody reads the answer to one that broke off.
        Ok(Err(_)) => Err(plain(StatusCode::PAYLOAD_TOO_LARGE, too_long)),
        Err(_) => {
            let words = format!(
                "the form did not arrive within {} s, and nothing was done: check the connection and send it again",
                PAGE_TIMEOUT.as_secs()
            );
            Err(plain(StatusCode::REQUEST_TIMEOUT, &words))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future};

    use futures::{StreamExt as _, stream};

    use super::*;

    async fn refused(body: Body) -> (StatusCode, String) {
        let response = read(body, 8, "8 bytes at most").await.unwrap_err();
        let status = response.status();
        let words = to_bytes(response.into_body(), 1 << 10).await.unwrap();
        (status, String::from_utf8(words.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_form_that_is_slow_is_not_called_too_long() {
        assert_eq!(read(Body::from("a=1&b=2"), 8, "").await.unwrap().len(), 2);
        let (status, words) = refused(Body::from("a=1&b=234")).await;
        assert_eq!((status.as_u16(), words.trim()), (413, "8 bytes at most"));
        let begun = stream::once(future::ready(Ok::<_, Infallible>("a=1")));
        let (status, words) = refused(Body::from_stream(begun.chain(stream::pending()))).await;
        assert!(status == 408 && words.contains("did not arrive within"), "{status} {words}");
    }
}
