//! [`Slave`]: the methods that other nodes and the master call of this node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dxr::Value;

use super::data::publications::Publications;
use super::event::{Events, Ros1Event};
use super::rpc::server::{Answer, Methods, text, texts};
use super::rpc::uri::RpcUri;
use super::system::pid;
use crate::untrusted::Foreign;

/// What the methods tell of this node.
#[derive(Debug)]
pub(super) struct Slave {
    pub(super) node_name: String,
    pub(super) master: RpcUri,
    pub(super) publications: Arc<Publications>,
    /// Where subscribers connect to.
    pub(super) data_host: String,
    pub(super) data_port: u16,
    pub(super) events: Events,
    /// Set when the master asks this node to end.
    pub(super) is_replaced: Arc<AtomicBool>,
}

impl Methods for Slave {
    fn call(&self, method: &str, params: &[Value]) -> Answer {
        let answer = match method {
            "requestTopic" => self.request_topic(params),
            "getPid" => Ok(Answer::with(Value::Integer(pid()))),
            "getName" => Ok(Answer::with(Value::String(self.node_name.clone()))),
            "getMasterUri" => Ok(Answer::with(Value::String(self.master.to_string()))),
            "getBusInfo" => Ok(self.bus_info()),
            "getBusStats" => Ok(self.bus_stats()),
            "getPublications" => Ok(self.topics()),
            "getSubscriptions" => Ok(Answer::with(Value::Array(Vec::new()))),
            "shutdown" => Ok(self.shutdown(params)),
            // This node subscribes to nothing.
            "publisherUpdate" | "paramUpdate" => Ok(Answer::done()),
            _ => Err(Answer::error(format!(
                "no method {}",
                Foreign::text(method).at_most(100)
            ))),
        };
        answer.unwrap_or_else(|refusal| refusal)
    }
}

impl Slave {
    fn request_topic(&self, params: &[Value]) -> Result<Answer, Answer> {
        let topic = text(params, 1)?;
        if self.publications.get(topic).is_none() {
            let topic = Foreign::text(topic).at_most(200);
            return Err(Answer::error(format!("{topic} is not published")));
        }
        let Some(Value::Array(protocols)) = params.get(2) else {
            return Err(Answer::error("the protocols are not a list"));
        };
        let is_tcp = |protocol: &Value| {
            matches!(protocol, Value::Array(parts)
                if matches!(parts.first(), Some(Value::String(name)) if name == "TCPROS"))
        };
        if !protocols.iter().any(is_tcp) {
            return Err(Answer::failure("no protocol but TCPROS is supported"));
        }
        Ok(Answer::with(Value::Array(vec![
            Value::String("TCPROS".to_owned()),
            Value::String(self.data_host.clone()),
            Value::Integer(self.data_port.into()),
        ])))
    }

    /// One row for each connection: number, other node, direction, protocol, topic, whether it is connected.
    fn bus_info(&self) -> Answer {
        let mut rows = Vec::new();
        for publication in self.publications.all() {
            let topic = &publication.advertised.name;
            for connection in publication.connections().iter() {
                let number = i32::try_from(rows.len()).unwrap_or(i32::MAX);
                rows.push(Value::Array(vec![
                    Value::Integer(number),
                    Value::String(connection.node().to_owned()),
                    Value::String("o".to_owned()),
                    Value::String("TCPROS".to_owned()),
                    Value::String(topic.clone()),
                    Value::Boolean(true),
                ]));
            }
        }
        Answer::with(Value::Array(rows))
    }

    /// Statistics of what is published, subscribed to and served. The numbers of bytes end at the largest that the
    /// protocol has.
    fn bus_stats(&self) -> Answer {
        let number = |count: u64| Value::Integer(i32::try_from(count).unwrap_or(i32::MAX));
        let published = self.publications.all().into_iter().map(|publication| {
            Value::Array(vec![
                Value::String(publication.advertised.name.clone()),
                number(publication.counts.bytes.get()),
                Value::Array(Vec::new()),
            ])
        });
        let none = || Value::Array(Vec::new());
        let services = Value::Array(vec![number(0), number(0), number(0)]);
        let published = Value::Array(published.collect());
        Answer::with(Value::Array(vec![published, none(), services]))
    }

    fn topics(&self) -> Answer {
        let topics = self.publications.all().into_iter().map(|publication| {
            let topic = &publication.advertised;
            texts([topic.name.as_str(), topic.type_name.as_str()])
        });
        Answer::with(Value::Array(topics.collect()))
    }

    fn shutdown(&self, params: &[Value]) -> Answer {
        let reason = text(params, 1).unwrap_or("no reason is given");
        if let Some(other) = replaced(reason).filter(|node| *node != self.node_name) {
            // It had this address, has ended without a word, and is back at another one.
            let other = Foreign::text(other).at_most(200);
            tracing::debug!("a request to end is for {other}, which is not here any more");
            return Answer::done();
        }
        let reason = Foreign::text(reason).at_most(200).to_string();
        self.is_replaced.store(true, Ordering::Relaxed);
        self.events.send(Ros1Event::Shutdown { reason });
        Answer::done()
    }
}

/// The node that another one of its name replaces, if a master gives that as the reason to end.
fn replaced(reason: &str) -> Option<&str> {
    let (node, _) = reason.strip_prefix('[')?.split_once("] Reason: ")?;
    Some(node)
}
