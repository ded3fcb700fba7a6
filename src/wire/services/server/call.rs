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
    client: Option<Gid>,
}

/// The client on DDS, by what its bridge attaches to a request: `rqh`, 8 bytes of its GUID, the number of the
/// request (8 bytes), and the byte order (1 byte).
fn client_on_dds(attachment: &[u8]) -> Option<Gid> {
    let rest = attachment.strip_prefix(b"rqh")?;
    let rest: &[u8; 17] = rest.try_into().ok()?;
    let mut gid = [0; 16];
    gid[..8].copy_from_slice(&rest[..8]);
    Some(Gid(gid))
}

impl Call {
    pub(crate) fn new(service: usize, query: Query) -> Self {
        let bytes = query.attachment().map(zenoh::bytes::ZBytes::to_bytes);
        let bytes = bytes.unwrap_or_default();
        let attached = read_attachment(&bytes);
        let sender = attached.map(|attached| attached.sender);
        Self {
            service,
            attached,
            client: sender.or_else(|| client_on_dds(&bytes)),
            query,
        }
    }

    /// Of the forms of its service, which differ in their hash, the one that the client knows. A node of ROS 2 Humble
    /// names no hash; it knows the first form. Of a client on DDS it is not known; it can read the last one's response.
    pub(crate) fn known_form<'a, F>(
        &self,
        forms: &'a [F],
        hash_of: impl Fn(&F) -> &str,
    ) -> Option<&'a F> {
        if self.is_from_dds() {
            return forms.last();
        }
        let hash = self.type_hash();
        let form = forms.iter().find(|form| hash_of(form) == hash);
        form.or_else(|| forms.first())
    }

    /// Whether it came over a bridge from a client on DDS.
    pub(crate) fn is_from_dds(&self) -> bool {
        self.attached.is_none() && self.client.is_some()
    }

    /// The client; `None` if it is no service client of a ROS 2 node.
    pub(crate) fn client(&self) -> Option<Gid> {
        self.client
    }

    /// The length of the request in bytes.
    pub(crate) fn length(&self) -> usize {
        self.query.payload().map_or(0, zenoh::bytes::ZBytes::len)
    }

    /// The hash of the service's type, as the client knows it; some other text if the client knows no hash.
    fn type_hash(&self) -> &str {
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
