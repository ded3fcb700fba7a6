//! [`Terminal`]: the terminal while the transport bar uses it, restored in every case.
//!
//! It is restored, unless another job has it by then, when it is dropped, when the main thread panics, before the
//! process is stopped by ctrl-Z, and by [`restore_for_good`](writer::restore_for_good) before an exit from another
//! thread.

pub(super) mod background;
pub(super) mod graphics;
pub(super) mod job_control;
pub(super) mod line;
pub(super) mod mouse_reports;
pub(super) mod writer;

use std::cell::RefCell;
use std::io::{self, Write};
use std::panic;
use std::rc::Rc;
use std::sync::Once;

use crossterm::clipboard::CopyToClipboard;
use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};

use super::model::Model;
use super::view;
use crate::tui::model::layout::{Detail, Size};
use crate::tui::pacing::wall_now;
use job_control::{has_shell, is_in_foreground};
use mouse_reports::MouseReports;

/// The terminal while the transport bar uses it.
#[derive(Debug)]
pub struct Terminal {
    inner: ratatui::Terminal<CrosstermBackend<FrameBuffer>>,
    buffer: FrameBuffer,
    /// Of the last frame; `None` if the contents of the screen are unknown.
    size: Option<Size>,
    /// The reports of the mouse that the last frame has selected.
    mouse: MouseReports,
    /// The title of the window.
    title: String,
    _restore: RestoreOnDrop,
}

impl Terminal {
    /// Sets up the terminal. From here on a panic of the calling thread restores it first.
    pub fn enter(title: &str) -> io::Result<Self> {
        restore_before_panics();
        // The theme decides about colours.
        crossterm::style::force_color_output(true);
        let title: String = title
            .chars()
            .filter(|letter| !letter.is_control())
            .collect();
        writer::enter(&title)?;
        let restore = RestoreOnDrop;
        let buffer = FrameBuffer::default();
        let viewport = Viewport::Fixed(Rect::ZERO);
        let inner = ratatui::Terminal::with_options(
            CrosstermBackend::new(buffer.clone()),
            TerminalOptions { viewport },
        )?;
        Ok(Self {
            inner,
            buffer,
            size: None,
            mouse: MouseReports::Off,
            title,
            _restore: restore,
        })
    }

    /// The size of the terminal.
    pub fn size(&self) -> io::Result<Size> {
        let (width, height) = crossterm::terminal::size()?;
        Ok(Size::of_terminal(width, height))
    }

    /// Draws the model; only changed cells are written. `false` if that has to wait: for earlier frames, or until this
    /// job has the terminal again.
    pub fn draw(&mut self, model: &Model) -> io::Result<bool> {
        if writer::is_busy() || writer::line().is_behind(wall_now()) {
            return Ok(false);
        }
        if !is_in_foreground() {
            return if has_shell() {
                Ok(false)
            } else {
                Err(io::Error::other("another job has it"))
            };
        }
        queue!(self.buffer, BeginSynchronizedUpdate)?;
        let size = self.size()?;
        if self.size.replace(size) != Some(size) {
            self.inner
                .resize(Rect::new(0, 0, size.width, size.height))?;
        }
        let mouse = model.mouse_reports();
        if std::mem::replace(&mut self.mouse, mouse) != mouse {
            queue!(self.buffer, Print(mouse.sequence()))?;
        }
        self.inner.draw(|frame| view::draw(model, frame))?;
        queue!(self.buffer, EndSynchronizedUpdate)?;
        writer::draw(self.buffer.0.take());
        Ok(true)
    }

    /// Asks the terminal to put a text into the clipboard; it is written with the next frame.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        queue!(self.buffer, CopyToClipboard::to_clipboard_from(text))
    }

    /// How much is drawn, by the speed of the line to the terminal.
    pub(crate) fn detail() -> Detail {
        if writer::line().is_slow() {
            Detail::Reduced
        } else {
            Detail::Full
        }
    }

    /// The next frame is written in full, and the line is measured anew.
    pub fn redraw(&mut self) {
        self.invalidate();
        writer::line().forget();
    }

    /// The next frame is written in full.
    pub fn invalidate(&mut self) {
        self.size = None;
    }

    /// Restores the terminal until [`Terminal::reenter`].
    pub fn restore(&mut self) {
        writer::restore();
    }

    /// Sets up the terminal again after the process was stopped; other programs may have changed its state.
    pub fn reenter(&mut self) -> io::Result<()> {
        self.invalidate();
        writer::line().reentered();
        self.mouse = MouseReports::Off;
        writer::enter(&self.title)
    }
}

/// The buffer in which a frame is composed.
#[derive(Clone, Debug, Default)]
struct FrameBuffer(Rc<RefCell<Vec<u8>>>);

impl Write for FrameBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Restores the terminal when it is dropped.
#[derive(Debug)]
struct RestoreOnDrop;

impl Drop for RestoreOnDrop {
    fn drop(&mut self) {
        writer::close();
    }
}

/// A panic message must be visible: if the thread that draws panics, the terminal is restored first. Panics of other
/// threads are reported by those who join them.
fn restore_before_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let drawing = std::thread::current().id();
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if std::thread::current().id() == drawing {
                writer::close();
            } else if writer::has_screen() {
                tracing::error!("{info}");
                return;
            }
            before(info);
        }));
    });
}
