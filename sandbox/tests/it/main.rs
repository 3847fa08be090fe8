//! Real programs in the real sandbox. They need a Linux that allows user namespaces, with Landlock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

#[cfg(target_arch = "x86_64")]
mod escapes;
mod files;
mod honest;
mod lab;
mod limits;
mod network;
mod processes;
mod programs;
mod standby;
