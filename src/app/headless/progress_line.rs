//! Progress without the transport bar: one line that is updated on a terminal, otherwise, and in CI, a line every ten
//! seconds.

use std::time::{Duration, Instant};

use bagplay::bag::{LookUp, Reach};
use bagplay::cli::{count, minutes_seconds, plural};
use bagplay::player::{Gate, LeadMotion, Pace, State, Status, Transport};
use bagplay::time::{Ros, Steady, Time};
use indicatif::{ProgressBar, ProgressStyle};

use crate::app::log::LogTarget;
use crate::app::supervise::awaited::Waiting;
use crate::app::supervise::followed::FollowedView;

const LINE_EVERY: Duration = Duration::from_secs(10);

/// What is played.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// A recording, and how far it has been read.
    Recording(Reach),
    /// A clock without a recording: the name of its source, and where it began.
    Clock(&'static str, Time<Ros>),
}

/// Shows the playback position.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    transport: Transport,
    subject: Subject,
    is_quiet: bool,
    last_line: Instant,
}

impl Progress {
    /// How often to call [`Progress::draw`].
    pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

    /// Starts to show the run that `transport` controls, if progress is wanted.
    pub(crate) fn start(
        log_target: &LogTarget,
        transport: Transport,
        subject: Subject,
        is_wanted: bool,
    ) -> Self {
        let bar = (log_target.is_drawn && is_wanted).then(|| {
            let template = match subject {
                Subject::Recording(_) => "{prefix} [{bar:20}] {wide_msg}",
                Subject::Clock(..) => "{prefix}  {wide_msg}",
            };
            let style = ProgressStyle::with_template(template).expect("the template is valid");
            log_target
                .bars
                .add(ProgressBar::new(1000).with_style(style.progress_chars("━╸─")))
        });
        Self {
            bar,
            transport,
            subject,
            is_quiet: log_target.is_quiet || !is_wanted,
            last_line: now(),
        }
    }

    /// Shows the state of playback, of the clock that is followed, and the subscribers that are waited for.
    pub(crate) fn draw(&mut self, followed: Option<FollowedView>, waiting: Option<Waiting>) {
        let Some(status) = self.transport.status() else {
            return;
        };
        let at = self.transport.now();
        let mut shown = match &self.subject {
            Subject::Recording(reach) => Shown::new(&status, at, reach.looking_up(), followed),
            Subject::Clock(source, start) => Shown::clock(&status, at, source, *start),
        };
        if let Some(waiting) = waiting {
            shown.text = format!("{}  {}", subscribers_missing(&waiting), shown.text);
        }
        match &self.bar {
            Some(bar) => {
                bar.set_prefix(shown.state);
                bar.set_position(shown.permille);
                bar.set_message(shown.text);
            }
            None if !self.is_quiet && self.last_line.elapsed() >= LINE_EVERY => {
                self.last_line = now();
                tracing::info!("{} {}", shown.state, shown.text);
            }
            None => {}
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "progress is shown in wall time")]
fn now() -> Instant {
    Instant::now()
}

struct Shown {
    state: String,
    permille: u64,
    text: String,
}

impl Shown {
    fn clock(status: &Status, now: Time<Steady>, source: &str, start: Time<Ros>) -> Self {
        let at = status.segment.position(now);
        let pace = match status.pace {
            Pace::At(speed) => format!("×{speed}"),
            Pace::Max => "×max".into(),
            Pace::Follow => format!("{source} time"),
        };
        let since = at.saturating_since(start);
        let sign = if since.is_negative() { "−" } else { "+" };
        Self {
            state: format!("{} {pace}", state_word(status.state)),
            permille: 0,
            text: format!(
                "{:.1} s  {sign}{}",
                at.as_secs_f64(),
                minutes_seconds(since.saturating_abs())
            ),
        }
    }

    fn new(
        status: &Status,
        now: Time<Steady>,
        look_up: Option<LookUp>,
        followed: Option<FollowedView>,
    ) -> Self {
        let (segment, range) = (status.segment, status.segment.range());
        let (elapsed, total) = (
            segment.position(now).saturating_since(range.start()),
            range.duration(),
        );
        let permille = i128::from(elapsed.as_nanos()) * 1000 / i128::from(total.as_nanos().max(1));
        let pace = match status.pace {
            Pace::At(speed) => format!("×{speed}"),
            Pace::Max => "×max".into(),
            Pace::Follow => followed_clock(followed),
        };
        let state = match status.state {
            State::Gated if status.gates.is_closed(Gate::Lead) => "held",
            state => state_word(state),
        };
        let laps = if status.laps > 0 {
            format!("  lap {}", status.laps + 1)
        } else {
            String::new()
        };
        let late = if status.late > 0 {
            format!("  {} late", count(status.late))
        } else {
            String::new()
        };
        let look_up = look_up.filter(|_| status.state == State::Starved);
        let look_up = look_up.map_or_else(String::new, |LookUp { done, of }| {
            format!("  looking up latched messages: {done} of {of} chunks")
        });
        let (elapsed, total) = (minutes_seconds(elapsed), minutes_seconds(total));
        Self {
            state: format!("{state} {pace}"),
            permille: u64::try_from(permille).unwrap_or(0).min(1000),
            text: format!(
                "{elapsed} / {total}  {}{laps}{late}{look_up}",
                plural(status.sent, "message")
            ),
        }
    }
}

/// The clock that is followed, and what it does: `following /clock ×0.50`.
fn followed_clock(followed: Option<FollowedView>) -> String {
    let Some(FollowedView { topic, motion }) = followed else {
        return "following".into();
    };
    match motion {
        LeadMotion::Unknown => format!("until {topic} sends a time"),
        LeadMotion::Lost => format!("because {topic} is silent"),
        LeadMotion::Stands => format!("following {topic}, which is paused"),
        LeadMotion::Moves(None) => format!("following {topic}"),
        LeadMotion::Moves(Some(factor)) => format!("following {topic} ×{factor:.2}"),
    }
}

/// The topics without the subscribers that are waited for, and the time that is left:
/// `18 s left for subscribers of /scan, /imu`.
fn subscribers_missing(waiting: &Waiting) -> String {
    const NAMED: usize = 5;
    let names = waiting.topics.iter().take(NAMED);
    let names: Vec<&str> = names.map(|topic| topic.name.as_str()).collect();
    let more = waiting.topics.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let seconds = waiting.left.as_secs_f64().ceil();
    format!(
        "{seconds} s left for subscribers of {}{more}",
        names.join(", ")
    )
}

fn state_word(state: State) -> &'static str {
    match state {
        State::Playing => "playing",
        State::Paused => "paused",
        State::Starved => "reading",
        State::Gated => "waiting",
        State::Stalled => "stalled",
        State::Ended => "at the end",
        State::Stopped => "stopped",
    }
}

#[cfg(test)]
mod tests {
    use bagplay::bag::TopicId;
    use bagplay::cli::Chosen;
    use bagplay::output::Null;
    use bagplay::player::{Command, Options, Player, Source, WhenDone};
    use bagplay::time::{Duration, Speed, TimeRange};

    use super::*;

    #[test]
    fn missing_subscribers_are_named_with_the_time_that_is_left() {
        let waiting = |count: u32, millis| Waiting {
            topics: (0..count)
                .map(|id| Chosen {
                    id: TopicId(id),
                    name: format!("/t{id}"),
                    qos: None,
                })
                .collect(),
            left: Duration::from_millis(millis),
        };
        for (count, millis, text) in [
            (1, 17_001, "18 s left for subscribers of /t0"),
            (2, 17_000, "17 s left for subscribers of /t0, /t1"),
            (
                7,
                0,
                "0 s left for subscribers of /t0, /t1, /t2, /t3, /t4 and 2 more",
            ),
        ] {
            assert_eq!(subscribers_missing(&waiting(count, millis)), text);
        }
    }

    #[test]
    fn a_clock_shows_its_time_and_how_far_that_is_from_its_start() {
        let start = Time::from_secs(100);
        let options = Options {
            start: Some(start),
            when_done: WhenDone::Stay,
            pace: Pace::At(Speed::NORMAL.reversed()),
            ..Options::new(TimeRange::between(Time::from_secs(1), Time::from_secs(200)))
        };
        let player = Player::new();
        let transport = player.transport();
        let running = player.start(options, Source::empty(), Null).unwrap();
        for command in [Command::Pause, Command::Seek(Time::from_millis(38_500))] {
            transport.ask(command).unwrap();
        }
        let status = transport.status().unwrap();
        let shown = Shown::clock(&status, transport.now(), "system", start);
        assert_eq!(shown.state, "paused ×-1");
        assert_eq!(shown.text, "38.5 s  −01:01.5");
        let following = Status {
            pace: Pace::Follow,
            ..status
        };
        let shown = Shown::clock(&following, transport.now(), "system", start);
        assert_eq!(shown.state, "paused system time");
        transport.send(Command::Stop).unwrap();
        running.join().unwrap();
    }
}
