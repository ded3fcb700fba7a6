//! [`Parameters`]: rate and pause of a player, as parameters of `dynamic_reconfigure`.
//!
//! Their values are those of the player: a request is carried out as commands, and each change, whoever has made it,
//! is published. Values outside the range are clamped to it, as servers of `dynamic_reconfigure` do.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::messages::{
    CONFIG, CONFIG_DESCRIPTION, Change, MessageType, Values, config, description, read_change,
};
use crate::player::{Command, Pace, State, Status, Transport};
use crate::ros1::data::publication::{Advertised, Latching, Publication};
use crate::ros1::data::publications::Publications;
use crate::ros1::data::queue::QueueRules;
use crate::ros1::options::SlowSubscriber;
use crate::ros1::services::refusal::refusal;
use crate::time::Speed;

/// The topics, below the name of the node.
const TOPICS: [&str; 2] = ["parameter_descriptions", "parameter_updates"];
/// The most messages that wait for a subscriber: as many as servers of `dynamic_reconfigure` keep.
const MOST_MESSAGES: usize = 10;

/// The values with which a player begins if nothing else is said.
const USUAL: Values = Values {
    rate: 1.0,
    paused: false,
};

/// The parameters of a player.
#[derive(Debug)]
pub(crate) struct Parameters {
    player: Transport,
    updates: Arc<Publication>,
    /// The values that were sent last. Locked until they have been sent, so that the last ones are the present ones.
    told: Mutex<Option<Values>>,
}

/// The names of the topics of a node.
pub(crate) fn topic_names(node_name: &str) -> [String; 2] {
    TOPICS.map(|topic| format!("{node_name}/{topic}"))
}

impl Parameters {
    /// Adds the topics, which have to be registered afterwards, and publishes each change from now on.
    pub(crate) fn publish(
        node_name: &str,
        player: &Transport,
        (publications, rules): (&Publications, QueueRules),
    ) -> Arc<Self> {
        // The player's thread sends: it must not wait for a subscriber.
        let rules = QueueRules {
            slow_subscriber: SlowSubscriber::DropOldest,
            most_messages: MOST_MESSAGES,
            ..rules
        };
        let [described, updated] = topic_names(node_name);
        let add = |name: String, kind: MessageType| {
            let topic = Advertised {
                name,
                type_name: kind.name.to_owned(),
                md5: kind.md5.to_owned(),
                definition: Bytes::from_static(kind.definition.as_bytes()),
                latching: Latching::LastOfEach,
            };
            let publication = Arc::new(Publication::new(topic, Vec::new(), rules));
            publications.add(Arc::clone(&publication));
            publication
        };
        let least = Values {
            rate: in_range(f64::NEG_INFINITY).map_or(USUAL.rate, rate_of),
            paused: false,
        };
        let most = Values {
            rate: rate_of(Pace::Max),
            paused: true,
        };
        add(described, CONFIG_DESCRIPTION).send_own(&description(most, least, USUAL).into());
        let parameters = Arc::new(Self {
            player: player.clone(),
            updates: add(updated, CONFIG),
            told: Mutex::default(),
        });
        // The player keeps this function as long as it is there itself.
        let weak = Arc::downgrade(&parameters);
        player.on_change(Arc::new(move || {
            if let Some(parameters) = weak.upgrade() {
                parameters.tell();
            }
        }));
        parameters.tell();
        parameters
    }

    /// Carries out a request; the response has the values of all parameters.
    pub(crate) fn set(&self, request: &[u8]) -> Result<Vec<u8>, String> {
        let change = read_change(request).map_err(|error| error.to_string())?;
        let present = self.values().ok_or("the player has not started")?;
        for command in commands(change, present)? {
            if let Some(reason) = refusal(&self.player, self.player.ask(command)) {
                return Err(reason);
            }
        }
        // The player's thread has sent them already.
        Ok(config(self.values().unwrap_or(present)))
    }

    fn values(&self) -> Option<Values> {
        self.player.status().as_ref().map(values_of)
    }

    /// Sends the values if they have changed.
    fn tell(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let values = self.values();
        if let Some(values) = values.filter(|it| Some(*it) != *told) {
            self.updates.send_own(&config(values).into());
            *told = Some(values);
        }
    }
}

fn values_of(status: &Status) -> Values {
    Values {
        rate: rate_of(status.pace),
        paused: matches!(status.state, State::Paused | State::Ended | State::Stopped),
    }
}

/// Negative backwards, infinite for as fast as possible, 0 while another clock is followed.
fn rate_of(pace: Pace) -> f64 {
    match pace {
        Pace::At(speed) => speed.as_f64(),
        Pace::Max => f64::INFINITY,
        Pace::Follow => 0.0,
    }
}

/// The pace of a rate, clamped to what there is; `None` for NaN.
fn in_range(rate: f64) -> Option<Pace> {
    if rate == f64::INFINITY {
        Some(Pace::Max)
    } else {
        Speed::nearest(rate).map(Pace::At)
    }
}

/// What the player has to do. Clients may send all values, so only those that differ from the present ones are set.
fn commands(change: Change, present: Values) -> Result<Vec<Command>, String> {
    let rate = change.rate.filter(|it| it.total_cmp(&present.rate).is_ne());
    let pace = rate.map(|it| in_range(it).ok_or("the rate is not a number"));
    let pace = pace.transpose()?.map(Command::SetPace);
    let paused = change.paused.filter(|it| *it != present.paused);
    let (pause, play) = match paused {
        Some(true) => (Some(Command::Pause), None),
        Some(false) => (None, Some(Command::Play)),
        None => (None, None),
    };
    // Nothing is played at the old rate.
    Ok([pause, pace, play].into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(rate: f64) -> Command {
        Command::SetPace(Pace::At(Speed::from_f64(rate).unwrap()))
    }

    fn commands_of(rate: Option<f64>, paused: Option<bool>) -> Result<Vec<Command>, String> {
        commands(Change { rate, paused }, USUAL)
    }

    #[test]
    fn only_what_differs_is_set_and_nothing_is_played_at_the_old_rate() {
        assert_eq!(commands_of(None, None).unwrap(), []);
        assert_eq!(commands_of(Some(1.0), Some(false)).unwrap(), []);
        assert_eq!(
            commands_of(Some(2.0), Some(true)).unwrap(),
            [Command::Pause, speed(2.0)]
        );
        let change = Change {
            rate: Some(2.0),
            paused: Some(false),
        };
        let present = Values {
            rate: 0.0,
            paused: true,
        };
        assert_eq!(
            commands(change, present).unwrap(),
            [speed(2.0), Command::Play]
        );
        // A clock that is followed has no rate.
        let as_it_is = Change {
            rate: Some(0.0),
            paused: None,
        };
        assert_eq!(commands(as_it_is, present).unwrap(), []);
    }

    #[test]
    fn rates_are_clamped_and_infinity_is_as_fast_as_possible() {
        for (rate, expected) in [
            (f64::INFINITY, Command::SetPace(Pace::Max)),
            (5000.0, speed(1000.0)),
            (f64::NEG_INFINITY, speed(-1000.0)),
            (-1.5, speed(-1.5)),
            (0.0, speed(0.001)),
        ] {
            assert_eq!(commands_of(Some(rate), None).unwrap(), [expected], "{rate}");
        }
        let refused = commands_of(Some(f64::NAN), Some(true)).unwrap_err();
        assert_eq!(refused, "the rate is not a number");
    }
}
