//! What this room needs of the system: the monotonic clock, and waits that end with the node ([`Waits`]).

use std::io::{self, PipeReader, PipeWriter};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long the listener waits after the system has refused a connection, for want of file descriptors.
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// The present instant of the monotonic clock.
#[expect(
    clippy::disallowed_methods,
    reason = "how long a peer takes is known only by looking"
)]
pub(crate) fn steady() -> Instant {
    Instant::now()
}

/// The number of this process, as the protocol has it.
pub(crate) fn pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// Ends all waits of its [`Waits`] when it is dropped.
#[derive(Debug)]
pub(crate) struct Ender {
    _writer: PipeWriter,
}

/// Waits of any thread for sockets; they end when the [`Ender`] is dropped. Clones share that end.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    over: Arc<PipeReader>,
}

/// How a wait has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waited {
    /// The socket has something to read, or is closed.
    Ready,
    /// The time is up.
    TimedOut,
    /// The node ends.
    Over,
}

/// Waits, and what ends them.
pub(crate) fn waits() -> io::Result<(Ender, Waits)> {
    let (reader, writer) = io::pipe()?;
    let over = Arc::new(reader);
    Ok((Ender { _writer: writer }, Waits { over }))
}

impl Waits {
    /// Waits until a socket can be read, until `until` at most; without it, for any time.
    pub(crate) fn readable(
        &self,
        socket: &impl AsFd,
        until: Option<Instant>,
    ) -> io::Result<Waited> {
        loop {
            let left = until.map(|until| until.saturating_duration_since(steady()));
            let mut polled = [
                PollFd::new(&*self.over, PollFlags::IN),
                PollFd::new(socket, PollFlags::IN),
            ];
            match poll(&mut polled, timespec(left).as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(0) => return Ok(Waited::TimedOut),
                Ok(_) if polled[0].revents().is_empty() => return Ok(Waited::Ready),
                Ok(_) => return Ok(Waited::Over),
            }
        }
    }

    /// Waits for this time; returns whether the node ends.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let until = steady() + time;
        loop {
            let left = until.saturating_duration_since(steady());
            let mut polled = [PollFd::new(&*self.over, PollFlags::IN)];
            match poll(&mut polled, timespec(Some(left)).as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) => return false,
                // A pipe that cannot be polled ends the thread, too.
                _ => return true,
            }
        }
    }

    /// Whether the node ends.
    pub(crate) fn is_over(&self) -> bool {
        self.pause(Duration::ZERO)
    }
}

fn timespec(time: Option<Duration>) -> Option<Timespec> {
    time.and_then(|time| Timespec::try_from(time).ok())
}

/// Gives each connection that a listener accepts to `take`, on a thread of its own; `most` at a time, further ones are
/// closed. Ends with the node.
pub(crate) fn accept_each(
    name: &'static str,
    listener: TcpListener,
    (waits, most): (Waits, usize),
    take: impl Fn(TcpStream, SocketAddr) + Send + Sync + 'static,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let take = Arc::new(take);
    let open = Arc::new(AtomicUsize::new(0));
    let run = move || {
        while matches!(waits.readable(&listener, None), Ok(Waited::Ready)) {
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => {
                    tracing::debug!("{name}: a connection is not accepted: {error}");
                    if waits.pause(AFTER_REFUSAL) {
                        return;
                    }
                    continue;
                }
            };
            if open.load(Ordering::Relaxed) >= most || stream.set_nonblocking(false).is_err() {
                tracing::debug!("{name}: {peer} is refused: there are {most} connections");
                continue;
            }
            open.fetch_add(1, Ordering::Relaxed);
            let (take, counted) = (Arc::clone(&take), Arc::clone(&open));
            let handle = move || {
                take(stream, peer);
                counted.fetch_sub(1, Ordering::Relaxed);
            };
            let thread = thread::Builder::new().name(name.to_owned());
            if let Err(error) = thread.spawn(handle) {
                open.fetch_sub(1, Ordering::Relaxed);
                tracing::debug!("{name}: {peer} is refused: {error}");
            }
        }
    };
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(run).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_end_with_the_node() {
        let (ender, waits) = waits().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let soon = Some(steady() + Duration::from_millis(1));
        assert_eq!(waits.readable(&listener, soon).unwrap(), Waited::TimedOut);
        assert!(!waits.is_over());
        let waiting = thread::spawn(move || waits.readable(&listener, None).unwrap());
        drop(ender);
        assert_eq!(waiting.join().unwrap(), Waited::Over);
    }
}
