//! Messages to one subscriber of ROS 1 on loopback: from the player, and from a loop that writes the same bytes to a
//! socket.

use std::io::{IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use bagplay::bag::{Bag, TopicId};
use bagplay::clock::Clock;
use bagplay::output::Output;
use bagplay::player::{Pace, Player, Transport};
use bagplay::ros1::{Ros1Event, Ros1Node, Ros1Options, Ros1Output, Ros1Played};
use bagplay::time::{Steady, Time};

use crate::recording::write_ros1;
use crate::sending::{Failure, cues, run};

const TOPIC: &str = "/chatter";
const NODE: &str = "player";

/// Messages of one topic, all of one size.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) messages: u64,
    /// Bytes of text per message.
    pub(crate) size: usize,
}

impl Load {
    /// A recording of them, 1,000 for each second.
    pub(crate) fn open(self, path: &Path) -> Result<Bag, Failure> {
        write_ros1(path, self.messages, self.size)?;
        Ok(Bag::open(&[path])?)
    }

    /// Gigabytes for each second, from the first arrival to the last.
    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
    pub(crate) fn rate(self, arrivals: &[Time<Steady>]) -> Result<f64, Failure> {
        let (first, last) = arrivals.first().zip(arrivals.last()).ok_or("no messages")?;
        // The length of a message, and that of its text.
        let bytes = (self.messages - 1) as f64 * (self.size + 8) as f64;
        Ok(bytes / last.saturating_since(*first).as_secs_f64() / 1e9)
    }
}

/// When each message of the player arrived, and the output around that of the node.
pub(crate) fn play<O: Output + Send + 'static>(
    (bag, pace): (&Bag, Pace),
    load: Load,
    around: impl FnOnce(Ros1Output, &Transport) -> O,
) -> Result<(Vec<Time<Steady>>, O), Failure> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let master = format!("http://{address}/").parse()?;
    let (tell, joined) = crossbeam_channel::bounded(1);
    let node = Ros1Node::start(&Ros1Options::new(master, NODE), move |event| {
        if matches!(event, Ros1Event::SubscriberJoined { .. }) {
            let _ = tell.try_send(());
        }
    })?;
    let topic = Ros1Played {
        id: TopicId(0),
        name: TOPIC.to_owned(),
        topic: bag.topics()[0].clone(),
        durability: None,
    };
    let (out, _, _) = node.advertise(&[topic], false)?;
    let subscriber = take(subscribe(&address.to_string())?, load);
    joined.recv_timeout(Duration::from_secs(10))?;
    let player = Player::new();
    let cues = cues(bag, &player);
    let out = around(out, &player.transport());
    let out = run((player, cues), bag, pace, out)?;
    let arrivals = subscriber.join().map_err(|_| "the subscriber panicked")?;
    Ok((arrivals?, out))
}

/// When each message of a loop arrived that has one message in memory.
pub(crate) fn write(load: Load) -> Result<Vec<Time<Steady>>, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let subscriber = take(TcpStream::connect(listener.local_addr()?)?, load);
    let (mut stream, _) = listener.accept()?;
    let mut payload = u32::try_from(load.size)?.to_le_bytes().to_vec();
    payload.resize(4 + load.size, b'7');
    let length = u32::try_from(payload.len())?.to_le_bytes();
    for _ in 0..load.messages {
        let mut parts = [IoSlice::new(&length), IoSlice::new(&payload)];
        let mut rest = &mut parts[..];
        while !rest.is_empty() {
            let written = stream.write_vectored(rest)?;
            IoSlice::advance_slices(&mut rest, written);
        }
    }
    subscriber.join().map_err(|_| "the subscriber panicked")?
}

/// Reads all messages.
fn take(mut stream: TcpStream, load: Load) -> JoinHandle<Result<Vec<Time<Steady>>, Failure>> {
    std::thread::spawn(move || {
        let mut payload = vec![0; 4 + load.size];
        let mut arrivals = Vec::new();
        let clock = Clock::steady();
        for _ in 0..load.messages {
            let mut length = [0; 4];
            stream.read_exact(&mut length)?;
            if u32::from_le_bytes(length) as usize != payload.len() {
                return Err("a message has another length".into());
            }
            stream.read_exact(&mut payload)?;
            arrivals.push(clock.now());
        }
        Ok(arrivals)
    })
}

/// Connects to the topic as nodes of ROS 1 do.
fn subscribe(master: &str) -> Result<TcpStream, Failure> {
    let name = format!("/{NODE}");
    let found = call(master, "lookupNode", &[&string("/bench"), &string(&name)])?;
    let node = between(&found, "http://", "/").ok_or("no node")?;
    let protocols = "<array><data><value><array><data><value><string>TCPROS</string></value>\
                     </data></array></value></data></array>";
    let asked = [&string("/bench"), &string(TOPIC), protocols];
    let answer = call(node, "requestTopic", &asked)?;
    let port = between(&answer, "<int>", "<").or_else(|| {
        let (_, after) = answer.split_once("TCPROS")?;
        between(after, "<i4>", "<")
    });
    let port: u16 = port.ok_or("no port")?.parse()?;
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    let mut header = Vec::new();
    for field in [
        "callerid=/bench".to_owned(),
        format!("topic={TOPIC}"),
        "md5sum=*".to_owned(),
        "type=*".to_owned(),
        "tcp_nodelay=1".to_owned(),
    ] {
        header.extend(u32::try_from(field.len())?.to_le_bytes());
        header.extend(field.as_bytes());
    }
    stream.write_all(&u32::try_from(header.len())?.to_le_bytes())?;
    stream.write_all(&header)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut answer)?;
    Ok(stream)
}

fn string(text: &str) -> String {
    format!("<string>{text}</string>")
}

/// What stands between two texts.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

/// The response to a call of XML-RPC.
fn call(address: &str, method: &str, params: &[&str]) -> Result<String, Failure> {
    let params = params.join("</value></param><param><value>");
    let body = format!(
        "<?xml version=\"1.0\"?><methodCall><methodName>{method}</methodName>\
         <params><param><value>{params}</value></param></params></methodCall>"
    );
    let mut stream = TcpStream::connect(address)?;
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}
