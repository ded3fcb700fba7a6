//! The transport bar: a recording on a terminal, driven like a tape deck.
//!
//! `app/bar.rs` feeds a [`Screen`] with what comes in. The [`Model`] is everything that is shown; it changes
//! by [`Event`]s alone and says what is to be done; drawing reads it and nothing else. No thread of playback
//! ever waits for a screen.

mod action;
mod axis;
mod config;
mod face;
mod glyphs;
mod goto;
mod input;
mod job_control;
mod key;
mod lane;
mod layers;
mod layout;
mod log;
mod lookup;
mod meters;
mod model;
mod mouse;
mod outbox;
mod pen;
mod screen;
mod terminal;
mod theme;
mod transport;
mod update;
mod view;

pub use action::{Action, BINDINGS, Binding, Bindings, GESTURES, Group};
pub use config::{Config, ConfigError};
pub use face::Face;
pub use glyphs::Glyphs;
pub use input::{hang_up, listen};
pub use job_control::{has_shell, is_in_front, is_there, may_use_terminal};
pub use key::{Key, Keys, UnknownKey};
pub use lane::Lane;
pub use layers::{Found, Peeked};
pub use layout::Size;
pub use log::{Line, Severity};
pub use lookup::{Lookup, Tell};
pub use model::{Audience, Brackets, Effect, Facts, Look, Model, ReadTime, Row};
pub use mouse::{Gesture, Mouse};
pub use pen::{give_back_for_good, is_stuck};
pub use screen::{Screen, Wish};
pub use terminal::Terminal;
pub use theme::{Theme, ThemeName};
pub use update::Event;
pub use view::draw;
