//! [`ServiceClient`]: calls one service of another node.

use std::marker::PhantomData;
use std::time::Duration;

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{ConsolidationMode, QueryTarget};

use crate::ros::dds_type;
use crate::wire::error::WireError;
use crate::wire::net::now::unix_nanos;
use crate::wire::rmw_zenoh::attachment::{Attached, attachment, read_attachment};
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::names::topic_key;
use crate::wire::services::messages::cdr::{Malformed, from_cdr, to_cdr};
use crate::wire::services::messages::service::Service;
use crate::wire::session::Session;

/// Why a call has no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Nobody answered in time, or the server knows the type under another hash.
    #[error("no answer within {} s", .0.as_secs_f64())]
    NoAnswer(Duration),
    /// The request cannot be sent.
    #[error("the request cannot be sent: {0}")]
    Send(zenoh::Error),
    /// The request or the response is none of the service's type.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// A client of the service `S`, as long as this exists. Calls wait for their response.
#[derive(Debug)]
pub struct ServiceClient<S> {
    zenoh: zenoh::Session,
    key: String,
    gid: Gid,
    _token: LivelinessToken,
    sequence: i64,
    service: PhantomData<fn() -> S>,
}

impl Session {
    /// A client of the service with this full name. `hash` is that of the server's type, if it is another than
    /// [`Service::HASH`]: a node of ROS 2 Humble has none.
    pub fn service_client<S: Service>(
        &self,
        name: &str,
        hash: Option<&str>,
    ) -> Result<ServiceClient<S>, WireError> {
        self.node.announce()?;
        let dds_type = dds_type(S::TYPE).unwrap_or_default();
        let hash = hash.unwrap_or(S::HASH);
        let token = self.node.client(name, &dds_type, hash);
        let zenoh = &self.connection.zenoh;
        let declared = zenoh.liveliness().declare_token(token.clone()).wait();
        let gid = Gid::of(&token);
        let token = declared.map_err(|source| WireError::Declare {
            what: token,
            source,
        })?;
        Ok(ServiceClient {
            zenoh: zenoh.clone(),
            key: topic_key(self.node.token.domain, name, &dds_type, hash),
            gid,
            _token: token,
            sequence: 0,
            service: PhantomData,
        })
    }
}

impl<S: Service> ServiceClient<S> {
    /// Calls the service and waits for the response.
    ///
    /// # Errors
    /// If none comes within `timeout`.
    pub fn call(
        &mut self,
        request: &S::Request,
        timeout: Duration,
    ) -> Result<S::Response, CallError> {
        self.sequence += 1;
        let sent = attachment(self.sequence, unix_nanos(), self.gid);
        let replies = self
            .zenoh
            .get(self.key.as_str())
            .target(QueryTarget::AllComplete)
            .consolidation(ConsolidationMode::None)
            .payload(to_cdr(request)?)
            .attachment(sent.as_slice())
            .timeout(timeout)
            .wait()
            .map_err(CallError::Send)?;
        let expected = Attached {
            sequence: self.sequence,
            sender: self.gid,
        };
        // The channel closes when all servers have answered or the time is over.
        while let Ok(reply) = replies.recv() {
            let Ok(sample) = reply.result() else {
                continue;
            };
            let attached = sample.attachment().map(zenoh::bytes::ZBytes::to_bytes);
            if attached.and_then(|bytes| read_attachment(&bytes)) == Some(expected) {
                return Ok(from_cdr(&sample.payload().to_bytes())?);
            }
        }
        Err(CallError::NoAnswer(timeout))
    }
}
