//! [`SendBuffers`]: the bytes on each link that the system has not sent or the receiver has not acknowledged.
//!
//! If the receiver is on this machine, also the bytes that it has not read: a receiver that finds its link
//! closed at its next keep-alive discards what it has not read yet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use zenoh::Wait;
use zenoh::session::Link;

use super::socket_diag::{SocketDiag, Unanswered};

/// The local and the remote port of a connection.
type Ports = (u16, u16);

/// Keep-alive messages of a few bytes enter even a stuck buffer; an increase of this size or more is data.
const MORE_THAN_SIGNS_OF_LIFE: u64 = 1024;
/// An upper bound of what waits in zenoh's own queue, before the buffer: 16 batches (see
/// `crate::wire::net::zenoh_config`) and those being filled.
pub(crate) const QUEUE: u64 = 2 << 20;
/// While data of this process waits, its buffer holds more than this.
const TRICKLE: u64 = 4096;
/// How long a state must last to count as more than the state in one sample.
const A_WHILE: Duration = Duration::from_secs(1);

/// The send buffers of this process's links, watched after the last put. Reads no clock: the time of a sample is an
/// argument, counted from any instant.
#[derive(Default, Debug)]
pub(crate) struct SendBuffers {
    links: BTreeMap<Ports, Buffer>,
    sampled_at: Option<Duration>,
    /// Bytes not taken on links that have closed.
    lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    bytes: u64,
    moved_at: Duration,
    /// An upper bound of the bytes that were in the buffer or in the queue before it in the first sample, less
    /// the bytes that have left since.
    ahead: u64,
    /// When the buffer last held [`TRICKLE`] bytes or more.
    full_at: Duration,
    /// The bytes that the receiver has taken since the link was opened, if the system counts them.
    taken: Option<u64>,
}

/// What the system has of a link.
#[derive(Clone, Copy, Default, Debug)]
struct Waiting {
    /// The bytes that it has not sent, that the receiver has not acknowledged, or, if it is on this machine, that it
    /// has not read.
    bytes: u64,
    /// The bytes that the receiver has taken since the link was opened, if the system counts them.
    taken: Option<u64>,
}

impl SendBuffers {
    /// Reads the buffers of the links of `sessions`, and of the links of this process's router.
    pub(crate) fn sample(
        &mut self,
        sessions: &[zenoh::Session],
        router: Option<&zenoh::Session>,
        now: Duration,
    ) {
        let waiting = waiting(sessions.iter().chain(router).flat_map(sockets));
        let taken = waiting.iter();
        let taken = taken.filter_map(|(ports, it)| Some((*ports, it.taken?)));
        let taken: BTreeMap<Ports, u64> = taken.collect();
        let bytes = waiting.iter().map(|(ports, it)| (*ports, it.bytes));
        self.update(bytes.collect(), &taken, router.is_some(), now);
    }

    /// Bytes that must still leave.
    pub(crate) fn bytes(&self) -> u64 {
        self.due().map(|buffer| buffer.bytes).sum()
    }

    /// Bytes on links that did not move before they closed. A link that still moved may have delivered
    /// everything.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether bytes are left and no buffer has moved for `patience`.
    pub(crate) fn are_stuck(&self, patience: Duration) -> bool {
        let is_stuck = |at, buffer: &Buffer| buffer.unmoved_for(at) >= patience;
        let all = |at| self.due().all(|buffer| is_stuck(at, buffer));
        self.bytes() > 0 && self.sampled_at.is_some_and(all)
    }

    fn due(&self) -> impl Iterator<Item = &Buffer> {
        let links = self.links.values();
        links.filter(|buffer| self.sampled_at.is_some_and(|at| buffer.is_due(at)))
    }

    fn update(
        &mut self,
        bytes: BTreeMap<Ports, u64>,
        taken: &BTreeMap<Ports, u64>,
        is_router: bool,
        now: Duration,
    ) {
        self.sampled_at = Some(now);
        // Data that goes through this process's router is first in the queue and the buffers of the link to the
        // router.
        let upstream = if is_router {
            bytes.values().sum::<u64>().saturating_add(QUEUE)
        } else {
            0
        };
        self.links.retain(|ports, buffer| {
            let is_there = bytes.contains_key(ports);
            if !is_there && buffer.is_due(now) && buffer.unmoved_for(now) >= A_WHILE {
                self.lost += buffer.bytes;
            }
            is_there
        });
        for (ports, bytes) in bytes {
            let new = Buffer {
                bytes,
                moved_at: now,
                ahead: bytes.saturating_add(QUEUE).saturating_add(upstream),
                full_at: now,
                taken: taken.get(&ports).copied(),
            };
            let buffer = self.links.entry(ports).or_insert(new);
            buffer.fill(bytes, taken.get(&ports).copied(), now);
        }
    }
}

impl Buffer {
    fn fill(&mut self, bytes: u64, taken: Option<u64>, now: Duration) {
        let shrunk = self.bytes.saturating_sub(bytes);
        // If nothing counts it: what came from the queue behind the buffer hides as much of what has left.
        let left = match (self.taken, taken) {
            (Some(before), Some(taken)) => taken.saturating_sub(before),
            _ => shrunk,
        };
        let change = left.max(bytes.saturating_sub(self.bytes));
        if shrunk > 0 || change >= MORE_THAN_SIGNS_OF_LIFE {
            self.moved_at = now;
        }
        if bytes >= TRICKLE {
            self.full_at = now;
        }
        self.bytes = bytes;
        self.taken = taken.max(self.taken);
        self.ahead = self.ahead.saturating_sub(left);
    }

    /// Whether data of this process is in the buffer. A router's links also carry data of others and may never
    /// be empty.
    fn is_due(&self, now: Duration) -> bool {
        let is_trickle = now.saturating_sub(self.full_at) >= A_WHILE;
        let is_of_others = self.ahead == 0 || (is_trickle && self.unmoved_for(now) < A_WHILE);
        self.bytes > 0 && !is_of_others
    }

    fn unmoved_for(&self, now: Duration) -> Duration {
        now.saturating_sub(self.moved_at)
    }
}

/// The two ends of every TCP link.
fn sockets(zenoh: &zenoh::Session) -> impl Iterator<Item = (SocketAddr, SocketAddr)> + use<> {
    zenoh.info().links().wait().filter_map(|link| ends(&link))
}

fn ends(link: &Link) -> Option<(SocketAddr, SocketAddr)> {
    let address = |locator: &zenoh::config::Locator| locator.address().as_str().parse().ok();
    Some((address(link.src())?, address(link.dst())?))
}

/// Whether a sending thread of zenoh (with a router, also a receiving one) is running or ready to run; `false`
/// if the system does not report it.
pub(crate) fn is_at_work(is_router: bool) -> bool {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    threads.flatten().any(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        is_thread_at_work(&stat, "tx-") || (is_router && is_thread_at_work(&stat, "rx-"))
    })
}

/// `stat` is the line of a thread, such as `7 (tx-0) R …`; `kind` is the start of the thread's name.
fn is_thread_at_work(stat: &str, kind: &str) -> bool {
    let name_and_rest = stat
        .split_once('(')
        .and_then(|(_, rest)| rest.rsplit_once(')'));
    name_and_rest.is_some_and(|(name, rest)| {
        name.starts_with(kind) && matches!(rest.trim_start().as_bytes().first(), Some(b'R' | b'D'))
    })
}

/// The bytes that each session linked to this one has not read yet. Sessions of which the system does not report it are
/// missing.
pub(crate) fn unread_by_session(zenoh: &zenoh::Session) -> BTreeMap<String, u64> {
    let links: Vec<_> = zenoh.info().links().wait().collect();
    let of_links = waiting(links.iter().filter_map(ends));
    let ports = |link| ends(link).map(|(near, far)| (near.port(), far.port()));
    let links = links
        .iter()
        .map(|link| (link.zid().to_string(), ports(link)));
    by_session(links, &of_links)
}

/// `links`: the session at the other end of each, and its ports if it is a TCP link. A link that closes may still be
/// listed when its socket was closed: what was in its buffer has not been taken, so it must not count as empty.
fn by_session(
    links: impl Iterator<Item = (String, Option<Ports>)>,
    of_links: &BTreeMap<Ports, Waiting>,
) -> BTreeMap<String, u64> {
    let mut by_session = BTreeMap::new();
    for (session, ports) in links {
        let bytes = match ports {
            Some(ports) => of_links.get(&ports).map(|waiting| waiting.bytes),
            None => Some(0),
        };
        if let Some(bytes) = bytes {
            *by_session.entry(session).or_default() += bytes;
        }
    }
    by_session
}

/// What waits on each link; empty if the system does not report it.
fn waiting(links: impl Iterator<Item = (SocketAddr, SocketAddr)>) -> BTreeMap<Ports, Waiting> {
    let links: BTreeSet<_> = links.collect();
    told(&links).unwrap_or_else(|Unanswered| in_tables(&links))
}

/// The same, link by link.
fn told(
    links: &BTreeSet<(SocketAddr, SocketAddr)>,
) -> Result<BTreeMap<Ports, Waiting>, Unanswered> {
    let diag = SocketDiag::open()?;
    let mut all: BTreeMap<Ports, Waiting> = BTreeMap::new();
    for &(near, far) in links {
        let own = diag.ask(near, far)?;
        // After the other: what is received in between counts as not read, not as taken.
        let receiver = diag.ask(far, near)?;
        if own.is_none() && receiver.is_none() {
            continue;
        }
        let unread = receiver.map_or(0, |it| it.unread);
        let acknowledged = own.and_then(|it| it.acknowledged);
        let taken = acknowledged.map(|bytes| bytes.saturating_sub(unread));
        // Added, because links to two hosts may have the same ports.
        let waiting = all.entry((near.port(), far.port())).or_default();
        waiting.bytes += own.map_or(0, |it| it.unsent) + unread;
        waiting.taken = taken.map(|taken| waiting.taken.unwrap_or(0) + taken);
    }
    Ok(all)
}

/// The same from the tables of all connections, which take milliseconds to read. What the receivers have taken is not
/// in them.
fn in_tables(links: &BTreeSet<(SocketAddr, SocketAddr)>) -> BTreeMap<Ports, Waiting> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|table| fs::read_to_string(table).unwrap_or_default());
    let links = links.iter().map(|(near, far)| (near.port(), far.port()));
    let mut all: BTreeMap<Ports, Option<Waiting>> = links.map(|ports| (ports, None)).collect();
    for socket in tables
        .iter()
        .flat_map(|table| table.lines())
        .filter_map(socket)
    {
        let (local, remote) = socket.ports;
        if let Some(waiting) = all.get_mut(&(local, remote)) {
            waiting.get_or_insert_default().bytes += socket.unsent;
        }
        if let Some(waiting) = all.get_mut(&(remote, local)) {
            waiting.get_or_insert_default().bytes += socket.unread;
        }
    }
    let reported = all.into_iter();
    reported
        .filter_map(|(ports, waiting)| Some((ports, waiting?)))
        .collect()
}

/// An entry of the table: one end of a connection.
#[derive(PartialEq, Eq, Debug)]
struct Socket {
    ports: Ports,
    unsent: u64,
    unread: u64,
}

fn socket(line: &str) -> Option<Socket> {
    let mut columns = line.split_ascii_whitespace().skip(1);
    let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
    let ports = (port(columns.next()?)?, port(columns.next()?)?);
    let (unsent, unread) = columns.nth(1)?.split_once(':')?;
    let number = |hex| u64::from_str_radix(hex, 16).ok();
    Some(Socket {
        ports,
        unsent: number(unsent)?,
        unread: number(unread)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells_of_a_link_what_is_in_its_tables() {
        use std::io::Write as _;
        use std::net::{TcpListener, TcpStream};
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        near.write_all(&[1; 1000]).unwrap();
        let ends = |stream: &TcpStream| (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
        let gone = (ends(&near).0, "127.0.0.1:1".parse().unwrap());
        let links = BTreeSet::from([ends(&near), ends(&far), gone]);
        let (told, found) = (told(&links).unwrap(), in_tables(&links));
        let bytes = |all: &BTreeMap<Ports, Waiting>| {
            let bytes = all.iter().map(|(ports, it)| (*ports, it.bytes));
            bytes.collect::<BTreeMap<_, _>>()
        };
        assert_eq!(bytes(&told), bytes(&found));
        let ports = |(near, far): (SocketAddr, SocketAddr)| (near.port(), far.port());
        assert_eq!(told[&ports(ends(&near))].bytes, 1000);
        assert!(told[&ports(ends(&near))].taken.is_some());
    }

    #[test]
    fn a_link_without_a_socket_is_not_empty_but_gone() {
        let waiting = Waiting {
            bytes: 7,
            taken: None,
        };
        let of_links = BTreeMap::from([(STUCK, waiting)]);
        let links = [("a", Some(STUCK)), ("b", Some(OTHER)), ("c", None)];
        let links = links.map(|(session, ports)| (session.to_owned(), ports));
        let found = by_session(links.into_iter(), &of_links);
        assert_eq!(found, [("a".to_owned(), 7), ("c".to_owned(), 0)].into());
    }

    #[test]
    fn an_entry_of_the_socket_table_is_read() {
        let line = "   1: 0100007F:1D17 0100007F:A2F0 01 00000A10:00000002 02:000A 00000000     0        0 1 2 0";
        let expected = Socket {
            ports: (7447, 41_712),
            unsent: 0xa10,
            unread: 2,
        };
        assert_eq!(socket(line), Some(expected));
        assert_eq!(socket("  sl  local_address rem_address"), None);
    }

    const STUCK: Ports = (7447, 1);
    const OTHER: Ports = (7447, 2);
    /// The system does not count what was taken.
    const NONE: BTreeMap<Ports, u64> = BTreeMap::new();

    #[test]
    fn buffers_are_stuck_while_none_of_them_moves() {
        const PATIENCE: Duration = Duration::from_secs(5);
        let mut buffers = SendBuffers::default();
        // Seconds, bytes of two links, and whether they are stuck then.
        for (at, of_stuck, of_other, is_stuck) in [
            (0, 100_000, 100_000, false),
            (4, 100_010, 50_000, false),
            (5, 100_020, 0, true),
            (6, 100_030, 7, false),
            (7, 100_030, 0, true),
            (8, 100_020, 0, false),
            (12, 150_000, 0, false),
            (16, 150_000, 0, false),
            (17, 150_007, 0, true),
        ] {
            let now = Duration::from_secs(at);
            buffers.update(
                [(STUCK, of_stuck), (OTHER, of_other)].into(),
                &NONE,
                false,
                now,
            );
            assert_eq!(buffers.are_stuck(PATIENCE), is_stuck, "{at}");
        }
    }

    #[test]
    fn bytes_that_did_not_move_are_lost_with_their_link() {
        let mut buffers = SendBuffers::default();
        let both = |other| [(STUCK, 5000), (OTHER, other)].into();
        buffers.update(both(5000), &NONE, false, Duration::ZERO);
        buffers.update(both(2000), &NONE, false, A_WHILE);
        buffers.update(BTreeMap::new(), &NONE, false, A_WHILE);
        assert_eq!((buffers.lost(), buffers.bytes()), (5000, 0));
        assert!(!buffers.are_stuck(Duration::ZERO));
    }

    #[test]
    fn data_of_other_sessions_is_not_waited_for() {
        let (now, full) = (Duration::ZERO, 4 * QUEUE);
        let mut buffers = SendBuffers::default();
        let mut samples = 0;
        loop {
            let bytes = [full, full - 100_000][samples % 2];
            buffers.update([(OTHER, bytes)].into(), &NONE, false, now);
            if buffers.bytes() == 0 {
                break;
            }
            samples += 1;
        }
        // Everything that was there at first has left.
        let left = u64::try_from(samples).unwrap().div_ceil(2) * 100_000;
        assert!(left >= full + QUEUE && left < full + QUEUE + 100_000);
    }

    #[test]
    fn what_was_taken_counts_also_of_a_buffer_that_is_filled_again_at_once() {
        let (now, full) = (Duration::ZERO, 4 * QUEUE);
        let mut buffers = SendBuffers::default();
        for taken in [0, 2 * QUEUE, 5 * QUEUE - 1, 5 * QUEUE] {
            buffers.update(
                [(OTHER, full)].into(),
                &[(OTHER, 7 + taken)].into(),
                false,
                now,
            );
            assert_eq!(buffers.bytes() == 0, taken == 5 * QUEUE, "{taken}");
        }
    }

    #[test]
    fn data_through_our_router_is_waited_for_on_both_links() {
        let now = Duration::ZERO;
        let mut buffers = SendBuffers::default();
        buffers.update(
            [(STUCK, 5 * QUEUE), (OTHER, QUEUE)].into(),
            &NONE,
            true,
            now,
        );
        // As much as the second link held at first has left it, and twice as much from the queue behind it.
        for bytes in [0, QUEUE, 0, QUEUE, 0, QUEUE] {
            buffers.update([(STUCK, QUEUE), (OTHER, bytes)].into(), &NONE, true, now);
        }
        assert_eq!(buffers.bytes(), 2 * QUEUE);
    }

    #[test]
    fn a_trickle_is_waited_for_only_while_it_does_not_move() {
        let mut buffers = SendBuffers::default();
        // Milliseconds, bytes, bytes that must still leave.
        for (at, bytes, due) in [
            (0, 5000, 5000),
            (500, 100, 100),
            (999, 200, 200),
            (1000, 100, 0),
            (1999, 101, 0),
            (2000, 102, 102),
            (2100, 90, 0),
            (2200, 6000, 6000),
        ] {
            let now = Duration::from_millis(at);
            buffers.update([(OTHER, bytes)].into(), &NONE, false, now);
            assert_eq!(buffers.bytes(), due, "{at}");
        }
    }

    #[test]
    fn a_thread_that_sends_and_is_not_asleep_is_at_work() {
        for (stat, is_it) in [
            ("7 (tx-0) R 1 7 7", true),
            ("7 (tx-1) D 1 7 7", true),
            ("7 (tx-0) S 1 7 7", false),
            ("7 (rx-0) R 1 7 7", false),
            ("7 (a) (tx-0) R 1 7 7", false),
            ("", false),
        ] {
            assert_eq!(is_thread_at_work(stat, "tx-"), is_it, "{stat}");
        }
    }
}
