//! Input: keys, the mouse, the configuration, typed times.

pub(super) mod bar_config;
pub(super) mod bindings;
pub(super) mod events;
pub(super) mod goto;
pub(super) mod in_attach;
pub(super) mod key;
pub(super) mod mouse;
pub(super) mod prompt_history;
pub(super) mod tty;
