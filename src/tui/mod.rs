//! The transport bar: playback controls for a recording in a terminal.
//!
//! `app/bar/` feeds a [`Screen`] with events. The [`Model`] is everything that is shown; only [`Event`]s change it, and
//! it returns what is to be done. Drawing reads it and nothing else. No thread of playback ever waits for a screen.

mod input;
mod lookup;
mod model;
mod outbox;
mod screen;
mod terminal;
mod update;
mod view;

pub use input::action::{Action, BINDINGS, Binding, Bindings, GESTURES, Group};
pub use input::bar_config::{Config, ConfigError};
pub use input::events::{hang_up, listen};
pub use input::goto::ReadTime;
pub use input::key::{Key, Keys, UnknownKey};
pub use input::mouse::{Gesture, Mouse};
pub use lookup::{Lookup, Tell};
pub use model::Model;
pub use model::glyphs::Glyphs;
pub use model::lane::Lane;
pub use model::layers::{Found, Peeked};
pub use model::layout::Size;
pub use model::log::{Line, Severity};
pub use model::parts::{Audience, Brackets, Effect, Facts, Look, Row};
pub use model::theme::{Theme, ThemeName};
pub use model::time_format::TimeFormat;
pub use screen::{Screen, Wish};
pub use terminal::Terminal;
pub use terminal::job_control::{has_shell, is_in_front, is_there, may_use_terminal};
pub use terminal::writer::{give_back_for_good, is_stuck};
pub use update::Event;
pub use view::draw;
