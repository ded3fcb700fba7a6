//! [`PictureReader`]: reads the pictures of a topic.

use std::ops::ControlFlow;

#[cfg(feature = "pictures")]
use super::codec::decompress;
use super::encoding::Encoding;
use super::error::PictureError;
use super::pixels::{Picture, PixelSize};
use super::raw::RawImage;
use crate::bag::Topic;
use crate::decode::{ByteArray, FieldError, FieldReader, FieldValue};

/// Reads the pictures of the messages of a topic.
#[derive(Clone, Debug)]
pub struct PictureReader {
    data: ByteArray,
    fields: Fields,
}

#[derive(Clone, Debug)]
enum Fields {
    Raw(Box<RawFields>),
    Compressed { format: Box<FieldReader> },
}

#[derive(Clone, Debug)]
struct RawFields {
    width: FieldReader,
    height: FieldReader,
    encoding: FieldReader,
    step: FieldReader,
    /// Not in Foxglove's type, whose numbers begin with the lowest byte.
    is_big_endian: Option<FieldReader>,
}

/// What a type of message has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ImageType {
    Raw,
    Compressed,
}

impl ImageType {
    fn of(topic: &Topic) -> Option<Self> {
        match topic.type_name() {
            "sensor_msgs/msg/Image"
            | "sensor_msgs/Image"
            | "foxglove_msgs/msg/RawImage"
            | "foxglove.RawImage" => Some(Self::Raw),
            "sensor_msgs/msg/CompressedImage"
            | "sensor_msgs/CompressedImage"
            | "foxglove_msgs/msg/CompressedImage"
            | "foxglove.CompressedImage" => Some(Self::Compressed),
            _ => None,
        }
    }
}

impl PictureReader {
    /// Whether the type of a topic has pictures.
    pub fn is_for(topic: &Topic) -> bool {
        ImageType::of(topic).is_some()
    }

    /// `None` if the type of the topic has no pictures; an error if its definition lacks a field of such a type.
    pub fn new(topic: &Topic) -> Option<Result<Self, FieldError>> {
        ImageType::of(topic).map(|image_type| Self::with_fields(topic, image_type))
    }

    fn with_fields(topic: &Topic, image_type: ImageType) -> Result<Self, FieldError> {
        let reader = |name: &str| {
            let path = name.parse().expect("the name of a field is a path");
            FieldReader::new(topic, &path)
        };
        let fields = match image_type {
            ImageType::Raw => Fields::Raw(Box::new(RawFields {
                width: reader("width")?,
                height: reader("height")?,
                encoding: reader("encoding")?,
                step: reader("step")?,
                is_big_endian: reader("is_bigendian").ok(),
            })),
            ImageType::Compressed => Fields::Compressed {
                format: Box::new(reader("format")?),
            },
        };
        let data = ByteArray::new(topic, "data")?;
        Ok(Self { data, fields })
    }

    /// The picture of a message, made small enough for `limit`.
    pub fn read(&self, payload: &[u8], limit: PixelSize) -> Result<Picture, PictureError> {
        let data = self.data.read(payload)?;
        match &self.fields {
            Fields::Raw(fields) => fields.read(payload, &data, limit),
            Fields::Compressed { format } => decompress(&data, &text(format, payload)?, limit),
        }
    }
}

impl RawFields {
    fn read(&self, payload: &[u8], data: &[u8], limit: PixelSize) -> Result<Picture, PictureError> {
        let recorded = PixelSize {
            width: side(number(&self.width, payload)?),
            height: side(number(&self.height, payload)?),
        };
        let name = text(&self.encoding, payload)?;
        let is_big_endian = match &self.is_big_endian {
            Some(reader) => number(reader, payload)? != 0,
            None => false,
        };
        let Some(encoding) = Encoding::named(&name) else {
            return Err(PictureError::Encoding(name));
        };
        let image = RawImage {
            size: recorded,
            encoding,
            step: number(&self.step, payload)?,
            is_big_endian,
            data,
        };
        Ok(Picture {
            pixels: image.pixels(limit)?,
            recorded,
            encoding: name,
        })
    }
}

/// This build has no codecs.
#[cfg(not(feature = "pictures"))]
fn decompress(_: &[u8], format: &str, _: PixelSize) -> Result<Picture, PictureError> {
    Err(PictureError::Encoding(format.to_owned()))
}

fn side(pixels: u64) -> u32 {
    u32::try_from(pixels).unwrap_or(u32::MAX)
}

/// A number that is not negative; 0 if the message has none.
fn number(reader: &FieldReader, payload: &[u8]) -> Result<u64, FieldError> {
    let mut found = 0;
    reader.read(payload, &mut |_, value| {
        found = match value {
            FieldValue::Integer(value) => u64::try_from(value).unwrap_or(0),
            FieldValue::Bool(value) => value.into(),
            _ => 0,
        };
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// A text; empty if the message has none.
fn text(reader: &FieldReader, payload: &[u8]) -> Result<String, FieldError> {
    let mut found = String::new();
    reader.read(payload, &mut |_, value| {
        if let FieldValue::Text(value) = value {
            found = value.into_owned();
        }
        ControlFlow::Break(())
    })?;
    Ok(found)
}
