//! [`PlayOutput`]: the output of the program, to all wires of a run, and beside them to viewers.

use bagplay::bag::{Message, TopicId};
use bagplay::output::{Delivery, Occasion, Output};
use bagplay::time::{Duration, Ros, Segment, Time};
#[cfg(feature = "foxglove")]
use bagplay::viewer::ViewerOutput;

use super::wires::Sink;

/// The output of the program. With no wire it discards everything.
pub(crate) struct PlayOutput {
    wires: Vec<WireSink>,
    #[cfg(feature = "foxglove")]
    viewers: Option<ViewerOutput>,
}

/// The output to one wire.
pub(super) struct WireSink {
    sink: Sink,
    /// By topic, whether the wire cannot carry it; topics after the last one are carried.
    leaves_out: Vec<bool>,
}

impl WireSink {
    /// To a wire that carries all topics but these.
    pub(super) fn new(sink: Sink, left_out: impl Iterator<Item = TopicId>) -> Self {
        let mut leaves_out = Vec::new();
        for topic in left_out {
            let length = leaves_out.len().max(topic.index() + 1);
            leaves_out.resize(length, false);
            leaves_out[topic.index()] = true;
        }
        Self { sink, leaves_out }
    }

    fn carries(&self, topic: TopicId) -> bool {
        self.leaves_out.get(topic.index()) != Some(&true)
    }
}

impl Output for PlayOutput {
    fn segment(&mut self, segment: &Segment) {
        self.each(|wire| wire.sink.segment(segment));
        #[cfg(feature = "foxglove")]
        if let Some(viewers) = &mut self.viewers {
            viewers.segment(segment);
        }
    }
    fn clock(&mut self, time: Time<Ros>) {
        self.each(|wire| wire.sink.clock(time));
    }
    fn serve_clock(&mut self, period: Option<Duration>) -> bool {
        if self.wires.is_empty() {
            return period.is_some();
        }
        let mut is_served = false;
        // All wires are told, whether or not an earlier one serves the clock.
        self.each(|wire| is_served |= wire.sink.serve_clock(period));
        is_served
    }
    /// Sends a message on each wire that carries its topic. It counts as the first of them that takes it has sent it;
    /// as sent, if only viewers receive the topic.
    fn message(&mut self, message: &Message, occasion: Occasion) -> Delivery {
        let mut of_all = None;
        self.each(|wire| {
            if wire.carries(message.topic) {
                let delivery = wire.sink.message(message, occasion);
                if !of_all.as_ref().is_some_and(Delivery::is_sent) {
                    of_all = Some(delivery);
                }
            }
        });
        #[cfg(feature = "foxglove")]
        if let Some(viewers) = &mut self.viewers {
            viewers.message(message, occasion);
        }
        of_all.unwrap_or(Delivery::Sent)
    }
    fn finish(&mut self) {
        self.each(|wire| wire.sink.finish());
    }
}

impl PlayOutput {
    /// Calls each wire. The others know meanwhile that the thread of the player may wait.
    fn each(&mut self, mut call: impl FnMut(&mut WireSink)) {
        let is_alone = self.wires.len() < 2;
        for at in 0..self.wires.len() {
            if is_alone {
                call(&mut self.wires[at]);
                continue;
            }
            self.tell_others(at, true);
            call(&mut self.wires[at]);
            self.tell_others(at, false);
        }
    }

    fn tell_others(&mut self, at: usize, is_waiting: bool) {
        for (other, wire) in self.wires.iter_mut().enumerate() {
            if other != at {
                wire.sink.waits_elsewhere(is_waiting);
            }
        }
    }

    /// To these wires.
    pub(super) fn to(wires: Vec<WireSink>) -> Self {
        Self {
            wires,
            #[cfg(feature = "foxglove")]
            viewers: None,
        }
    }

    /// The outputs to the wires, in their order.
    pub(super) fn into_sinks(self) -> Vec<Sink> {
        self.wires.into_iter().map(|wire| wire.sink).collect()
    }

    /// Sends all topics to viewers, too.
    #[cfg(feature = "foxglove")]
    pub(super) fn with_viewers(self, viewers: ViewerOutput) -> Self {
        Self {
            viewers: Some(viewers),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use bagplay::bag::{Bag, Direction, Selection, StartAt};
    use bytes::Bytes;

    use super::*;

    /// Returns `takes` for each message, and records its topic.
    struct Fake {
        takes: Delivery,
        has_clock: bool,
        got: Arc<Mutex<Vec<TopicId>>>,
    }

    impl Output for Fake {
        fn segment(&mut self, _: &Segment) {}
        fn clock(&mut self, _: Time<Ros>) {}
        fn serve_clock(&mut self, period: Option<Duration>) -> bool {
            self.has_clock && period.is_some()
        }
        fn message(&mut self, message: &Message, _: Occasion) -> Delivery {
            self.got.lock().unwrap().push(message.topic);
            self.takes.clone()
        }
        fn finish(&mut self) {}
    }

    type Got = Arc<Mutex<Vec<TopicId>>>;

    fn wire(takes: Delivery, left_out: &[u32]) -> (WireSink, Got) {
        let got = Got::default();
        let fake = Fake {
            has_clock: takes == Delivery::Sent,
            takes,
            got: Arc::clone(&got),
        };
        let left_out = left_out.iter().copied().map(TopicId);
        (WireSink::new(Box::new(fake), left_out), got)
    }

    fn any_message() -> Message {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/demo.mcap");
        let bag = Bag::open(&[demo]).unwrap();
        let start = StartAt::At(bag.range().unwrap().start());
        let mut cursor = bag.cursor(&Selection::all(&bag), start, Direction::Forward);
        cursor.next().unwrap().unwrap()
    }

    #[test]
    fn a_message_counts_as_the_first_wire_that_takes_it_has_sent_it() {
        let transcoded = || Delivery::Transcoded(Bytes::from_static(b"x"));
        let message = any_message();
        let topic = message.topic.0;
        for (wires, due) in [
            (vec![], Delivery::Sent),
            (vec![wire(Delivery::Dropped, &[])], Delivery::Dropped),
            (
                vec![wire(Delivery::Dropped, &[]), wire(transcoded(), &[])],
                transcoded(),
            ),
            (
                vec![wire(transcoded(), &[]), wire(Delivery::Sent, &[])],
                transcoded(),
            ),
            (
                vec![wire(Delivery::Sent, &[topic]), wire(Delivery::Dropped, &[])],
                Delivery::Dropped,
            ),
            // Only viewers receive it.
            (vec![wire(Delivery::Dropped, &[topic])], Delivery::Sent),
        ] {
            let (sinks, got): (Vec<_>, Vec<_>) = wires.into_iter().unzip();
            let carrying: Vec<bool> = sinks.iter().map(|it| it.carries(message.topic)).collect();
            let mut out = PlayOutput::to(sinks);
            assert_eq!(out.message(&message, Occasion::Due), due);
            let got = got.iter().map(|got| !got.lock().unwrap().is_empty());
            assert_eq!(got.collect::<Vec<_>>(), carrying);
        }
    }

    /// Records its calls of `message` and `waits_elsewhere`, each as one of these words.
    struct Told(Arc<Mutex<Vec<&'static str>>>, [&'static str; 3]);

    impl Output for Told {
        fn segment(&mut self, _: &Segment) {}
        fn clock(&mut self, _: Time<Ros>) {}
        fn serve_clock(&mut self, _: Option<Duration>) -> bool {
            true
        }
        fn message(&mut self, _: &Message, _: Occasion) -> Delivery {
            self.0.lock().unwrap().push(self.1[0]);
            Delivery::Sent
        }
        fn waits_elsewhere(&mut self, is_waiting: bool) {
            let what = self.1[if is_waiting { 1 } else { 2 }];
            self.0.lock().unwrap().push(what);
        }
        fn finish(&mut self) {}
    }

    #[test]
    fn other_wires_know_when_the_thread_of_the_player_may_wait() {
        let message = any_message();
        let told = Arc::default();
        let wire = |words| {
            let sink = Told(Arc::clone(&told), words);
            WireSink::new(Box::new(sink), std::iter::empty())
        };
        let (a, b) = (["a", "a waits", "a goes on"], ["b", "b waits", "b goes on"]);
        PlayOutput::to(vec![wire(a)]).message(&message, Occasion::Due);
        assert_eq!(*told.lock().unwrap(), ["a"]);
        told.lock().unwrap().clear();
        PlayOutput::to(vec![wire(a), wire(b)]).message(&message, Occasion::Due);
        assert_eq!(
            *told.lock().unwrap(),
            ["b waits", "a", "b goes on", "a waits", "b", "a goes on"]
        );
    }

    #[test]
    fn each_wire_is_told_how_the_clock_is_served() {
        let period = Some(Duration::from_millis(10));
        let serves = |takes: &[Delivery]| {
            let sinks = takes.iter().map(|takes| wire(takes.clone(), &[]).0);
            PlayOutput::to(sinks.collect()).serve_clock(period)
        };
        assert!(serves(&[]));
        assert!(serves(&[Delivery::Dropped, Delivery::Sent]));
        assert!(!serves(&[Delivery::Dropped]));
    }
}
