//! Reads the user's configuration file of this program.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use bagplay::cli::Exit;
use bagplay::untrusted::{Foreign, read_text};

use crate::app::failure::{Failure, OrExit};

/// Its text; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    let error = match read_text(path) {
        Ok(text) => return Ok(Some(text)),
        Err(error) => error,
    };
    match error.kind() {
        // Services often have `/dev/null` as their home.
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
        // A home that is not readable counts as none.
        ErrorKind::PermissionDenied => {
            tracing::warn!("{}: {error}", Foreign::path(path));
            Ok(None)
        }
        _ => Err(error)
            .with_context(|| Foreign::path(path).to_string())
            .or_exit(Exit::Usage),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_not_there_is_nothing_and_what_is_no_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, "[tui]").unwrap();
        let endless = dir.path().join("endless.toml");
        symlink("/dev/zero", &endless).unwrap();
        for (path, text) in [
            (file.clone(), Some("[tui]")),
            (dir.path().join("none.toml"), None),
            (file.join("bagplay/config.toml"), None),
            ("/dev/null/.config/bagplay/config.toml".into(), None),
        ] {
            let read = read(&path).unwrap();
            assert_eq!(read.as_deref(), text, "{}", Foreign::path(&path));
        }
        for path in [endless.as_path(), dir.path()] {
            let Failure { exit, error } = read(path).unwrap_err();
            assert_eq!(exit, Exit::Usage);
            let said = format!("{}: not a file", Foreign::path(path));
            assert_eq!(format!("{error:#}"), said);
        }
    }
}
