//! Transcripts of the machine in special cases: the end, closed gates, wrong times, late ticks.

use bagplay::bag::{Cue, CueAt, Cued, Message, TopicId};
use bagplay::output::{Event, Recording};
use bagplay::player::{
    Before, ClockOptions, Command, Gate, Gates, Intent, Machine, Options, Outcome, Pace,
    PlayedRange, Refusal, Source, State, Ticket, Wait, WhenDone,
};
use bagplay::time::{AtEnd, Duration, Ros, Segment, Speed, Time, TimeRange};
use proptest::prelude::*;

use crate::machine::transcript::{
    Act, NAMES, check_all, cue, messages, options, pace, playing, quiet, ros, settle, span, wall,
};

/// One command of each kind.
fn every_command() -> impl Iterator<Item = Command> {
    std::iter::successors(Some(Command::Play), |command| {
        Some(match command {
            Command::Play => Command::PlayAt(wall(0)),
            Command::PlayAt(_) => Command::PlayFrom {
                from: ros(1500),
                until: None,
            },
            Command::PlayFrom { .. } => Command::Pause,
            Command::Pause => Command::Toggle,
            Command::Toggle => pace(-1.0),
            Command::SetPace(_) => Command::Seek(ros(1500)),
            Command::Seek(_) => Command::SeekBy(span(-50)),
            Command::SeekBy(_) => Command::Step(-1),
            Command::Step(_) => Command::Burst(2),
            Command::Burst(_) => Command::StepTopic(TopicId(0), 1),
            Command::StepTopic(..) => Command::PlayUntil(ros(1900)),
            Command::PlayUntil(_) => Command::PlayFor(span(100)),
            Command::PlayFor(_) => {
                Command::SetRange(TimeRange::between(ros(1500), ros(1600)), None)
            }
            Command::SetRange(..) => Command::SetAtEnd(AtEnd::Loop),
            Command::SetAtEnd(_) => Command::SetLoop(TimeRange::between(ros(1500), ros(1600))),
            Command::SetLoop(_) => Command::EndLoop,
            Command::EndLoop => Command::ServeClock(span(10)),
            Command::ServeClock(_) => Command::EndClock,
            Command::EndClock => Command::SkipEmpty(Some(span(100))),
            Command::SkipEmpty(_) => Command::Mute(TopicId(0)),
            Command::Mute(_) => Command::Unmute(TopicId(0)),
            Command::Unmute(_) => Command::Query,
            Command::Query => Command::Stop,
            Command::Stop => return None,
        })
    })
}

#[test]
fn nothing_from_before_begin_at_is_played_the_first_time() {
    for (speed, due) in [
        (1.0, ["msg 1400", "msg 1900"]),
        (-1.0, ["msg 1400", "msg 1100"]),
    ] {
        let options = Options {
            pace: Pace::At(Speed::from_f64(speed).unwrap()),
            begin_at: Some(ros(1400)),
            when_done: WhenDone::Stay,
            ..quiet()
        };
        let mut machine = playing(options, messages(&[1100, 1400, 1900]));
        let (mut now, mut sent) = (wall(0), Vec::new());
        loop {
            let (seen, wait) = settle(&mut machine, now);
            sent.extend(seen.into_iter().filter(|line| line.starts_with("msg")));
            let Wait::Until(next) = wait else { break };
            now = next;
        }
        assert_eq!(sent, due, "{speed}");
    }
}

#[test]
fn no_command_resumes_a_stopped_machine() {
    let paced = Pace::At(Speed::NORMAL);
    // In the middle, at the end, and unpaced before the first message.
    for (pace, at, position) in [
        (paced, 300, 1300),
        (paced, 1500, 2000),
        (Pace::Max, 0, 1000),
    ] {
        for command in every_command() {
            let stays = Options {
                pace,
                when_done: WhenDone::Stay,
                ..quiet()
            };
            let mut machine = playing(stays, messages(&[1000, 1400, 1900]));
            let mut now = wall(0);
            while now < wall(at) {
                now = match settle(&mut machine, now).1 {
                    Wait::Until(deadline) => deadline.min(wall(at)),
                    _ => wall(at),
                };
            }
            machine.apply(Command::Stop, now);
            machine.apply(command, now);
            let (seen, wait) = settle(&mut machine, now);
            let last = format!("gen 0 held {position}");
            assert!(
                seen.iter().all(|line| *line == last),
                "{command:?}: {seen:?}"
            );
            assert_eq!(wait, Wait::Over, "{command:?}");
            machine.apply(command, now);
            assert_eq!(settle(&mut machine, now), (vec![], Wait::Over));
            assert_eq!(machine.state(), State::Stopped, "{command:?}");
            assert_eq!(machine.report().jumps, 0, "{command:?}");
        }
    }
}

/// A machine that stays at its end, paused at its start.
fn paused() -> Machine {
    let options = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        ..quiet()
    };
    let mut machine = playing(options, messages(&[1000, 1400, 1900]));
    settle(&mut machine, wall(0));
    machine
}

#[test]
fn playback_goes_on_by_itself_at_the_instant_that_was_set() {
    let mut machine = paused();
    machine.apply(Command::PlayAt(wall(50)), wall(0));
    assert_eq!(
        settle(&mut machine, wall(0)),
        (vec![], Wait::Until(wall(50)))
    );
    let (seen, wait) = settle(&mut machine, wall(50));
    assert_eq!(seen, ["gen 0 rolls 1000 ×1", "msg 1000"]);
    assert_eq!(wait, Wait::Until(wall(450)));
    // It starts only once.
    machine.apply(Command::Pause, wall(60));
    assert_eq!(settle(&mut machine, wall(60)).1, Wait::ForCommand);
}

#[test]
fn what_plays_pauses_or_steps_replaces_a_start_that_was_set() {
    for (command, state) in [
        (Command::Pause, State::Paused),
        (Command::Step(1), State::Paused),
        (Command::Burst(1), State::Paused),
        (Command::PlayUntil(ros(1010)), State::Paused),
    ] {
        let mut machine = paused();
        machine.apply(Command::PlayAt(wall(50)), wall(0));
        machine.apply(command, wall(10));
        let mut now = wall(10);
        while let (_, Wait::Until(next)) = settle(&mut machine, now) {
            assert!(next < wall(50), "{command:?}");
            now = next;
        }
        settle(&mut machine, wall(100));
        assert_eq!(machine.state(), state, "{command:?}");
    }
    // A jump does not replace it: playback starts at the new position.
    let mut machine = paused();
    machine.apply(Command::PlayAt(wall(50)), wall(0));
    machine.apply(Command::Seek(ros(1500)), wall(10));
    assert_eq!(settle(&mut machine, wall(10)).1, Wait::Until(wall(50)));
    settle(&mut machine, wall(50));
    assert_eq!(machine.state(), State::Playing);
}

#[test]
fn play_from_jumps_and_plays_at_one_instant_and_only_while_playback_stands() {
    let mut machine = paused();
    let from = |until| Command::PlayFrom {
        from: ros(1400),
        until,
    };
    machine.ask(from(Some(ros(1500))), Ticket(1), wall(10));
    let (seen, _) = settle(&mut machine, wall(10));
    assert_eq!(seen, ["gen 1 held 1400", "gen 1 rolls 1400 ×1", "msg 1400"]);
    assert_eq!(machine.answer().unwrap().1, Outcome::Landed(ros(1400)));
    machine.ask(from(None), Ticket(2), wall(20));
    let refused = Outcome::Refused(Refusal::NotPaused);
    assert_eq!(machine.answer().unwrap().1, refused);
    assert_eq!(settle(&mut machine, wall(20)).0, [""; 0]);
    settle(&mut machine, wall(110));
    assert_eq!(machine.state(), State::Paused);
    assert_eq!(machine.status().segment.position(wall(110)), ros(1500));
}

/// A start that fires while playback plays already must not cancel what plays; one that is overtaken by the end or by
/// another clock does not fire later.
#[test]
fn a_start_that_was_set_fires_only_for_what_stands_and_only_under_way() {
    let stays = Options {
        when_done: WhenDone::Stay,
        ..quiet()
    };
    let mut machine = playing(stays, messages(&[1000, 1400, 1900]));
    settle(&mut machine, wall(0));
    machine.apply(Command::PlayUntil(ros(1300)), wall(0));
    settle(&mut machine, wall(0));
    machine.apply(Command::PlayAt(wall(50)), wall(0));
    assert_eq!(settle(&mut machine, wall(50)).0, [""; 0]);
    settle(&mut machine, wall(300));
    assert_eq!(machine.state(), State::Paused);
    machine.apply(Command::Play, wall(300));
    machine.apply(Command::PlayAt(wall(2000)), wall(300));
    let mut now = wall(300);
    while let Wait::Until(next) = settle(&mut machine, now).1 {
        now = next;
    }
    assert_eq!((machine.state(), now), (State::Ended, wall(1000)));
    assert_eq!(settle(&mut machine, wall(2000)), (vec![], Wait::ForCommand));
}

#[test]
fn the_clock_is_published_at_the_start_in_every_mode_and_before_refills() {
    let per_message = |before| ClockOptions {
        before,
        ..ClockOptions::default()
    };
    let grid = ClockOptions {
        period: Some(span(250)),
        ..ClockOptions::default()
    };
    for clock in [
        per_message(Before::All),
        per_message(Before::Topics(vec![TopicId(1)])),
        grid,
    ] {
        let start = Options {
            clock,
            refill: true,
            played: PlayedRange::new(TimeRange::between(ros(1500), ros(2000)), AtEnd::Hold),
            ..quiet()
        };
        let gated = |gate| Options {
            gates: Gates::OPEN.close(gate),
            ..start.clone()
        };
        let paused = Options {
            intent: Intent::Pause,
            ..start.clone()
        };
        let delayed = Options {
            delay: span(100),
            ..start.clone()
        };
        let unpaced = Options {
            pace: Pace::Max,
            ..gated(Gate::Subscribers)
        };
        for waits in [
            gated(Gate::Subscribers),
            gated(Gate::Path),
            delayed,
            unpaced,
        ] {
            let mut machine = playing(waits, messages(&[1000, 1900]));
            let (seen, _) = settle(&mut machine, wall(0));
            assert_eq!(seen, ["gen 0 held 1500", "clock 1500"]);
        }
        for plays in [start, paused] {
            let mut machine = playing(plays, messages(&[1000, 1900]));
            let (seen, _) = settle(&mut machine, wall(0));
            let first = ["gen 0 held 1500", "clock 1500", "refill 1000"];
            assert_eq!(seen[..3], first);
            assert!(!seen[3..].iter().any(|line| line.starts_with("clock")));
        }
    }
}

#[test]
fn the_clock_is_published_first_when_the_path_opens() {
    let clock = ClockOptions {
        before: Before::All,
        ..ClockOptions::default()
    };
    let lost = Options {
        clock,
        refill: true,
        played: PlayedRange::new(TimeRange::between(ros(1500), ros(2000)), AtEnd::Hold),
        gates: Gates::OPEN.close(Gate::Path),
        ..quiet()
    };
    let mut machine = playing(lost, messages(&[1000, 1900]));
    settle(&mut machine, wall(0));
    machine.gates().open(Gate::Path);
    let (seen, _) = settle(&mut machine, wall(10));
    assert_eq!(seen, ["clock 1500", "refill 1000", "gen 0 rolls 1500 ×1"]);
    machine.gates().open(Gate::Path);
    assert_eq!(settle(&mut machine, wall(20)).0, [""; 0]);
}

#[test]
fn steps_ignore_the_delay_and_the_wait_for_subscribers_but_not_a_lost_path() {
    let gates = Gates::OPEN.close(Gate::Subscribers);
    let start = Options {
        intent: Intent::Pause,
        when_done: WhenDone::Stay,
        delay: span(1_000_000),
        gates,
        ..quiet()
    };
    let steps = [
        Command::Step(1),
        Command::Step(-1),
        Command::StepTopic(TopicId(0), 1),
        Command::StepTopic(TopicId(0), -1),
    ];
    for step in steps {
        let mut machine = playing(start.clone(), messages(&[1000, 1300, 1900]));
        machine.apply(Command::Seek(ros(1200)), wall(0));
        machine.apply(step, wall(0));
        settle(&mut machine, wall(0));
        assert_eq!(machine.report().sent, 1, "{step:?}");

        machine.gates().close(Gate::Path);
        machine.apply(step, wall(1));
        assert!(!machine.is_stepping());
        let status = machine.status();
        assert_eq!(settle(&mut machine, wall(1)).0, [""; 0], "{step:?}");
        assert_eq!((machine.status(), status.sent), (status, 1));
        // The message is not sent either when the path is open again.
        machine.gates().open(Gate::Path);
        assert_eq!(settle(&mut machine, wall(2)).0, [""; 0], "{step:?}");
        machine.apply(Command::Step(1), wall(3));
        settle(&mut machine, wall(3));
        assert_eq!(machine.report().sent, 2, "{step:?}");
    }
}

#[test]
fn a_refused_step_does_not_pause() {
    let mut machine = playing(quiet(), messages(&[1000, 1300, 1900]));
    settle(&mut machine, wall(0));
    machine.gates().close(Gate::Path);
    machine.apply(Command::Step(1), wall(100));
    settle(&mut machine, wall(100));
    assert_eq!(machine.state(), State::Gated);
    machine.gates().open(Gate::Path);
    settle(&mut machine, wall(200));
    assert_eq!(machine.state(), State::Playing);
}

#[test]
fn remaining_steps_are_cancelled_when_the_path_is_lost() {
    let paused = Options {
        intent: Intent::Pause,
        ..quiet()
    };
    for step in [Command::Step(5), Command::StepTopic(TopicId(0), 5)] {
        let mut machine = playing(paused.clone(), messages(&[1000, 1100, 1200, 1300, 1400]));
        machine.apply(step, wall(0));
        while machine.report().sent < 2 {
            machine.advance(wall(0), &mut Recording(|_| ()));
        }
        machine.gates().close(Gate::Path);
        assert!(!machine.is_stepping());
        assert_eq!(settle(&mut machine, wall(0)).0, [""; 0]);
        assert_eq!(machine.report().sent, 2);
    }
    // A search that has found nothing yet.
    let (_feed, walk) = Cue::channel();
    let mut cues = vec![walk, Cue::from_items([])];
    let source = Source::new(NAMES, move |_| cues.pop().unwrap());
    let mut machine = Machine::new(paused, source);
    settle(&mut machine, wall(0));
    machine.apply(Command::Step(-1), wall(0));
    assert!(machine.is_stepping());
    machine.gates().close(Gate::Path);
    assert!(!machine.is_stepping());
}

#[test]
fn a_message_of_a_topic_without_a_name_is_given_to_the_output_and_not_counted() {
    let digest = Options {
        digest: true,
        ..quiet()
    };
    let all = messages(&[1000]);
    let source = move |at: CueAt| Cue::from_items(cue(&all, at));
    let mut machine = Machine::new(digest, Source::new([""; 0], source));
    let (seen, _) = settle(&mut machine, wall(0));
    assert_eq!(seen.last().map(String::as_str), Some("msg 1000"));
    assert_eq!(machine.report().sent, 0);
}

/// Messages in this order, as from chunks whose indexes have wrong times.
fn unordered(times: &[i64]) -> Source {
    let items: Vec<Cued> = messages(times).into_iter().map(Cued::Message).collect();
    Source::new(NAMES, move |_| Cue::from_items(items.clone()))
}

#[test]
fn a_message_out_of_order_is_sent_at_once_and_counts_neither_as_late_nor_as_a_stall() {
    let mut machine = Machine::new(quiet(), unordered(&[1000, 1900, 1200, 1950]));
    let mut now = wall(0);
    let mut all = Vec::new();
    while let (seen, Wait::Until(deadline)) = settle(&mut machine, now) {
        all.extend(seen.into_iter().map(|line| format!("{now} {line}")));
        now = deadline;
    }
    let sent: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|line| line.contains("msg"))
        .collect();
    assert_eq!(
        sent,
        [
            "0.000000000 msg 1000",
            "0.900000000 msg 1900",
            "0.900000000 msg 1200",
            "0.950000000 msg 1950"
        ]
    );
    assert_eq!(machine.report().lateness.late(), 0);
    assert_eq!(machine.report().held.stalled, Duration::ZERO);
}

#[test]
fn a_command_between_messages_out_of_order_does_not_move_the_position_back() {
    for act in [
        Act::Do(Command::Pause),
        Act::Do(pace(2.0)),
        Act::Close(Gate::Path),
        Act::Do(Command::PlayUntil(ros(1950))),
        Act::Do(Command::PlayFor(span(10))),
    ] {
        let mut machine = Machine::new(quiet(), unordered(&[1000, 1900, 1200, 1950]));
        let mut out = Recording(|_| ());
        settle(&mut machine, wall(0));
        while machine.report().sent < 2 {
            machine.advance(wall(900), &mut out);
        }
        let seen = machine.status().segment.position(wall(900));
        act.on(&mut machine, wall(900));
        machine.advance(wall(900), &mut out);
        let position = machine.status().segment.position(wall(900));
        assert!(position >= seen, "{act:?}: {seen} to {position}");
    }
}

/// Asserts that a position moves in one direction only, within each generation.
#[derive(Default)]
struct Observer {
    seen: Option<(u64, Time<Ros>)>,
}

impl Observer {
    fn sees(&mut self, segment: Segment, position: Time<Ros>) {
        if let Some((generation, before)) = self.seen
            && generation == segment.generation()
        {
            assert!(
                !segment.is_before(position, before),
                "{before} to {position}: {segment:?}"
            );
        }
        self.seen = Some((segment.generation(), position));
    }
}

fn timing_commands() -> impl Strategy<Value = Act> {
    let commands = prop_oneof![
        Just(Command::Play),
        Just(Command::Pause),
        Just(Command::Toggle),
        Just(pace(0.5)),
        Just(pace(3.0)),
        Just(pace(-1.0)),
        Just(Command::SetPace(Pace::Max)),
        (1..4_i64).prop_map(Command::Step),
        (-3..0_i64).prop_map(Command::Step),
        (900..2100_i64).prop_map(|ms| Command::PlayUntil(ros(ms))),
        (900..2100_i64).prop_map(|ms| Command::Seek(ros(ms))),
    ];
    prop_oneof![
        6 => commands.prop_map(Act::Do),
        1 => Just(Act::Close(Gate::Path)),
        1 => Just(Act::Open(Gate::Path)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever times a file declares, neither the position of the segment nor the clock moves back within a
    /// generation.
    #[test]
    fn wrong_times_never_move_position_or_clock_back_within_a_generation(
        times in proptest::collection::vec(1000..2000_i64, 1..12),
        script in proptest::collection::vec((0..1500_i64, timing_commands()), 0..12),
    ) {
        let mut script = script;
        script.sort_by_key(|(at, _)| *at);
        let mut script = script.into_iter().peekable();
        let served = Options {
            clock: ClockOptions {
                before: Before::All,
                period: Some(span(70)),
                ..ClockOptions::default()
            },
            when_done: WhenDone::Stay,
            ..options()
        };
        let mut machine = Machine::new(served, unordered(&times));
        let mut now = wall(0);
        let (mut positions, mut clocks) = (Observer::default(), Observer::default());
        for _ in 0..500 {
            while let Some((_, act)) = script.next_if(|(at, _)| wall(*at) <= now) {
                act.on(&mut machine, now);
                let segment = machine.status().segment;
                positions.sees(segment, segment.position(now));
            }
            let mut current = machine.status().segment;
            let wait = machine.advance(now, &mut Recording(|event| match event {
                Event::Segment(segment) => {
                    current = segment;
                    positions.sees(segment, segment.position(now));
                }
                Event::Clock(time) => clocks.sees(current, time),
                Event::Message(..) | Event::ServeClock(_) => {}
            }));
            let segment = machine.status().segment;
            positions.sees(segment, segment.position(now));
            let next = script.peek().map(|(at, _)| wall(*at));
            now = match (wait, next) {
                (Wait::Now, _) => now,
                (Wait::Until(deadline), Some(next)) => deadline.min(next.max(now)),
                (Wait::Until(deadline), None) if deadline <= wall(9000) => deadline,
                (_, Some(next)) => next.max(now),
                (_, None) => break,
            };
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// However late the machine is woken and whichever commands it gets, the clock is neither before a message that was
    /// sent nor past one that was not, and never runs backwards.
    #[test]
    fn the_clock_stays_between_sent_and_unsent_messages_however_late_the_machine_wakes(
        times in proptest::collection::vec(1000..2000_i64, 1..30),
        late in proptest::collection::vec(0..250_i64, 20),
        period in 1..100_i64,
        script in proptest::collection::vec(
            (0..900_i64, prop_oneof![Just(Command::Pause), Just(Command::Play), Just(pace(0.7)), Just(pace(10.0))]),
            0..6,
        ),
    ) {
        let (mut times, mut script) = (times, script);
        times.sort_unstable();
        script.sort_by_key(|(at, _)| *at);
        let mut script = script.into_iter().peekable();
        let served = Options {
            clock: ClockOptions {
                period: Some(span(period)),
                ..ClockOptions::default()
            },
            ..quiet()
        };
        let mut machine = playing(served, messages(&times));
        let mut unsent = times.iter().map(|ms| ros(*ms)).peekable();
        let (mut sent, mut shown) = (ros(1000), ros(1000));
        let mut late = late.iter().cycle();
        let mut now = wall(0);
        for _ in 0..3_000 {
            while let Some((_, command)) = script.next_if(|(at, _)| wall(*at) <= now) {
                machine.apply(command, now);
            }
            let wait = machine.advance(now, &mut Recording(|event| match event {
                Event::Clock(time) => {
                    assert!(time >= shown && time >= sent, "{time} after {shown}, {sent}");
                    assert!(unsent.peek().is_none_or(|next| time <= *next), "{time} past {unsent:?}");
                    shown = time;
                }
                Event::Message(_, time, _) => {
                    assert_eq!(unsent.next(), Some(time));
                    sent = time;
                }
                Event::Segment(_) | Event::ServeClock(_) => {}
            }));
            // About a third of the times it is woken in time, else up to 170 ms late.
            let lag = late.next().map_or(0, |late| (late - 80).max(0));
            let next = script.peek().map(|(at, _)| wall(*at));
            now = match (wait, next) {
                (Wait::Now, _) => now,
                (Wait::Until(deadline), _) if deadline <= wall(9000) => {
                    deadline.saturating_add(span(lag))
                }
                (_, Some(next)) => next.max(now),
                (_, None) => break,
            };
        }
    }
}

/// The clocks and messages of a machine that plays at ten times the speed with a tick every 10 ms, and is woken at
/// these instants in microseconds.
fn clocks(all: Vec<Message>, woken: &[i64]) -> Vec<String> {
    let fast = Options {
        pace: Pace::At(Speed::from_f64(10.0).unwrap()),
        clock: ClockOptions {
            period: Some(span(10)),
            ..ClockOptions::default()
        },
        ..quiet()
    };
    let mut machine = playing(fast, all);
    let mut seen = Vec::new();
    for micros in woken {
        seen.extend(settle(&mut machine, Time::from_nanos(micros * 1000)).0);
    }
    seen.retain(|line| !line.starts_with("gen"));
    seen
}

#[test]
fn a_late_tick_shows_the_time_at_which_it_was_due() {
    let woken = [0, 10_040, 20_000, 30_900, 40_001, 69_000];
    assert_eq!(
        clocks(messages(&[1000]), &woken),
        [
            "clock 1000",
            "msg 1000",
            "clock 1100",
            "clock 1200",
            "clock 1300",
            "clock 1400",
            "clock 1500"
        ]
    );
    // Between messages that are late as well.
    assert_eq!(
        clocks(messages(&[1099, 1101]), &[0, 10_900]),
        ["clock 1000", "msg 1099", "clock 1100", "msg 1101"]
    );
    // Before a message at the same time.
    assert_eq!(
        clocks(messages(&[1100]), &[0, 10_900]),
        ["clock 1000", "clock 1100", "msg 1100"]
    );
}

/// How many times a timer of rcl with this period is called by these values of its clock (`rcl_timer_call`): once a
/// value at most, and periods that are over by then are left out.
fn calls(period: Duration, clock: impl IntoIterator<Item = Time<Ros>>) -> u32 {
    let mut clock = clock.into_iter();
    let mut next = clock.next().unwrap() + period;
    let mut calls = 0;
    for now in clock {
        if now < next {
            continue;
        }
        calls += 1;
        next += period;
        while next < now {
            next += period;
        }
    }
    calls
}

#[test]
fn a_timer_of_a_tenth_of_a_second_is_called_at_each_tick_of_ten_times_the_speed() {
    let seconds = 30;
    let end = 1000 + seconds * 1000;
    let options = Options {
        pace: Pace::At(Speed::from_f64(10.0).unwrap()),
        clock: ClockOptions {
            period: Some(span(10)),
            ..ClockOptions::default()
        },
        ..Options::new(TimeRange::between(ros(1000), ros(end)))
    };
    let all: Vec<i64> = (1000..=end).step_by(7).collect();
    let mut machine = playing(options, messages(&all));
    // How late the machine is woken, in microseconds: by less than a tick.
    let mut late = [0, 40, 900, 9_990, 3_000, 5, 6_500].into_iter().cycle();
    let (mut now, mut shown) = (wall(0), Vec::new());
    loop {
        let wait = machine.advance(
            now,
            &mut Recording(|event| {
                if let Event::Clock(time) = event {
                    shown.push(time);
                }
            }),
        );
        let lag = Duration::from_nanos(late.next().unwrap() * 1000);
        match wait {
            Wait::Now => {}
            Wait::Until(deadline) => now = deadline.max(now).saturating_add(lag),
            _ => break,
        }
    }
    assert_eq!(
        calls(span(100), shown),
        u32::try_from(seconds * 10).unwrap()
    );
}

#[test]
fn a_message_due_in_the_same_nanosecond_as_a_later_tick_is_sent_first() {
    let mut all = messages(&[1100]);
    let a_little_before = Time::from_nanos(ros(1100).as_nanos() - 1);
    all[0].key.time = a_little_before;
    all[0].log_time = a_little_before;
    assert_eq!(
        clocks(all, &[0, 10_000]),
        ["clock 1000", "msg 1099+999999ns", "clock 1100"]
    );
}

#[test]
fn a_tick_due_during_a_stall_shows_the_position_of_the_stall() {
    let mut machine = playing(options(), messages(&[1000, 1200, 1290]));
    for now in [0, 200] {
        settle(&mut machine, wall(now));
    }
    // The tick of 250 was due next; the machine did not run until now.
    let (seen, _) = settle(&mut machine, wall(900));
    assert_eq!(seen, ["gen 0 rolls 1000 ×1", "clock 1250"]);
    assert_eq!(machine.report().held.stalled, span(650));
}

#[test]
fn the_clock_shows_the_start_of_a_range_once() {
    check_all(
        Options {
            played: PlayedRange::new(TimeRange::between(ros(1900), ros(2000)), AtEnd::Hold),
            ..options()
        },
        messages(&[1950]),
        &[],
        "
        0 gen 0 held 1900
        0 clock 1900
        0 gen 0 rolls 1900 ×1
        50 msg 1950
        100 clock 2000
        100 gen 0 held 2000",
    );
}
