//! Where this user's programs keep what they remember and how they are set up: the one place that asks the
//! environment for it.

use std::env;
use std::path::PathBuf;

/// `$XDG_STATE_HOME`, else `~/.local/state`; `None` for who has no home.
pub(crate) fn state() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state")
}

/// `$XDG_CONFIG_HOME`, else `~/.config`; `None` for who has no home.
#[cfg(feature = "tui")]
pub(crate) fn config() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config")
}

/// What is not absolute does not count, as the XDG base directory specification has it.
fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let path = |name| env::var_os(name).map(PathBuf::from);
    let own = path(variable).filter(|dir| dir.is_absolute());
    let home = || path("HOME").filter(|dir| dir.is_absolute());
    own.or_else(|| home().map(|home| home.join(below_home)))
}
