//! [`Call`]: one request of a service client, and the way back to it.

use zenoh::Wait;
use zenoh::query::Query;

use crate::wire::net::now::unix_nanos;
use crate::wire::rmw_zenoh::attachment::{Attached, attachment, read_attachment};
use crate::wire::rmw_zenoh::gid::Gid;

/// A request that has not been answered.
#[derive(Debug)]
pub(crate) struct Call {
    /// The service, by its place among those that are served.
    pub(crate) service: usize,
    query: Query,
    attached: Option<Attached>,
}

impl Call {
    pub(crate) fn new(service: usize, query: Query) -> Self {
        let bytes = query.attachment().map(zenoh::bytes::ZBytes::to_bytes);
        Self {
            service,
            attached: bytes.and_then(|bytes| read_attachment(&bytes)),
            query,
        }
    }

    /// The client; `None` if it is no service client of a ROS 2 node.
    pub(crate) fn client(&self) -> Option<Gid> {
        self.attached.map(|attached| attached.sender)
    }

    /// The length of the request in bytes.
    pub(crate) fn length(&self) -> usize {
        self.query.payload().map_or(0, zenoh::bytes::ZBytes::len)
    }

    /// The hash of the service's type, as the client knows it.
    pub(crate) fn type_hash(&self) -> &str {
        let key = self.query.key_expr().as_str();
        key.rsplit_once('/').map_or("", |(_, hash)| hash)
    }

    /// The request.
    pub(crate) fn request(&self) -> Vec<u8> {
        let payload = self.query.payload();
        payload.map_or_else(Vec::new, |payload| payload.to_bytes().into_owned())
    }

    /// Sends the response. It carries the client's number of the request; without that, `rcl` would discard it.
    pub(crate) fn answer(self, response: Vec<u8>) {
        let reply = self.query.reply(self.query.key_expr().clone(), response);
        let sent = match self.attached {
            Some(Attached {
                sequence, sender, ..
            }) => {
                let echo = attachment(sequence, unix_nanos(), sender);
                reply.attachment(echo.as_slice()).wait()
            }
            None => reply.wait(),
        };
        if let Err(error) = sent {
            // The client has gone.
            tracing::debug!("a response could not be sent: {error}");
        }
    }
}
