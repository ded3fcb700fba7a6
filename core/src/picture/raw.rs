//! [`RawImage`]: the pixels of an image that is not compressed.

use super::encoding::{BayerColor, Encoding, Number, pairs_step};
use super::error::PictureError;
use super::pixels::{PixelSize, Pixels, Rgb};

/// How many pixels of each row, and of each column, are looked at for the lowest and the highest number.
const SAMPLED: u32 = 64;

/// An image as a message declares it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawImage<'a> {
    pub(super) size: PixelSize,
    pub(super) encoding: Encoding,
    /// The bytes of a row; 0 if rows have no padding.
    pub(super) step: u64,
    /// Whether numbers of several bytes begin with the highest one.
    pub(super) is_big_endian: bool,
    pub(super) data: &'a [u8],
}

impl RawImage<'_> {
    /// The pixels, made small enough for `limit`.
    pub(super) fn pixels(mut self, limit: PixelSize) -> Result<Pixels, PictureError> {
        self.check()?;
        Ok(match self.encoding {
            Encoding::Range(number) => {
                let value = |x, y| self.number(number, x, y);
                gray(self.size, limit, value)
            }
            _ => Pixels::shrunk(self.size, limit, |x, y| self.color(x, y)),
        })
    }

    /// Compares the declared size with the bytes that are there.
    fn check(&mut self) -> Result<(), PictureError> {
        if self.size.is_empty() {
            return Err(PictureError::Empty(self.size));
        }
        let row = self.encoding.row_bytes(self.size.width.into());
        if self.step == 0 {
            self.step = row;
        }
        if self.step < row {
            return Err(PictureError::Step {
                step: self.step,
                needed: row,
            });
        }
        let (width, height) = (self.size.width.into(), self.size.height.into());
        let needed = self.encoding.image_bytes(width, height, self.step);
        if needed > self.data.len() as u64 {
            return Err(PictureError::Short {
                size: self.size,
                needed,
                found: self.data.len(),
            });
        }
        Ok(())
    }

    /// A byte of a row of bytes; 0 outside.
    fn byte(&self, row: u64, at: u64) -> u8 {
        self.byte_at(row.saturating_mul(self.step).saturating_add(at))
    }

    /// A byte of the data; 0 outside.
    fn byte_at(&self, at: u64) -> u8 {
        let at = usize::try_from(at).ok();
        at.and_then(|at| self.data.get(at))
            .copied()
            .unwrap_or_default()
    }

    /// The highest byte of a number of `depth` bytes.
    fn high(&self, row: u64, at: u64, depth: u64) -> u8 {
        let high = if self.is_big_endian { 0 } else { depth - 1 };
        self.byte(row, at + high)
    }

    fn color(&self, x: u32, y: u32) -> Rgb {
        let (x, y) = (u64::from(x), u64::from(y));
        match self.encoding {
            Encoding::Color {
                channels,
                rgb,
                depth,
            } => rgb.map(|channel| self.high(y, (x * channels + channel) * depth, depth)),
            Encoding::Bayer { square, depth } => {
                // The square that the pixel is in; at an odd edge the one before it.
                let corner = |at: u64, size: u32| (at & !1).min(u64::from(size).saturating_sub(2));
                let left = corner(x, self.size.width);
                let top = corner(y, self.size.height);
                let all: [(BayerColor, u8); 4] = std::array::from_fn(|at| {
                    let (right, down) = (at as u64 % 2, at as u64 / 2);
                    let value = self.high(top + down, (left + right) * depth, depth);
                    (square[at], value)
                });
                [BayerColor::Red, BayerColor::Green, BayerColor::Blue]
                    .map(|color| average(&all, color))
            }
            Encoding::Yuv422 { luma } => {
                let pair = x / 2 * 4;
                let chroma = 1 - luma;
                rgb_of(
                    self.byte(y, pair + x % 2 * 2 + luma),
                    self.byte(y, pair + chroma),
                    self.byte(y, pair + chroma + 2),
                )
            }
            Encoding::Nv { blue } => {
                let luma = self.step.saturating_mul(self.size.height.into());
                let row = pairs_step(self.size.width.into(), self.step).saturating_mul(y / 2);
                let pair = luma.saturating_add(row).saturating_add(x & !1);
                rgb_of(
                    self.byte(y, x),
                    self.byte_at(pair + blue),
                    self.byte_at(pair + 1 - blue),
                )
            }
            Encoding::Range(_) => [0; 3],
        }
    }

    fn number(&self, number: Number, x: u32, y: u32) -> f64 {
        fn bytes<const N: usize>(image: &RawImage<'_>, x: u32, y: u32) -> [u8; N] {
            let at = u64::from(x) * N as u64;
            let mut bytes: [u8; N] =
                std::array::from_fn(|part| image.byte(y.into(), at + part as u64));
            if image.is_big_endian {
                bytes.reverse();
            }
            bytes
        }
        match number {
            Number::U16 => u16::from_le_bytes(bytes(self, x, y)).into(),
            Number::I16 => i16::from_le_bytes(bytes(self, x, y)).into(),
            Number::I32 => i32::from_le_bytes(bytes(self, x, y)).into(),
            Number::F32 => f32::from_le_bytes(bytes(self, x, y)).into(),
            Number::F64 => f64::from_le_bytes(bytes(self, x, y)),
        }
    }
}

fn average(all: &[(BayerColor, u8)], color: BayerColor) -> u8 {
    let values = all.iter().filter(|(of, _)| *of == color);
    let (sum, count) = values.fold((0_u16, 0_u16), |(sum, count), (_, value)| {
        (sum + u16::from(*value), count + 1)
    });
    u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX)
}

/// By ITU-R BT.601, full range.
fn rgb_of(luma: u8, blue_difference: u8, red_difference: u8) -> Rgb {
    let luma = f32::from(luma);
    let (blue, red) = (
        f32::from(blue_difference) - 128.0,
        f32::from(red_difference) - 128.0,
    );
    [
        luma + 1.402 * red,
        luma - 0.344_136 * blue - 0.714_136 * red,
        luma + 1.772 * blue,
    ]
    .map(byte)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is clamped"
)]
fn byte(value: f32) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

/// Numbers as shades of gray, from the lowest to the highest one. Zero stands for "not measured", as in images of
/// distances, and is black like what is no number.
pub(super) fn gray(size: PixelSize, limit: PixelSize, value: impl Fn(u32, u32) -> f64) -> Pixels {
    let is_measured = |value: &f64| value.is_finite() && value.abs() > 0.0;
    let sampled = |side: u32| (0..side).step_by((side / SAMPLED).max(1) as usize);
    let values = sampled(size.height).flat_map(|y| sampled(size.width).map(move |x| (x, y)));
    let values = values.map(|(x, y)| value(x, y)).filter(is_measured);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let shade = |value: f64| {
        if !is_measured(&value) {
            return 0;
        }
        // What is measured is never as dark as what is not.
        let share = if high > low {
            ((value - low) / (high - low)).clamp(0.0, 1.0)
        } else {
            1.0
        };
        #[expect(clippy::cast_possible_truncation, reason = "a share of 0 to 1")]
        byte(40.0 + 215.0 * share as f32)
    };
    Pixels::shrunk(size, limit, |x, y| [shade(value(x, y)); 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: PixelSize = PixelSize {
        width: 100,
        height: 100,
    };

    fn image<'a>(name: &str, (width, height): (u32, u32), data: &'a [u8]) -> RawImage<'a> {
        RawImage {
            size: PixelSize { width, height },
            encoding: Encoding::named(name).unwrap(),
            step: 0,
            is_big_endian: false,
            data,
        }
    }

    #[test]
    fn every_kind_of_encoding_has_its_colours() {
        for (name, size, data, expected) in [
            ("mono8", (2, 1), &[7, 8][..], &[[7, 7, 7], [8, 8, 8]][..]),
            ("mono16", (1, 1), &[1, 200], &[[200; 3]]),
            ("rgb8", (1, 1), &[1, 2, 3], &[[1, 2, 3]]),
            ("bgr8", (1, 1), &[1, 2, 3], &[[3, 2, 1]]),
            ("rgba8", (1, 1), &[1, 2, 3, 9], &[[1, 2, 3]]),
            ("bgra8", (1, 1), &[1, 2, 3, 9], &[[3, 2, 1]]),
            ("rgb16", (1, 1), &[0, 1, 0, 2, 0, 3], &[[1, 2, 3]]),
            ("bayer_rggb8", (2, 2), &[10, 20, 40, 50], &[[10, 30, 50]; 4]),
            ("bayer_bggr8", (2, 2), &[10, 20, 40, 50], &[[50, 30, 10]; 4]),
            ("yuv422", (2, 1), &[128, 50, 128, 90], &[[50; 3], [90; 3]]),
            (
                "yuv422_yuy2",
                (2, 1),
                &[50, 128, 90, 128],
                &[[50; 3], [90; 3]],
            ),
            (
                "nv21",
                (2, 2),
                &[1, 2, 3, 4, 128, 128],
                &[[1; 3], [2; 3], [3; 3], [4; 3]],
            ),
            (
                // Rows of three and of four bytes; the last pair, of one pixel, is red.
                "nv12",
                (3, 3),
                &[
                    1, 2, 76, 3, 4, 76, 5, 6, 76, // brightness
                    128, 128, 85, 255, 128, 128, 85, 255,
                ],
                &[
                    [1; 3],
                    [2; 3],
                    [254, 0, 0],
                    [3; 3],
                    [4; 3],
                    [254, 0, 0],
                    [5; 3],
                    [6; 3],
                    [254, 0, 0],
                ],
            ),
            ("nv21", (1, 1), &[76, 255, 85], &[[254, 0, 0]]),
            // Red in BT.601.
            ("yuv422_yuy2", (1, 1), &[76, 85, 76, 255], &[[254, 0, 0]]),
            (
                "16UC1",
                (3, 1),
                &[0, 0, 1, 0, 2, 0],
                &[[0; 3], [40; 3], [255; 3]],
            ),
        ] {
            let pixels = image(name, size, data).pixels(WHOLE).unwrap();
            assert_eq!(pixels.into_bytes(), expected.as_flattened(), "{name}");
        }
    }

    #[test]
    fn rows_may_have_padding_and_numbers_either_byte_order() {
        let padded = RawImage {
            step: 3,
            ..image("mono8", (2, 2), &[1, 2, 99, 3, 4])
        };
        let bytes = padded.pixels(WHOLE).unwrap().into_bytes();
        assert_eq!(bytes, [[1; 3], [2; 3], [3; 3], [4; 3]].as_flattened());
        // With room for the last pair, rows of pairs are as long as the others.
        let padded = RawImage {
            step: 4,
            ..image(
                "nv12",
                (3, 2),
                &[1, 2, 3, 99, 4, 5, 6, 99, 128, 128, 128, 128],
            )
        };
        let bytes = padded.pixels(WHOLE).unwrap().into_bytes();
        assert_eq!(
            bytes,
            [1, 2, 3, 4, 5, 6].map(|luma| [luma; 3]).as_flattened()
        );
        let big = RawImage {
            is_big_endian: true,
            ..image("mono16", (1, 1), &[200, 1])
        };
        assert_eq!(big.pixels(WHOLE).unwrap().at(0, 0), [200; 3]);
    }

    #[test]
    fn numbers_that_are_none_are_black() {
        let values = [f32::NAN, 1.0, f32::INFINITY, 3.0];
        let data: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let pixels = image("32FC1", (4, 1), &data).pixels(WHOLE).unwrap();
        let expected = [[0; 3], [40; 3], [0; 3], [255; 3]];
        assert_eq!(pixels.into_bytes(), expected.as_flattened());
        let nothing = image("16UC1", (1, 1), &[0, 0]).pixels(WHOLE).unwrap();
        assert_eq!(nothing.at(0, 0), [0; 3]);
    }

    #[test]
    fn declared_sizes_are_compared_with_the_bytes() {
        let huge = PixelSize {
            width: u32::MAX,
            height: u32::MAX,
        };
        let with = |size: PixelSize, step| RawImage {
            size,
            step,
            ..image("rgb8", (1, 1), &[1, 2, 3])
        };
        let error = |image: RawImage<'_>| image.pixels(WHOLE).unwrap_err().to_string();
        let one = PixelSize {
            width: 1,
            height: 1,
        };
        assert_eq!(
            error(with(PixelSize { width: 0, ..one }, 0)),
            "the image has no pixels: 0x1"
        );
        assert_eq!(error(with(one, 2)), "a row has 2 bytes, 3 are needed");
        assert!(error(with(huge, 0)).ends_with("the message has 3"));
        assert!(error(with(huge, u64::MAX)).ends_with("the message has 3"));
        let odd = image("nv12", (3, 3), &[0; 16]);
        assert_eq!(
            error(odd),
            "an image of 3x3 pixels needs 17 bytes, the message has 16"
        );
        let two = PixelSize { height: 2, ..one };
        assert_eq!(
            error(with(two, 3)),
            "an image of 1x2 pixels needs 6 bytes, the message has 3"
        );
    }
}
