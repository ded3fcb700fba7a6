//! A recording of image topics, for tests.

use bagplay::bag::Bag;

use super::cdr::Cdr;
use super::mcaps::bag;
use super::typed::{Typed, image, string};

/// A colour image in each second.
pub(crate) const IMAGE: &str = "/camera/image";
/// The same as distances.
pub(crate) const DEPTH: &str = "/camera/depth";
/// The same as JPEG.
#[cfg(feature = "pictures")]
pub(crate) const COMPRESSED: &str = "/camera/image/compressed";

const WIDTH: u32 = 64;
const HEIGHT: u32 = 48;

/// Ten seconds of images that are red at first and become green.
pub(crate) fn recording() -> Bag {
    bag(&file())
}

/// The same as a file.
pub(crate) fn file() -> Vec<u8> {
    let mut file = Typed::new();
    let raw = file.topic(IMAGE, &image());
    let depth = file.topic(DEPTH, &image());
    let text = file.topic("/text", &string());
    #[cfg(feature = "pictures")]
    let compressed = file.topic(COMPRESSED, &super::typed::compressed_image());
    for second in 0..10_u8 {
        let time = u64::from(second) * 1_000_000_000;
        let start = |encoding: &str, step: u32| {
            let cdr = Cdr::little().header(time, "camera");
            let cdr = cdr.u32(HEIGHT).u32(WIDTH).text(encoding);
            cdr.u8(0).u32(step)
        };
        let pixel = [10, 20 + 20 * second, 250 - 20 * second];
        let bytes = pixel.repeat((WIDTH * HEIGHT) as usize);
        let message = start("bgr8", WIDTH * 3).bytes(&bytes).done();
        file.message(raw, time, &message);
        let distances = |_| (1000..1064_u16).flat_map(u16::to_le_bytes);
        let bytes: Vec<u8> = (0..HEIGHT).flat_map(distances).collect();
        let message = start("16UC1", WIDTH * 2).bytes(&bytes).done();
        file.message(depth, time, &message);
        file.message(text, time, &Cdr::little().text("hello").done());
        #[cfg(feature = "pictures")]
        {
            let [blue, green, red] = pixel;
            let image = image::RgbImage::from_pixel(WIDTH, HEIGHT, image::Rgb([red, green, blue]));
            let mut jpeg = std::io::Cursor::new(Vec::new());
            image.write_to(&mut jpeg, image::ImageFormat::Jpeg).unwrap();
            let message = Cdr::little().header(time, "camera").text("jpeg");
            let message = message.bytes(&jpeg.into_inner()).done();
            file.message(compressed, time, &message);
        }
    }
    file.write()
}
