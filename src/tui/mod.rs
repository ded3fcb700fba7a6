//! The transport bar: playback controls for a recording in a terminal.
//!
//! `app/bar/` feeds a [`Screen`] with events. The [`Model`] is everything that is shown; only [`Event`]s change it, and
//! it returns the effects to carry out. Drawing reads it and nothing else. No thread of playback ever waits for a
//! screen.

mod input;
mod lookup;
mod model;
mod outbox;
mod pacing;
mod pictures;
mod screen;
mod terminal;
mod update;
mod view;
mod watch;

pub use input::bar_config::{Config, ConfigError};
pub use input::bindings::{Action, BINDINGS, Binding, Bindings, GESTURES, Group};
pub use input::events::{input_events, terminal_hang_up};
pub use input::goto::ParseTime;
pub use input::in_attach::InAttach;
pub use input::key::{Key, Keys, UnknownKey};
pub use input::mouse::{Gesture, Mouse};
pub use lookup::request::{FindRequest, LookupRequest};
pub use lookup::{EventSink, Lookup};
pub use model::Model;
pub use model::found::{FoundMessage, FoundMessages};
pub use model::glyphs::Glyphs;
pub use model::layers::LookupResult;
pub use model::layout::Size;
pub use model::log::{LogLine, Severity};
pub use model::parts::{
    Appearance, Awaited, CutRequest, Effect, Facts, Followed, Subscribers, TopicRow,
};
pub use model::theme::color_depth::ColorDepth;
pub use model::theme::palette::Background;
pub use model::theme::style::{Theme, ThemeName};
pub use model::time_format::TimeFormat;
pub use model::timeline::ab_loop::AbLoop;
pub use model::timeline::lane::Lane;
pub use model::watch::WatchedValues;
pub use pictures::found::{EncodedPicture, FoundPictures, PictureAt, PictureSlot};
pub use pictures::requests::PictureRequest;
pub use pictures::style::{Graphics, PictureSetting, PictureStyle};
pub use screen::{Screen, ScreenRequest};
pub use terminal::Terminal;
pub use terminal::background::ask_background;
pub use terminal::graphics::ask_graphics;
pub use terminal::job_control::{
    has_dumb_terminal, has_shell, has_usable_terminal, is_in_foreground, may_use_terminal,
};
pub use terminal::writer::{is_stuck, restore_for_good};
pub use update::Event;
pub use view::draw;
pub use view::overlay::legend::{SYMBOLS, Symbol};
pub use watch::pin::{Pin, SavedField, SavedPin, WatchedField};
pub use watch::series::{Point, Series, ValueAt, WatchedValue};
