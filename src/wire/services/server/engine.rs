//! [`Engine`]: the thread `services`, which answers the calls of all services of a node.
//!
//! The calls of one client are answered in the order in which they came. A call for which the player needs time, such
//! as a burst, holds up neither other clients nor the player: its response is sent when the player has answered.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, bounded};

use crate::player::{Answer, Command, Outcome, Stopped, Transport};
use crate::wire::event::Events;
use crate::wire::net::now::steady;
use crate::wire::rmw_zenoh::gid::Gid;

use super::call::Call;
use super::handler::{Handler, Reacted, Reaction, Respond, RespondToEach};

/// How many calls of one client may wait, and of all clients. Further ones are refused.
const MOST_OF_CLIENT: usize = 1024;
const MOST_WAITING: usize = 4096;
/// How many commands of services the player may have at a time. The rest of its channel is for others.
const MOST_ASKED: usize = 32;
/// How many of these commands may take time. The rest is for commands that are answered at once, such as a pause.
const MOST_LONG: usize = 24;
/// How soon to ask the player again if its channel had no room.
const AGAIN: Duration = Duration::from_millis(1);
/// How many clients with requests that cannot be read are named.
const MOST_NAMED: usize = 100;

/// Why a call was refused.
pub(crate) const TOO_MANY: &str = "too many requests wait";

/// The services of one name, for different releases of ROS 2. They differ in the hash of their type.
pub(crate) type Forms = Vec<Handler>;

/// What the engine has to do.
pub(crate) enum Task {
    Answer(Call),
    /// As soon as no call is open, the instant of the last response is sent here.
    TellWhenIdle(Sender<Option<Instant>>),
}

/// Carries out tasks until their channel is closed.
pub(crate) struct Engine {
    services: Vec<Forms>,
    transport: Transport,
    events: Events,
    clients: HashMap<ClientId, Client>,
    /// The calls so far that named no client.
    nameless: u64,
    /// How many calls wait in the queues of all clients.
    waiting: usize,
    /// How many commands the player has not answered, and how many of them take time.
    asked: usize,
    long: usize,
    /// Clients whose next command has not been sent, in the order in which they came.
    unsent: VecDeque<ClientId>,
    /// The player's channel had no room.
    is_full: bool,
    answers: Receiver<(ClientId, Result<Answer, Stopped>)>,
    answered: Sender<(ClientId, Result<Answer, Stopped>)>,
    last_response: Option<Instant>,
    /// The senders of [`Task::TellWhenIdle`], until no call is open.
    told_when_idle: Vec<Sender<Option<Instant>>>,
    /// Clients with requests that cannot be read.
    named: HashSet<ClientId>,
}

/// A client: its calls are answered in order. Each call of a program that is no ROS 2 node has a client of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ClientId {
    Ros(Gid),
    Nameless(u64),
}

/// What became of an attempt to send a command.
enum Sending {
    /// It was sent, or there is nothing to send.
    Sent,
    /// The player has enough commands of this kind.
    Held,
    /// The player's channel has no room.
    Full,
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
    /// From the last answer. A refusal ends the call.
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
            nameless: 0,
            asked: 0,
            long: 0,
            unsent: VecDeque::new(),
            is_full: false,
            answers,
            answered,
            last_response: None,
            told_when_idle: Vec::new(),
            named: HashSet::new(),
        }
    }

    /// Runs until the senders of tasks are gone. What the player has answered by then is passed on.
    pub(crate) fn run(mut self, tasks: &Receiver<Task>) {
        let answers = self.answers.clone();
        loop {
            let mut select = Select::new();
            let answer = select.recv(&answers);
            select.recv(tasks);
            let ready = match self.deadline() {
                Some(deadline) => select.ready_deadline(deadline).ok(),
                None => Some(select.ready()),
            };
            if ready == Some(answer) {
                while let Ok((client, answer)) = answers.try_recv() {
                    self.answered(client, answer);
                }
            } else if ready.is_some() {
                match tasks.try_recv() {
                    Ok(Task::Answer(call)) => self.called(call),
                    Ok(Task::TellWhenIdle(told)) => self.told_when_idle.push(told),
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            self.send_unsent();
            if self.clients.is_empty() {
                for told in self.told_when_idle.drain(..) {
                    // An error means that the wait has ended at its deadline.
                    let _ = told.try_send(self.last_response);
                }
            }
        }
        self.end();
    }

    /// When there is something to do even if nothing arrives.
    fn deadline(&self) -> Option<Instant> {
        self.is_full.then(|| steady().checked_add(AGAIN))?
    }

    fn called(&mut self, call: Call) {
        let id = call.client().map_or_else(
            || {
                self.nameless += 1;
                ClientId::Nameless(self.nameless)
            },
            ClientId::Ros,
        );
        let waiting = self.clients.get(&id).map_or(0, |it| it.waiting.len());
        let most = self.waiting.max(self.clients.len());
        if waiting >= MOST_OF_CLIENT || most >= MOST_WAITING {
            let response = form(&self.services, &call).map(|form| (form.failed)(TOO_MANY));
            return self.answer(call, response.unwrap_or_default());
        }
        self.waiting += 1;
        let client = self.clients.entry(id).or_default();
        client.waiting.push_back(call);
        if client.current.is_none() {
            self.next_call(id);
        }
    }

    /// Answers the calls of a client up to the first one for which the player has to be asked.
    fn next_call(&mut self, id: ClientId) {
        while let Some(client) = self.clients.get_mut(&id) {
            let Some(call) = client.waiting.pop_front() else {
                self.clients.remove(&id);
                return;
            };
            self.waiting -= 1;
            match self.react(&call) {
                Reaction::Respond(response) => self.answer(call, response),
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
    fn begin(&mut self, id: ClientId, call: Call, commands: Vec<Command>, respond: Responder) {
        let client = self.clients.entry(id).or_default();
        client.current = Some(Current {
            call,
            commands: commands.into(),
            respond,
        });
        self.unsent.push_back(id);
    }

    fn react(&mut self, call: &Call) -> Reaction<Vec<u8>> {
        let request = call.request();
        let Some((form, reacted)) = react(&self.services, call, &request) else {
            return Reaction::Respond(Vec::new());
        };
        match reacted {
            Ok(reaction) => reaction,
            Err((malformed, response)) => {
                let client = call.client().map_or(ClientId::Nameless(0), ClientId::Ros);
                if self.named.len() < MOST_NAMED && self.named.insert(client) {
                    let name = form.name;
                    let from = match client {
                        ClientId::Ros(gid) => format!(" from client {gid}"),
                        ClientId::Nameless(_) => String::new(),
                    };
                    let events = &self.events;
                    events.warn(format!(
                        "a request to {name}{from} cannot be read: {malformed}"
                    ));
                }
                Reaction::Respond(response)
            }
        }
    }

    /// Sends the next command of a client's call to the player.
    fn send(&mut self, id: ClientId) -> Sending {
        let command = self
            .current(id)
            .and_then(|current| current.commands.front().copied());
        let Some(command) = command else {
            return Sending::Sent;
        };
        let is_long = takes_time(command);
        if self.asked >= MOST_ASKED || (is_long && self.long >= MOST_LONG) {
            return Sending::Held;
        }
        let answered = self.answered.clone();
        let then = move |answer| {
            // The engine may have ended.
            let _ = answered.send((id, answer));
        };
        if !self.transport.try_send_then(command, then) {
            return Sending::Full;
        }
        self.asked += 1;
        self.long += usize::from(is_long);
        Sending::Sent
    }

    fn current(&mut self, id: ClientId) -> Option<&mut Current> {
        self.clients.get_mut(&id)?.current.as_mut()
    }

    fn answered(&mut self, id: ClientId, answer: Result<Answer, Stopped>) {
        self.asked = self.asked.saturating_sub(1);
        let Some(current) = self.current(id) else {
            return;
        };
        let command = current.commands.pop_front();
        let is_refused = !matches!(
            answer,
            Ok(Answer {
                outcome: Outcome::Done | Outcome::Landed(_),
                ..
            })
        );
        let was_long = command.is_some_and(takes_time);
        let ends = match &mut current.respond {
            Responder::Last(_) => is_refused,
            Responder::Each(answers, _) => {
                answers.push(answer);
                false
            }
        };
        let is_last = ends || current.commands.is_empty();
        self.long = self.long.saturating_sub(usize::from(was_long));
        if is_last {
            self.respond(id, answer);
            self.next_call(id);
        } else {
            self.unsent.push_back(id);
        }
    }

    fn respond(&mut self, id: ClientId, answer: Result<Answer, Stopped>) {
        let client = self.clients.get_mut(&id);
        if let Some(current) = client.and_then(|client| client.current.take()) {
            let response = match current.respond {
                Responder::Last(respond) => respond(answer),
                Responder::Each(answers, respond) => respond(answers),
            };
            self.answer(current.call, response);
        }
    }

    fn answer(&mut self, call: Call, response: Vec<u8>) {
        call.answer(response);
        self.last_response = Some(steady());
    }

    /// Sends the commands that can be sent, in the order in which they came.
    fn send_unsent(&mut self) {
        self.is_full = false;
        let mut held = VecDeque::new();
        while let Some(id) = self.unsent.pop_front() {
            match self.send(id) {
                Sending::Sent => {}
                Sending::Held => held.push_back(id),
                Sending::Full => {
                    self.unsent.push_front(id);
                    self.is_full = true;
                    break;
                }
            }
        }
        held.append(&mut self.unsent);
        self.unsent = held;
    }

    /// Answers all calls that are left.
    fn end(mut self) {
        for (id, answer) in self.answers.clone().try_iter() {
            self.answered(id, answer);
        }
        let clients: Vec<ClientId> = self.clients.keys().copied().collect();
        for id in clients {
            self.respond(id, Err(Stopped));
            let waiting = self.clients.remove(&id).map(|client| client.waiting);
            for call in waiting.into_iter().flatten() {
                match self.react(&call) {
                    Reaction::Respond(response) => call.answer(response),
                    Reaction::Ask(_, respond) => call.answer(respond(Err(Stopped))),
                    Reaction::AskEach(_, respond) => call.answer(respond(Vec::new())),
                }
            }
        }
    }
}

/// What a request leads to, and the form of its service. A client on DDS names no form, so the last form that can read
/// the request is used. Its response begins with that of the earlier ones, so that clients of all forms can read it.
fn react<'a>(services: &'a [Forms], call: &Call, request: &[u8]) -> Option<(&'a Handler, Reacted)> {
    if !call.is_from_dds() {
        let form = form(services, call)?;
        return Some((form, form.react(request)));
    }
    let mut failed = None;
    for form in services.get(call.service)?.iter().rev() {
        let reacted = form.react(request);
        if reacted.is_ok() {
            return Some((form, reacted));
        }
        failed = Some((form, reacted));
    }
    failed
}

/// The form of a service that a client knows.
fn form<'a>(services: &'a [Forms], call: &Call) -> Option<&'a Handler> {
    call.known_form(services.get(call.service)?, |form| form.hash)
}

/// Whether the answer to a command may take long: messages have to be read or sent for it.
fn takes_time(command: Command) -> bool {
    use Command as C;
    let steps = matches!(command, C::Step(_) | C::StepTopic(..) | C::Burst(_));
    let ranges = matches!(command, C::SetRange(..) | C::SetLoop(_) | C::EndLoop);
    let jumps = matches!(command, C::Seek(_) | C::SeekBy(_) | C::PlayFrom { .. });
    steps || ranges || jumps
}
