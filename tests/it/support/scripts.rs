//! Files that can be executed.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a file with this mode, to be executed by another process. This process never has it open for writing: a child
/// that another thread starts meanwhile would have it open, too, and a file that is open for writing is not executed.
pub(crate) fn write_program(path: &Path, text: &str, mode: u32) {
    let mut shell = Command::new("sh")
        .args(["-c", r#"cat >"$0" && chmod "$1" "$0""#])
        .args([path.as_os_str(), format!("{mode:o}").as_ref()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to_shell = shell.stdin.take().unwrap();
    to_shell.write_all(text.as_bytes()).unwrap();
    drop(to_shell);
    assert!(shell.wait().unwrap().success());
}
