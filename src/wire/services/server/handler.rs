//! [`Handler`]: what a service does with a request, without its types.

use crate::player::{Answer, Command, Stopped};
use crate::wire::services::messages::cdr::{Malformed, from_cdr, to_cdr};
use crate::wire::services::messages::service::{Failed, Service};

/// What a request leads to.
pub(crate) enum Reaction<R> {
    /// The response is known.
    Respond(R),
    /// The player carries out these commands, one after the other, until one is refused. The response follows from the
    /// last answer; an error means that the player has stopped.
    Ask(Vec<Command>, Respond<R>),
    /// The player carries out all of these commands, one after the other, whether or not one is refused. The response
    /// follows from their answers. Commands that the player did not get, because it had stopped, have no answer.
    AskEach(Vec<Command>, RespondToEach<R>),
}

/// The response that follows from the last answer.
pub(crate) type Respond<R> = Box<dyn FnOnce(Result<Answer, Stopped>) -> R + Send>;

/// The response that follows from the answers to the commands, in their order.
pub(crate) type RespondToEach<R> = Box<dyn FnOnce(Vec<Result<Answer, Stopped>>) -> R + Send>;

/// The depth of the queue that a service announces, as `rclcpp` does.
const DEPTH: u32 = 10;

/// A service: its name, its type, and what it does.
pub(crate) struct Handler {
    /// The last part of the service's name.
    pub(crate) name: &'static str,
    pub(crate) ros_type: &'static str,
    pub(crate) hash: &'static str,
    /// The depth of the queue that it announces.
    pub(crate) depth: u32,
    /// The response that says why a request was not carried out, if the type can say so.
    pub(crate) failed: fn(&str) -> Vec<u8>,
    react: React,
}

type React = Box<dyn Fn(&[u8]) -> Reacted + Send>;

/// What a request leads to. If it cannot be read: the reason, and a response that has it, if the type can.
pub(crate) type Reacted = Result<Reaction<Vec<u8>>, (Malformed, Vec<u8>)>;

impl Handler {
    /// A service of type `S`.
    pub(crate) fn new<S: Service>(
        name: &'static str,
        react: impl Fn(S::Request) -> Reaction<S::Response> + Send + 'static,
    ) -> Self
    where
        S::Response: Failed + 'static,
    {
        let react = move |payload: &[u8]| match from_cdr::<S::Request>(payload) {
            Ok(request) => Ok(react(request).encoded()),
            Err(malformed) => {
                let response = failed::<S>(&malformed.to_string());
                Err((malformed, response))
            }
        };
        Self {
            name,
            ros_type: S::TYPE,
            hash: S::HASH,
            depth: DEPTH,
            failed: failed::<S>,
            react: Box::new(react),
        }
    }

    /// The same, announced with another depth.
    pub(crate) fn with_depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// What a request leads to.
    pub(crate) fn react(&self, request: &[u8]) -> Reacted {
        (self.react)(request)
    }
}

impl<R: serde::Serialize + 'static> Reaction<R> {
    fn encoded(self) -> Reaction<Vec<u8>> {
        match self {
            Self::Respond(response) => Reaction::Respond(encode(&response)),
            Self::Ask(commands, respond) => {
                Reaction::Ask(commands, Box::new(|answer| encode(&respond(answer))))
            }
            Self::AskEach(commands, respond) => {
                Reaction::AskEach(commands, Box::new(|answers| encode(&respond(answers))))
            }
        }
    }
}

fn failed<S: Service>(reason: &str) -> Vec<u8>
where
    S::Response: Failed,
{
    encode(&S::Response::failed(reason))
}

fn encode(response: &impl serde::Serialize) -> Vec<u8> {
    // Only sequences of unknown length cannot be written, and no response has one.
    to_cdr(response).unwrap_or_default()
}
