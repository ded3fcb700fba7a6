//! Waiting until what was put has left: zenoh's close does not.
//!
//! zenoh 1.10 cancels a link's sending task when the session closes, in the middle of a write if need be,
//! and undeclarations overtake data. So before anything is taken down two things are waited for: silence,
//! nothing left in the system's send buffers of our links for a while, and no sending task at work at its end;
//! then an answer of every session with an admin space (real `rmw_zenoh` nodes and routers have one) to a query
//! that stands behind the data in the same queues.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use zenoh::Wait;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::{ConsolidationMode, QueryTarget};

use super::now::steady;

/// The root of every session's admin space.
const ADMIN_SPACE: &str = "@/*/*";
/// How long the send buffers must stay empty: zenoh waits for a moment now and then whether more comes.
const SILENCE: Duration = Duration::from_millis(40);
/// A sending thread that is still at work then has another session's data.
const STARVED: Duration = Duration::from_secs(1);
/// No query has to end: who waits for it does.
const LONGEST: Duration = Duration::from_secs(86_400);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A buffer that has room gets those too, a few bytes now and then.
const MORE_THAN_SIGNS_OF_LIFE: u64 = 1024;

/// What became of that which was put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Drained {
    /// It has left.
    Whole,
    /// Somebody took nothing for the stall timeout, or went, and did not get these bytes nor what stands
    /// behind them.
    Untaken {
        /// In the system's send buffers.
        bytes: u64,
    },
    /// The caller did not want to wait any longer.
    CalledOff {
        /// In the system's send buffers.
        bytes: u64,
    },
}

/// Returns when what was put has left, when nothing has moved for `patience`, or when it is called off,
/// which is asked every few milliseconds.
pub(super) fn drain(
    zenoh: &zenoh::Session,
    patience: Duration,
    mut is_called_off: impl FnMut() -> bool,
) -> Drained {
    let (mut buffers, mut quiet_since) = (Buffers::default(), steady());
    // When all of it had left and was asked for, and what came of that.
    let mut asked: Option<(Instant, Answers)> = None;
    loop {
        let now = steady();
        buffers.look(unsent(&sockets(zenoh)), now);
        if buffers.bytes() > 0 {
            quiet_since = now;
        }
        let quiet = now.duration_since(quiet_since);
        let is_silent = quiet >= SILENCE && (quiet >= STARVED || !is_sending());
        // Not before: while a queue is full a query waits for room in it.
        if is_silent && asked.is_none() {
            asked = Some((now, ask(zenoh)));
        }
        // Who has taken all and does not answer has it all the same.
        let is_through = asked
            .as_ref()
            .is_some_and(|(at, answers)| answers.are_in() || now.duration_since(*at) >= patience);
        match buffers.lost {
            0 if is_through => return Drained::Whole,
            bytes if is_through => return Drained::Untaken { bytes },
            _ => {}
        }
        let bytes = buffers.bytes() + buffers.lost;
        if is_called_off() {
            return Drained::CalledOff { bytes };
        }
        if buffers.are_stuck(now, patience) {
            return Drained::Untaken { bytes };
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the system tells of an empty send buffer only when asked"
        )]
        thread::sleep(LOOK_EVERY);
    }
}

/// The local and the remote port of a link.
type Ports = (u16, u16);

/// The send buffers of our links, as they were when looked at last.
#[derive(Default, Debug)]
struct Buffers {
    links: BTreeMap<Ports, Buffer>,
    /// What had not been taken on links that went.
    lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    bytes: u64,
    moved_at: Instant,
}

impl Buffers {
    fn look(&mut self, bytes: BTreeMap<Ports, u64>, now: Instant) {
        self.links.retain(|ports, buffer| {
            let is_there = bytes.contains_key(ports);
            self.lost += if is_there { 0 } else { buffer.bytes };
            is_there
        });
        for (ports, bytes) in bytes {
            let moved_at = match self.links.get(&ports) {
                Some(before) if !before.moves_to(bytes) => before.moved_at,
                _ => now,
            };
            self.links.insert(ports, Buffer { bytes, moved_at });
        }
    }

    fn bytes(&self) -> u64 {
        self.links.values().map(|buffer| buffer.bytes).sum()
    }

    /// Whether something is left, and nobody has taken any of it for `patience`.
    fn are_stuck(&self, now: Instant, patience: Duration) -> bool {
        let mut full = self.links.values().filter(|buffer| buffer.bytes > 0);
        self.bytes() > 0 && full.all(|buffer| now.duration_since(buffer.moved_at) >= patience)
    }
}

impl Buffer {
    /// Whether that many bytes mean that some were taken: also when as many have come from behind.
    fn moves_to(self, bytes: u64) -> bool {
        bytes < self.bytes || bytes >= self.bytes + MORE_THAN_SIGNS_OF_LIFE
    }
}

/// To a query that goes through the same queues as data of its priority: they prove that the data before it
/// has arrived.
#[derive(Debug)]
struct Answers(Option<Receiver<()>>);

impl Answers {
    /// Whether all have answered, or there is nobody to ask.
    fn are_in(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|all| all.try_recv() == Err(TryRecvError::Disconnected))
    }
}

fn ask(zenoh: &zenoh::Session) -> Answers {
    let (answered, all) = mpsc::sync_channel::<()>(1);
    let asked = zenoh
        .get(ADMIN_SPACE)
        .priority(Priority::Data)
        .congestion_control(CongestionControl::Block)
        .target(QueryTarget::All)
        .consolidation(ConsolidationMode::None)
        .timeout(LONGEST)
        .callback(move |_| {
            // Held until zenoh drops it with the last answer.
            let _ = &answered;
        })
        .wait();
    Answers(asked.is_ok().then_some(all))
}

/// Both ends of every TCP link.
fn sockets(zenoh: &zenoh::Session) -> Vec<(SocketAddr, SocketAddr)> {
    let address = |locator: &zenoh::config::Locator| locator.address().as_str().parse().ok();
    zenoh
        .info()
        .links()
        .wait()
        .filter_map(|link| Some((address(link.src())?, address(link.dst())?)))
        .collect()
}

/// Whether a thread of zenoh's that sends is at work, or would be if the machine let it; no where the system does
/// not tell.
fn is_sending() -> bool {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
    threads.flatten().any(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        is_sender_at_work(&stat)
    })
}

/// The line of a thread, as `7 (tx-0) R …`.
fn is_sender_at_work(stat: &str) -> bool {
    let name_and_rest = stat
        .split_once('(')
        .and_then(|(_, rest)| rest.rsplit_once(')'));
    name_and_rest.is_some_and(|(name, rest)| {
        name.starts_with("tx-") && matches!(rest.trim_start().as_bytes().first(), Some(b'R' | b'D'))
    })
}

/// Bytes that the system has not sent or the other side has not acknowledged, of each of our links; none where
/// it does not tell.
fn unsent(sockets: &[(SocketAddr, SocketAddr)]) -> BTreeMap<Ports, u64> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|table| fs::read_to_string(table).unwrap_or_default());
    let rows = tables.iter().flat_map(|table| table.lines().skip(1));
    let is_ours = |ports: &Ports| {
        let ours = sockets.iter();
        ours.map(|(a, b)| (a.port(), b.port()))
            .any(|of| of == *ports)
    };
    rows.filter_map(row)
        .filter(|(ports, _)| is_ours(ports))
        .collect()
}

/// The local and remote port of a line, and its send queue.
fn row(line: &str) -> Option<(Ports, u64)> {
    let mut columns = line.split_ascii_whitespace().skip(1);
    let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
    let (local, remote) = (port(columns.next()?)?, port(columns.next()?)?);
    let (unsent, _) = columns.nth(1)?.split_once(':')?;
    Some(((local, remote), u64::from_str_radix(unsent, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_socket_table_is_read() {
        let line = "   1: 0100007F:1D17 0100007F:A2F0 01 00000A10:00000002 02:000A 00000000     0        0 1 2 0";
        assert_eq!(row(line), Some(((7447, 41_712), 0xa10)));
        assert_eq!(row("  sl  local_address rem_address"), None);
    }

    #[test]
    fn a_buffer_is_stuck_while_nobody_takes_any_of_it() {
        const PATIENCE: Duration = Duration::from_secs(5);
        let start = steady();
        let (stuck, other) = ((7447, 1), (7447, 2));
        let mut buffers = Buffers::default();
        // Seconds, bytes of two links, and whether that is stuck then.
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
            let now = start + Duration::from_secs(at);
            buffers.look([(stuck, of_stuck), (other, of_other)].into(), now);
            assert_eq!(buffers.are_stuck(now, PATIENCE), is_stuck, "{at}");
        }
        buffers.look([(other, 0)].into(), start);
        assert_eq!((buffers.lost, buffers.bytes()), (150_007, 0));
        assert!(!buffers.are_stuck(start + 9 * PATIENCE, PATIENCE));
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
            assert_eq!(is_sender_at_work(stat), is_it, "{stat}");
        }
    }
}
