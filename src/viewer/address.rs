//! [`ViewerAddress`]: where viewers connect to.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

const PORT: u16 = 8765;

/// The host and the port on which a server for viewers listens. Without a host it is the loopback address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewerAddress {
    /// An IP address, without brackets, or a name.
    host: String,
    port: u16,
}

/// A text that is not a [`ViewerAddress`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected HOST:PORT, HOST or PORT, such as 127.0.0.1:8765, [::1]:8765 or 8765")]
pub struct InvalidAddress;

impl Default for ViewerAddress {
    /// The loopback address, and the usual port of this protocol.
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: PORT,
        }
    }
}

impl ViewerAddress {
    /// An IP address, in brackets if it is of IPv6, or a name.
    pub(super) fn host(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }

    /// The port; 0: the system chooses one.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn with_port(&self, port: u16) -> Self {
        let host = self.host.clone();
        Self { host, port }
    }

    /// The address under which programs on this machine reach it.
    pub(super) fn reached_from_here(&self) -> Self {
        let is_any = |address: IpAddr| address.is_unspecified();
        if self.host.parse().is_ok_and(is_any) {
            Self {
                port: self.port,
                ..Self::default()
            }
        } else {
            self.clone()
        }
    }

    /// Whether only programs on this machine can connect.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self
                .host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

impl FromStr for ViewerAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let port = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u16>()
                .ok()
                .filter(|_| digits)
                .ok_or(InvalidAddress)
        };
        let bare = Self::default();
        if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or(InvalidAddress)?;
            host.parse::<Ipv6Addr>().map_err(|_| InvalidAddress)?;
            let port = match rest.strip_prefix(':') {
                Some(digits) => port(digits)?,
                None if rest.is_empty() => PORT,
                None => return Err(InvalidAddress),
            };
            let host = host.to_owned();
            return Ok(Self { host, port });
        }
        if text.parse::<Ipv6Addr>().is_ok() {
            let host = text.to_owned();
            return Ok(Self { host, port: PORT });
        }
        if let Ok(port) = port(text) {
            return Ok(Self { port, ..bare });
        }
        let (host, port) = match text.split_once(':') {
            Some((host, digits)) => (host, port(digits)?),
            None => (text, PORT),
        };
        if host.is_empty() && text.starts_with(':') {
            return Ok(Self { port, ..bare });
        }
        let is_allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_');
        // Digits alone were a port that is out of range.
        let is_number = host.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || !host.chars().all(is_allowed) {
            return Err(InvalidAddress);
        }
        let host = host.to_owned();
        Ok(Self { host, port })
    }
}

impl fmt::Display for ViewerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host(), self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_or_a_port_may_be_left_out() {
        for (text, shown, is_loopback) in [
            ("9000", "127.0.0.1:9000", true),
            (":9000", "127.0.0.1:9000", true),
            ("0", "127.0.0.1:0", true),
            ("localhost", "localhost:8765", true),
            ("0.0.0.0", "0.0.0.0:8765", false),
            ("0.0.0.0:1", "0.0.0.0:1", false),
            ("robot-1.lan:80", "robot-1.lan:80", false),
            ("::1", "[::1]:8765", true),
            ("[::]:9000", "[::]:9000", false),
            ("[::1]", "[::1]:8765", true),
        ] {
            let address: ViewerAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), shown, "{text}");
            assert_eq!(address.is_loopback(), is_loopback, "{text}");
        }
        assert_eq!(ViewerAddress::default().to_string(), "127.0.0.1:8765");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            ":",
            "65536",
            "a:b",
            "a:",
            "a:65536",
            "[::1]x",
            "[a]",
            "a/b",
            "a b",
            "ws://a:1",
            "a:1:2",
            "a:+1",
            "\u{1b}[2J",
        ] {
            assert_eq!(text.parse::<ViewerAddress>(), Err(InvalidAddress), "{text}");
        }
    }
}
