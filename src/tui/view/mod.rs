//! Draws a model into an area of a buffer. No state is kept between two frames.

pub(super) mod footer;
pub(super) mod header;
pub(super) mod hover;
pub(super) mod overlay;
mod picture;
pub(super) mod table;
pub(super) mod timeline;
pub(super) mod watch;
pub(super) mod words;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::model::Model;
use crate::bag::TopicId;
use crate::tui::input::bindings::Action;
use crate::tui::model::layers::{Layer, Scroll};
use crate::tui::model::parts::SortBy;
use crate::tui::model::timeline::axis::Axis;
use overlay::frame::Overlay;
use overlay::{card, help, log};
use table::columns::{Columns, Head};

/// Draws everything; returns where the cursor is in the input line, if there is one.
pub fn draw(model: &Model, frame: &mut Frame<'_>) {
    let area = frame.area();
    if let Some(cursor) = draw_on(model, area, frame.buffer_mut()) {
        frame.set_cursor_position(cursor);
    }
}

fn draw_on(model: &Model, area: Rect, out: &mut Buffer) -> Option<Position> {
    let mut layout = model.layout();
    // The terminal may be smaller than it was reported a moment ago.
    for place in [
        &mut layout.header,
        &mut layout.overview,
        &mut layout.lane,
        &mut layout.bar,
        &mut layout.events,
        &mut layout.titles,
        &mut layout.table,
        &mut layout.watch,
        &mut layout.log,
        &mut layout.footer,
    ] {
        *place = place.intersection(area);
    }
    if area.height == 1 {
        header::draw_line(model, area, out);
    } else {
        header::draw(model, layout.header, out);
    }
    timeline::draw(model, &layout, out);
    hover::draw(model, &layout, out);
    table::topics::draw(model, &layout, out);
    watch::pane::draw(model, layout.watch, out);
    log::draw(model, &layout, out);
    let place = overlay_area_within(model, area);
    if let Some((overlay, scroll)) = overlay(model, place) {
        overlay.draw(model, scroll, place, out);
        if leaves_room_for_event(model) {
            log::draw_newest(model, layout.log, out);
        }
    }
    let mut cursor = None;
    if let Layer::Prompt(prompt) = &model.layer {
        let place = if layout.footer.height > 0 {
            layout.footer
        } else {
            Rect {
                y: area.bottom().saturating_sub(1),
                height: area.height.min(1),
                ..area
            }
        };
        cursor = footer::draw_prompt(model, prompt, place, out);
    } else {
        footer::draw(model, layout.footer, out);
    }
    if model.appearance.glyphs.is_ascii {
        make_ascii(out, area);
    }
    cursor
}

/// The topics of which a picture is shown, and where.
pub(super) fn picture_places(model: &Model) -> Vec<(TopicId, Rect)> {
    let place = overlay_area(model);
    match overlay(model, place) {
        Some((overlay, _)) => overlay.picture_place(place).into_iter().collect(),
        None => watch::pane::picture_places(model, model.layout().watch),
    }
}

/// The last scroll position of the overlay.
pub(super) fn max_scroll(model: &Model) -> usize {
    let place = overlay_area(model);
    overlay(model, place).map_or(0, |(overlay, _)| overlay.max_scroll(place))
}

/// The scroll position at which the selected field of a card is visible.
pub(super) fn scroll_to_field(model: &Model) -> Scroll {
    let place = overlay_area(model);
    overlay(model, place).map_or(Scroll::default(), |(overlay, scroll)| {
        overlay.scroll_to_focus(scroll, place)
    })
}

/// The action whose key is at a column of the last line.
pub(super) fn footer_action(model: &Model, column: u16) -> Option<Action> {
    footer::action_at(model, model.layout().footer, column)
}

/// What the table can be sorted by, in the order of the columns that are shown.
pub(super) fn sortable(model: &Model) -> Vec<SortBy> {
    let columns = Columns::new(model, &model.layout());
    columns.heads().into_iter().map(|head| head.by).collect()
}

/// What a click on a head of the table sorts by.
pub(super) fn head_at(model: &Model, place: Position) -> Option<SortBy> {
    let layout = model.layout();
    let heads = Columns::new(model, &layout).heads();
    let is_there = |head: &Head| head.columns.contains(&place.x);
    let head = heads.into_iter().find(is_there);
    head.filter(|_| layout.titles.contains(place))
        .map(|head| head.by)
}

/// The topic whose lane in the table is at a place, and the axis of the lane.
pub(super) fn topic_lane_at(model: &Model, place: Position) -> Option<(Axis, TopicId)> {
    let layout = model.layout();
    let (left, width) = Columns::new(model, &layout).density?;
    let is_there = layout.table.contains(place) && (left..left + width).contains(&place.x);
    let row = usize::from(place.y.checked_sub(layout.table.y)?);
    let row = model.shown_rows().nth(model.top + row);
    let axis = model.axis(model.window.range(), left, width);
    row.filter(|_| is_there).map(|row| (axis, row.id))
}

/// How many plots of watched fields have no room.
pub(super) fn hidden_plots(model: &Model) -> usize {
    watch::pane::hidden(model, model.layout().watch)
}

/// How many watched fields are not shown.
pub(super) fn unshown_fields(model: &Model) -> usize {
    watch::pane::unshown(model, model.layout().watch)
}

/// The area of the overlay, whether there is one or not.
pub(super) fn overlay_area(model: &Model) -> Rect {
    overlay_area_within(model, Rect::new(0, 0, model.size.width, model.size.height))
}

/// Whether the newest event is shown below the overlay. It says what a key in a card has done.
fn leaves_room_for_event(model: &Model) -> bool {
    matches!(model.layer.shown(), Layer::Topic(..)) && model.layout().log.height > 0
}

/// Everything but the footer, and the whole newest event below a card. If there is room, the times and the bar stay
/// visible beside a message or the event log.
fn overlay_area_within(model: &Model, area: Rect) -> Rect {
    /// The height that is enough for the overlay.
    const ROOM: u16 = 12;
    let layout = model.layout();
    let above_footer = match &model.layer {
        Layer::Prompt(prompt) => footer::error_above(model, prompt, layout.footer).len(),
        _ => 0,
    };
    let above_footer = u16::try_from(above_footer).unwrap_or(u16::MAX);
    let of_event = if leaves_room_for_event(model) {
        log::newest_rows(model, layout.log)
    } else {
        0
    };
    let below = layout.footer.height + above_footer.max(of_event);
    let bottom = area.bottom().saturating_sub(below);
    let top = match model.layer.shown() {
        Layer::Topic(..) | Layer::Log(_) => layout.bar.bottom(),
        _ => 0,
    };
    let top = if top + ROOM <= bottom { top } else { area.y };
    let height = bottom.saturating_sub(top);
    Rect {
        y: top,
        height,
        ..area
    }
}

/// The overlay and its scroll position.
fn overlay(model: &Model, place: Rect) -> Option<(Overlay<'_>, Scroll)> {
    match model.layer.shown() {
        Layer::None | Layer::Prompt(_) => None,
        Layer::Help(scroll) => Some((help::overlay(model, place), *scroll)),
        Layer::Log(scroll) => Some((log::overlay(model), *scroll)),
        Layer::Topic(card, scroll) => Some((card::overlay(model, card, place)?, *scroll)),
    }
}

/// Names, messages and texts may contain any character; in ASCII mode all others are replaced.
fn make_ascii(out: &mut Buffer, area: Rect) {
    for position in area.positions() {
        let cell = &mut out[position];
        if !cell.symbol().is_ascii() {
            let alike = match cell.symbol() {
                "×" => "x",
                "−" | "–" => "-",
                "·" | "…" => ".",
                _ => "?",
            };
            cell.set_symbol(alike);
        }
    }
}
