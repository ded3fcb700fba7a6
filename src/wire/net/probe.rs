//! Checks before joining: whether a router answers on this host, and where this process can listen as the
//! router.
//!
//! A plain TCP connect answers within microseconds on loopback; zenoh's own peer mode would wait for half a
//! second if there is no router.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use super::endpoint::address;
use super::env::RouterCheck;

/// Whether an endpoint accepts TCP connections. Endpoints that are not TCP count as accepting.
pub(crate) fn answers(endpoint: &str, patience: Duration) -> io::Result<()> {
    let Some(address) = address(endpoint) else {
        return Ok(());
    };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether a router answers at `endpoint`, tried as often as `check` says.
pub(crate) fn has_router(check: RouterCheck, endpoint: &str) -> bool {
    let mut left = match check {
        RouterCheck::Skip => return true,
        RouterCheck::Times(times) => Some(times),
        RouterCheck::Forever => None,
    };
    loop {
        if answers(endpoint, Duration::from_millis(100)).is_ok() {
            return true;
        }
        left = left.map(|left| left.saturating_sub(1));
        if left == Some(0) {
            return false;
        }
        // No event announces the start of a router; ROS 2 nodes wait for a second, too.
        thread::park_timeout(Duration::from_secs(1));
    }
}

/// Where this process can listen as the router of this host: IPv4 loopback, and IPv6 loopback if it exists.
pub(crate) fn router_listeners(port: u16) -> Vec<String> {
    let mut listeners = vec![format!("tcp/127.0.0.1:{port}")];
    let v6 = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port));
    if TcpListener::bind(v6).is_ok() {
        listeners.push(format!("tcp/[::1]:{port}"));
    }
    listeners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_answers_and_a_free_port_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("tcp/{}?x=1", listener.local_addr().unwrap());
        assert!(answers(&endpoint, Duration::from_secs(5)).is_ok());
        assert!(has_router(RouterCheck::Times(1), &endpoint));
        drop(listener);
        assert!(answers(&endpoint, Duration::from_secs(5)).is_err());
        assert!(!has_router(RouterCheck::Times(1), &endpoint));
        assert!(has_router(RouterCheck::Skip, &endpoint));
    }

    #[test]
    fn a_router_listens_on_loopback_alone() {
        let listeners = router_listeners(0);
        // Not every machine has the second one.
        let expected = ["tcp/127.0.0.1:0", "tcp/[::1]:0"];
        assert_eq!(listeners, expected[..listeners.len()]);
    }
}
