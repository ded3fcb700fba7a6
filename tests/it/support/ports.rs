//! Ports of the loopback interface for servers of tests.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

/// A port on which nobody listens and that only the caller will use: it is outside the range that the system assigns,
/// and is given out once.
pub(crate) fn free_port() -> u16 {
    /// Below the range of ports that Linux assigns.
    const PORTS: std::ops::Range<u32> = 20_000..32_000;
    static NEXT: OnceLock<AtomicU32> = OnceLock::new();
    let next = NEXT.get_or_init(|| AtomicU32::new(std::process::id().wrapping_mul(101)));
    let mut ports = (0..PORTS.len())
        .map(|_| PORTS.start + next.fetch_add(1, Ordering::Relaxed) % (PORTS.end - PORTS.start));
    let port = ports.find_map(|port| u16::try_from(port).ok().filter(|port| is_free(*port)));
    port.expect("a free port")
}

/// Whether nobody listens on a port. This process does not listen on it either, not even for a moment: a child that
/// another thread starts meanwhile would have a copy of that socket, and the port would stay in use.
fn is_free(port: u16) -> bool {
    let flags = SocketFlags::CLOEXEC;
    let socket =
        socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).expect("a socket");
    // Sockets of this kind do not keep each other from listening until one of them does.
    set_socket_reuseaddr(&socket, true).expect("an option of a socket");
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).is_ok()
}
