//! The contents of a recording, as an object for programs; `page.rs` writes it for people.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Serialize;

use super::check::Check;
use super::damaged::DamagedParts;
use super::holes::HoleInfo;
use crate::bag::{
    Bag, FileSummary, Hole, IndexOrigin, Outline, RecordedRate, Topic, TopicId, TopicOutline,
    holes_beside,
};
use crate::cli::report::missing::findings::Findings;
use crate::marks::{Mark, Marks};
use crate::ros::Qos;
use crate::ros1;
use crate::time::{Ros, Time, TimeRange};
use crate::transcode::{ToRos1ByType, Transcoder};
use crate::untrusted::FileName;
use crate::wire::{self, Protocol};

/// The wires, by their names on the command line.
pub(crate) const WIRES: [&str; 4] = ["rmw_zenoh", "ros2dds", "ros1", "zenoh"];
/// The number of parts of a density.
pub(crate) const PARTS: usize = 24;

/// The contents of a recording, as `play info --format json` writes them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Info {
    pub(crate) files: Vec<FileInfo>,
    pub(crate) start_ns: Option<i64>,
    pub(crate) end_ns: Option<i64>,
    pub(crate) duration_s: Option<f64>,
    pub(crate) message_count: Option<u64>,
    pub(crate) topics: Vec<TopicInfo>,
    /// Times in which topics with a steady rate have no messages; `None` if they were not looked for.
    pub(crate) holes: Option<Vec<HoleInfo>>,
    /// Parts that are lost because of damage, as far as it was found; at most a hundred.
    pub(crate) damaged: DamagedParts,
    pub(crate) marks: Vec<MarkInfo>,
    damage: Findings,
    /// Whether everything was read. Otherwise damage in the contents is not known.
    checked: bool,
    /// The result of reading everything, if that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<Check>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct FileInfo {
    pub(crate) path: FileName,
    pub(crate) bytes: u64,
    pub(crate) profile: String,
    pub(crate) library: String,
    /// Whether its summary section could be used; otherwise the file was scanned.
    pub(crate) indexed: bool,
    pub(crate) chunks: usize,
    pub(crate) compression: Vec<String>,
    pub(crate) compressed_bytes: u64,
    pub(crate) uncompressed_bytes: u64,
    pub(crate) message_count: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct MarkInfo {
    pub(crate) time_ns: i64,
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct TopicInfo {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    pub(crate) encoding: String,
    /// The type that ROS 2 nodes receive, if the messages are transcoded for them.
    pub(crate) ros2_type: Option<String>,
    /// Why they cannot be transcoded, if that is needed.
    pub(crate) not_transcoded: Option<String>,
    /// The wires (`--wire`) that cannot carry the topic, and why.
    pub(crate) not_on: BTreeMap<&'static str, String>,
    /// The fields without a place in ROS 1: `--wire ros1` leaves them out.
    pub(crate) not_in_ros1: Vec<String>,
    pub(crate) message_count: Option<u64>,
    /// By the usual time between messages; the mean over the recording if there is none.
    pub(crate) hz: Option<f64>,
    pub(crate) hz_is_mean: bool,
    /// Payload bytes: exact after a check, otherwise as message indexes give them.
    pub(crate) bytes: Option<u64>,
    /// Messages in each of 24 equal parts of the recording, as the indexes list them.
    pub(crate) density: Vec<f64>,
    /// In which of these parts messages of the topic are lost, or may be.
    pub(crate) lost: Vec<bool>,
    pub(crate) latched: bool,
    pub(crate) qos: Vec<String>,
    pub(crate) type_hash: Option<String>,
}

#[cfg(test)]
impl TopicInfo {
    /// A topic of which only the name is known.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            type_name: String::new(),
            encoding: "cdr".to_owned(),
            ros2_type: None,
            not_transcoded: None,
            not_on: BTreeMap::new(),
            not_in_ros1: Vec::new(),
            message_count: None,
            hz: None,
            hz_is_mean: false,
            bytes: None,
            density: Vec::new(),
            lost: Vec::new(),
            latched: false,
            qos: Vec::new(),
            type_hash: None,
        }
    }
}

impl Info {
    /// What is known of a bag without reading its messages.
    pub fn new(bag: &Bag) -> Self {
        Self::with(bag, None)
    }

    /// The same after reading everything.
    pub fn checked(bag: &Bag) -> Self {
        Self::with(bag, Some(Check::new(bag)))
    }

    /// Adds the marks that are kept with the recording.
    #[must_use]
    pub fn marked(self, marks: &Marks) -> Self {
        let mark = |mark: &Mark| MarkInfo {
            time_ns: mark.time.as_nanos(),
            name: mark.name.clone(),
        };
        Self {
            marks: marks.list().iter().map(mark).collect(),
            ..self
        }
    }

    fn with(bag: &Bag, check: Option<Check>) -> Self {
        let mut files: Vec<FileInfo> = bag.files().iter().map(file_info).collect();
        let (range, Outline { topics: outlines }) = (bag.range(), bag.outline(PARTS));
        let timing = bag.timing_while(&mut || true);
        let described = bag.topics().iter().zip(outlines);
        let described = described.map(|(topic, outline)| topic_info(topic, outline));
        let mut topics: Vec<TopicInfo> = described.collect();
        if let Some(check) = &check {
            // The counts of what was read replace those that the recording declares.
            let read = check.sizes().iter().zip(check.counts());
            for (topic, (size, count)) in topics.iter_mut().zip(read) {
                (topic.bytes, topic.message_count) = (Some(*size), Some(*count));
            }
            for (file, count) in files.iter_mut().zip(check.by_file()) {
                file.message_count = Some(*count);
            }
        }
        for ((shown, topic), at) in topics.iter_mut().zip(bag.topics()).zip(0..) {
            let periods = timing.as_ref().map(|timing| timing.periods.as_slice());
            let period = periods.and_then(|periods| periods.get(at).copied().flatten());
            let rate = RecordedRate::new(topic, shown.message_count, period, range);
            shown.hz = rate.map(|rate| rate.hz);
            shown.hz_is_mean = rate.is_some_and(|rate| rate.is_mean);
        }
        for wire in WIRES {
            for (id, reason) in not_carried(wire, bag.topics()) {
                if let Some(topic) = topics.get_mut(id.index()) {
                    topic.not_on.insert(wire, reason);
                }
            }
        }
        let mut to_ros1 = ToRos1ByType::default();
        for (shown, topic) in topics.iter_mut().zip(bag.topics()) {
            if let Some(Ok(transcoder)) = to_ros1.of(topic) {
                shown.not_in_ros1 = transcoder.left_out().to_vec();
            }
        }
        let parts = bag.damaged_parts();
        if let Some(range) = range {
            for (shown, id) in topics.iter_mut().zip((0..).map(TopicId)) {
                let lost = parts.iter().filter(|part| part.concerns(id));
                let lost: Vec<_> = lost.map(|part| parts_of(range, part.range)).collect();
                let is_lost = |part| lost.iter().any(|lost| lost.contains(&part));
                shown.lost = (0..PARTS).map(is_lost).collect();
            }
        }
        topics.sort_by(|a, b| a.name.cmp(&b.name));
        let found = match &check {
            Some(check) => check.holes().map(<[Hole]>::to_vec),
            None => timing.and_then(|timing| timing.holes),
        };
        // What is silent because of damage is listed as damage.
        let shown = |holes: Vec<Hole>| {
            let recorded = holes_beside(&holes, &parts).into_iter();
            recorded.map(|hole| HoleInfo::new(bag, hole)).collect()
        };
        let holes = found.map(shown);
        let damaged = match &check {
            Some(check) => check.damaged().clone(),
            None => DamagedParts::of(bag),
        };
        Self {
            files,
            start_ns: range.map(|range| range.start().as_nanos()),
            end_ns: range.map(|range| range.stop().as_nanos()),
            duration_s: range.map(|range| range.duration().as_secs_f64()),
            message_count: match &check {
                Some(check) => Some(check.messages()),
                None => bag.message_count(),
            },
            topics,
            holes,
            damaged,
            marks: Vec::new(),
            damage: Findings::of_kinds(bag.known_damage().kinds()),
            checked: check.is_some(),
            check,
        }
    }

    /// The damage that is known.
    pub const fn damage(&self) -> &Findings {
        &self.damage
    }

    /// Whether no damage is known.
    pub fn is_sound(&self) -> bool {
        self.damage.list().is_empty() && self.check.as_ref().is_none_or(Check::is_sound)
    }
}

/// The topics that one of the [`WIRES`] cannot carry, and why.
fn not_carried(wire: &str, topics: &[Topic]) -> Vec<(TopicId, String)> {
    let protocol = match wire {
        "rmw_zenoh" => Protocol::RmwZenoh,
        "ros2dds" => Protocol::Ros2Dds,
        "zenoh" => Protocol::PlainKeys,
        _ => {
            let skipped = ros1::not_carried(topics).into_iter();
            return skipped.map(|it| (it.id, it.reason.to_string())).collect();
        }
    };
    let skipped = wire::not_carried(protocol, topics).into_iter();
    skipped.map(|it| (it.id, it.reason.to_string())).collect()
}

/// The parts of the density of a recording that times within it touch.
fn parts_of(recording: TimeRange, times: TimeRange) -> RangeInclusive<usize> {
    let span = i128::from(recording.duration().as_nanos()) + 1;
    let part = |time: Time<Ros>| {
        let into = i128::from(time.saturating_since(recording.start()).as_nanos());
        let part = into.clamp(0, span - 1) * PARTS as i128 / span;
        usize::try_from(part).unwrap_or(0)
    };
    part(times.start())..=part(times.stop())
}

fn file_info(file: &FileSummary) -> FileInfo {
    FileInfo {
        path: file.name.clone(),
        bytes: file.bytes,
        profile: file.profile.clone(),
        library: file.library.clone(),
        indexed: file.origin == IndexOrigin::Summary,
        chunks: file.chunks,
        compression: file.compressions.clone(),
        compressed_bytes: file.compressed_bytes,
        uncompressed_bytes: file.uncompressed_bytes,
        message_count: file.message_count,
    }
}

/// All but the rate.
fn topic_info(topic: &Topic, outline: TopicOutline) -> TopicInfo {
    let mut qos: Vec<String> = topic.offered_qos.iter().map(Qos::to_string).collect();
    qos.dedup();
    let (ros2_type, not_transcoded) = match Transcoder::for_topic(topic) {
        None => (None, None),
        Some(Ok(transcoder)) => (Some(transcoder.definition().type_name.clone()), None),
        Some(Err(refused)) => (None, Some(refused.to_string())),
    };
    TopicInfo {
        name: topic.name.clone(),
        type_name: topic.type_name().to_owned(),
        encoding: topic.encoding.clone(),
        ros2_type,
        not_transcoded,
        not_on: BTreeMap::new(),
        not_in_ros1: Vec::new(),
        message_count: topic.message_count,
        hz: None,
        hz_is_mean: false,
        bytes: outline.bytes,
        density: outline.density,
        lost: Vec::new(),
        latched: topic.is_latched,
        qos,
        type_hash: topic.type_hash.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_between_messages_also_beside_a_hole() {
        let bag = Bag::open(&["testdata/demo.mcap"]).unwrap();
        for info in [Info::new(&bag), Info::checked(&bag)] {
            let imu = info.topics.iter().find(|topic| topic.name == "/imu");
            let hz = imu.unwrap().hz.unwrap();
            assert!((199.0..201.0).contains(&hz), "{hz}");
        }
    }
}
