//! Pictures of image messages in recordings.

use bagplay::bag::{Bag, Direction, Selection, StartAt, TopicId};
use bagplay::picture::{PictureReader, PixelSize};
use bagplay::time::Time;

use crate::support::cdr::Cdr;
use crate::support::images::{DEPTH, IMAGE, recording};
use crate::support::typed::{Typed, image, string};

const LIMIT: PixelSize = PixelSize {
    width: 100,
    height: 50,
};

/// The pictures of all messages of all topics that have them, by topic: size in the message, encoding, and the colour
/// of the pixel in the middle; or why there is none.
fn pictures(bag: &Bag) -> Vec<(String, Result<String, String>)> {
    let mut found = Vec::new();
    for (index, topic) in (0..).zip(bag.topics()) {
        let Some(reader) = PictureReader::new(topic) else {
            continue;
        };
        let reader = reader.unwrap();
        let only = Selection::of([TopicId(index)], bag);
        for message in bag.cursor(&only, StartAt::At(Time::MIN), Direction::Forward) {
            let picture = reader.read(&message.unwrap().payload, LIMIT);
            let picture = picture.map_err(|error| error.to_string()).map(|picture| {
                let size = picture.pixels.size();
                assert!(size.width <= LIMIT.width && size.height <= LIMIT.height);
                let middle = picture.pixels.at(size.width / 2, size.height / 2);
                format!("{} {} {middle:?}", picture.recorded, picture.encoding)
            });
            found.push((topic.name.clone(), picture));
        }
    }
    found
}

#[test]
fn image_messages_have_pictures_and_others_have_none() {
    let found = pictures(&recording());
    let of = |name: &str| {
        let all = found.iter().filter(|(topic, _)| topic == name);
        all.map(|(_, picture)| picture.clone().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(IMAGE)[0], "64x48 bgr8 [250, 20, 10]");
    assert_eq!(of(DEPTH)[0], "64x48 16UC1 [149, 149, 149]");
    assert_eq!(of("/text"), Vec::<String>::new());
    #[cfg(feature = "pictures")]
    assert!(of(crate::support::images::COMPRESSED)[0].starts_with("64x48 jpeg [25"));
}

#[test]
fn images_in_json_have_pictures() {
    let mut file = Typed::new();
    let json = |name| (name, "jsonschema", "{}".to_owned());
    let raw = file.encoded("/raw", &json("foxglove.RawImage"), "json");
    let text = r#"{"width":2,"height":1,"encoding":"rgb8","step":6,"data":"AQID+hQK"}"#;
    file.message(raw, 1, text.as_bytes());
    file.message(
        raw,
        2,
        br#"{"width":2,"height":1,"encoding":"rgb8","step":6}"#,
    );
    let compressed = file.encoded("/compressed", &json("foxglove.CompressedImage"), "json");
    file.message(compressed, 3, br#"{"format":"webp","data":"UklGRg=="}"#);
    let found: Vec<_> = pictures(&file.bag()).into_iter().map(|it| it.1).collect();
    assert_eq!(found[0].as_deref(), Ok("2x1 rgb8 [250, 20, 10]"));
    for (picture, expected) in found[1..].iter().zip([
        "an image of 2x1 pixels needs 6 bytes, the message has 0",
        "the encoding `webp` is not supported",
    ]) {
        assert_eq!(picture.as_ref().unwrap_err(), expected);
    }
}

#[test]
fn a_message_without_its_pixels_says_what_is_missing() {
    let mut file = Typed::new();
    let topic = file.topic("/image", &image());
    let header = || Cdr::little().header(0, "camera");
    let start = |encoding: &str| header().u32(2).u32(3).text(encoding).u8(0);
    file.message(topic, 1, &start("rgb8").u32(9).bytes(&[0; 17]).done());
    file.message(topic, 2, &start("h265").u32(9).bytes(&[0; 18]).done());
    file.message(topic, 3, &header().u32(2).done());
    file.topic("/text", &string());
    let errors: Vec<String> = pictures(&file.bag())
        .into_iter()
        .map(|(_, picture)| picture.unwrap_err())
        .collect();
    assert_eq!(
        errors[..2],
        [
            "an image of 3x2 pixels needs 18 bytes, the message has 17",
            "the encoding `h265` is not supported",
        ]
    );
    assert!(errors[2].contains("width"), "{}", errors[2]);
}
