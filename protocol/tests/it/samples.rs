//! One value of every type that is stored or sent, with every optional field filled in somewhere.

mod acts;
mod artifacts;
mod calls;
mod entries;
mod envelopes;
mod parts;
mod turns;
mod views;

use std::fmt::Debug;

use holdpoint_protocol::codec::{self, CodecError, Encoding};
use serde::{Serialize, de::DeserializeOwned};

/// A sample of some type.
pub(crate) trait Kind {
    /// The name of its golden.
    fn name(&self) -> &'static str;
    /// The name of its published schema, if it has one.
    fn schema(&self) -> Option<&'static str>;
    /// The sample, written.
    fn write(&self, encoding: Encoding) -> Vec<u8>;
    /// Whether `bytes` read as the sample.
    fn reads_as_sample(&self, bytes: &[u8], encoding: Encoding) -> Result<bool, CodecError>;
    /// Reads `bytes` in one form and writes them in another.
    fn rewrite(&self, bytes: &[u8], from: Encoding, to: Encoding) -> Result<Vec<u8>, CodecError>;
}

struct Sample<T> {
    name: &'static str,
    schema: Option<&'static str>,
    value: T,
}

impl<T: Serialize + DeserializeOwned + PartialEq + Debug> Kind for Sample<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Option<&'static str> {
        self.schema
    }

    fn write(&self, encoding: Encoding) -> Vec<u8> {
        codec::encode(&self.value, encoding).unwrap()
    }

    fn reads_as_sample(&self, bytes: &[u8], encoding: Encoding) -> Result<bool, CodecError> {
        Ok(codec::decode::<T>(bytes, encoding)? == self.value)
    }

    fn rewrite(&self, bytes: &[u8], from: Encoding, to: Encoding) -> Result<Vec<u8>, CodecError> {
        codec::encode(&codec::decode::<T>(bytes, from)?, to)
    }
}

/// All samples.
pub(crate) fn all() -> Vec<Box<dyn Kind>> {
    let mut all = artifacts::all();
    all.extend(acts::all());
    all.extend(calls::all());
    all.extend(envelopes::all());
    all.extend(entries::all());
    all.extend(turns::all());
    all.extend(views::all());
    all
}

/// Queries that ask for all where they say nothing: an empty object is one.
pub(crate) const ASK_FOR_ALL: [&str; 4] = ["dead_query", "flights_query", "inbox_query", "storage_query"];

type Kinds = Vec<Box<dyn Kind>>;

/// A sample of a type whose schema is published under the golden's name.
fn published<T: Serialize + DeserializeOwned + PartialEq + Debug + 'static>(
    name: &'static str,
    value: T,
) -> Box<dyn Kind> {
    Box::new(Sample { name, schema: Some(name), value })
}

/// A second sample of a published type.
fn another<T: Serialize + DeserializeOwned + PartialEq + Debug + 'static>(
    name: &'static str,
    schema: &'static str,
    value: T,
) -> Box<dyn Kind> {
    Box::new(Sample { name, schema: Some(schema), value })
}

/// A sample of a type whose schema is not published.
fn unpublished<T: Serialize + DeserializeOwned + PartialEq + Debug + 'static>(
    name: &'static str,
    value: T,
) -> Box<dyn Kind> {
    Box::new(Sample { name, schema: None, value })
}
