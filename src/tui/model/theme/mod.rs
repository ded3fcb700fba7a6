//! How the screen is coloured: [`style`] has the styles by meaning, [`palette`] the colours behind them,
//! [`color_depth`] what a terminal can show of these.

pub(crate) mod color_depth;
pub(crate) mod palette;
pub(crate) mod style;
