//! [`join`]: finds the master of a network, or serves one, and the addresses at which a node listens.

use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs};
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
    let ip = if address.ip().is_loopback() {
        address.ip()
    } else {
        bind_address(uri.host())
    };
    TcpListener::bind((ip, address.port()))
}

/// The address from which a master is reached: other nodes reach this one there.
pub(crate) fn local_host(master: &RpcUri) -> Result<String, Ros1Error> {
    let addresses = master.addresses()?;
    let stream = TcpStream::connect(&addresses[..])?;
    Ok(stream.local_addr()?.ip().to_string())
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
