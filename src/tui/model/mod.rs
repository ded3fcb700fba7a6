//! [`Model`]: everything that the screen shows, as plain values.
//!
//! `update/` changes it when input arrives and returns the effects to carry out ([`Effect`]); `view/` draws it. Neither
//! uses a terminal or reads a clock.

pub(super) mod found;
pub(super) mod glyphs;
pub(super) mod layers;
pub(super) mod layout;
pub(super) mod log;
pub(super) mod meters;
pub(super) mod parts;
pub(super) mod theme;
pub(super) mod time_format;
pub(super) mod timeline;
pub(super) mod watch;

use std::collections::HashSet;

use jiff::Timestamp;
use ratatui::layout::Position;

use crate::bag::{LookUp, Topic, TopicId};
use crate::marks::Mark;
use crate::player::{Pace, PlayedRange, RunState, State, Status, TopicCounts};
use crate::time::{AtEnd, Duration, Ros, Steady, Time, TimeRange};
use crate::tui::input::key::Key;
use crate::tui::input::prompt_history::PromptHistory;
use crate::tui::pictures::found::FoundPictures;
use found::FoundMessages;
use layers::{Layer, Prompt};
use layout::{Detail, Layout, Size, TableRows};
use log::EventLog;
use meters::Meters;
use parts::{
    Appearance, Awaited, Drag, Effect, Facts, Followed, Lit, SeekInput, Settings, Subscribers,
    TableOrder, Target, TopicRow, Undo,
};
use timeline::ab_loop::AbLoop;
use timeline::axis::ZoomWindow;
use timeline::damaged::DamagedParts;
use timeline::holes::Holes;
use timeline::lane::Lane;
use watch::Watch;

/// If the player has not answered for longer than this, its present pace is shown again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Everything that is shown.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) facts: Facts,
    pub(super) appearance: Appearance,
    pub(super) size: Size,
    pub(super) detail: Detail,
    pub(super) now: Time<Steady>,
    pub(super) status: Option<Status>,
    /// The state of the run when its status became known.
    pub(super) begun: Option<RunState>,
    pub(super) ahead: Option<Time<Ros>>,
    pub(super) look_up: Option<LookUp>,
    pub(super) counts: Vec<TopicCounts>,
    pub(super) meters: Meters,
    pub(super) subscribers: Subscribers,
    /// The subscribers that are waited for, if there are some.
    pub(super) awaited: Option<Awaited>,
    /// The clock that playback follows, if it follows one.
    pub(super) followed: Option<Followed>,
    /// A player in another process does not answer.
    pub(super) is_silent: bool,
    pub(super) rows: Vec<TopicRow>,
    pub(super) order: TableOrder,
    pub(super) lit: Option<Lit>,
    pub(super) filter: String,
    /// The selected row among the rows that are shown, and the first row on the screen.
    pub(super) selected: usize,
    pub(super) top: usize,
    pub(super) log: EventLog,
    pub(super) marks: Vec<Mark>,
    /// The mark that was set last, and when.
    pub(super) new_mark: Option<(Time<Ros>, Timestamp)>,
    pub(super) window: ZoomWindow,
    pub(super) overview: Option<Lane>,
    /// The density of a close-up, and the range that was requested last.
    pub(super) close_up: Option<Lane>,
    pub(super) requested_close_up: Option<TimeRange>,
    pub(super) holes: Holes,
    pub(super) damaged: DamagedParts,
    pub(super) watch: Watch,
    /// The pictures that were read last.
    pub(super) pictures: Option<FoundPictures>,
    /// Warnings and errors of nodes.
    pub(super) alerts: FoundMessages,
    /// The messages of the last search.
    pub(super) hits: FoundMessages,
    /// What is played, with the changes that were requested.
    pub(super) played: PlayedRange,
    /// The clock that is served, and the gaps that are skipped.
    pub(super) settings: Settings,
    /// The A of an A–B loop whose B is not set yet.
    pub(super) loop_start: Option<Time<Ros>>,
    pub(super) target: Option<Target>,
    pub(super) last_seek_number: u64,
    /// The pace that the player was asked for, and when; `None` once the player has it.
    pub(super) requested_pace: Option<(Pace, Time<Steady>)>,
    pub(super) history: Vec<Undo>,
    /// Whether playback was paused, as far as is known, before the run ended.
    pub(super) was_paused: bool,
    /// The keys without an action that were explained.
    pub(super) explained: HashSet<Key>,
    pub(super) last_seek: Option<Timestamp>,
    pub(super) last_input: Option<SeekInput>,
    pub(super) drag: Option<Drag>,
    /// Where the mouse was last, as far as that is shown.
    pub(super) pointer: Option<Position>,
    pub(super) layer: Layer,
    /// The input line with the name of the cut that was requested, until something else is pressed.
    pub(super) sent_cut: Option<Prompt>,
    pub(super) typed: PromptHistory,
    pub(super) effects: Vec<Effect>,
}

impl Model {
    /// A model before any event.
    pub fn new(
        facts: Facts,
        appearance: Appearance,
        rows: Vec<TopicRow>,
        marks: Vec<Mark>,
        size: Size,
    ) -> Self {
        let (whole, played) = (facts.recording, facts.played);
        let order = TableOrder {
            unsorted: rows.iter().map(|row| row.id).collect(),
            by: None,
            sorted_at: Time::MIN,
        };
        Self {
            settings: Settings::of(&facts),
            facts,
            appearance,
            size,
            detail: Detail::Full,
            now: Time::MIN,
            status: None,
            begun: None,
            ahead: None,
            look_up: None,
            counts: Vec::new(),
            meters: Meters::default(),
            subscribers: Subscribers::default(),
            awaited: None,
            followed: None,
            is_silent: false,
            rows,
            order,
            lit: None,
            filter: String::new(),
            selected: 0,
            top: 0,
            log: EventLog::default(),
            marks,
            new_mark: None,
            window: ZoomWindow::new(whole),
            overview: None,
            close_up: None,
            requested_close_up: None,
            holes: Holes::default(),
            damaged: DamagedParts::default(),
            watch: Watch::default(),
            pictures: None,
            alerts: FoundMessages::default(),
            hits: FoundMessages::default(),
            played,
            loop_start: None,
            target: None,
            last_seek_number: 0,
            requested_pace: None,
            history: Vec::new(),
            was_paused: false,
            explained: HashSet::new(),
            last_seek: None,
            last_input: None,
            drag: None,
            pointer: None,
            layer: Layer::None,
            sent_cut: None,
            typed: PromptHistory::default(),
            effects: Vec::new(),
        }
    }

    /// Shows a part of this length around the start of the played range.
    #[must_use]
    pub fn with_window(mut self, span: Duration) -> Self {
        while self.window.range().duration() > span {
            let closer = self.window.zoomed(1, self.facts.played.current().0.start());
            if closer == self.window {
                break;
            }
            self.window = closer;
        }
        self
    }

    /// Whether there is a recording; a clock server has none.
    pub(super) fn has_recording(&self) -> bool {
        !self.facts.topics.is_empty()
    }

    /// Updates the state of the player, its counts and its read-ahead.
    pub fn observe(
        &mut self,
        now: Time<Steady>,
        status: Option<Status>,
        counts: Vec<TopicCounts>,
        ahead: Option<Time<Ros>>,
    ) {
        (self.now, self.status, self.counts) = (now, status, counts);
        let Some(status) = status else {
            return;
        };
        if self.begun.is_none() {
            self.begun = self.run_state();
        }
        if status.state != State::Stopped {
            self.was_paused = status.state == State::Paused;
        }
        self.target = self.target.filter(|target| {
            target
                .seek_number
                .is_none_or(|seek_number| status.seeks < seek_number)
        });
        self.requested_pace = self.requested_pace.filter(|(pace, since)| {
            status.pace != *pace && now.saturating_since(*since) < ANSWER_TIMEOUT
        });
        // Until a seek has been processed, the read-ahead is still at the old position.
        self.ahead = ahead.filter(|_| self.target.is_none());
        if self.state() == State::Playing && !self.is_silent {
            let position = status.segment.position(now);
            self.meters
                .sample(now, status.segment.generation(), position, &self.counts);
        } else {
            self.meters.clear();
        }
        self.sort_again();
        let window = self
            .window
            .following(self.playhead(), status.segment.speed().is_reverse());
        self.show_window(window);
    }

    /// Updates the look-up of latched messages for which playback waits, if it does.
    pub fn set_look_up(&mut self, look_up: Option<LookUp>) {
        self.look_up = look_up;
    }

    /// Takes over what the player plays, which another client may have changed. To be called when all commands of this
    /// screen have taken effect.
    pub fn adopt_played(&mut self, played: PlayedRange) {
        self.played = played;
        if self.has_ab_loop() {
            self.loop_start = None;
        }
    }

    /// Updates which topics are muted, by any client.
    pub fn set_muted(&mut self, is_muted: impl Fn(TopicId) -> bool) {
        for row in &mut self.rows {
            row.is_muted = is_muted(row.id);
        }
    }

    /// Reports that a seek to `to` was sent to the player.
    pub fn seek_sent(&mut self, to: Time<Ros>) {
        let taken = self.status.map_or(0, |status| status.seeks);
        self.last_seek_number = self.last_seek_number.max(taken).saturating_add(1);
        self.played = self.played.reaching(to, self.facts.recording);
        if let Some(target) = self.target.as_mut().filter(|target| target.to == to) {
            target.seek_number = Some(self.last_seek_number);
        }
    }

    /// The effects to carry out, in order; of successive seeks only the last.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The playback position, or the target of the last seek.
    pub fn playhead(&self) -> Time<Ros> {
        match (self.target, &self.status) {
            (Some(target), _) => target.to,
            (None, Some(status)) => status.segment.position(self.now),
            (None, None) => self.facts.played.current().0.start(),
        }
    }

    /// Whether playback follows another clock, which alone moves it then.
    pub(super) fn is_following(&self) -> bool {
        self.pace() == Pace::Follow
    }

    /// Whether playback runs backwards.
    pub(super) fn is_reverse(&self) -> bool {
        self.status
            .is_some_and(|status| status.segment.speed().is_reverse())
    }

    /// The A–B loop, as far as it is set.
    pub(super) fn ab_loop(&self) -> AbLoop {
        match (self.played.ab_loop, self.loop_start) {
            (Some(range), _) => AbLoop::Ab(range),
            (None, Some(a)) => AbLoop::A(a),
            (None, None) => AbLoop::None,
        }
    }

    /// Whether all that is played is played again at its end.
    pub(super) fn is_whole_looped(&self) -> bool {
        self.played.at_end == AtEnd::Loop
    }

    /// Whether it loops from A to B.
    pub(super) fn has_ab_loop(&self) -> bool {
        self.played.ab_loop.is_some()
    }

    /// The state of playback.
    pub(super) fn state(&self) -> State {
        match self.status {
            // At unlimited rate there is always a message that must be read first; that counts as playing.
            Some(Status {
                pace: Pace::Max,
                state: State::Starved,
                ..
            }) if self.look_up.is_none() => State::Playing,
            Some(status) => status.state,
            None => State::Starved,
        }
    }

    /// Whether the screen changes without input.
    pub fn is_moving(&self) -> bool {
        !self.is_silent && matches!(self.state(), State::Playing | State::Stalled)
    }

    /// The rows whose names contain the filter's text.
    pub(super) fn shown_rows(&self) -> impl Iterator<Item = &TopicRow> {
        let filter = self.filter.to_lowercase();
        self.rows
            .iter()
            .filter(move |row| row.name.to_lowercase().contains(&filter))
    }

    /// The selected row.
    pub(super) fn selected_row(&self) -> Option<&TopicRow> {
        self.shown_rows().nth(self.selected)
    }

    /// The loop, or the one that a release of the mouse button would set now.
    pub(super) fn shown_ab_loop(&self) -> AbLoop {
        match self.drag {
            Some(Drag::Range { from, to, .. }) if from != to => {
                AbLoop::Ab(TimeRange::between(from, to))
            }
            _ => self.ab_loop(),
        }
    }

    /// The layout of the screen.
    pub(super) fn layout(&self) -> Layout {
        let rows = TableRows {
            topics: self.rows.len(),
            pins: self.watch.height(),
            log: self.log.rows(self.size.width),
        };
        Layout::new(self.size, self.window.is_zoomed(), rows)
    }

    /// Whether a subscriber of a topic is waited for.
    pub(super) fn is_awaited(&self, id: TopicId) -> bool {
        let awaited = self.awaited.as_ref();
        awaited.is_some_and(|awaited| awaited.topics.contains(&id))
    }

    pub(super) fn topic(&self, id: TopicId) -> Option<&Topic> {
        self.facts.topics.get(id.index())
    }
}
