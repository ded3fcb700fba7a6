//! 40 commands per second, random but seeded, for a running player whose transcript is checked against the laws.
//!
//! It is a process of its own, so that its memory can be measured. It runs for ten seconds by default; CI sets
//! `BAGPLAY_SOAK_SECONDS` to 60. Recording, read-ahead and thread are the real ones. The network is left out, so that
//! every call of the output is seen in order. Each generation is compared with a plain walk from its landing: no
//! message may be missing or repeated.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration as Std;

use bagplay::bag::{Bag, Cues, Cursor, Direction, Key, Message, Selection, StartAt};
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::player::{
    ClockOptions, Command, Options, Pace, PlayedRange, Player, Running, Source, State, Transport,
    WhenDone,
};
use bagplay::time::{AtEnd, Duration, Motion, Ros, Segment, Speed, Time, TimeRange};
use crossbeam_channel::RecvTimeoutError;

const SEED: u64 = 0x00b4_6b1a_4902_6112;
const PER_SECOND: u64 = 40;
/// On average, one of so many commands comes after a stop, which ends the run; then another run begins.
const STOP_EVERY: u64 = 40;
/// How many bytes the process may grow by in the last two thirds of the test.
const GROWTH: u64 = 8 << 20;

/// xorshift64*: the same commands on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    fn time(&mut self, range: TimeRange) -> Time<Ros> {
        let span = range.duration().as_nanos() / 1_000;
        range.start().saturating_add(Duration::from_micros(
            self.below(span.unsigned_abs()).cast_signed(),
        ))
    }

    fn command(&mut self, range: TimeRange) -> Command {
        let speeds = [0.1, 0.5, 1.0, 3.0, 20.0, 500.0, -0.5, -1.0, -20.0];
        match self.below(18) {
            0..=3 => Command::Seek(self.time(range)),
            4 => Command::SeekBy(Duration::from_millis(
                self.below(10_000).cast_signed() - 5_000,
            )),
            5..=7 => {
                let speed = speeds[usize::try_from(self.below(9)).unwrap()];
                Command::SetPace(Pace::At(Speed::from_f64(speed).unwrap()))
            }
            8 => Command::SetPace(Pace::Max),
            9 => Command::Pause,
            10 | 11 => Command::Play,
            12 => Command::Step(self.below(20).cast_signed() + 1),
            13 => Command::Step(-self.below(20).cast_signed() - 1),
            14 => Command::SetRange(TimeRange::between(self.time(range), range.stop()), None),
            15 => {
                let (a, b) = (self.time(range), self.time(range));
                Command::SetLoop(TimeRange::between(a, b))
            }
            16 => Command::EndLoop,
            _ => Command::PlayUntil(self.time(range)),
        }
    }
}

/// One call of the output.
enum Event {
    Segment(Segment),
    Clock(Time<Ros>),
    Message(Key, Occasion),
}

struct Transcript(SyncSender<Event>);

impl Transcript {
    /// A reader that found a broken law has panicked, which is reported when it is joined.
    fn tell(&self, event: Event) {
        let _ = self.0.send(event);
    }
}

impl Output for Transcript {
    fn segment(&mut self, segment: &Segment) {
        self.tell(Event::Segment(*segment));
    }
    fn clock(&mut self, time: Time<Ros>) {
        self.tell(Event::Clock(time));
    }
    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        period.is_some()
    }
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        self.tell(Event::Message(message.key, occasion));
        Delivery::Sent
    }
    fn finish(&mut self) {}
}

/// What has been seen of one generation, and the walk over the bag with which it is compared.
struct Generation {
    segment: Segment,
    landing: Time<Ros>,
    /// The messages that have to be sent next.
    ahead: Peekable<Cursor>,
    /// The refills that have to come next, after the first one.
    refills: Option<Peekable<std::vec::IntoIter<Key>>>,
    clock: Option<Time<Ros>>,
    last: Option<Time<Ros>>,
}

impl Generation {
    fn new(bag: &Bag, segment: Segment) -> Self {
        let Motion::Held(landing) = segment.motion() else {
            panic!("a jump lands rolling: {segment:?}");
        };
        let direction = if segment.speed().is_reverse() {
            Direction::Reverse
        } else {
            Direction::Forward
        };
        let from = StartAt::At(landing);
        let walk = bag.cursor_within(&Selection::all(bag), from, direction, segment.range());
        Self {
            segment,
            landing,
            ahead: walk.peekable(),
            refills: None,
            clock: None,
            last: None,
        }
    }

    fn next_due(&mut self) -> Option<Key> {
        self.ahead.peek().map(|next| next.as_ref().unwrap().key)
    }

    fn clock(&mut self, t: Time<Ros>) {
        let segment = self.segment;
        assert!(
            segment.range().contains(t),
            "clock {t} outside {:?}",
            segment.range()
        );
        let is_behind = |before: Time<Ros>| segment.is_before(t, before);
        assert!(
            !self.clock.is_some_and(is_behind),
            "clock {t} runs against the direction"
        );
        assert!(
            !self.last.is_some_and(is_behind),
            "clock {t} before a message that is out"
        );
        if let Some(next) = self.next_due() {
            assert!(
                !segment.is_before(next.time, t),
                "clock {t} past a message that is not out: {next:?}"
            );
        }
        self.clock = Some(t);
    }

    fn refill(&mut self, bag: &Bag, key: Key) {
        assert!(
            self.clock.is_some() && self.last.is_none(),
            "a refill at {key:?} in the wrong place"
        );
        let landing = self.landing;
        let is_reverse = self.segment.speed().is_reverse();
        let refills = self.refills.get_or_insert_with(|| {
            let (latched, damage) = bag.latched(&Selection::all(bag), landing);
            assert_eq!(damage, []);
            // Forwards, messages at the landing itself are played and not sent as refills.
            let keys = latched.iter().map(|message| message.key);
            let keys = keys.filter(|key| is_reverse || key.time < landing);
            keys.collect::<Vec<_>>().into_iter().peekable()
        });
        assert_eq!(refills.next(), Some(key), "refills at {landing}");
    }

    /// True if it was not the first message at the time of the landing: only a step back lands between messages of one
    /// time.
    fn due(&mut self, key: Key) -> bool {
        assert!(
            self.clock.is_some(),
            "a message before the clock of its generation"
        );
        assert!(
            self.refills.as_mut().is_none_or(|it| it.peek().is_none()),
            "refills are missing"
        );
        let is_first = self.last.is_none();
        let mut is_within = false;
        while is_first
            && self
                .next_due()
                .is_some_and(|next| next != key && next.time == self.landing)
        {
            self.ahead.next();
            is_within = true;
        }
        let next = self.ahead.next().map(|next| next.unwrap().key);
        assert_eq!(
            Some(key),
            next,
            "not the next message of {:?}",
            self.segment
        );
        let is_behind = |clock| self.segment.is_before(key.time, clock);
        assert!(
            !self.clock.is_some_and(is_behind),
            "message {key:?} behind the clock {:?}",
            self.clock
        );
        self.last = Some(key.time);
        is_within
    }
}

/// Reads a transcript and checks it against the laws.
struct Laws {
    bag: Bag,
    now: Option<Generation>,
    messages: u64,
    refills: u64,
    jumps: u64,
    /// Generations that began after a message of the same time.
    within: BTreeSet<u64>,
}

impl Laws {
    fn new(bag: Bag) -> Self {
        Self {
            bag,
            now: None,
            messages: 0,
            refills: 0,
            jumps: 0,
            within: BTreeSet::new(),
        }
    }

    fn take(&mut self, event: &Event) {
        if let Event::Segment(next) = event {
            match &mut self.now {
                Some(now) if now.segment.generation() == next.generation() => {
                    assert_eq!(now.segment.range(), next.range());
                    now.segment = *next;
                }
                now => {
                    let before = now.as_ref().map(|now| now.segment.generation());
                    assert!(before < Some(next.generation()), "a generation went back");
                    *now = Some(Generation::new(&self.bag, *next));
                    self.jumps += 1;
                }
            }
            return;
        }
        let now = self.now.as_mut().expect("a segment comes first");
        match *event {
            Event::Clock(t) => now.clock(t),
            Event::Message(key, Occasion::Refill) => {
                now.refill(&self.bag, key);
                self.refills += 1;
            }
            Event::Message(key, Occasion::Due) => {
                if now.due(key) {
                    self.within.insert(now.segment.generation());
                }
                self.messages += 1;
            }
            Event::Segment(_) => {}
        }
    }
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// A running player, and the reader of its transcript.
struct Run {
    transport: Transport,
    running: Running<Transcript>,
    reader: JoinHandle<Laws>,
    /// The last generation that an answer showed.
    seen: u64,
    /// The generations in which a step back was requested; it lands soon after.
    stepped: BTreeSet<u64>,
}

/// The sums over all runs.
#[derive(Default)]
struct Total {
    messages: u64,
    refills: u64,
    jumps: u64,
    runs: u64,
}

impl Run {
    fn start(bag: &Bag) -> Self {
        let player = Player::new();
        let cues = Cues::new(bag.clone(), Selection::all(bag), 4 << 20, player.waker());
        let options = Options {
            clock: ClockOptions {
                period: Some(Duration::from_millis(5)),
                ..ClockOptions::default()
            },
            when_done: WhenDone::Stay,
            played: PlayedRange::new(bag.range().unwrap(), AtEnd::Loop),
            ..Options::new(bag.range().unwrap())
        };
        let (sender, events) = mpsc::sync_channel(1 << 12);
        let mut laws = Laws::new(bag.clone());
        let reader = thread::spawn(move || {
            for event in events {
                laws.take(&event);
            }
            laws
        });
        let transport = player.transport();
        let running = player.start(options, Source::of(cues), Transcript(sender));
        Self {
            transport,
            running: running.unwrap(),
            reader,
            seen: 0,
            stepped: BTreeSet::new(),
        }
    }

    fn ask(&mut self, command: Command) {
        let status = self.transport.ask(command).unwrap().status;
        let generation = status.segment.generation();
        assert!(generation >= self.seen, "a generation went back");
        self.seen = generation;
        if matches!(command, Command::Step(n) if n < 0) {
            self.stepped.insert(generation);
        }
        // The interval between commands; a player that ends early ends the wait.
        let done = self.running.done();
        let _ = done.recv_timeout(Std::from_millis(1_000 / PER_SECOND));
    }

    /// Stops the player, with more commands right after the stop.
    fn stop(self, more: impl Iterator<Item = Command>, total: &mut Total) {
        self.transport.send(Command::Stop).unwrap();
        for command in more {
            // The player may have ended by now.
            let _ = self.transport.send(command);
        }
        let done = self.running.done().recv_timeout(Std::from_secs(60));
        assert_eq!(
            done,
            Err(RecvTimeoutError::Disconnected),
            "the player goes on after a stop"
        );
        let (report, out) = self.running.join().unwrap();
        drop(out);
        let laws = self.reader.join().unwrap();
        assert_eq!(self.transport.status().unwrap().state, State::Stopped);
        assert_eq!(report.sent, laws.messages);
        assert!(report.damage().is_empty());
        for generation in &laws.within {
            let before = generation.saturating_sub(3)..*generation;
            assert!(
                self.stepped.range(before).next().is_some(),
                "generation {generation} lacks its first messages"
            );
        }
        total.messages += laws.messages;
        total.refills += laws.refills;
        total.jumps += laws.jumps;
        total.runs += 1;
    }
}

#[test]
fn random_commands_break_no_law_and_leak_no_memory() {
    let seconds: u64 =
        std::env::var("BAGPLAY_SOAK_SECONDS").map_or(10, |seconds| seconds.parse().unwrap());
    let demo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap");
    let bag = Bag::open(&[demo]).unwrap();
    let recording = bag.range().unwrap();
    let (mut random, mut warm) = (Random(SEED), 0);
    let mut total = Total::default();
    let mut run = Run::start(&bag);
    for n in 0..seconds * PER_SECOND {
        if random.below(STOP_EVERY) == 0 {
            let more = (0..random.below(5)).map(|_| random.command(recording));
            run.stop(more.collect::<Vec<_>>().into_iter(), &mut total);
            run = Run::start(&bag);
        }
        run.ask(random.command(recording));
        if n == seconds * PER_SECOND / 3 {
            warm = resident();
        }
    }
    let grown = resident().saturating_sub(warm);
    run.stop(std::iter::empty(), &mut total);
    assert!(grown < GROWTH, "grew by {grown} bytes");
    assert!(total.refills > 0 && total.runs > 1);
    assert!(
        total.jumps > seconds * PER_SECOND / 4 && total.messages > 1_000,
        "{} jumps, {} messages",
        total.jumps,
        total.messages
    );
}
