//! Writes to the terminal on a thread of its own, so that a terminal that takes no output holds up no other thread.
//!
//! Only this thread knows whether we have the screen. It processes jobs in order, so no frame is written after the
//! screen was given back. Raw mode, the alternate screen, the mouse (mode 1002: buttons and drags, not every move) and
//! bracketed paste are switched on together and off together; switching off twice does nothing.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, SendError, Sender, bounded};
use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode,
    enable_raw_mode,
};

use super::job_control::may_use_terminal;

/// How long any thread waits for a terminal that takes no output.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many jobs may wait: a frame, and requests to give the screen back.
const WAITING: usize = 8;

/// Saves the window's title, and restores it.
const TITLE_KEPT: &str = "\x1b[22;0t";
const TITLE_BACK: &str = "\x1b[23;0t";

/// Buttons and drags, in coordinates of any size.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// The channel to the thread, once there is one.
static ORDERS: OnceLock<Sender<Order>> = OnceLock::new();
/// Whether we have the screen now.
static IS_OURS: AtomicBool = AtomicBool::new(false);
/// Whether a frame is still to be written.
static IS_BUSY: AtomicBool = AtomicBool::new(false);
/// Whether giving it back last timed out.
static IS_STUCK: AtomicBool = AtomicBool::new(false);
/// Why the last frame could not be written, or the screen could not be taken.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

enum Order {
    Take(String, Sender<io::Result<()>>),
    Draw(Vec<u8>),
    GiveBack(Until, Sender<()>),
}

/// For how long the screen is given back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Taken,
    Ever,
}

/// Takes the screen, for a window with this title. Returns when this is done, or earlier if the terminal takes no
/// output; then [`failure`] reports errors.
pub(crate) fn take(title: &str) -> io::Result<()> {
    if ORDERS.get().is_none() {
        let (send, asked) = bounded(WAITING);
        std::thread::Builder::new()
            .name("screen".into())
            .spawn(move || work(&asked))?;
        // Only the main thread calls this.
        let _ = ORDERS.set(send);
    }
    let (done, is_done) = bounded(1);
    if !ask(Order::Take(title.to_owned(), done)) {
        return Err(io::Error::other("it takes nothing"));
    }
    is_done.recv_timeout(PATIENCE).unwrap_or(Ok(()))
}

/// Writes a frame, if we have the screen when the job's turn comes.
pub(crate) fn draw(picture: Vec<u8>) {
    IS_BUSY.store(true, Ordering::Release);
    if !ask(Order::Draw(picture)) {
        IS_BUSY.store(false, Ordering::Release);
    }
}

/// Whether a frame is still to be written; another one would only wait.
pub(crate) fn is_busy() -> bool {
    IS_BUSY.load(Ordering::Acquire)
}

/// Why the last frame could not be written, or why the screen could not be taken after the caller stopped waiting. Each
/// error is returned once.
pub(crate) fn failure() -> Option<io::Error> {
    FAILURE
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
}

pub(crate) fn is_ours() -> bool {
    IS_OURS.load(Ordering::Acquire)
}

/// Whether the last attempt to give the screen back was abandoned because the terminal took no output for two seconds.
pub fn is_stuck() -> bool {
    IS_STUCK.load(Ordering::Acquire)
}

/// Restores the terminal. Does nothing if we do not have it. A terminal that is gone is no error, and one that takes no
/// output is left as it is.
pub(crate) fn give_back() {
    leave(Until::Taken);
}

/// The same at the end of the screen: a terminal that another job has meanwhile is left alone.
pub(crate) fn close() {
    if may_use_terminal() {
        leave(Until::Taken);
    }
}

/// Restores the terminal, unless another job has it, and prevents that it is taken again: for a thread that is about to
/// end the process. Waits two seconds at most.
pub fn give_back_for_good() {
    if may_use_terminal() {
        leave(Until::Ever);
    }
}

fn leave(until: Until) {
    if ORDERS.get().is_none() {
        return;
    }
    // First what works even if the terminal takes no output.
    let _ = disable_raw_mode();
    let (done, is_done) = bounded(1);
    ask(Order::GiveBack(until, done));
    let is_stuck = is_done.recv_timeout(PATIENCE).is_err();
    IS_STUCK.store(is_stuck, Ordering::Release);
}

/// Never waits; `false` if the queue is full.
fn ask(order: Order) -> bool {
    ORDERS
        .get()
        .is_some_and(|orders| orders.try_send(order).is_ok())
}

fn work(asked: &Receiver<Order>) {
    let mut is_over = false;
    for order in asked {
        match order {
            Order::Take(title, done) => {
                let taken = if is_over { Ok(()) } else { enter(&title) };
                // The caller may have stopped waiting.
                if let Err(SendError(Err(error))) = done.send(taken) {
                    fail(error);
                }
            }
            Order::Draw(picture) => {
                if is_ours()
                    && let Err(error) = put(&picture)
                {
                    fail(error);
                }
                IS_BUSY.store(false, Ordering::Release);
            }
            Order::GiveBack(until, done) => {
                is_over |= until == Until::Ever;
                restore();
                let _ = done.send(());
            }
        }
    }
}

fn fail(error: io::Error) {
    *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the screen is drawn"
)]
fn stdout() -> io::Stdout {
    io::stdout()
}

fn put(picture: &[u8]) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(picture)?;
    out.flush()
}

fn enter(title: &str) -> io::Result<()> {
    // Modes that are already on would not be switched on again, but a shell may have changed them. If this fails, the
    // screen belongs to another job.
    disable_raw_mode().and_then(|()| enable_raw_mode())?;
    let was_ours = IS_OURS.swap(true, Ordering::AcqRel);
    let entered = execute!(
        stdout(),
        Print(if was_ours { "" } else { TITLE_KEPT }),
        SetTitle(title),
        EnterAlternateScreen,
        Hide,
        EnableBracketedPaste,
        Print(MOUSE_ON)
    );
    if entered.is_err() {
        restore();
    }
    entered
}

fn restore() {
    if IS_OURS.swap(false, Ordering::AcqRel) {
        let _ = disable_raw_mode();
        let _ = execute!(
            stdout(),
            EndSynchronizedUpdate,
            Print(MOUSE_OFF),
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Show,
            Print(TITLE_BACK)
        );
    }
}
