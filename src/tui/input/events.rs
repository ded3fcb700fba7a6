//! Reads terminal events on a thread of its own, and watches whether the terminal is still there.

use std::convert::Infallible;
use std::io;

use crossbeam_channel::{Receiver, bounded};
use crossterm::event;
use rustix::event::{PollFd, PollFlags, poll};

use super::key::Key;
use super::mouse::Mouse;
use crate::tui::model::layout::Size;
use crate::tui::update::Event;

/// How many events may wait to be handled; the terminal keeps the others.
const WAITING: usize = 1024;

/// Keys, mouse events and sizes. The channel is disconnected when nothing can be read any more. The thread ends with
/// the process: it blocks on input.
pub fn input_events() -> io::Result<Receiver<Event>> {
    let (send, events) = bounded(WAITING);
    let read = move || {
        while let Ok(read) = event::read() {
            if let Some(event) = translate(read)
                && send.send(event).is_err()
            {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("keys".into())
        .spawn(read)?;
    Ok(events)
}

/// A channel that is disconnected when the terminal is gone. SIGHUP does not reach a process that ignores it or that
/// has another controlling terminal, and reading would never end. The thread ends with the process: it blocks until
/// then.
pub fn terminal_hang_up() -> io::Result<Receiver<Infallible>> {
    let (there, gone) = bounded(0);
    let watch = move || {
        let terminal = io::stdin();
        let mut fds = [PollFd::new(&terminal, PollFlags::empty())];
        // Hang-up and errors are reported even if not requested.
        let polled = loop {
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => {}
                polled => break polled,
            }
        };
        let is_gone = polled.is_ok() && fds[0].revents().contains(PollFlags::HUP);
        if !is_gone {
            // A terminal that cannot be polled is assumed to be there.
            std::mem::forget(there);
        }
    };
    std::thread::Builder::new()
        .name("hang-up".into())
        .spawn(watch)?;
    Ok(gone)
}

fn translate(event: event::Event) -> Option<Event> {
    match event {
        event::Event::Key(key) => Key::pressed(key).map(Event::Key),
        event::Event::Mouse(mouse) => Mouse::of(mouse).map(Event::Mouse),
        event::Event::Paste(text) => Some(Event::Paste(text)),
        event::Event::Resize(width, height) => {
            Some(Event::Resized(Size::of_terminal(width, height)))
        }
        event::Event::FocusGained | event::Event::FocusLost => None,
    }
}
