//! [`Encoding`]: how the bytes of a raw image are pixels, by the names of `sensor_msgs/image_encodings`.

/// The colour behind a pixel of a Bayer pattern: the four pixels of each square, row by row.
type Square = [BayerColor; 4];

/// A colour of a Bayer pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BayerColor {
    Red,
    Green,
    Blue,
}

/// How the bytes of a raw image are pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Encoding {
    /// Channels of `depth` bytes each, of which red, green and blue are those with these indexes.
    Color {
        channels: u64,
        rgb: [u64; 3],
        depth: u64,
    },
    /// Numbers without a known range, for example distances: the lowest is black, the highest white.
    Range(Number),
    /// One colour for each pixel; `depth` bytes each.
    Bayer { square: Square, depth: u64 },
    /// Two pixels in four bytes; `luma` is the offset of the first one's brightness.
    Yuv422 { luma: u64 },
    /// A plane of brightness, and one of pairs, each for four pixels; `blue` is the offset of the blue difference. With
    /// an odd number of columns or rows the last pairs are for fewer pixels.
    Nv { blue: u64 },
}

/// A kind of number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    U16,
    I16,
    I32,
    F32,
    F64,
}

impl Number {
    pub(super) const fn bytes(self) -> u64 {
        match self {
            Self::U16 | Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

impl Encoding {
    /// `None` if it is not known.
    pub(super) fn named(name: &str) -> Option<Self> {
        let color = |channels, rgb, depth| Self::Color {
            channels,
            rgb,
            depth,
        };
        Some(match name {
            "mono8" | "8UC1" | "8SC1" => color(1, [0, 0, 0], 1),
            "mono16" => color(1, [0, 0, 0], 2),
            "8UC2" => color(2, [0, 0, 0], 1),
            "rgb8" => color(3, [0, 1, 2], 1),
            "bgr8" | "8UC3" => color(3, [2, 1, 0], 1),
            "rgba8" => color(4, [0, 1, 2], 1),
            "bgra8" | "8UC4" => color(4, [2, 1, 0], 1),
            "rgb16" => color(3, [0, 1, 2], 2),
            "bgr16" | "16UC3" => color(3, [2, 1, 0], 2),
            "rgba16" => color(4, [0, 1, 2], 2),
            "bgra16" | "16UC4" => color(4, [2, 1, 0], 2),
            "16UC1" => Self::Range(Number::U16),
            "16SC1" => Self::Range(Number::I16),
            "32SC1" => Self::Range(Number::I32),
            "32FC1" => Self::Range(Number::F32),
            "64FC1" => Self::Range(Number::F64),
            "yuv422" | "uyvy" | "UYVY" => Self::Yuv422 { luma: 1 },
            "yuv422_yuy2" | "yuyv" | "YUYV" => Self::Yuv422 { luma: 0 },
            "nv12" => Self::Nv { blue: 0 },
            "nv21" => Self::Nv { blue: 1 },
            _ => return Self::bayer(name),
        })
    }

    fn bayer(name: &str) -> Option<Self> {
        let (pattern, bits) = name.strip_prefix("bayer_")?.split_at_checked(4)?;
        let depth = match bits {
            "8" => 1,
            "16" => 2,
            _ => return None,
        };
        let color = |letter| match letter {
            'r' => Some(BayerColor::Red),
            'g' => Some(BayerColor::Green),
            'b' => Some(BayerColor::Blue),
            _ => None,
        };
        let square: Option<Vec<BayerColor>> = pattern.chars().map(color).collect();
        let square = square?.try_into().ok()?;
        Some(Self::Bayer { square, depth })
    }

    /// The bytes of a row of so many pixels, without padding.
    pub(super) fn row_bytes(self, width: u64) -> u64 {
        match self {
            Self::Color {
                channels, depth, ..
            } => width.saturating_mul(channels * depth),
            Self::Range(number) => width.saturating_mul(number.bytes()),
            Self::Bayer { depth, .. } => width.saturating_mul(depth),
            Self::Yuv422 { .. } => width.div_ceil(2).saturating_mul(4),
            Self::Nv { .. } => width,
        }
    }

    /// The bytes of an image of so many pixels with rows of `step` bytes, without padding behind its last row.
    pub(super) fn image_bytes(self, width: u64, height: u64, step: u64) -> u64 {
        let Self::Nv { .. } = self else {
            let before = step.saturating_mul(height.saturating_sub(1));
            return before.saturating_add(self.row_bytes(width));
        };
        let luma = step.saturating_mul(height);
        let rows_before = height.div_ceil(2).saturating_sub(1);
        let before = rows_before.saturating_mul(pairs_step(width, step));
        luma.saturating_add(before)
            .saturating_add(pairs_bytes(width))
    }
}

/// The bytes of a row of pairs for a row of so many pixels, without padding.
fn pairs_bytes(width: u64) -> u64 {
    width.div_ceil(2).saturating_mul(2)
}

/// How many bytes after a row of pairs the next one begins, if rows of brightness are `step` bytes apart: the same,
/// unless these have no room for the last pair of an odd number of columns.
pub(super) fn pairs_step(width: u64, step: u64) -> u64 {
    step.max(pairs_bytes(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_ros() {
        for (name, row_bytes) in [
            ("mono8", 3),
            ("mono16", 6),
            ("bgr8", 9),
            ("rgba16", 24),
            ("16UC1", 6),
            ("32FC1", 12),
            ("bayer_rggb8", 3),
            ("bayer_grbg16", 6),
            ("yuv422_yuy2", 8),
            ("nv21", 3),
        ] {
            let encoding = Encoding::named(name).unwrap();
            assert_eq!(encoding.row_bytes(3), row_bytes, "{name}");
        }
        for name in [
            "",
            "bayer_",
            "bayer_rgg8",
            "bayer_rggx8",
            "bayer_rggb9",
            "h264",
            "bayer_äöü8",
        ] {
            assert_eq!(Encoding::named(name), None, "{name}");
        }
    }
}
