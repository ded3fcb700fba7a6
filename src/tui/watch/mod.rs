//! Fields of messages that the screen watches: [`pin`] says which, [`series`] has their values over a range, [`reader`]
//! reads these from a recording, [`view_range`] says which part of them is shown.

pub(crate) mod pin;
pub(crate) mod reader;
pub(crate) mod series;
pub(crate) mod view_range;
