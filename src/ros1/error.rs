//! [`Ros1Error`]: why a node of ROS 1 cannot begin.

use std::io;

use super::rpc::error::RpcError;
use crate::untrusted::Foreign;

/// Why a node of ROS 1 cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum Ros1Error {
    /// No master answers at an address, and none can be served there.
    #[error("no ROS 1 master at {}: {reason}", Foreign::text(.uri))]
    NoMaster {
        /// The address.
        uri: String,
        /// Why none answers.
        reason: RpcError,
    },
    /// No master answers, but another program uses its port.
    #[error("the program at {} is no ROS 1 master: {reason}", Foreign::text(.uri))]
    OtherProgram {
        /// The address.
        uri: String,
        /// What is wrong with its answer.
        reason: RpcError,
    },
    /// The master refuses, or does not answer any more.
    #[error("the ROS 1 master: {0}")]
    Master(#[from] RpcError),
    /// The name is none of ROS 1.
    #[error("`{}` is not a node name of ROS 1", Foreign::text(.0))]
    NodeName(String),
    /// The host that nodes are told is no address of this machine.
    #[error("{} is no address of this machine: {source}", Foreign::text(.host))]
    Address {
        /// The address.
        host: String,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses sockets or threads.
    #[error("no node of ROS 1: {0}")]
    System(#[from] io::Error),
}
