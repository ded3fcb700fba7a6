//! What it costs to turn ROS 1 messages into CDR, and back, against a copy of the same payloads.
//!
//! `cargo bench --bench transcode`. Both and copying are measured in turns; each makes a new buffer for every
//! message, as the player does. The goal is 500 MB/s for images and clouds. Messages are a camera image, a cloud, a
//! laser scan, a measurement of an IMU, and a path of poses, each with a header of its own.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod report;

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bagplay::bag::Schema;
use bagplay::transcode::{ToRos1, Transcoder};

use report::{Figure, Report};

type Failure = Box<dyn Error>;

/// How many times both ways of transcoding and copying take turns.
const TURNS: usize = 15;
/// How long a turn takes at least.
const TURN: Duration = Duration::from_millis(40);

const HEADER: (&str, &str) = (
    "std_msgs/Header",
    "uint32 seq\ntime stamp\nstring frame_id\n",
);
const POINT: (&str, &str) = ("geometry_msgs/Point", "float64 x\nfloat64 y\nfloat64 z\n");
const VECTOR: (&str, &str) = ("geometry_msgs/Vector3", POINT.1);
const QUATERNION: (&str, &str) = (
    "geometry_msgs/Quaternion",
    "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n",
);

fn main() -> Result<(), Failure> {
    let mut report = Report::begin("transcode");
    for message in messages() {
        measure(&message, &mut report)?;
    }
    Ok(report.write()?)
}

struct Message {
    name: &'static str,
    schema: Schema,
    payload: Vec<u8>,
}

fn measure(message: &Message, report: &mut Report) -> Result<(), Failure> {
    let to_ros2 = Transcoder::new(&message.schema)?;
    let to_ros1 = ToRos1::new(&to_ros2.ros2_schema())?;
    let payload = &message.payload[..];
    let mut cdr = Vec::new();
    to_ros2.transcode(payload, &mut cdr)?;
    to_ros1.transcode(&cdr, &mut Vec::new())?;
    // Both have been transcoded once.
    let transcode = || {
        let mut made = Vec::new();
        drop(to_ros2.transcode(black_box(payload), &mut made));
        black_box(made);
    };
    let back = || {
        let mut made = Vec::new();
        drop(to_ros1.transcode(black_box(&cdr), &mut made));
        black_box(made);
    };
    let copy = || drop(black_box(black_box(payload).to_vec()));
    let (mut speeds, mut returns, mut copies) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        speeds.push(rate(payload.len(), transcode));
        returns.push(rate(cdr.len(), back));
        copies.push(rate(payload.len(), copy));
    }
    let (speed, back_speed) = (median(&mut speeds), median(&mut returns));
    let copy_speed = median(&mut copies);
    println!(
        "{:<24} {:>9} bytes  {speed:>8.0} MB/s, back {back_speed:>8.0} MB/s, a copy {copy_speed:>8.0} MB/s",
        message.name,
        payload.len()
    );
    for (metric, speed) in [("transcoded", speed), ("transcoded back", back_speed)] {
        let figure = Figure::higher(message.name, metric, speed, "MB/s");
        report.add(figure.against("a copy", copy_speed));
    }
    Ok(())
}

/// Megabytes of payload in a second.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn rate(bytes: usize, once: impl Fn()) -> f64 {
    let began = Instant::now();
    let mut times = 0_u32;
    while began.elapsed() < TURN {
        once();
        times += 1;
    }
    bytes as f64 * f64::from(times) / began.elapsed().as_secs_f64() / 1e6
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn messages() -> [Message; 5] {
    [
        Message {
            name: "image, 6.2 MB",
            schema: schema(
                "sensor_msgs/Image",
                "Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\n\
                 uint8[] data\n",
                &[HEADER],
            ),
            payload: [
                header(),
                words(&[1080, 1920]),
                text("rgb8"),
                vec![0],
                words(&[5760]),
                counted(1920 * 1080 * 3, 1),
            ]
            .concat(),
        },
        Message {
            name: "cloud, 3.1 MB",
            schema: schema(
                "sensor_msgs/PointCloud2",
                "Header header\nuint32 height\nuint32 width\nPointField[] fields\nbool is_bigendian\n\
                 uint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense\n",
                &[
                    HEADER,
                    (
                        "sensor_msgs/PointField",
                        "string name\nuint32 offset\nuint8 datatype\nuint32 count\n",
                    ),
                ],
            ),
            payload: [
                header(),
                words(&[64, 1024, 4]),
                point_field("x"),
                point_field("y"),
                point_field("z"),
                point_field("intensity"),
                vec![0],
                words(&[48, 49152]),
                counted(64 * 1024 * 48, 1),
                vec![1],
            ]
            .concat(),
        },
        Message {
            name: "laser scan, 8.7 kB",
            schema: schema(
                "sensor_msgs/LaserScan",
                "Header header\nfloat32[7] angles\nfloat32[] ranges\nfloat32[] intensities\n",
                &[HEADER],
            ),
            payload: [header(), words(&[0; 7]), counted(1080, 4), counted(1080, 4)].concat(),
        },
        Message {
            name: "IMU, 0.3 kB",
            schema: schema(
                "sensor_msgs/Imu",
                "Header header\ngeometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n\
                 geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n\
                 geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance\n",
                &[HEADER, QUATERNION, VECTOR],
            ),
            payload: [header(), vec![1; 37 * 8]].concat(),
        },
        Message {
            name: "path of 1,000 poses, 77 kB",
            schema: schema(
                "nav_msgs/Path",
                "Header header\ngeometry_msgs/PoseStamped[] poses\n",
                &[
                    HEADER,
                    ("geometry_msgs/PoseStamped", "Header header\nPose pose\n"),
                    (
                        "geometry_msgs/Pose",
                        "Point position\nQuaternion orientation\n",
                    ),
                    POINT,
                    QUATERNION,
                ],
            ),
            payload: [
                header(),
                words(&[1000]),
                [header(), vec![1; 7 * 8]].concat().repeat(1000),
            ]
            .concat(),
        },
    ]
}

fn schema(name: &str, root: &str, others: &[(&str, &str)]) -> Schema {
    let rule = "=".repeat(80);
    let others = others
        .iter()
        .map(|(name, text)| format!("{rule}\nMSG: {name}\n{text}"));
    let text = std::iter::once(root.to_owned()).chain(others);
    Schema {
        name: name.to_owned(),
        encoding: "ros1msg".to_owned(),
        data: text.collect::<String>().into(),
    }
}

fn header() -> Vec<u8> {
    [words(&[1, 2, 3]), text("map")].concat()
}

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("a short text");
    [words(&[length]), text.as_bytes().to_vec()].concat()
}

fn point_field(name: &str) -> Vec<u8> {
    [text(name), words(&[0]), vec![7], words(&[1])].concat()
}

/// So many elements of a size, behind their number.
fn counted(count: usize, size: usize) -> Vec<u8> {
    let number = u32::try_from(count).expect("a small number");
    [words(&[number]), vec![7; count * size]].concat()
}
