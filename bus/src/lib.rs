//! The broker: journals, turns, handoffs, blobs, the API, and who may use which of them.
//!
//! This is the only crate with a NATS client. Payloads are opaque bytes here; what travels with them as headers
//! (signature, schema, message id, trace context) is typed. No decision about a flight is made here.
//!
//! - [`auth`]: keys, credentials, signatures; [`broker`]: a broker process of our own; [`topology`]: its streams.
//! - [`connection`]: the [`Bus`] that everything below goes through; [`tls`]: the files it may need.
//! - [`journal`]: optimistic appends and reads (orchestrators).
//! - [`turns`] and [`handoffs`]: what agents pull and what they answer.
//! - [`past`]: what was handed off before.
//! - [`archivist`]: what leaves the broker; [`migrator`]: all of it, to another broker.
//! - [`blobs`]: write-once bytes; [`signals`]: what is not stored; [`api`]: the micro service.

pub mod api;
pub mod archivist;
pub mod auth;
pub mod blobs;
pub mod broker;
pub mod connection;
pub mod connections;
pub mod handoffs;
pub mod journal;
mod leader;
pub mod message;
pub mod migrator;
pub mod past;
mod publish;
mod reading;
mod settled;
pub mod signals;
pub mod tls;
pub mod topology;
pub mod tries;
pub mod turns;

pub use connection::{Bus, ConnectArgs, ConnectError};
pub use message::{Outgoing, Stored};
