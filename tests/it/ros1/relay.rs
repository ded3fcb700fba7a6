//! A master between a player and the real one: it notes the calls, and can keep them from the real one.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::peer::{post, read_http};
use crate::support::patience::until;

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// The real master answers it.
    Pass,
    /// It is not known here.
    Unknown,
    /// It is never answered.
    Silence,
    /// The master refuses.
    Refusal,
    /// This is the answer, whatever the call is.
    Nonsense(&'static str),
}

/// A call as it was made: the method and the whole text.
pub(super) type Noted = (String, String);

/// The relay; it works as long as the test.
pub(super) struct Relay {
    pub(super) uri: String,
    calls: Arc<Mutex<Vec<Noted>>>,
    /// How many calls have no answer yet.
    open: Arc<AtomicUsize>,
}

/// Decides whether a relay passes calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Calls are not passed from now on.
    pub(super) fn off(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Calls are passed again.
    pub(super) fn on(&self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Relay {
    /// Before a real master; it passes all calls. What becomes of them while it is switched off is `off`.
    pub(super) fn with_switch(master: &str, off: Fate) -> (Self, Switch) {
        let switch = Switch::default();
        let is_off = Arc::clone(&switch.0);
        let decide = move |_: &Noted| {
            if is_off.load(Ordering::SeqCst) {
                off
            } else {
                Fate::Pass
            }
        };
        (Self::before(master, decide), switch)
    }

    /// Before a real master; `decide` is called before each call goes on.
    pub(super) fn before(
        master: &str,
        decide: impl Fn(&Noted) -> Fate + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let calls: Arc<Mutex<Vec<Noted>>> = Arc::default();
        let open: Arc<AtomicUsize> = Arc::default();
        let (noted, decide, master) = (Arc::clone(&calls), Arc::new(decide), master.to_owned());
        let being_made = Arc::clone(&open);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let (noted, decide, master) =
                    (Arc::clone(&noted), Arc::clone(&decide), master.clone());
                let open = Arc::clone(&being_made);
                open.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    let mut stream = BufReader::new(stream);
                    let Some((_, body)) = read_http(&mut stream) else {
                        open.fetch_sub(1, Ordering::SeqCst);
                        return;
                    };
                    let method = body.split("<methodName>").nth(1).unwrap();
                    let method = method.split('<').next().unwrap().to_owned();
                    let call = (method, body);
                    let fate = decide(&call);
                    let body = match fate {
                        Fate::Pass => post(&master, &call.1),
                        Fate::Unknown => Some(UNKNOWN.to_owned()),
                        Fate::Silence => None,
                        Fate::Refusal => Some(REFUSAL.to_owned()),
                        Fate::Nonsense(answer) => Some(answer.to_owned()),
                    };
                    noted.lock().unwrap().push(call);
                    open.fetch_sub(1, Ordering::SeqCst);
                    let Some(body) = body else {
                        // Until the caller gives up.
                        let _ = read_http(&mut stream);
                        return;
                    };
                    let length = body.len();
                    let answer =
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
                    // The caller may have ended.
                    let _ = stream.get_mut().write_all(answer.as_bytes());
                });
            }
        });
        Self { uri, calls, open }
    }

    /// Whether no call is on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.open.load(Ordering::SeqCst) == 0
    }

    /// The calls since the last time, except those by which the state of the master is read.
    pub(super) fn take_changes(&self) -> Vec<Noted> {
        until("the last call", || self.is_idle());
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        let is_change = |(method, _): &Noted| !method.starts_with("get");
        calls.into_iter().filter(is_change).collect()
    }
}

/// What other programs answer, or a master that is broken.
pub(super) const NONSENSE: [&str; 6] = [
    "",
    "no XML",
    "<methodResponse><params>",
    "<methodResponse><params><param><value><int>1</int></value></param></params></methodResponse>",
    "<methodResponse><params><param><value><array><data></data></array></value></param></params></methodResponse>",
    "<methodResponse><params><param><value><array><data><value><int>1</int></value><value></value><value><boolean>9\
     </boolean></value></data></array></value></param></params></methodResponse>",
];

const REFUSAL: &str = "<methodResponse><params><param><value><array><data><value><int>-1</int></value><value>no</value><value>\
    <int>0</int></value></data></array></value></param></params></methodResponse>";
const UNKNOWN: &str = "<?xml version='1.0'?>\n<methodResponse>\n<fault>\n<value><struct>\n<member>\n<name>faultCode</name>\n\
    <value><int>1</int></value>\n</member>\n<member>\n<name>faultString</name>\n<value><string>no such method</string>\
    </value>\n</member>\n</struct></value>\n</fault>\n</methodResponse>\n";
