//! The bus against a real nats-server, with the two accounts and real credentials.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests say what is expected by failing")]

mod api;
mod archivist;
mod blobs;
mod cluster;
mod connections;
mod crash;
mod disk;
mod forging;
mod handoffs;
mod headers;
mod hostile;
mod journal;
mod keys;
mod matrix;
mod migration;
mod permissions;
mod signals;
mod stores;
mod support;
mod tls;
mod turns;
mod versions;
