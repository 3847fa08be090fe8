//! The console as a browser, a page of another site and another user of the machine meet it: a real server on the loopback.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod access;
mod acting;
mod following;
mod lab;
mod naming;
