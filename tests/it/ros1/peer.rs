//! A node of ROS 1 written by hand: XML-RPC and connections for messages, from the specification alone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crossbeam_channel::{Receiver, bounded};
use roxmltree::{Document, Node};

use crate::support::patience::PATIENCE;
#[cfg(feature = "cli")]
use crate::support::patience::until;

/// A value of XML-RPC.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Val {
    Text(String),
    Int(i64),
    Bool(bool),
    List(Vec<Val>),
    Struct(BTreeMap<String, Val>),
}

pub(super) fn text(text: &str) -> Val {
    Val::Text(text.to_owned())
}

pub(super) fn texts(all: &[&str]) -> Val {
    Val::List(all.iter().map(|one| text(one)).collect())
}

impl Val {
    fn xml(&self) -> String {
        let inner = match self {
            // As roscpp writes it; rospy writes `<string>`.
            Self::Text(text) => text.clone(),
            Self::Int(int) => format!("<i4>{int}</i4>"),
            Self::Bool(bool) => format!("<boolean>{}</boolean>", u8::from(*bool)),
            Self::List(all) => {
                let all: String = all.iter().map(Self::xml).collect();
                format!("<array><data>{all}</data></array>")
            }
            Self::Struct(members) => {
                let member = |(key, value): (&String, &Self)| {
                    format!("<member><name>{key}</name>{}</member>", value.xml())
                };
                let members: String = members.iter().map(member).collect();
                format!("<struct>{members}</struct>")
            }
        };
        format!("<value>{inner}</value>")
    }

    fn read(value: Node<'_, '_>) -> Self {
        let Some(kind) = value.first_element_child() else {
            return text(value.text().unwrap_or_default());
        };
        let content = kind.text().unwrap_or_default();
        match kind.tag_name().name() {
            "string" => text(content),
            "i4" | "int" => Self::Int(content.parse().unwrap()),
            "boolean" => Self::Bool(content == "1"),
            "array" => {
                let data = kind.first_element_child().unwrap();
                let values = data.children().filter(Node::is_element);
                Self::List(values.map(Self::read).collect())
            }
            "struct" => {
                let members = kind.children().filter(Node::is_element).map(|member| {
                    let mut parts = member.children().filter(Node::is_element);
                    let name = parts.next().unwrap().text().unwrap().to_owned();
                    (name, Self::read(parts.next().unwrap()))
                });
                Self::Struct(members.collect())
            }
            other => panic!("{other}"),
        }
    }

    pub(super) fn list(&self) -> &[Self] {
        match self {
            Self::List(all) => all,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

/// The host and the port of an address.
pub(super) fn authority(uri: &str) -> &str {
    uri.strip_prefix("http://").unwrap().trim_end_matches('/')
}

/// Calls a method; returns the whole answer. `None`: nothing answers.
pub(super) fn ask(uri: &str, method: &str, params: &[Val]) -> Option<Val> {
    let param = |param: &Val| format!("<param>{}</param>", param.xml());
    let params: String = params.iter().map(param).collect();
    let body = format!(
        "<?xml version=\"1.0\"?>\r\n<methodCall><methodName>{method}</methodName>\r\n<params>{params}</params></methodCall>\r\n"
    );
    let answer = post(uri, &body)?;
    let document = Document::parse(&answer).unwrap();
    let value = document
        .descendants()
        .find(|node| node.has_tag_name("value"));
    Some(Val::read(value.unwrap_or_else(|| panic!("{answer}"))))
}

/// Calls a method; returns status and value. `None`: nothing answers.
pub(super) fn try_call(uri: &str, method: &str, params: &[Val]) -> Option<(i64, Val)> {
    let answer = ask(uri, method, params)?;
    let [Val::Int(code), Val::Text(_), value] = answer.list() else {
        panic!("{answer:?}");
    };
    Some((*code, value.clone()))
}

/// Calls a method that succeeds.
#[track_caller]
pub(super) fn call(uri: &str, method: &str, params: &[Val]) -> Val {
    let (code, value) = try_call(uri, method, params).unwrap();
    assert_eq!(code, 1, "{method}: {value:?}");
    value
}

/// Waits until a topic is registered with the master: only then its subscribers are told of the player at once.
#[cfg(feature = "cli")]
#[track_caller]
pub(super) fn publishes(master: &str, topic: &str) {
    let published = || try_call(master, "getPublishedTopics", &[text("/x"), text("")]);
    until(topic, || {
        published().is_some_and(|(_, topics)| {
            let mut topics = topics.list().iter();
            topics.any(|one| one.list()[0].str() == topic)
        })
    });
}

/// The body of the response to a request.
pub(super) fn post(uri: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(authority(uri)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head =
        format!("POST / HTTP/1.1\r\nUser-Agent: XMLRPC++ 0.7\r\nContent-length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    Some(read_http(&mut BufReader::new(stream))?.1)
}

/// The first line and the body of a message.
pub(super) fn read_http(stream: &mut impl BufRead) -> Option<(String, String)> {
    let (mut first, mut length) = (String::new(), 0);
    stream.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        let (key, value) = line.split_once(':')?;
        if key.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((first, String::from_utf8(body).unwrap()))
}

/// A node that takes calls, and does nothing but note them.
pub(super) struct Slave {
    pub(super) uri: String,
    calls: Receiver<(String, Vec<Val>)>,
}

impl Slave {
    pub(super) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let (send, calls) = bounded(100);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.unwrap());
                let Some((_, body)) = read_http(&mut stream) else {
                    continue;
                };
                let document = Document::parse(&body).unwrap();
                let of = |name: &str| {
                    let mut nodes = document.descendants();
                    nodes.find(|node| node.has_tag_name(name)).unwrap()
                };
                let method = of("methodName").text().unwrap().to_owned();
                let params = of("params").children().filter(Node::is_element);
                let params = params.map(|it| Val::read(it.first_element_child().unwrap()));
                let call = (method, params.collect());
                let done = Val::List(vec![Val::Int(1), text(""), Val::Int(0)]).xml();
                let body = format!(
                    "<methodResponse><params><param>{done}</param></params></methodResponse>"
                );
                let length = body.len();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
                stream.get_mut().write_all(answer.as_bytes()).unwrap();
                if send.send(call).is_err() {
                    return;
                }
            }
        });
        Self { uri, calls }
    }

    /// The next call.
    #[track_caller]
    pub(super) fn call(&self) -> (String, Vec<Val>) {
        self.calls.recv_timeout(PATIENCE).unwrap()
    }
}

/// A connection for the messages of a topic.
#[derive(Debug)]
pub(super) struct Subscriber {
    stream: TcpStream,
    /// The fields that the publisher has sent.
    pub(super) header: BTreeMap<String, String>,
}

impl Subscriber {
    /// Connects to the first publisher of a topic that the master names.
    #[track_caller]
    pub(super) fn of_topic(master: &str, name: &str, topic: &str) -> Self {
        let slave = "http://127.0.0.1:1/";
        let params = [text(name), text(topic), text("*"), text(slave)];
        let publishers = call(master, "registerSubscriber", &params);
        Self::connect(publishers.list()[0].str(), name, topic, "*")
    }

    /// Connects to a topic of a node, and expects a type with this sum.
    #[track_caller]
    pub(super) fn connect(node: &str, name: &str, topic: &str, md5: &str) -> Self {
        let protocols = Val::List(vec![texts(&["UDPROS"]), texts(&["TCPROS"])]);
        let protocol = call(node, "requestTopic", &[text(name), text(topic), protocols]);
        let [kind, host, Val::Int(port)] = protocol.list() else {
            panic!("{protocol:?}");
        };
        assert_eq!(kind.str(), "TCPROS");
        let stream = TcpStream::connect(format!("{}:{port}", host.str())).unwrap();
        let (caller, topic) = (format!("callerid={name}"), format!("topic={topic}"));
        let (md5, kind) = (format!("md5sum={md5}"), "type=*".to_owned());
        Self::begin(
            stream,
            &[caller, topic, md5, kind, "tcp_nodelay=1".to_owned()],
        )
    }

    fn begin(mut stream: TcpStream, fields: &[String]) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut header = Vec::new();
        for field in fields {
            header.extend(u32::try_from(field.len()).unwrap().to_le_bytes());
            header.extend(field.as_bytes());
        }
        let length = u32::try_from(header.len()).unwrap();
        stream.write_all(&length.to_le_bytes()).unwrap();
        stream.write_all(&header).unwrap();
        let mut subscriber = Self {
            stream,
            header: BTreeMap::new(),
        };
        let header = subscriber.message().unwrap();
        let mut rest = header.as_slice();
        while let Some((length, after)) = rest.split_first_chunk() {
            let (field, after) = after.split_at(u32::from_le_bytes(*length) as usize);
            let field = String::from_utf8(field.to_vec()).unwrap();
            let (key, value) = field.split_once('=').unwrap();
            subscriber.header.insert(key.to_owned(), value.to_owned());
            rest = after;
        }
        subscriber
    }

    /// The next message; `None` at the end.
    pub(super) fn message(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        if let Err(error) = self.stream.read_exact(&mut length) {
            let is_end = matches!(
                error.kind(),
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
            );
            assert!(is_end, "{error}");
            return None;
        }
        let mut message = vec![0; u32::from_le_bytes(length) as usize];
        self.stream.read_exact(&mut message).unwrap();
        Some(message)
    }

    /// Sends what no subscriber sends.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }
}

/// A connection for the calls of a service.
#[cfg(feature = "cli")]
#[derive(Debug)]
pub(super) struct Client(Subscriber);

#[cfg(feature = "cli")]
impl Client {
    /// Connects to a service that the master names, and expects a type with this sum.
    #[track_caller]
    pub(super) fn of_service(master: &str, service: &str, md5: &str) -> Self {
        let found = call(master, "lookupService", &[text("/caller"), text(service)]);
        let address = found.str().strip_prefix("rosrpc://").unwrap();
        let fields = [
            "callerid=/caller".to_owned(),
            format!("service={service}"),
            format!("md5sum={md5}"),
            "persistent=1".to_owned(),
        ];
        Self(Subscriber::begin(
            TcpStream::connect(address).unwrap(),
            &fields,
        ))
    }

    /// The fields that the service has sent.
    pub(super) fn header(&self) -> &BTreeMap<String, String> {
        &self.0.header
    }

    /// The response to a request; an error with its text.
    #[track_caller]
    pub(super) fn call(&mut self, request: &[u8]) -> Result<Vec<u8>, String> {
        self.try_call(request).unwrap()
    }

    /// The same; an error if the connection is closed instead.
    #[track_caller]
    pub(super) fn try_call(&mut self, request: &[u8]) -> std::io::Result<Result<Vec<u8>, String>> {
        let length = u32::try_from(request.len()).unwrap();
        self.0.stream.write_all(&length.to_le_bytes())?;
        self.0.stream.write_all(request)?;
        let mut is_ok = [0];
        self.0.stream.read_exact(&mut is_ok)?;
        let body = self.0.message().ok_or(ErrorKind::UnexpectedEof)?;
        Ok(if is_ok == [1] {
            Ok(body)
        } else {
            Err(String::from_utf8(body).unwrap())
        })
    }
}
