//! What is said on stderr: log lines, and a progress bar that they never run across.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use bagplay::cli::{Color, TalkArgs};
use indicatif::{MultiProgress, ProgressDrawTarget};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

/// The terminal that progress is drawn on.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    pub(crate) bars: MultiProgress,
    pub(crate) is_drawn: bool,
    pub(crate) is_quiet: bool,
}

/// Starts logging to stderr. Zenoh's own log stays off unless `RUST_LOG` asks for it.
pub(crate) fn start(talk: &TalkArgs) -> Terminal {
    let is_terminal = io::stderr().is_terminal();
    let is_drawn = is_terminal && !talk.quiet;
    let bars = MultiProgress::with_draw_target(if is_drawn {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    });
    let level = match (talk.quiet, talk.verbose) {
        (true, _) => "error",
        (false, 0) => "info",
        (false, 1) => "debug",
        (false, _) => "trace",
    };
    let is_coloured = match talk.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    };
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("off,bagplay={level},play={level}")));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(is_coloured)
        .event_format(Plain)
        .with_writer(AboveBars(bars.clone()))
        .init();
    Terminal {
        bars,
        is_drawn,
        is_quiet: talk.quiet,
    }
}

/// `warning: text`, as command-line tools speak; no time, no target.
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
        let (label, colour) = match *event.metadata().level() {
            Level::ERROR => ("error: ", "\x1b[1;31m"),
            Level::WARN => ("warning: ", "\x1b[1;33m"),
            Level::INFO => ("", ""),
            Level::DEBUG => ("debug: ", "\x1b[2m"),
            Level::TRACE => ("trace: ", "\x1b[2m"),
        };
        if writer.has_ansi_escapes() && !label.is_empty() {
            write!(writer, "{colour}{label}\x1b[0m")?;
        } else {
            write!(writer, "{label}")?;
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Writes lines above the bar.
#[derive(Clone)]
struct AboveBars(MultiProgress);

impl Write for AboveBars {
    /// Never fails: that nobody listens must not end a run.
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let _ = self.0.suspend(|| io::stderr().write_all(text));
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for AboveBars {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
