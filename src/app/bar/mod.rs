//! The main thread of a run with the transport bar: it feeds the screen with keys, the network's events, what
//! is said, and signals, and sleeps until one of them comes or a picture is due.

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
use bagplay::cli::{Color, Exit, PlayArgs, ScreenArgs, TalkArgs};
use bagplay::marks::Marks;
use bagplay::player::Running;
use bagplay::tui;
use bagplay::tui::{
    Config, Event, Glyphs, Line, Look, Screen, Severity, Terminal, ThemeName, Wish,
};
use bagplay::untrusted::Foreign;
use bagplay::wire::WireEvent;
use crossbeam_channel::{Receiver, Sender, after, bounded, never, select};
use jiff::Timestamp;
use tracing::Level;

use super::failure::{Failure, OrExit};
use super::log::Said;
use super::signals::{Job, Jobs};
use super::supervise::{Ended, Run, Supervisor};
use super::{dirs, log, signals};
use mark_writer::MarkWriter;

/// How much may wait for the screen; of log lines beyond that the event log misses some.
const WAITING: usize = 1024;
/// How long a stop waits for the shell's word to go on, which may have come meanwhile.
const A_MOMENT: Duration = Duration::from_millis(100);
/// How far behind each other two signals of one cause are at most.
const SOON: Duration = Duration::from_millis(300);
/// How long the end of a run may take on a terminal that takes nothing.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// What an end that waits for nobody waits for the disk.
const PATIENCE: Duration = Duration::from_millis(500);

/// What was decided before the run: whether there is a bar, and how it looks.
#[derive(Debug)]
pub(crate) struct Setup {
    look: Look,
    /// None if what there is cannot be read: it is left alone then.
    marks: Option<Marks>,
}

/// Whether the bar is shown, and with what: asked for, or on a terminal outside of CI.
pub(crate) fn setup(args: &PlayArgs, talk: &TalkArgs) -> Result<Option<Setup>, Failure> {
    let ScreenArgs { tui, no_tui, ascii } = args.screen;
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    if no_tui || args.ros.disable_keyboard_controls || (is_ci && !tui) {
        return Ok(None);
    }
    if !tui::is_there() {
        if tui {
            tracing::warn!("--tui: no terminal to draw on and to read keys from; playing without");
        }
        return Ok(None);
    }
    let config = config()?;
    let marks = Marks::of(&args.bags, dirs::state().as_deref());
    if let Err(error) = &marks {
        tracing::warn!("there are no marks, and none are kept: {error}");
    }
    let background = std::env::var("COLORFGBG").ok();
    let theme = if is_plain(talk) {
        ThemeName::None
    } else {
        config.theme
    };
    let look = Look {
        bindings: config.bindings,
        glyphs: if ascii || config.ascii || is_plain_text() {
            Glyphs::ASCII
        } else {
            Glyphs::UNICODE
        },
        theme: theme.theme(background.as_deref()),
        face: config.face,
    };
    let marks = marks.ok();
    Ok(Some(Setup { look, marks }))
}

/// Whether the locale says outright that there is nothing but ASCII.
fn is_plain_text() -> bool {
    let set = |name: &&str| std::env::var_os(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    locale.is_some_and(|locale| locale == "C" || locale == "POSIX")
}

/// Whether there are to be no colours: what is told by them is bold or reversed then.
fn is_plain(talk: &TalkArgs) -> bool {
    match talk.color {
        Color::Always => false,
        Color::Never => true,
        Color::Auto => std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
    }
}

/// What `config.toml` says, if there is one.
fn config() -> Result<Config, Failure> {
    let Some(path) = dirs::config().map(|folder| folder.join("bagplay/config.toml")) else {
        return Ok(Config::default());
    };
    match settings::read(&path)? {
        Some(text) => Config::parse(&text, &path).or_exit(Exit::Usage),
        None => Ok(Config::default()),
    }
}

/// Shows the bar until the player is done; returns how that came about.
pub(crate) fn watch<O>(
    run: &Run<'_>,
    running: &Running<O>,
    bag: &Bag,
    reach: Reach,
    setup: Setup,
) -> Result<Ended, Failure> {
    let (told, news) = bounded(WAITING);
    let name = bag.files().first().and_then(|file| file.path.file_name());
    let name = name.map_or_else(String::new, |name| Foreign::path(name.as_ref()).to_string());
    // Nothing is written any more where the screen will be, and what was said before is there.
    run.voice.log.divert(Box::new(lines_to(told.clone())));
    log::flush(log::A_WHILE);
    let terminal = Terminal::take(&format!("play {name}")).or_exit(Exit::Failed);
    let terminal = terminal.inspect_err(|_| run.voice.log.bring_back())?;
    let done = show(run, running, bag, reach, setup, terminal, (told, &news));
    if tui::is_stuck() {
        leave_anyway(done.as_ref().map_or(Exit::Failed, |ended| ended.exit))
            .or_exit(Exit::Failed)?;
    }
    // Nobody draws any more, whatever became of the screen.
    run.voice.log.bring_back();
    done.context("the terminal cannot be drawn on")
        .or_exit(Exit::Failed)
}

fn show<O>(
    run: &Run<'_>,
    running: &Running<O>,
    bag: &Bag,
    reach: Reach,
    Setup { look, marks }: Setup,
    terminal: Terminal,
    (told, news): (Sender<Event>, &Receiver<Event>),
) -> anyhow::Result<Ended> {
    let (wake, moved) = bounded(1);
    run.transport.on_change(Arc::new(move || {
        // One that waits is enough.
        let _ = wake.try_send(());
    }));
    let tell = Arc::new(move |event| {
        // Nobody is there any more once the screen is gone.
        let _ = told.send(event);
    });
    let model = bar_model::model(run, bag, look, marks.as_ref());
    let transport = run.transport.clone();
    let mut warden = Supervisor::new(run);
    // The screen is the first of these to go: what the others wait for nobody has to look at.
    let mut keeper = MarkWriter::start(marks)?;
    let jobs = signals::jobs()?;
    let mut screen = Screen::new(model, terminal, transport, reach, bag.clone(), tell)?;
    let mut keys = tui::listen()?;
    let mut hang_up = tui::hang_up()?;
    let events = run.network.events();
    screen.take([bar_model::audience(run, bag)]);
    let mut is_drawn = true;
    loop {
        if is_drawn && let Err(error) = screen.draw() {
            has_gone(run, &mut warden, error.into())?;
            is_drawn = false;
        }
        let wishes = select! {
            recv(running.done()) -> _ => break,
            recv(run.signals) -> signal => {
                warden.interrupt(signal.unwrap_or(Exit::Interrupted));
                Vec::new()
            }
            recv(keys) -> key => if let Ok(key) = key {
                screen.take(std::iter::once(key).chain(keys.try_iter()))
            } else {
                has_gone(run, &mut warden, anyhow::anyhow!("nothing can be read from it"))?;
                (keys, is_drawn) = (never(), false);
                Vec::new()
            },
            recv(hang_up) -> _ => {
                has_gone(run, &mut warden, anyhow::anyhow!("it is not there any more"))?;
                (hang_up, is_drawn) = (never(), false);
                Vec::new()
            }
            recv(events) -> event => {
                let happened: Vec<WireEvent> = event.into_iter().chain(events.try_iter()).collect();
                warden.take(&happened);
                let joins = happened.iter().filter_map(joined);
                let seen: Vec<Event> = joins.chain([bar_model::audience(run, bag)]).collect();
                screen.take(seen)
            }
            recv(news) -> event => screen.take(event.into_iter().chain(news.try_iter())),
            recv(moved) -> _ => {
                screen.has_changed();
                warden.has_moved();
                Vec::new()
            }
            recv(jobs.told) -> job => {
                if let Ok(job) = job {
                    stand_by(run, &mut screen, &mut warden, job, &jobs);
                }
                Vec::new()
            }
            recv(next(run, is_drawn.then_some(&screen), &warden)) -> _ => Vec::new(),
        };
        if warden
            .deadline()
            .is_some_and(|at| at <= run.transport.now())
        {
            warden.look();
        }
        for wish in wishes {
            match wish {
                Wish::AddMark(mark) => keeper.add(mark),
                Wish::RemoveMark(time) => keeper.remove(time),
                // Whoever asks once more after a while means it: a send is stuck. Before, it was one key too many.
                Wish::Quit if warden.is_late() => {
                    tui::give_back_for_good();
                    keeper.finish(PATIENCE);
                    log::flush(log::AN_INSTANT);
                    std::process::exit(signals::decide(Exit::Interrupted).code().into());
                }
                Wish::Quit => warden.leave(),
            }
        }
    }
    Ok(warden.ended())
}

/// What is left to say may wait for ever for a terminal that takes nothing; whoever wants it to end does not.
fn leave_anyway(exit: Exit) -> std::io::Result<()> {
    let leave = move || {
        let _ = after(LAST_WORDS).recv();
        log::flush(log::AN_INSTANT);
        std::process::exit(signals::decide(exit).code().into());
    };
    let thread = std::thread::Builder::new().name("leave".into());
    thread.spawn(leave).map(drop)
}

/// Stops if it is asked to, and takes the terminal again when it goes on and has its turn: in the background it stops
/// again, unless a signal ends it. Then it goes without having touched what is another job's.
fn stand_by(
    run: &Run<'_>,
    screen: &mut Screen,
    warden: &mut Supervisor<'_>,
    job: Job,
    jobs: &Jobs,
) {
    let is_asked = job == Job::Stop && jobs.is_to_stop();
    let mut stops = is_asked && tui::has_shell();
    if stops {
        screen.give_back();
        // Who started this stops as well, and the shell may have had the terminal, and given it back, by now.
        let is_late = !tui::is_in_front();
        let _ = jobs.told.recv_timeout(A_MOMENT);
        stops = jobs.is_to_stop() && !(is_late && tui::is_in_front());
    } else if is_asked {
        tracing::info!("not stopped: there is no shell to let it go on");
    }
    loop {
        if stops {
            signals::stop();
        }
        if tui::may_use_terminal() {
            break screen.take_again();
        }
        if warden.is_ending() {
            break;
        }
        // A shell that ends what is stopped says that first, and then to go on.
        if let Ok(exit) = run.signals.recv_timeout(SOON) {
            break warden.interrupt(exit);
        }
        stops = !tui::may_use_terminal();
    }
    // What came while it was stopped is over: it goes on, unless that was to stop again.
    if !jobs.is_to_stop() {
        jobs.told.try_iter().for_each(drop);
    }
}

/// A terminal that goes away says so by a signal, too, about when it cannot be drawn on any more: then that is
/// why it ends.
fn has_gone(
    run: &Run<'_>,
    warden: &mut Supervisor<'_>,
    error: anyhow::Error,
) -> anyhow::Result<()> {
    if !warden.is_ending() {
        let signal = run.signals.recv_timeout(SOON);
        warden.interrupt(signal.map_err(|_| error)?);
    }
    Ok(())
}

/// When something is to be done even if nothing happens.
fn next(
    run: &Run<'_>,
    screen: Option<&Screen>,
    warden: &Supervisor<'_>,
) -> Receiver<std::time::Instant> {
    let deadlines = [screen.and_then(Screen::next_frame), warden.deadline()];
    match deadlines.into_iter().flatten().min() {
        Some(at) => after(
            at.saturating_since(run.transport.now())
                .to_std()
                .max(Duration::from_millis(1)),
        ),
        None => never(),
    }
}

/// Who came and went is of interest where people look.
fn joined(event: &WireEvent) -> Option<Event> {
    match event {
        WireEvent::SubscriberJoined { .. }
        | WireEvent::SubscriberLeft { .. }
        | WireEvent::ClockSubscriber { .. } => Some(Event::Said(Line {
            at: Timestamp::now(),
            severity: Severity::Info,
            text: event.to_string(),
        })),
        _ => None,
    }
}

fn lines_to(told: Sender<Event>) -> impl Fn(Said) + Send {
    move |said| {
        let severity = match said.level {
            Level::ERROR => Severity::Error,
            Level::WARN => Severity::Warning,
            Level::INFO => Severity::Info,
            Level::DEBUG | Level::TRACE => Severity::Debug,
        };
        // Full only if somebody says more than can be read.
        let _ = told.try_send(Event::Said(Line {
            at: said.at,
            severity,
            text: said.text,
        }));
    }
}
