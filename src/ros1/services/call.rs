//! [`answer_calls`]: a connection of a service client: headers are exchanged, then requests are answered.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::playback::Services;
use crate::ros1::data::blocks::{NoBlock, read_block, skip};
use crate::ros1::data::header::{Fields, encode, length, text};
use crate::ros1::system::{Waits, steady};

/// The longest request, in bytes.
const MAX_REQUEST: usize = 64 << 10;
/// The longest request that is answered with the reason, in bytes; the connection of a longer one is closed.
const MAX_REFUSED: usize = 16 << 20;
/// How long a client may wait before it sends its only request.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a connection of a client has ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoCall {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the request: {0}")]
    Request(#[from] NoBlock),
    /// The text is sent to the client.
    #[error("refused: {0}")]
    Refused(String),
}

/// Answers the requests of a client, whose header has these fields. They are not kept while it is served.
pub(crate) fn answer_calls(
    services: &Services,
    (node_name, fields): (&str, Fields),
    mut stream: &TcpStream,
    waits: &Waits,
) -> Result<(), NoCall> {
    let mut refuse = |text: String| {
        stream.write_all(&encode([("error", text.as_bytes())]))?;
        Err(NoCall::Refused(text))
    };
    let name = text(&fields, "service").unwrap_or_default();
    let Some(service) = services.get(name) else {
        return refuse(format!("{node_name} has no service {name}"));
    };
    let kind = service.kind();
    let md5 = text(&fields, "md5sum").unwrap_or("*");
    if md5 != "*" && md5 != kind.md5 {
        let (ours, md5_of_ours) = (kind.name, kind.md5);
        return refuse(format!(
            "{name} is {ours} ({md5_of_ours}), and ({md5}) is expected"
        ));
    }
    let (request, response) = (
        format!("{}Request", kind.name),
        format!("{}Response", kind.name),
    );
    stream.set_nodelay(true)?;
    stream.write_all(&encode([
        ("callerid", node_name.as_bytes()),
        ("md5sum", kind.md5.as_bytes()),
        ("request_type", request.as_bytes()),
        ("response_type", response.as_bytes()),
        ("type", kind.name.as_bytes()),
    ]))?;
    let is_set = |key: &str| text(&fields, key) == Some("1");
    if is_set("probe") {
        return Ok(());
    }
    let is_persistent = is_set("persistent");
    drop(fields);
    loop {
        let until = (!is_persistent).then(|| steady() + PATIENCE);
        match read_block(stream, (waits, until), MAX_REQUEST) {
            Ok(request) => services.answer(service, &request, |response| {
                stream.write_all(&packed(response))
            })?,
            Err(NoBlock::TooLarge(length)) if length <= MAX_REFUSED => {
                // A client reads the answer when it has sent all.
                skip(stream, (waits, until), length)?;
                let text =
                    format!("the request has {length} bytes: at most {MAX_REQUEST} are accepted");
                stream.write_all(&packed(Err(text)))?;
            }
            Err(NoBlock::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        if !is_persistent {
            return Ok(());
        }
    }
}

/// A response, or the text of an error, as it is sent.
fn packed(response: Result<Vec<u8>, String>) -> Vec<u8> {
    let (is_ok, body) = match response {
        Ok(body) => (1, body),
        Err(text) => (0, text.into_bytes()),
    };
    let mut bytes = vec![is_ok];
    bytes.extend(length(body.len()));
    bytes.extend(body);
    bytes
}
