//! Looking before joining: whether a router answers on this host, and whether we can be it.
//!
//! A plain TCP connect tells within microseconds on loopback; zenoh's own peer mode would wait half a
//! second when nobody answers.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use super::endpoint::address;
use super::env::RouterCheck;

/// Whether somebody takes TCP connections at an endpoint. Endpoints that are not TCP count as answering.
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

/// Whether a router answers at its usual place, asked as often as `check` says.
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
        // Nothing tells when a router starts; a second is what ROS 2 nodes wait.
        thread::park_timeout(Duration::from_secs(1));
    }
}

/// Where we can listen as the router of this host: IPv4 loopback, and IPv6's where there is one.
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
}
