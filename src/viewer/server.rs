//! [`ViewerServer`]: begins and ends the server to which viewers connect.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::ops::RangeInclusive;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context as Polling, Poll, Wake, Waker};
use std::thread::{Builder, JoinHandle, Thread};
use std::time::Duration as StdDuration;

use crossbeam_channel::{Receiver, bounded};
use foxglove::websocket::Capability;
use foxglove::{AppUrl, Context, FoxgloveError};

use super::address::ViewerAddress;
use super::broadcast::Broadcast;
use super::channels::Channels;
use super::listener::Listener;
use super::output::ViewerOutput;
use super::playback::stamp;
use super::refill::Refills;
use super::requests::Requests;
use super::worker::WorkerThread;
use crate::bag::{Bag, TopicId};
use crate::player::{Control, Transport};
use crate::time::{Duration, Steady, Time, TimeRange};

/// How many messages may wait for a viewer, and how many states and times together: fewer if messages are large. The
/// least number of states and times takes more than a second.
const QUEUE: RangeInclusive<u64> = 128..=1024;
/// How many bytes may wait for a viewer, as far as the least number of messages allows it.
const QUEUED_BYTES: u64 = 256 << 20;
/// How long the end waits for what is in the queues to be sent, on a machine that is busy.
const QUEUES_ARE_SENT: StdDuration = StdDuration::from_secs(5);
/// How long it then waits for viewers with slow connections. The library does not tell what is left in their queues.
const SLOW_VIEWERS: Duration = Duration::from_millis(200);
/// How long the end waits until viewers have been told of it.
const PATIENCE: Duration = Duration::from_millis(500);

/// The target under which the library logs, at level `info`, for which viewer a queue is full: at most once in 30 s for
/// all viewers. It has no other way to tell.
pub const QUEUE_FULL_TARGET: &str = "foxglove::websocket::connected_client::send_lossy";

/// What users are told if the library logs this text under [`QUEUE_FULL_TARGET`]; `None` if it says anything else.
pub fn slow_viewer_warning(text: &str) -> Option<String> {
    let viewer = text.strip_prefix("outbox for client ")?;
    let viewer = viewer.strip_suffix(" full")?;
    Some(format!(
        "viewer {viewer} does not keep up: the oldest messages that wait for it are dropped"
    ))
}

/// What is served.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The recording.
    pub bag: &'a Bag,
    /// The topics that are played, with their names.
    pub topics: &'a [(TopicId, &'a str)],
    /// The range of the whole recording, in which viewers can seek.
    pub recording: TimeRange,
    /// What commands may change.
    pub control: Control,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ViewerError {
    /// The address cannot be used.
    #[error("no server for viewers on {address}: {reason}")]
    Address {
        /// The address.
        address: String,
        /// Why.
        reason: io::Error,
    },
    /// The system refuses a thread.
    #[error("no thread for the server for viewers: {0}")]
    Thread(#[from] io::Error),
    /// The library fails.
    #[error("no server for viewers: {0}")]
    Other(String),
}

impl ViewerError {
    /// Whether another program uses the port.
    pub fn is_port_in_use(&self) -> bool {
        matches!(self, Self::Address { reason, .. } if reason.kind() == io::ErrorKind::AddrInUse)
    }
}

/// A server to which viewers connect. When it is dropped, it has ended, and viewers have been told, unless one takes no
/// data.
#[derive(Debug)]
pub struct ViewerServer {
    address: ViewerAddress,
    broadcast: Arc<Broadcast>,
    refills: Arc<Refills>,
    connected: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    state_thread: Option<JoinHandle<()>>,
    /// The channels are in it.
    _context: Arc<Context>,
    worker: WorkerThread,
}

impl ViewerServer {
    /// Listens at an address, and serves what the player of `transport` plays, which is started with the output (beside
    /// others). Only to be called outside of an asynchronous runtime.
    pub fn start(
        address: &ViewerAddress,
        offer: &Offer<'_>,
        transport: &Transport,
    ) -> Result<(Self, ViewerOutput), ViewerError> {
        let worker = WorkerThread::start()?;
        let context = Context::new();
        let all = offer.bag.topics();
        let named = offer.topics.iter();
        let topics = named.map(|(id, name)| (*id, *name, &all[id.index()]));
        let channels = Arc::new(Channels::new(&context, all.len(), topics));
        let (wake, woken) = bounded(1);
        let broadcast = Arc::new(Broadcast::new(transport.clone(), wake));
        let refills = Arc::new(Refills::new(Arc::clone(&channels), worker.worker().clone()));
        let requests = Arc::new(Requests::new(worker.worker().clone()));
        let connected = Arc::new(AtomicU64::new(0));
        let is_over = Arc::new(AtomicBool::new(false));

        let range = (
            stamp(offer.recording.start()),
            stamp(offer.recording.stop()),
        );
        let server = context
            .websocket_server()
            .name("bagplay")
            .bind(address.host(), address.port())
            .capabilities([Capability::Time])
            .playback_time_range(range.0, range.1)
            .message_backlog_size(queue_of(offer))
            .tokio_runtime(worker.worker().runtime())
            .listener(Arc::new(Listener {
                broadcast: Arc::clone(&broadcast),
                channels: Arc::clone(&channels),
                refills: Arc::clone(&refills),
                requests: Arc::clone(&requests),
                connected: Arc::clone(&connected),
                recording: offer.recording,
                control: offer.control,
            }));
        let handle = server.start_blocking().map_err(|error| match error {
            FoxgloveError::Bind(reason) => ViewerError::Address {
                address: address.to_string(),
                reason,
            },
            error => ViewerError::Other(error.to_string()),
        })?;
        let bound = address.with_port(handle.port());
        let mut started = Self {
            address: bound,
            broadcast: Arc::clone(&broadcast),
            refills: Arc::clone(&refills),
            connected,
            is_over: Arc::clone(&is_over),
            state_thread: None,
            _context: context,
            worker,
        };
        // From here on, an error ends the server.
        broadcast.begin(handle);

        let of_player = Arc::downgrade(&broadcast);
        transport.on_change(Arc::new(move || {
            if let Some(broadcast) = of_player.upgrade() {
                broadcast.wake();
            }
        }));
        let telling = Arc::clone(&broadcast);
        let thread = Builder::new().name("viewer-state".into());
        let last = Arc::clone(&refills);
        let run = move || tell(&telling, &requests, &last, &woken, &is_over);
        started.state_thread = Some(thread.spawn(run)?);
        let reading = Arc::clone(&refills);
        let (bag, player) = (offer.bag.clone(), transport.clone());
        let thread = Builder::new().name("viewer-refill".into());
        // Not joined: it owns nothing that needs cleaning up, and reading a chunk may take long.
        thread.spawn(move || reading.run(&bag, &player))?;
        let output = ViewerOutput {
            broadcast,
            channels,
            refills,
            generation: None,
        };
        Ok((started, output))
    }

    /// Where it listens, with the port that the system chose if none was given.
    pub const fn address(&self) -> &ViewerAddress {
        &self.address
    }

    /// The link that opens the Foxglove app with this server. It is for this machine if it listens on all addresses.
    pub fn app_url(&self) -> String {
        let url = format!("ws://{}", self.address.reached_from_here());
        AppUrl::new().with_websocket(url).to_string()
    }

    /// How many viewers have connected so far.
    pub fn connected(&self) -> u64 {
        self.connected.load(Ordering::Relaxed)
    }
}

impl Drop for ViewerServer {
    fn drop(&mut self) {
        self.refills.end();
        if self.broadcast.has_viewers() {
            let (sent, are_sent) = bounded::<Infallible>(0);
            self.worker.worker().after_queued(move || drop(sent));
            // The sender is dropped, or the time is up.
            let _: Result<Infallible, _> = are_sent.recv_timeout(QUEUES_ARE_SENT);
            let transport = self.broadcast.transport();
            let until = transport.now().saturating_add(SLOW_VIEWERS);
            wait_until(std::future::pending(), until, || transport.now());
        }
        self.is_over.store(true, Ordering::Relaxed);
        self.broadcast.wake();
        if let Some(handle) = self.broadcast.end() {
            let transport = self.broadcast.transport();
            let until = transport.now().saturating_add(PATIENCE);
            // If this gives up, the connections are closed all the same.
            wait_until(handle.stop().wait(), until, || transport.now());
        }
        if let Some(thread) = self.state_thread.take() {
            // Its panic has been logged.
            let _ = thread.join();
        }
    }
}

/// Carries out requests and tells changes whenever it is woken, and the time while playing, until `is_over`.
fn tell(
    broadcast: &Arc<Broadcast>,
    requests: &Requests,
    refills: &Arc<Refills>,
    woken: &Receiver<()>,
    is_over: &AtomicBool,
) {
    while !is_over.load(Ordering::Relaxed) {
        requests.carry_out(broadcast);
        let change = broadcast.catch_up();
        if broadcast.take_late_jump() {
            refills.told_jump();
        }
        // The time limit and the wake-up have the same effect; the sender is in `broadcast`.
        let _ = match change {
            Some(wait) => woken.recv_timeout(wait.to_std()).ok(),
            None => woken.recv().ok(),
        };
    }
}

/// How many messages may wait for a viewer, by the mean size of the messages of each topic.
fn queue_of(offer: &Offer<'_>) -> usize {
    let outlines = offer.bag.outline(1).topics;
    let sizes = offer.topics.iter().filter_map(|(id, _)| {
        let bytes = outlines.get(id.index())?.bytes?;
        bytes.checked_div(offer.bag.topics()[id.index()].message_count?)
    });
    let most = QUEUED_BYTES / sizes.max().unwrap_or(0).max(1);
    usize::try_from(most.clamp(*QUEUE.start(), *QUEUE.end())).unwrap_or(usize::MAX)
}

/// Waits for a future that a runtime drives, but not longer than `until`.
fn wait_until(done: impl Future<Output = ()>, until: Time<Steady>, now: impl Fn() -> Time<Steady>) {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut polling = Polling::from_waker(&waker);
    let mut done = pin!(done);
    while done.as_mut().poll(&mut polling) == Poll::Pending {
        let left = until.saturating_since(now());
        if left <= Duration::ZERO {
            return;
        }
        std::thread::park_timeout(left.to_std());
    }
}

#[cfg(test)]
mod tests {
    use super::slow_viewer_warning;

    #[test]
    fn a_slow_viewer_is_named() {
        let warning = slow_viewer_warning("outbox for client 127.0.0.1:40000 full").unwrap();
        assert!(warning.starts_with("viewer 127.0.0.1:40000 does not keep up: "));
        assert_eq!(slow_viewer_warning("anything else"), None);
    }
}
