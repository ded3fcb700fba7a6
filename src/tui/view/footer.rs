//! The last line: keys, as many as fit, or an input line.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use super::overlay::frame::wrapped;
use super::words;
use crate::tui::input::bindings::{Action, rows};
use crate::tui::model::Model;
use crate::tui::model::layers::{Layer, Prompt};
use crate::tui::model::parts::TopicRow;
use crate::tui::watch::pin::Pin;

/// Keys and the word that they share.
struct Hint {
    keys: Vec<(Action, String)>,
    word: &'static str,
}

impl Hint {
    fn new(model: &Model, actions: &[Action], word: &'static str) -> Self {
        let key = |action: &Action| {
            let key = model.appearance.bindings.keys(*action).first()?;
            let text = if model.appearance.glyphs.is_ascii {
                format!("{key:#}")
            } else {
                key.to_string()
            };
            Some((*action, text))
        };
        let keys = actions.iter().filter_map(key).collect();
        Self { keys, word }
    }

    /// With the blanks after it.
    fn width(&self) -> usize {
        let keys = self.keys.iter();
        let keys: usize = keys.map(|(_, key)| Span::raw(key).width() + 1).sum();
        keys + self.word.len() + 2
    }
}

pub(super) fn draw(model: &Model, place: Rect, out: &mut Buffer) {
    if place.height == 0 {
        return;
    }
    let mut spans = vec![Span::raw(" ")];
    for Hint { keys, word } in shown(model, place.width) {
        let keys: Vec<String> = keys.into_iter().map(|(_, key)| key).collect();
        let accent = model.appearance.theme.accent;
        spans.push(Span::styled(keys.join(" "), accent));
        spans.push(Span::raw(format!(" {word}  ")));
    }
    out.set_line(place.x, place.y, &Line::from(spans), place.width);
}

/// The action at a column of the last line: that of the key there, or of the last key before the word there.
pub(super) fn action_at(model: &Model, place: Rect, column: u16) -> Option<Action> {
    let column = usize::from(column.checked_sub(place.x)?);
    let mut end = 1;
    for hint in shown(model, place.width) {
        let start = end;
        end += hint.width();
        // Not in the blanks after it.
        if !(start..end - 2).contains(&column) {
            continue;
        }
        let mut after = start;
        let last = hint.keys.last().map(|(action, _)| *action);
        let key = hint.keys.iter().find(|(_, key)| {
            after += Span::raw(key).width() + 1;
            column < after
        });
        return key.map(|(action, _)| *action).or(last);
    }
    None
}

/// The hints that fit. Help and quit are the last to be left out; a group that does not fit is left out whole.
fn shown(model: &Model, width: u16) -> Vec<Hint> {
    let mut shown = match model.layer {
        Layer::None => hints(model),
        _ => overlay_hints(model),
    };
    while !shown.is_empty()
        && 1 + shown.iter().map(Hint::width).sum::<usize>() > usize::from(width) + 2
    {
        let from_the_end = shown.len().saturating_sub(3);
        shown.remove(from_the_end);
    }
    shown
}

/// Keys with their words, from the table of bindings.
fn hints(model: &Model) -> Vec<Hint> {
    let mut hints: Vec<(Vec<Action>, &'static str)> = Vec::new();
    if !model.filter.is_empty() {
        hints.push((vec![Action::Back], "all topics"));
    }
    for row in rows() {
        let is_refused = model.refused_in_attach(row.action).is_some();
        let Some(word) = row.hint.filter(|_| !is_refused) else {
            continue;
        };
        match hints.last_mut() {
            Some((actions, last)) if *last == word => actions.push(row.action),
            _ => hints.push((vec![row.action], word)),
        }
    }
    hints
        .into_iter()
        .map(|(actions, word)| Hint::new(model, &actions, word))
        .filter(|hint| !hint.keys.is_empty())
        .collect()
}

/// The same with an overlay, which has keys for scrolling; with a topic also those that change its message.
fn overlay_hints(model: &Model) -> Vec<Hint> {
    let mut hints: Vec<(&[Action], &str)> = Vec::new();
    if let Layer::Topic(card, _) = &model.layer {
        let steps = &[Action::StepTopic(-1), Action::StepTopic(1)];
        let is_played = |row: &TopicRow| row.id == card.topic && row.left_out.is_none();
        hints.push((&[Action::PlayPause], "play/pause"));
        let has_hits = !model.hits.messages.is_empty();
        if model.rows.iter().any(is_played) {
            hints.push((
                steps,
                if has_hits {
                    "message"
                } else {
                    "previous, next message"
                },
            ));
        }
        if has_hits {
            hints.push((&[Action::NextMark, Action::PreviousMark], "found"));
        }
        let field = card.selected_field();
        if let Some(field) = field.filter(|_| !model.facts.is_elsewhere) {
            let pin = Pin {
                topic: card.topic,
                field,
            };
            let is_watched = model.watch.pins.contains(&pin);
            hints.push((
                &[Action::Watch],
                if is_watched { "unwatch" } else { "watch" },
            ));
            hints.push((&[Action::Filter], "find"));
        }
    }
    hints.push((&[Action::Move(-1), Action::Move(1)], "move"));
    if matches!(model.layer, Layer::Help(_)) {
        hints.push((&[Action::End], "symbols"));
    }
    hints.push((&[Action::Back], "close"));
    let named = |(actions, word)| Hint::new(model, actions, word);
    hints.into_iter().map(named).collect()
}

/// The error of an input line, in as many rows above it as it takes, up to half of those there; none if it fits beside
/// the text.
pub(super) fn error_above(model: &Model, prompt: &Prompt, input: Rect) -> Vec<Line<'static>> {
    let Some(error) = prompt.error.as_ref() else {
        return Vec::new();
    };
    let value = prompt.input.value();
    let gap = if value.is_empty() { 1 } else { 2 };
    let used = Span::raw(label(prompt)).width() + Span::raw(value).width() + gap;
    if used + Span::raw(error).width() <= input.width.into() {
        return Vec::new();
    }
    let line = Line::styled(format!(" {error}"), model.appearance.theme.error);
    let parts = wrapped(&line, 1, input.width.into());
    let most = usize::from(input.y).div_ceil(2);
    let mut shown: Vec<Line<'static>> = parts.iter().take(most).map(owned).collect();
    if let Some(last) = shown.last_mut().filter(|_| parts.len() > most) {
        // The row is too long then, and ends in dots.
        last.push_span(" ".repeat(input.width.into()));
    }
    shown
}

fn owned(line: &Line<'_>) -> Line<'static> {
    let spans = line.spans.iter();
    let spans = spans.map(|span| Span::styled(span.content.to_string(), span.style));
    Line::from(spans.collect::<Vec<_>>()).style(line.style)
}

fn label(prompt: &Prompt) -> String {
    format!(" {}: ", prompt.label)
}

/// The input line; returns where the cursor is.
pub(super) fn draw_prompt(
    model: &Model,
    prompt: &Prompt,
    place: Rect,
    out: &mut Buffer,
) -> Option<Position> {
    if place.height == 0 || place.width == 0 {
        return None;
    }
    let theme = &model.appearance.theme;
    for column in place.x..place.right() {
        out[(column, place.y)].reset();
    }
    let label = label(prompt);
    let (after, _) = out.set_stringn(place.x, place.y, &label, place.width.into(), theme.accent);
    let room = usize::from(place.right() - after);
    let scroll = prompt.input.visual_scroll(room.saturating_sub(1));
    let value = prompt.input.value();
    let mut hidden = 0;
    let from = value.char_indices().find(|(_, letter)| {
        let is_shown = hidden >= scroll;
        hidden += Span::raw(letter.to_string()).width();
        is_shown
    });
    let visible = from.map_or("", |(at, _)| &value[at..]);
    let (end, _) = out.set_stringn(after, place.y, visible, room, ratatui::style::Style::new());
    let above = error_above(model, prompt, place);
    let note = match &prompt.error {
        Some(_) if !above.is_empty() => None,
        Some(error) => Some((error.as_str(), theme.error)),
        None if value.is_empty() => Some((prompt.hint(), theme.dim)),
        None => None,
    };
    if let Some((note, style)) = note {
        let at = place
            .right()
            .min(end + if value.is_empty() { 1 } else { 2 });
        let line = Line::from(Span::styled(note, style));
        words::draw_line(model, &line, (at, place.y), place.right() - at, out);
    }
    // An error matters more than the last log lines.
    for (y, part) in (0..place.y).rev().zip(above.iter().rev()) {
        let row = Rect {
            y,
            height: 1,
            ..place
        };
        Clear.render(row, out);
        words::draw_line(model, part, (row.x, y), row.width, out);
    }
    let cursor = prompt.input.visual_cursor().saturating_sub(scroll);
    let cursor = after.saturating_add(u16::try_from(cursor).unwrap_or(u16::MAX));
    Some(Position::new(cursor.min(place.right() - 1), place.y))
}
