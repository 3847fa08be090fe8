//! The account of a flight as a file: written from what a fleet gives out, and read back where no fleet is.
//!
//! JSON lines: any language reads them, they can be written and read one at a time, and a damaged line has a number.

mod check;
mod keep;
mod pages;
mod read;
mod references;
mod sweep;
mod unpack;
mod write;

pub(crate) use check::{Checked, check, signed};
pub(crate) use keep::{FOLDER, Kept, exports, keep};
pub(crate) use pages::each_message;
pub(crate) use sweep::{Swept, sweep};
pub(crate) use unpack::{Unpacked, unpack};
pub(crate) use write::{NOBODY_READS, Wants, Written, write};
