//! The way to the broker, as configured: credentials, trust roots that follow their file, and the connection.

mod connect;
mod error;
mod trust;

pub use connect::connect;
pub(crate) use connect::roots;
pub use error::BrokerConnectionError;

#[cfg(test)]
mod tests;
