//! Handles mouse events: seeks, loops, selections, scrolling.

use jiff::Timestamp;
use ratatui::layout::Position;
use ratatui::layout::Rect;

use super::NO_ANSWER;
use crate::time::{Duration, Ros, Time};
use crate::tui::input::bindings::Action;
use crate::tui::input::mouse::{Gesture, Mouse};
use crate::tui::model::Model;
use crate::tui::model::layers::Layer;
use crate::tui::model::layout::Layout;
use crate::tui::model::parts::{Drag, Hover, SeekInput};
use crate::tui::model::timeline::axis::Axis;
use crate::tui::terminal::mouse_reports::MouseReports;
use crate::tui::view;

/// How far one step of the wheel seeks.
const WHEEL: Duration = Duration::from_secs(1);

impl Model {
    pub(crate) fn handle_mouse(&mut self, mouse: Mouse, stamp: Timestamp) {
        if !self.appearance.has_mouse {
            // It was reported before the terminal got the mouse.
            return;
        }
        self.pointer = Some(mouse.position());
        match mouse.gesture {
            Gesture::Wheel(_) => self.begin_input(Some(SeekInput::Wheel)),
            Gesture::Press | Gesture::RangePress => self.begin_input(None),
            Gesture::Drag | Gesture::Release | Gesture::Move => {}
        }
        if self.is_silent && self.would_move_playback(mouse) {
            return self.log_info(NO_ANSWER, stamp);
        }
        if self.is_following() && self.would_move_playback(mouse) {
            return self.log_following(stamp);
        }
        match (mouse.gesture, self.drag) {
            (Gesture::Drag, Some(Drag::Scrub(axis))) => self.jump(axis.time(mouse.column), stamp),
            (Gesture::Drag, Some(Drag::Range { axis, from, .. })) => {
                let to = axis.time(mouse.column);
                self.drag = Some(Drag::Range { axis, from, to });
            }
            (Gesture::Drag, None) => {}
            // No button is pressed: the terminal may not have reported that it was released.
            (Gesture::Move, _) => self.drag = None,
            (Gesture::Release, drag) => {
                self.drag = None;
                if let Some(Drag::Range { axis, from, .. }) = drag {
                    self.end_range(from, axis.time(mouse.column), stamp);
                }
            }
            (Gesture::Wheel(turn), _) => self.wheel(turn, mouse, stamp),
            (Gesture::Press | Gesture::RangePress, _) => {
                // The terminal may not have reported that the button was released.
                self.drag = None;
                if !self.is_covered(mouse) {
                    self.begin_drag_or_click(mouse, stamp);
                }
            }
        }
    }

    /// Whether the mouse seeks, or begins to. A drag that began before it was not allowed to goes on.
    fn would_move_playback(&self, mouse: Mouse) -> bool {
        match mouse.gesture {
            Gesture::Press | Gesture::RangePress => {
                !self.is_covered(mouse) && self.axis_at(mouse.position()).is_some()
            }
            Gesture::Wheel(_) => {
                let Layout { table, watch, .. } = self.layout();
                let scrolls = is_in(watch, mouse) && view::hidden_plots(self) > 0;
                !self.is_covered(mouse) && !is_in(table, mouse) && !scrolls
            }
            Gesture::Drag | Gesture::Release | Gesture::Move => false,
        }
    }

    fn begin_drag_or_click(&mut self, mouse: Mouse, stamp: Timestamp) {
        if mouse.gesture == Gesture::Press {
            self.press_at(mouse, stamp);
        } else if let Some(axis) = self.axis_at(mouse.position()) {
            let from = axis.time(mouse.column);
            let to = from;
            self.drag = Some(Drag::Range { axis, from, to });
        }
    }

    fn press_at(&mut self, mouse: Mouse, stamp: Timestamp) {
        if let Some(axis) = self.axis_at(mouse.position()) {
            self.drag = Some(Drag::Scrub(axis));
            self.seek(axis.time(mouse.column), stamp);
            return;
        }
        let Layout { table, footer, .. } = self.layout();
        if is_in(footer, mouse) {
            if let Some(action) = view::footer_action(self, mouse.column) {
                self.perform(action, stamp);
            }
            return;
        }
        if let Some(by) = view::head_at(self, mouse.position()) {
            self.sort_by(by, stamp);
        } else if is_in(table, mouse) {
            let row = self.top + usize::from(mouse.row - table.y);
            if row >= self.shown_rows().count() {
                return;
            }
            if row == self.selected {
                self.perform(Action::Show, stamp);
            }
            self.selected = row;
        }
    }

    fn wheel(&mut self, turn: i8, mouse: Mouse, stamp: Timestamp) {
        if self.is_covered(mouse) || is_in(self.layout().table, mouse) {
            self.perform(Action::Move(turn), stamp);
            return;
        }
        if is_in(self.layout().watch, mouse) && view::hidden_plots(self) > 0 {
            return self.scroll_plots(turn.into(), stamp);
        }
        let by = WHEEL.saturating_mul(turn.into());
        self.seek(self.playhead().saturating_add(by), stamp);
    }

    fn end_range(&mut self, from: Time<Ros>, to: Time<Ros>, stamp: Timestamp) {
        if from != to {
            self.loop_between(from, to, stamp);
        } else if self.has_ab_loop() {
            self.clear_ab_loop(self.playhead(), stamp);
        }
    }

    /// Whether an overlay covers this cell.
    fn is_covered(&self, mouse: Mouse) -> bool {
        match self.layer {
            Layer::None => false,
            Layer::Prompt(_) => true,
            Layer::Help(_) | Layer::Log(_) | Layer::Topic(..) => {
                is_in(view::overlay_area(self), mouse)
            }
        }
    }

    /// Which mouse events are of use: moves only where their time is shown.
    pub(in crate::tui) fn mouse_reports(&self) -> MouseReports {
        match (self.appearance.has_mouse, self.shows_hover()) {
            (false, _) => MouseReports::Off,
            (true, true) => MouseReports::Moves,
            (true, false) => MouseReports::Buttons,
        }
    }

    /// Logs whether the bar or the terminal uses the mouse.
    pub(in crate::tui) fn log_mouse(&mut self, stamp: Timestamp) {
        if self.appearance.has_mouse {
            return self.log_info("the bar uses the mouse", stamp);
        }
        (self.drag, self.pointer) = (None, None);
        let key = self.appearance.bindings.keys(Action::Mouse).first();
        let key = key.map_or_else(String::new, |key| {
            format!("; {key} gives the mouse back to the bar")
        });
        self.log_info(
            format!("the terminal selects text with the mouse{key}"),
            stamp,
        );
    }

    /// Whether there is a row for the time under the mouse, and nothing covers it.
    fn shows_hover(&self) -> bool {
        let has_row = self.layout().events.height > 0;
        has_row && self.has_recording() && matches!(self.layer, Layer::None)
    }

    /// The place on an axis under the mouse, if its time is to be shown.
    pub(in crate::tui) fn hovered(&self) -> Option<Hover> {
        let place = self.pointer.filter(|_| self.shows_hover())?;
        let (axis, topic) = match (self.drag, self.axis_at(place)) {
            (Some(Drag::Scrub(axis) | Drag::Range { axis, .. }), _) | (None, Some(axis)) => {
                (axis, None)
            }
            (None, None) => {
                let (axis, topic) = view::topic_lane_at(self, place)?;
                (axis, Some(topic))
            }
        };
        let column = axis.nearest_column(axis.time(place.x));
        Some(Hover {
            axis,
            column,
            topic,
        })
    }

    /// The axis at a cell.
    fn axis_at(&self, place: Position) -> Option<Axis> {
        let layout = self.layout();
        if layout.overview.contains(place) {
            Some(self.whole_axis(layout.overview))
        } else if [layout.lane, layout.bar, layout.events]
            .into_iter()
            .any(|area| area.contains(place))
        {
            Some(self.window_axis(layout.bar))
        } else {
            None
        }
    }
}

fn is_in(place: Rect, mouse: Mouse) -> bool {
    place.contains(mouse.position())
}
