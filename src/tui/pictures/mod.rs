//! Pictures of image topics on the screen: [`style`] says how they are drawn, [`found`] what was read for them.
//! [`requests`] says when they are requested; [`finder`] reads and encodes them on the thread of the look-ups.

pub(crate) mod finder;
pub(crate) mod found;
pub(crate) mod requests;
pub(crate) mod style;
