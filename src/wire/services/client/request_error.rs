//! [`RequestError`]: why a request to a player was not carried out.

use super::caller::CallError;
use crate::wire::error::WireError;
use crate::wire::services::messages::bagplay::PlayerStatus;

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The player has no such service: it is another program, or an older one.
    #[error("{node} has no service {service}")]
    NotOffered {
        /// The player's node.
        node: String,
        /// The last part of the service's name.
        service: &'static str,
    },
    /// The player refused the request.
    #[error("{0}")]
    Refused(String),
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The client could not be declared.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It was not sent: the player does not answer.
    #[error("the player does not answer")]
    Silent,
    /// It was not sent: it still waited when no time was left.
    #[error("the time limit passed before it was sent")]
    TooLate,
}

impl RequestError {
    /// Whether the server of a service is not there, or not there any more. See also [`PlayerClient::has_left`].
    ///
    /// [`PlayerClient::has_left`]: super::player::PlayerClient::has_left
    pub const fn is_gone(&self) -> bool {
        matches!(
            self,
            Self::NotOffered { .. } | Self::Call(CallError::NoServer)
        )
    }

    /// Whether the player refused the request, or has no such service.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::NotOffered { .. })
    }

    /// Whether the player did not answer in time, or was not asked because of that.
    pub const fn is_silence(&self) -> bool {
        matches!(self, Self::Silent | Self::Call(CallError::NoAnswer(_)))
    }

    /// Its status cannot be understood.
    pub(super) fn unreadable(status: &PlayerStatus) -> Self {
        let reason = if status.state == PlayerStatus::UNKNOWN {
            "the player has not started yet"
        } else {
            "the player reports a state that this program does not know"
        };
        Self::Refused(reason.to_owned())
    }
}
