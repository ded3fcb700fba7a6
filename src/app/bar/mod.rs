//! The main thread of a run with the transport bar: it feeds the screen with keys, network events, log lines and
//! signals, and sleeps until one of them arrives or a frame is due.

#[cfg(feature = "tui")]
pub(crate) mod attached_run;
#[cfg(feature = "tui")]
pub(crate) mod bar_model;
#[cfg(feature = "tui")]
pub(crate) mod cutting;
#[cfg(feature = "tui")]
pub(crate) mod host;
#[cfg(feature = "tui")]
pub(crate) mod local_run;
#[cfg(feature = "tui")]
pub(crate) mod look;
#[cfg(feature = "tui")]
pub(crate) mod remote_lookup;
#[cfg(feature = "tui")]
pub(crate) mod remote_model;
#[cfg(feature = "tui")]
pub(crate) mod saved;
#[cfg(feature = "tui")]
pub(crate) mod settings;
#[cfg(feature = "tui")]
mod stand_by;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bagplay::bag::{Bag, Reach};
use bagplay::cli::{Exit, Format, OutputArgs, PlayArgs, ScreenArgs};
use bagplay::picture::PictureReader;
use bagplay::player::Running;
use bagplay::time::{Ros, Time, TimeRange};
use bagplay::tui;
use bagplay::tui::{
    Appearance, Event, EventSink, LogLine, Lookup, Model, Screen, ScreenRequest, Severity, Terminal,
};
use bagplay::untrusted::Foreign;
use crossbeam_channel::{Receiver, Sender, TryRecvError, after, bounded, never, select};
use jiff::Timestamp;
use tracing::Level;

use super::failure::{Failure, OrExit};
use super::log::{LogRecord, LogTarget};
use super::network::NetworkEvent;
use super::network::mark_book::MarkBook;
use super::supervise::{Ended, Run};
use super::{log, signals};
use host::{Host, SOON};
use local_run::LocalRun;
use look::Look;
use saved::{resume, watched_file};
use stand_by::{stand_by, suspend};

/// How many events may wait for the screen; log lines beyond that are missing from the event log.
const WAITING: usize = 1024;
/// How long the end of a run may take on a terminal that takes no output.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long an end that waits for nothing else waits for the disk.
const PATIENCE: Duration = Duration::from_millis(500);

/// What was decided before the run: whether there is a bar, and how it looks.
#[derive(Debug)]
pub(crate) struct Setup {
    args: PlayArgs,
    look: Look,
    /// Whether the report is JSON: such a run does not begin where the recording was left.
    is_json: bool,
    /// Where playing begins, because the recording was left there.
    resumes_at: Option<Time<Ros>>,
}

impl Setup {
    /// Whether everything is written in ASCII.
    pub(crate) const fn is_ascii(&self) -> bool {
        self.look.is_ascii
    }

    /// Where the player is to begin, if the recording was left there.
    pub(crate) fn prepare(&mut self, bag: &Bag, played: TimeRange) -> Option<Time<Ros>> {
        let position = resume::position(&self.args, bag);
        self.resumes_at = position.filter(|time| played.contains(*time) && !self.is_json);
        self.resumes_at
    }
}

/// Decides whether the bar is shown, and how: it is shown on request, or on a terminal outside of CI.
pub(crate) fn setup(args: &PlayArgs, output: &OutputArgs) -> Result<Option<Setup>, Failure> {
    let ScreenArgs { tui, no_tui, ascii } = args.screen;
    if no_tui || args.ros.disable_keyboard_controls || (log::is_ci() && !tui) {
        return Ok(None);
    }
    if !tui::has_usable_terminal() {
        if tui::has_dumb_terminal() {
            tracing::info!("no transport bar: the terminal cannot move its cursor (TERM)");
        } else if tui {
            tracing::warn!(
                "--tui: no terminal to draw on and to read keys from; playing without the transport bar"
            );
        }
        return Ok(None);
    }
    Ok(Some(Setup {
        args: args.clone(),
        look: Look::of_user(ascii, output)?,
        is_json: output.format == Format::Json,
        resumes_at: None,
    }))
}

/// Whether a topic of the recording has pictures.
fn has_pictures(bag: &Bag) -> bool {
    bag.topics().iter().any(PictureReader::is_for)
}

/// Shows the bar until the player is done; returns how the run ended.
pub(crate) fn watch<O>(
    run: &Run<'_>,
    running: &Running<O>,
    bag: &Bag,
    reach: Reach,
    marks: &Arc<MarkBook>,
    setup: Setup,
) -> Result<Ended, Failure> {
    let Setup {
        look, resumes_at, ..
    } = setup;
    let known = marks.list().unwrap_or_else(|error| {
        tracing::warn!("marks are neither shown nor saved: {error}");
        Vec::new()
    });
    let name = bag.files().first().map(|file| file.name.last_part());
    let mut host = LocalRun::new(run, running, bag, marks);
    let shown = show(
        &mut host,
        run.log_target,
        name.unwrap_or_default(),
        || look.appearance(has_pictures(bag)),
        |appearance, events| {
            let model = bar_model::model(run, bag, appearance, known);
            let mut model = model.watching(&watched_file::load());
            if let Some(position) = resumes_at {
                model.handle(resume::begun(bag, position), Timestamp::now());
            }
            let changed = EventSink::clone(&events);
            marks.watch(move |marks| changed(Event::Marks(marks)));
            let lookup = Lookup::start(bag.clone(), events)?;
            Ok(Shown {
                model,
                reach,
                lookup,
            })
        },
    );
    let model = shown?;
    watched_file::save(&model);
    if let Some(command) = resume::last_command(&model) {
        tracing::info!("resume with: {command}");
    }
    Ok(host.ended())
}

/// What the bar shows of a run.
pub(crate) struct Shown {
    /// The model before any event.
    pub(crate) model: Model,
    /// How far the player has read ahead.
    pub(crate) reach: Reach,
    /// Reads what the screen asks for.
    pub(crate) lookup: Lookup,
}

/// Shows the bar until `host` is done. `ask` asks the terminal how the bar looks on it. `start` gets that, and the sink
/// of the screen's events.
pub(crate) fn show(
    host: &mut dyn Host,
    log_target: &LogTarget,
    name: &str,
    ask: impl FnOnce() -> Appearance,
    start: impl FnOnce(Appearance, EventSink) -> anyhow::Result<Shown>,
) -> Result<Model, Failure> {
    let (told, news) = bounded(WAITING);
    // Nothing is written any more where the screen will be, and earlier lines have been written.
    log_target.log.divert(Box::new(lines_to(told.clone())));
    log::flush(log::FLUSH_TIMEOUT);
    let appearance = ask();
    let terminal = Terminal::enter(&format!("play {}", Foreign::text(name))).or_exit(Exit::Failed);
    let terminal = terminal.inspect_err(|_| log_target.log.restore())?;
    let sink: EventSink = Arc::new(move |event| {
        // The receiver is dropped with the screen.
        let _ = told.send(event);
    });
    let events = (EventSink::clone(&sink), news);
    let done = start(appearance, sink).and_then(|shown| draw(host, shown, terminal, &events));
    if tui::is_stuck() {
        let exit = done.as_ref().map_or(Exit::Failed, |_| host.exit());
        leave_anyway(exit).or_exit(Exit::Failed)?;
    }
    // From here on nothing draws, even if the screen failed.
    log_target.log.restore();
    done.context("the terminal cannot be drawn on")
        .or_exit(Exit::Failed)
}

fn draw(
    host: &mut dyn Host,
    Shown {
        model,
        reach,
        lookup,
    }: Shown,
    terminal: Terminal,
    (told, news): &(EventSink, Receiver<Event>),
) -> anyhow::Result<Model> {
    let (wake, moved) = bounded(1);
    let transport = host.transport().clone();
    transport.on_change(Arc::new(move || {
        // One waiting wake-up is enough.
        let _ = wake.try_send(());
    }));
    let jobs = signals::jobs()?;
    let mut screen = Screen::new(model, terminal, transport, reach, lookup)?;
    let mut keys = tui::input_events()?;
    let mut hang_up = tui::terminal_hang_up()?;
    screen.handle(host.first_events());
    let mut is_drawn = true;
    loop {
        if is_drawn && let Err(error) = screen.draw() {
            has_gone(host, error.into())?;
            is_drawn = false;
        }
        let mut requests = select! {
            recv(host.done()) -> _ => break,
            recv(host.signals()) -> signal => {
                host.interrupt(signal.unwrap_or(Exit::Interrupted));
                Vec::new()
            }
            recv(keys) -> key => if let Ok(key) = key {
                screen.handle(std::iter::once(key).chain(keys.try_iter()))
            } else {
                has_gone(host, anyhow::anyhow!("no keys can be read from it"))?;
                (keys, is_drawn) = (never(), false);
                Vec::new()
            },
            recv(hang_up) -> _ => {
                has_gone(host, anyhow::anyhow!("it was closed"))?;
                (hang_up, is_drawn) = (never(), false);
                Vec::new()
            }
            recv(host.network_events()) -> event => {
                let more = host.network_events().try_iter();
                let happened: Vec<NetworkEvent> = event.into_iter().chain(more).collect();
                screen.handle(host.take(&happened))
            }
            recv(news) -> event => screen.handle(event.into_iter().chain(news.try_iter())),
            recv(moved) -> _ => {
                screen.motion_changed();
                host.has_moved();
                Vec::new()
            }
            recv(jobs.told) -> job => {
                if let Ok(job) = job {
                    stand_by(host, &mut screen, job, &jobs);
                }
                Vec::new()
            }
            recv(next(host, is_drawn.then_some(&screen))) -> _ => Vec::new(),
        };
        if host
            .deadline()
            .is_some_and(|at| at <= host.transport().now())
        {
            screen.handle(host.look());
        }
        // The key may have been pressed again before the process stops.
        requests.dedup_by(|next, before| next == before && *next == ScreenRequest::Suspend);
        for request in requests {
            match request {
                ScreenRequest::AddMark(mark) => host.add_mark(mark),
                ScreenRequest::RemoveMark(time) => host.remove_mark(time),
                ScreenRequest::Cut(request) => host.cut(request, EventSink::clone(told)),
                ScreenRequest::CopyCommand => copy_command(host, &mut screen),
                ScreenRequest::Suspend => suspend(host, &mut screen, &jobs),
                // If the end takes long because a send is stuck, a second quit is deliberate. Before that, the key was
                // only pressed twice.
                ScreenRequest::Quit | ScreenRequest::QuitToResume | ScreenRequest::Interrupt
                    if host.is_late() && !is_done(host) =>
                {
                    tui::restore_for_good();
                    watched_file::save(screen.model());
                    host.finish_marks(PATIENCE);
                    log::flush(log::SHORT_FLUSH_TIMEOUT);
                    std::process::exit(signals::decide(Exit::Interrupted).code().into());
                }
                ScreenRequest::QuitToResume => {
                    remember(host, screen.model());
                    host.leave();
                }
                ScreenRequest::Interrupt => host.interrupt(Exit::Interrupted),
                ScreenRequest::Quit => host.leave(),
            }
        }
    }
    Ok(screen.into_model())
}

/// Whether there is nothing more to show.
fn is_done(host: &dyn Host) -> bool {
    host.done().try_recv() == Err(TryRecvError::Disconnected)
}

fn copy_command(host: &dyn Host, screen: &mut Screen) {
    if let Some(command) = host.command_line(screen.model()) {
        screen.copy(&command);
        tracing::info!("sent to the clipboard of the terminal: {command}");
    } else {
        tracing::info!("no command line to copy: playback has not begun");
    }
}

fn remember(host: &mut dyn Host, model: &Model) {
    if let Some(position) = model.position_within() {
        host.remember(position);
    } else {
        tracing::info!("no position to remember: playback is at its start or end");
    }
}

/// Ends the process even if the terminal never takes the last output.
fn leave_anyway(exit: Exit) -> std::io::Result<()> {
    let leave = move || {
        let _ = after(LAST_WORDS).recv();
        log::flush(log::SHORT_FLUSH_TIMEOUT);
        std::process::exit(signals::decide(exit).code().into());
    };
    let thread = std::thread::Builder::new().name("leave".into());
    thread.spawn(leave).map(drop)
}

/// If a terminal is closed, a signal arrives at about the time when drawing fails. If both happen, the signal decides
/// the exit code.
fn has_gone(host: &mut dyn Host, error: anyhow::Error) -> anyhow::Result<()> {
    if !host.is_ending() {
        let signal = host.signals().recv_timeout(SOON);
        host.interrupt(signal.map_err(|_| error)?);
    }
    Ok(())
}

/// Fires when there is something to do even without an event.
fn next(host: &dyn Host, screen: Option<&Screen>) -> Receiver<std::time::Instant> {
    let deadlines = [screen.and_then(Screen::next_frame), host.deadline()];
    match deadlines.into_iter().flatten().min() {
        Some(at) => after(
            at.saturating_since(host.transport().now())
                .to_std()
                .max(Duration::from_millis(1)),
        ),
        None => never(),
    }
}

fn lines_to(told: Sender<Event>) -> impl Fn(LogRecord) + Send {
    move |record| {
        let severity = match record.level {
            Level::ERROR => Severity::Error,
            Level::WARN => Severity::Warning,
            Level::INFO => Severity::Info,
            Level::DEBUG | Level::TRACE => Severity::Debug,
        };
        // The channel is full only if more is logged than a person can read.
        let _ = told.try_send(Event::Log(LogLine {
            at: record.at,
            severity,
            text: record.text,
        }));
    }
}
