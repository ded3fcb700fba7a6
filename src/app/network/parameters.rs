//! The parameters of the node that say what the run was started with: by the names of rosbag2's player where it has
//! such. Spans are in seconds.

use std::path::{Path, PathBuf};

use bagplay::bag::{Bag, Topic};
use bagplay::cli::{ClockServerArgs, MessageOrder, Plan, PlayArgs, TranscodeArg};
use bagplay::player::{Before, Intent, Pace};
use bagplay::time::AtEnd;
use bagplay::transcode::Transcoder;
use bagplay::wire::services::messages::parameters::ParameterValue;
use bagplay::wire::{NodeDescription, NodeParameter, PlayedFile};

/// What the node of a player tells about itself.
pub(crate) fn of_player(args: &PlayArgs, plan: &Plan, bag: &Bag) -> NodeDescription {
    let mut parameters = of_recording(args);
    parameters.extend(of_motion(plan));
    parameters.extend(of_topics(args, plan));
    let (range, _) = plan.options.played.current();
    let recording = plan.options.recording;
    parameters.extend([
        parameter(
            "play.start_offset",
            (range.start() - recording.start()).as_secs_f64(),
            "From the start of the recording to that of the range, in seconds",
        ),
        parameter(
            "play.playback_duration",
            range.duration().as_secs_f64(),
            "The length of the range that is played, in seconds",
        ),
        frequency(args.clock.clock),
        parameter(
            "play.clock_publish_on_topic_publish",
            plan.options.clock.before != Before::None,
            "Whether /clock is published before messages",
        ),
        parameter(
            "play.clock_trigger_topics",
            args.clock.clock_topics.clone(),
            "Before messages of which topics; all if empty",
        ),
        parameter(
            "play.disable_keyboard_controls",
            args.ros.disable_keyboard_controls,
            "Whether keys are ignored",
        ),
    ]);
    let schema = |topic: &Topic| match args.topics.transcode {
        TranscodeArg::Auto => Transcoder::ros2_form(topic).schema.clone(),
        TranscodeArg::Off => topic.schema.clone(),
    };
    NodeDescription {
        parameters,
        types: bag.topics().iter().filter_map(schema).collect(),
    }
}

/// What the node of a clock server tells about itself.
pub(crate) fn of_clock_server(args: &ClockServerArgs, plan: &Plan) -> NodeDescription {
    let mut parameters = of_motion(plan);
    parameters.extend([
        frequency(Some(args.hz)),
        parameter(
            "clock.source",
            args.source.name().to_owned(),
            "Where the time comes from",
        ),
    ]);
    NodeDescription {
        parameters,
        types: Vec::new(),
    }
}

fn of_recording(args: &PlayArgs) -> Vec<NodeParameter> {
    let uris: Vec<String> = args.bags.iter().map(|bag| path(bag)).collect();
    vec![
        parameter(
            "storage.uri",
            uris.first().cloned().unwrap_or_default(),
            "The recording; the first one if there are several",
        ),
        parameter("storage.uris", uris, "The recordings"),
        parameter(
            "storage.storage_id",
            "mcap".to_owned(),
            "The format of the recordings",
        ),
        parameter(
            "play.message_order",
            String::from(match args.time.message_order {
                MessageOrder::Received => "received",
                MessageOrder::Sent => "sent",
            }),
            "Which time orders the messages: that of reception or that of sending",
        ),
    ]
}

fn of_motion(plan: &Plan) -> Vec<NodeParameter> {
    let options = &plan.options;
    let rate = match options.pace {
        Pace::At(speed) => speed.as_f64(),
        Pace::Max => f64::INFINITY,
        Pace::Follow => 0.0,
    };
    vec![
        parameter(
            "play.rate",
            rate,
            "The rate at the start; negative backwards, infinite for as fast as possible",
        ),
        parameter(
            "play.start_paused",
            options.intent == Intent::Pause,
            "Whether the run starts paused",
        ),
        parameter(
            "play.loop",
            options.played.at_end == AtEnd::Loop,
            "Whether the run starts again at the end",
        ),
        parameter(
            "play.delay",
            options.delay.as_secs_f64(),
            "How long the start waits, in seconds of wall time",
        ),
    ]
}

fn frequency(hz: Option<f64>) -> NodeParameter {
    parameter(
        "play.clock_publish_frequency",
        hz.unwrap_or(0.0),
        "How often /clock is published at the start, in Hz; 0 for never",
    )
}

fn of_topics(args: &PlayArgs, plan: &Plan) -> Vec<NodeParameter> {
    let topics = &args.topics;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let profiles = topics.qos_profile_overrides_path.as_deref();
    vec![
        parameter(
            "play.topics_to_filter",
            topics.selection.topics.clone(),
            "The topics that are played; all if empty",
        ),
        parameter(
            "play.exclude_topics_to_filter",
            topics.selection.exclude_topics.clone(),
            "The topics that are not played",
        ),
        parameter(
            "play.regex_to_filter",
            text(&topics.selection.regex),
            "Topics whose whole name matches are played",
        ),
        parameter(
            "play.exclude_regex_to_filter",
            text(&topics.selection.exclude_regex),
            "Topics whose whole name matches are not played",
        ),
        parameter(
            "play.topic_remapping_options",
            topics.remap.clone(),
            "Names of topics: RECORDED:=PUBLISHED",
        ),
        parameter(
            "play.topic_prefix",
            text(&topics.prefix),
            "What is prepended to the names of topics",
        ),
        parameter(
            "play.qos_profile_overrides_path",
            profiles.map_or_else(String::new, path),
            "The file with QoS profiles by topic",
        ),
        parameter(
            "play.wait_for_subscribers",
            plan.awaited
                .iter()
                .map(|topic| topic.name.clone())
                .collect::<Vec<_>>(),
            "The topics for whose subscribers the start waits",
        ),
    ]
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn parameter(name: &str, value: impl Into<ParameterValue>, description: &str) -> NodeParameter {
    NodeParameter {
        name: name.to_owned(),
        value: value.into(),
        description: description.to_owned(),
    }
}

/// The files of the bag, each with the directory it was found in.
pub(super) fn files(args: &PlayArgs, bag: &Bag) -> Vec<PlayedFile> {
    let directories = args.bags.iter().filter(|path| path.is_dir());
    let directories: Vec<&Path> = directories.map(PathBuf::as_path).collect();
    let mut firsts = vec![None; directories.len()];
    let file = |(number, name): (usize, &str)| {
        let is_in = |directory: &&Path| Path::new(name).starts_with(directory);
        let place = directories.iter().position(is_in);
        let recording = place.map(|place| *firsts[place].get_or_insert(number));
        PlayedFile {
            name: name.into(),
            recording,
        }
    };
    let names = bag.files().iter().map(|file| file.name.as_str());
    names.enumerate().map(file).collect()
}
