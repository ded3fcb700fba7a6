//! Requests the density of what the bar shows, and keeps the answers.

use crate::time::TimeRange;
use crate::tui::model::Model;
use crate::tui::model::parts::Effect;
use crate::tui::model::timeline::axis::ZoomWindow;
use crate::tui::model::timeline::lane::Lane;

impl Model {
    /// The bar shows another range; requests its density.
    pub(in crate::tui) fn show_window(&mut self, window: ZoomWindow) {
        if window == self.window {
            return;
        }
        self.window = window;
        self.requested_close_up = window
            .is_zoomed()
            .then(|| window.with_next(self.is_reverse()));
        match self.requested_close_up {
            Some(range) => self.outline(range),
            None if self.is_overview_whole() => self.close_up = None,
            None => self.outline(window.range()),
        }
    }

    /// The best known density of what the bar shows: the overview until a close-up has been read.
    pub(in crate::tui) fn lane(&self) -> Option<&Lane> {
        let shown = self.window.range();
        let covers = |lane: &&Lane| lane.range.intersection(shown) == Some(shown);
        let close_up = self.close_up.as_ref().filter(covers);
        close_up
            .filter(|_| self.window.is_zoomed())
            .or(self.overview.as_ref())
    }

    /// Requests a density; the previous request is cancelled.
    fn outline(&mut self, range: TimeRange) {
        self.effects
            .retain(|effect| !matches!(effect, Effect::Outline(_)));
        self.effects.push(Effect::Outline(range));
    }

    fn is_overview_whole(&self) -> bool {
        self.overview.as_ref().is_some_and(|lane| lane.is_whole)
    }

    /// Stores a density, of the whole recording or of the window.
    pub(in crate::tui) fn take_lane(&mut self, lane: Lane) {
        if lane.range == self.facts.recording {
            self.overview = Some(lane);
        } else if Some(lane.range) == self.requested_close_up {
            if lane.is_whole && !self.is_overview_whole() {
                // The request for the close-up has cancelled it.
                self.outline(self.facts.recording);
            }
            // A partial close-up shows less than the overview.
            if lane.is_whole || self.overview.is_none() {
                self.close_up = Some(lane);
            }
        }
    }
}
