//! The main thread of a run with the transport bar: it feeds the screen with keys, network events, log lines and
//! signals, and sleeps until one of them arrives or a frame is due.

#[cfg(feature = "tui")]
pub(crate) mod bar_model;
#[cfg(feature = "tui")]
pub(crate) mod mark_writer;
#[cfg(feature = "tui")]
pub(crate) mod settings;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bagplay::bag::{Bag, Reach};
use bagplay::cli::{Color, Exit, OutputArgs, PlayArgs, ScreenArgs};
use bagplay::marks::Marks;
use bagplay::player::Running;
use bagplay::tui;
use bagplay::tui::{
    Appearance, Config, Event, Glyphs, LogLine, Screen, ScreenRequest, Severity, Terminal,
    ThemeName,
};
use bagplay::untrusted::Foreign;
use bagplay::wire::WireEvent;
use crossbeam_channel::{Receiver, Sender, after, bounded, never, select};
use jiff::Timestamp;
use tracing::Level;

use super::failure::{Failure, OrExit};
use super::log::LogRecord;
use super::signals::{Job, Jobs};
use super::supervise::{Ended, Run, Supervisor};
use super::{dirs, log, signals};
use mark_writer::MarkWriter;

/// How many events may wait for the screen; log lines beyond that are missing from the event log.
const WAITING: usize = 1024;
/// How long a stop waits for the shell's SIGCONT, which may already be on its way.
const A_MOMENT: Duration = Duration::from_millis(100);
/// The longest interval between two signals of one cause.
const SOON: Duration = Duration::from_millis(300);
/// How long the end of a run may take on a terminal that takes no output.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long an end that waits for nothing else waits for the disk.
const PATIENCE: Duration = Duration::from_millis(500);

/// What was decided before the run: whether there is a bar, and how it looks.
#[derive(Debug)]
pub(crate) struct Setup {
    args: PlayArgs,
    appearance: Appearance,
    /// `None` if the existing file of marks cannot be read: then it is not changed.
    marks: Option<Marks>,
}

/// Decides whether the bar is shown, and its settings: on request, or on a terminal outside of CI.
pub(crate) fn setup(args: &PlayArgs, output: &OutputArgs) -> Result<Option<Setup>, Failure> {
    let ScreenArgs { tui, no_tui, ascii } = args.screen;
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    if no_tui || args.ros.disable_keyboard_controls || (is_ci && !tui) {
        return Ok(None);
    }
    if !tui::has_usable_terminal() {
        if tui {
            tracing::warn!("--tui: no terminal to draw on and to read keys from; playing without");
        }
        return Ok(None);
    }
    let config = config()?;
    let marks = Marks::read(&args.bags, dirs::state().as_deref());
    if let Err(error) = &marks {
        tracing::warn!("there are no marks, and none are kept: {error}");
    }
    let background = std::env::var("COLORFGBG").ok();
    let theme = if is_plain(output) {
        ThemeName::None
    } else {
        config.theme
    };
    let appearance = Appearance {
        bindings: config.bindings,
        glyphs: if ascii || config.ascii || is_plain_text() {
            Glyphs::ASCII
        } else {
            Glyphs::UNICODE
        },
        theme: theme.theme(background.as_deref()),
        time_format: config.time_format,
    };
    let marks = marks.ok();
    Ok(Some(Setup {
        args: args.clone(),
        appearance,
        marks,
    }))
}

/// Whether the locale explicitly allows nothing but ASCII.
fn is_plain_text() -> bool {
    let set = |name: &&str| std::env::var_os(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    locale.is_some_and(|locale| locale == "C" || locale == "POSIX")
}

/// Whether colours are off: bold and reversed text replaces them.
fn is_plain(output: &OutputArgs) -> bool {
    match output.color {
        Color::Always => false,
        Color::Never => true,
        Color::Auto => std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
    }
}

/// The settings in `config.toml`, if it exists.
fn config() -> Result<Config, Failure> {
    let Some(path) = dirs::config().map(|folder| folder.join("bagplay/config.toml")) else {
        return Ok(Config::default());
    };
    match settings::read(&path)? {
        Some(text) => Config::parse(&text, &path).or_exit(Exit::Usage),
        None => Ok(Config::default()),
    }
}

/// Shows the bar until the player is done; returns how the run ended.
pub(crate) fn watch<O>(
    run: &Run<'_>,
    running: &Running<O>,
    bag: &Bag,
    reach: Reach,
    setup: Setup,
) -> Result<Ended, Failure> {
    let (told, news) = bounded(WAITING);
    let name = bag.files().first().map(|file| file.name.last_part());
    let name = Foreign::text(name.unwrap_or_default()).to_string();
    // Nothing is written any more where the screen will be, and earlier lines have been written.
    run.log_target.log.divert(Box::new(lines_to(told.clone())));
    log::flush(log::FLUSH_TIMEOUT);
    let terminal = Terminal::enter(&format!("play {name}")).or_exit(Exit::Failed);
    let terminal = terminal.inspect_err(|_| run.log_target.log.restore())?;
    let done = show(run, running, bag, reach, setup, terminal, (told, &news));
    if tui::is_stuck() {
        leave_anyway(done.as_ref().map_or(Exit::Failed, |ended| ended.exit))
            .or_exit(Exit::Failed)?;
    }
    // From here on nothing draws, even if the screen failed.
    run.log_target.log.restore();
    done.context("the terminal cannot be drawn on")
        .or_exit(Exit::Failed)
}

fn show<O>(
    run: &Run<'_>,
    running: &Running<O>,
    bag: &Bag,
    reach: Reach,
    Setup {
        args,
        appearance,
        marks,
    }: Setup,
    terminal: Terminal,
    (told, news): (Sender<Event>, &Receiver<Event>),
) -> anyhow::Result<Ended> {
    let (wake, moved) = bounded(1);
    run.transport.on_change(Arc::new(move || {
        // One waiting wake-up is enough.
        let _ = wake.try_send(());
    }));
    let sink = Arc::new(move |event| {
        // The receiver is gone once the screen is gone.
        let _ = told.send(event);
    });
    let model = bar_model::model(run, &args, bag, appearance, marks.as_ref());
    let transport = run.transport.clone();
    let mut supervisor = Supervisor::new(run);
    // The screen is dropped before these, so that the user does not look at it while they are waited for.
    let mut mark_writer = MarkWriter::start(marks)?;
    let jobs = signals::jobs()?;
    let mut screen = Screen::new(model, terminal, transport, reach, bag.clone(), sink)?;
    let mut keys = tui::input_events()?;
    let mut hang_up = tui::terminal_hang_up()?;
    let events = run.network.events();
    screen.handle([bar_model::subscribers(run, bag)]);
    let mut is_drawn = true;
    loop {
        if is_drawn && let Err(error) = screen.draw() {
            has_gone(run, &mut supervisor, error.into())?;
            is_drawn = false;
        }
        let requests = select! {
            recv(running.done()) -> _ => break,
            recv(run.signals) -> signal => {
                supervisor.interrupt(signal.unwrap_or(Exit::Interrupted));
                Vec::new()
            }
            recv(keys) -> key => if let Ok(key) = key {
                screen.handle(std::iter::once(key).chain(keys.try_iter()))
            } else {
                has_gone(run, &mut supervisor, anyhow::anyhow!("nothing can be read from it"))?;
                (keys, is_drawn) = (never(), false);
                Vec::new()
            },
            recv(hang_up) -> _ => {
                has_gone(run, &mut supervisor, anyhow::anyhow!("it is not there any more"))?;
                (hang_up, is_drawn) = (never(), false);
                Vec::new()
            }
            recv(events) -> event => {
                let happened: Vec<WireEvent> = event.into_iter().chain(events.try_iter()).collect();
                supervisor.take(&happened);
                let joins = happened.iter().filter_map(joined);
                let seen: Vec<Event> = joins.chain([bar_model::subscribers(run, bag)]).collect();
                screen.handle(seen)
            }
            recv(news) -> event => screen.handle(event.into_iter().chain(news.try_iter())),
            recv(moved) -> _ => {
                screen.motion_changed();
                supervisor.has_moved();
                Vec::new()
            }
            recv(jobs.told) -> job => {
                if let Ok(job) = job {
                    stand_by(run, &mut screen, &mut supervisor, job, &jobs);
                }
                Vec::new()
            }
            recv(next(run, is_drawn.then_some(&screen), &supervisor)) -> _ => Vec::new(),
        };
        if supervisor
            .deadline()
            .is_some_and(|at| at <= run.transport.now())
        {
            supervisor.look();
        }
        for request in requests {
            match request {
                ScreenRequest::AddMark(mark) => mark_writer.add(mark),
                ScreenRequest::RemoveMark(time) => mark_writer.remove(time),
                // A second quit after some time is deliberate: a send is stuck. Before that, it was one key press too
                // many.
                ScreenRequest::Quit if supervisor.is_late() => {
                    tui::restore_for_good();
                    mark_writer.finish(PATIENCE);
                    log::flush(log::SHORT_FLUSH_TIMEOUT);
                    std::process::exit(signals::decide(Exit::Interrupted).code().into());
                }
                ScreenRequest::Quit => supervisor.leave(),
            }
        }
    }
    Ok(supervisor.ended())
}

/// Ends the process even if the last output waits for ever for a terminal that takes none.
fn leave_anyway(exit: Exit) -> std::io::Result<()> {
    let leave = move || {
        let _ = after(LAST_WORDS).recv();
        log::flush(log::SHORT_FLUSH_TIMEOUT);
        std::process::exit(signals::decide(exit).code().into());
    };
    let thread = std::thread::Builder::new().name("leave".into());
    thread.spawn(leave).map(drop)
}

/// Stops the process if a shell asks for it, and takes the terminal again once the process is continued in the
/// foreground. In the background it stops again, unless a signal ends it; then it ends without touching the terminal,
/// which belongs to another job.
fn stand_by(
    run: &Run<'_>,
    screen: &mut Screen,
    supervisor: &mut Supervisor<'_>,
    job: Job,
    jobs: &Jobs,
) {
    let is_asked = job == Job::Stop && jobs.is_to_stop();
    let mut stops = is_asked && tui::has_shell();
    if stops {
        screen.restore_terminal();
        // Our parent stops as well, and the shell may have taken the terminal and given it back by now.
        let is_late = !tui::is_in_foreground();
        let _ = jobs.told.recv_timeout(A_MOMENT);
        stops = jobs.is_to_stop() && !(is_late && tui::is_in_foreground());
    } else if is_asked {
        tracing::info!("not stopped: there is no shell to let it go on");
    }
    loop {
        if stops {
            signals::stop();
        }
        if tui::may_use_terminal() {
            break screen.reenter_terminal();
        }
        if supervisor.is_ending() {
            break;
        }
        // A shell that ends a stopped job sends the ending signal before SIGCONT.
        if let Ok(exit) = run.signals.recv_timeout(SOON) {
            break supervisor.interrupt(exit);
        }
        stops = !tui::may_use_terminal();
    }
    // Requests that arrived while the process was stopped are obsolete, unless the last one was to stop again.
    if !jobs.is_to_stop() {
        jobs.told.try_iter().for_each(drop);
    }
}

/// A terminal that goes away also causes a signal, about when drawing on it fails. If both happen, the signal is the
/// reason of the end.
fn has_gone(
    run: &Run<'_>,
    supervisor: &mut Supervisor<'_>,
    error: anyhow::Error,
) -> anyhow::Result<()> {
    if !supervisor.is_ending() {
        let signal = run.signals.recv_timeout(SOON);
        supervisor.interrupt(signal.map_err(|_| error)?);
    }
    Ok(())
}

/// When something is to be done even without an event.
fn next(
    run: &Run<'_>,
    screen: Option<&Screen>,
    supervisor: &Supervisor<'_>,
) -> Receiver<std::time::Instant> {
    let deadlines = [screen.and_then(Screen::next_frame), supervisor.deadline()];
    match deadlines.into_iter().flatten().min() {
        Some(at) => after(
            at.saturating_since(run.transport.now())
                .to_std()
                .max(Duration::from_millis(1)),
        ),
        None => never(),
    }
}

/// The event log of the bar also shows subscribers that join and leave.
fn joined(event: &WireEvent) -> Option<Event> {
    match event {
        WireEvent::SubscriberJoined { .. }
        | WireEvent::SubscriberLeft { .. }
        | WireEvent::ClockSubscriber { .. } => Some(Event::Log(LogLine {
            at: Timestamp::now(),
            severity: Severity::Info,
            text: event.to_string(),
        })),
        _ => None,
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
        // The channel is full only if more is logged than anybody can read.
        let _ = told.try_send(Event::Log(LogLine {
            at: record.at,
            severity,
            text: record.text,
        }));
    }
}
