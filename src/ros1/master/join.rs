//! [`join`]: finds the master of a network, or serves one, and the addresses at which a node listens.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;
use std::{io, thread};

use super::client::MasterClient;
use super::embedded::EmbeddedMaster;
use crate::ros1::error::Ros1Error;
use crate::ros1::event::{Events, Ros1Event};
use crate::ros1::rpc::error::RpcError;
use crate::ros1::rpc::uri::RpcUri;
use crate::ros1::system::Waits;

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
            EmbeddedMaster::serve((&client.uri, client.patience()), listener, (waits, events))?;
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
    let ip = if is_local(uri.host()) {
        address.ip()
    } else {
        // A name of this machine may stand for a loopback address here and for another one elsewhere.
        all_of_family(address.ip())
    };
    TcpListener::bind((ip, address.port()))
}

/// The host at which other nodes reach this one, and where to listen: the address from which the master is reached. If
/// that is a loopback address, and the name of the master stands for other addresses elsewhere, that name. A connection
/// may take `patience`.
pub(crate) fn local_host(
    master: &RpcUri,
    patience: Duration,
) -> Result<(String, IpAddr), Ros1Error> {
    let mut failure = io::ErrorKind::AddrNotAvailable.into();
    for address in master.addresses()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => return Ok(own_host(master.host(), stream.local_addr()?.ip())),
            Err(error) => failure = error,
        }
    }
    Err(failure.into())
}

fn own_host(master: &str, address: IpAddr) -> (String, IpAddr) {
    if address.is_loopback() && !is_local(master) {
        (master.to_owned(), all_of_family(address))
    } else {
        (address.to_string(), address)
    }
}

/// Where to listen to be reached at a host. A name may stand for other addresses elsewhere.
pub(crate) fn bind_address(host: &str) -> IpAddr {
    match host.parse() {
        Ok(address) => address,
        Err(_) if is_local(host) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Err(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// Whether a host is an address, or a name that each machine has for itself.
fn is_local(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok()
        || matches!(
            host,
            "localhost" | "localhost6" | "ip6-localhost" | "ip6-loopback"
        )
        || host.starts_with("localhost.")
        || host.ends_with(".localhost")
}

/// All addresses of this machine; with IPv6 mostly those of IPv4, too.
const fn all_of_family(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
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
        for (master, address, host, bound) in [
            ("robot", "127.0.1.1", "robot", "0.0.0.0"),
            ("robot", "::1", "robot", "::"),
            ("localhost", "127.0.0.1", "127.0.0.1", "127.0.0.1"),
            ("localhost", "::1", "::1", "::1"),
            ("ip6-localhost", "::1", "::1", "::1"),
            (
                "localhost.localdomain",
                "127.0.0.1",
                "127.0.0.1",
                "127.0.0.1",
            ),
            ("127.0.1.1", "127.0.1.1", "127.0.1.1", "127.0.1.1"),
            ("robot", "10.0.0.7", "10.0.0.7", "10.0.0.7"),
        ] {
            let own = own_host(master, address.parse().unwrap());
            assert_eq!(own, (host.to_owned(), bound.parse().unwrap()));
        }
    }
}
