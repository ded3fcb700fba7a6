//! The header: state, rates, times, clock, subscribers; on narrow screens the least important parts are left out. Also
//! the whole screen in one line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{timeline, words};
use crate::player::{Gate, Pace, State};
use crate::time::Speed;
use crate::tui::input::bindings::Action;
use crate::tui::model::layout::Detail;
use crate::tui::model::parts::TopicRow;
use crate::tui::model::timeline::ab_loop::AbLoop;
use crate::tui::model::timeline::in_words::up_to_messages;
use crate::tui::model::{Model, time_format};

/// A part of the header. Of parts that do not fit, those with the highest rank are left out; important parts are
/// shortened first.
struct Part {
    rank: u8,
    text: String,
    short: Option<String>,
    style: Style,
}

impl Part {
    fn new(rank: u8, text: impl Into<String>, style: Style) -> Self {
        Self {
            rank,
            text: text.into(),
            short: None,
            style,
        }
    }

    fn or_short(self, short: impl Into<String>) -> Self {
        Self {
            short: Some(short.into()),
            ..self
        }
    }
}

/// Parts up to this rank are shortened before any part is left out.
const NEEDED: u8 = 2;

pub(super) fn draw(model: &Model, place: Rect, out: &mut Buffer) {
    if place.height == 0 {
        return;
    }
    let (mut first, second) = (state_parts(model), time_parts(model));
    if place.height == 1 {
        first.extend(second);
        first.extend(clock_parts(model));
        line(first, Rect { height: 1, ..place }, out);
    } else {
        first.extend(clock_parts(model));
        line(first, Rect { height: 1, ..place }, out);
        let below = Rect {
            y: place.y + 1,
            height: 1,
            ..place
        };
        line(second, below, out);
    }
}

/// The screen in one line: state, time, and a bar if there is room.
pub(super) fn draw_line(model: &Model, place: Rect, out: &mut Buffer) {
    let mut parts = state_parts(model);
    parts.extend(time_parts(model));
    parts.retain(|part| part.rank <= NEEDED);
    let text = fitting_line(parts, place.width);
    let width = u16::try_from(text.width())
        .unwrap_or(u16::MAX)
        .min(place.width);
    out.set_line(place.x, place.y, &text, place.width);
    let bar = Rect {
        x: place.x + width + 1,
        width: place.width.saturating_sub(width + 1),
        ..place
    };
    if bar.width >= 10 {
        timeline::draw_bar(model, bar, out);
    }
}

fn line(parts: Vec<Part>, place: Rect, out: &mut Buffer) {
    out.set_line(
        place.x,
        place.y,
        &fitting_line(parts, place.width),
        place.width,
    );
}

/// The parts that fit, separated by two blanks.
fn fitting_line(mut parts: Vec<Part>, width: u16) -> Line<'static> {
    let length = |parts: &[Part]| -> usize {
        let words = parts.iter().map(|part| Span::raw(&part.text).width());
        1 + words.sum::<usize>() + 2 * parts.len().saturating_sub(1)
    };
    while parts.len() > 1 && length(&parts) > width.into() {
        let least = parts
            .iter()
            .enumerate()
            .max_by_key(|(at, part)| (part.rank, *at));
        let (least, rank) = least.map_or((0, 0), |(at, part)| (at, part.rank));
        let longest = parts.iter_mut().rev().find(|part| part.short.is_some());
        match longest.filter(|_| rank <= NEEDED) {
            Some(part) => part.text = part.short.take().unwrap_or_default(),
            None => {
                parts.remove(least);
            }
        }
    }
    let mut spans = vec![Span::raw(" ")];
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            spans.push(Span::raw("  "));
        }
        spans.push(Span::styled(part.text, part.style));
    }
    Line::from(spans)
}

/// A lost connection is shown in every state of playback, as messages of steps are not received either.
fn connection_notice(model: &Model) -> Option<&'static str> {
    let status = model.status?;
    let is_said = model.state() == State::Gated;
    (status.gates.is_closed(Gate::Path) && !is_said).then_some("no connection")
}

fn state_parts(model: &Model) -> Vec<Part> {
    let theme = &model.appearance.theme;
    let (glyph, words, style) = words::state(model);
    let first = words.split(' ').next().unwrap_or_default();
    let short = if words.len() > 13 { first } else { &words };
    let mut parts =
        vec![Part::new(0, format!("{glyph} {words}"), style).or_short(format!("{glyph} {short}"))];
    if let Some(awaited) = &model.awaited {
        let left = format!("{} s left", awaited.left.as_secs_f64().ceil());
        parts.push(Part::new(2, left, theme.warning));
        parts.push(Part::new(6, words::awaited(model, awaited), theme.warning));
    }
    if let Some(pace) = model.status.map(|_| model.pace()) {
        let style = if pace == Pace::At(Speed::NORMAL) {
            Style::new()
        } else {
            theme.accent
        };
        let requested = words::pace(model, pace);
        let measured = model
            .meters
            .playback_rate()
            .filter(|_| model.state() == State::Playing);
        parts.push(match measured {
            Some(rate) => {
                let (times, rate) = (model.appearance.glyphs.times, words::factor(model, rate));
                Part::new(1, format!("{requested} ({times}{rate})"), style).or_short(requested)
            }
            None => Part::new(1, requested, style),
        });
    }
    if let Some(text) = connection_notice(model) {
        parts.push(Part::new(2, text, theme.error));
    }
    let (all, part) = match model.ab_loop() {
        AbLoop::Ab(_) => (None, Some("loop A-B")),
        AbLoop::A(_) => (Some("loop"), Some("A set")),
        AbLoop::None => (Some("loop"), None),
    };
    let looped = [all.filter(|_| model.is_whole_looped()), part];
    let looped = looped.into_iter().flatten();
    parts.extend(looped.map(|text| Part::new(4, text, theme.ab_loop)));
    if let Some(longest) = model.settings.skip_empty {
        parts.push(Part::new(
            7,
            format!("skips gaps > {longest}"),
            theme.accent,
        ));
    }
    if model.window.is_zoomed() {
        let shown = time_format::span(model.window.range().duration());
        parts.push(Part::new(7, format!("zoom {shown}"), theme.dim));
    }
    let laps = model.status.map_or(0, |status| status.laps);
    if laps > 0 && (model.is_whole_looped() || model.has_ab_loop()) {
        parts.push(Part::new(8, format!("lap {}", laps + 1), theme.dim));
    }
    parts
}

/// Whether a `/clock` of the recording is played.
fn plays_recorded_clock(model: &Model) -> bool {
    let is_clock = |row: &TopicRow| row.name == "/clock" && row.left_out.is_none() && !row.is_muted;
    model.rows.iter().any(is_clock)
}

/// That no clock is published, with the key that changes it.
fn clock_is_off(model: &Model) -> String {
    let key = model.appearance.bindings.keys(Action::Clock).first();
    match key.filter(|_| model.clock_refusal().is_none()) {
        Some(key) => format!("/clock: off ({key})"),
        None => "/clock: off".to_owned(),
    }
}

fn clock_parts(model: &Model) -> Vec<Part> {
    let theme = &model.appearance.theme;
    let served = model.settings.served_clock();
    let has_clock = served.is_some();
    let mut parts = vec![match (&model.followed, served) {
        (Some(followed), _) => Part::new(6, words::followed(model, followed), theme.accent),
        (None, Some(hz)) => Part::new(6, format!("/clock: {hz}"), Style::new()),
        (None, None) if plays_recorded_clock(model) => {
            Part::new(6, "/clock: recorded", Style::new())
        }
        (None, None) => Part::new(9, clock_is_off(model), theme.dim),
    }];
    let subscribers = &model.subscribers;
    let known: Vec<usize> = subscribers
        .topics
        .iter()
        .copied()
        .chain([subscribers.clock.filter(|_| has_clock)])
        .flatten()
        .collect();
    if !known.is_empty() {
        let total: usize = known.iter().sum();
        let s = if total == 1 { "" } else { "s" };
        let style = if total == 0 { theme.dim } else { Style::new() };
        parts.push(Part::new(5, format!("{total} subscriber{s}"), style));
    }
    let count = |rank, count: u64, what: &str, style| {
        (count > 0).then(|| Part::new(rank, format!("{count} {what}"), style))
    };
    if let Some(status) = model.status {
        let sent = model.counts.iter().map(|counts| counts.sent).sum();
        let late = words::late_style(theme, status.late, sent);
        parts.extend(count(7, status.late, "late", late));
        parts.extend(count(3, model.damaged_places(), "damaged", theme.damage));
        let lost = model.lost_messages();
        parts.extend(lost.map(|lost| {
            let text = format!("{} lost", up_to_messages(lost));
            Part::new(6, text, theme.damage)
        }));
    }
    parts
}

fn time_parts(model: &Model) -> Vec<Part> {
    let (here, all) = (model.playhead(), model.facts.recording);
    let theme = &model.appearance.theme;
    let (time_format, zone) = (model.appearance.time_format, &model.facts.zone);
    let shown = here.saturating_add(model.facts.clock_shift);
    let has_tenths = model.detail == Detail::Reduced;
    let span = if has_tenths {
        time_format::span_tenths
    } else {
        time_format::span
    };
    let time = if has_tenths {
        time_format.show_tenths(shown, zone)
    } else if model.size.width >= 150 {
        time_format.show_date(shown, zone)
    } else {
        time_format.show(shown, zone)
    };
    let elapsed = here.saturating_since(all.start());
    let left = if model.is_reverse() {
        elapsed
    } else {
        all.stop().saturating_since(here)
    };
    let elapsed = format!("+{}", span(elapsed));
    let of_all = format!("{elapsed} / {}", span(all.duration()));
    let left = format!("{}{}", model.appearance.glyphs.minus, span(left));
    if !model.has_recording() {
        return vec![Part::new(2, time, theme.accent)];
    }
    vec![
        Part::new(3, time, Style::new()),
        Part::new(2, of_all, theme.accent).or_short(elapsed),
        Part::new(4, left, Style::new()),
    ]
}
