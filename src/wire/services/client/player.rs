//! [`PlayerClient`]: drives a player on the network by its services, one of this program or `ros2 bag play`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::caller::Caller;
use super::found_player::FoundPlayer;
use super::player_view::PlayerView;
use super::request_error::RequestError;
use crate::ros::dds_type;
use crate::time::{Ros, Time};
use crate::wire::error::WireError;
use crate::wire::net::now::steady;
use crate::wire::services::messages::bagplay::{
    Done, GetStatus, Landed, PaceRequest, PlayUntil, PlayerStatus, RangeRequest, SeekTo, SetLoop,
    SetPace, SetRange, Step, StepRequest, Stepped, TimeRequest,
};
use crate::wire::services::messages::rosbag2::{
    Burst, BurstRequest, GetRate, IsPaused, Pause, Play, PlayNext, PlayRequest, Rate, Resume,
    ResumeAt, ResumeRequest, Seek, SeekRequest, SetRate, Stop, StopWithVerdict, TogglePaused,
    Verdict,
};
use crate::wire::services::messages::service::{Empty, Service, Stamp};
use crate::wire::session::Session;

/// How often the graph is looked at while a player may have left.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Drives one player. Each call waits for its response.
#[derive(Debug)]
pub struct PlayerClient<'a> {
    session: &'a Session,
    player: FoundPlayer,
    timeout: Duration,
    /// The instant at which every call ends, if it is set.
    end: Mutex<Option<Instant>>,
    /// The clients of the services that have been called, by hash of the type and name.
    callers: Mutex<HashMap<(String, &'static str), Arc<Caller>>>,
}

impl<'a> PlayerClient<'a> {
    /// How long after its last sign a lost connection is known to be lost: see [`PlayerClient::has_left`].
    pub const LOSS_IS_KNOWN: Duration = Duration::from_millis(300);

    /// Drives `player` and waits for each response for at most `timeout`.
    pub fn new(session: &'a Session, player: FoundPlayer, timeout: Duration) -> Self {
        Self {
            session,
            player,
            timeout,
            end: Mutex::default(),
            callers: Mutex::default(),
        }
    }

    /// The same, which waits from now on for each response for at most `timeout`.
    #[must_use]
    pub fn answering_within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The player's node.
    pub fn node(&self) -> &str {
        &self.player.node
    }

    /// Pauses.
    pub fn pause(&self) -> Result<(), RequestError> {
        self.call::<Pause>("pause", &Empty::default()).map(drop)
    }

    /// Plays on. A player of ROS 2 Lyrical or later may refuse.
    pub fn resume(&self) -> Result<(), RequestError> {
        if self.has_form::<ResumeAt>("resume") {
            let request = ResumeRequest::default();
            return accepted(&self.call_form::<ResumeAt>("resume", &request)?);
        }
        self.call::<Resume>("resume", &Empty::default()).map(drop)
    }

    /// Pauses if playing, otherwise plays.
    pub fn toggle_paused(&self) -> Result<(), RequestError> {
        let empty = Empty::default();
        self.call::<TogglePaused>("toggle_paused", &empty).map(drop)
    }

    /// Whether playback is paused.
    pub fn is_paused(&self) -> Result<bool, RequestError> {
        let response = self.call::<IsPaused>("is_paused", &Empty::default())?;
        Ok(response.paused)
    }

    /// The rate: see [`PlayerStatus::rate`]; a followed clock counts as 0 here.
    pub fn rate(&self) -> Result<f64, RequestError> {
        Ok(self.call::<GetRate>("get_rate", &Empty::default())?.rate)
    }

    /// Changes the rate. Negative and infinite ones need a player of this program.
    pub fn set_rate(&self, rate: f64) -> Result<(), RequestError> {
        if self.is_ours() {
            return done(&self.call::<SetPace>("set_pace", &PaceRequest { rate })?);
        }
        let response = self.call::<SetRate>("set_rate", &Rate { rate })?;
        succeeded(response.success, "the player refuses this rate")
    }

    /// Begins to play from a place in the recording; see [`PlayRequest`].
    pub fn play(&self, request: &PlayRequest) -> Result<(), RequestError> {
        let response = self.call::<Play>("play", request)?;
        succeeded(
            response.success,
            "the player plays already, or there is nothing to play",
        )
    }

    /// Publishes the next message, while paused.
    pub fn play_next(&self) -> Result<(), RequestError> {
        let response = self.call::<PlayNext>("play_next", &Empty::default())?;
        succeeded(
            response.success,
            "the player is not paused, or there is no next message",
        )
    }

    /// Publishes the next messages, while paused; 0 means all. Returns how many were published.
    pub fn burst(&self, num_messages: u64) -> Result<u64, RequestError> {
        let response = self.call::<Burst>("burst", &BurstRequest { num_messages })?;
        Ok(response.actually_burst)
    }

    /// Jumps to a time of the player's clock. Returns where that led, if the player tells.
    pub fn seek(&self, time: Time<Ros>) -> Result<Option<Time<Ros>>, RequestError> {
        let time = Stamp::of(time);
        if !self.is_ours() {
            let response = self.call::<Seek>("seek", &SeekRequest { time })?;
            return succeeded(response.success, "the player cannot seek").map(|()| None);
        }
        let Landed {
            success,
            landed,
            message,
        } = self.call::<SeekTo>("seek_to", &TimeRequest { time })?;
        succeeded(success, &message).map(|()| landed.time())
    }

    /// Ends the run.
    pub fn stop(&self) -> Result<(), RequestError> {
        if self.has_form::<StopWithVerdict>("stop") {
            return accepted(&self.call_form::<StopWithVerdict>("stop", &Empty::default())?);
        }
        self.call::<Stop>("stop", &Empty::default()).map(drop)
    }

    /// Everything that the player tells of itself.
    pub fn status(&self) -> Result<PlayerStatus, RequestError> {
        self.call::<GetStatus>("get_status", &Empty::default())
    }

    /// The same, in the types of this program.
    pub fn view(&self) -> Result<PlayerView, RequestError> {
        let status = self.status()?;
        PlayerView::new(&status).ok_or_else(|| RequestError::unreadable(&status))
    }

    /// Steps forward or back; returns how many messages were published, and why fewer than were asked for.
    pub fn step(&self, request: &StepRequest) -> Result<Stepped, RequestError> {
        self.call::<Step>("step", request)
    }

    /// Changes the range that is played, and whether it is played again at its end.
    pub fn set_range(&self, request: &RangeRequest) -> Result<(), RequestError> {
        done(&self.call::<SetRange>("set_range", request)?)
    }

    /// Begins or ends an A–B loop.
    pub fn set_loop(&self, request: &RangeRequest) -> Result<(), RequestError> {
        done(&self.call::<SetLoop>("set_loop", request)?)
    }

    /// Plays, and pauses on arrival at a time of the player's clock.
    pub fn play_until(&self, time: Time<Ros>) -> Result<(), RequestError> {
        let time = Stamp::of(time);
        done(&self.call::<PlayUntil>("play_until", &TimeRequest { time })?)
    }

    /// The topic on which the player publishes the state of its clock, if it does.
    pub fn state_topic(&self) -> Option<String> {
        let topic = format!("{}/clock_state", self.player.node.trim_end_matches('/'));
        let is_its = self.session.graph().has_publisher(&self.player.zid, &topic);
        is_its.then_some(topic)
    }

    /// Whether there is a connection to the network.
    pub fn has_path(&self) -> bool {
        self.session.has_path()
    }

    /// Whether a call failed because the player has left the network, to which there is a connection. What a lost
    /// connection had announced can be gone before the loss is known, so this looks for `patience`, and a player that
    /// is back meanwhile has not left.
    pub fn has_left(&self, error: &RequestError, patience: Duration) -> bool {
        if !error.is_gone() {
            return false;
        }
        let deadline = steady() + patience;
        loop {
            if !self.has_path() || self.is_present() {
                return false;
            }
            let left = deadline.saturating_duration_since(steady());
            if left.is_zero() {
                return true;
            }
            std::thread::park_timeout(left.min(LOOK_EVERY));
        }
    }

    /// Whether the player is on the ROS graph.
    fn is_present(&self) -> bool {
        let players = self.session.graph().players();
        players.contains(&self.player)
    }

    /// From now on all calls have this long, together. The first call of this counts.
    pub(super) fn end_within(&self, patience: Duration) -> Instant {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        *end.get_or_insert_with(|| steady() + patience)
    }

    /// How long to wait for a response now.
    fn patience(&self) -> Result<Duration, RequestError> {
        let end = *self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(end) = end else {
            return Ok(self.timeout);
        };
        let left = end.saturating_duration_since(steady());
        if left.is_zero() {
            Err(RequestError::TooLate)
        } else {
            Ok(left.min(self.timeout))
        }
    }

    /// Whether the player has the services of `bagplay_interfaces`.
    pub fn is_ours(&self) -> bool {
        self.hash(GetStatus::TYPE, "get_status").is_some()
    }

    /// Whether the player knows this form of a service that has two. Those of this program know both.
    fn has_form<S: Service>(&self, service: &str) -> bool {
        self.is_ours() || self.hash(S::TYPE, service).as_deref() == Some(S::HASH)
    }

    /// The type hash that the player announces for this service and ROS type.
    fn hash(&self, ros_type: &str, service: &str) -> Option<String> {
        let name = format!("{}/{service}", self.player.node);
        let dds_type = dds_type(ros_type)?;
        let graph = self.session.graph();
        graph.service_hash(&self.player, &name, &dds_type)
    }

    pub(super) fn call<S: Service>(
        &self,
        service: &'static str,
        request: &S::Request,
    ) -> Result<S::Response, RequestError> {
        let hash = self.offered_hash(S::TYPE, service)?;
        let caller = self.caller(S::TYPE, service, hash)?;
        Ok(caller.call::<S>(request, self.patience()?)?)
    }

    /// The same, in a form that the player is known to have.
    fn call_form<S: Service>(
        &self,
        service: &'static str,
        request: &S::Request,
    ) -> Result<S::Response, RequestError> {
        let caller = self.caller(S::TYPE, service, S::HASH.to_owned())?;
        Ok(caller.call::<S>(request, self.patience()?)?)
    }

    fn offered_hash(&self, ros_type: &str, service: &'static str) -> Result<String, RequestError> {
        let not_offered = || RequestError::NotOffered {
            node: self.player.node.clone(),
            service,
        };
        self.hash(ros_type, service).ok_or_else(not_offered)
    }

    fn caller(
        &self,
        ros_type: &str,
        service: &'static str,
        hash: String,
    ) -> Result<Arc<Caller>, WireError> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = match callers.entry((hash, service)) {
            Entry::Occupied(entry) => return Ok(Arc::clone(entry.get())),
            Entry::Vacant(entry) => entry,
        };
        let name = format!("{}/{service}", self.player.node);
        let caller = Caller::declare(self.session, ros_type, &name, &entry.key().0)?;
        Ok(Arc::clone(entry.insert(Arc::new(caller))))
    }
}

fn succeeded(success: bool, reason: &str) -> Result<(), RequestError> {
    success
        .then_some(())
        .ok_or_else(|| RequestError::Refused(reason.to_owned()))
}

pub(super) fn done(response: &Done) -> Result<(), RequestError> {
    succeeded(response.success, &response.message)
}

fn accepted(response: &Verdict) -> Result<(), RequestError> {
    succeeded(response.return_code == 0, &response.error_string)
}
