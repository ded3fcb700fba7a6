//! [`EmbeddedMaster`]: the methods of a master, for when there is no other.

use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use dxr::Value;

use super::notices::Notices;
use super::params::{Params, resolved};
use super::registry::{Registry, Role};
use crate::ros1::event::Events;
use crate::ros1::rpc::server::{Answer, Methods, serve, text, texts};
use crate::ros1::rpc::uri::RpcUri;
use crate::ros1::system::{Waits, pid};
use crate::untrusted::Foreign;

/// A master. It serves until the node ends.
pub(crate) struct EmbeddedMaster {
    uri: RpcUri,
    state: Mutex<State>,
    notices: Notices,
}

#[derive(Debug, Default)]
struct State {
    registry: Registry,
    params: Params,
}

impl EmbeddedMaster {
    /// Serves a master at this listener, whose address is `uri`.
    pub(crate) fn serve(
        (uri, patience): (&RpcUri, Duration),
        listener: TcpListener,
        (waits, events): (&Waits, &Events),
    ) -> io::Result<()> {
        let master = Arc::new(Self {
            uri: uri.clone(),
            state: Mutex::default(),
            notices: Notices::new(waits.clone(), patience),
        });
        let served = ("ros1-master", "calls of other nodes to the master");
        serve(served, listener, (waits, events), master)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers the node that calls for a name, and makes the calls that this requires.
    fn register(
        &self,
        (role, name): (Role, &str),
        (node, uri): (&str, &str),
        type_name: Option<&str>,
    ) -> Result<(), Answer> {
        check_uri(uri)?;
        let mut state = self.lock();
        let notices = state.registry.register(role, name, (node, uri));
        let notices = notices.map_err(Answer::failure)?;
        if let Some(type_name) = type_name {
            state.registry.learn_type(name, type_name, role);
        }
        self.notices.send(notices);
        Ok(())
    }

    /// Removes a registration; the answer is how many there were.
    fn unregister(&self, role: Role, name: &str, node: (&str, &str)) -> Answer {
        let mut state = self.lock();
        let (is_removed, notices) = state.registry.unregister(role, name, node);
        self.notices.send(notices);
        Answer::with(Value::Integer(is_removed.into()))
    }

    /// The methods for topics.
    fn topics(&self, method: &str, params: &[Value]) -> Result<Option<Answer>, Answer> {
        let text = |at| text(params, at);
        let (publisher, subscriber) = (Role::Publisher, Role::Subscriber);
        Ok(Some(match method {
            "registerPublisher" => {
                let topic = resolved(text(1)?, text(0)?);
                let node = (text(0)?, text(3)?);
                self.register((publisher, &topic), node, Some(text(2)?))?;
                self.uris(subscriber, &topic)
            }
            "registerSubscriber" => {
                let topic = resolved(text(1)?, text(0)?);
                let node = (text(0)?, text(3)?);
                self.register((subscriber, &topic), node, Some(text(2)?))?;
                self.uris(publisher, &topic)
            }
            "unregisterPublisher" => {
                let topic = resolved(text(1)?, text(0)?);
                self.unregister(publisher, &topic, (text(0)?, text(2)?))
            }
            "unregisterSubscriber" => {
                let topic = resolved(text(1)?, text(0)?);
                self.unregister(subscriber, &topic, (text(0)?, text(2)?))
            }
            "getPublishedTopics" => Answer::with(self.lock().registry.published_topics(text(1)?)),
            "getTopicTypes" => Answer::with(self.lock().registry.topic_types()),
            _ => return Ok(None),
        }))
    }

    fn uris(&self, role: Role, topic: &str) -> Answer {
        Answer::with(texts(self.lock().registry.uris(role, topic)))
    }

    /// The methods for nodes and services.
    fn nodes(&self, method: &str, params: &[Value]) -> Result<Option<Answer>, Answer> {
        let text = |at| text(params, at);
        let found = |uri: Option<&str>, what: &str| match uri {
            Some(uri) => Ok(Answer::with(Value::String(uri.to_owned()))),
            None => Err(Answer::error(format!("unknown {what}"))),
        };
        Ok(Some(match method {
            "lookupNode" => found(self.lock().registry.uri(text(1)?), "node")?,
            "lookupService" => {
                let name = resolved(text(1)?, text(0)?);
                found(self.lock().registry.service(&name), "service")?
            }
            "registerService" => {
                let name = resolved(text(1)?, text(0)?);
                let node = (text(0)?, text(3)?);
                check_uri(node.1)?;
                let mut state = self.lock();
                let notices = state.registry.register_service(&name, text(2)?, node);
                self.notices.send(notices.map_err(Answer::failure)?);
                Answer::done()
            }
            "unregisterService" => {
                let name = resolved(text(1)?, text(0)?);
                let mut state = self.lock();
                let is_removed = state.registry.unregister_service(&name, text(0)?, text(2)?);
                Answer::with(Value::Integer(is_removed.into()))
            }
            "getSystemState" => Answer::with(self.lock().registry.system_state()),
            "getUri" => Answer::with(Value::String(self.uri.to_string())),
            "getPid" => Answer::with(Value::Integer(pid())),
            _ => return Ok(None),
        }))
    }

    /// The methods for parameters.
    fn params(&self, method: &str, params: &[Value]) -> Result<Option<Answer>, Answer> {
        let caller = || text(params, 0);
        let name = |at| -> Result<String, Answer> { Ok(resolved(text(params, at)?, caller()?)) };
        Ok(Some(match method {
            "setParam" => {
                let name = name(1)?;
                let value = params.get(2).cloned();
                let value = value.ok_or_else(|| Answer::error("the value is missing"))?;
                self.lock()
                    .params
                    .set(&name, value)
                    .map_err(Answer::error)?;
                self.tell_param(&name);
                Answer::done()
            }
            "deleteParam" => {
                let name = name(1)?;
                if !self.lock().params.remove(&name) {
                    return Err(Answer::error(unset(&name)));
                }
                self.tell_param(&name);
                Answer::done()
            }
            "getParam" => {
                let name = name(1)?;
                let value = self.lock().params.get(&name);
                Answer::with(value.ok_or_else(|| Answer::error(unset(&name)))?)
            }
            "hasParam" => {
                let has = self.lock().params.get(&name(1)?).is_some();
                Answer::with(Value::Boolean(has))
            }
            "searchParam" => {
                let searched = text(params, 1)?;
                let found = self.lock().params.search(searched, caller()?);
                Answer::with(Value::String(
                    found.ok_or_else(|| Answer::error(unset(searched)))?,
                ))
            }
            "getParamNames" => {
                let names = self.lock().params.names();
                Answer::with(texts(names.iter().map(String::as_str)))
            }
            "subscribeParam" => {
                let name = name(2)?;
                let node = (caller()?, text(params, 1)?);
                self.register((Role::ParamSubscriber, &name), node, None)?;
                Answer::with(self.lock().params.get(&name).unwrap_or_else(nothing))
            }
            "unsubscribeParam" => {
                let name = name(2)?;
                let node = (caller()?, text(params, 1)?);
                self.unregister(Role::ParamSubscriber, &name, node)
            }
            _ => return Ok(None),
        }))
    }

    /// Tells those who watch a parameter that it has changed.
    fn tell_param(&self, name: &str) {
        let state = self.lock();
        let value = |name: &str| state.params.get(name).unwrap_or_else(nothing);
        let notices = state.registry.param_updates(name, value);
        self.notices.send(notices);
    }
}

/// The value of a parameter that is not set, for those who watch it.
fn nothing() -> Value {
    Value::Struct(std::collections::BTreeMap::new())
}

fn unset(name: &str) -> String {
    let name = Foreign::text(name).at_most(200);
    format!("Parameter [{name}] is not set")
}

fn check_uri(uri: &str) -> Result<(), Answer> {
    let uri = uri.parse::<RpcUri>();
    uri.map(drop)
        .map_err(|error| Answer::error(error.to_string()))
}

impl Methods for EmbeddedMaster {
    fn call(&self, method: &str, params: &[Value]) -> Answer {
        let answer = || -> Result<Answer, Answer> {
            if let Some(answer) = self.topics(method, params)? {
                return Ok(answer);
            }
            if let Some(answer) = self.nodes(method, params)? {
                return Ok(answer);
            }
            if let Some(answer) = self.params(method, params)? {
                return Ok(answer);
            }
            let method = Foreign::text(method).at_most(100);
            Err(Answer::error(format!("no method {method}")))
        };
        answer().unwrap_or_else(|refusal| refusal)
    }
}

impl fmt::Debug for EmbeddedMaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedMaster")
            .field("uri", &self.uri)
            .finish_non_exhaustive()
    }
}
