//! [`Terminal`]: the terminal while the screen is ours, and how it gets back, whatever happens.
//!
//! Raw mode, the alternate screen, the mouse (mode 1002: buttons and drags, not every move) and bracketed
//! paste are switched on together and off together: when it is dropped, when the main thread panics, before
//! the process is stopped by ctrl-Z, and by [`restore_for_good`] before an exit from elsewhere. Switching off twice
//! does nothing.

use std::io::{self, Stdout, Write};
use std::mem::ManuallyDrop;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    SetTitle, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;

use super::layout::Size;
use super::model::Model;
use super::view;

/// Whether the screen is ours now.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Whether it will never be again.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Puts the window's title aside, and takes it back.
const TITLE_KEPT: &str = "\x1b[22;0t";
const TITLE_BACK: &str = "\x1b[23;0t";

/// Buttons and drags, in coordinates of any size.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// The terminal while the screen is ours.
#[derive(Debug)]
pub struct Terminal {
    /// Never dropped: it would show the cursor, which [`restore`] does, and fail loudly on a terminal that is gone.
    inner: ManuallyDrop<ratatui::Terminal<CrosstermBackend<Stdout>>>,
    /// What is on the screen is not known any more.
    is_forgotten: bool,
    /// Of the window.
    title: String,
    _held: Held,
}

impl Terminal {
    /// Takes the screen. From here on a panic of the thread that calls this gives it back first.
    pub fn take(title: &str) -> io::Result<Self> {
        restore_before_panics();
        let title: String = title
            .chars()
            .filter(|letter| !letter.is_control())
            .collect();
        enter(&title)?;
        let held = Held;
        let inner = ratatui::Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(Self {
            inner: ManuallyDrop::new(inner),
            is_forgotten: false,
            title,
            _held: held,
        })
    }

    /// How large it is.
    pub fn size(&self) -> io::Result<Size> {
        let size = self.inner.size()?;
        Ok(Size {
            width: size.width,
            height: size.height,
        })
    }

    /// Draws the model; what has not changed is not written.
    pub fn draw(&mut self, model: &Model) -> io::Result<()> {
        // Who gives the screen back from elsewhere does so before or after a picture.
        let _whole = io::stdout().lock();
        if !IS_OURS.load(Ordering::SeqCst) {
            return Ok(());
        }
        queue!(io::stdout(), BeginSynchronizedUpdate)?;
        if std::mem::take(&mut self.is_forgotten) {
            // Not by `clear`: it asks the terminal where the cursor is, and the answer goes to who reads keys.
            let size = self.inner.size()?;
            self.inner.resize(size.into())?;
        }
        self.inner.draw(|frame| view::draw(model, frame))?;
        execute!(io::stdout(), EndSynchronizedUpdate)
    }

    /// The next picture is drawn whole.
    pub fn forget(&mut self) {
        self.is_forgotten = true;
    }

    /// Gives the screen back, stops the process as ctrl-Z does, and takes the screen again when it goes on.
    pub fn suspend(&mut self) -> io::Result<()> {
        restore();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP)?;
        self.resume()
    }

    /// Takes the screen again: the process was stopped, and whoever ran meanwhile may have changed anything.
    pub fn resume(&mut self) -> io::Result<()> {
        // What is on already would not be switched on.
        disable_raw_mode()?;
        self.forget();
        enter(&self.title)
    }
}

/// Gives the screen back when it is dropped.
#[derive(Debug)]
struct Held;

impl Drop for Held {
    fn drop(&mut self) {
        restore();
    }
}

fn enter(title: &str) -> io::Result<()> {
    let _whole = io::stdout().lock();
    // In this order: whoever gives it back for good sees that it is ours, or is seen.
    let was_ours = IS_OURS.swap(true, Ordering::SeqCst);
    if IS_OVER.load(Ordering::SeqCst) {
        IS_OURS.store(false, Ordering::SeqCst);
        return Ok(());
    }
    let entered = enable_raw_mode().and_then(|()| {
        execute!(
            io::stdout(),
            Print(if was_ours { "" } else { TITLE_KEPT }),
            SetTitle(title),
            EnterAlternateScreen,
            Hide,
            EnableBracketedPaste,
            Print(MOUSE_ON)
        )
    });
    if entered.is_err() {
        restore();
    }
    entered
}

/// Gives the terminal back as it was. Does nothing if it is not ours; that it is gone is no error.
pub(super) fn restore() {
    if IS_OURS.swap(false, Ordering::SeqCst) {
        // First what works even if the terminal takes no output any more.
        let _ = disable_raw_mode();
        // Not in the middle of a picture; whoever was about to take it has done so by then.
        let mut out = io::stdout().lock();
        let _ = disable_raw_mode();
        let _ = execute!(
            out,
            EndSynchronizedUpdate,
            Print(MOUSE_OFF),
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Show,
            Print(TITLE_BACK)
        );
        let _ = out.flush();
    }
}

/// The same, and nobody takes it again: for a thread that is about to end the process.
pub fn restore_for_good() {
    IS_OVER.store(true, Ordering::SeqCst);
    restore();
}

/// A panic's message is for the eyes: if the thread that draws breaks down, the screen goes first. Others that
/// break down are told of by whoever waits for them.
fn restore_before_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let drawing = std::thread::current().id();
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == drawing {
                restore();
            } else if IS_OURS.load(Ordering::SeqCst) {
                tracing::error!("{info}");
                return;
            }
            before(info);
        }));
    });
}
