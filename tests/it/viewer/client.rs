//! A viewer that shares no code with the server: WebSocket by crate `tungstenite`, messages by hand.

use std::collections::{BTreeMap, VecDeque};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use tungstenite::{ClientRequestBuilder, Error, Message, WebSocket};

use crate::support::patience::Patience;

pub(crate) const PLAYING: u8 = 0;
pub(crate) const PAUSED: u8 = 1;
pub(crate) const BUFFERING: u8 = 2;
pub(crate) const ENDED: u8 = 3;

/// A state of playback.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct State {
    pub(crate) status: u8,
    pub(crate) time: u64,
    pub(crate) speed: f32,
    pub(crate) did_seek: bool,
    pub(crate) id: String,
}

/// A message of a topic.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Data {
    pub(crate) time: u64,
    pub(crate) topic: String,
    pub(crate) payload: Vec<u8>,
}

/// What the server sends.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Got {
    Json(Value),
    State(State),
    Time(u64),
    Data(Data),
    Closed,
}

pub(crate) struct Client {
    socket: WebSocket<TcpStream>,
    pub(crate) info: Value,
    /// The channels by their ids, as advertised.
    pub(crate) channels: BTreeMap<u64, Value>,
    /// What has arrived and was not asked for yet.
    later: VecDeque<Got>,
    requests: u32,
}

impl Client {
    /// Connected, and told the state.
    pub(crate) fn connect(port: u16) -> Self {
        let mut client = Self::unwelcomed(port);
        // From here on, it is told everything. The state can still be taken.
        let state = client.wait("the state", |got| match got {
            Got::State(state) => Some(state.clone()),
            _ => None,
        });
        client.later.push_front(Got::State(state));
        client
    }

    /// Its end of the connection.
    pub(crate) fn address(&self) -> SocketAddr {
        self.socket.get_ref().local_addr().unwrap()
    }

    /// Connected; the player may not have started.
    pub(crate) fn unwelcomed(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let uri = format!("ws://127.0.0.1:{port}").parse().unwrap();
        let request = ClientRequestBuilder::new(uri).with_sub_protocol("foxglove.sdk.v1");
        let (socket, _) = tungstenite::client(request, stream).unwrap();
        let slice = Some(Duration::from_millis(100));
        socket.get_ref().set_read_timeout(slice).unwrap();
        let mut client = Self {
            socket,
            info: Value::Null,
            channels: BTreeMap::new(),
            later: VecDeque::new(),
            requests: 0,
        };
        client.info = client.json("serverInfo");
        client
    }

    /// The next thing that arrives before the patience ends.
    #[track_caller]
    fn receive(&mut self, patience: &mut Patience) -> Got {
        loop {
            assert!(patience.slice().is_some(), "it does not arrive");
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    let json: Value = serde_json::from_str(&text).unwrap();
                    if json["op"] == "advertise" {
                        for channel in json["channels"].as_array().unwrap() {
                            let id = channel["id"].as_u64().unwrap();
                            self.channels.insert(id, channel.clone());
                        }
                    }
                    return Got::Json(json);
                }
                Ok(Message::Binary(bytes)) => return self.binary(&bytes),
                Ok(Message::Close(_)) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                    return Got::Closed;
                }
                Ok(_) => {}
                Err(Error::Io(error))
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return Got::Closed,
            }
        }
    }

    fn binary(&self, bytes: &[u8]) -> Got {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        match bytes[0] {
            1 => Got::Data(Data {
                // Subscriptions have the ids of their channels.
                topic: self.topic(u64::from(word(1))),
                time: number(5),
                payload: bytes[13..].to_vec(),
            }),
            2 => Got::Time(number(1)),
            5 => {
                assert_eq!(bytes.len(), 19 + word(15) as usize);
                Got::State(State {
                    status: bytes[1],
                    time: number(2),
                    speed: f32::from_bits(word(10)),
                    did_seek: bytes[14] == 1,
                    id: String::from_utf8(bytes[19..].to_vec()).unwrap(),
                })
            }
            other => panic!("opcode {other}"),
        }
    }

    fn topic(&self, channel: u64) -> String {
        self.channels[&channel]["topic"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The first thing that arrives, or has arrived and was not taken, from which `take` makes something. What was
    /// skipped can be taken later.
    #[track_caller]
    pub(crate) fn wait<T>(&mut self, what: &str, mut take: impl FnMut(&Got) -> Option<T>) -> T {
        self.wait_with(&mut Patience::new(), what, &mut take)
    }

    #[track_caller]
    fn wait_with<T>(
        &mut self,
        patience: &mut Patience,
        what: &str,
        take: &mut dyn FnMut(&Got) -> Option<T>,
    ) -> T {
        let mut skipped = VecDeque::new();
        loop {
            let next = self.later.pop_front();
            let next = next.unwrap_or_else(|| self.receive(patience));
            if let Some(taken) = take(&next) {
                skipped.append(&mut self.later);
                self.later = skipped;
                return taken;
            }
            assert!(next != Got::Closed, "closed before {what}: {skipped:?}");
            skipped.push_back(next);
        }
    }

    pub(crate) fn json(&mut self, op: &str) -> Value {
        self.wait(op, |got| match got {
            Got::Json(json) if json["op"] == op => Some(json.clone()),
            _ => None,
        })
    }

    /// The next state that satisfies a condition; those before it are dropped.
    #[track_caller]
    pub(crate) fn state(&mut self, what: &str, is_it: impl Fn(&State) -> bool) -> State {
        let mut patience = Patience::new();
        loop {
            let state = self.wait_with(&mut patience, what, &mut |got| match got {
                Got::State(state) => Some(state.clone()),
                _ => None,
            });
            if is_it(&state) {
                return state;
            }
        }
    }

    /// The next message.
    #[track_caller]
    pub(crate) fn data(&mut self) -> Data {
        self.wait("a message", |got| match got {
            Got::Data(data) => Some(data.clone()),
            _ => None,
        })
    }

    /// The messages that have arrived, and were not taken.
    pub(crate) fn arrived(&mut self) -> Vec<Data> {
        let data = self.later.iter().filter_map(|got| match got {
            Got::Data(data) => Some(data.clone()),
            _ => None,
        });
        let data = data.collect();
        self.later.retain(|got| !matches!(got, Got::Data(_)));
        data
    }

    /// The times that have arrived, and were not taken.
    pub(crate) fn times(&mut self) -> Vec<u64> {
        let times = self.later.iter().filter_map(|got| match got {
            Got::Time(time) => Some(*time),
            _ => None,
        });
        let times = times.collect();
        self.later.retain(|got| !matches!(got, Got::Time(_)));
        times
    }

    /// The states that have arrived, and were not taken.
    pub(crate) fn states(&mut self) -> Vec<State> {
        let states = self.later.iter().filter_map(|got| match got {
            Got::State(state) => Some(state.clone()),
            _ => None,
        });
        let states = states.collect();
        self.later.retain(|got| !matches!(got, Got::State(_)));
        states
    }

    /// Drops everything that has arrived, and was not taken.
    pub(crate) fn forget(&mut self) {
        self.later.clear();
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.send(Message::binary(bytes.to_vec())).unwrap();
    }

    /// Subscribes to these topics. They have been advertised.
    pub(crate) fn subscribe(&mut self, topics: &[&str]) {
        for topic in topics {
            let is_it = |channel: &(&u64, &Value)| channel.1["topic"] == *topic;
            while !self.channels.iter().any(|it| is_it(&it)) {
                let next = self.receive(&mut Patience::new());
                assert!(next != Got::Closed, "no channel {topic}");
                self.later.push_back(next);
            }
            let (id, _) = self.channels.iter().find(is_it).unwrap();
            let subscription = serde_json::json!({"id": id, "channelId": id});
            let text = serde_json::json!({"op": "subscribe", "subscriptions": [subscription]});
            self.send_text(&text.to_string());
        }
    }

    /// Sends a request; returns its id.
    pub(crate) fn request(&mut self, play: bool, speed: f32, seek: Option<u64>) -> String {
        self.requests += 1;
        let own = self.address().port();
        let id = format!("{own}-{}", self.requests);
        let request = request(u8::from(!play), speed, seek, &id);
        self.send_bytes(&request);
        id
    }

    /// Sends a request; returns the answer, with all states before it dropped.
    pub(crate) fn ask(&mut self, play: bool, speed: f32, seek: Option<u64>) -> State {
        let id = self.request(play, speed, seek);
        self.state("an answer", |state| state.id == id)
    }

    /// Waits until the server has received everything that was sent: it answers in order.
    pub(crate) fn sync(&mut self) {
        self.send_bytes(&[3, 9]);
        self.json("status");
    }
}

/// The port of a server for viewers on loopback that a line of a log names.
pub(crate) fn port_in(log: &str) -> Option<u16> {
    let (_, rest) = log.split_once("ws://127.0.0.1:")?;
    Some(rest.split(';').next().unwrap().parse().unwrap())
}

/// A request for control of playback.
pub(crate) fn request(command: u8, speed: f32, seek: Option<u64>, id: &str) -> Vec<u8> {
    let mut bytes = vec![3, command];
    bytes.extend(speed.to_le_bytes());
    bytes.push(u8::from(seek.is_some()));
    bytes.extend(seek.unwrap_or(0).to_le_bytes());
    bytes.extend(u32::try_from(id.len()).unwrap().to_le_bytes());
    bytes.extend(id.as_bytes());
    bytes
}
