//! [`SocketDiag`]: what the system knows of one end of a TCP connection (`NETLINK_SOCK_DIAG`). A question about one end
//! takes microseconds, however many connections the machine has. Only Linux has it.

use std::net::{IpAddr, SocketAddr};

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TcpEnd {
    /// The bytes that were written to it, and are not sent or not acknowledged.
    pub(super) unsent: u64,
    /// The bytes that it has received and nobody has read.
    pub(super) unread: u64,
    /// The bytes that the other end has acknowledged since the connection was opened, if the system counts them.
    pub(super) acknowledged: Option<u64>,
}

/// The system does not answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Unanswered;

const HEADER: usize = 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR`
const ERROR: u16 = 2;
/// `NLM_F_REQUEST`
const REQUEST: u16 = 1;
const INET: u8 = 2;
const INET6: u8 = 10;
const TCP: u8 = 6;
/// `INET_DIAG_INFO`: the attribute with the counters, and the bit that asks for it.
const INFO: u16 = 2;
const WITH_INFO: u8 = 1 << (INFO - 1);
/// `TCP_LISTEN`
const LISTEN: u8 = 10;
/// The size of `inet_diag_msg`, which comes before the attributes, and the places in it.
const MESSAGE: usize = 72;
const STATE: usize = 1;
const PORTS: usize = 4;
const UNREAD: usize = 56;
const UNSENT: usize = 60;
/// The place of `tcpi_bytes_acked` in `tcp_info`.
const BYTES_ACKED: usize = 120;

/// Asks for the end at `near` of the connection to `far`.
fn request(near: SocketAddr, far: SocketAddr) -> Vec<u8> {
    const SIZE: u32 = 72;
    // A socket for both families has mapped addresses, by which the system does not find it.
    let (near_ip, far_ip) = (near.ip().to_canonical(), far.ip().to_canonical());
    let family = if near_ip.is_ipv4() { INET } else { INET6 };
    let mut request = Vec::new();
    request.extend(SIZE.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST.to_ne_bytes());
    // No number, and to the system.
    request.extend([0; 8]);
    request.extend([family, TCP, WITH_INFO, 0]);
    // In all states.
    request.extend(u32::MAX.to_ne_bytes());
    request.extend(near.port().to_be_bytes());
    request.extend(far.port().to_be_bytes());
    for ip in [near_ip, far_ip] {
        match ip {
            IpAddr::V4(ip) => {
                request.extend(ip.octets());
                request.extend([0; 12]);
            }
            IpAddr::V6(ip) => request.extend(ip.octets()),
        }
    }
    // On any interface, with any cookie.
    request.extend(0_u32.to_ne_bytes());
    request.extend([u8::MAX; 8]);
    request
}

/// Takes an answer: `None` if there is no such end.
fn take(answer: &[u8], ports: (u16, u16)) -> Result<Option<TcpEnd>, Unanswered> {
    let length = number(answer, 0).and_then(|length| usize::try_from(length).ok());
    let message = length.and_then(|length| answer.get(HEADER..length));
    let message = message.ok_or(Unanswered)?;
    match short(answer, 4) {
        Some(SOCK_DIAG_BY_FAMILY) => Ok(end(message, ports)),
        // A negative error number.
        Some(ERROR) if is_missing(number(message, 0)) => Ok(None),
        _ => Err(Unanswered),
    }
}

fn end(message: &[u8], (near, far): (u16, u16)) -> Option<TcpEnd> {
    let port = |at: usize| {
        let bytes = message.get(at..at + 2)?;
        Some(u16::from_be_bytes(bytes.try_into().ok()?))
    };
    // If there is no connection, the system may answer with the socket that would accept one.
    let is_it = port(PORTS)? == near && port(PORTS + 2)? == far;
    if !is_it || *message.get(STATE)? == LISTEN {
        return None;
    }
    Some(TcpEnd {
        unsent: number(message, UNSENT)?.into(),
        unread: number(message, UNREAD)?.into(),
        acknowledged: acknowledged(message.get(MESSAGE..)?),
    })
}

fn acknowledged(mut attributes: &[u8]) -> Option<u64> {
    loop {
        let length = usize::from(short(attributes, 0)?);
        let value = attributes.get(4..length)?;
        if short(attributes, 2)? == INFO {
            let count = value.get(BYTES_ACKED..BYTES_ACKED + 8)?;
            return Some(u64::from_ne_bytes(count.try_into().ok()?));
        }
        attributes = attributes.get(length.saturating_add(3) & !3..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(target_os = "linux")]
pub(super) use linux::SocketDiag;

#[cfg(target_os = "linux")]
use linux::is_missing;

#[cfg(target_os = "linux")]
mod linux {
    use std::net::SocketAddr;

    use rustix::fd::OwnedFd;
    use rustix::io::Errno;
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
        socket_with,
    };

    use super::{TcpEnd, Unanswered, request, take};

    /// An answer about one end is much shorter.
    const ANSWER: usize = 4096;

    /// Asks the system.
    #[derive(Debug)]
    pub(in crate::wire::publish) struct SocketDiag(OwnedFd);

    impl SocketDiag {
        pub(in crate::wire::publish) fn open() -> Result<Self, Unanswered> {
            let socket = socket_with(
                AddressFamily::NETLINK,
                SocketType::RAW,
                SocketFlags::CLOEXEC,
                Some(netlink::SOCK_DIAG),
            );
            socket.map(Self).map_err(|_| Unanswered)
        }

        /// What the system knows of the end at `near` of the connection to `far`; `None` if there is none on this
        /// machine.
        pub(in crate::wire::publish) fn ask(
            &self,
            near: SocketAddr,
            far: SocketAddr,
        ) -> Result<Option<TcpEnd>, Unanswered> {
            let sent = send(&self.0, &request(near, far), SendFlags::empty());
            sent.map_err(|_| Unanswered)?;
            let mut answer = [0; ANSWER];
            // The system has answered before the call above returned.
            let received = recv(&self.0, &mut answer, RecvFlags::DONTWAIT);
            let (read, _) = received.map_err(|_| Unanswered)?;
            take(&answer[..read], (near.port(), far.port()))
        }
    }

    /// Whether this error of the system says that there is no such socket.
    pub(super) fn is_missing(error: Option<u32>) -> bool {
        let missing = Errno::NOENT.raw_os_error();
        error == Some(missing.wrapping_neg().cast_unsigned())
    }
}

#[cfg(not(target_os = "linux"))]
fn is_missing(_: Option<u32>) -> bool {
    false
}

/// Nothing answers.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) struct SocketDiag;

#[cfg(not(target_os = "linux"))]
impl SocketDiag {
    pub(super) fn open() -> Result<Self, Unanswered> {
        Err(Unanswered)
    }

    pub(super) fn ask(&self, _: SocketAddr, _: SocketAddr) -> Result<Option<TcpEnd>, Unanswered> {
        Err(Unanswered)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn both_ends_of_a_connection_are_told() {
        use std::io::{Read as _, Write as _};
        use std::net::{TcpListener, TcpStream};
        for address in ["127.0.0.1:0", "[::]:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let host = if address == "[::1]:0" {
                "::1"
            } else {
                "127.0.0.1"
            };
            let mut near = TcpStream::connect((host, port)).unwrap();
            let (mut far, _) = listener.accept().unwrap();
            let ends =
                |stream: &TcpStream| (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
            let diag = SocketDiag::open().unwrap();
            let ask = |(near, far)| diag.ask(near, far).unwrap();
            let (ours, theirs) = (ends(&near), ends(&far));
            let before = ask(ours).unwrap();
            assert_eq!((before.unsent, before.unread), (0, 0), "{address}");
            near.write_all(&vec![1; 100_000]).unwrap();
            far.read_exact(&mut vec![0; 99_990]).unwrap();
            // An answer acknowledges at once what was received before it.
            far.write_all(&[1; 7]).unwrap();
            near.read_exact(&mut [0; 5]).unwrap();
            let (one, other) = (ask(ours).unwrap(), ask(theirs).unwrap());
            assert_eq!((one.unread, other.unread), (2, 10), "{address}");
            let count = one.acknowledged.unwrap() - before.acknowledged.unwrap();
            assert_eq!((count, one.unsent), (100_000, 0), "{address}");
            drop((near, far));
            // What the system would find is the listener.
            let nobody = SocketAddr::new(ours.0.ip(), 1);
            assert_eq!(ask((ours.1, nobody)), None, "{address}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_panics(answer in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = take(&answer, (1, 2));
            let mut whole = u32::try_from(answer.len() + 16).unwrap().to_ne_bytes().to_vec();
            whole.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
            whole.resize(16, 0);
            whole.extend(&answer);
            let _ = take(&whole, (0, 0));
        }
    }
}
