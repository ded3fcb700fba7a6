//! The six parameter services of a node. Tools look for all of them before they use one.

use std::sync::Arc;

use crate::player::{Answer, Command, Outcome, Pace, Refusal, Status, Stopped, Transport};
use crate::wire::services::messages::parameters::{
    DescribeParameters, Descriptors, GetParameterTypes, GetParameters, ListParameters,
    Parameters as Request, SetAllResult, SetParameters, SetParametersAtomically, SetResult,
    SetResults, Types, Values,
};
use crate::wire::services::messages::service::{Failed, Service};
use crate::wire::services::server::handler::{Handler, Reaction};
use crate::wire::services::server::playback::reason;

use super::parameters::{MOST_NAMES, Parameters};

/// The depth of the queue that `rclcpp` announces for these services.
const DEPTH: u32 = 1000;
const TOO_MANY: &str = "too many parameters in one request";

/// The player behind the parameters.
#[derive(Clone)]
struct Node {
    parameters: Arc<Parameters>,
    transport: Transport,
}

/// The services for the parameters of the node that plays.
pub(crate) fn handlers(parameters: &Arc<Parameters>, transport: &Transport) -> Vec<Handler> {
    let node = Node {
        parameters: Arc::clone(parameters),
        transport: transport.clone(),
    };
    vec![
        on::<ListParameters>(&node, "list_parameters", |node, request| {
            Reaction::Respond(node.parameters.list(&request))
        }),
        on::<GetParameters>(&node, "get_parameters", |node, request| {
            let values = node
                .parameters
                .values(&request.names, node.status().as_ref());
            Reaction::Respond(Values { values })
        }),
        on::<GetParameterTypes>(&node, "get_parameter_types", |node, request| {
            let types = node.parameters.types(&request.names);
            Reaction::Respond(Types { types })
        }),
        on::<DescribeParameters>(&node, "describe_parameters", |node, request| {
            let descriptors = node.parameters.descriptors(&request.names);
            Reaction::Respond(Descriptors { descriptors })
        }),
        on::<SetParameters>(&node, "set_parameters", |node, request| node.set(&request)),
        on::<SetParametersAtomically>(&node, "set_parameters_atomically", |node, request| {
            node.set_all(&request)
        }),
    ]
}

fn on<S: Service>(
    node: &Node,
    name: &'static str,
    react: fn(&Node, S::Request) -> Reaction<S::Response>,
) -> Handler
where
    S::Request: 'static,
    S::Response: Failed + 'static,
{
    let node = node.clone();
    Handler::new::<S>(name, move |request| react(&node, request)).with_depth(DEPTH)
}

impl Node {
    fn status(&self) -> Option<Status> {
        self.transport.status()
    }

    /// Why no parameter that drives playback can be set.
    fn refusal(&self) -> Option<String> {
        let is_following = self.status()?.pace == Pace::Follow;
        let clock = self.transport.lead().name();
        is_following.then(|| Refusal::Following.in_words(clock.as_deref()))
    }

    /// Sets each parameter on its own.
    fn set(&self, request: &Request) -> Reaction<SetResults> {
        if request.parameters.len() > MOST_NAMES {
            return Reaction::Respond(SetResults::failed(TOO_MANY));
        }
        let refusal = self.refusal();
        let mut commands = Vec::new();
        // `None` stands for the result of the next command.
        let mut results: Vec<Option<SetResult>> = Vec::new();
        for parameter in &request.parameters {
            results.push(match self.parameters.set(parameter, refusal.as_deref()) {
                Ok(Some(command)) => {
                    commands.push(command);
                    None
                }
                Ok(None) => Some(SetResult::done()),
                Err(reason) => Some(SetResult::failed(&reason)),
            });
        }
        let transport = self.transport.clone();
        let respond = move |answers: Vec<Result<Answer, Stopped>>| {
            let mut answers = answers.into_iter();
            let mut next = || result(&transport, answers.next().unwrap_or(Err(Stopped)));
            let results = results.into_iter();
            SetResults {
                results: results.map(|it| it.unwrap_or_else(&mut next)).collect(),
            }
        };
        if commands.is_empty() {
            return Reaction::Respond(respond(Vec::new()));
        }
        Reaction::AskEach(commands, Box::new(respond))
    }

    /// Sets all parameters, or none if one of them cannot be set.
    fn set_all(&self, request: &Request) -> Reaction<SetAllResult> {
        let refused = |reason: &str| Reaction::Respond(SetAllResult::failed(reason));
        if request.parameters.len() > MOST_NAMES {
            return refused(TOO_MANY);
        }
        let refusal = self.refusal();
        let is_known = |name: &String| self.parameters.has(name);
        if !request.parameters.iter().all(|it| is_known(&it.name)) {
            return refused("One or more parameters were not declared before setting");
        }
        let commands = request.parameters.iter();
        let commands: Result<Vec<Option<Command>>, String> = commands
            .map(|parameter| self.parameters.set(parameter, refusal.as_deref()))
            .collect();
        let commands: Vec<Command> = match commands {
            Ok(commands) => commands.into_iter().flatten().collect(),
            Err(reason) => return refused(&reason),
        };
        if commands.is_empty() {
            let result = SetResult::done();
            return Reaction::Respond(SetAllResult { result });
        }
        // The first command is refused only if the run is over, or now follows a clock. Then nothing is set.
        let transport = self.transport.clone();
        Reaction::Ask(
            commands,
            Box::new(move |answer| SetAllResult {
                result: result(&transport, answer),
            }),
        )
    }
}

fn result(transport: &Transport, answer: Result<Answer, Stopped>) -> SetResult {
    match answer.map(|answer| answer.outcome) {
        Ok(Outcome::Done | Outcome::Landed(_)) => SetResult::done(),
        other => SetResult::failed(&reason(transport, other)),
    }
}
