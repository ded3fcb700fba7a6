//! Times and durations for serde: text in human-readable formats, nanoseconds in the others.
//!
//! The text is what [`Display`](std::fmt::Display) writes, `1700000000.000000001` and `1.5s`, and is read exactly. Most
//! formats would round a number of seconds to a float.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::duration::Duration;
use super::point::{Kind, Time};

fn write<S: Serializer>(
    value: &impl fmt::Display,
    nanos: i64,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serializer.collect_str(value)
    } else {
        serializer.serialize_i64(nanos)
    }
}

fn read<'de, T, D>(from_nanos: fn(i64) -> T, deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    if deserializer.is_human_readable() {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    } else {
        i64::deserialize(deserializer).map(from_nanos)
    }
}

impl<K: Kind> Serialize for Time<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self, self.as_nanos(), serializer)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Time<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Self::from_nanos, deserializer)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self, self.as_nanos(), serializer)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Self::from_nanos, deserializer)
    }
}
