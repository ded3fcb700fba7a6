//! [`serve`]: answers the calls of other nodes, with the [`Methods`] of a master or of a node.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use dxr::Value;

use super::error::RpcError;
use super::http::HttpStream;
use super::xml::{answer_text, fault_text, read_call};
use crate::ros1::system::{Waits, accept_each, steady};

/// How many connections there are at most.
const MOST_CONNECTIONS: usize = 256;
/// How long a connection may be idle, or take for one request.
const PATIENCE: Duration = Duration::from_secs(60);

/// The method that has other calls as its parameter.
const SEVERAL: &str = "system.multicall";

/// An answer: `[status, text, value]`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Answer {
    code: i32,
    text: String,
    value: Value,
}

impl Answer {
    /// Success.
    pub(crate) fn with(value: Value) -> Self {
        Self {
            code: 1,
            text: String::new(),
            value,
        }
    }

    /// Success, with a value that nobody reads.
    pub(crate) fn done() -> Self {
        Self::with(Value::Integer(0))
    }

    /// The call is wrong, or names what does not exist.
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self {
            code: -1,
            text: text.into(),
            value: Value::Integer(0),
        }
    }

    /// The call is right but fails.
    pub(crate) fn failure(text: impl Into<String>) -> Self {
        Self {
            code: 0,
            ..Self::error(text)
        }
    }

    pub(crate) fn into_value(self) -> Value {
        Value::Array(vec![
            Value::Integer(self.code),
            Value::String(self.text),
            self.value,
        ])
    }
}

/// The methods of a server. Called from many threads.
pub(crate) trait Methods: Send + Sync + 'static {
    /// Answers a call.
    fn call(&self, method: &str, params: &[Value]) -> Answer;
}

/// Answers calls until the node ends.
pub(crate) fn serve(
    name: &'static str,
    listener: TcpListener,
    waits: &Waits,
    methods: Arc<dyn Methods>,
) -> io::Result<()> {
    let bound = (waits.clone(), MOST_CONNECTIONS);
    let waits = waits.clone();
    accept_each(name, listener, bound, move |stream, peer| {
        if let Err(error) = answer_all(&stream, &waits, methods.as_ref()) {
            tracing::debug!("{name}: {peer}: {error}");
        }
    })
}

fn answer_all(stream: &TcpStream, waits: &Waits, methods: &dyn Methods) -> Result<(), RpcError> {
    let mut http = HttpStream::new(stream, waits)?;
    loop {
        let request = match http.request(steady() + PATIENCE) {
            Ok(request) => request,
            // roscpp keeps connections that it does not use for half a minute.
            Err(RpcError::Closed | RpcError::Over | RpcError::TimedOut) => return Ok(()),
            Err(error) => {
                if matches!(error, RpcError::Invalid(_) | RpcError::TooLarge(_)) {
                    // The peer may be gone.
                    let _ = http.refuse();
                }
                return Err(error);
            }
        };
        let text = match read_call(&request.body) {
            Ok((method, params)) => answer_text(answered(methods, &method, &params))?,
            Err(error) => fault_text(&error.to_string())?,
        };
        http.send_response(&text, request.keeps_alive)?;
        if !request.keeps_alive {
            return Ok(());
        }
    }
}

/// The answer to a call, or to several in one (`system.multicall`): rospy ends its registrations in that way.
fn answered(methods: &dyn Methods, method: &str, params: &[Value]) -> Value {
    let (SEVERAL, Some(Value::Array(calls))) = (method, params.first()) else {
        return methods.call(method, params).into_value();
    };
    let answer = |call: &Value| {
        let answer = match call {
            Value::Struct(call) => match (call.get("methodName"), call.get("params")) {
                (Some(Value::String(method)), Some(Value::Array(params))) => {
                    methods.call(method, params)
                }
                _ => Answer::error("methodName or params is missing"),
            },
            _ => Answer::error("a call is not a struct"),
        };
        Value::Array(vec![answer.into_value()])
    };
    Value::Array(calls.iter().map(answer).collect())
}

/// A parameter that is a text.
pub(crate) fn text(params: &[Value], at: usize) -> Result<&str, Answer> {
    match params.get(at) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(Answer::error(format!("parameter {} is not a text", at + 1))),
    }
}

/// A list of texts.
pub(crate) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value {
    let texts = texts.into_iter();
    Value::Array(texts.map(|text| Value::String(text.to_owned())).collect())
}
