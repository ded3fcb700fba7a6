//! [`Mouse`]: a mouse event and its position. `bindings.rs` has the help texts, `update/pointer.rs` the reactions.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

/// A mouse event and its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mouse {
    /// The event.
    pub gesture: Gesture,
    /// The column, from 0.
    pub column: u16,
    /// The row, from 0.
    pub row: u16,
}

/// The kinds of mouse events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gesture {
    /// The left button was pressed.
    Press,
    /// The right button was pressed, or the left one with shift or ctrl.
    RangePress,
    /// The mouse moved with a button pressed.
    Drag,
    /// The button was released.
    Release,
    /// The wheel, up is −1.
    Wheel(i8),
    /// The mouse moved without a button.
    Move,
}

impl Mouse {
    /// The cell under it.
    pub(crate) const fn position(self) -> Position {
        Position::new(self.column, self.row)
    }

    /// Converts a terminal event; `None` for events that are not used.
    pub fn of(event: MouseEvent) -> Option<Self> {
        let has_range_key = event
            .modifiers
            .intersects(KeyModifiers::SHIFT | KeyModifiers::CONTROL);
        let gesture = match event.kind {
            MouseEventKind::Down(MouseButton::Left) if !has_range_key => Gesture::Press,
            MouseEventKind::Down(MouseButton::Left | MouseButton::Right) => Gesture::RangePress,
            MouseEventKind::Drag(_) => Gesture::Drag,
            MouseEventKind::Up(_) => Gesture::Release,
            MouseEventKind::ScrollUp => Gesture::Wheel(-1),
            MouseEventKind::ScrollDown => Gesture::Wheel(1),
            MouseEventKind::Moved => Gesture::Move,
            _ => return None,
        };
        Some(Self {
            gesture,
            column: event.column,
            row: event.row,
        })
    }
}
