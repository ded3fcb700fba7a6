//! The user's directories for state and configuration: the only file that reads the environment for them.

use std::env;
use std::path::PathBuf;

/// `$XDG_STATE_HOME`, else `~/.local/state`; `None` for a user without a home.
pub(crate) fn state() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state")
}

/// `$XDG_CONFIG_HOME`, else `~/.config`; `None` for a user without a home.
#[cfg(feature = "tui")]
pub(crate) fn config() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config")
}

/// Relative paths are ignored, as the XDG base directory specification requires.
fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let own = env::var_os(variable).map(PathBuf::from);
    let home = || env::home_dir().filter(|dir| dir.is_absolute());
    own.filter(|dir| dir.is_absolute())
        .or_else(|| home().map(|home| home.join(below_home)))
}
