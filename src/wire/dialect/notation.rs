//! [`Notation`]: how the keys of topics and the tokens of the ROS graph are written.
//!
//! `rmw_zenoh` and bridges to DDS announce the same things in different ways. Only this file knows which way a session
//! uses; the graph and the node are the same for both.

use std::sync::Arc;

use super::bridge_token;
use crate::ros::Qos;
use crate::wire::rmw_zenoh::names::topic_key;
use crate::wire::rmw_zenoh::token::Token;

/// The notation of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Notation {
    /// That of `rmw_zenoh`, in a ROS domain.
    RmwZenoh {
        /// The domain.
        domain: u32,
    },
    /// That of `zenoh-bridge-ros2dds`. Each bridge has a domain; keys and tokens have none.
    Ros2Dds {
        /// The namespace of the bridges, `/` or `/bot1`: their keys begin with it.
        namespace: Arc<str>,
    },
}

impl Notation {
    /// The key of a topic or service.
    pub(crate) fn key(&self, name: &str, dds_type: &str, hash: &str) -> String {
        match self {
            Self::RmwZenoh { domain } => topic_key(*domain, name, dds_type, hash),
            Self::Ros2Dds { namespace } => bridge_token::key(namespace, name),
        }
    }

    /// The text of a token.
    pub(crate) fn write(&self, token: &Token) -> String {
        match self {
            Self::RmwZenoh { .. } => token.to_string(),
            Self::Ros2Dds { namespace } => bridge_token::write(namespace, token),
        }
    }

    /// Whether a publisher with this profile has a token.
    pub(crate) fn announces(&self, publisher: &Qos) -> bool {
        match self {
            Self::RmwZenoh { .. } => true,
            Self::Ros2Dds { .. } => bridge_token::announces(publisher),
        }
    }

    /// Whether nodes have tokens. The nodes on DDS see the bridge in place of this session.
    pub(crate) fn announces_nodes(&self) -> bool {
        matches!(self, Self::RmwZenoh { .. })
    }

    /// The key expression of all tokens.
    pub(crate) fn all_tokens(&self) -> String {
        match self {
            Self::RmwZenoh { domain } => format!("@ros2_lv/{domain}/**"),
            Self::Ros2Dds { .. } => bridge_token::ALL_TOKENS.to_owned(),
        }
    }

    /// Reads a token; `None` if it is not one.
    pub(crate) fn read(&self, token: &str) -> Option<Token> {
        match self {
            Self::RmwZenoh { .. } => Token::parse(token),
            Self::Ros2Dds { namespace } => bridge_token::read(namespace, token),
        }
    }

    /// The id of the session that has declared a token.
    pub(crate) fn session_of<'a>(&self, token: &'a str) -> Option<&'a str> {
        match self {
            Self::RmwZenoh { .. } => token.split('/').nth(2),
            Self::Ros2Dds { .. } => bridge_token::session_of(token),
        }
    }

    /// Whether messages have attachments.
    pub(crate) fn has_attachments(&self) -> bool {
        matches!(self, Self::RmwZenoh { .. })
    }

    /// Whether keys name type and hash: then only subscribers with the same ones receive a message.
    pub(crate) fn names_types(&self) -> bool {
        matches!(self, Self::RmwZenoh { .. })
    }

    /// Whether topics may have names that ROS 2 forbids. DDS nodes have none, and a bridge can end because of one.
    pub(crate) fn carries_any_name(&self) -> bool {
        matches!(self, Self::RmwZenoh { .. })
    }

    /// Whether the first subscriber behind a bridge decides on the durability of a topic there.
    pub(crate) fn first_reader_decides(&self) -> bool {
        matches!(self, Self::Ros2Dds { .. })
    }
}
