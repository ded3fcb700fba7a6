//! [`FileName`]: the name by which a file is shown, wherever its bytes are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::foreign::Foreign;

/// The name of a file, to be shown: a path, a URL, or any other text. Cheap to clone. It opens nothing. A path that is
/// not UTF-8 is kept in its escaped form. Displayed as [`Foreign`] text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileName(Arc<str>);

impl FileName {
    /// The name as it is, not escaped: for JSON, and for comparisons.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What follows the last `/`.
    pub fn last_part(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// What precedes the last `/`; empty if there is none.
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

impl From<&Path> for FileName {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self(text.into()),
            None => Self(Foreign::path(path).to_string().into()),
        }
    }
}

impl From<&PathBuf> for FileName {
    fn from(path: &PathBuf) -> Self {
        Self::from(path.as_path())
    }
}

impl From<PathBuf> for FileName {
    fn from(path: PathBuf) -> Self {
        Self::from(path.as_path())
    }
}

impl From<&str> for FileName {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for FileName {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Foreign::text(&self.0).fmt(f)
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl serde::Serialize for FileName {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn a_name_is_escaped_when_it_is_shown_and_bytes_that_are_not_utf_8_at_once() {
        let name = FileName::from("/bags/a\x1b[2J\n.mcap");
        assert_eq!(name.to_string(), "/bags/a\\u{1b}[2J\\n.mcap");
        assert_eq!(name.as_str(), "/bags/a\x1b[2J\n.mcap");
        let path = Path::new(OsStr::from_bytes(b"/bags/a\xff\n.mcap"));
        let name = FileName::from(path);
        assert_eq!(name.as_str(), "/bags/a\\xff\\n.mcap");
        assert_eq!(name.to_string(), Foreign::path(path).to_string());
    }

    #[test]
    fn its_parts_are_those_of_a_path() {
        for (name, folder, last) in [
            ("/bags/a/b.mcap", "/bags/a", "b.mcap"),
            ("b.mcap", "", "b.mcap"),
            ("s3://logs/b.mcap", "s3://logs", "b.mcap"),
            ("", "", ""),
        ] {
            let name = FileName::from(name);
            assert_eq!((name.folder(), name.last_part()), (folder, last));
        }
    }
}
