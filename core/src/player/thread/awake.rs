//! [`Awake`]: keeps processors awake while messages are due.
//!
//! A processor on which nothing runs sleeps, and takes a few to some hundred microseconds to wake. That delays each
//! thread on the way of a message: the one that sends it, and the one that receives it. As long as a program has
//! `/dev/cpu_dma_latency` open with a zero in it, Linux uses no idle state that takes time to leave
//! (`Documentation/power/pm_qos_interface.rst`).

use std::fs::File;
use std::io;

use super::priority::Scheduling;

/// Whether the processors are kept awake.
#[derive(Debug)]
pub(super) enum Awake {
    /// They never are.
    Never,
    /// They may sleep now.
    Resting,
    /// They are kept awake.
    Kept(#[expect(dead_code, reason = "the request counts while it is open")] File),
}

impl Awake {
    /// With [`Scheduling::Realtime`] they are kept awake from the first [`Awake::keep`] on.
    pub(super) fn new(scheduling: Scheduling) -> Self {
        match scheduling {
            Scheduling::Normal => Self::Never,
            Scheduling::Realtime => Self::Resting,
        }
    }

    /// Keeps them awake. If that is not permitted, the log says so, once.
    pub(super) fn keep(&mut self) {
        if !matches!(self, Self::Resting) {
            return;
        }
        *self = match request() {
            Ok(request) => Self::Kept(request),
            Err(error) => {
                tracing::warn!(
                    "processors may sleep between messages ({REQUESTS}: {error}); each then takes a moment to wake"
                );
                Self::Never
            }
        };
    }

    /// Lets them sleep until the next [`Awake::keep`].
    pub(super) fn rest(&mut self) {
        if matches!(self, Self::Kept(_)) {
            *self = Self::Resting;
        }
    }
}

const REQUESTS: &str = "/dev/cpu_dma_latency";

#[cfg(target_os = "linux")]
fn request() -> io::Result<File> {
    use std::io::Write;

    let mut request = File::options().write(true).open(REQUESTS)?;
    // The longest time that a processor may take to wake, in microseconds.
    request.write_all(&0_i32.to_ne_bytes())?;
    Ok(request)
}

#[cfg(not(target_os = "linux"))]
fn request() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;

    use super::*;

    /// The longest time to wake that all programs together permit, in microseconds; `None` if this one may not ask.
    fn permitted() -> Option<i32> {
        let mut requests = File::options().read(true).write(true).open(REQUESTS).ok()?;
        let mut micros = [0; 4];
        requests.read_exact(&mut micros).ok()?;
        Some(i32::from_ne_bytes(micros))
    }

    #[test]
    fn processors_are_kept_awake_until_a_rest_if_that_is_permitted() {
        let is_permitted = permitted().is_some();
        let mut awake = Awake::new(Scheduling::Realtime);
        for _ in 0..2 {
            awake.keep();
            assert_eq!(matches!(awake, Awake::Kept(_)), is_permitted);
            assert!(!is_permitted || permitted() == Some(0));
            awake.rest();
            assert_eq!(matches!(awake, Awake::Resting), is_permitted);
        }
        let mut awake = Awake::new(Scheduling::Normal);
        awake.keep();
        assert!(matches!(awake, Awake::Never));
    }
}
