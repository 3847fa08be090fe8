//! What happened, for people: views of journals, and the words they are said in.

pub mod attest;
pub mod cost;
pub mod events;
pub mod pull_request;
pub mod standing;
pub mod words;
