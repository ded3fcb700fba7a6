//! [`HttpStream`]: HTTP/1.1 over one connection, as much as XML-RPC needs, under limits of size and time.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::RpcError;
use crate::ros1::system::{Budget, Share, Waited, Waits};

/// The longest head, in bytes.
const MAX_HEAD: usize = 16 << 10;
/// The longest body, in bytes: a system state of thousands of topics.
pub(crate) const MAX_BODY: usize = 4 << 20;
/// Bodies up to this size are not counted, so a used-up budget never refuses them.
pub(crate) const SMALL: usize = 64 << 10;
const MAX_HEADERS: usize = 64;
/// How long a peer may take nothing of what is written to it.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);

/// A request.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) body: String,
    /// Whether the peer may send another request over this connection.
    pub(crate) keeps_alive: bool,
    /// Its part of what all connections may take together.
    _share: Option<Share>,
}

/// What of a head matters.
#[derive(Debug, Default)]
struct Head {
    /// In bytes.
    length: usize,
    /// `None` if the body ends with the connection.
    body: Option<usize>,
    keeps_alive: bool,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct HttpStream<'a> {
    stream: &'a TcpStream,
    waits: &'a Waits,
    /// What the requests of all connections may take together.
    bytes: Option<&'a Arc<Budget>>,
    /// What was received and not yet read.
    received: Vec<u8>,
}

impl<'a> HttpStream<'a> {
    pub(crate) fn new(stream: &'a TcpStream, waits: &'a Waits) -> Result<Self, RpcError> {
        stream.set_write_timeout(Some(WRITE_PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            waits,
            bytes: None,
            received: Vec::new(),
        })
    }

    /// The same, where requests of all connections have a limit together.
    pub(crate) fn within(
        stream: &'a TcpStream,
        waits: &'a Waits,
        bytes: &'a Arc<Budget>,
    ) -> Result<Self, RpcError> {
        Ok(Self {
            bytes: Some(bytes),
            ..Self::new(stream, waits)?
        })
    }

    /// The next request, which has to be there at `until`.
    pub(crate) fn request(&mut self, until: Instant) -> Result<HttpRequest, RpcError> {
        let head = self.head(until, request_head)?;
        let length = head.body.unwrap_or(0);
        if length > MAX_BODY {
            return Err(RpcError::TooLarge(MAX_BODY));
        }
        let share = match self.bytes {
            Some(bytes) if length > SMALL => Some(bytes.take(length).ok_or(RpcError::Busy)?),
            _ => None,
        };
        let body = self.body(&head, Some(length), until)?;
        Ok(HttpRequest {
            body,
            keeps_alive: head.keeps_alive,
            _share: share,
        })
    }

    /// The body of the next response, which has to be there at `until`.
    pub(crate) fn response(&mut self, until: Instant) -> Result<String, RpcError> {
        let head = self.head(until, response_head)?;
        self.body(&head, head.body, until)
    }

    /// Writes a request.
    pub(crate) fn send_request(
        &mut self,
        (host, path): (&str, &str),
        body: &str,
    ) -> Result<(), RpcError> {
        let length = body.len();
        self.write(&format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: bagplay\r\nContent-Type: text/xml\r\n\
             Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// Writes a response.
    pub(crate) fn send_response(&mut self, body: &str, keeps_alive: bool) -> Result<(), RpcError> {
        let length = body.len();
        let connection = if keeps_alive { "keep-alive" } else { "close" };
        self.write(&format!(
            "HTTP/1.1 200 OK\r\nServer: bagplay\r\nContent-Type: text/xml\r\nConnection: {connection}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// Refuses a request, with a status and its text.
    pub(crate) fn refuse(&mut self, status: &str) -> Result<(), RpcError> {
        self.write(&format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        ))
    }

    fn write(&mut self, text: &str) -> Result<(), RpcError> {
        let mut stream = self.stream;
        Ok(stream.write_all(text.as_bytes())?)
    }

    /// Receives more; returns whether the peer has not closed its side.
    fn receive(&mut self, until: Instant) -> Result<bool, RpcError> {
        match self.waits.readable(self.stream, Some(until))? {
            Waited::Ready => {}
            Waited::TimedOut => return Err(RpcError::TimedOut),
            Waited::Over => return Err(RpcError::Over),
        }
        let mut part = [0; 8192];
        let mut stream = self.stream;
        let count = stream.read(&mut part)?;
        self.received.extend_from_slice(&part[..count]);
        Ok(count > 0)
    }

    fn head(
        &mut self,
        until: Instant,
        read: impl Fn(&[u8]) -> Result<Option<Head>, RpcError>,
    ) -> Result<Head, RpcError> {
        let mut seen: usize = 0;
        loop {
            // Only the end of a head is looked for in each part: parsing all of it each time would be slow.
            let from = seen.saturating_sub(3);
            let has_end = self.received[from..]
                .windows(2)
                .any(|two| two == b"\n\n" || two == b"\n\r");
            seen = self.received.len();
            if has_end && let Some(head) = read(&self.received)? {
                return Ok(head);
            }
            if seen > MAX_HEAD {
                return Err(RpcError::TooLarge(MAX_HEAD));
            }
            if !self.receive(until)? {
                return Err(RpcError::Closed);
            }
        }
    }

    fn body(
        &mut self,
        head: &Head,
        length: Option<usize>,
        until: Instant,
    ) -> Result<String, RpcError> {
        if length.is_some_and(|length| length > MAX_BODY) {
            return Err(RpcError::TooLarge(MAX_BODY));
        }
        let end = length.map(|length| head.length + length);
        while end.is_none_or(|end| self.received.len() < end) {
            if self.received.len() > head.length + MAX_BODY {
                return Err(RpcError::TooLarge(MAX_BODY));
            }
            if !self.receive(until)? {
                if end.is_none() {
                    break;
                }
                return Err(RpcError::Closed);
            }
        }
        let end = end.unwrap_or(self.received.len());
        // What follows gets memory of its own: an idle connection must not keep that of a large body.
        let rest = self.received.split_off(end);
        let mut body = std::mem::replace(&mut self.received, rest);
        body.drain(..head.length);
        let body = String::from_utf8(body);
        Ok(body.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }
}

fn invalid(what: impl Into<String>) -> RpcError {
    RpcError::Invalid(what.into())
}

fn unreadable(error: httparse::Error) -> RpcError {
    invalid(error.to_string())
}

fn request_head(received: &[u8]) -> Result<Option<Head>, RpcError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = request.parse(received).map_err(unreadable)? else {
        return Ok(None);
    };
    if request.method != Some("POST") {
        return Err(invalid("the method is not POST"));
    }
    let head = head_of(length, request.version, request.headers)?;
    // Browsers send it with requests of pages of other sites, which have no business here.
    if request
        .headers
        .iter()
        .any(|it| it.name.eq_ignore_ascii_case("origin"))
    {
        return Err(invalid("a request of a browser"));
    }
    Ok(Some(head))
}

fn response_head(received: &[u8]) -> Result<Option<Head>, RpcError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = response.parse(received).map_err(unreadable)? else {
        return Ok(None);
    };
    if response.code != Some(200) {
        let code = response.code.unwrap_or(0);
        return Err(invalid(format!("HTTP status {code}")));
    }
    head_of(length, response.version, response.headers).map(Some)
}

fn head_of(
    length: usize,
    version: Option<u8>,
    headers: &[httparse::Header<'_>],
) -> Result<Head, RpcError> {
    let mut head = Head {
        length,
        body: None,
        keeps_alive: version == Some(1),
    };
    for header in headers {
        let value = String::from_utf8_lossy(header.value);
        let value = value.trim();
        if header.name.eq_ignore_ascii_case("content-length") {
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            let length = value.parse::<usize>().ok().filter(|_| is_number);
            head.body = Some(length.ok_or_else(|| invalid("the length of the body"))?);
        } else if header.name.eq_ignore_ascii_case("connection") {
            let says = |what: &str| {
                value
                    .split(',')
                    .any(|it| it.trim().eq_ignore_ascii_case(what))
            };
            head.keeps_alive = !says("close") && (head.keeps_alive || says("keep-alive"));
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(invalid("a body in chunks"));
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::ros1::system::{steady, waits};

    fn post(length: usize) -> String {
        format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n")
    }

    /// Requests of one connection, read within a budget of 1 MiB.
    fn requests<T>(sent: String, read: impl FnOnce(&mut HttpStream<'_>, Instant) -> T) -> T {
        let (_ender, waits) = waits().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let sending = thread::spawn(move || peer.write_all(sent.as_bytes()).map(|()| peer));
        let bytes = Budget::new(1 << 20);
        let mut http = HttpStream::within(&stream, &waits, &bytes).unwrap();
        let result = read(&mut http, steady() + Duration::from_secs(60));
        sending.join().unwrap().unwrap();
        result
    }

    #[test]
    fn an_idle_connection_keeps_no_memory_of_a_large_request() {
        const LENGTH: usize = 1 << 20;
        let sent = format!("{}{}{}two", post(LENGTH), "x".repeat(LENGTH), post(3));
        requests(sent, |http, until| {
            let first = http.request(until).unwrap();
            assert_eq!(first.body.len(), LENGTH);
            assert!(http.received.capacity() <= MAX_HEAD);
            // Its share is given back with it, not before.
            assert!(!http.bytes.unwrap().has(1));
            drop(first);
            assert!(http.bytes.unwrap().has(LENGTH));
            assert_eq!(http.request(until).unwrap().body, "two");
        });
    }

    #[test]
    fn a_request_that_is_too_large_is_told_from_one_for_which_there_is_no_room_now() {
        let refused = |length| {
            let request = |http: &mut HttpStream<'_>, until| http.request(until).unwrap_err();
            requests(post(length), request)
        };
        let error = refused(MAX_BODY + 1);
        assert!(matches!(error, RpcError::TooLarge(MAX_BODY)), "{error}");
        let error = refused(MAX_BODY);
        assert!(matches!(error, RpcError::Busy), "{error}");
    }

    #[test]
    fn heads_of_both_client_libraries_are_read() {
        let python = b"POST /RPC2 HTTP/1.1\r\nHost: localhost:11311\r\nAccept-Encoding: gzip\r\n\
            Content-Type: text/xml\r\nUser-Agent: Python-xmlrpc/3.11\r\nContent-Length: 12\r\n\r\n<methodCall>";
        let head = request_head(python).unwrap().unwrap();
        assert_eq!((head.body, head.keeps_alive), (Some(12), true));
        assert_eq!(&python[head.length..], b"<methodCall>");
        let cpp = b"POST / HTTP/1.1\r\nUser-Agent: XMLRPC++ 0.7\r\nHost: 127.0.0.1:1\r\nContent-Type: text/xml\r\n\
            Content-length: 3\r\n\r\n";
        assert_eq!(request_head(cpp).unwrap().unwrap().body, Some(3));
        let old = b"POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\n";
        assert!(!request_head(old).unwrap().unwrap().keeps_alive);
        let closes = b"POST / HTTP/1.1\r\nConnection: close\r\n\r\n";
        assert!(!request_head(closes).unwrap().unwrap().keeps_alive);
        assert!(request_head(&python[..40]).unwrap().is_none());
    }

    #[test]
    fn other_requests_are_refused() {
        for request in [
            "GET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nOrigin: http://example.org\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: \r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "nonsense\r\n\r\n",
        ] {
            assert!(request_head(request.as_bytes()).is_err(), "{request}");
        }
    }
}
