//! Signals that end the program, as a channel.

use std::io;

use bagplay::cli::Exit;
use crossbeam_channel::{Receiver, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The exit codes that arriving signals ask for. A second one while the first is not answered yet ends
/// the process at once: whoever presses ctrl-C twice means it.
pub(crate) fn listen() -> io::Result<Receiver<Exit>> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let (sender, receiver) = bounded(1);
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let mut has_asked = false;
            for signal in &mut signals {
                let exit = if signal == SIGINT {
                    Exit::Interrupted
                } else {
                    Exit::Terminated
                };
                if has_asked || sender.send(exit).is_err() {
                    std::process::exit(exit.code().into());
                }
                has_asked = true;
            }
        })?;
    Ok(receiver)
}
