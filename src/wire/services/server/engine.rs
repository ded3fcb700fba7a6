//! [`Engine`]: the thread `services`, which answers the calls of all services of a node.
//!
//! The calls of one client are answered in the order in which they came. A call for which the player needs time, such as
//! a burst, holds up neither other clients nor the player: its response is sent when the player has answered.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, bounded};

use crate::player::{Answer, Command, Outcome, Stopped, Transport};
use crate::wire::event::Events;
use crate::wire::net::now::{steady, unix_nanos};
use crate::wire::rmw_zenoh::gid::Gid;

use super::call::Call;
use super::handler::{Handler, Reaction, Respond, RespondToEach};

/// How many calls may wait in this thread. If more come, zenoh's threads wait, and with them the clients.
const MOST_WAITING: usize = 4096;
/// How many commands of services the player may have at a time. The rest of its channel is for others.
const MOST_ASKED: usize = 32;
/// How soon to ask the player again if its channel had no room.
const AGAIN: Duration = Duration::from_millis(1);
/// How many clients with requests that cannot be read are named.
const MOST_NAMED: usize = 100;

/// The services of one name; they differ in the hash of their type, which tells releases of ROS 2 apart.
pub(crate) type Forms = Vec<Handler>;

/// Answers calls until the channel of calls is closed.
pub(crate) struct Engine {
    services: Vec<Forms>,
    transport: Transport,
    events: Events,
    clients: HashMap<Gid, Client>,
    /// How many calls wait in the queues of all clients.
    waiting: usize,
    /// How many commands the player has not answered.
    asked: usize,
    /// Clients whose next command found no room.
    delayed: VecDeque<Gid>,
    answers: Receiver<(Gid, Result<Answer, Stopped>)>,
    answered: Sender<(Gid, Result<Answer, Stopped>)>,
    /// A command for later, and when.
    later: Option<(i64, Command)>,
    /// Clients with requests that cannot be read.
    named: HashSet<Gid>,
}

/// A client with a call that is not answered.
#[derive(Default)]
struct Client {
    waiting: VecDeque<Call>,
    current: Option<Current>,
}

/// The call that is being carried out.
struct Current {
    call: Call,
    /// The commands that have not been answered, the next one first.
    commands: VecDeque<Command>,
    respond: Responder,
}

/// What makes the response.
enum Responder {
    /// From the last answer; a refusal ends the call.
    Last(Respond<Vec<u8>>),
    /// From all answers.
    Each(Vec<Result<Answer, Stopped>>, RespondToEach<Vec<u8>>),
}

impl Engine {
    pub(crate) fn new(services: Vec<Forms>, transport: Transport, events: Events) -> Self {
        // Room for all answers that can be awaited, so that the player never waits.
        let (answered, answers) = bounded(MOST_ASKED);
        Self {
            services,
            transport,
            events,
            clients: HashMap::new(),
            waiting: 0,
            asked: 0,
            delayed: VecDeque::new(),
            answers,
            answered,
            later: None,
            named: HashSet::new(),
        }
    }

    /// Until the senders of calls are gone. What the player has answered by then is passed on.
    pub(crate) fn run(mut self, calls: &Receiver<Call>) {
        let answers = self.answers.clone();
        loop {
            let mut select = Select::new();
            let answer = select.recv(&answers);
            if self.waiting < MOST_WAITING {
                select.recv(calls);
            }
            let ready = match self.deadline() {
                Some(deadline) => select.ready_deadline(deadline).ok(),
                None => Some(select.ready()),
            };
            if ready == Some(answer) {
                while let Ok((client, answer)) = answers.try_recv() {
                    self.answered(client, answer);
                }
            } else if ready.is_some() {
                match calls.try_recv() {
                    Ok(call) => self.called(call),
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            self.send_later();
            self.send_delayed();
        }
        self.end();
    }

    /// When something is to be done even if nothing arrives.
    fn deadline(&self) -> Option<Instant> {
        let again = (!self.delayed.is_empty() && self.asked < MOST_ASKED).then_some(AGAIN);
        let later = self.later.map(|(at, _)| {
            let nanos = at.saturating_sub(unix_nanos());
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
        });
        let wait = again.into_iter().chain(later).min()?;
        steady().checked_add(wait)
    }

    fn called(&mut self, call: Call) {
        let id = call.client();
        self.waiting += 1;
        let client = self.clients.entry(id).or_default();
        client.waiting.push_back(call);
        if client.current.is_none() {
            self.next_call(id);
        }
    }

    /// Takes the calls of a client until the player has to be asked.
    fn next_call(&mut self, id: Gid) {
        while let Some(client) = self.clients.get_mut(&id) {
            let Some(call) = client.waiting.pop_front() else {
                self.clients.remove(&id);
                return;
            };
            self.waiting -= 1;
            match self.react(&call) {
                Reaction::Respond(response) => call.answer(response),
                Reaction::Later(at, command, response) => {
                    self.later = Some((at, command));
                    call.answer(response);
                }
                Reaction::Ask(commands, respond) => {
                    return self.begin(id, call, commands, Responder::Last(respond));
                }
                Reaction::AskEach(commands, respond) => {
                    return self.begin(id, call, commands, Responder::Each(Vec::new(), respond));
                }
            }
        }
    }

    /// Begins to carry out a call.
    fn begin(&mut self, id: Gid, call: Call, commands: Vec<Command>, respond: Responder) {
        // Whoever moves playback now does not want it to be moved later by an earlier request.
        self.later = None;
        let client = self.clients.entry(id).or_default();
        client.current = Some(Current {
            call,
            commands: commands.into(),
            respond,
        });
        self.ask(id);
    }

    fn react(&mut self, call: &Call) -> Reaction<Vec<u8>> {
        let forms = &self.services[call.service];
        let hash = call.type_hash();
        // A node of ROS 2 Humble names no hash. It knows the first form.
        let form = forms.iter().find(|form| form.hash == hash);
        let Some(form) = form.or_else(|| forms.first()) else {
            return Reaction::Respond(Vec::new());
        };
        match form.react(&call.request()) {
            Ok(reaction) => reaction,
            Err((malformed, response)) => {
                if self.named.len() < MOST_NAMED && self.named.insert(call.client()) {
                    let name = form.name;
                    let events = &self.events;
                    events.warn(format!("a request to {name} cannot be read: {malformed}"));
                }
                Reaction::Respond(response)
            }
        }
    }

    /// Sends the next command of a client's call to the player, or remembers that there was no room.
    fn ask(&mut self, id: Gid) {
        let Some(current) = self.current(id) else {
            return;
        };
        let Some(command) = current.commands.front().copied() else {
            return;
        };
        let answered = self.answered.clone();
        let then = move |answer| {
            // The engine may have ended.
            let _ = answered.send((id, answer));
        };
        if self.asked < MOST_ASKED && self.transport.try_send_then(command, then) {
            self.asked += 1;
        } else {
            self.delayed.push_back(id);
        }
    }

    fn current(&mut self, id: Gid) -> Option<&mut Current> {
        self.clients.get_mut(&id)?.current.as_mut()
    }

    fn answered(&mut self, id: Gid, answer: Result<Answer, Stopped>) {
        self.asked = self.asked.saturating_sub(1);
        let Some(current) = self.current(id) else {
            return;
        };
        current.commands.pop_front();
        let is_refused = !matches!(
            answer,
            Ok(Answer {
                outcome: Outcome::Done | Outcome::Landed(_),
                ..
            })
        );
        let ends = match &mut current.respond {
            Responder::Last(_) => is_refused,
            Responder::Each(answers, _) => {
                answers.push(answer);
                false
            }
        };
        if ends || current.commands.is_empty() {
            self.respond(id, answer);
            self.next_call(id);
        } else {
            self.ask(id);
        }
    }

    fn respond(&mut self, id: Gid, answer: Result<Answer, Stopped>) {
        let client = self.clients.get_mut(&id);
        if let Some(current) = client.and_then(|client| client.current.take()) {
            current.call.answer(match current.respond {
                Responder::Last(respond) => respond(answer),
                Responder::Each(answers, respond) => respond(answers),
            });
        }
    }

    fn send_later(&mut self) {
        let now = unix_nanos();
        if let Some((_, command)) = self.later.take_if(|(at, _)| *at <= now) {
            // An error means that the player has stopped.
            let _ = self.transport.try_send(command);
        }
    }

    fn send_delayed(&mut self) {
        for _ in 0..self.delayed.len() {
            if self.asked >= MOST_ASKED {
                return;
            }
            if let Some(id) = self.delayed.pop_front() {
                self.ask(id);
            }
        }
    }

    /// Answers all calls that are left.
    fn end(mut self) {
        for (id, answer) in self.answers.clone().try_iter() {
            self.answered(id, answer);
        }
        let clients: Vec<Gid> = self.clients.keys().copied().collect();
        for id in clients {
            self.respond(id, Err(Stopped));
            let waiting = self.clients.remove(&id).map(|client| client.waiting);
            for call in waiting.into_iter().flatten() {
                match self.react(&call) {
                    Reaction::Respond(response) | Reaction::Later(_, _, response) => {
                        call.answer(response);
                    }
                    Reaction::Ask(_, respond) => call.answer(respond(Err(Stopped))),
                    Reaction::AskEach(_, respond) => call.answer(respond(Vec::new())),
                }
            }
        }
    }
}
