//! A first look at a payload, before anything of it is kept: its version, how deep it is, and what it would weigh.
//!
//! Eight MiB of nested maps without content are gigabytes once they are values in memory. Values read here are dropped
//! at once; only payloads that pass are read for good.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{DEPTH_MAX, WEIGHT_MAX};

/// What a value takes at least: `serde_json::Value` and serde's own buffer have this size.
const VALUE_BYTES: usize = 32;
/// What a list takes that has anything in it: room for four.
const LIST_BYTES: usize = 4 * VALUE_BYTES;
/// What an item of a list takes besides itself: lists grow by doubling.
const ITEM_BYTES: usize = 2 * VALUE_BYTES;
/// What a map takes that has anything in it: the first node of a B-tree.
const MAP_BYTES: usize = 640;
/// What an entry of a map takes besides its value.
const ENTRY_BYTES: usize = 64;
/// The key of the version, looked for at the top.
const VERSION_KEY: &str = "schema_version";

/// What the first look found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The text of the version.
    pub(super) version: Option<String>,
    /// What all of it would weigh in memory, in bytes.
    weight: usize,
}

impl Survey {
    /// Looks at the whole payload.
    pub(super) fn of<'de, D: Deserializer<'de>>(payload: D) -> Result<Self, D::Error> {
        let mut survey = Self::default();
        Look { survey: &mut survey, depth: 0 }.deserialize(payload)?;
        Ok(survey)
    }

    fn add<E: serde::de::Error>(&mut self, bytes: usize) -> Result<(), E> {
        self.weight = self.weight.saturating_add(bytes);
        if self.weight > WEIGHT_MAX {
            return Err(E::custom(format_args!("it would take more than {WEIGHT_MAX} bytes of memory")));
        }
        Ok(())
    }
}

/// A look at one value at a depth; the payload itself has depth 0.
struct Look<'s> {
    survey: &'s mut Survey,
    depth: usize,
}

impl Look<'_> {
    fn inside(&mut self) -> Look<'_> {
        Look { survey: self.survey, depth: self.depth + 1 }
    }

    fn check_depth<E: serde::de::Error>(&self) -> Result<(), E> {
        if self.depth >= DEPTH_MAX {
            return Err(E::custom(format_args!("it is nested deeper than {DEPTH_MAX} levels")));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.depth == 0 { "a map" } else { "a value" })
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.survey.add(VALUE_BYTES)
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        self.survey.add(VALUE_BYTES)
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        self.survey.add(VALUE_BYTES)
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.survey.add(VALUE_BYTES)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.survey.add(VALUE_BYTES + text.len())
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<(), E> {
        // Bytes that are read as a list of numbers become one.
        self.survey.add(VALUE_BYTES + bytes.len().saturating_mul(ITEM_BYTES))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.survey.add(VALUE_BYTES)
    }

    /// An extension type of MessagePack: nothing of ours has one, so it is only passed over.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.survey.add(VALUE_BYTES)?;
        deserializer.deserialize_any(IgnoredAny).map(drop)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        if self.depth == 0 {
            return Err(A::Error::custom("it is a list, not a map"));
        }
        self.check_depth()?;
        let mut empty = true;
        while items.next_element_seed(self.inside())?.is_some() {
            let first = if std::mem::take(&mut empty) { LIST_BYTES } else { 0 };
            self.survey.add(first + ITEM_BYTES)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        self.check_depth()?;
        let mut empty = true;
        while let Some(key) = entries.next_key_seed(Key { is_top: self.depth == 0 })? {
            let first = if std::mem::take(&mut empty) { MAP_BYTES } else { 0 };
            self.survey.add(first + ENTRY_BYTES + key.bytes)?;
            if key.is_version {
                self.survey.version = entries.next_value()?;
            } else {
                entries.next_value_seed(self.inside())?;
            }
        }
        Ok(())
    }
}

/// A key of a map. Only texts are keys.
struct Key {
    is_top: bool,
}

/// What is known of a key.
struct Known {
    bytes: usize,
    is_version: bool,
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Known;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Known, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Known;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is text")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Known, E> {
        Ok(Known { bytes: key.len(), is_version: self.is_top && key == VERSION_KEY })
    }
}
