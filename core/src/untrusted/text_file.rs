//! [`read_text`] and [`read_start`]: read small untrusted text files under a limit.
//!
//! Used for files beside recordings, and by other modules for their configuration.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::yaml::MAX_TEXT;

/// The text of a regular file. A file longer than 4 MiB is an error and is not read to its end.
pub fn read_text(path: &Path) -> io::Result<String> {
    let text = read_start(open_file(path)?)?;
    if text.len() > MAX_TEXT {
        let why = format!("longer than the {MAX_TEXT} bytes that are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

/// The text up to the limit plus one byte. Endless sources, such as a device, are not read to their end.
pub fn read_start(source: impl Read) -> io::Result<String> {
    // One byte more than is parsed, to distinguish a longer text from one that just fits.
    let most = u64::try_from(MAX_TEXT)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut text = String::new();
    source.take(most).read_to_string(&mut text)?;
    Ok(text)
}

/// Opens a regular file, or a link to one.
pub fn open_file(path: &Path) -> io::Result<File> {
    // Checked before opening, because opening a pipe waits for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    File::open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_text_within_the_limit_is_read_and_a_longer_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text");
        for (length, is_read) in [(0, true), (MAX_TEXT, true), (MAX_TEXT + 1, false)] {
            fs::write(&path, "#".repeat(length)).unwrap();
            match read_text(&path) {
                Ok(text) => assert!(is_read && text.len() == length, "{length}"),
                Err(error) => {
                    assert!(!is_read, "{length}: {error}");
                    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
                    let expected = "longer than the 4194304 bytes that are read";
                    assert_eq!(error.to_string(), expected);
                }
            }
        }
    }

    #[test]
    fn a_device_a_pipe_and_a_directory_are_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let (device, pipe) = (dir.path().join("device"), dir.path().join("pipe"));
        symlink("/dev/zero", &device).unwrap();
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for path in [device.as_path(), &pipe, dir.path()] {
            assert_eq!(read_text(path).unwrap_err().to_string(), "not a file");
        }
        let endless = read_start(File::open("/dev/zero").unwrap()).unwrap();
        assert_eq!(endless.len(), MAX_TEXT + 1);
    }
}
