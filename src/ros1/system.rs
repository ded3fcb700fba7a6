//! What this room needs of the system: the monotonic clock, and waits that end with the node ([`Waits`]).

use std::io::{self, PipeReader, PipeWriter};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How long a listener waits after `accept` has failed.
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
                Err(Errno::INTR) => {}
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
                Err(Errno::INTR) => {}
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

/// What all may have together: places, or bytes.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicUsize,
    most: usize,
}

/// A part of a [`Budget`], given back when it is dropped: also when the thread that has it panics.
#[derive(Debug)]
pub(crate) struct Share {
    of: Arc<Budget>,
    amount: usize,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            most,
        })
    }

    /// Whether this much is left now.
    pub(crate) fn has(&self, amount: usize) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        used.checked_add(amount).is_some_and(|all| all <= self.most)
    }

    /// Takes this much; `None` if less is left.
    pub(crate) fn take(self: &Arc<Self>, amount: usize) -> Option<Share> {
        let add = |used: usize| used.checked_add(amount).filter(|all| *all <= self.most);
        let order = Ordering::Relaxed;
        self.used.fetch_update(order, order, add).ok()?;
        Some(Share {
            of: Arc::clone(self),
            amount,
        })
    }

    /// Takes this much, whatever is left.
    pub(crate) fn take_over(self: &Arc<Self>, amount: usize) -> Share {
        self.used.fetch_add(amount, Ordering::Relaxed);
        Share {
            of: Arc::clone(self),
            amount,
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.used.fetch_sub(self.amount, Ordering::Relaxed);
    }
}

fn timespec(time: Option<Duration>) -> Option<Timespec> {
    time.and_then(|time| Timespec::try_from(time).ok())
}

/// Why a connection is not accepted.
#[derive(Debug)]
pub(crate) enum NoPlace {
    /// The limit, this number, is reached: the connection is closed.
    Full(usize),
    /// The system refuses. Without a file descriptor the connection waits, without a thread it is closed.
    System(io::Error),
}

/// Calls `take` with each connection that a listener accepts, on a thread of its own, `most` at a time, and `refused`
/// for each that is not accepted. Ends with the node.
pub(crate) fn accept_each(
    name: &'static str,
    listener: TcpListener,
    (waits, most): (Waits, usize),
    take: impl Fn(TcpStream, SocketAddr) + Send + Sync + 'static,
    refused: impl Fn(NoPlace) + Send + 'static,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let take = Arc::new(take);
    let places = Budget::new(most);
    let run = move || {
        while matches!(waits.readable(&listener, None), Ok(Waited::Ready)) {
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => {
                    if is_want(&error) {
                        refused(NoPlace::System(error));
                    } else {
                        // The peer has gone, or the network has failed.
                        tracing::debug!("{name}: a connection is not accepted: {error}");
                    }
                    if waits.pause(AFTER_REFUSAL) {
                        return;
                    }
                    continue;
                }
            };
            if stream.set_nonblocking(false).is_err() {
                continue;
            }
            let Some(place) = places.take(1) else {
                refused(NoPlace::Full(most));
                continue;
            };
            let take = Arc::clone(&take);
            let handle = move || {
                let _place = place;
                take(stream, peer);
            };
            let thread = thread::Builder::new().name(name.to_owned());
            if let Err(error) = thread.spawn(handle) {
                refused(NoPlace::System(error));
            }
        }
    };
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(run).map(drop)
}

/// Whether the system has no file descriptor left for this process, or for all.
pub(crate) fn is_want_of_files(error: &io::Error) -> bool {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    [Errno::MFILE, Errno::NFILE].map(is).contains(&true)
}

/// Whether the system has no file descriptor or no memory left for a socket.
pub(crate) fn is_want(error: &io::Error) -> bool {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    is_want_of_files(error) || [Errno::NOBUFS, Errno::NOMEM].map(is).contains(&true)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

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

    #[test]
    fn a_place_is_given_back_when_the_thread_of_its_connection_panics() {
        let (_ender, waits) = waits().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (has_begun, told) = crossbeam_channel::bounded(2);
        let is_refused = has_begun.clone();
        let take = move |mut stream: TcpStream, _| {
            has_begun.send(true).unwrap();
            // A peer that closes its connection is no reason to panic.
            assert_eq!(stream.read(&mut [0]).unwrap(), 0, "a panic of this test");
        };
        let refused = move |_| is_refused.send(false).unwrap();
        accept_each("test", listener, (waits, 1), take, refused).unwrap();
        let connect = || {
            let stream = TcpStream::connect(address).unwrap();
            (stream, told.recv().unwrap())
        };
        let (mut first, is_taken) = connect();
        assert!(is_taken);
        let (_second, is_taken) = connect();
        assert!(!is_taken, "there is one place");
        first.write_all(b"x").unwrap();
        let until = steady() + Duration::from_secs(60);
        while !connect().1 {
            assert!(steady() < until, "the place is not given back");
        }
    }
}
