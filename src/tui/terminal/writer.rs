//! Writes to the terminal on a thread of its own, so that a terminal that takes no output holds up no other thread.
//!
//! Only this thread knows whether the screen is set up. It processes commands in order, so no frame is written after
//! the terminal was restored. Raw mode, the alternate screen and bracketed paste are switched on together and off
//! together, and with them the reports of the mouse that frames have switched on; switching off twice does nothing.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, SendError, Sender, bounded};
use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode,
    enable_raw_mode, is_raw_mode_enabled,
};
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::job_control::may_use_terminal;
use super::line::{Answer, KIND_QUERY, Line, STATUS_QUERY};
use super::mouse_reports::MouseReports;
use crate::tui::pacing::wall_now;

/// How long any thread waits for a terminal that takes no output.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How many commands may wait: a frame, and requests to restore the terminal.
const QUEUE_LENGTH: usize = 8;

/// Saves the window's title, and restores it.
const SAVE_TITLE: &str = "\x1b[22;0t";
const RESTORE_TITLE: &str = "\x1b[23;0t";

/// The channel to the thread, once there is one.
static COMMANDS: OnceLock<Sender<WriterCommand>> = OnceLock::new();
/// Whether the screen is set up.
static HAS_SCREEN: AtomicBool = AtomicBool::new(false);
/// Whether a frame is still to be written.
static IS_BUSY: AtomicBool = AtomicBool::new(false);
/// Whether the last attempt to restore the terminal timed out.
static IS_STUCK: AtomicBool = AtomicBool::new(false);
/// Why the last frame could not be written, or the screen could not be set up.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// What is known of the line to the terminal.
static LINE: Mutex<Line> = Mutex::new(Line::new());
/// Notified when a frame was written or acknowledged.
static PROGRESS: Condvar = Condvar::new();

enum WriterCommand {
    Enter(String, Sender<io::Result<()>>),
    Draw(Vec<u8>),
    Restore(RestorePeriod, Sender<()>),
}

/// For how long the terminal is restored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RestorePeriod {
    UntilEntered,
    ForGood,
}

/// Sets up the screen, in a window with this title. Returns when this is done, or earlier if the terminal takes no
/// output; then [`failure`] reports errors.
pub(crate) fn enter(title: &str) -> io::Result<()> {
    if COMMANDS.get().is_none() {
        let (sender, commands) = bounded(QUEUE_LENGTH);
        std::thread::Builder::new()
            .name("screen".into())
            .spawn(move || run(&commands))?;
        // Only the main thread calls this.
        let _ = COMMANDS.set(sender);
    }
    let (done, is_done) = bounded(1);
    if !send(WriterCommand::Enter(title.to_owned(), done)) {
        return Err(io::Error::other("it takes no output"));
    }
    is_done.recv_timeout(TIMEOUT).unwrap_or(Ok(()))
}

/// Writes a frame, if the screen is set up when the command is processed.
pub(crate) fn draw(frame: Vec<u8>) {
    IS_BUSY.store(true, Ordering::Release);
    if !send(WriterCommand::Draw(frame)) {
        IS_BUSY.store(false, Ordering::Release);
    }
}

/// Whether a frame is still to be written; another one would only wait.
pub(crate) fn is_busy() -> bool {
    IS_BUSY.load(Ordering::Acquire)
}

/// Takes note of an answer of the terminal.
pub(in crate::tui) fn answered(answer: Answer) {
    line().answered(answer, wall_now());
    PROGRESS.notify_all();
}

/// What is known of the line to the terminal.
pub(super) fn line() -> MutexGuard<'static, Line> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why the last frame could not be written, or why the screen could not be set up after the caller stopped waiting.
/// Each error is returned once.
pub(crate) fn failure() -> Option<io::Error> {
    FAILURE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
}

pub(crate) fn has_screen() -> bool {
    HAS_SCREEN.load(Ordering::Acquire)
}

/// Whether the last attempt to restore the terminal was abandoned because it took no output for two seconds.
pub fn is_stuck() -> bool {
    IS_STUCK.load(Ordering::Acquire)
}

/// Restores the terminal. Does nothing if it is not set up. A terminal that was closed is no error, and one that takes
/// no output is left as it is.
pub(crate) fn restore() {
    request_restore(RestorePeriod::UntilEntered);
}

/// The same at the end of the screen: a terminal that another job uses by then is not touched.
pub(crate) fn close() {
    if may_use_terminal() {
        request_restore(RestorePeriod::UntilEntered);
    }
}

/// Restores the terminal, unless another job uses it, and prevents that it is set up again: for a thread that is about
/// to end the process. Waits two seconds at most.
pub fn restore_for_good() {
    if may_use_terminal() {
        request_restore(RestorePeriod::ForGood);
    }
}

fn request_restore(period: RestorePeriod) {
    if COMMANDS.get().is_none() {
        return;
    }
    wait_for_answers();
    // This works even if the terminal takes no output.
    let _ = disable_raw_mode();
    let (done, is_done) = bounded(1);
    send(WriterCommand::Restore(period, done));
    let is_stuck = is_done.recv_timeout(TIMEOUT).is_err();
    IS_STUCK.store(is_stuck, Ordering::Release);
}

/// Waits a second at most: an answer that comes later would be echoed, or read by the shell.
fn wait_for_answers() {
    let known = line();
    let patience = known.patience();
    let is_open = |known: &mut Line| is_busy() || known.is_waiting();
    drop(PROGRESS.wait_timeout_while(known, patience, is_open));
}

/// Never waits; `false` if the queue is full.
fn send(command: WriterCommand) -> bool {
    COMMANDS
        .get()
        .is_some_and(|commands| commands.try_send(command).is_ok())
}

fn run(commands: &Receiver<WriterCommand>) {
    let mut is_over = false;
    for command in commands {
        match command {
            WriterCommand::Enter(title, done) => {
                let taken = if is_over {
                    Ok(())
                } else {
                    enter_screen(&title)
                };
                // The caller may have stopped waiting.
                if let Err(SendError(Err(error))) = done.send(taken) {
                    keep_failure(error);
                }
            }
            WriterCommand::Draw(frame) => {
                if has_screen()
                    && let Err(error) = write_frame(&frame)
                {
                    keep_failure(error);
                }
                IS_BUSY.store(false, Ordering::Release);
                PROGRESS.notify_all();
            }
            WriterCommand::Restore(period, done) => {
                is_over |= period == RestorePeriod::ForGood;
                leave_screen();
                let _ = done.send(());
            }
        }
    }
}

fn keep_failure(error: io::Error) {
    *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the screen is drawn"
)]
fn stdout() -> io::Stdout {
    io::stdout()
}

fn write_frame(frame: &[u8]) -> io::Result<()> {
    let asked = line().write(frame.len(), wall_now());
    let mut out = stdout().lock();
    for (is_there, part) in [
        (asked.kind, KIND_QUERY),
        (asked.in_front, STATUS_QUERY),
        (true, frame),
        (asked.behind, STATUS_QUERY),
    ] {
        out.write_all(if is_there { part } else { b"" })?;
    }
    out.flush()
}

fn enter_screen(title: &str) -> io::Result<()> {
    // If this fails, the screen belongs to another job.
    take_raw_mode()?;
    let had_screen = HAS_SCREEN.swap(true, Ordering::AcqRel);
    let entered = execute!(
        stdout(),
        Print(if had_screen { "" } else { SAVE_TITLE }),
        SetTitle(title),
        EnterAlternateScreen,
        Hide,
        EnableBracketedPaste
    );
    if entered.is_err() {
        leave_screen();
    }
    entered
}

/// Sets raw mode. If it is already on, a shell may have changed it, so it is set again. It is never off in between: a
/// key like ctrl-Z would be a signal then, and stop the process without restoring the screen.
fn take_raw_mode() -> io::Result<()> {
    if !is_raw_mode_enabled()? {
        return enable_raw_mode();
    }
    let mut modes = tcgetattr(stdin())?;
    modes.make_raw();
    Ok(tcsetattr(stdin(), OptionalActions::Now, &modes)?)
}

fn leave_screen() {
    if HAS_SCREEN.swap(false, Ordering::AcqRel) {
        let _ = disable_raw_mode();
        let _ = execute!(
            stdout(),
            EndSynchronizedUpdate,
            Print(MouseReports::Off.sequence()),
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Show,
            Print(RESTORE_TITLE)
        );
    }
}
