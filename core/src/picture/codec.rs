//! [`decompress`]: the pixels of a JPEG, PNG or WebP image.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, ImageReader, Limits};

use super::error::PictureError;
use super::pixels::{Picture, PixelSize, Pixels};
use super::raw::gray;

/// The largest image: 16,384 pixels in each direction, and so many bytes in memory.
const MAX_SIDE: u32 = 1 << 14;
const MAX_BYTES: u64 = 512 << 20;

const JPEG: &[u8] = &[0xff, 0xd8, 0xff];
const PNG: &[u8] = b"\x89PNG";
/// A container and, after its length, what it contains.
const RIFF: &[u8] = b"RIFF";
const WEBP: &[u8] = b"WEBP";
const WEBP_AT: usize = 8;
/// What `compressed_depth_image_transport` writes before a PNG image.
const DEPTH_HEADER: usize = 12;

/// The picture in `data`, whose first bytes tell the format, made small enough for `limit`. `format` is what the
/// message says of it, for the error.
pub(super) fn decompress(
    data: &[u8],
    format: &str,
    limit: PixelSize,
) -> Result<Picture, PictureError> {
    let (data, known, encoding) = if data.starts_with(JPEG) {
        (data, ImageFormat::Jpeg, "jpeg")
    } else if data.starts_with(PNG) {
        (data, ImageFormat::Png, "png")
    } else if is_webp(data) {
        (data, ImageFormat::WebP, "webp")
    } else {
        match data
            .get(DEPTH_HEADER..)
            .filter(|rest| rest.starts_with(PNG))
        {
            Some(rest) => (rest, ImageFormat::Png, "png"),
            None => return Err(PictureError::Encoding(format.to_owned())),
        }
    };
    let mut reader = ImageReader::with_format(Cursor::new(data), known);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_BYTES);
    reader.limits(limits);
    let image = reader
        .decode()
        .map_err(|error| PictureError::Codec(format!("{encoding}: {error}")))?;
    let recorded = PixelSize {
        width: image.width(),
        height: image.height(),
    };
    if recorded.is_empty() {
        return Err(PictureError::Empty(recorded));
    }
    let pixels = match image {
        // Distances, as depth cameras write them.
        DynamicImage::ImageLuma16(image) => {
            gray(recorded, limit, |x, y| image.get_pixel(x, y).0[0].into())
        }
        image => {
            let image = image.into_rgb8();
            Pixels::shrunk(recorded, limit, |x, y| image.get_pixel(x, y).0)
        }
    };
    Ok(Picture {
        pixels,
        recorded,
        encoding: encoding.to_owned(),
    })
}

fn is_webp(data: &[u8]) -> bool {
    let inner = data.get(WEBP_AT..).unwrap_or_default();
    data.starts_with(RIFF) && inner.starts_with(WEBP)
}

#[cfg(test)]
mod tests {
    use image::{ImageBuffer, Luma, Rgb};

    use super::*;

    const LIMIT: PixelSize = PixelSize {
        width: 8,
        height: 8,
    };

    fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        image.write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    fn red() -> DynamicImage {
        ImageBuffer::from_pixel(32, 16, Rgb([250_u8, 10, 10])).into()
    }

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        for (format, name) in [
            (ImageFormat::Jpeg, "jpeg"),
            (ImageFormat::Png, "png"),
            (ImageFormat::WebP, "webp"),
        ] {
            let picture = decompress(&encoded(&red(), format), "whatever", LIMIT).unwrap();
            assert_eq!(picture.encoding, name);
            assert_eq!(picture.recorded.to_string(), "32x16");
            assert_eq!(picture.pixels.size().to_string(), "8x4");
            let [red, green, blue] = picture.pixels.at(3, 3);
            assert!(red > 240 && green < 20 && blue < 20, "{name}");
        }
    }

    #[test]
    fn distances_are_spread_over_all_shades_also_behind_the_header_of_ros() {
        let near_and_far = ImageBuffer::from_fn(2, 1, |x, _| {
            Luma([1000_u16 + 10 * u16::try_from(x).unwrap()])
        });
        let png = encoded(&near_and_far.into(), ImageFormat::Png);
        for data in [png.clone(), [&[0; DEPTH_HEADER], &png[..]].concat()] {
            let picture = decompress(&data, "16UC1; compressedDepth png", LIMIT).unwrap();
            assert_eq!(picture.pixels.into_bytes(), [40, 40, 40, 255, 255, 255]);
        }
    }

    #[test]
    fn what_cannot_be_decompressed_is_an_error() {
        let whole = encoded(&red(), ImageFormat::Png);
        let huge = {
            let mut bytes = whole.clone();
            // The width in the header of a PNG.
            bytes[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
            bytes
        };
        let webp = encoded(&red(), ImageFormat::WebP);
        let wide = {
            let mut bytes = webp.clone();
            // Width and height less one are the 28 bits after the signature of the lossless bitstream.
            bytes[21..25].copy_from_slice(&0x0fff_ffff_u32.to_le_bytes());
            bytes
        };
        for (data, format, expected) in [
            (
                &b"RIFF....WAVE"[..],
                "avif",
                "the encoding `avif` is not supported",
            ),
            (&webp[..20], "webp", "webp"),
            (&wide, "webp", "webp"),
            (&[], "", "the encoding `` is not supported"),
            (&whole[..40], "png", "png"),
            (&huge, "png", "png"),
            (JPEG, "jpeg", "jpeg"),
        ] {
            let error = decompress(data, format, LIMIT).unwrap_err().to_string();
            assert!(error.to_lowercase().contains(expected), "{format}: {error}");
        }
    }
}
