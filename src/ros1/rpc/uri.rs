//! [`RpcUri`]: the address of a master or of a node.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use super::error::RpcError;

/// The longest address.
const LONGEST: usize = 1024;

/// `http://HOST:PORT/`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RpcUri {
    /// Without brackets.
    host: String,
    port: u16,
    path: String,
}

impl RpcUri {
    /// The address of a server at this host and port.
    pub(crate) fn of(host: &str, port: u16) -> Self {
        Self {
            host: host.to_owned(),
            port,
            path: "/".to_owned(),
        }
    }

    /// The host: a name or an IP address, without brackets.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Host and port, as the header `Host` has them.
    pub(crate) fn authority(&self) -> String {
        let (host, port) = (&self.host, self.port);
        if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the host is an IP address: no name has to be looked up.
    pub(crate) fn is_numeric(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok()
    }

    /// The addresses of the host, those of IPv4 first: most nodes of ROS 1 have no others.
    pub(crate) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let addresses = (self.host.as_str(), self.port).to_socket_addrs()?;
        let (mut all, others): (Vec<_>, Vec<_>) = addresses.partition(SocketAddr::is_ipv4);
        all.extend(others);
        Ok(all)
    }
}

impl FromStr for RpcUri {
    type Err = RpcError;

    fn from_str(text: &str) -> Result<Self, RpcError> {
        let wrong = || RpcError::Uri(text.chars().take(LONGEST).collect());
        if text.len() > LONGEST || text.contains(|c: char| c.is_control() || c == ' ') {
            return Err(wrong());
        }
        // `rosrpc://` is the address of a service.
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let (host, port) = authority.rsplit_once(':').ok_or_else(wrong)?;
        let host = match host.strip_prefix('[') {
            Some(host) => host.strip_suffix(']').ok_or_else(wrong)?,
            None if host.contains(':') => return Err(wrong()),
            None => host,
        };
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for RpcUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in [
            "http://localhost:11311/",
            "http://[::1]:1/",
            "http://a:65535/RPC2",
        ] {
            assert_eq!(text.parse::<RpcUri>().unwrap().to_string(), text);
        }
        let bare: RpcUri = "http://robot:11311".parse().unwrap();
        assert_eq!(bare, RpcUri::of("robot", 11311));
        for text in [
            "",
            "robot:11311",
            "http://robot",
            "http://:1",
            "http://a:+1",
            "http://a:65536",
            "http://::1:1/",
            "https://a:1",
            "http://a b:1/",
            "http://a:1/\r\nX: y",
        ] {
            assert!(text.parse::<RpcUri>().is_err(), "{text}");
        }
    }
}
