//! The node of a player as a whole: its parameters, its own topics and the descriptions of its types, between two
//! sessions.

use std::time::Duration;

use bagplay::bag::{Bag, Cues, Key, Selection};
use bagplay::output::Null;
use bagplay::player::{
    Command, Intent, Options, Pace, Player, Running, Source, State, Transport, WhenDone,
};
use bagplay::time::{AtEnd, Speed, Time};
use bagplay::wire::services::messages::cdr::from_cdr;
use bagplay::wire::services::messages::node_topics::{Log, ParameterEvent, ReadSplitEvent};
use bagplay::wire::services::messages::parameters::{
    DescribeParameters, GetParameters, ListParameters, ListRequest, Names, Parameter,
    ParameterValue, Parameters, SetParameters, SetParametersAtomically, SetResult,
};
use bagplay::wire::services::messages::service::Service;
use bagplay::wire::services::messages::type_description::{GetTypeDescription, TypeRequest};
use bagplay::wire::{
    LogLine, NodeDescription, NodeFeed, NodeParameter, PlayedFile, ServedNode, Session, Severity,
};
use crossbeam_channel::Receiver;
use serde::de::DeserializeOwned;
use zenoh::Wait;
use zenoh::query::{ConsolidationMode, ReplyKeyExpr};
use zenoh::sample::Sample;

use crate::support::network::{STRING_HASH, open, options, peer, router, subscribe, take};
use crate::support::patience::until;

const TIMEOUT: Duration = Duration::from_secs(60);
const EVENTS: &str = "0/parameter_events/rcl_interfaces::msg::dds_::ParameterEvent_/RIHS01_043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204";
const ROSOUT: &str = "0/rosout/rcl_interfaces::msg::dds_::Log_/RIHS01_e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac";
const SPLITS: &str = "0/events/read_split/rosbag2_interfaces::msg::dds_::ReadSplitEvent_/RIHS01_6f21c9b52d788338b0775ceccb49f38e7a8baad7b954f79dd280baed91145ad7";

/// A paused player of the demo as a whole node, and another node.
struct Whole {
    node: Option<ServedNode>,
    running: Option<Running<Null>>,
    transport: Transport,
    feed: NodeFeed,
    player: Session,
    caller: Session,
    endpoint: String,
}

impl Whole {
    fn new() -> Self {
        let (session, _, endpoint) = router(|_| ());
        let (caller, _) = open(&options(&[], std::slice::from_ref(&endpoint)));
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
        let bag = Bag::open(&[demo]).unwrap();
        let player = Player::new();
        let transport = player.transport();
        let cues = Cues::new(bag.clone(), Selection::all(&bag), 8 << 20, player.waker());
        let paused = Options {
            when_done: WhenDone::Stay,
            intent: Intent::Pause,
            ..Options::new(bag.range().unwrap())
        };
        let running = player.start(paused, Source::of(cues), Null).unwrap();
        Self {
            node: None,
            running: Some(running),
            transport,
            feed: NodeFeed::default(),
            player: session,
            caller,
            endpoint,
        }
    }

    /// Makes the session a whole node.
    fn serve(&mut self) {
        let description = NodeDescription {
            parameters: vec![NodeParameter {
                name: "play.start_paused".into(),
                value: true.into(),
                description: "Whether the run starts paused".into(),
            }],
            types: vec![bagplay::bag::Schema {
                name: "std_msgs/msg/String".into(),
                encoding: "ros2msg".into(),
                data: "string data\n".into(),
            }],
        };
        let node = self
            .player
            .serve_node(&self.transport, description, &self.feed);
        self.node = Some(node.unwrap());
    }

    fn call<S: Service>(&self, name: &str, request: &S::Request) -> S::Response {
        let name = format!("/rosbag2_player/{name}");
        let is_there = |token: &bagplay::wire::Token| {
            token.endpoint.as_ref().is_some_and(|it| it.name == name)
        };
        until("the service", || {
            self.caller.graph().tokens().iter().any(is_there)
        });
        let client = self.caller.service_client::<S>(&name, None).unwrap();
        client.call(request, TIMEOUT).unwrap()
    }

    fn set(&self, parameters: &[Parameter]) -> Vec<SetResult> {
        let parameters = parameters.to_vec();
        let request = Parameters { parameters };
        self.call::<SetParameters>("set_parameters", &request)
            .results
    }

    fn set_all(&self, parameters: &[Parameter]) -> SetResult {
        let parameters = parameters.to_vec();
        let request = Parameters { parameters };
        self.call::<SetParametersAtomically>("set_parameters_atomically", &request)
            .result
    }

    fn values(&self, names: &[&str]) -> Vec<ParameterValue> {
        let names = names.iter().map(|&name| name.into()).collect();
        self.call::<GetParameters>("get_parameters", &Names { names })
            .values
    }

    fn stop(&mut self) {
        self.transport.send(Command::Stop).unwrap();
        self.running.take().unwrap().join().unwrap();
    }
}

fn parameter(name: &str, value: impl Into<ParameterValue>) -> Parameter {
    Parameter {
        name: name.into(),
        value: value.into(),
    }
}

#[track_caller]
fn next<T: DeserializeOwned>(samples: &Receiver<Sample>) -> T {
    from_cdr(&take(samples).payload().to_bytes()).unwrap()
}

#[test]
fn parameters_drive_the_player() {
    let mut whole = Whole::new();
    whole.serve();
    let state = |whole: &Whole| whole.transport.status().unwrap().state;
    let live = ["rate", "paused", "loop"];
    assert_eq!(whole.values(&live), [1.0.into(), true.into(), false.into()]);
    let results = whole.set(&[
        parameter("rate", 0.25),
        parameter("play.start_paused", false),
        parameter("loop", true),
        parameter("rate", 0.0),
        parameter("none", 1),
        parameter("paused", false),
    ]);
    let successes: Vec<bool> = results.iter().map(|it| it.successful).collect();
    assert_eq!(successes, [true, false, true, false, false, true]);
    assert!(
        results
            .iter()
            .all(|it| it.successful == it.reason.is_empty())
    );
    assert!(results[1].reason.contains("read-only"));
    assert!(results[4].reason.contains("not declared"));
    assert_eq!(
        whole.values(&live),
        [0.25.into(), false.into(), true.into()]
    );
    let status = whole.transport.status().unwrap();
    assert_eq!(status.pace, Pace::At(Speed::from_f64(0.25).unwrap()));
    assert_eq!(status.segment.at_end(), AtEnd::Loop);
    assert_ne!(state(&whole), State::Paused);

    let all = [parameter("rate", 4.0), parameter("paused", true)];
    assert!(whole.set_all(&all).successful);
    assert_eq!(whole.values(&live[..2]), [4.0.into(), true.into()]);
    let one_is_wrong = [parameter("loop", false), parameter("rate", -1.0)];
    let refused = whole.set_all(&one_is_wrong);
    assert!(refused.reason.contains("floating point range"));
    let one_is_unknown = whole.set_all(&[parameter("loop", false), parameter("x", 1)]);
    let words = "One or more parameters were not declared before setting";
    assert_eq!(one_is_unknown.reason, words);
    assert_eq!(whole.values(&["loop"]), [true.into()]);
    assert!(whole.set_all(&[]).successful);
    assert_eq!(whole.set(&[]), []);

    whole.stop();
    for refused in whole.set(&[parameter("rate", 2.0), parameter("paused", true)]) {
        assert_eq!(
            (refused.successful, refused.reason.is_empty()),
            (false, false)
        );
    }
    assert!(!whole.set_all(&[parameter("loop", true)]).successful);
}

#[test]
fn nothing_is_set_while_another_clock_is_followed() {
    let mut whole = Whole::new();
    whole.serve();
    whole.transport.ask(Command::SetPace(Pace::Follow)).unwrap();
    let live = [
        parameter("rate", 2.0),
        parameter("paused", false),
        parameter("loop", true),
    ];
    for result in whole.set(&live) {
        assert!(
            result.reason.contains("follows another clock"),
            "{result:?}"
        );
    }
    assert_eq!(whole.values(&["rate"]), [0.0.into()]);
    whole.stop();
}

#[test]
fn parameters_are_listed_and_described() {
    let mut whole = Whole::new();
    whole.serve();
    let list = |prefix: &str, depth| {
        let prefixes = vec![prefix.to_owned()];
        whole.call::<ListParameters>("list_parameters", &ListRequest { prefixes, depth })
    };
    assert_eq!(list("play", 1).names, ["play.start_paused"]);
    assert_eq!(list("play", 1).prefixes, ["play"]);
    let describe = |name: &str| {
        let names = vec![name.to_owned()];
        whole
            .call::<DescribeParameters>("describe_parameters", &Names { names })
            .descriptors
    };
    let rate = &describe("rate")[0];
    let range = rate.floating_point_range[0];
    assert_eq!((range.from_value, range.to_value), (0.001, 1000.0));
    assert!(!rate.read_only && !rate.description.is_empty());
    assert!(describe("play.start_paused")[0].read_only);
    assert_eq!(describe("none"), []);
    assert_eq!(whole.values(&["rate", "none"]), []);
    whole.stop();
}

#[test]
fn changes_of_parameters_are_published_whoever_makes_them() {
    let mut whole = Whole::new();
    let listener = peer(&whole.endpoint);
    let (_subscriber, samples) = subscribe(&listener, EVENTS);
    whole.serve();
    // Nobody waits for subscribers of this topic: the first event may have been published before there was a route.
    let changed = |whole: &Whole, command| {
        whole.transport.ask(command).unwrap();
    };
    let twice = Pace::At(Speed::from_f64(2.0).unwrap());
    let mut rates = [1.0, 3.0].into_iter().cycle();
    until("an event", || {
        let rate = rates.next().unwrap();
        let pace = Pace::At(Speed::from_f64(rate).unwrap());
        changed(&whole, Command::SetPace(pace));
        !samples.is_empty()
    });
    changed(&whole, Command::SetPace(twice));
    let mut last = Vec::new();
    while last != [parameter("rate", 2.0)] {
        let event = next::<ParameterEvent>(&samples);
        assert_eq!(event.node, "/rosbag2_player");
        assert!(event.stamp.sec > 1_700_000_000);
        assert_eq!(event.deleted_parameters, []);
        last = event.changed_parameters;
    }
    let is_next = |command, expected: Parameter| {
        changed(&whole, command);
        let event = next::<ParameterEvent>(&samples);
        assert_eq!(event.changed_parameters, [expected]);
    };
    is_next(Command::SetAtEnd(AtEnd::Loop), parameter("loop", true));
    is_next(Command::Play, parameter("paused", false));
    is_next(Command::Pause, parameter("paused", true));
    // A jump changes no parameter.
    whole.transport.ask(Command::Seek(Time::MIN)).unwrap();
    assert!(whole.set(&[parameter("rate", 5.0)])[0].successful);
    let event = next::<ParameterEvent>(&samples);
    assert_eq!(event.changed_parameters, [parameter("rate", 5.0)]);
    whole.stop();
    drop(whole.node.take());
    assert!(samples.is_empty());
}

#[test]
fn what_was_told_before_is_published_too() {
    let mut whole = Whole::new();
    let log = |severity, text: &str| LogLine {
        unix_nanos: 7_000_000_009,
        severity,
        text: text.into(),
    };
    whole.feed.log(log(Severity::Warning, "before"));
    let file = |name: &str| PlayedFile {
        name: name.into(),
        recording: Some(0),
    };
    let mut watch = whole.feed.watch(vec![file("a.mcap"), file("b.mcap")]);
    let listener = peer(&whole.endpoint);
    let (_splits, splits) = subscribe(&listener, SPLITS);
    whole.serve();
    let (_rosout, lines) = subscribe(&listener, ROSOUT);
    until("a line", || {
        whole.feed.log(log(Severity::Error, "after"));
        !lines.is_empty()
    });
    let line = next::<Log>(&lines);
    assert!((line.level, line.msg.as_str()) == (40, "after") || line.msg == "before");
    assert_eq!(line.name, "rosbag2_player");
    assert_eq!((line.stamp.sec, line.stamp.nanosec), (7, 9));
    let mut play = |input| {
        watch.message(Key {
            time: Time::ZERO,
            input,
            chunk: 0,
            record: 0,
        });
    };
    play(0);
    play(1);
    let event = next::<ReadSplitEvent>(&splits);
    let expected = ReadSplitEvent {
        closed_file: "a.mcap".into(),
        opened_file: "b.mcap".into(),
        node_name: "/rosbag2_player".into(),
    };
    assert_eq!(event, expected);
    whole.stop();
}

#[test]
fn what_was_told_before_is_in_the_history_when_the_node_is_served() {
    // The depth of the topic.
    const LINES: i64 = 1_000;
    let mut whole = Whole::new();
    for line in 0..LINES {
        whole.feed.log(LogLine {
            unix_nanos: line,
            severity: Severity::Warning,
            text: line.to_string(),
        });
    }
    let listener = peer(&whole.endpoint);
    whole.serve();
    let mut lines = Vec::new();
    until("the history", || {
        let kept = listener.get(format!("{ROSOUT}/@adv/**"));
        let kept = kept
            .accept_replies(ReplyKeyExpr::Any)
            .consolidation(ConsolidationMode::None);
        let replies = kept.wait().unwrap().into_iter();
        let samples = replies.filter_map(|reply| reply.into_result().ok());
        lines = samples
            .map(|it| from_cdr::<Log>(&it.payload().to_bytes()).unwrap().msg)
            .collect();
        !lines.is_empty()
    });
    assert_eq!(
        lines,
        (0..LINES).map(|it| it.to_string()).collect::<Vec<_>>()
    );
    whole.stop();
}

#[test]
fn types_are_described_by_their_hashes() {
    let mut whole = Whole::new();
    whole.serve();
    let ask = |hash: &str| {
        let request = TypeRequest {
            type_name: String::new(),
            type_hash: hash.to_owned(),
            include_type_sources: true,
        };
        whole.call::<GetTypeDescription>("get_type_description", &request)
    };
    let string = ask(STRING_HASH);
    assert!(string.successful, "{string:?}");
    assert_eq!(string.type_sources[0].raw_file_contents, "string data\n");
    let own = EVENTS.rsplit_once('/').unwrap().1;
    let described = ask(own).type_description;
    assert_eq!(described.referenced_type_descriptions.len(), 3);
    assert_eq!(ask("x").failure_reason, "Failed to parse type hash");
    whole.stop();
}

#[test]
fn the_node_is_on_the_graph_with_all_that_a_node_has() {
    let mut whole = Whole::new();
    whole.serve();
    let wanted = [
        "/parameter_events/::,1000:,:,:,,",
        "/rosout/:1:,1000:,:10,0:,,",
        "/events/read_split/::,3:,:,:,,",
        "/rosbag2_player/list_parameters/::,1000:,:,:,,",
        "/rosbag2_player/set_parameters_atomically/::,1000:,:,:,,",
        "/rosbag2_player/get_type_description/::,10:,:,:,,",
    ];
    let mut there = Vec::new();
    until("all tokens", || {
        let tokens = whole.caller.graph().tokens().into_iter();
        there = tokens
            .filter_map(|token| token.endpoint)
            .map(|it| format!("{}/{}", it.name, bagplay::wire::encode_qos(&it.qos)))
            .collect();
        wanted
            .iter()
            .all(|it| there.iter().any(|there| there == it))
    });
    drop(whole.node.take());
    until("none", || {
        let mut tokens = whole.caller.graph().tokens().into_iter();
        tokens.all(|token| token.endpoint.is_none())
    });
    whole.stop();
}
