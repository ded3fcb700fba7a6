//! [`Services`]: the services of a player, and what each does with it.
//!
//! The names are those of the services of `rosbag2_player`, and `pause_playback` is that of `rosbag play`. Types are
//! those of `std_srvs`, none of which has a number: the rate is a parameter of `dynamic_reconfigure`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::reconfigure::parameters::Parameters;
use super::refusal::refusal;
use crate::player::{Command, Transport};
use crate::ros1::data::header::length;

/// The type of a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ServiceType {
    pub(crate) name: &'static str,
    pub(crate) md5: &'static str,
}

/// Nothing is asked; the answer is whether it was done, and why not.
const TRIGGER: ServiceType = ServiceType {
    name: "std_srvs/Trigger",
    md5: "937c9679a518e3a18d831e57125ea522",
};
/// The same, and the request is a truth value.
const SET_BOOL: ServiceType = ServiceType {
    name: "std_srvs/SetBool",
    md5: "09fb03525b03e7ea1fd3992bafd87e16",
};
/// Values of parameters are asked for; the answer is the values of all of them.
const RECONFIGURE: ServiceType = ServiceType {
    name: "dynamic_reconfigure/Reconfigure",
    md5: "bb125d226a21982a4a98760418dc2672",
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
    /// Sets the rate, pauses or resumes, as the request says.
    SetParameters,
}

impl Service {
    const ALL: [Self; 7] = [
        Self::Pause,
        Self::Resume,
        Self::TogglePaused,
        Self::PausePlayback,
        Self::PlayNext,
        Self::Stop,
        Self::SetParameters,
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
            Self::SetParameters => "set_parameters",
        }
    }

    pub(crate) const fn kind(self) -> ServiceType {
        match self {
            Self::PausePlayback => SET_BOOL,
            Self::SetParameters => RECONFIGURE,
            _ => TRIGGER,
        }
    }

    /// The command that a request of a type of `std_srvs` stands for; `None` if requests of this type are others.
    fn command(self, request: &[u8]) -> Option<Command> {
        Some(match (self, request) {
            (Self::PausePlayback, [1..=u8::MAX]) | (Self::Pause, []) => Command::Pause,
            (Self::PausePlayback, [0]) | (Self::Resume, []) => Command::Play,
            (Self::TogglePaused, []) => Command::Toggle,
            (Self::PlayNext, []) => Command::Burst(1),
            (Self::Stop, []) => Command::Stop,
            _ => return None,
        })
    }
}

/// The services of this node. There are none before [`Services::begin`].
#[derive(Debug)]
pub(crate) struct Services {
    node_name: String,
    player: OnceLock<Served>,
    /// How many answers are awaited or written.
    open: AtomicUsize,
}

/// The player that the services drive.
#[derive(Debug)]
struct Served {
    player: Transport,
    parameters: Arc<Parameters>,
}

impl Services {
    pub(crate) fn new(node_name: &str) -> Self {
        Self {
            node_name: node_name.to_owned(),
            player: OnceLock::new(),
            open: AtomicUsize::new(0),
        }
    }

    /// From now on there are services, which drive this player. `parameters` makes its parameters.
    pub(crate) fn begin(&self, player: &Transport, parameters: impl FnOnce() -> Arc<Parameters>) {
        // A second player would be of the same run.
        self.player.get_or_init(|| Served {
            player: player.clone(),
            parameters: parameters(),
        });
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
        let served = self.player.get().ok_or("there is no player")?;
        if service == Service::SetParameters {
            return served.parameters.set(request);
        }
        let kind = service.kind().name;
        let wrong = || format!("{} bytes are no request of {kind}", request.len());
        let command = service.command(request).ok_or_else(wrong)?;
        let reason = refusal(&served.player, served.player.ask(command));
        let mut response = vec![u8::from(reason.is_none())];
        let text = reason.unwrap_or_default();
        response.extend(length(text.len()));
        response.extend(text.as_bytes());
        Ok(response)
    }
}
