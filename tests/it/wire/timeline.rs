//! The services that a screen elsewhere needs, of a player that is a process of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration as StdDuration;

use bagplay::bag::Bag;
use bagplay::decode::{MessageAt, MessageFinder};
use bagplay::ros::dds_type;
use bagplay::time::{Duration, Ros, Time, TimeRange};
use bagplay::wire::services::messages::service::{Empty, Service, Stamp};
use bagplay::wire::services::messages::timeline::{
    Density, DensityRequest, GetDensity, GetMessage, GetTimeline, MarkAt, MarkRequest,
    MessageRequest, SetMark, Timeline,
};
use bagplay::wire::{PlayerClient, RequestError, ServiceClient, Session};

use crate::support::network::{free_endpoint, hearing, open, options, start_play, start_player_of};
use crate::support::patience::until;

const TIMEOUT: StdDuration = StdDuration::from_secs(20);

/// A player of a copy of the demo, and a session that reaches it.
pub(crate) struct Played {
    pub(crate) player: Child,
    pub(crate) session: Session,
    pub(crate) endpoint: String,
    bag: PathBuf,
    _folder: tempfile::TempDir,
}

impl Played {
    pub(crate) fn new(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bag = folder.path().join("drive.mcap");
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
        fs::copy(demo, &bag).unwrap();
        let endpoint = free_endpoint();
        let usual = ["--no-tui", "--listen", &endpoint];
        let mut player = start_player_of(&bag, &[&usual[..], args].concat());
        hearing(&mut player)("router on");
        Self {
            player,
            session: open(&options(&[], std::slice::from_ref(&endpoint))).0,
            endpoint,
            bag,
            _folder: folder,
        }
    }

    pub(crate) fn client(&self) -> PlayerClient<'_> {
        client(&self.session, TIMEOUT)
    }

    /// A client of one service, for requests that [`PlayerClient`] does not make.
    fn service<S: Service>(&self, name: &str) -> ServiceClient<S> {
        assert!(dds_type(S::TYPE).is_some());
        let name = format!("/rosbag2_player/{name}");
        self.session.service_client::<S>(&name, None).unwrap()
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.player.kill();
        let _ = self.player.wait();
    }
}

/// Drives the only player on the network, and waits for each answer for at most `timeout`.
pub(crate) fn client(session: &Session, timeout: StdDuration) -> PlayerClient<'_> {
    let mut found = Vec::new();
    until("a player", || {
        found = session.players();
        !found.is_empty()
    });
    let client = PlayerClient::new(session, found.remove(0), timeout);
    until("its services", || client.is_ours());
    client
}

/// All that the player knows of a range, after asking as often as necessary.
fn whole_density(client: &PlayerClient<'_>, range: TimeRange) -> Density {
    let mut known = Density::default();
    until("all of the density", || {
        known = client.density(range).unwrap();
        known.is_whole
    });
    known
}

#[test]
fn the_timeline_is_that_of_the_recording() {
    let played = Played::new(&[
        "--start-paused",
        "--clock",
        "50",
        "--exclude-topics",
        "/tf",
        "--remap",
        "/imu:=/imu/raw",
    ]);
    let bag = Bag::open(&[&played.bag]).unwrap();
    let timeline: Timeline = played.client().timeline().unwrap();
    assert_eq!((&*timeline.name, &*timeline.clock), ("drive.mcap", "50 Hz"));
    let told = timeline.topics.iter().map(|topic| {
        (
            topic.name.replace("/imu/raw", "/imu"),
            topic.type_name.clone(),
            topic.encoding.clone(),
            u64::try_from(topic.messages).ok(),
            topic.is_latched,
            topic.schema.clone(),
        )
    });
    let recorded = bag.topics().iter().map(|topic| {
        let schema = topic.schema.as_ref();
        (
            topic.name.clone(),
            topic.type_name().to_owned(),
            topic.encoding.clone(),
            topic.message_count,
            topic.is_latched,
            schema.map_or_else(Vec::new, |schema| schema.data.to_vec()),
        )
    });
    assert_eq!(told.collect::<Vec<_>>(), recorded.collect::<Vec<_>>());
    let left_out = timeline.topics.iter().filter(|it| !it.left_out.is_empty());
    let left_out: Vec<&str> = left_out.map(|topic| &*topic.name).collect();
    assert_eq!(left_out, ["/tf", "/clock"]);
    let offered = timeline.topics.iter().filter(|it| !it.qos.is_empty());
    assert_eq!(offered.count(), timeline.topics.len() - 2);
}

#[test]
fn a_density_grows_until_it_is_that_of_the_recording() {
    let played = Played::new(&["--start-paused"]);
    let bag = Bag::open(&[&played.bag]).unwrap();
    let client = played.client();
    let range = bag.range().unwrap();
    let density = whole_density(&client, range);
    let outline = bag.outline(480);
    for (told, known) in density.topics.iter().zip(&outline.topics) {
        #[expect(clippy::cast_possible_truncation, reason = "as it is sent")]
        let known: Vec<f32> = known.density.iter().map(|count| *count as f32).collect();
        assert_eq!(told.messages, known);
    }
    assert_eq!(density.topics.len(), bag.topics().len());
    // A part of it, with the same messages in more places.
    let quarter = TimeRange::between(
        range.start(),
        range.start().saturating_add(Duration::from_secs(7)),
    );
    let messages = |density: &Density| -> f32 {
        let topics = density.topics.iter();
        topics.flat_map(|topic| &topic.messages).sum()
    };
    let part = whole_density(&client, quarter);
    assert!(messages(&part) > 0.0 && messages(&part) < messages(&density));
}

#[test]
fn requests_with_wrong_ranges_are_refused_and_many_ranges_cost_little() {
    let played = Played::new(&["--start-paused"]);
    let density = played.service::<GetDensity>("get_density");
    let client = played.client();
    let range = Bag::open(&[&played.bag]).unwrap().range().unwrap();
    let (start, end) = (Stamp::of(range.start()), Stamp::of(range.stop()));
    let no_time = Stamp {
        sec: 1,
        nanosec: 1_000_000_000,
    };
    for (start, end, reason) in [
        (end, start, "the end is before the start"),
        (no_time, end, "nanoseconds"),
        (start, no_time, "nanoseconds"),
    ] {
        let refused = density
            .call(&DensityRequest { start, end }, TIMEOUT)
            .unwrap();
        assert!(refused.message.contains(reason), "{}", refused.message);
        assert!(refused.is_whole && refused.topics.is_empty());
    }
    for millis in 1..1000 {
        let end = range.start().saturating_add(Duration::from_millis(millis));
        client
            .density(TimeRange::between(range.start(), end))
            .unwrap();
    }
    // The last one is not behind the others.
    whole_density(&client, range);
}

#[test]
fn requests_with_wrong_times_and_names_are_refused() {
    let played = Played::new(&["--start-paused"]);
    let client = played.client();
    let no_time = Stamp {
        sec: 1,
        nanosec: 1_000_000_000,
    };
    let request = MessageRequest {
        topic: "/imu".into(),
        time: no_time,
    };
    let message = played.service::<GetMessage>("get_message");
    let told = message.call(&request, TIMEOUT).unwrap();
    assert!(!told.is_found && told.message.contains("nanoseconds"));
    let mark = |time, name: &str| MarkRequest {
        mark: MarkAt {
            time,
            name: name.into(),
        },
        is_removed: false,
    };
    let time = Stamp { sec: 1, nanosec: 0 };
    let set_mark = played.service::<SetMark>("set_mark");
    for (request, reason) in [
        (mark(no_time, ""), "nanoseconds"),
        (mark(time, "two\nlines"), "control character"),
        (mark(time, &"x".repeat(60_000)), "longer than 256 bytes"),
        (mark(time, &"x".repeat(70_000)), "the request is too long"),
    ] {
        let refused = set_mark.call(&request, TIMEOUT).unwrap();
        assert!(
            !refused.success && refused.message.contains(reason),
            "{}",
            refused.message
        );
    }
    assert_eq!(client.marks().unwrap(), []);
    assert_eq!(client.progress().unwrap().marks_revision, 0);
    assert!(!played.bag.with_file_name("drive.mcap.marks.yaml").exists());
}

#[test]
fn a_message_is_told_as_it_is_decoded() {
    let played = Played::new(&["--start-paused", "--clock", "--clock-start", "5000"]);
    let bag = Bag::open(&[&played.bag]).unwrap();
    let client = played.client();
    let shift = client.timeline().unwrap().clock_shift.span().unwrap();
    let start = bag.range().unwrap().start();
    assert_eq!(start.saturating_add(shift), Time::from_secs(5000));
    let mut finder = MessageFinder::new(bag.clone());
    let at: Time<Ros> = bag
        .range()
        .unwrap()
        .start()
        .saturating_add(Duration::from_secs(9));
    let mut found = 0;
    for (topic, id) in bag.topics().iter().zip(0..) {
        let told = client
            .message(&topic.name, at.saturating_add(shift))
            .unwrap();
        match finder.find(bagplay::bag::TopicId(id), at, &mut || true) {
            MessageAt::NoMessage => assert!(!told.is_found && told.message.is_empty()),
            MessageAt::Damaged(damage) => assert_eq!(told.message, damage),
            MessageAt::Message {
                log_time,
                bytes,
                decoded,
                ..
            } => {
                let log = told.log_time.time().map(|time| time.saturating_sub(shift));
                assert_eq!((told.is_found, log), (true, Some(log_time)));
                assert_eq!(told.bytes, bytes as u64);
                let lines = told.lines.iter().map(|line| (&line.name, &line.value));
                let known = decoded.lines.iter().map(|line| (&line.name, &line.value));
                assert!(lines.eq(known), "{}", topic.name);
                found += 1;
            }
        }
    }
    assert!(found > 5);
    let unknown = client.message("/nowhere", at).unwrap();
    assert_eq!(unknown.message, "the recording has no topic /nowhere");
}

#[test]
fn a_topic_is_muted_by_its_name() {
    let played = Played::new(&["--start-paused"]);
    let client = played.client();
    let imu = |it: &Timeline| it.topics.iter().position(|topic| topic.name == "/imu");
    let imu = imu(&client.timeline().unwrap()).unwrap();
    client.set_muted("/imu", true).unwrap();
    assert!(client.progress().unwrap().topics[imu].is_muted);
    assert!(client.burst(1000).unwrap() > 0);
    let progress = client.progress().unwrap();
    assert!(progress.topics[imu].sent == 0 && progress.topics[imu].skipped > 0);
    client.set_muted("/imu", false).unwrap();
    assert!(client.burst(100).unwrap() > 0);
    assert!(client.progress().unwrap().topics[imu].sent > 0);
    for name in ["/nowhere", "imu", ""] {
        let refused = client.set_muted(name, true);
        let reason = format!("{name} is not played");
        assert!(matches!(refused, Err(RequestError::Refused(why)) if why == reason));
    }
}

#[test]
fn marks_are_kept_beside_the_recording() {
    let played = Played::new(&["--start-paused"]);
    let client = played.client();
    let range = Bag::open(&[&played.bag]).unwrap().range().unwrap();
    let at = |secs| range.start().saturating_add(Duration::from_secs(secs));
    assert_eq!(client.marks().unwrap(), []);
    let before = client.progress().unwrap().marks_revision;
    client.add_mark(at(4), "gap").unwrap();
    client.add_mark(at(2), "start").unwrap();
    assert_eq!(client.progress().unwrap().marks_revision, before + 2);
    let marks = client.marks().unwrap();
    let names: Vec<&str> = marks.iter().map(|mark| &*mark.name).collect();
    assert_eq!(names, ["start", "gap"]);
    let sidecar = played.bag.with_file_name("drive.mcap.marks.yaml");
    until("the marks in the file", || {
        let text = fs::read_to_string(&sidecar).unwrap_or_default();
        text.contains("gap") && text.contains("start")
    });
    client.remove_mark(at(2)).unwrap();
    assert_eq!(client.marks().unwrap().len(), 1);
}

#[test]
fn a_clock_without_a_recording_has_an_empty_timeline() {
    let endpoint = free_endpoint();
    let mut player = start_play(
        ["clock".as_ref()],
        &["--start-paused", "--hz", "20", "--listen", &endpoint],
    );
    hearing(&mut player)("router on");
    let session = open(&options(&[], &[endpoint])).0;
    let client = client(&session, TIMEOUT);
    let timeline = client.timeline().unwrap();
    assert_eq!((&*timeline.name, &*timeline.clock), ("", "20 Hz"));
    assert_eq!(timeline.topics, []);
    let range = TimeRange::between(Time::from_secs(1), Time::from_secs(2));
    let density = client.density(range).unwrap();
    assert!(density.is_whole && density.topics.is_empty());
    let refused = client.add_mark(Time::from_secs(1), "");
    assert!(matches!(refused, Err(RequestError::Refused(_))));
    assert_eq!(client.marks().unwrap(), []);
    player.kill().unwrap();
    player.wait().unwrap();
}

#[test]
fn the_timeline_is_told_while_messages_are_published() {
    let played = Played::new(&["--loop", "--clock"]);
    let timeline = played.service::<GetTimeline>("get_timeline");
    let client = played.client();
    let first = timeline.call(&Empty::default(), TIMEOUT).unwrap();
    let range = Bag::open(&[&played.bag]).unwrap().range().unwrap();
    let sent = |client: &PlayerClient<'_>| client.status().unwrap().messages;
    let before = sent(&client);
    until("messages", || {
        assert_eq!(timeline.call(&Empty::default(), TIMEOUT).unwrap(), first);
        client.density(range).unwrap();
        client.message("/imu", range.stop()).unwrap();
        sent(&client) > before + 100
    });
}
