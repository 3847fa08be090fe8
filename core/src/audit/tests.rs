//! Sound flights are sound, and every way to doctor one is named.

pub(crate) mod account;
mod cited;
mod doctored;
mod forged;
