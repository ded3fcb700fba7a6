//! Viewers: what they receive and how they control the player, over real connections.

pub(crate) mod client;
mod control;
mod messages;
#[cfg(feature = "cli")]
mod program;

use bagplay::bag::{Bag, Cues, Selection, TopicId};
use bagplay::player::{Intent, Options, Player, Running, Source, Transport, WhenDone};
use bagplay::viewer::{Offer, ViewerOutput, ViewerServer};

use crate::support::mcaps::{Note, Spec, bag};

const SECOND: u64 = 1_000_000_000;

/// A player with a server for viewers.
struct Served {
    bag: Bag,
    transport: Transport,
    running: Running<ViewerOutput>,
    server: ViewerServer,
}

impl Served {
    /// Plays a recording, from a pause, and stays at its end.
    fn paused(bag: Bag) -> Self {
        Self::with(bag, |options| options)
    }

    fn with(bag: Bag, change: impl FnOnce(Options) -> Options) -> Self {
        let options = change(Options {
            intent: Intent::Pause,
            when_done: WhenDone::Stay,
            ..Options::new(bag.range().unwrap())
        });
        let player = Player::new();
        let transport = player.transport();
        let topics: Vec<(TopicId, &str)> = (0..)
            .map(TopicId)
            .zip(bag.topics())
            .map(|(id, topic)| (id, topic.name.as_str()))
            .collect();
        let offer = Offer {
            bag: &bag,
            topics: &topics,
            recording: options.recording,
            control: options.control,
        };
        let address = "0".parse().unwrap();
        let (server, out) = ViewerServer::start(&address, &offer, &transport).unwrap();
        let cues = Cues::new(bag.clone(), Selection::all(&bag), 64 << 20, player.waker());
        let running = player.start(options, Source::of(cues), out).unwrap();
        Self {
            bag,
            transport,
            running,
            server,
        }
    }

    fn port(&self) -> u16 {
        port_of(&self.server)
    }
}

fn port_of(server: &ViewerServer) -> u16 {
    let address = server.address().to_string();
    let (_, port) = address.rsplit_once(':').unwrap();
    port.parse().unwrap()
}

/// A recording of four seconds: `/fast` has a message every 10 ms, `/slow` one at 1.5 s, `/late` one at 3.9 s.
fn recording() -> Bag {
    let at = |millis: u64| SECOND + millis * 1_000_000;
    let mut notes: Vec<Note> = (0..400)
        .map(|n| Note::new(0, at(n * 10), format!("fast {n}")))
        .collect();
    notes.push(Note::new(1, at(1500), "slow"));
    notes.push(Note::new(2, at(3900), "late"));
    notes.sort_by_key(|note| note.time);
    let chunks: Vec<Vec<Note>> = notes.chunks(50).map(<[Note]>::to_vec).collect();
    let mut spec = Spec::new(chunks);
    for (topic, name) in spec.topics.iter_mut().zip(["/fast", "/slow", "/late"]) {
        name.clone_into(&mut topic.name);
    }
    bag(&spec.write())
}
