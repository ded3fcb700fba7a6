//! Waiting until what was put has left: zenoh's close does not.
//!
//! zenoh 1.10 cancels a link's sending task when the session closes, in the middle of a write if need be,
//! and undeclarations overtake data. So before anything is taken down two things are waited for:
//! an answer of every session with an admin space (real `rmw_zenoh` nodes and routers have one) to a query
//! that stands behind the data in the same queues; and, for the others, silence: nothing left in
//! the system's send buffers of our links for a while, and no sending task at work at its end.

use std::fs;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

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
/// A longer patience would not fit an instant.
const LONGEST: Duration = Duration::from_secs(86_400);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Returns when what was put has left, or after `patience`.
pub(super) fn drain(zenoh: &zenoh::Session, patience: Duration) {
    let deadline = steady() + patience.min(LONGEST);
    ask_behind_the_data(zenoh, patience);
    let mut quiet_since = steady();
    loop {
        let now = steady();
        if unsent(&sockets(zenoh)) > 0 {
            quiet_since = now;
        }
        let quiet = now.duration_since(quiet_since);
        let is_silent = quiet >= SILENCE && (quiet >= STARVED || !is_sending());
        if is_silent || now >= deadline {
            return;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the system tells of an empty send buffer only when asked"
        )]
        thread::sleep(LOOK_EVERY);
    }
}

/// Queries go through the same queues as data of their priority, so an answer proves that the data before
/// it has arrived.
fn ask_behind_the_data(zenoh: &zenoh::Session, patience: Duration) {
    let (answered, all) = mpsc::sync_channel::<()>(1);
    let asked = zenoh
        .get(ADMIN_SPACE)
        .priority(Priority::Data)
        .congestion_control(CongestionControl::Block)
        .target(QueryTarget::All)
        .consolidation(ConsolidationMode::None)
        .timeout(patience)
        .callback(move |_| {
            // Held until zenoh drops it with the last answer.
            let _ = &answered;
        })
        .wait();
    if asked.is_ok() {
        // Disconnected when all have answered or the query timed out.
        let _ = all.recv_timeout(patience);
    }
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

/// Bytes that the system has not sent or the other side has not acknowledged; 0 where it does not tell.
fn unsent(sockets: &[(SocketAddr, SocketAddr)]) -> u64 {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|table| fs::read_to_string(table).unwrap_or_default());
    let rows = tables.iter().flat_map(|table| table.lines().skip(1));
    let ours = rows
        .filter_map(row)
        .filter(|(ports, _)| sockets.iter().any(|(a, b)| *ports == (a.port(), b.port())));
    ours.map(|(_, unsent)| unsent).sum()
}

/// The local and remote port of a line, and its send queue.
fn row(line: &str) -> Option<((u16, u16), u64)> {
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
