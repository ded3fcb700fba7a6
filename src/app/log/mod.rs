//! The log. Lines go to stderr, above a progress bar without overwriting it, or to the event log of the transport bar
//! while that has the screen; and to a file, if one is named. Logging waits for none of them: each has a thread that
//! writes.

pub(crate) mod log_file;
pub(crate) mod queue;
pub(crate) mod stdout;

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bagplay::cli::{Color, LogLevel, TalkArgs};
use bagplay::untrusted::Foreign;
use indicatif::{MultiProgress, ProgressDrawTarget};
use jiff::Timestamp;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use super::failure::Failure;
use queue::LogQueue;

/// How many earlier lines a screen receives when it opens.
const BACKLOG: usize = 100;
/// How long the end of the process waits for the log to make progress.
pub(crate) const A_WHILE: Duration = Duration::from_secs(1);
/// The same for an end that must be immediate.
pub(crate) const AN_INSTANT: Duration = Duration::from_millis(100);

/// Where lines are written, once logging has started.
static OUTLETS: OnceLock<Vec<LogQueue>> = OnceLock::new();

/// Where log lines and progress are written.
#[derive(Clone, Debug)]
pub(crate) struct LogTarget {
    pub(crate) bars: MultiProgress,
    pub(crate) is_drawn: bool,
    pub(crate) is_quiet: bool,
    #[cfg(feature = "tui")]
    pub(crate) log: Log,
}

/// A log line.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) at: Timestamp,
    pub(crate) level: Level,
    pub(crate) text: String,
}

/// Takes a line; must not wait, and must not log.
pub(crate) type Listener = Box<dyn Fn(Said) + Send>;

/// Opens the log file, if one is named.
pub(crate) fn open_file(talk: &TalkArgs) -> Result<Option<File>, Failure> {
    talk.log_file.as_deref().map(log_file::open).transpose()
}

/// Waits until all log lines are written, as long as there is progress: before the process ends, and before output that
/// has to come after them. Gives up after `patience` without a line taken.
pub(crate) fn flush(patience: Duration) {
    for outlet in OUTLETS.get().into_iter().flatten() {
        outlet.flush(patience);
    }
}

/// Waits for the log when it is dropped: on every way out of `main`.
#[derive(Debug)]
pub(crate) struct SaidBeforeTheEnd;

impl Drop for SaidBeforeTheEnd {
    fn drop(&mut self) {
        flush(A_WHILE);
    }
}

/// Starts logging. Zenoh's own log is off unless `RUST_LOG` asks for it.
pub(crate) fn start(talk: &TalkArgs, file: Option<File>) -> LogTarget {
    let is_terminal = stderr().is_terminal();
    let is_quiet = talk.quiet || talk.log_level >= Some(LogLevel::Warn);
    let is_drawn = is_terminal && !is_quiet;
    let bars = MultiProgress::with_draw_target(if is_drawn {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    });
    let level = match (talk.log_level, talk.quiet, talk.verbose) {
        (Some(LogLevel::Error | LogLevel::Fatal), ..) | (None, true, _) => "error",
        (Some(LogLevel::Warn), ..) => "warn",
        (Some(LogLevel::Info), ..) | (None, false, 0) => "info",
        (Some(LogLevel::Debug), ..) | (None, false, 1) => "debug",
        (None, false, _) => "trace",
    };
    let is_coloured = match talk.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    };
    let asked = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    let filter = filter(level, &asked);
    let above = bars.clone();
    let stderr = LogQueue::start("log", move |line| {
        // Not an error: a missing reader of the log must not end a run.
        let _ = above.suspend(|| stderr().write_all(line.as_bytes()));
    });
    let file = file.map(outlet_to);
    let _ = OUTLETS.set(file.iter().chain([&stderr]).cloned().collect());
    let log = Log(Arc::new(Mutex::new(Sinks {
        stderr,
        is_coloured,
        is_terminal,
        file,
        backlog: VecDeque::new(),
        screen: None,
        unread: VecDeque::new(),
    })));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .event_format(Plain)
        .with_writer(log.clone())
        .init();
    LogTarget {
        bars,
        is_drawn,
        is_quiet,
        #[cfg(feature = "tui")]
        log,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the log is written"
)]
fn stderr() -> io::Stderr {
    io::stderr()
}

/// Our own level, and what `RUST_LOG` adds to it. A level without a target applies to everything and replaces ours. A
/// directive that cannot be parsed is ignored.
fn filter(level: &str, asked: &str) -> EnvFilter {
    let own = format!("off,bagplay={level},play={level}");
    let is_readable = EnvFilter::try_new(asked).is_ok();
    let mut directives = asked.split(',').map(str::trim);
    let is_for_all = |directive: &str| directive.parse::<LevelFilter>().is_ok();
    match asked.trim() {
        "" => EnvFilter::new(own),
        _ if !is_readable => EnvFilter::new(own),
        _ if directives.any(is_for_all) => EnvFilter::new(asked),
        // Of two directives for one target the later one applies.
        _ => EnvFilter::new(format!("{own},{asked}")),
    }
}

fn outlet_to(file: File) -> LogQueue {
    let has_failed = OnceLock::new();
    LogQueue::start("log-file", move |line| {
        if has_failed.get().is_none()
            && let Err(error) = log_file::write(&file, line)
        {
            // This comes first, because what is logged about it returns to this function.
            let _ = has_failed.set(());
            tracing::warn!("the log file cannot be written any more: {error}");
        }
    })
}

/// Where lines go.
#[derive(Clone)]
pub(crate) struct Log(Arc<Mutex<Sinks>>);

struct Sinks {
    stderr: LogQueue,
    is_coloured: bool,
    is_terminal: bool,
    file: Option<LogQueue>,
    backlog: VecDeque<Said>,
    screen: Option<Listener>,
    /// Warnings and errors that only the screen has shown.
    unread: VecDeque<Said>,
}

impl Log {
    /// Lines go to `screen` from now on, earlier lines first. They go to stderr as well only if stderr is not the
    /// terminal.
    #[cfg(feature = "tui")]
    pub(crate) fn divert(&self, screen: Listener) {
        let mut sinks = self.sinks();
        sinks.backlog.drain(..).for_each(&screen);
        sinks.screen = Some(screen);
    }

    /// Lines go to stderr again; warnings and errors that only the screen has shown are logged once more.
    #[cfg(feature = "tui")]
    pub(crate) fn bring_back(&self) {
        let mut sinks = self.sinks();
        sinks.screen = None;
        for said in std::mem::take(&mut sinks.unread) {
            sinks.to_stderr(&said);
        }
    }

    fn sinks(&self) -> MutexGuard<'_, Sinks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sinks {
    fn say(&mut self, said: Said) {
        self.write_down(&said);
        if self.screen.is_none() || !self.is_terminal {
            self.to_stderr(&said);
        }
        match &self.screen {
            Some(screen) => {
                screen(said.clone());
                if self.is_terminal && said.level <= Level::WARN {
                    keep(&mut self.unread, said);
                }
            }
            None => keep(&mut self.backlog, said),
        }
    }

    fn to_stderr(&self, said: &Said) {
        let (label, colour) = label(said.level);
        self.stderr.put(if self.is_coloured && !label.is_empty() {
            format!("{colour}{label}\x1b[0m{}\n", said.text)
        } else {
            format!("{label}{}\n", said.text)
        });
    }

    fn write_down(&self, said: &Said) {
        if let Some(file) = &self.file {
            file.put(format!(
                "{:.3} {}{}\n",
                said.at,
                label(said.level).0,
                said.text
            ));
        }
    }
}

/// The last distinct lines.
fn keep(lines: &mut VecDeque<Said>, said: Said) {
    let is_known = |known: &Said| known.level == said.level && known.text == said.text;
    if lines.iter().any(is_known) {
        return;
    }
    if lines.len() == BACKLOG {
        lines.pop_front();
    }
    lines.push_back(said);
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

/// The text alone; each destination adds its own label.
struct Plain;

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        context.format_fields(writer.by_ref(), event)
    }
}

/// Collects the text of one event.
pub(crate) struct Saying {
    log: Log,
    level: Level,
}

impl Write for Saying {
    /// The complete text of an event.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.log.sinks().say(Said {
            at: Timestamp::now(),
            level: self.level,
            // Nothing that a message quotes may control a terminal, end the line or flood the log.
            text: Foreign::text(&String::from_utf8_lossy(text)).to_string(),
        });
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Saying;

    fn make_writer(&'a self) -> Saying {
        Saying {
            log: self.clone(),
            level: Level::INFO,
        }
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> Saying {
        Saying {
            log: self.clone(),
            level: *about.level(),
        }
    }
}
