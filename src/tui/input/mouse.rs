//! [`Mouse`]: what was done with the mouse, and where. `action.rs` has the words for it, `update/pointer.rs` what follows.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

/// What the mouse did, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mouse {
    /// What.
    pub gesture: Gesture,
    /// The column, from 0.
    pub column: u16,
    /// The row, from 0.
    pub row: u16,
}

/// What the mouse can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gesture {
    /// The left button went down.
    Press,
    /// The right one did, or the left one with shift or ctrl.
    RangePress,
    /// It moved with a button down.
    Drag,
    /// The button is up again.
    Release,
    /// The wheel, up is −1.
    Wheel(i8),
}

impl Mouse {
    /// What a terminal tells; `None` for what means nothing here.
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
            _ => return None,
        };
        Some(Self {
            gesture,
            column: event.column,
            row: event.row,
        })
    }
}
