//! [`Listener`]: takes the connections of subscribers: headers are exchanged, then messages are sent.

use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::blocks::{NoBlock, read_block};
use super::connection::Connection;
use super::header::{Fields, InvalidHeader, MAX_HEADER, decode, encode, text};
use super::patience::{NodePatience, Patiences};
use super::publication::{Advertised, Latching, Publication};
use super::publications::{CLOCK, Publications};
use crate::ros1::event::{Events, Ros1Event};
use crate::ros1::services::call::{NoCall, answer_calls};
use crate::ros1::services::playback::Services;
use crate::ros1::system::{Budget, NoPlace, Waited, Waits, accept_each, steady};

/// How many connections there are at most.
const MOST_CONNECTIONS: usize = 1024;
/// How many characters of the type that a subscriber expects are shown.
const LONGEST_SHOWN: usize = 200;
/// The longest name of a node that is accepted, in bytes.
const LONGEST_NAME: usize = 1024;
/// How long the exchange of headers may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What connections need of the node.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    pub(crate) publications: Arc<Publications>,
    pub(crate) patiences: Arc<Patiences>,
    /// What waits for all subscribers.
    pub(crate) together: Arc<Budget>,
    pub(crate) services: Arc<Services>,
    pub(crate) node_name: String,
    pub(crate) waits: Waits,
    pub(crate) events: Events,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
enum NoConnection {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the header: {0}")]
    Header(#[from] InvalidHeader),
    #[error("the header: {0}")]
    Block(#[from] NoBlock),
    #[error("service: {0}")]
    Service(#[from] NoCall),
    /// The text is sent to the subscriber.
    #[error("refused: {0}")]
    Refused(String),
}

impl Listener {
    /// Takes connections until the node ends.
    pub(crate) fn run(self, listener: TcpListener) -> io::Result<()> {
        let bound = (self.waits.clone(), MOST_CONNECTIONS);
        let told = self.clone();
        let refused = move |refusal| told.refuse(refusal);
        let take = move |stream, peer| {
            if let Err(error) = self.take(&Arc::new(stream)) {
                tracing::debug!("{peer}: {error}");
            }
        };
        accept_each("ros1-data", listener, bound, take, refused)
    }

    /// Reports that a connection is refused.
    fn refuse(&self, refusal: NoPlace) {
        self.events.send(Ros1Event::refused("messages", refusal));
    }

    /// Serves a connection until it is closed.
    fn take(&self, accepted: &Arc<TcpStream>) -> Result<(), NoConnection> {
        let mut stream: &TcpStream = accepted;
        let until = steady() + PATIENCE;
        stream.set_write_timeout(Some(PATIENCE))?;
        let fields = decode(&read_block(stream, (&self.waits, Some(until)), MAX_HEADER)?)?;
        if fields.contains_key("service") {
            let caller = (&self.node_name[..], fields);
            return Ok(answer_calls(&self.services, caller, stream, &self.waits)?);
        }
        let name = text(&fields, "callerid").map(str::to_owned);
        let node = name.as_deref().unwrap_or("a node without a name");
        let requested = self.requested(&fields, node);
        // The connection may last for long, and its header may be large.
        drop(fields);
        let publication = match requested {
            Ok(publication) => publication,
            Err(error) => {
                if let NoConnection::Refused(text) = &error {
                    stream.write_all(&encode([("error", text.as_bytes())]))?;
                }
                return Err(error);
            }
        };
        let topic = publication.advertised.name.as_str();
        let joined = (topic, node.to_owned());
        let rules = (publication.rules, self.patience_of(name.as_deref()));
        let shared = (self.events.clone(), Arc::clone(&self.together));
        let connection = Connection::new(joined, Arc::clone(accepted), rules, shared)?;
        let connection = Arc::new(connection);
        // Before the header is written: a subscriber that has the header gets all later messages.
        publication.connect(&connection);
        let served = self.serve(&publication, &connection, stream);
        publication.disconnect(&connection);
        let is_over = match served {
            Ok(is_over) => is_over,
            Err(error) => {
                // A message may wait for room.
                connection.close();
                return Err(error.into());
            }
        };
        let (topic, node) = (topic.to_owned(), node.to_owned());
        if !is_over {
            connection.close();
            // Times of the clock that were not read are no loss: the node has ended.
            let waiting = if topic == CLOCK {
                0
            } else {
                connection.waiting_messages()
            };
            let left = Ros1Event::SubscriberLeft {
                topic,
                node,
                waiting,
            };
            self.events.send(left);
        }
        Ok(())
    }

    /// Writes the header, then lets the messages be written until the connection ends. Returns whether the node ends.
    fn serve(
        &self,
        publication: &Publication,
        connection: &Arc<Connection>,
        mut stream: &TcpStream,
    ) -> io::Result<bool> {
        stream.write_all(&self.header(&publication.advertised))?;
        if let Err(error) = connection.start() {
            self.refuse(NoPlace::System(error));
            return Err(io::Error::other("there is no thread for it"));
        }
        self.events.send(Ros1Event::SubscriberJoined {
            topic: publication.advertised.name.clone(),
            node: connection.node().to_owned(),
        });
        // A subscriber sends nothing more: what can be read is the end, or wrong.
        Ok(matches!(
            self.waits.readable(stream, None),
            Ok(Waited::Over)
        ))
    }

    /// Shared by the connections of a node. Those without a name may be of different nodes.
    fn patience_of(&self, node: Option<&str>) -> Arc<NodePatience> {
        node.map_or_else(Arc::default, |node| self.patiences.of(node))
    }

    /// The topic that a subscriber asks for, if its type is the same.
    fn requested(&self, fields: &Fields, node: &str) -> Result<Arc<Publication>, NoConnection> {
        let refuse = |text: String| Err(NoConnection::Refused(text));
        if node.len() > LONGEST_NAME {
            return refuse("the field `callerid` is too long".to_owned());
        }
        let Some(topic) = text(fields, "topic") else {
            return refuse("the field `topic` is missing".to_owned());
        };
        let Some(publication) = self.publications.get(topic) else {
            return refuse(format!("{} does not publish {topic}", self.node_name));
        };
        let ours = &publication.advertised;
        // Tools that take any type write `*`, or nothing. The sum decides, not the name: recordings of `tf/tfMessage`
        // are for subscribers of `tf2_msgs/TFMessage`, too.
        let [md5, kind] = ["md5sum", "type"].map(|key| text(fields, key).unwrap_or("*"));
        // It is kept in an event.
        let kind: String = kind.chars().take(LONGEST_SHOWN).collect();
        if md5 != "*" && md5 != ours.md5 {
            let ours = format!("{} ({})", ours.type_name, ours.md5);
            let md5: String = md5.chars().take(LONGEST_SHOWN).collect();
            let theirs = format!("{kind} ({md5})");
            self.events.send(Ros1Event::TypeMismatch {
                topic: topic.to_owned(),
                ours: ours.clone(),
                theirs: theirs.clone(),
                node: node.to_owned(),
            });
            return refuse(format!("{topic} is {ours}, and {theirs} is expected"));
        }
        Ok(publication)
    }

    fn header(&self, topic: &Advertised) -> Vec<u8> {
        let latching: &[u8] = match topic.latching {
            Latching::No => b"0",
            Latching::LastOfEach | Latching::All => b"1",
        };
        encode([
            ("callerid", self.node_name.as_bytes()),
            ("latching", latching),
            ("md5sum", topic.md5.as_bytes()),
            ("message_definition", topic.definition.as_ref()),
            ("topic", topic.name.as_bytes()),
            ("type", topic.type_name.as_bytes()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::thread;

    use bytes::Bytes;

    use super::*;
    use crate::ros1::data::header::length;
    use crate::ros1::data::queue::{MOST_TOGETHER, QueueRules};
    use crate::ros1::options::SlowSubscriber;
    use crate::ros1::system::{Ender, waits};

    /// More than the system takes while nobody reads.
    const DEFINITION: usize = 64 << 20;
    const LONGEST: Duration = Duration::from_secs(60);

    /// A topic with a long definition, and a subscriber that is connected and has not read the header.
    fn connected() -> (Ender, Arc<Publication>, TcpStream) {
        let (ender, waits) = waits().unwrap();
        let advertised = Advertised {
            name: "/chatter".to_owned(),
            type_name: "std_msgs/String".to_owned(),
            md5: "*".to_owned(),
            definition: Bytes::from(vec![b'#'; DEFINITION]),
            latching: Latching::No,
        };
        let rules = QueueRules {
            slow_subscriber: SlowSubscriber::Wait,
            stall_timeout: LONGEST,
            most_messages: 10,
        };
        let publication = Arc::new(Publication::new(advertised, Vec::new(), rules));
        let publications = Publications::default();
        publications.add(Arc::clone(&publication));
        let listener = Listener {
            publications: Arc::new(publications),
            patiences: Arc::default(),
            together: Budget::new(MOST_TOGETHER),
            services: Arc::new(Services::new("/player")),
            node_name: "/player".to_owned(),
            waits,
            events: Events::new(|_| ()),
        };
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(socket.local_addr().unwrap()).unwrap();
        listener.run(socket).unwrap();
        let fields = [("callerid", &b"/listener"[..]), ("topic", b"/chatter")];
        peer.write_all(&encode(fields)).unwrap();
        until(|| publication.connections().len() == 1);
        (ender, publication, peer)
    }

    fn until(is_so: impl Fn() -> bool) {
        let until = steady() + LONGEST;
        while !is_so() {
            assert!(steady() < until, "this takes too long");
            thread::yield_now();
        }
    }

    #[test]
    fn who_has_the_header_gets_all_that_was_sent_since() {
        let (_ender, publication, mut peer) = connected();
        publication.send_volatile(&Bytes::from_static(b"one"));
        let mut header = [0; 4];
        peer.read_exact(&mut header).unwrap();
        let mut header = vec![0; u32::from_le_bytes(header) as usize];
        peer.read_exact(&mut header).unwrap();
        publication.send_volatile(&Bytes::from_static(b"two"));
        publication.end();
        let mut messages = Vec::new();
        peer.read_to_end(&mut messages).unwrap();
        let sent = [&length(3)[..], b"one", &length(3), b"two"].concat();
        assert_eq!(messages, sent);
    }

    #[test]
    fn who_goes_before_it_has_the_header_is_not_waited_for() {
        let (_ender, publication, peer) = connected();
        let sender = Arc::clone(&publication);
        let sending = thread::spawn(move || {
            // More than may wait.
            for _ in 0..20 {
                sender.send_volatile(&Bytes::from_static(b"one"));
            }
        });
        until(|| publication.connections()[0].waiting_messages() == 10);
        drop(peer);
        sending.join().unwrap();
        until(|| publication.connections().is_empty());
    }
}
