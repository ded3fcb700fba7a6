//! The camera: its image of the room, as a small PNG with a palette.

use anyhow::{Context, Result};

use crate::course::Motion;
use crate::room::{self, Hit, Surface};

const WIDTH: u16 = 192;
const HEIGHT: u16 = 128;
/// Pixels per unit of slope: the focal length of a lens of about 75°.
const FOCAL: f64 = 125.0;
/// Metres: above the floor, of the walls, ahead of the robot's middle (as in the transforms).
pub(crate) const EYE: f64 = 0.25;
const WALL_TOP: f64 = 1.2;
pub(crate) const AHEAD: f64 = 0.2;

/// What is above the walls, two tiles of the floor, then each surface with a lit and a shaded stripe.
const PALETTE: [[u8; 3]; 13] = [
    [214, 222, 228],
    [150, 132, 112],
    [128, 111, 93],
    [196, 188, 160],
    [180, 171, 144],
    [168, 182, 176],
    [150, 165, 160],
    [122, 78, 52],
    [104, 66, 44],
    [70, 98, 132],
    [60, 84, 116],
    [200, 92, 40],
    [236, 226, 214],
];
const ABOVE: u8 = 0;
const FLOOR: u8 = 1;

/// The image at an instant, as a PNG file.
pub(crate) fn frame(motion: &Motion) -> Result<Vec<u8>> {
    let columns = (0..WIDTH)
        .map(|column| Column::seen(motion, column))
        .collect::<Result<Vec<_>>>()?;
    let pixels: Vec<u8> = (0..HEIGHT)
        .flat_map(|row| columns.iter().map(move |column| column.colour(row)))
        .collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, WIDTH.into(), HEIGHT.into());
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Four);
    encoder.set_palette(PALETTE.as_flattened());
    // Filters only help images whose neighbouring values are close to each other, not palette indices.
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    let packed: Vec<u8> = pixels
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect();
    writer.write_image_data(&packed)?;
    writer.finish()?;
    Ok(file)
}

/// One column of the image: a ray into the room.
struct Column {
    eye: (f64, f64),
    /// Direction in the room, scaled so that its part along the line of sight is 1.
    ray: (f64, f64),
    /// Slopes between which the wall is seen, and its colour.
    top: f64,
    bottom: f64,
    wall: u8,
}

impl Column {
    fn seen(motion: &Motion, column: u16) -> Result<Self> {
        let slope = ((f64::from(WIDTH) - 1.0) / 2.0 - f64::from(column)) / FOCAL;
        let aside = slope.atan();
        let eye = motion.point(AHEAD);
        let hit = room::cast(eye, motion.yaw + aside).context("the camera is outside the room")?;
        let depth = hit.distance * aside.cos();
        let (sin, cos) = motion.yaw.sin_cos();
        Ok(Self {
            eye,
            ray: (cos - slope * sin, sin + slope * cos),
            top: (WALL_TOP - EYE) / depth,
            bottom: -EYE / depth,
            wall: colour(hit),
        })
    }

    fn colour(&self, row: u16) -> u8 {
        let slope = ((f64::from(HEIGHT) - 1.0) / 2.0 - f64::from(row)) / FOCAL;
        if slope > self.top {
            return ABOVE;
        }
        if slope >= self.bottom {
            return self.wall;
        }
        let depth = -EYE / slope;
        let (x, y) = (
            self.eye.0 + self.ray.0 * depth,
            self.eye.1 + self.ray.1 * depth,
        );
        FLOOR + u8::from(is_odd(x / 0.6) != is_odd(y / 0.6))
    }
}

fn colour(hit: Hit) -> u8 {
    let first = match hit.surface {
        Surface::ShortWall => 3,
        Surface::LongWall => 5,
        Surface::Door => 7,
        Surface::Cabinet => 9,
        Surface::Pillar => 11,
    };
    let stripe = if hit.surface == Surface::Pillar {
        0.1
    } else {
        0.4
    };
    first + u8::from(is_odd(hit.along / stripe))
}

/// Whether the whole number below `value` is odd.
fn is_odd(value: f64) -> bool {
    value.floor().rem_euclid(2.0) > 0.5
}
