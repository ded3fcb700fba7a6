//! 40 commands a second, at random but seeded, against a running player: the laws hold in its transcript.
//!
//! A process of its own, so that its memory can be looked at. Ten seconds by default; CI sets
//! `BAGPLAY_SOAK_SECONDS` to 60. A real recording, the real read-ahead, the real thread; only the
//! network is left out, so that every call of the output is seen in order.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::sync::mpsc;
use std::thread;
use std::time::Duration as Std;

use bagplay::bag::{Bag, Cues, Selection};
use bagplay::output::{Event, Occasion, Recording};
use bagplay::player::{ClockOptions, Command, Options, Pace, Player, WhenDone};
use bagplay::time::{AtEnd, Duration, Ros, Segment, Speed, Time, TimeRange};

const SEED: u64 = 0x00b4_6b1a_4902_6112;
const PER_SECOND: u64 = 40;
/// What the process may grow by after it has warmed up.
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
        match self.below(16) {
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
            14 => Command::SetRange(TimeRange::between(self.time(range), range.stop())),
            _ => Command::PlayUntil(self.time(range)),
        }
    }
}

/// Reads a transcript and holds it against the laws.
#[derive(Default)]
struct Laws {
    segment: Option<Segment>,
    is_told: bool,
    clock: Option<Time<Ros>>,
    message: Option<Time<Ros>>,
    messages: u64,
    jumps: u64,
}

impl Laws {
    fn take(&mut self, event: &Event) {
        match *event {
            Event::Segment(next) => {
                if self
                    .segment
                    .is_none_or(|segment| segment.generation() != next.generation())
                {
                    assert!(
                        self.segment
                            .is_none_or(|segment| segment.generation() < next.generation())
                    );
                    (self.clock, self.message, self.is_told) = (None, None, false);
                    self.jumps += 1;
                }
                self.segment = Some(next);
            }
            Event::Clock(t) => {
                let segment = self.segment.expect("a segment comes first");
                assert!(
                    segment.range().contains(t),
                    "clock {t} outside {:?}",
                    segment.range()
                );
                assert!(
                    !self
                        .clock
                        .is_some_and(|before| segment.is_before(t, before)),
                    "clock {t} runs against the direction"
                );
                assert!(
                    !self
                        .message
                        .is_some_and(|before| segment.is_before(t, before)),
                    "clock {t} before a message that is out"
                );
                (self.clock, self.is_told) = (Some(t), true);
            }
            Event::Message(_, t, Occasion::Refill) => {
                assert!(self.is_told, "a refill before the clock of its generation");
                assert!(
                    self.message.is_none(),
                    "a refill at {t} after a message of its generation"
                );
            }
            Event::Message(_, t, Occasion::Due) => {
                let segment = self.segment.expect("a segment comes first");
                assert!(self.is_told, "a message before the clock of its generation");
                assert!(
                    segment.range().contains(t),
                    "a stale message: {t} outside {:?}",
                    segment.range()
                );
                assert!(
                    !self
                        .message
                        .is_some_and(|before| segment.is_before(t, before)),
                    "message {t} out of order"
                );
                assert!(
                    !self.clock.is_some_and(|clock| segment.is_before(t, clock)),
                    "message {t} behind the clock {:?}",
                    self.clock
                );
                (self.message, self.messages) = (Some(t), self.messages + 1);
            }
            Event::Flush => {}
        }
    }
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn forty_commands_a_second_break_no_law_and_leak_nothing() {
    let seconds: u64 =
        std::env::var("BAGPLAY_SOAK_SECONDS").map_or(10, |seconds| seconds.parse().unwrap());
    let demo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap");
    let bag = Bag::open(&[demo]).unwrap();
    let recording = bag.range().unwrap();
    let player = Player::new();
    let mut cues = Cues::new(bag.clone(), Selection::all(&bag), 4 << 20, player.waker());
    let options = Options {
        clock: ClockOptions {
            period: Some(Duration::from_millis(5)),
            ..ClockOptions::default()
        },
        when_done: WhenDone::Stay,
        at_end: AtEnd::Loop,
        ..Options::new(
            recording,
            bag.topics()
                .iter()
                .map(|topic| topic.name.clone())
                .collect(),
        )
    };
    let (sender, events) = mpsc::sync_channel(1 << 12);
    let reader = thread::spawn(move || {
        let mut laws = Laws::default();
        for event in events {
            laws.take(&event);
        }
        laws
    });
    let transport = player.transport();
    let out = Recording(move |event| sender.send(event).unwrap());
    let running = player
        .start(options, Box::new(move |at| cues.start(at)), out)
        .unwrap();

    let (mut random, mut warm) = (Random(SEED), 0);
    let mut seen = 0;
    for n in 0..seconds * PER_SECOND {
        let status = transport.ask(random.command(recording)).unwrap();
        assert!(
            status.segment.generation() >= seen,
            "a generation went back"
        );
        seen = status.segment.generation();
        if n == seconds * PER_SECOND / 3 {
            warm = resident();
        }
        // The pace of the commands; a player that ends early ends the wait.
        let _ = running
            .done()
            .recv_timeout(Std::from_millis(1_000 / PER_SECOND));
    }
    let grown = resident().saturating_sub(warm);
    transport.send(Command::Stop).unwrap();
    let (report, out) = running.join().unwrap();
    drop(out);
    let laws = reader.join().unwrap();
    assert!(grown < GROWTH, "grew by {grown} bytes");
    assert_eq!(report.sent, laws.messages);
    assert!(
        laws.jumps > seconds * PER_SECOND / 4 && laws.messages > 1_000,
        "{} jumps, {} messages",
        laws.jumps,
        laws.messages
    );
}
