//! The machine, tested by its transcripts: the input is a script of (instant, command), the output lines of (instant,
//! effect).
//!
//! There is no thread, no clock and no waiting. Wall times and times of messages are in milliseconds; the source of
//! messages answers like the read-ahead of a bag.

use bagplay::bag::{
    Cue, CueAt, CueFeed, Cued, Direction, Key, Message, PublisherId, StartAt, TopicId,
};
use bagplay::output::{Event, Occasion, Recording};
use bagplay::player::{
    Before, ClockOptions, Command, Gate, GateHandle, Gates, Intent, Machine, Options, Pace,
    PlayedRange, Source, State, Wait, WhenDone,
};
use bagplay::time::{AtEnd, Duration, Motion, Ros, Segment, Speed, Steady, Time, TimeRange};
use bytes::Bytes;

pub(crate) const MS: i64 = 1_000_000;
/// The topics of all transcripts, though most have messages of the first only.
pub(crate) const NAMES: [&str; 3] = ["/a", "/b", "/c"];

pub(crate) fn ros(ms: i64) -> Time<Ros> {
    Time::from_nanos(ms * MS)
}
pub(crate) fn wall(ms: i64) -> Time<Steady> {
    Time::from_nanos(ms * MS)
}
pub(crate) fn span(ms: i64) -> Duration {
    Duration::from_millis(ms)
}
pub(crate) fn pace(speed: f64) -> Command {
    Command::SetPace(Pace::At(Speed::from_f64(speed).unwrap()))
}

/// One act of a script.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Act {
    Do(Command),
    Open(Gate),
    Close(Gate),
    /// The clock that is followed is there.
    Lead(Segment),
    /// It is not known any more.
    LoseLead,
}

impl Act {
    pub(crate) fn on(self, machine: &mut Machine, now: Time<Steady>) {
        match self {
            Self::Do(command) => machine.apply(command, now),
            Self::Open(gate) => machine.gates().open(gate),
            Self::Close(gate) => machine.gates().close(gate),
            Self::Lead(lead) => machine.lead().set(lead),
            Self::LoseLead => machine.lead().lose(),
        }
    }
}

/// Messages at these instants, all of topic 0, in file order.
pub(crate) fn messages(times: &[i64]) -> Vec<Message> {
    let message = |(n, ms): (usize, &i64)| Message {
        key: Key {
            time: ros(*ms),
            input: 0,
            chunk: 0,
            record: u32::try_from(n).unwrap(),
        },
        topic: TopicId(0),
        publisher: PublisherId::default(),
        log_time: ros(*ms),
        publish_time: ros(*ms),
        sequence: 0,
        payload: Bytes::from_static(b"x"),
    };
    times.iter().enumerate().map(message).collect()
}

/// The items that a bag's cue would yield, with the last message before the start as refill.
pub(crate) fn cue(all: &[Message], at: CueAt) -> Vec<Cued> {
    let is_asked = |m: &&Message| at.only.is_none_or(|topic| m.topic == topic);
    let mut walk: Vec<&Message> = all.iter().filter(is_asked).collect();
    walk.sort_by_key(|m| m.key);
    let is_before_start = |m: &&Message| match (at.from, at.direction) {
        (StartAt::At(t), Direction::Forward) => m.key.time < t,
        (StartAt::At(t), Direction::Reverse) => m.key.time > t,
        (StartAt::After(key), Direction::Forward) => m.key <= key,
        (StartAt::After(key), Direction::Reverse) => m.key >= key,
    };
    let is_passed = |m: &&&Message| match at.direction {
        Direction::Forward => is_before_start(m),
        Direction::Reverse => m.key.time <= at.from.time(),
    };
    let refill = walk.iter().rfind(|m| at.refill && is_passed(m));
    let refill = refill.map(|m| Cued::Refill((*m).clone()));
    if at.direction == Direction::Reverse {
        walk.reverse();
    }
    refill
        .into_iter()
        .chain(
            walk.into_iter()
                .skip_while(is_before_start)
                .filter(|m| at.range.contains(m.key.time))
                .cloned()
                .map(Cued::Message),
        )
        .collect()
}

/// A recording from 1000 ms to 2000 ms, played once with a clock every 250 ms unless the test says otherwise.
pub(crate) fn options() -> Options {
    let recording = TimeRange::between(ros(1000), ros(2000));
    Options {
        clock: ClockOptions {
            period: Some(span(250)),
            ..ClockOptions::default()
        },
        refill: false,
        ..Options::new(recording)
    }
}

pub(crate) fn quiet() -> Options {
    Options {
        clock: ClockOptions::default(),
        ..options()
    }
}

/// The name of a topic in transcripts: none for topic 0, which most tests use alone, then b and c.
fn tag(topic: TopicId) -> &'static str {
    ["", " b", " c"][topic.index()]
}

pub(crate) fn line(event: &Event) -> String {
    let ms = |t: Time<Ros>| {
        let (whole, rest) = (t.as_nanos() / MS, t.as_nanos() % MS);
        if rest == 0 {
            whole.to_string()
        } else {
            format!("{whole}+{rest}ns")
        }
    };
    match *event {
        Event::Clock(t) => format!("clock {}", ms(t)),
        Event::ServeClock(Some(period)) => format!("clock each {period}"),
        Event::ServeClock(None) => "no clock".to_owned(),
        Event::Message(topic, t, Occasion::Due) => format!("msg {}{}", ms(t), tag(topic)),
        Event::Message(topic, t, Occasion::Refill) => format!("refill {}{}", ms(t), tag(topic)),
        Event::Segment(s) => match s.motion() {
            Motion::Held(t) => format!("gen {} held {}", s.generation(), ms(t)),
            Motion::Rolling { from, .. } => {
                format!("gen {} rolls {} {:?}", s.generation(), ms(from), s.speed())
            }
        },
    }
}

pub(crate) fn playing(options: Options, all: Vec<Message>) -> Machine {
    let source = Source::new(NAMES, move |at| Cue::from_items(cue(&all, at)));
    Machine::new(options, source)
}

/// Does everything that is due at `now`: the effects, and what the machine waits for then.
pub(crate) fn settle(machine: &mut Machine, now: Time<Steady>) -> (Vec<String>, Wait) {
    let mut seen = Vec::new();
    loop {
        let wait = machine.advance(now, &mut Recording(|event| seen.push(line(&event))));
        if wait != Wait::Now {
            return (seen, wait);
        }
    }
}

/// Wakes the machine at these instants: the messages that it sends, with a line `-- INSTANT` after those of each
/// instant.
fn woken(machine: &mut Machine, instants: &[i64]) -> Vec<String> {
    let mut sent = Vec::new();
    for now in instants {
        let (seen, _) = settle(machine, wall(*now));
        sent.extend(seen.into_iter().filter(|line| line.starts_with("msg")));
        sent.push(format!("-- {now}"));
    }
    sent
}

/// Runs a machine over a script until the run is over, or until it waits and the script has ended; returns its
/// transcript.
fn run(
    options: Options,
    source: impl FnMut(CueAt) -> Cue + Send + 'static,
    script: &[(i64, Command)],
) -> (String, Machine) {
    let acts: Vec<_> = script.iter().map(|(at, it)| (*at, Act::Do(*it))).collect();
    run_acts(options, source, &acts, |_, _| ())
}

/// The same with acts besides commands; `taken` is called by the output with each event, as an output that closes
/// gates would be.
pub(crate) fn run_acts(
    options: Options,
    source: impl FnMut(CueAt) -> Cue + Send + 'static,
    script: &[(i64, Act)],
    mut taken: impl FnMut(&Event, &GateHandle),
) -> (String, Machine) {
    let mut machine = Machine::new(options, Source::new(NAMES, source));
    let gates = machine.gates();
    let mut script = script.iter().copied().peekable();
    let mut now = wall(0);
    let mut transcript = Vec::new();
    for _ in 0..10_000 {
        while let Some((_, act)) = script.next_if(|(at, _)| wall(*at) <= now) {
            act.on(&mut machine, now);
        }
        let wait = machine.advance(
            now,
            &mut Recording(|event| {
                transcript.push(format!("{:>4} {}", now.as_nanos() / MS, line(&event)));
                taken(&event, &gates);
            }),
        );
        let next = script.peek().map(|(at, _)| wall(*at));
        now = match (wait, next) {
            (Wait::Now, _) => now,
            (Wait::Until(deadline), Some(next)) => deadline.min(next),
            (Wait::Until(deadline), None) if deadline <= wall(5000) => deadline,
            (Wait::ForCue | Wait::ForCommand | Wait::ForGate, Some(next)) => next,
            (_, None) | (Wait::Over, _) => break,
        };
    }
    (transcript.join("\n"), machine)
}

/// Compares the transcript of a script line by line; blanks at line starts are ignored.
pub(crate) fn check(
    options: Options,
    times: &[i64],
    script: &[(i64, Command)],
    expected: &str,
) -> Machine {
    check_all(options, messages(times), script, expected)
}

/// The same with messages of several topics.
#[track_caller]
pub(crate) fn check_all(
    options: Options,
    all: Vec<Message>,
    script: &[(i64, Command)],
    expected: &str,
) -> Machine {
    let (transcript, machine) = run(options, move |at| Cue::from_items(cue(&all, at)), script);
    compare(&transcript, expected);
    machine
}

/// The same with acts besides commands.
#[track_caller]
pub(crate) fn check_acts(
    options: Options,
    all: Vec<Message>,
    script: &[(i64, Act)],
    taken: impl FnMut(&Event, &GateHandle),
    expected: &str,
) -> Machine {
    let source = move |at| Cue::from_items(cue(&all, at));
    let (transcript, machine) = run_acts(options, source, script, taken);
    compare(&transcript, expected);
    machine
}

#[track_caller]
fn compare(transcript: &str, expected: &str) {
    let lines = |text: &str| {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(
        lines(transcript),
        lines(expected),
        "\n--- transcript\n{transcript}\n"
    );
}

#[test]
fn playback_runs_to_the_end_with_a_clock_on_its_grid() {
    let machine = check(
        options(),
        &[1000, 1300, 1900],
        &[],
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        250 clock 1250
        300 msg 1300
        500 clock 1500
        750 clock 1750
        900 msg 1900
        1000 clock 2000
        1000 clock 2000
        1000 gen 0 held 2000",
    );
    assert_eq!(machine.state(), State::Stopped);
    assert_eq!(
        (machine.report().sent, machine.report().lateness.late()),
        (3, 0)
    );
}

#[test]
fn half_speed_takes_twice_the_time_and_the_clock_grid_is_in_wall_time() {
    check(
        Options {
            pace: Pace::At(Speed::from_f64(0.5).unwrap()),
            ..options()
        },
        &[1000, 1300],
        &[],
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×0.5
        0 msg 1000
        250 clock 1125
        500 clock 1250
        600 msg 1300
        750 clock 1375
        1000 clock 1500
        1250 clock 1625
        1500 clock 1750
        1750 clock 1875
        2000 clock 2000
        2000 clock 2000
        2000 gen 0 held 2000",
    );
}

#[test]
fn a_pause_holds_at_once_and_the_clock_ticks_on() {
    check(
        options(),
        &[1000, 1300, 1900],
        &[(100, Command::Pause), (800, Command::Play)],
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        100 gen 0 held 1100
        250 clock 1100
        500 clock 1100
        750 clock 1100
        800 gen 0 rolls 1100 ×1
        1000 clock 1300
        1000 msg 1300
        1250 clock 1550
        1500 clock 1800
        1600 msg 1900
        1700 clock 2000
        1700 gen 0 held 2000",
    );
}

#[test]
fn a_rate_change_in_a_gap_acts_at_once() {
    check(
        quiet(),
        &[1000, 1900],
        &[(100, pace(10.0))],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        100 gen 0 rolls 1100 ×10
        180 msg 1900
        190 gen 0 held 2000",
    );
}

#[test]
fn in_a_gap_of_ten_minutes_every_command_acts_at_once() {
    let options = Options {
        refill: false,
        ..Options::new(TimeRange::between(ros(1000), ros(601_000)))
    };
    check(
        options,
        &[1000, 601_000],
        &[
            (100, Command::Pause),
            (200, Command::Seek(ros(300_900))),
            (300, Command::Play),
            (400, pace(1000.0)),
        ],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        100 gen 0 held 1100
        200 gen 1 held 300900
        300 gen 1 rolls 300900 ×1
        400 gen 1 rolls 301000 ×1000
        700 msg 601000
        700 gen 1 held 601000",
    );
}

#[test]
fn a_reversal_starts_at_the_position_and_sends_the_messages_before_it() {
    check(
        options(),
        &[1000, 1300, 1900],
        &[(400, pace(-1.0))],
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        250 clock 1250
        300 msg 1300
        400 gen 1 held 1400
        400 clock 1400
        400 gen 1 rolls 1400 ×-1
        500 clock 1300
        500 msg 1300
        750 clock 1050
        800 msg 1000
        800 clock 1000
        800 gen 1 held 1000",
    );
}

#[test]
fn a_seek_sends_segment_clock_refill_and_messages_in_this_order() {
    check(
        Options {
            refill: true,
            ..options()
        },
        &[1000, 1300, 1900],
        &[(100, Command::Seek(ros(1850)))],
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        100 gen 1 held 1850
        100 clock 1850
        100 refill 1300
        100 gen 1 rolls 1850 ×1
        150 msg 1900
        250 clock 2000
        250 clock 2000
        250 gen 1 held 2000",
    );
}

#[test]
fn refills_wait_for_the_gates() {
    check_acts(
        Options {
            refill: true,
            gates: Gates::OPEN.close(Gate::Subscribers),
            ..options()
        },
        messages(&[1000, 1300, 1900]),
        &[
            (100, Act::Do(Command::Seek(ros(1850)))),
            (600, Act::Open(Gate::Subscribers)),
        ],
        |_, _| (),
        "
        0 gen 0 held 1000
        0 clock 1000
        100 gen 1 held 1850
        100 clock 1850
        250 clock 1850
        500 clock 1850
        600 refill 1300
        600 gen 1 rolls 1850 ×1
        650 msg 1900
        750 clock 2000
        750 clock 2000
        750 gen 1 held 2000",
    );
}

#[test]
fn seeks_taken_together_start_one_cue() {
    let all = messages(&[1000, 1500]);
    let (sent, cues) = std::sync::mpsc::sync_channel(100);
    let seeks: Vec<_> = (0..50)
        .map(|n| (100, Command::Seek(ros(1100 + n))))
        .collect();
    let (transcript, machine) = run(
        quiet(),
        move |at| {
            sent.send(at.from).unwrap();
            Cue::from_items(cue(&all, at))
        },
        &seeks,
    );
    assert_eq!(
        cues.try_iter().collect::<Vec<_>>(),
        [StartAt::At(ros(1000)), StartAt::At(ros(1149))]
    );
    assert!(
        transcript.contains("gen 50 held 1149") && !transcript.contains("gen 49"),
        "{transcript}"
    );
    assert_eq!(machine.report().jumps, 50);
}

#[test]
fn a_seek_out_of_the_range_widens_it_and_one_out_of_the_recording_is_clamped() {
    let part = Options {
        played: PlayedRange::new(TimeRange::between(ros(1500), ros(1600)), AtEnd::Hold),
        intent: Intent::Pause,
        ..quiet()
    };
    let machine = check(
        part.clone(),
        &[],
        &[(1, Command::Seek(ros(1200)))],
        "
        0 gen 0 held 1500
        1 gen 1 held 1200",
    );
    assert_eq!(
        machine.status().segment.range(),
        TimeRange::between(ros(1000), ros(1600))
    );
    let machine = check(
        part,
        &[],
        &[(1, Command::Seek(ros(9000)))],
        "
        0 gen 0 held 1500
        1 gen 1 held 2000",
    );
    assert_eq!(
        machine.status().segment.range(),
        TimeRange::between(ros(1500), ros(2000))
    );
}

#[test]
fn a_seek_past_the_last_message_finds_none() {
    let paused = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..quiet()
    };
    check(
        paused,
        &[1000, 2000],
        &[
            (1, Command::Seek(ros(2000))),
            (2, Command::Step(1)),
            (3, Command::Seek(ros(2001))),
            (4, Command::Step(1)),
            // A span ends at the edge of the recording.
            (5, Command::SeekBy(span(500))),
            (6, Command::Step(1)),
            // Backwards, the edge is the other one.
            (7, pace(-1.0)),
            (8, Command::Seek(ros(999))),
            (9, Command::Step(1)),
            (10, Command::Seek(ros(1000))),
            (11, Command::Step(1)),
        ],
        "
        0 gen 0 held 1000
        1 gen 1 held 2000
        2 msg 2000
        3 gen 2 held 2000
        5 gen 3 held 2000
        6 msg 2000
        7 gen 4 held 2000
        8 gen 5 held 1000
        10 gen 6 held 1000
        11 msg 1000",
    );
}

#[test]
fn steps_publish_while_paused_and_back_steps_are_jumps() {
    let paused = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..options()
    };
    check(
        paused,
        &[1000, 1300, 1300, 1900],
        &[
            (10, Command::Step(1)),
            (20, Command::Step(2)),
            (30, Command::Step(-1)),
            (40, Command::Step(1)),
            (50, Command::Step(9)),
            (60, Command::Step(-2)),
            (70, Command::Stop),
        ],
        "
        0 gen 0 held 1000
        0 clock 1000
        10 msg 1000
        20 gen 0 held 1300
        20 clock 1300
        20 msg 1300
        20 msg 1300
        30 gen 1 held 1300
        30 clock 1300
        30 msg 1300
        40 msg 1300
        50 gen 1 held 1900
        50 clock 1900
        50 msg 1900
        60 gen 2 held 1300
        60 clock 1300
        60 msg 1300",
    );
}

#[test]
fn play_until_sends_the_messages_due_on_arrival_and_holds() {
    check(
        Options {
            when_done: WhenDone::Stay,
            ..quiet()
        },
        &[1000, 1300, 1900],
        &[(0, Command::PlayUntil(ros(1300)))],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        300 msg 1300
        300 gen 0 held 1300",
    );
}

#[test]
fn each_lap_of_a_loop_starts_at_the_instant_at_which_the_last_one_ended() {
    let all = messages(&[1000, 2000]);
    let looped = Options {
        played: PlayedRange::new(quiet().recording, AtEnd::Loop),
        ..quiet()
    };
    let (transcript, machine) = run(
        looped,
        move |at| Cue::from_items(cue(&all, at)),
        &[(3500, Command::Stop)],
    );
    let sent: Vec<&str> = transcript
        .lines()
        .filter(|line| line.contains("msg"))
        .map(str::trim)
        .collect();
    assert_eq!(
        sent,
        [
            "0 msg 1000",
            "1000 msg 2000",
            "1000 msg 1000",
            "2000 msg 2000",
            "2000 msg 1000",
            "3000 msg 2000",
            "3000 msg 1000"
        ]
    );
    assert_eq!((machine.report().laps, machine.report().jumps), (3, 3));
}

/// Plays the one message that is read, and does not wait for the next one yet: the state in which a command finds
/// a machine at once after a message was sent.
fn machine_after_its_first_message() -> (CueFeed, Machine) {
    let (feed, cue) = Cue::channel();
    let [first] = messages(&[1000]).try_into().unwrap();
    feed.push(Cued::Message(first));
    let mut cue = Some(cue);
    let mut machine = Machine::new(options(), Source::new(["/a"], move |_| cue.take().unwrap()));
    while machine.report().sent == 0 {
        machine.advance(wall(0), &mut Recording(|_| {}));
    }
    (feed, machine)
}

#[test]
fn another_speed_does_not_take_the_clock_past_a_message_that_has_not_been_read() {
    let (feed, mut machine) = machine_after_its_first_message();
    machine.apply(pace(2.0), wall(50));
    assert_eq!(
        settle(&mut machine, wall(50)).0,
        ["gen 0 rolls 1000 ×2", "gen 0 held 1000"]
    );
    assert_eq!(settle(&mut machine, wall(250)).0, ["clock 1000"]);
    let [second] = messages(&[1010]).try_into().unwrap();
    feed.push(Cued::Message(second));
    assert_eq!(settle(&mut machine, wall(300)).0, ["gen 0 rolls 1000 ×2"]);
    assert_eq!(settle(&mut machine, wall(305)).0[0], "msg 1010");
}

#[test]
fn a_stop_ahead_of_an_overdue_message_is_before_it() {
    let (feed, mut machine) = machine_after_its_first_message();
    machine.apply(Command::PlayUntil(ros(1020)), wall(50));
    for message in messages(&[1010, 1030]) {
        feed.push(Cued::Message(message));
    }
    let seen = settle(&mut machine, wall(100)).0;
    assert!(seen.contains(&"msg 1010".to_owned()), "{seen:?}");
    assert!(!seen.contains(&"msg 1030".to_owned()), "{seen:?}");
}

#[test]
fn a_starved_machine_holds_at_the_last_message_and_resumes_there() {
    let (feed, cue) = Cue::channel();
    let [first, second] = messages(&[1000, 1200]).try_into().unwrap();
    feed.push(Cued::Message(first));
    let mut cue = Some(cue);
    let mut machine = Machine::new(options(), Source::new(["/a"], move |_| cue.take().unwrap()));
    let (seen, wait) = settle(&mut machine, wall(0));
    assert_eq!(
        seen,
        [
            "gen 0 held 1000",
            "clock 1000",
            "gen 0 rolls 1000 ×1",
            "msg 1000",
            "gen 0 held 1000"
        ]
    );
    assert_eq!(
        (wait, machine.state()),
        (Wait::Until(wall(250)), State::Starved)
    );
    // The clock stands still: the next message may be right after the last one.
    assert_eq!(settle(&mut machine, wall(250)).0, ["clock 1000"]);
    feed.push(Cued::Message(second));
    assert_eq!(
        settle(&mut machine, wall(400)),
        (
            vec!["gen 0 rolls 1000 ×1".to_owned()],
            Wait::Until(wall(500))
        )
    );
    assert_eq!(settle(&mut machine, wall(500)).0, ["clock 1100"]);
    assert_eq!(
        settle(&mut machine, wall(600)).0,
        ["msg 1200", "gen 0 held 1200"]
    );
    assert_eq!(machine.report().held.starved, span(400));
}

#[test]
fn a_closed_gate_holds_playback_and_the_clock_repeats_the_position() {
    let gated = Options {
        gates: Gates::OPEN.close(Gate::Subscribers),
        ..options()
    };
    let machine = check_acts(
        gated,
        messages(&[1000]),
        &[
            (600, Act::Open(Gate::Subscribers)),
            (700, Act::Close(Gate::Path)),
            (720, Act::Do(Command::Stop)),
        ],
        |_, _| (),
        "
        0 gen 0 held 1000
        0 clock 1000
        250 clock 1000
        500 clock 1000
        600 gen 0 rolls 1000 ×1
        600 msg 1000
        700 gen 0 held 1100",
    );
    assert_eq!(machine.report().held.gated, span(620));
}

#[test]
fn a_delay_passes_in_wall_time_with_the_clock_at_the_start() {
    check(
        Options {
            delay: span(300),
            ..options()
        },
        &[1000],
        &[(310, Command::Stop)],
        "
        0 gen 0 held 1000
        0 clock 1000
        250 clock 1000
        300 gen 0 rolls 1000 ×1
        300 msg 1000
        310 gen 0 held 1010",
    );
}

#[test]
fn a_gap_is_skipped_by_a_jump_if_enabled() {
    check(
        Options {
            skip_empty: Some(span(200)),
            ..quiet()
        },
        &[1000, 1100, 1700],
        &[],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        100 msg 1100
        100 gen 1 held 1700
        100 gen 1 rolls 1700 ×1
        100 msg 1700
        100 gen 2 held 2000
        100 gen 2 rolls 2000 ×1
        100 gen 2 held 2000",
    );
}

#[test]
fn unpaced_messages_are_sent_at_once_and_the_clock_follows_them() {
    check(
        Options {
            pace: Pace::Max,
            ..options()
        },
        &[1000, 1100, 1250, 1300, 1900],
        &[],
        "
        0 gen 0 held 1000
        0 clock 1000
        0 msg 1000
        0 gen 0 held 1100
        0 msg 1100
        0 gen 0 held 1250
        0 clock 1250
        0 msg 1250
        0 gen 0 held 1300
        0 msg 1300
        0 gen 0 held 1900
        0 clock 1900
        0 msg 1900
        0 clock 2000
        0 gen 0 held 2000",
    );
}

#[test]
fn a_clock_per_message_precedes_it_with_its_exact_time() {
    let clock = ClockOptions {
        before: Before::All,
        ..ClockOptions::default()
    };
    check(
        Options { clock, ..quiet() },
        &[1000, 1333],
        &[],
        "
        0 gen 0 held 1000
        0 clock 1000
        0 gen 0 rolls 1000 ×1
        0 clock 1000
        0 msg 1000
        333 clock 1333
        333 msg 1333
        1000 clock 2000
        1000 gen 0 held 2000",
    );
}

#[test]
fn a_clock_never_shows_zero_and_can_be_shifted() {
    let recording = TimeRange::between(ros(0), ros(100));
    let zero = Options {
        clock: ClockOptions {
            period: Some(span(50)),
            ..ClockOptions::default()
        },
        ..Options::new(recording)
    };
    let expected = |a: &str, b: &str, c: &str| {
        format!(
            "
        0 gen 0 held 0
        0 clock {a}
        0 gen 0 rolls 0 ×1
        50 clock {b}
        100 clock {c}
        100 clock {c}
        100 gen 0 held 100"
        )
    };
    check(zero.clone(), &[], &[], &expected("0+1ns", "50", "100"));
    let shifted = Options {
        clock: ClockOptions {
            shift: span(7000),
            ..zero.clock.clone()
        },
        ..zero
    };
    check(shifted, &[], &[], &expected("7000", "7050", "7100"));
}

#[test]
fn play_at_the_end_starts_again() {
    let machine = check(
        Options {
            when_done: WhenDone::Stay,
            ..quiet()
        },
        &[1000],
        &[(1500, Command::Play), (1600, Command::Stop)],
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        1000 gen 0 held 2000
        1500 gen 1 held 1000
        1500 gen 1 rolls 1000 ×1
        1500 msg 1000
        1600 gen 1 held 1100",
    );
    assert!(!machine.report().reached_end, "playback has left the end");
}

/// The machine is woken late, as by a busy or suspended computer.
#[test]
fn a_stalled_player_holds_instead_of_catching_up_in_a_burst() {
    let mut machine = playing(quiet(), messages(&[1000, 1100, 1200, 1300]));
    let sent = woken(&mut machine, &[0, 100, 700, 740, 800]);
    // It should have been woken at 200 and was woken at 700: from then on the schedule is 500 ms later.
    assert_eq!(
        sent,
        [
            "msg 1000", "-- 0", "msg 1100", "-- 100", "msg 1200", "-- 700", "-- 740", "msg 1300",
            "-- 800"
        ]
    );
    assert_eq!(machine.report().held.stalled, span(500));
}

#[test]
fn a_blocking_send_counts_as_a_stall_without_a_schedule_too() {
    let unpaced = Options {
        pace: Pace::Max,
        ..quiet()
    };
    let mut machine = playing(unpaced, messages(&[1000, 1100, 1200]));
    while machine.report().sent < 2 {
        machine.advance(wall(0), &mut Recording(|_| ()));
    }
    // The second send took five seconds.
    while machine.report().sent < 3 {
        machine.advance(wall(5000), &mut Recording(|_| ()));
    }
    assert_eq!(machine.report().held.stalled, span(5000));
}

#[test]
fn a_slightly_late_message_is_sent_at_once_and_counted() {
    let mut machine = playing(options(), messages(&[1000, 1100]));
    settle(&mut machine, wall(0));
    let (seen, _) = settle(&mut machine, wall(160));
    assert_eq!(machine.report().lateness.late(), 1);
    let max = machine.report().lateness.max();
    assert!(max > span(59) && max < span(61), "{max}");
    assert_eq!(seen.last().map(String::as_str), Some("msg 1100"));
}

#[test]
fn the_clock_is_never_past_an_unpublished_message() {
    let clock = ClockOptions {
        period: Some(span(90)),
        ..ClockOptions::default()
    };
    let mut machine = playing(Options { clock, ..options() }, messages(&[1000, 1100]));
    settle(&mut machine, wall(0));
    // Woken at 115 for the tick of 90: the message of 100 has not been sent.
    let (seen, _) = settle(&mut machine, wall(115));
    assert_eq!(
        seen[seen.len() - 2..],
        ["clock 1090", "msg 1100"],
        "{seen:?}"
    );
}

#[test]
fn a_command_after_a_stall_finds_the_position_held() {
    let mut machine = playing(quiet(), messages(&[1000, 1100, 1200]));
    let mut sent = woken(&mut machine, &[0, 100]);
    // The message of 1200 was due at 200; the machine did not run until now.
    machine.apply(pace(2.0), wall(600));
    sent.extend(woken(&mut machine, &[600, 640, 650]));
    assert_eq!(
        sent,
        [
            "msg 1000", "-- 0", "msg 1100", "-- 100", "msg 1200", "-- 600", "-- 640", "-- 650"
        ]
    );
    assert_eq!(machine.report().held.stalled, span(400));
    assert!(machine.status().segment.position(wall(650)) <= ros(1300));
}

#[test]
fn steps_do_not_pass_the_time_of_play_until() {
    let paused = Options {
        when_done: WhenDone::Stay,
        ..quiet()
    };
    let script = [
        (0, Command::PlayUntil(ros(1250))),
        (10, Command::Pause),
        (20, Command::Step(5)),
        (30, Command::Play),
    ];
    let machine = check(
        paused,
        &[1000, 1200, 1300],
        &script,
        "
        0 gen 0 held 1000
        0 gen 0 rolls 1000 ×1
        0 msg 1000
        10 gen 0 held 1010
        20 gen 0 held 1200
        20 msg 1200
        30 gen 0 rolls 1200 ×1
        80 gen 0 held 1250",
    );
    assert!(!machine.is_stepping());
    assert_eq!(machine.state(), State::Paused);
}

#[test]
fn a_pause_cancels_steps_and_play_cancels_a_step_back() {
    let (feed, first) = Cue::channel();
    feed.push(Cued::Message(messages(&[1000]).remove(0)));
    let (_walk, second) = Cue::channel();
    let mut cues = vec![second, first];
    let mut machine = Machine::new(quiet(), Source::new(["/a"], move |_| cues.pop().unwrap()));
    machine.apply(Command::Step(1_000_000), wall(0));
    machine.apply(Command::Pause, wall(0));
    assert!(!machine.is_stepping());
    machine.apply(Command::Step(-1), wall(0));
    assert!(machine.is_stepping());
    machine.apply(Command::Play, wall(0));
    assert!(!machine.is_stepping());
}

#[test]
fn a_loop_without_messages_ends_and_a_loop_of_one_instant_is_slowed_down() {
    let looped = Options {
        played: PlayedRange::new(quiet().recording, AtEnd::Loop),
        ..quiet()
    };
    let (_, machine) = run(
        Options {
            pace: Pace::Max,
            ..looped.clone()
        },
        |_| Cue::from_items([]),
        &[],
    );
    assert_eq!(
        (machine.state(), machine.report().laps),
        (State::Stopped, 0)
    );
    let point = Options {
        played: PlayedRange::new(TimeRange::between(ros(1500), ros(1500)), AtEnd::Loop),
        ..looped
    };
    let all = messages(&[1500]);
    let (_, machine) = run(
        point,
        move |at| Cue::from_items(cue(&all, at)),
        &[(100, Command::Stop)],
    );
    assert!(
        (99..=101).contains(&machine.report().laps),
        "{} laps in 100 ms",
        machine.report().laps
    );
}

/// Messages come in this order from a chunk whose index gives wrong times.
#[test]
fn messages_out_of_order_never_set_the_clock_back() {
    let times: Vec<Cued> = messages(&[1000, 1990, 1500])
        .into_iter()
        .map(Cued::Message)
        .collect();
    let clock = ClockOptions {
        before: Before::All,
        period: Some(span(100)),
        ..ClockOptions::default()
    };
    for pace in [Pace::Max, Pace::At(Speed::NORMAL)] {
        let items = times.clone();
        let (transcript, _) = run(
            Options {
                clock: clock.clone(),
                pace,
                ..options()
            },
            move |_| Cue::from_items(items.clone()),
            &[],
        );
        let clocks: Vec<i64> = transcript
            .lines()
            .filter_map(|line| line.split("clock ").nth(1)?.parse().ok())
            .collect();
        assert!(
            clocks.is_sorted() && transcript.contains("msg 1500"),
            "{transcript}"
        );
    }
}
