//! [`ServiceClient`]: calls one service of another node.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{ConsolidationMode, QueryTarget};

use crate::ros::dds_type;
use crate::wire::error::WireError;
use crate::wire::net::now::{steady, unix_nanos};
use crate::wire::rmw_zenoh::attachment::{Attached, attachment, read_attachment};
use crate::wire::rmw_zenoh::gid::Gid;
use crate::wire::rmw_zenoh::names::topic_key;
use crate::wire::rmw_zenoh::node::Endpoints;
use crate::wire::services::messages::cdr::{Malformed, from_cdr, to_cdr};
use crate::wire::services::messages::service::Service;
use crate::wire::session::Session;

/// Why a call has no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server did not answer in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    NoAnswer(Duration),
    /// The server has left, or knows the type under another hash.
    #[error("its server has left the network")]
    NoServer,
    /// The request cannot be sent.
    #[error("the request cannot be sent: {0}")]
    Send(zenoh::Error),
    /// The request or the response is none of the service's type.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// A client of one service, whatever its type.
#[derive(Debug)]
pub(crate) struct Caller {
    zenoh: zenoh::Session,
    key: String,
    gid: Gid,
    _token: LivelinessToken,
    sequence: AtomicI64,
}

impl Caller {
    /// Announces the client of a service of this ROS type and full name, whose server has a type with this hash.
    pub(crate) fn declare(
        session: &Session,
        ros_type: &str,
        name: &str,
        hash: &str,
    ) -> Result<Self, WireError> {
        session.node.announce()?;
        let (zenoh, endpoints) = (&session.connection.zenoh, &session.node.endpoints);
        Self::declare_in(zenoh, endpoints, ros_type, name, hash)
    }

    /// The same of a node that is announced already.
    pub(crate) fn declare_in(
        zenoh: &zenoh::Session,
        endpoints: &Endpoints,
        ros_type: &str,
        name: &str,
        hash: &str,
    ) -> Result<Self, WireError> {
        let dds_type = dds_type(ros_type).unwrap_or_default();
        let token = endpoints.client(name, &dds_type, hash);
        let declared = zenoh.liveliness().declare_token(token.clone()).wait();
        let gid = Gid::of(&token);
        let token = declared.map_err(|source| WireError::Declare {
            what: token,
            source,
        })?;
        Ok(Self {
            zenoh: zenoh.clone(),
            key: topic_key(endpoints.domain(), name, &dds_type, hash),
            gid,
            _token: token,
            sequence: AtomicI64::new(1),
        })
    }

    /// Calls the service, whose type is `S`, and waits for the response.
    pub(crate) fn call<S: Service>(
        &self,
        request: &S::Request,
        timeout: Duration,
    ) -> Result<S::Response, CallError> {
        let response = self.exchange(to_cdr(request)?, timeout)?;
        Ok(from_cdr(&response.to_bytes())?)
    }

    /// Sends a request and waits for the response, both in CDR.
    fn exchange(&self, request: Vec<u8>, timeout: Duration) -> Result<ZBytes, CallError> {
        let sequence = self.sequence.fetch_add(1, Ordering::Relaxed);
        let sent = attachment(sequence, unix_nanos(), self.gid);
        let began = steady();
        let replies = self
            .zenoh
            .get(self.key.as_str())
            .target(QueryTarget::AllComplete)
            .consolidation(ConsolidationMode::None)
            .payload(request)
            .attachment(sent.as_slice())
            .timeout(timeout)
            .wait()
            .map_err(CallError::Send)?;
        // A response repeats the number and the sender of its request.
        let is_ours = |it: Attached| (it.sequence, it.sender) == (sequence, self.gid);
        // The channel closes when all servers have answered or the time is over.
        while let Ok(reply) = replies.recv() {
            let Ok(sample) = reply.result() else {
                continue;
            };
            let attached = sample.attachment().map(ZBytes::to_bytes);
            if attached
                .and_then(|bytes| read_attachment(&bytes))
                .is_some_and(is_ours)
            {
                return Ok(sample.payload().clone());
            }
        }
        Err(if began.elapsed() < timeout {
            CallError::NoServer
        } else {
            CallError::NoAnswer(timeout)
        })
    }
}

/// A client of the service `S`, as long as this exists. Calls wait for their response.
#[derive(Debug)]
pub struct ServiceClient<S> {
    caller: Caller,
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
        Ok(ServiceClient {
            caller: Caller::declare(self, S::TYPE, name, hash.unwrap_or(S::HASH))?,
            service: PhantomData,
        })
    }
}

impl<S: Service> ServiceClient<S> {
    /// Calls the service and waits for the response.
    ///
    /// # Errors
    /// If none comes within `timeout`.
    pub fn call(&self, request: &S::Request, timeout: Duration) -> Result<S::Response, CallError> {
        self.caller.call::<S>(request, timeout)
    }
}
