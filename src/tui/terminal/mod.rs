//! [`Terminal`]: the terminal while we have the screen, restored in every case.
//!
//! It is restored, unless another job has it by then, when it is dropped, when the main thread panics, before the
//! process is stopped by ctrl-Z, and by [`give_back_for_good`](writer::give_back_for_good) before an exit from another
//! thread.

pub(super) mod job_control;
pub(super) mod writer;

use std::cell::RefCell;
use std::io::{self, Write};
use std::panic;
use std::rc::Rc;
use std::sync::Once;

use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};

use super::model::Model;
use super::view;
use crate::tui::model::layout::Size;
use job_control::{has_shell, is_in_front};

/// The terminal while we have the screen.
#[derive(Debug)]
pub struct Terminal {
    inner: ratatui::Terminal<CrosstermBackend<Sheet>>,
    sheet: Sheet,
    /// Of the last frame; `None` if the contents of the screen are unknown.
    size: Option<Size>,
    /// The title of the window.
    title: String,
    _held: Held,
}

impl Terminal {
    /// Takes the screen. From here on a panic of the calling thread restores it first.
    pub fn take(title: &str) -> io::Result<Self> {
        give_back_before_panics();
        let title: String = title
            .chars()
            .filter(|letter| !letter.is_control())
            .collect();
        writer::take(&title)?;
        let held = Held;
        let sheet = Sheet::default();
        let viewport = Viewport::Fixed(Rect::ZERO);
        let inner = ratatui::Terminal::with_options(
            CrosstermBackend::new(sheet.clone()),
            TerminalOptions { viewport },
        )?;
        Ok(Self {
            inner,
            sheet,
            size: None,
            title,
            _held: held,
        })
    }

    /// The size of the terminal.
    pub fn size(&self) -> io::Result<Size> {
        let (width, height) = crossterm::terminal::size()?;
        Ok(Size::on_a_terminal(width, height))
    }

    /// Draws the model; only changed cells are written. `false` if that has to wait: for the previous frame, or until
    /// this job has the terminal again.
    pub fn draw(&mut self, model: &Model) -> io::Result<bool> {
        if writer::is_busy() {
            return Ok(false);
        }
        if !is_in_front() {
            return if has_shell() {
                Ok(false)
            } else {
                Err(io::Error::other("another job has it"))
            };
        }
        queue!(self.sheet, BeginSynchronizedUpdate)?;
        let size = self.size()?;
        if self.size.replace(size) != Some(size) {
            self.inner
                .resize(Rect::new(0, 0, size.width, size.height))?;
        }
        self.inner.draw(|frame| view::draw(model, frame))?;
        queue!(self.sheet, EndSynchronizedUpdate)?;
        writer::draw(self.sheet.0.take());
        Ok(true)
    }

    /// The next frame is written in full.
    pub fn forget(&mut self) {
        self.size = None;
    }

    /// Gives the screen back temporarily.
    pub fn give_back(&mut self) {
        writer::give_back();
    }

    /// Takes the screen again after the process was stopped; other programs may have changed its state.
    pub fn take_again(&mut self) -> io::Result<()> {
        self.forget();
        writer::take(&self.title)
    }
}

/// The buffer in which a frame is composed.
#[derive(Clone, Debug, Default)]
struct Sheet(Rc<RefCell<Vec<u8>>>);

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives the screen back when it is dropped.
#[derive(Debug)]
struct Held;

impl Drop for Held {
    fn drop(&mut self) {
        writer::close();
    }
}

/// A panic message must be visible: if the thread that draws panics, the screen is given back first. Panics of other
/// threads are reported by those who join them.
fn give_back_before_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let drawing = std::thread::current().id();
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == drawing {
                writer::close();
            } else if writer::is_ours() {
                tracing::error!("{info}");
                return;
            }
            before(info);
        }));
    });
}
