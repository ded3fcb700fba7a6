//! [`Picture`]: the pixels of an image, and how an image is made smaller.

use std::fmt;

/// How many samples of a row, and of a column, one pixel of a smaller picture is averaged from.
const SAMPLES: u32 = 4;

/// A size in pixels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PixelSize {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl fmt::Display for PixelSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl PixelSize {
    /// The largest size of the same shape that is within `limit` and not larger than this one; at least one pixel.
    #[must_use]
    pub fn fitted(self, limit: Self) -> Self {
        let (width, height) = (u64::from(self.width.max(1)), u64::from(self.height.max(1)));
        let widest = u64::from(limit.width).min(width);
        let tallest = u64::from(limit.height).min(height);
        let (width, height) = if widest * height <= tallest * width {
            (widest, (widest * height + width / 2) / width)
        } else {
            ((tallest * width + height / 2) / height, tallest)
        };
        let side = |pixels: u64| u32::try_from(pixels.max(1)).unwrap_or(u32::MAX);
        Self {
            width: side(width),
            height: side(height),
        }
    }

    pub(super) fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0
    }
}

/// Red, green and blue, each from 0 to 255.
pub(super) type Rgb = [u8; 3];

/// Pixels in colour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pixels {
    size: PixelSize,
    /// Row by row, from the top.
    rgb: Vec<Rgb>,
}

impl Pixels {
    /// Pixels of three bytes each (red, green, blue), row by row from the top. `None` if there are more or fewer bytes
    /// than `size` needs.
    pub fn from_bytes(size: PixelSize, bytes: &[u8]) -> Option<Self> {
        let (pixels, rest) = bytes.as_chunks::<3>();
        let needed = u64::from(size.width) * u64::from(size.height);
        let is_whole = rest.is_empty() && pixels.len() as u64 == needed;
        (is_whole && !size.is_empty()).then(|| Self {
            size,
            rgb: pixels.to_vec(),
        })
    }

    /// Their number of columns and rows.
    pub fn size(&self) -> PixelSize {
        self.size
    }

    /// Red, green and blue of a pixel, from the top left; black outside.
    pub fn at(&self, x: u32, y: u32) -> [u8; 3] {
        let is_inside = x < self.size.width && y < self.size.height;
        let index = u64::from(y) * u64::from(self.size.width) + u64::from(x);
        let pixel = usize::try_from(index).ok().and_then(|at| self.rgb.get(at));
        pixel.copied().filter(|_| is_inside).unwrap_or_default()
    }

    /// The same in a size that fits `limit`.
    #[must_use]
    pub fn fitted(&self, limit: PixelSize) -> Self {
        Self::shrunk(self.size, limit, |x, y| self.at(x, y))
    }

    /// An image of the size `from`, made small enough for `limit`. Each pixel is the average of at most 16 pixels that
    /// are evenly distributed over what it stands for.
    pub(super) fn shrunk(
        from: PixelSize,
        limit: PixelSize,
        pixel: impl Fn(u32, u32) -> Rgb,
    ) -> Self {
        let size = from.fitted(limit);
        let columns: Vec<Vec<u32>> = (0..size.width)
            .map(|x| samples(x, size.width, from.width))
            .collect();
        let mut rgb = Vec::with_capacity(columns.len() * size.height as usize);
        for y in 0..size.height {
            let rows = samples(y, size.height, from.height);
            rgb.extend(columns.iter().map(|columns| {
                let mut sum = [0_u32; 3];
                for y in &rows {
                    for x in columns {
                        let pixel = pixel(*x, *y);
                        sum = std::array::from_fn(|part| sum[part] + u32::from(pixel[part]));
                    }
                }
                let count = u32::try_from(rows.len() * columns.len()).unwrap_or(u32::MAX);
                sum.map(|part| u8::try_from(part / count).unwrap_or(u8::MAX))
            }));
        }
        Self { size, rgb }
    }

    /// All bytes, three for each pixel, row by row.
    pub fn into_bytes(self) -> Vec<u8> {
        self.rgb.into_flattened()
    }
}

/// Which of `from` pixels the pixel `at` of `to` is averaged from.
fn samples(at: u32, to: u32, from: u32) -> Vec<u32> {
    let edge = |at: u32| u64::from(at) * u64::from(from) / u64::from(to);
    let (start, end) = (edge(at), edge(at + 1));
    let count = (end - start).clamp(1, u64::from(SAMPLES));
    (0..count)
        .map(|part| start + (2 * part + 1) * (end - start) / (2 * count))
        .map(|sample| u32::try_from(sample).unwrap_or(u32::MAX).min(from - 1))
        .collect()
}

/// The picture of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    /// The pixels, made small enough for what was asked.
    pub pixels: Pixels,
    /// The size of the image in the message.
    pub recorded: PixelSize,
    /// Its encoding, as the message names it: `bgr8`, `jpeg`.
    pub encoding: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: u32, height: u32) -> PixelSize {
        PixelSize { width, height }
    }

    #[test]
    fn pictures_keep_their_shape_and_do_not_grow() {
        for (from, limit, expected) in [
            ((640, 480), (64, 64), (64, 48)),
            ((480, 640), (64, 64), (48, 64)),
            ((640, 480), (1000, 100), (133, 100)),
            ((6, 4), (100, 100), (6, 4)),
            ((10_000, 1), (100, 100), (100, 1)),
            ((u32::MAX, u32::MAX), (7, 9), (7, 7)),
            ((5, 5), (0, 0), (1, 1)),
        ] {
            let fitted = size(from.0, from.1).fitted(size(limit.0, limit.1));
            assert_eq!(fitted, size(expected.0, expected.1), "{from:?} {limit:?}");
        }
    }

    #[test]
    fn a_smaller_picture_has_averages() {
        // Columns of black and white.
        let stripes = |x: u32, _| {
            if x.is_multiple_of(2) {
                [0; 3]
            } else {
                [254; 3]
            }
        };
        let small = Pixels::shrunk(size(8, 8), size(2, 2), stripes);
        assert_eq!(small.size(), size(2, 2));
        assert_eq!(small.at(0, 0), [127; 3]);
        assert_eq!(small.at(2, 0), [0; 3], "outside");
        let same = Pixels::shrunk(size(4, 1), size(9, 9), stripes);
        assert_eq!(
            same.clone().into_bytes(),
            [0, 0, 0, 254, 254, 254].repeat(2)
        );
        assert_eq!(same.fitted(size(1, 1)).at(0, 0), [127; 3]);
    }

    #[test]
    fn samples_are_within_what_a_pixel_stands_for() {
        for (to, from) in [(3, 10), (10, 10), (7, 8), (1, 1_000_000), (480, 1080)] {
            let all: Vec<u32> = (0..to).flat_map(|at| samples(at, to, from)).collect();
            assert!(
                all.is_sorted() && all.iter().all(|at| *at < from),
                "{to} of {from}"
            );
        }
    }
}
