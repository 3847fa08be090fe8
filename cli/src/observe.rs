//! Reading what happened at the gates of flights, for `events`, `gates` and `report`.
//!
//! Everything is read over the API as it is stored, and only what the fleet's orchestrators signed counts.

mod flights;
mod source;
mod trend;
mod words;

pub(crate) use flights::{Chosen, choose};
pub(crate) use source::{Follower, Source};
pub(crate) use trend::trend;
pub(crate) use words::{agents, delivery, gates};
