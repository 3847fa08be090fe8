//! Text by anybody: how it is read, bounded, shown and put into commits.

pub mod bom;
pub mod chain;
pub mod commit;
pub mod lenient;
pub mod lines;
pub mod live;
pub mod shown;
pub mod units;
