//! The log. Lines go to stderr, above a progress bar without overwriting it, or to the event log of the transport bar
//! while that has the screen; and to a file, if one is named. Logging waits for none of them: each has a thread that
//! writes.

pub(crate) mod log_file;
pub(crate) mod queue;
mod reworded;
pub(crate) mod stdout;

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bagplay::cli::{Color, LogLevel, OutputArgs};
use bagplay::untrusted::Foreign;
use indicatif::{MultiProgress, ProgressDrawTarget};
use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::FormatFields as _;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use super::failure::Failure;
use queue::LogQueue;

/// How many earlier lines a screen receives when it opens.
const BACKLOG: usize = 100;
/// How long the end of the process waits for a destination to take one more line.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// The same for an end that must be immediate.
pub(crate) const SHORT_FLUSH_TIMEOUT: Duration = Duration::from_millis(100);

/// The crates of this program.
const CRATES: [&str; 3] = ["bagplay", "bagplay_core", "play"];
/// How the targets of their records begin; `bagplay` is also the beginning of `bagplay_core`.
const OURS: [&str; 2] = ["bagplay", "play"];

/// The queues of all destinations, once logging has started.
static QUEUES: OnceLock<Vec<LogQueue>> = OnceLock::new();

/// Where log lines and progress are written.
#[derive(Clone, Debug)]
pub(crate) struct LogTarget {
    pub(crate) bars: MultiProgress,
    pub(crate) is_drawn: bool,
    pub(crate) is_quiet: bool,
    pub(crate) log: Log,
}

/// A line of the log, without its label and without the end of the line.
#[derive(Clone, Debug)]
pub(crate) struct LogRecord {
    pub(crate) at: Timestamp,
    pub(crate) level: Level,
    pub(crate) text: String,
    /// Logged by this program, not by a library.
    pub(crate) is_ours: bool,
}

/// Takes a line; must not wait, and must not log.
pub(crate) type Listener = Box<dyn Fn(LogRecord) + Send>;

/// Opens the log file, if one is named.
pub(crate) fn open_file(output: &OutputArgs) -> Result<Option<File>, Failure> {
    output.log_file.as_deref().map(log_file::open).transpose()
}

/// Waits until all log lines are written, as long as there is progress: before the process ends, and before output that
/// has to come after them. Gives up when a destination has taken no line for `timeout`.
pub(crate) fn flush(timeout: Duration) {
    for queue in QUEUES.get().into_iter().flatten() {
        queue.flush(timeout);
    }
}

/// Waits for the log when it is dropped: on every way out of `main`.
#[derive(Debug)]
pub(crate) struct FlushOnExit;

impl Drop for FlushOnExit {
    fn drop(&mut self) {
        flush(FLUSH_TIMEOUT);
    }
}

/// Starts logging. Zenoh's own log is off unless `RUST_LOG` asks for it.
pub(crate) fn start(output: &OutputArgs, file: Option<File>) -> LogTarget {
    let is_terminal = stderr().is_terminal();
    let is_quiet = output.quiet || output.log_level >= Some(LogLevel::Warn);
    // A redrawn line would fill the log of a CI job, whose commands may have a terminal.
    let is_drawn = is_terminal && !is_quiet && !is_ci();
    let bars = MultiProgress::with_draw_target(if is_drawn {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    });
    let level = match (output.log_level, output.quiet, output.verbose) {
        (Some(LogLevel::Error | LogLevel::Fatal), ..) | (None, true, _) => LevelFilter::ERROR,
        (Some(LogLevel::Warn), ..) => LevelFilter::WARN,
        (Some(LogLevel::Info), ..) | (None, false, 0) => LevelFilter::INFO,
        (Some(LogLevel::Debug), ..) | (None, false, _) => LevelFilter::DEBUG,
    };
    let is_coloured = match output.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    };
    let requested = std::env::var("RUST_LOG").unwrap_or_default();
    let filter = reworded::admit(filter(level, &requested));
    let above = bars.clone();
    let stderr = LogQueue::start("log", move |line| {
        // Not an error: a missing reader of the log must not end a run.
        let _ = above.suspend(|| stderr().write_all(line.as_bytes()));
    });
    let stderr = stderr.asking(stderr_takes_more);
    let file = file.map(queue_to);
    let _ = QUEUES.set(file.iter().chain([&stderr]).cloned().collect());
    let log = Log(Arc::new(Mutex::new(Destinations {
        stderr,
        is_coloured,
        is_terminal,
        file,
        backlog: VecDeque::new(),
        screen: None,
        copies: None,
        unread: VecDeque::new(),
    })));
    tracing_subscriber::registry()
        .with(filter)
        .with(log.clone())
        .init();
    LogTarget {
        bars,
        is_drawn,
        is_quiet,
        log,
    }
}

/// Whether a CI system runs this: such systems set `CI`. Even if such a job has a terminal, no user looks at it.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty())
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the log is written"
)]
fn stderr() -> io::Stderr {
    io::stderr()
}

/// Whether a write to stderr would not wait for its reader. False if the system does not tell.
fn stderr_takes_more() -> bool {
    let stderr = stderr();
    let mut polled = [PollFd::new(&stderr, PollFlags::OUT)];
    let polled = poll(&mut polled, Some(&Timespec::default()));
    polled.is_ok_and(|ready| ready > 0)
}

/// Our own level, and what `RUST_LOG` adds to it. A level without a target applies to everything and replaces ours. If
/// a directive cannot be parsed, or names a span or a field, all are ignored.
fn filter(level: LevelFilter, requested: &str) -> Targets {
    let own = Targets::new().with_targets(OURS.map(|target| (target, level)));
    // `Targets` takes an empty directive for the level `error`, an empty target for every target, and a space for a
    // part of a name.
    let directives = requested.split(',').map(str::trim);
    let directives: Vec<_> = directives.filter(|it| !it.is_empty()).collect();
    let is_foreign = |it: &&str| it.contains('[') || it.starts_with('=');
    if directives.is_empty() || directives.iter().any(is_foreign) {
        return own;
    }
    // The modules of the core are those of `bagplay` for its users.
    let of_core = directives
        .iter()
        .filter_map(|it| it.strip_prefix("bagplay::"));
    let of_core: Vec<String> = of_core.map(|it| format!("bagplay_core::{it}")).collect();
    let directives = [directives.join(","), of_core.join(",")].join(",");
    match directives.trim_end_matches(',').parse::<Targets>() {
        Err(_) => own,
        Ok(requested) if requested.default_level().is_some() => requested,
        // Of two levels for one target the later one applies.
        Ok(requested) => own.with_targets(requested),
    }
}

fn queue_to(file: File) -> LogQueue {
    let has_failed = OnceLock::new();
    LogQueue::start("log-file", move |line| {
        if has_failed.get().is_none()
            && let Err(error) = log_file::write(&file, line)
        {
            // This comes first, because what is logged about it returns to this function.
            let _ = has_failed.set(());
            tracing::warn!("--log-file cannot be written any more: {error}");
        }
    })
}

/// Where lines go.
#[derive(Clone)]
pub(crate) struct Log(Arc<Mutex<Destinations>>);

struct Destinations {
    stderr: LogQueue,
    is_coloured: bool,
    is_terminal: bool,
    file: Option<LogQueue>,
    backlog: VecDeque<LogRecord>,
    screen: Option<Listener>,
    /// Gets all lines, whatever else becomes of them.
    copies: Option<Listener>,
    /// Warnings and errors that only the screen has shown.
    unread: VecDeque<LogRecord>,
}

impl Log {
    /// `copies` gets all lines from now on, and earlier ones that are still known.
    pub(crate) fn copy_to(&self, copies: Listener) {
        let mut destinations = self.destinations();
        destinations.backlog.iter().cloned().for_each(&copies);
        destinations.copies = Some(copies);
    }

    /// Lines go to `screen` from now on, earlier lines first. They go to stderr as well only if stderr is not the
    /// terminal.
    #[cfg(feature = "tui")]
    pub(crate) fn divert(&self, screen: Listener) {
        let mut destinations = self.destinations();
        destinations.backlog.drain(..).for_each(&screen);
        destinations.screen = Some(screen);
    }

    /// Lines go to stderr again; warnings and errors that only the screen has shown are logged once more.
    #[cfg(feature = "tui")]
    pub(crate) fn restore(&self) {
        let mut destinations = self.destinations();
        destinations.screen = None;
        for record in std::mem::take(&mut destinations.unread) {
            destinations.to_stderr(&record);
        }
    }

    fn destinations(&self) -> MutexGuard<'_, Destinations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Destinations {
    fn put(&mut self, record: LogRecord) {
        self.to_file(&record);
        if let Some(copies) = &self.copies {
            copies(record.clone());
        }
        if self.screen.is_none() || !self.is_terminal {
            self.to_stderr(&record);
        }
        match &self.screen {
            Some(screen) => {
                screen(record.clone());
                if self.is_terminal && record.level <= Level::WARN {
                    keep(&mut self.unread, record);
                }
            }
            None => keep(&mut self.backlog, record),
        }
    }

    fn to_stderr(&self, record: &LogRecord) {
        let (label, colour) = label(record.level);
        let text = &record.text;
        self.stderr.put(if self.is_coloured && !label.is_empty() {
            format!("{colour}{label}\x1b[0m{text}\n")
        } else {
            format!("{label}{text}\n")
        });
    }

    fn to_file(&self, record: &LogRecord) {
        if let Some(file) = &self.file {
            file.put(format!(
                "{:.3} {}{}\n",
                record.at,
                label(record.level).0,
                record.text
            ));
        }
    }
}

/// The last distinct lines.
fn keep(lines: &mut VecDeque<LogRecord>, record: LogRecord) {
    let is_known = |known: &LogRecord| known.level == record.level && known.text == record.text;
    if lines.iter().any(is_known) {
        return;
    }
    if lines.len() == BACKLOG {
        lines.pop_front();
    }
    lines.push_back(record);
}

fn label(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::ERROR => ("error: ", "\x1b[1;31m"),
        Level::WARN => ("warning: ", "\x1b[1;33m"),
        Level::INFO => ("", ""),
        Level::DEBUG => ("debug: ", "\x1b[2m"),
        Level::TRACE => ("trace: ", "\x1b[2m"),
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let module = metadata.target();
        let mut text = String::new();
        // Writing into a string does not fail. The text alone; each destination adds its own label.
        let _ = DefaultFields::new().format_fields(Writer::new(&mut text), event);
        let is_ours = CRATES.contains(&module.split("::").next().unwrap_or_default());
        let (level, text, is_ours) = match reworded::warning(module, &text) {
            Some(warning) => (Level::WARN, warning, true),
            None => (*metadata.level(), text, is_ours),
        };
        self.destinations().put(LogRecord {
            at: Timestamp::now(),
            level,
            // Nothing that a message quotes may control a terminal, end the line or flood the log.
            text: Foreign::text(&text).to_string(),
            is_ours,
        });
    }
}

#[cfg(all(test, feature = "foxglove"))]
mod tests {
    use bagplay::viewer::QUEUE_FULL_TARGET;

    use super::*;

    #[test]
    fn slow_viewers_are_named_if_warnings_are_logged() {
        let (info, error) = (LevelFilter::INFO, LevelFilter::ERROR);
        for (level, requested, is_named) in [
            (info, "", true),
            (LevelFilter::WARN, "", true),
            (error, "", false),
            (error, "warn", true),
            (info, "warn", true),
            (info, "error", false),
            (info, "play=off,bagplay=off", false),
            (info, "zenoh=debug", true),
        ] {
            let filter = reworded::admit(filter(level, requested));
            let is_taken = filter.would_enable(QUEUE_FULL_TARGET, &Level::INFO);
            assert_eq!(is_taken, is_named, "{level} {requested}");
        }
    }

    #[test]
    fn modules_of_the_core_are_named_as_those_of_the_library() {
        let (bag, clock) = ("bagplay_core::bag::walk", "bagplay_core::clock");
        for (requested, module, level, is_logged) in [
            ("bagplay::bag=debug", bag, Level::DEBUG, true),
            ("bagplay::bag=debug", clock, Level::DEBUG, false),
            ("bagplay::bag=debug", clock, Level::INFO, true),
            ("zenoh=warn, bagplay::bag=off", bag, Level::ERROR, false),
            ("bagplay=debug", bag, Level::DEBUG, true),
            ("bagplay=off", bag, Level::ERROR, false),
        ] {
            let filter = filter(LevelFilter::INFO, requested);
            let is_enabled = filter.would_enable(module, &level);
            assert_eq!(is_enabled, is_logged, "{requested} {module} {level}");
        }
    }
}
