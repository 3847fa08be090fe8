//! Sound flights are sound, and every way to doctor one is named.

mod account;
mod doctored;
mod forged;
