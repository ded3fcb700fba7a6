//! [`Requests`]: what the screen asks the look-up for before a frame, one request of a kind at a time.

use super::Lookup;
use crate::bag::TopicId;
use crate::time::{Duration, Steady, Time, TimeRange};
use crate::tui::model::Model;
use crate::tui::pacing::{INTERVAL, Pacing};
use crate::tui::pictures::requests::{NextPictures, PictureRequests};
use crate::tui::update::Event;
use crate::tui::watch::pin::Pin;

/// How long a read of values for another part is waited for while playing.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the screen has asked the look-up for.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The messages of topics.
    messages: Pacing<TopicId>,
    /// The values of watched fields.
    values: Pacing<(Vec<Pin>, TimeRange)>,
    pictures: PictureRequests,
}

impl Requests {
    /// Takes note of an event that is an answer.
    pub(crate) fn answered(&mut self, event: &Event, now: Time<Steady>) {
        match event {
            Event::Lookup(result) => self.messages.answered(&result.topic, now),
            Event::Watched(values) => {
                let request = (values.pins.clone(), values.range);
                self.values.answered(&request, now);
            }
            Event::Pictures(_) => self.pictures.answered(now),
            _ => {}
        }
    }

    /// Requests what the model shows and does not know; returns when to call this again if it is too early for a
    /// request.
    pub(crate) fn send(
        &mut self,
        model: &Model,
        lookup: &Lookup,
        now: Time<Steady>,
    ) -> Option<Time<Steady>> {
        let message = self.send_message(model, lookup, now);
        let values = self.send_values(model, lookup, now);
        let pictures = match self.pictures.next(model, now) {
            NextPictures::Known => None,
            NextPictures::Request(request) => {
                lookup.pictures(request);
                None
            }
            NextPictures::At(time) => Some(time),
        };
        [message, values, pictures].into_iter().flatten().min()
    }

    /// Requests all pictures again: the terminal may have forgotten them.
    pub(crate) fn forget_pictures(&mut self, model: &mut Model) {
        self.pictures.forget();
        model.forget_pictures();
    }

    /// Whether a picture that the terminal draws itself is no longer in the same place. True once.
    pub(crate) fn have_pictures_moved(&mut self, model: &Model) -> bool {
        self.pictures.have_moved(model)
    }

    /// Requests the message that is to be shown; not again for the same topic before the answer.
    fn send_message(
        &mut self,
        model: &Model,
        lookup: &Lookup,
        now: Time<Steady>,
    ) -> Option<Time<Steady>> {
        let (topic, at) = model.wanted_message()?;
        let pending = self.messages.pending();
        if pending.is_some_and(|(requested, _)| *requested == topic) {
            return None;
        }
        let next = self.messages.next(model.is_moving());
        if next > now {
            return Some(next);
        }
        lookup.find_message(topic, at);
        self.messages.sent(topic, now);
        None
    }

    /// Requests the values that are to be shown; not again before the answer, unless the pending read is for another
    /// part of the recording.
    fn send_values(
        &mut self,
        model: &Model,
        lookup: &Lookup,
        now: Time<Steady>,
    ) -> Option<Time<Steady>> {
        let Some((pins, range)) = model.wanted_values() else {
            // A read whose values are no longer wanted ends.
            if let Some((_, range)) = self.values.cancelled() {
                lookup.watch(Vec::new(), range);
            }
            return None;
        };
        let is_moving = model.is_moving();
        let here = model.playhead();
        let shown = model.view_range().range().intersection(range);
        let is_pending = self.values.pending().is_some_and(|((asked, of), since)| {
            let is_for_this = shown.is_none_or(|shown| of.intersection(shown) == Some(shown));
            // A read that is ended again and again never has a result.
            let patience = if is_moving { PATIENCE } else { INTERVAL };
            let is_recent = now.saturating_since(*since) < patience;
            *asked == pins && (is_for_this || is_recent || (is_moving && of.contains(here)))
        });
        if is_pending {
            // It is looked at again when the answer comes, or with the next frame.
            return None;
        }
        let next = if model.is_watched_known(here) {
            self.values.next(is_moving)
        } else {
            self.values.soon()
        };
        if next > now {
            return Some(next);
        }
        lookup.watch(pins.clone(), range);
        self.values.sent((pins, range), now);
        None
    }
}
