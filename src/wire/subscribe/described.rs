//! [`TypeDescriptions`]: definitions of types, from the service `get_type_description` of the nodes that use them.

use std::fmt;
use std::time::Duration;

use crate::bag::Schema;
use crate::ros::{dds_type, join_definitions};
use crate::wire::error::WireError;
use crate::wire::net::now::steady;
use crate::wire::rmw_zenoh::graph::Graph;
use crate::wire::rmw_zenoh::node::Endpoints;
use crate::wire::rmw_zenoh::token::{EntityKind, Token};
use crate::wire::services::client::caller::{CallError, Caller};
use crate::wire::services::messages::service::Service;
use crate::wire::services::messages::type_description::{
    GetTypeDescription, TypeRequest, TypeResponse,
};
use crate::wire::session::Session;

/// How long a node that publishes may take to announce its services.
const OFFERED_WITHIN: Duration = Duration::from_secs(1);
/// How often the graph is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Asks nodes for definitions. It can be used from any thread, also while the session is used elsewhere.
pub struct TypeDescriptions {
    zenoh: zenoh::Session,
    endpoints: Endpoints,
    graph: Graph,
}

/// Why a node has not told a definition.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescribeError {
    /// It has no such service: nodes of ROS 2 Humble have none.
    #[error("it has no service get_type_description")]
    NotOffered,
    /// It does not know the type.
    #[error("it answers: {0}")]
    Refused(String),
    /// Its answer has a type that definitions cannot express.
    #[error("its answer cannot be written as a definition")]
    Inexpressible,
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The client could not be declared.
    #[error(transparent)]
    Wire(#[from] WireError),
}

impl Session {
    /// Definitions of the types that other nodes use.
    ///
    /// # Errors
    /// A session that is closed.
    pub fn type_descriptions(&self) -> Result<TypeDescriptions, WireError> {
        self.node.announce()?;
        Ok(TypeDescriptions {
            zenoh: self.connection.zenoh.clone(),
            endpoints: self.node.endpoints.clone(),
            graph: self.node.graph.clone(),
        })
    }
}

impl TypeDescriptions {
    /// The definition of a type with this hash, by a node with this full name. Waits for its answer, and, for a second
    /// at most, for its service: what a node has is not announced at once.
    ///
    /// # Errors
    /// If the node has no such service, does not know the type, or does not answer within `timeout`.
    pub fn ask(
        &self,
        node: &str,
        type_name: &str,
        type_hash: &str,
        timeout: Duration,
    ) -> Result<Schema, DescribeError> {
        let began = steady();
        loop {
            let left = timeout.saturating_sub(began.elapsed());
            match self.ask_once(node, type_name, type_hash, left) {
                Err(DescribeError::NotOffered | DescribeError::Call(CallError::NoServer))
                    if began.elapsed() < timeout.min(OFFERED_WITHIN) =>
                {
                    std::thread::park_timeout(LOOK_EVERY);
                }
                result => return result,
            }
        }
    }

    fn ask_once(
        &self,
        node: &str,
        type_name: &str,
        type_hash: &str,
        timeout: Duration,
    ) -> Result<Schema, DescribeError> {
        let service = format!("{}/get_type_description", node.trim_end_matches('/'));
        let dds_type = dds_type(GetTypeDescription::TYPE);
        let server = |token: &Token| {
            let endpoint = token.endpoint.as_ref()?;
            let is_it = token.kind == EntityKind::Server
                && endpoint.name == service
                && Some(&endpoint.dds_type) == dds_type.as_ref();
            is_it.then(|| endpoint.hash.clone())
        };
        let hash = self.graph.find(server).ok_or(DescribeError::NotOffered)?;
        let caller = Caller::declare_in(
            &self.zenoh,
            &self.endpoints,
            GetTypeDescription::TYPE,
            &service,
            &hash,
        )?;
        let request = TypeRequest {
            type_name: type_name.to_owned(),
            type_hash: type_hash.to_owned(),
            include_type_sources: true,
        };
        let response = caller.call::<GetTypeDescription>(&request, timeout)?;
        if !response.successful {
            return Err(DescribeError::Refused(response.failure_reason));
        }
        let text = definition(&response).ok_or(DescribeError::Inexpressible)?;
        Ok(Schema {
            name: type_name.to_owned(),
            encoding: "ros2msg".to_owned(),
            data: text.into(),
        })
    }
}

/// The texts of the `.msg` files, if there is one for each type; else what the description says.
fn definition(response: &TypeResponse) -> Option<String> {
    let described = &response.type_description;
    let root = &described.type_description.type_name;
    let referenced = described.referenced_type_descriptions.iter();
    let names = std::iter::once(root).chain(referenced.map(|it| &it.type_name));
    let text = |name: &String| {
        let mut sources = response.type_sources.iter();
        let source = sources.find(|it| it.type_name == *name && it.encoding == "msg")?;
        Some((name.clone(), source.raw_file_contents.clone()))
    };
    let texts: Option<Vec<_>> = names.map(text).collect();
    match texts {
        Some(texts) => Some(join_definitions(&texts)),
        None => described.definition(),
    }
}

impl fmt::Debug for TypeDescriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypeDescriptions").finish_non_exhaustive()
    }
}
