//! Enter, on a terminal: play or pause, where there is no transport bar.

use std::io::{self, BufRead, IsTerminal};

use bagplay::player::{Command, Transport};

/// Listens for Enter if standard input is a terminal; otherwise this warns and names the command that resumes playback,
/// if there is one, unless viewers can resume it. Only used where playback starts paused: the system stops a background
/// program that reads from its terminal.
pub(crate) fn listen(transport: Transport, has_viewers: bool, resume: Option<&str>) {
    if !io::stdin().is_terminal() {
        if has_viewers {
            return;
        }
        let resume = resume.map_or_else(String::new, |command| format!("{command}, or "));
        tracing::warn!(
            "paused at the start, and no terminal can resume it; hint: {resume}play without --start-paused"
        );
        return;
    }
    tracing::info!("paused at the start: press Enter to play and to pause");
    let listen = move || {
        let lines = io::stdin().lock().lines();
        for _ in lines.map_while(Result::ok) {
            if transport.send(Command::Toggle).is_err() {
                return;
            }
        }
    };
    // Not joined: it blocks on input until the process ends.
    if let Err(error) = std::thread::Builder::new()
        .name("keys".into())
        .spawn(listen)
    {
        tracing::warn!("keys cannot be read: {error}");
    }
}
