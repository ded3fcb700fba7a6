//! Pictures: the pixels of image messages, made small enough for a screen.
//!
//! A [`PictureReader`] knows where the messages of a topic have their pixels: in `sensor_msgs/Image` and
//! `sensor_msgs/CompressedImage`, of ROS 1 and ROS 2, and in Foxglove's `RawImage` and `CompressedImage`, which may
//! also be protobuf or JSON. Messages are not trusted: every declared size is compared with the bytes that are there,
//! and what a codec may allocate is limited.

#[cfg(feature = "pictures")]
mod codec;
mod encoding;
mod error;
mod pixels;
mod raw;
mod reader;

pub use error::PictureError;
pub use pixels::{Picture, PixelSize, Pixels};
pub use reader::PictureReader;
