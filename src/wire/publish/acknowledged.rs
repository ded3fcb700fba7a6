//! How many bytes the receivers of this machine's TCP connections have acknowledged since each was opened, as the system
//! counts them (`NETLINK_SOCK_DIAG`). Elsewhere than on Linux nothing counts them.

use std::collections::BTreeMap;

/// The local and the remote port of a connection.
pub(super) type Ports = (u16, u16);

/// The most bytes that are read of one answer. The system sends at most 32 KiB at once.
const ANSWER: usize = 64 << 10;
/// More answers than any socket table needs.
const MOST_ANSWERS: usize = 4096;

const HEADER: usize = 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`
const REQUEST_ALL: u16 = 0x301;
const INET: u8 = 2;
const INET6: u8 = 10;
const TCP: u8 = 6;
/// `INET_DIAG_INFO`: the attribute with the counters, and the bit that asks for it.
const INFO: u16 = 2;
const WITH_INFO: u8 = 1 << (INFO - 1);
/// The size of `inet_diag_msg`, which comes before the attributes.
const MESSAGE: usize = 72;
/// The place of `tcpi_bytes_acked` in `tcp_info`.
const BYTES_ACKED: usize = 120;

/// The acknowledged bytes of all TCP connections; empty if the system does not tell.
pub(super) fn acknowledged() -> BTreeMap<Ports, u64> {
    let mut counts = BTreeMap::new();
    for family in [INET, INET6] {
        // What is not told is estimated.
        let _ = ask(family, &mut counts);
    }
    counts
}

#[cfg(target_os = "linux")]
fn ask(family: u8, counts: &mut BTreeMap<Ports, u64>) -> rustix::io::Result<()> {
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
        socket_with,
    };
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    send(&socket, &request(family), SendFlags::empty())?;
    let mut answer = vec![0; ANSWER];
    for _ in 0..MOST_ANSWERS {
        // The system has answered before the call above returned; the rest of an answer comes as it is read.
        let (read, _) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
        if !take(&answer[..read], counts) {
            break;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn ask(_: u8, _: &mut BTreeMap<Ports, u64>) -> Result<(), ()> {
    Err(())
}

/// Asks for all TCP connections of an address family.
fn request(family: u8) -> Vec<u8> {
    const SIZE: u32 = 72;
    let mut request = Vec::new();
    request.extend(SIZE.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_ALL.to_ne_bytes());
    // No number, and to the system.
    request.extend([0; 8]);
    request.extend([family, TCP, WITH_INFO, 0]);
    // In all states.
    request.extend(u32::MAX.to_ne_bytes());
    // Of all addresses.
    request.resize(72, 0);
    request
}

/// Takes the counts of an answer. Returns whether more answers follow.
fn take(mut answer: &[u8], counts: &mut BTreeMap<Ports, u64>) -> bool {
    while let Some(length) = number(answer, 0).and_then(|length| usize::try_from(length).ok()) {
        let kind = short(answer, 4);
        let Some(message) = answer.get(HEADER..length) else {
            return false;
        };
        if kind != Some(SOCK_DIAG_BY_FAMILY) {
            // The end, or an error.
            return false;
        }
        if let Some((ports, count)) = connection(message) {
            // Two connections to different hosts may have the same ports.
            *counts.entry(ports).or_default() += count;
        }
        answer = answer.get(aligned(length)..).unwrap_or_default();
    }
    true
}

fn connection(message: &[u8]) -> Option<(Ports, u64)> {
    let port = |at: usize| {
        Some(u16::from_be_bytes(
            message.get(at..at + 2)?.try_into().ok()?,
        ))
    };
    let ports = (port(4)?, port(6)?);
    let mut attributes = message.get(MESSAGE..)?;
    loop {
        let length = usize::from(short(attributes, 0)?);
        let value = attributes.get(4..length)?;
        if short(attributes, 2)? == INFO {
            let count = value.get(BYTES_ACKED..BYTES_ACKED + 8)?;
            return Some((ports, u64::from_ne_bytes(count.try_into().ok()?)));
        }
        attributes = attributes.get(aligned(length)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_bytes_that_were_acknowledged_are_told_for_both_ends() {
        use std::io::{Read as _, Write as _};
        use std::net::{TcpListener, TcpStream};
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let ports = |stream: &TcpStream| {
            let port = |address: std::net::SocketAddr| address.port();
            (
                port(stream.local_addr().unwrap()),
                port(stream.peer_addr().unwrap()),
            )
        };
        let before = acknowledged();
        near.write_all(&vec![1; 100_000]).unwrap();
        far.read_exact(&mut vec![0; 100_000]).unwrap();
        // An answer acknowledges at once what was read before it.
        far.write_all(&[1; 10]).unwrap();
        near.read_exact(&mut [0; 10]).unwrap();
        let count = acknowledged()[&ports(&near)] - before[&ports(&near)];
        assert_eq!(count, 100_000);
        assert!(acknowledged().contains_key(&ports(&far)));
    }

    proptest! {
        #[test]
        fn no_answer_panics(answer in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut counts = BTreeMap::new();
            take(&answer, &mut counts);
            let mut whole = u32::try_from(answer.len() + 16).unwrap().to_ne_bytes().to_vec();
            whole.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
            whole.resize(16, 0);
            whole.extend(&answer);
            take(&whole, &mut counts);
        }
    }
}
