//! [`Services`]: the services of a player, and what each does with it.
//!
//! The names are those of the services of `rosbag2_player`, and `pause_playback` is that of `rosbag play`. Types are
//! those of `std_srvs`: none of them has a number, so there is no service for the rate.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::player::{Answer, Command, Outcome, Stopped, Transport};

/// The type of a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ServiceType {
    pub(crate) name: &'static str,
    pub(crate) md5: &'static str,
    /// The length of a request, in bytes.
    request: usize,
}

/// Nothing is asked; the answer is whether it was done, and why not.
const TRIGGER: ServiceType = ServiceType {
    name: "std_srvs/Trigger",
    md5: "937c9679a518e3a18d831e57125ea522",
    request: 0,
};
/// The same, and the request is a truth value.
const SET_BOOL: ServiceType = ServiceType {
    name: "std_srvs/SetBool",
    md5: "09fb03525b03e7ea1fd3992bafd87e16",
    request: 1,
};

/// A service of a player.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Service {
    Pause,
    Resume,
    TogglePaused,
    /// Pauses or resumes, as the request says.
    PausePlayback,
    PlayNext,
    Stop,
}

impl Service {
    const ALL: [Self; 6] = [
        Self::Pause,
        Self::Resume,
        Self::TogglePaused,
        Self::PausePlayback,
        Self::PlayNext,
        Self::Stop,
    ];

    /// The last part of its name.
    const fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::TogglePaused => "toggle_paused",
            Self::PausePlayback => "pause_playback",
            Self::PlayNext => "play_next",
            Self::Stop => "stop",
        }
    }

    pub(crate) const fn kind(self) -> ServiceType {
        match self {
            Self::PausePlayback => SET_BOOL,
            _ => TRIGGER,
        }
    }

    /// What a request asks the player to do; `None` if it has another length than requests of this type.
    fn command(self, request: &[u8]) -> Option<Command> {
        if request.len() != self.kind().request {
            return None;
        }
        Some(match self {
            Self::PausePlayback if request[0] != 0 => Command::Pause,
            Self::Pause => Command::Pause,
            Self::PausePlayback | Self::Resume => Command::Play,
            Self::TogglePaused => Command::Toggle,
            Self::PlayNext => Command::Burst(1),
            Self::Stop => Command::Stop,
        })
    }
}

/// The services of this node. There are none before [`Services::begin`].
#[derive(Debug)]
pub(crate) struct Services {
    node_name: String,
    player: OnceLock<Transport>,
    /// How many answers are awaited or written.
    open: AtomicUsize,
}

impl Services {
    pub(crate) fn new(node_name: &str) -> Self {
        Self {
            node_name: node_name.to_owned(),
            player: OnceLock::new(),
            open: AtomicUsize::new(0),
        }
    }

    /// From now on there are services, which drive this player.
    pub(crate) fn begin(&self, player: &Transport) {
        // A second player would be of the same run.
        let _ = self.player.set(player.clone());
    }

    /// The names of all services.
    pub(crate) fn names(&self) -> Vec<String> {
        if self.player.get().is_none() {
            return Vec::new();
        }
        Service::ALL.map(|it| self.full_name(it)).to_vec()
    }

    fn full_name(&self, service: Service) -> String {
        format!("{}/{}", self.node_name, service.name())
    }

    /// The service of a name.
    pub(crate) fn get(&self, name: &str) -> Option<Service> {
        self.player.get()?;
        let mut all = Service::ALL.into_iter();
        all.find(|service| self.full_name(*service) == name)
    }

    /// Whether a call has no answer yet.
    pub(crate) fn is_busy(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// Carries out a request, and gives the response to `respond`; an error if the request cannot be read.
    pub(crate) fn answer<T>(
        &self,
        service: Service,
        request: &[u8],
        respond: impl FnOnce(Result<Vec<u8>, String>) -> T,
    ) -> T {
        self.open.fetch_add(1, Ordering::Relaxed);
        let done = respond(self.response(service, request));
        self.open.fetch_sub(1, Ordering::Relaxed);
        done
    }

    fn response(&self, service: Service, request: &[u8]) -> Result<Vec<u8>, String> {
        let kind = service.kind();
        let wrong = || format!("{} bytes are no request of {}", request.len(), kind.name);
        let command = service.command(request).ok_or_else(wrong)?;
        let player = self.player.get().ok_or("there is no player")?;
        let reason = reason(player, player.ask(command));
        let mut response = vec![u8::from(reason.is_none())];
        let text = reason.unwrap_or_default();
        response.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
        response.extend(text.as_bytes());
        Ok(response)
    }
}

/// Why a command was not carried out; `None` if it was.
fn reason(player: &Transport, answer: Result<Answer, Stopped>) -> Option<String> {
    match answer.map(|answer| answer.outcome) {
        Ok(Outcome::Done | Outcome::Landed(_) | Outcome::Stepped { sent: 1.., .. }) => None,
        Ok(Outcome::Stepped { short, .. }) => {
            Some(short.map_or_else(|| "no message".to_owned(), |short| short.to_string()))
        }
        Ok(Outcome::Refused(refusal)) => Some(refusal.in_words(player.lead().name().as_deref())),
        Err(stopped) => Some(stopped.to_string()),
    }
}
