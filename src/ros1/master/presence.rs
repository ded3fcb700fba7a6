//! Whether nodes that are known to the master still run: one that was killed stays registered.

use std::time::Duration;
use std::{io, thread};

use crossbeam_channel::bounded;
use dxr::Value;

use super::client::MasterClient;
use crate::ros1::rpc::client::{Limits, Peer, call_within};
use crate::ros1::rpc::error::RpcError;
use crate::ros1::rpc::uri::RpcUri;

/// How long a node may take to answer, once it has taken the connection.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether a player of this name runs at this address; `None` if its machine does not answer, or not in time.
pub(super) fn is_player(client: &MasterClient, (name, uri): (&str, &RpcUri)) -> Option<bool> {
    match ask(client, uri, "getName")? {
        Ok(Value::String(answer)) => Some(answer == name),
        // It has taken the connection: the player is there, and busy or stopped.
        Err(RpcError::TimedOut) => Some(true),
        Err(RpcError::Io(error)) if !has_ended(&error) => None,
        Err(RpcError::Over) => None,
        // No program is there any more, or another one.
        _ => Some(false),
    }
}

/// Whether a node runs at this address that publishes the topic; `None` if that is not known. Nodes of roscpp do not
/// tell their names.
pub(super) fn is_publisher(client: &MasterClient, uri: &RpcUri, topic: &str) -> Option<bool> {
    match ask(client, uri, "getPublications")? {
        Ok(Value::Array(rows)) => Some(rows.iter().any(|row| is_of_topic(row, topic))),
        // Another program listens there now.
        Err(RpcError::Invalid(_)) => Some(false),
        Err(RpcError::Io(error)) => has_ended(&error).then_some(false),
        Err(RpcError::Over | RpcError::Busy) => None,
        // It has taken the connection, and is busy or stopped, or answers in another way.
        _ => Some(true),
    }
}

/// Whether a row of a list of topics and types is of this topic.
fn is_of_topic(row: &Value, topic: &str) -> bool {
    matches!(row, Value::Array(parts) if matches!(parts.first(), Some(Value::String(name)) if name == topic))
}

/// The answer of a node. `None` if it does not come in time, or if the node cannot be asked now.
fn ask(
    client: &MasterClient,
    uri: &RpcUri,
    method: &'static str,
) -> Option<Result<Value, RpcError>> {
    let place = client.asking.take(1)?;
    let patience = client.patience();
    // A part of the time is left for what comes next.
    let limits = Limits {
        connecting: patience / 2,
        answering: PATIENCE.min(patience / 4),
    };
    let (waits, at) = (client.waits.clone(), uri.clone());
    let caller = vec![Value::String(client.node.clone())];
    let (tell, told) = bounded(1);
    // On a thread of its own, because the look-up of a name may take long.
    let ask = move || {
        let peer = Peer::look_up(&at).map_err(RpcError::from);
        let answer = peer.and_then(|peer| call_within(&peer, (&waits, limits), method, caller));
        drop(place);
        let _ = tell.send(answer);
    };
    let thread = thread::Builder::new().name("ros1-presence".to_owned());
    thread.spawn(ask).ok()?;
    // The call ends by itself if no name has to be looked up.
    let longest = if uri.is_numeric() {
        patience
    } else {
        patience / 2
    };
    told.recv_timeout(longest).ok()
}

/// Whether the program at an address has ended, or ends.
fn has_ended(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
    )
}
