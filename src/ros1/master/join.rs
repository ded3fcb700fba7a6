//! [`join`]: finds the master of a network, or serves one, and the addresses at which a node listens.

use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;
use std::{io, thread};

use super::client::MasterClient;
use super::embedded::EmbeddedMaster;
use crate::ros1::error::Ros1Error;
use crate::ros1::event::{Events, Ros1Event};
use crate::ros1::rpc::error::RpcError;
use crate::ros1::rpc::uri::RpcUri;
use crate::ros1::system::Waits;

/// How long a connection to a master that has just answered may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Finds the master, or serves one until `waits` end; returns whether this node serves it.
pub(crate) fn join(
    client: &MasterClient,
    (waits, events): (&Waits, &Events),
) -> Result<bool, Ros1Error> {
    let uri = client.uri.to_string();
    let reason = match client.ping() {
        Ok(()) => return Ok(false),
        Err(reason) => reason,
    };
    match &reason {
        RpcError::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        RpcError::Io(_) | RpcError::TimedOut => return Err(Ros1Error::NoMaster { uri, reason }),
        _ => return Err(Ros1Error::OtherProgram { uri, reason }),
    }
    match master_listener(&client.uri) {
        Ok(listener) => {
            EmbeddedMaster::serve(&client.uri, listener, (waits, events))?;
            Ok(true)
        }
        // Another one has begun meanwhile.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && client.ping().is_ok() => {
            Ok(false)
        }
        Err(_) => Err(Ros1Error::NoMaster { uri, reason }),
    }
}

/// A listener at the address of a master, if it is one of this machine.
fn master_listener(uri: &RpcUri) -> io::Result<TcpListener> {
    let addresses = uri.addresses()?;
    let address = addresses.first().ok_or(io::ErrorKind::AddrNotAvailable)?;
    // The system refuses addresses of other machines.
    drop(TcpListener::bind((address.ip(), 0))?);
    // A name of this machine may stand for a loopback address here and for another one elsewhere.
    TcpListener::bind((bind_address(uri.host()), address.port()))
}

/// The host at which other nodes reach this one: the address from which the master is reached. If that is a loopback
/// address, and the master is named otherwise, that name is one of this machine.
pub(crate) fn local_host(master: &RpcUri) -> Result<String, Ros1Error> {
    let mut failure = io::ErrorKind::AddrNotAvailable.into();
    for address in master.addresses()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(own_host(master.host(), stream.local_addr()?.ip())),
            Err(error) => failure = error,
        }
    }
    Err(failure.into())
}

fn own_host(master: &str, address: IpAddr) -> String {
    if address.is_loopback() && !bind_address(master).is_loopback() {
        master.to_owned()
    } else {
        address.to_string()
    }
}

/// Where to listen to be reached at a host. A name may stand for other addresses elsewhere.
pub(crate) fn bind_address(host: &str) -> IpAddr {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    match host.parse() {
        Ok(address) => address,
        Err(_) if host == "localhost" => loopback,
        Err(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// Tells if the name under which nodes are to reach this one is unknown here. On a thread of its own, because a
/// look-up may take seconds.
pub(crate) fn check_host(host: &str, events: &Events) -> io::Result<()> {
    let (host, events) = (host.to_owned(), events.clone());
    let look_up = move || {
        let found = (host.as_str(), 0).to_socket_addrs();
        if found.is_ok_and(|mut addresses| addresses.next().is_some()) {
            return;
        }
        events.send(Ros1Event::UnknownHost { host });
    };
    let thread = thread::Builder::new().name("ros1-host".to_owned());
    thread.spawn(look_up).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_that_is_named_otherwise_than_localhost_is_on_a_machine_that_others_reach() {
        let loopback = IpAddr::V4(Ipv4Addr::new(127, 0, 1, 1));
        for (master, address, host) in [
            ("robot", loopback, "robot"),
            ("localhost", loopback, "127.0.1.1"),
            ("127.0.0.1", loopback, "127.0.1.1"),
            ("robot", IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7)), "10.0.0.7"),
        ] {
            assert_eq!(own_host(master, address), host);
        }
    }
}
