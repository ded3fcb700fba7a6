//! What the terminal tells, as events, from a thread of its own.

use crossbeam_channel::{Receiver, bounded};
use crossterm::event;

use super::key::Key;
use super::layout::Size;
use super::mouse::Mouse;
use super::update::Event;

/// How many events may wait to be taken; the terminal keeps the others.
const WAITING: usize = 1024;

/// Keys, the mouse and sizes as they come. The channel is disconnected when nothing can be read any more. The thread
/// ends with the process: it waits for a key.
pub fn listen() -> std::io::Result<Receiver<Event>> {
    let (send, events) = bounded(WAITING);
    let listen = move || {
        while let Ok(told) = event::read() {
            if let Some(event) = translate(told)
                && send.send(event).is_err()
            {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("keys".into())
        .spawn(listen)?;
    Ok(events)
}

fn translate(told: event::Event) -> Option<Event> {
    match told {
        event::Event::Key(key) => Key::pressed(key).map(Event::Key),
        event::Event::Mouse(mouse) => Mouse::of(mouse).map(Event::Mouse),
        event::Event::Paste(text) => Some(Event::Paste(text)),
        event::Event::Resize(width, height) => Some(Event::Resized(Size { width, height })),
        event::Event::FocusGained | event::Event::FocusLost => None,
    }
}
