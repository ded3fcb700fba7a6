//! Calls and answers of XML-RPC as text. Everything that is read is untrusted.

use std::borrow::Cow;

use dxr::{FaultResponse, MethodCall, MethodResponse, Value};

use super::error::RpcError;

/// How deep elements may be nested. The parser is recursive.
const DEEPEST: usize = 64;

/// The text of a call.
pub(crate) fn call_text(method: &str, params: Vec<Value>) -> Result<String, RpcError> {
    let call = MethodCall {
        name: Cow::Borrowed(method),
        params,
    };
    call.to_xml().map_err(|error| invalid(&error))
}

/// A call: the method and its parameters.
pub(crate) fn read_call(text: &str) -> Result<(String, Vec<Value>), RpcError> {
    check(text)?;
    let call = MethodCall::from_xml(text).map_err(|error| invalid(&error))?;
    Ok((call.name.into_owned(), call.params))
}

/// The text of an answer.
pub(crate) fn answer_text(value: Value) -> Result<String, RpcError> {
    let answer = MethodResponse { value };
    answer.to_xml().map_err(|error| invalid(&error))
}

/// The text of the answer to a call that cannot be read.
pub(crate) fn fault_text(text: &str) -> Result<String, RpcError> {
    let fault = dxr::Fault::new(-32_600, text.to_owned());
    let answer = FaultResponse { fault };
    answer.to_xml().map_err(|error| invalid(&error))
}

/// An answer.
pub(crate) fn read_answer(text: &str) -> Result<Value, RpcError> {
    check(text)?;
    if let Ok(answer) = MethodResponse::from_xml(text) {
        return Ok(answer.value);
    }
    let fault = FaultResponse::from_xml(text).map_err(|error| invalid(&error))?;
    Err(RpcError::Fault(fault.fault.string().to_owned()))
}

fn invalid(error: &dxr::Error) -> RpcError {
    // The text of the error may quote the whole document.
    let text: String = error.to_string().chars().take(200).collect();
    RpcError::Invalid(text)
}

/// Refuses what XML-RPC does not need (attributes, comments, other declarations) and elements that are nested too
/// deep.
fn check(text: &str) -> Result<(), RpcError> {
    let refuse = |why: &str| Err(RpcError::Invalid(why.to_owned()));
    let body = match text.trim_start().strip_prefix("<?xml") {
        Some(rest) => match rest.split_once("?>") {
            Some((_, body)) => body,
            None => return refuse("the declaration does not end"),
        },
        None => text,
    };
    let mut depth = 0_usize;
    for tag in body.split('<').skip(1) {
        let Some((tag, _)) = tag.split_once('>') else {
            return refuse("a tag does not end");
        };
        let (name, is_end) = match tag.strip_prefix('/') {
            Some(name) => (name, true),
            None => (tag, false),
        };
        let (name, is_empty) = match name.strip_suffix('/') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let name = name.trim_end();
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        if name.is_empty() || !name.chars().all(is_name) {
            return refuse("there is more in a tag than a name");
        }
        match (is_end, is_empty) {
            (true, _) => depth = depth.saturating_sub(1),
            (false, true) => {}
            (false, false) => depth += 1,
        }
        if depth > DEEPEST {
            return refuse("elements are nested too deep");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    #[test]
    fn calls_of_both_client_libraries_are_read() {
        let python = "<?xml version='1.0'?>\n<methodCall>\n<methodName>requestTopic</methodName>\n<params>\n<param>\n\
            <value><string>/listener</string></value>\n</param>\n<param>\n<value><string>/a&amp;b</string></value>\n\
            </param>\n<param>\n<value><array><data>\n<value><array><data>\n<value><string>TCPROS</string></value>\n\
            </data></array></value>\n</data></array></value>\n</param>\n</params>\n</methodCall>\n";
        let protocols = Value::Array(vec![Value::Array(vec![text("TCPROS")])]);
        let expected = vec![text("/listener"), text("/a&b"), protocols.clone()];
        let read = read_call(python).unwrap();
        assert_eq!(read, ("requestTopic".to_owned(), expected.clone()));
        let cpp = "<?xml version=\"1.0\"?>\r\n<methodCall><methodName>requestTopic</methodName>\r\n<params><param>\
            <value>/listener</value></param><param><value>/a&amp;b</value></param><param><value><array><data><value>\
            <array><data><value>TCPROS</value></data></array></value></data></array></value></param></params>\
            </methodCall>\r\n";
        assert_eq!(read_call(cpp).unwrap().1, expected);
        let written = call_text("requestTopic", expected.clone()).unwrap();
        assert_eq!(read_call(&written).unwrap().1, expected);
        let bare = "<methodCall><methodName>getPid</methodName></methodCall>";
        assert_eq!(read_call(bare).unwrap(), ("getPid".to_owned(), vec![]));
    }

    #[test]
    fn an_answer_has_no_self_closing_elements() {
        let empty = Value::Array(vec![Value::Integer(1), text(""), Value::Array(vec![])]);
        let written = answer_text(empty.clone()).unwrap();
        assert!(!written.contains("/>"), "{written}");
        assert_eq!(read_answer(&written).unwrap(), empty);
        let fault = fault_text("no & such").unwrap();
        assert!(matches!(read_answer(&fault), Err(RpcError::Fault(it)) if it == "no & such"));
    }

    #[test]
    fn hostile_documents_are_refused() {
        let deep = "<value><array><data>".repeat(100_000);
        for hostile in [
            deep.as_str(),
            "<!DOCTYPE x><methodCall/>",
            "<methodCall><!-- </a> --></methodCall>",
            "<methodCall a='1'></methodCall>",
            "<methodCall",
            "<methodCall></methodCall>",
            "",
        ] {
            assert!(read_call(hostile).is_err(), "{hostile:.40}");
        }
    }
}
