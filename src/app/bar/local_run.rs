//! [`LocalRun`]: a run of this process, as the bar controls it.

use std::convert::Infallible;
use std::time::Duration;

use bagplay::bag::Bag;
use bagplay::cli::Exit;
use bagplay::marks::Mark;
use bagplay::player::{Running, Transport};
use bagplay::time::{Ros, Steady, Time, TimeRange};
use bagplay::tui::{CutRequest, Event, EventSink, LogLine, Model, Severity};
use bagplay::wire::WireEvent;
use crossbeam_channel::Receiver;
use jiff::Timestamp;

use super::bar_model;
use super::cutting::Cutting;
use super::host::Host;
use super::saved::resume;
use crate::app::network::NetworkEvent;
use crate::app::network::mark_book::{MarkBook, MarkChange};
use crate::app::supervise::{Ended, Run, Supervisor};

const SECOND: i64 = 1_000_000_000;

/// A run, its supervisor, and its marks.
pub(crate) struct LocalRun<'a, O> {
    run: &'a Run<'a>,
    running: &'a Running<O>,
    bag: &'a Bag,
    events: Receiver<NetworkEvent>,
    supervisor: Supervisor<'a>,
    marks: &'a MarkBook,
    cutting: Cutting,
    /// When the time that is left for awaited subscribers is shown next.
    counts_down_at: Time<Steady>,
}

impl<'a, O> LocalRun<'a, O> {
    /// Supervises a run; `marks` are those of its recordings.
    pub(crate) fn new(
        run: &'a Run<'a>,
        running: &'a Running<O>,
        bag: &'a Bag,
        marks: &'a MarkBook,
    ) -> Self {
        Self {
            run,
            running,
            bag,
            events: run.network.events(),
            supervisor: Supervisor::new(run),
            marks,
            cutting: Cutting::default(),
            counts_down_at: Time::MIN,
        }
    }

    fn change_marks(&self, change: MarkChange) {
        if let Err(reason) = self.marks.change(change) {
            tracing::warn!("this mark is not saved: {reason}");
        }
    }

    /// How the run ended.
    pub(crate) fn ended(self) -> Ended {
        self.supervisor.ended()
    }
}

impl<O> Host for LocalRun<'_, O> {
    fn command_line(&self, model: &Model) -> Option<String> {
        resume::command(model)
    }

    fn cut(&mut self, request: CutRequest, told: EventSink) {
        self.cutting.begin(self.bag, request, told);
    }

    fn remember(&mut self, position: Time<Ros>) {
        resume::remember(self.bag, position);
        let start = self.bag.range().map_or(position, TimeRange::start);
        let since = position.saturating_since(start);
        tracing::info!("the next run of this recording begins at +{since}");
    }

    fn done(&self) -> &Receiver<Infallible> {
        self.running.done()
    }

    fn signals(&self) -> &Receiver<Exit> {
        &self.run.signals
    }

    fn network_events(&self) -> &Receiver<NetworkEvent> {
        &self.events
    }

    fn transport(&self) -> &Transport {
        &self.run.transport
    }

    fn first_events(&self) -> Vec<Event> {
        let subscribers = bar_model::subscribers(self.run, self.bag);
        let followed = bar_model::followed(self.run);
        let awaited = bar_model::awaited(self.supervisor.waiting());
        [subscribers, awaited].into_iter().chain(followed).collect()
    }

    fn take(&mut self, happened: &[NetworkEvent]) -> Vec<Event> {
        self.supervisor.take(happened);
        let joins = happened.iter().filter_map(joined);
        joins
            .chain([
                bar_model::subscribers(self.run, self.bag),
                bar_model::awaited(self.supervisor.waiting()),
            ])
            .collect()
    }

    fn has_moved(&mut self) {
        self.supervisor.has_moved();
    }

    fn deadline(&self) -> Option<Time<Steady>> {
        let waiting = self.supervisor.waiting();
        let counts_down = waiting.map(|_| self.counts_down_at);
        let deadlines = [self.supervisor.deadline(), counts_down];
        deadlines.into_iter().flatten().min()
    }

    fn look(&mut self) -> Vec<Event> {
        self.supervisor.look();
        let waiting = self.supervisor.waiting();
        if let Some(waiting) = &waiting {
            // When the next whole second is left.
            let nanos = waiting.left.as_nanos() % SECOND;
            let until =
                bagplay::time::Duration::from_nanos(if nanos == 0 { SECOND } else { nanos });
            self.counts_down_at = self.run.transport.now().saturating_add(until);
        }
        let awaited = bar_model::awaited(waiting);
        let followed = bar_model::followed(self.run);
        followed.into_iter().chain([awaited]).collect()
    }

    fn add_mark(&mut self, mark: Mark) {
        self.change_marks(MarkChange::Add(mark));
    }

    fn remove_mark(&mut self, time: Time<Ros>) {
        self.change_marks(MarkChange::Remove(time));
    }

    fn finish_marks(&mut self, timeout: Duration) {
        self.marks.finish(timeout);
    }

    fn interrupt(&mut self, exit: Exit) {
        self.supervisor.interrupt(exit);
    }

    fn leave(&mut self) {
        self.supervisor.leave();
    }

    fn exit(&self) -> Exit {
        self.supervisor.exit()
    }

    fn is_ending(&self) -> bool {
        self.supervisor.is_ending()
    }

    fn is_late(&self) -> bool {
        self.supervisor.is_late()
    }
}

/// The event log of the bar also shows subscribers that join and leave.
fn joined(event: &NetworkEvent) -> Option<Event> {
    match event.event {
        WireEvent::SubscriberJoined { .. }
        | WireEvent::SubscriberLeft { .. }
        | WireEvent::ClockSubscriber { .. } => Some(Event::Log(LogLine {
            at: Timestamp::now(),
            severity: Severity::Info,
            text: event.text(None),
        })),
        _ => None,
    }
}
