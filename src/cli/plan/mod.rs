//! Turns parsed arguments into what is played: the only file that knows how flags combine.

mod awaited;
pub(super) mod ci;
pub(super) mod clock_server;
pub(super) mod cut;
pub(super) mod files;
pub(super) mod kinds;
pub(super) mod names;
pub(super) mod range;
pub(super) mod resume;
pub(super) mod select;
mod shell_word;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::bag::{Topic, TopicId};
use crate::cli::args::flags::{PlayArgs, TimeArgs};
use crate::player::{
    Before, ClockOptions, Gate, Gates, Intent, Options, Pace, PlayedRange, Scheduling, Spin,
    WhenDone,
};
use crate::ros::QosOverrides;
use crate::time::{AtEnd, Duration, Speed, Time, TimeRange, period_of};
use awaited::awaited;
use names::{InOtherForm, shared_names, unreachable_names};
use range::range;
use select::{Chosen, SelectError, choose, ids_of};

/// A command line that does not fit this recording.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// A topic, expression or rule.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The range to play lies outside of the recording.
    #[error("nothing to play: {0}")]
    Empty(String),
    /// A gate waits for answers to a topic that is not played.
    #[error("--gate '{rule}': {topic} is not played; played are {played}")]
    GateOfUnplayed {
        /// The rule.
        rule: String,
        /// The topic.
        topic: String,
        /// The names of the topics that are played.
        played: String,
    },
    /// A subscriber is required on a topic that is not played: playback would never start.
    #[error("--wait-for-subscribers names {topic}, which is not played: {reason}")]
    AwaitsUnplayed {
        /// The recorded name of the topic.
        topic: String,
        /// The reason.
        reason: String,
    },
    /// What stands after `=` is no number of subscribers.
    #[error("--wait-for-subscribers {0}: write TOPIC=N with a number N above zero")]
    AwaitsNoNumber(String),
}

/// A topic that was recorded and is not played.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// Its recorded name.
    pub topic: String,
    /// How many messages the recording has of it; `None` if the recording does not say.
    pub messages: Option<u64>,
    /// The reason.
    pub reason: String,
    /// Whether its messages should have been sent, and could not be.
    pub is_loss: bool,
}

impl LeftOut {
    /// A topic that another one stands for, or that was not meant to be sent.
    pub(crate) fn on_purpose(topic: &Topic, reason: impl Into<String>) -> Self {
        Self {
            topic: topic.name.clone(),
            messages: topic.message_count,
            reason: reason.into(),
            is_loss: false,
        }
    }
}

/// The result of resolving the arguments: what is played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The options of the player.
    pub options: Options,
    /// The topics that are played.
    pub chosen: Vec<Chosen>,
    /// Topics that were requested and are not played, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// The topics that must have a subscriber before the start.
    pub awaited: Vec<Chosen>,
    /// Of those that need several subscribers: how many.
    pub least_subscribers: BTreeMap<TopicId, u32>,
    /// The topics that are sent in another form than they were recorded in.
    pub in_other_form: InOtherForm,
    /// Warnings to print before the start.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Removes a chosen topic that cannot be published. Fails if `args` require a subscriber for it by name. If all
    /// topics are awaited, the others still are; with no topic left, the start waits for nobody.
    pub fn leave_out(
        &mut self,
        args: &PlayArgs,
        id: TopicId,
        left_out: LeftOut,
    ) -> Result<(), PlanError> {
        self.stop_awaiting(args, id, &left_out)?;
        // Compared by id: another topic of the same name may be played.
        self.chosen.retain(|chosen| chosen.id != id);
        self.left_out.push(left_out);
        Ok(())
    }

    /// A topic that cannot be published does not have to have a subscriber. Fails if `args` require one by name.
    pub fn stop_awaiting(
        &mut self,
        args: &PlayArgs,
        id: TopicId,
        left_out: &LeftOut,
    ) -> Result<(), PlanError> {
        let is_awaited = self.awaited.iter().any(|chosen| chosen.id == id);
        if is_awaited && is_named(args) {
            return Err(PlanError::AwaitsUnplayed {
                topic: left_out.topic.clone(),
                reason: left_out.reason.clone(),
            });
        }
        self.awaited.retain(|chosen| chosen.id != id);
        if self.awaited.is_empty() {
            self.options.gates = self.options.gates.open(Gate::Subscribers);
        }
        Ok(())
    }
}

/// Whether the topics that must have a subscriber are listed by name.
fn is_named(args: &PlayArgs) -> bool {
    let names = &args.topics.wait_for_subscribers;
    names.iter().any(|name| !name.is_empty())
}

/// Resolves the arguments and the profiles from a file against a recording of these topics that covers `recording`.
pub fn plan(
    args: &PlayArgs,
    profiles: &QosOverrides,
    recording: TimeRange,
    topics: &[Topic],
) -> Result<Plan, PlanError> {
    let clock = ci::driven_clock(&args.clock, &args.ci, clock(args, topics)?);
    let (chosen, mut left_out) = without_clock(
        choose(topics, &args.topics, &args.ros)?,
        topics,
        OtherClock::of(args, clock.is_served()),
    );
    let (mut chosen, closed) = ci::without_outputs(&args.ci, chosen, topics)?;
    left_out.extend(closed);
    ci::check_gates(&args.ci, &chosen)?;
    for one in &mut chosen {
        one.qos = profiles.get(&topics[one.id.index()].name);
    }
    if chosen.is_empty() && (args.ci.is_any() || !clock.is_served()) {
        return Err(PlanError::Empty("no topic is selected".into()));
    }
    let (awaited, least_subscribers) = awaited(args, &chosen, &left_out, topics)?;
    let mut played = played(&args.time, recording)?;
    played.range = ci::with_tail(&args.ci, played.range);
    let gates = if awaited.is_empty() {
        Gates::OPEN
    } else {
        Gates::OPEN.close(Gate::Subscribers)
    };
    let mut options = Options {
        played,
        begin_at: args.time.begin_at.map(|when| when.in_range(recording)),
        pace: if args.follow.follow.is_some() {
            Pace::Follow
        } else {
            ci::pace(args)
        },
        when_done: WhenDone::Stop,
        intent: if args.time.start_paused {
            Intent::Pause
        } else {
            Intent::Play
        },
        gates,
        delay: args.time.delay.unwrap_or_default(),
        clock,
        skip_empty: args.time.skip_empty,
        refill: !args.time.no_refill,
        spin: spin(args.time.precise),
        scheduling: scheduling(args.time.realtime),
        ..Options::new(ci::with_tail(&args.ci, recording))
    };
    if let Some(start) = args.clock.clock_start {
        options.clock.shift = options.shift_to(start.in_range(recording));
    }
    if args.follow.follow.is_some() {
        options.clock.shift = -args.follow.follow_offset;
    }
    let in_other_form = InOtherForm::of(args, &chosen, topics);
    let warnings = starts_outside(&args.time, recording)
        .chain(zero_warning(&options))
        .chain(shared_names(args, &chosen, topics))
        .chain(unreachable_names(args, &chosen, topics))
        .chain(idle_profiles(profiles, &chosen, topics))
        .chain(in_other_form.warnings())
        .chain(args.wire.unknown_losses().filter(|_| args.time.strict))
        .collect();
    Ok(Plan {
        options,
        chosen,
        left_out,
        awaited,
        least_subscribers,
        in_other_form,
        warnings,
    })
}

fn spin(is_precise: bool) -> Spin {
    if is_precise {
        Spin::Unlimited
    } else {
        Spin::Limited
    }
}

fn scheduling(is_realtime: bool) -> Scheduling {
    if is_realtime {
        Scheduling::Realtime
    } else {
        Scheduling::Normal
    }
}

fn clock(args: &PlayArgs, topics: &[Topic]) -> Result<ClockOptions, PlanError> {
    let period = args.clock.clock.map(period_of);
    let before = if args.clock.clock_topics_all {
        Before::All
    } else if args.clock.clock_topics.is_empty() {
        Before::None
    } else {
        Before::Topics(ids_of("--clock-topics", &args.clock.clock_topics, topics)?)
    };
    Ok(ClockOptions {
        period,
        steps: Vec::new(),
        before,
        shift: Duration::ZERO,
    })
}

/// A clock that rules out a recorded clock: subscribers would receive two.
#[derive(Clone, Copy, Debug)]
enum OtherClock<'a> {
    None,
    Served,
    /// The topic of the clock that is followed.
    Followed(&'a str),
}

impl<'a> OtherClock<'a> {
    fn of(args: &'a PlayArgs, is_served: bool) -> Self {
        match &args.follow.follow {
            Some(topic) => Self::Followed(topic),
            None if is_served => Self::Served,
            None => Self::None,
        }
    }

    fn reason(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Served => Some("play serves /clock itself"),
            Self::Followed(_) => Some("the clock of another node is followed"),
        }
    }

    /// Whether a topic of this name is a clock.
    fn is_clock(self, name: &str) -> bool {
        let bare = |name: &str| name.trim_matches('/').to_owned();
        let is_followed = matches!(self, Self::Followed(topic) if bare(topic) == bare(name));
        is_followed || name.trim_start_matches('/') == "clock"
    }
}

/// If a clock is served or followed, a recorded `/clock` would be a second clock, with times that are not played, also
/// under another name. So it is not replayed; nor is a topic that would be sent under the name of the clock.
fn without_clock(
    chosen: Vec<Chosen>,
    topics: &[Topic],
    other: OtherClock<'_>,
) -> (Vec<Chosen>, Vec<LeftOut>) {
    let Some(reason) = other.reason() else {
        return (chosen, Vec::new());
    };
    let is_left_out = |chosen: &Chosen| {
        other.is_clock(&topics[chosen.id.index()].name) || other.is_clock(&chosen.name)
    };
    let (clocks, chosen): (Vec<_>, Vec<_>) = chosen.into_iter().partition(is_left_out);
    let left_out = clocks
        .into_iter()
        .map(|clock| LeftOut::on_purpose(&topics[clock.id.index()], reason));
    let left_out = left_out.collect();
    (chosen, left_out)
}

/// What to play: with a loop range, the recording once that loop has ended.
fn played(time: &TimeArgs, recording: TimeRange) -> Result<PlayedRange, PlanError> {
    let range = range(time, recording)?;
    let at_end = AtEnd::from_loop(time.is_loop);
    Ok(if time.loop_range.is_some() {
        PlayedRange {
            ab_loop: Some(range),
            ..PlayedRange::new(recording, at_end)
        }
    } else {
        PlayedRange::new(range, at_end)
    })
}

/// Warnings of names that have a profile but are not played. Usually they are misspelt.
fn idle_profiles(profiles: &QosOverrides, chosen: &[Chosen], topics: &[Topic]) -> Vec<String> {
    let bare = |name: &str| name.trim_start_matches('/').to_owned();
    let recorded = |one: &Chosen| bare(&topics[one.id.index()].name);
    let idle = profiles
        .names()
        .filter(|name| !chosen.iter().any(|one| recorded(one) == bare(name)));
    let warning = |name: &str| {
        let hint = if chosen.iter().any(|one| bare(&one.name) == bare(name)) {
            "; hint: profiles refer to recorded names"
        } else {
            ""
        };
        format!("--qos-profile-overrides-path: `{name}` has a profile but is not played{hint}")
    };
    idle.map(warning).collect()
}

/// Warnings of starts before the recording, which play all of it: usually the time since its start was meant.
/// Also warns of a start after the recording, which plays from its end.
fn starts_outside(time: &TimeArgs, recording: TimeRange) -> impl Iterator<Item = String> {
    let late = time.begin_at.map(|when| when.in_range(recording));
    let late = late.filter(|start| *start > recording.stop());
    let late = late.map(|start| {
        format!("--begin-at: {start} s is after the recording, so it plays from its end")
    });
    let starts = [("--start", time.start), ("--begin-at", time.begin_at)];
    let early = starts.into_iter().filter_map(move |(flag, start)| {
        let start = start?.in_range(recording);
        (start < recording.start()).then(|| {
            format!(
                "{flag}: {start} s is before the recording, so it plays from its start; hint: with a + the time counts from there"
            )
        })
    });
    early.chain(late)
}

/// A warning if the clock reaches zero (no time yet) or negative times, which ROS nodes refuse.
fn zero_warning(options: &Options) -> Option<String> {
    let shown = options
        .played
        .current()
        .0
        .start()
        .saturating_add(options.clock.shift);
    let what = match shown.cmp(&Time::ZERO) {
        _ if !options.clock.is_served() => return None,
        Ordering::Greater => return None,
        Ordering::Equal => "zero means \"no time yet\" to ROS nodes: 1 ns is published instead",
        Ordering::Less => "ROS nodes refuse negative times",
    };
    Some(format!(
        "/clock reaches {shown} s, and {what}; hint: --clock-start TIME shifts it"
    ))
}

/// The pace as the summary shows it: the factor; `None` as fast as possible, or while another clock is followed.
pub fn pace_factor(pace: Pace) -> Option<f64> {
    match pace {
        Pace::At(speed) => Some(Speed::as_f64(speed)),
        Pace::Max | Pace::Follow => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::fixtures;
    use crate::cli::fixtures::parse_args;
    use crate::ros::History;

    fn topics() -> Vec<Topic> {
        fixtures::topics(&["/imu", "/clock"])
    }

    fn planned(line: &str) -> Result<Plan, PlanError> {
        planned_with(line, "")
    }

    fn planned_with(line: &str, profiles: &str) -> Result<Plan, PlanError> {
        let profiles = QosOverrides::parse(profiles).unwrap();
        let second = 1_000_000_000;
        let recording = TimeRange::between(
            Time::from_nanos(100 * second),
            Time::from_nanos(200 * second),
        );
        plan(&parse_args(line), &profiles, recording, &topics())
    }

    fn secs(line: &str) -> Result<(i64, i64), String> {
        let plan = planned(line).map_err(|error| error.to_string())?;
        let (range, _) = plan.options.played.current();
        Ok((
            range.start().as_nanos() / 1_000_000_000,
            range.stop().as_nanos() / 1_000_000_000,
        ))
    }

    #[test]
    fn starts_and_ends_in_all_their_spellings() {
        let cases = [
            ("", (100, 200)),
            ("--start +10 --end -10", (110, 190)),
            ("--start 110 --end 120", (110, 120)),
            ("--start 25% --end 75%", (125, 175)),
            ("--start-offset 30", (130, 200)),
            ("--start-offset 30 --playback-duration 10", (130, 140)),
            ("--playback-until-sec 150", (100, 150)),
            (
                "--playback-until-nsec 150000000000 --playback-duration 20",
                (100, 120),
            ),
            ("--playback-duration 0", (100, 100)),
            ("--start 5 --playback-duration 10", (100, 110)),
            ("--end 900", (100, 200)),
            ("--loop-range +10..+20", (110, 120)),
        ];
        for (line, range) in cases {
            assert_eq!(secs(line), Ok(range), "{line}");
        }
    }

    #[test]
    fn a_loop_range_is_a_loop_in_the_whole_recording() {
        let planned = |line| planned(line).unwrap().options.played;
        let whole = planned("");
        let of_range = planned("--loop-range +10..+20");
        assert!(of_range.ab_loop.is_some());
        assert_eq!(
            (of_range.range, of_range.at_end),
            (whole.range, AtEnd::Hold)
        );
        let both = planned("--loop --loop-range +10..+20");
        assert_eq!(both.at_end, AtEnd::Loop);
        assert_eq!(both.ab_loop, of_range.ab_loop);
    }

    #[test]
    fn a_part_outside_the_recording_is_an_error_that_says_where_it_is() {
        assert_eq!(
            secs("--start 300"),
            Err("nothing to play: the start, 300.000000000 s (200s from the start), is after the end of the \
                 recording, 200.000000000 s (100s from the start)".into())
        );
        assert!(
            secs("--start +50 --end +20")
                .unwrap_err()
                .contains("is before the start")
        );
        assert!(
            secs("--end 50")
                .unwrap_err()
                .contains("is before the start")
        );
        let hint = "hint: with a + a time counts from the start of the recording";
        assert!(secs("--end 50").unwrap_err().ends_with(hint));
        assert_eq!(
            secs("--loop-range +1s..+1s"),
            Err(
                "nothing to play: the loop at 101.000000000 s (1s from the start) has no length"
                    .into()
            )
        );
    }

    #[test]
    fn a_recorded_clock_is_not_replayed_while_one_is_served() {
        let names = |line: &str| {
            planned(line)
                .unwrap()
                .chosen
                .into_iter()
                .map(|chosen| chosen.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(""), ["/imu", "/clock"]);
        for line in ["--clock", "--clock-topics /imu", "--clock-topics-all"] {
            assert_eq!(names(line), ["/imu"], "{line}");
            assert_eq!(names(&format!("{line} --prefix r")), ["/r/imu"], "{line}");
            let renamed = format!("{line} -m /clock:=/old_clock");
            assert_eq!(names(&renamed), ["/imu"], "{line}");
            assert_eq!(names(&format!("{line} -m /imu:=/clock")), [""; 0], "{line}");
        }
        assert_eq!(names("--follow"), ["/imu"]);
        assert_eq!(names("--follow --prefix r"), ["/r/imu"]);
        for line in ["--follow /imu", "--follow /r/imu/ --prefix r"] {
            let refused = planned(line).unwrap_err().to_string();
            assert_eq!(refused, "nothing to play: no topic is selected", "{line}");
        }
        // If no clock is served or followed, `/clock` is an ordinary topic.
        assert_eq!(names("--prefix r"), ["/r/imu", "/r/clock"]);
        assert_eq!(names("-m /clock:=/old_clock"), ["/imu", "/old_clock"]);
        assert_eq!(planned("--clock").unwrap().left_out[0].topic, "/clock");
    }

    #[test]
    fn topics_that_the_program_publishes_are_left_out_or_moved_aside() {
        let names = |line: &str| {
            let plan = planned(line).unwrap();
            let chosen = plan.chosen.into_iter().map(|one| one.name);
            (chosen.collect::<Vec<_>>(), plan.left_out.len())
        };
        let played = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names("--record-topics /imu"), (played(&["/clock"]), 1));
        for prefix in ["recorded", "/recorded/"] {
            let both = format!("--record-topics /imu --aside {prefix}");
            assert_eq!(
                names(&both),
                (played(&["/recorded/imu", "/clock"]), 0),
                "{both}"
            );
        }
        // The other name is also one that it publishes.
        let both = "--record-topics /imu /a/imu --aside a";
        assert_eq!(names(both), (played(&["/clock"]), 1));
        let refused = planned("--aside a*b").unwrap_err().to_string();
        assert!(
            refused.starts_with("--aside: `a*b` is not a name"),
            "{refused}"
        );
    }

    #[test]
    fn the_clock_is_set_up_as_asked() {
        let clock = |line: &str| planned(line).unwrap().options.clock;
        assert!(!clock("").is_served());
        assert_eq!(clock("--clock").period, Some(Duration::from_millis(25)));
        assert_eq!(clock("--clock 1000").period, Some(Duration::from_millis(1)));
        assert_eq!(clock("--clock-topics-all").before, Before::All);
        assert_eq!(
            clock("--clock --clock-start 7").shift,
            Duration::from_secs(-93)
        );
    }

    #[test]
    fn a_clock_is_followed_as_asked() {
        let options = |line: &str| {
            (
                planned(line).unwrap().options.pace,
                parse_args(line).follow.options(),
            )
        };
        let (pace, how) = options("--follow --follow-offset -3 --extrapolate --follow-timeout 0.5");
        assert_eq!(pace, Pace::Follow);
        assert_eq!(how.offset, Duration::from_secs(-3));
        assert!(how.extrapolates && how.timeout == Duration::from_millis(500));
        let (_, how) = options("--follow");
        assert!(!how.extrapolates && how.offset == Duration::ZERO);
        assert_eq!(how.timeout, Duration::from_secs(2));
        assert_eq!(options("").0, Pace::At(Speed::NORMAL));
    }

    #[test]
    fn subscribers_are_awaited_by_name_or_all() {
        let awaited = |line: &str| {
            let awaited = planned(line).unwrap().awaited;
            awaited
                .into_iter()
                .map(|chosen| chosen.name)
                .collect::<Vec<_>>()
        };
        assert!(awaited("").is_empty());
        assert_eq!(awaited("--wait-for-subscribers"), ["/imu", "/clock"]);
        assert_eq!(
            awaited("--wait-for-subscribers /imu --prefix r"),
            ["/r/imu"]
        );
        assert!(
            planned("--wait-for-subscribers")
                .unwrap()
                .options
                .gates
                .is_closed(Gate::Subscribers)
        );
    }

    #[test]
    fn an_awaited_topic_that_is_not_played_is_refused_or_not_waited_for() {
        let refused = |line: &str| planned(line).unwrap_err().to_string();
        let unplayed = "--wait-for-subscribers names /imu, which is not played: it is not selected";
        assert_eq!(
            refused("--wait-for-subscribers /imu --exclude-topics /imu"),
            unplayed
        );
        assert_eq!(
            refused("--wait-for-subscribers /clock --clock"),
            "--wait-for-subscribers names /clock, which is not played: play serves /clock itself"
        );
        let left_out =
            |topic: &str| LeftOut::on_purpose(&fixtures::topics(&[topic])[0], "no ROS message");
        let by_name = parse_args("--wait-for-subscribers /imu");
        let mut named = planned("--wait-for-subscribers /imu").unwrap();
        let imu = named.awaited[0].id;
        assert_eq!(
            named.leave_out(&by_name, imu, left_out("/imu")),
            Err(PlanError::AwaitsUnplayed {
                topic: "/imu".to_owned(),
                reason: "no ROS message".to_owned()
            })
        );
        let all = parse_args("--wait-for-subscribers");
        let mut plan = planned("--wait-for-subscribers").unwrap();
        let ids: Vec<TopicId> = plan.awaited.iter().map(|chosen| chosen.id).collect();
        for (n, id) in ids.iter().enumerate() {
            assert!(plan.options.gates.is_closed(Gate::Subscribers), "{n} left");
            plan.leave_out(&all, *id, left_out("/any")).unwrap();
        }
        assert!(!plan.options.gates.is_closed(Gate::Subscribers));
        assert_eq!(plan.left_out.len(), ids.len());
    }

    #[test]
    fn a_clock_that_would_show_zero_is_warned_of() {
        let warnings = |line: &str, start: i64| {
            let args = parse_args(line);
            let recording = TimeRange::between(Time::from_nanos(start), Time::from_nanos(9));
            plan(&args, &QosOverrides::default(), recording, &topics())
                .unwrap()
                .warnings
                .len()
        };
        assert_eq!(
            (
                warnings("--clock", 0),
                warnings("--clock", 1),
                warnings("--rate 2", 0)
            ),
            (1, 0, 0)
        );
        assert_eq!(warnings("--clock --clock-start 100", 0), 0);
    }

    #[test]
    fn a_start_outside_of_the_recording_is_warned_of() {
        let warnings = |line: &str| {
            let range = TimeRange::between(Time::from_secs(100), Time::from_secs(200));
            let planned = plan(
                &parse_args(line),
                &QosOverrides::default(),
                range,
                &topics(),
            );
            planned.unwrap().warnings
        };
        for flag in ["--start", "--begin-at"] {
            let early = warnings(&format!("{flag} 12"));
            assert!(
                early.len() == 1 && early[0].starts_with(&format!("{flag}: ")),
                "{early:?}"
            );
            for line in [format!("{flag} 112"), format!("{flag} +12")] {
                assert_eq!(warnings(&line), Vec::<String>::new(), "{line}");
            }
        }
        let late = "--begin-at: 212.000000000 s is after the recording, so it plays from its end";
        assert_eq!(warnings("--begin-at 212"), [late]);
    }

    #[test]
    fn losses_that_a_strict_run_does_not_notice_are_warned_of() {
        for (line, warnings) in [
            ("--strict", 0),
            ("--congestion drop", 0),
            ("--strict --congestion drop", 1),
            ("--strict --congestion drop --wire ros1", 0),
            ("--strict --congestion drop --wire ros1 --wire rmw_zenoh", 1),
            ("--strict --congestion block-first --wire ros2dds", 1),
        ] {
            let plan = planned_with(line, "").unwrap();
            assert_eq!(plan.warnings.len(), warnings, "{line} {:?}", plan.warnings);
        }
    }

    #[test]
    fn profiles_go_to_topics_by_their_recorded_names() {
        let depths = |line: &str, profiles: &str| {
            let plan = planned_with(line, profiles).unwrap();
            let depth = |one: Chosen| one.qos.map(|qos| qos.history);
            (
                plan.chosen.into_iter().map(depth).collect::<Vec<_>>(),
                plan.warnings,
            )
        };
        let one = Some(History::KeepLast(1));
        let idle = |name: &str, hint: &str| {
            vec![format!(
                "--qos-profile-overrides-path: `{name}` has a profile but is not played{hint}"
            )]
        };
        assert_eq!(depths("", ""), (vec![None, None], vec![]));
        for (line, profiles, found, warnings) in [
            ("", "/imu: {depth: 1}", vec![one, None], vec![]),
            ("", "imu: {depth: 1}", vec![one, None], vec![]),
            (
                "-m /imu:=/i --prefix r",
                "/imu: {depth: 1}",
                vec![one, None],
                vec![],
            ),
            (
                "-m /imu:=/i",
                "/i: {depth: 1}",
                vec![None; 2],
                idle("/i", "; hint: profiles refer to recorded names"),
            ),
            ("", "lidar: {depth: 1}", vec![None; 2], idle("lidar", "")),
            (
                "--topics /imu",
                "/clock: {depth: 1}",
                vec![None],
                idle("/clock", ""),
            ),
            (
                "--clock",
                "/clock: {depth: 1}",
                vec![None],
                idle("/clock", ""),
            ),
        ] {
            assert_eq!(
                depths(line, profiles),
                (found, warnings),
                "{line} {profiles}"
            );
        }
        let awaited = planned_with("--wait-for-subscribers /imu", "/imu: {depth: 1}").unwrap();
        assert_eq!(awaited.awaited[0].qos.map(|qos| qos.history), one);
    }
}
