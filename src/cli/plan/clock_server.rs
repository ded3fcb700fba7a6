//! What `play clock` serves: a player without messages.

use std::collections::BTreeMap;

use super::names::InOtherForm;
use super::{Plan, spin};
use crate::cli::args::verbs::clock_server::{ClockServerArgs, ClockSourceArg};
use crate::player::{ClockOptions, Control, Intent, Options, Pace, WhenDone};
use crate::time::{Duration, Ros, Speed, Time, TimeRange, When};

/// A command line of `play clock` that cannot be served.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClockPlanError {
    /// A flag that drives a clock of the machine.
    #[error("{flag}: the {} time of this machine cannot be driven; hint: --source sim", .source_arg.name())]
    NotDrivable {
        /// The flag.
        flag: &'static str,
        /// The source.
        source_arg: ClockSourceArg,
    },
    /// A start that is relative to a recording.
    #[error(
        "--start: without a recording a time is absolute: write nanoseconds, seconds or RFC 3339"
    )]
    Relative,
    /// A start that `/clock` cannot show.
    #[error("--start: {0} s is not a time of /clock: {first} s to {last} s", first = clock_range().start(), last = clock_range().stop())]
    Outside(Time<Ros>),
}

/// The times that a served clock shows: `/clock` has 32-bit seconds, ROS nodes refuse negative times, and zero means
/// "no time yet" to them.
pub fn clock_range() -> TimeRange {
    let last = i64::from(i32::MAX) * 1_000_000_000 + 999_999_999;
    TimeRange::between(Time::from_nanos(1), Time::from_nanos(last))
}

/// What is served; without `--start` it begins at `system_time`.
pub fn clock_plan(args: &ClockServerArgs, system_time: Time<Ros>) -> Result<Plan, ClockPlanError> {
    let is_of_machine = args.source.is_of_machine();
    if let Some(flag) = driving_flag(args).filter(|_| is_of_machine) {
        let source_arg = args.source;
        return Err(ClockPlanError::NotDrivable { flag, source_arg });
    }
    let range = clock_range();
    let start = match args.start {
        None => range.clamp(system_time),
        Some(When::At(Time::ZERO)) => range.start(),
        Some(When::At(time)) if range.contains(time) => time,
        Some(When::At(time)) => return Err(ClockPlanError::Outside(time)),
        Some(When::AfterStart(_) | When::BeforeEnd(_) | When::Fraction(_)) => {
            return Err(ClockPlanError::Relative);
        }
    };
    let (pace, control) = if is_of_machine {
        (Pace::Follow, Control::StopOnly)
    } else {
        let speed = args.rate.unwrap_or(Speed::NORMAL);
        (Pace::At(speed), Control::Full)
    };
    let intent = if args.start_paused {
        Intent::Pause
    } else {
        Intent::Play
    };
    let period = Duration::from_secs_f64(args.hz.recip()).unwrap_or(Duration::MAX);
    let options = Options {
        start: Some(start),
        pace,
        control,
        intent,
        when_done: WhenDone::Stay,
        spin: spin(args.precise),
        clock: ClockOptions {
            period: Some(period),
            ..ClockOptions::default()
        },
        ..Options::new(range)
    };
    Ok(Plan {
        options,
        chosen: Vec::new(),
        left_out: Vec::new(),
        awaited: Vec::new(),
        least_subscribers: BTreeMap::new(),
        in_other_form: InOtherForm::default(),
        warnings: Vec::new(),
    })
}

/// A flag that says where the clock is or how it moves.
fn driving_flag(args: &ClockServerArgs) -> Option<&'static str> {
    let flags = [
        ("--rate", args.rate.is_some()),
        ("--start", args.start.is_some()),
        ("--start-paused", args.start_paused),
    ];
    let given = flags.into_iter().find(|(_, is_given)| *is_given);
    given.map(|(flag, _)| flag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::flags::Cli;
    use crate::cli::args::verbs::verb::Verb;

    const NOW: i64 = 1_760_000_000_000_000_000;

    fn planned(line: &str) -> Result<Options, String> {
        let words = format!("play clock {line}");
        let cli = Cli::read(words.split_whitespace().map(Into::into));
        match cli.map_err(|error| error.to_string())?.command {
            Some(Verb::Clock(args)) => clock_plan(&args, Time::from_nanos(NOW))
                .map(|plan| plan.options)
                .map_err(|error| error.to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_clock_starts_where_it_is_told_to_or_now() {
        let last = 2_147_483_647_999_999_999;
        for (line, nanos) in [
            ("", NOW),
            ("--start 12.5", 12_500_000_000),
            ("--start 0", 1),
            ("--start 2147483647.999999999", last),
            ("--start 1970-01-01T00:01:00Z --rate -1", 60_000_000_000),
        ] {
            let options = planned(line).unwrap();
            assert_eq!(options.entry().as_nanos(), nanos, "{line}");
            assert_eq!(options.played.range, clock_range(), "{line}");
        }
        for line in ["-5s", "+10s", "50%"] {
            let error = planned(&format!("--start {line}")).unwrap_err();
            assert!(error.contains("a time is absolute"), "{error}");
        }
        assert_eq!(
            planned("--start 2147483648").unwrap_err(),
            "--start: 2147483648.000000000 s is not a time of /clock: 0.000000001 s to 2147483647.999999999 s"
        );
        assert!(planned("--start -1").is_err());
    }

    #[test]
    fn a_clock_of_the_machine_takes_no_flag_that_drives_it() {
        for source in ["system", "steady"] {
            let options = planned(&format!("--source {source} --hz 50")).unwrap();
            assert_eq!(options.pace, Pace::Follow);
            assert_eq!(options.control, Control::StopOnly);
            assert_eq!(options.clock.period, Some(Duration::from_millis(20)));
            for flag in ["--rate 2", "--start 5", "--start-paused"] {
                let error = planned(&format!("--source {source} {flag}")).unwrap_err();
                let name = flag.split(' ').next().unwrap();
                let due = format!("{name}: the {source} time of this machine cannot be driven");
                assert!(error.starts_with(&due), "{error}");
            }
        }
    }

    #[test]
    fn a_clock_server_has_a_rate_and_a_node_name_of_its_own() {
        let options = planned("-r 0.5 -p").unwrap();
        assert_eq!(options.pace, Pace::At(Speed::from_f64(0.5).unwrap()));
        assert_eq!(options.intent, Intent::Pause);
        assert!(planned("--rate max").unwrap_err().contains("rate `max`"));
        assert!(planned("--hz 0").unwrap_err().contains("0.001 to 100000"));
        let name = |line: &str| {
            let cli = Cli::read(line.split(' ').map(Into::into)).unwrap();
            match cli.command {
                Some(Verb::Clock(args)) => args.wire.node_name,
                _ => cli.play.wire.node_name,
            }
        };
        assert_eq!(name("play clock"), "clock_server");
        assert_eq!(name("play x.mcap"), "rosbag2_player");
    }
}
