//! Reads terminal events on a thread of its own, and watches whether the terminal is still there.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;

use crossbeam_channel::{Receiver, bounded};
use crossterm::event;
use rustix::event::{PollFd, PollFlags, poll};

use super::key::Key;
use super::mouse::{Gesture, Mouse};
use super::tty::TtyInput;
use crate::tui::model::layout::Size;
use crate::tui::terminal::writer;
use crate::tui::update::Event;

/// How many events may wait to be handled; the terminal keeps the others.
const WAITING: usize = 1024;

/// Keys, mouse events and sizes; of moves of the mouse that follow each other only the last one. The channel is
/// disconnected when nothing can be read any more. The thread ends with the process: it blocks on input.
pub fn input_events() -> io::Result<Receiver<Event>> {
    let (send, events) = bounded(WAITING);
    let input = RefCell::new(TtyInput::open()?);
    let read = move || {
        forward(
            &mut || {
                let event = input.borrow_mut().read(&mut writer::answered);
                event.ok().map(translate)
            },
            &mut || input.borrow().is_next_there(),
            &mut |event| send.send(event).is_ok(),
        );
    };
    std::thread::Builder::new()
        .name("keys".into())
        .spawn(read)?;
    Ok(events)
}

/// A channel that is disconnected when the terminal is closed. SIGHUP does not reach a process that ignores it or that
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

/// Forwards what is read until nothing can be read (`None`) or taken (`false`) any more. A move of the mouse is kept
/// back while the next event is there already, and dropped if that is a move, too.
fn forward(
    read: &mut dyn FnMut() -> Option<Option<Event>>,
    is_next_there: &mut dyn FnMut() -> bool,
    send: &mut dyn FnMut(Event) -> bool,
) {
    let mut moved: Option<Event> = None;
    loop {
        if moved.is_some() && !is_next_there() && !moved.take().is_none_or(&mut *send) {
            return;
        }
        let Some(event) = read() else { return };
        let Some(event) = event else { continue };
        if is_move(&event) {
            moved = Some(event);
        } else if !moved.take().is_none_or(&mut *send) || !send(event) {
            return;
        }
    }
}

fn is_move(event: &Event) -> bool {
    matches!(event, Event::Mouse(mouse) if mouse.gesture == Gesture::Move)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_moves_that_follow_each_other_the_last_one_counts() {
        let mouse = |gesture, column| {
            Event::Mouse(Mouse {
                gesture,
                column,
                row: 0,
            })
        };
        let moved = |column| mouse(Gesture::Move, column);
        let key = || Event::Key("q".parse().unwrap());
        // What is read, and whether the next event is there by then.
        let steps = [
            (Some(moved(1)), true),
            (Some(moved(2)), true),
            (Some(key()), true),
            (Some(moved(3)), true),
            (None, true),
            (Some(moved(4)), false),
            (Some(moved(5)), true),
            (Some(mouse(Gesture::Press, 6)), true),
            (Some(moved(7)), false),
        ];
        let at = std::cell::Cell::new(0);
        let mut read = || {
            let step = steps.get(at.get())?;
            at.set(at.get() + 1);
            Some(step.0.clone())
        };
        let mut is_next_there = || steps[at.get() - 1].1;
        let mut taken = Vec::new();
        let mut send = |event| {
            taken.push(event);
            true
        };
        forward(&mut read, &mut is_next_there, &mut send);
        let expected = [
            moved(2),
            key(),
            moved(4),
            moved(5),
            mouse(Gesture::Press, 6),
            moved(7),
        ];
        assert_eq!(taken, expected);
    }
}
