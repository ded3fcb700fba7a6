//! The help: all keys and gestures, from the tables, and the legend, in as many columns as fit.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::frame::Overlay;
use super::legend;
use crate::tui::input::bindings::{Action, BINDINGS, Binding, GESTURES, rows};
use crate::tui::input::in_attach::InAttach;
use crate::tui::model::Model;

/// The gap between two columns.
const GAP: usize = 3;
/// The most columns.
const MOST_COLUMNS: usize = 3;

type Lines = Vec<Line<'static>>;

pub(in crate::tui::view) fn overlay(model: &Model, place: Rect) -> Overlay<'static> {
    let keys = key_width(model);
    let groups = groups(model, keys);
    let width = usize::from(place.width.saturating_sub(3));
    let side_by_side = (2..=MOST_COLUMNS)
        .rev()
        .find_map(|count| side_by_side(split(&groups, count), width));
    Overlay {
        title: "keys and symbols".to_owned(),
        lines: side_by_side.unwrap_or_else(|| groups.concat()),
        hanging_indent: keys + 3,
        focus: None,
        picture: None,
    }
}

/// What an action does; `None` if it does nothing here.
fn text(model: &Model, row: &Binding) -> Option<&'static str> {
    match row.in_attach {
        InAttach::Means(text) if model.facts.is_elsewhere => Some(text),
        InAttach::Refused(_) if model.facts.is_elsewhere => None,
        InAttach::Same | InAttach::Means(_) | InAttach::Refused(_) => Some(row.help),
    }
}

/// The keys of an action as shown.
fn keys(model: &Model, action: Action) -> String {
    let keys = model.appearance.bindings.keys(action);
    if model.appearance.glyphs.is_ascii {
        format!("{keys:#}")
    } else {
        keys.to_string()
    }
}

/// The width of the column of keys, limited because a configuration may bind very many.
fn key_width(model: &Model) -> usize {
    let widths = rows().map(|row| Span::raw(keys(model, row.action)).width());
    widths.max().unwrap_or(0).clamp(11, 24)
}

/// Each group with its title; all but the last one are followed by a blank line.
fn groups(model: &Model, width: usize) -> Vec<Lines> {
    let theme = &model.appearance.theme;
    let line = |keys: String, help: &str| {
        Line::from(vec![
            Span::styled(format!("  {keys:<width$}"), theme.accent),
            Span::raw(format!(" {help}")),
        ])
    };
    let title = |title: &str| Line::from(Span::styled(format!(" {title}"), theme.title));
    let mut groups = Vec::new();
    for (name, rows) in BINDINGS {
        let shown = rows
            .iter()
            .filter_map(|row| Some(line(keys(model, row.action), text(model, row)?)));
        groups.push(std::iter::once(title(name)).chain(shown).collect());
    }
    let gestures = GESTURES.iter();
    let gestures = gestures.map(|(gesture, help)| line((*gesture).to_owned(), help));
    groups.push(std::iter::once(title("Mouse")).chain(gestures).collect());
    groups.extend(legend::groups(model, width));
    let last = groups.len() - 1;
    for group in groups.iter_mut().take(last) {
        group.push(Line::default());
    }
    groups
}

/// Splits into so many columns, as evenly as whole groups in their order allow.
fn split(groups: &[Lines], count: usize) -> Vec<Lines> {
    let all: usize = groups.iter().map(Vec::len).sum();
    let mut columns = vec![Lines::new(); count];
    let mut before = 0;
    for group in groups {
        // The column in which the middle of the group is.
        let at = (before + group.len() / 2) * count / all.max(1);
        columns[at.min(count - 1)].extend(group.iter().cloned());
        before += group.len();
    }
    columns
}

/// The columns beside each other; `None` if they do not fit into `width`.
fn side_by_side(columns: Vec<Lines>, width: usize) -> Option<Lines> {
    let widest = |lines: &Lines| lines.iter().map(Line::width).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(widest).collect();
    if widths.iter().sum::<usize>() + GAP * (columns.len() - 1) > width {
        return None;
    }
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut shown = vec![Line::default(); rows];
    let mut start = 0;
    for (column, width) in columns.into_iter().zip(widths) {
        for (row, line) in shown.iter_mut().zip(column) {
            let gap = start - row.width();
            row.push_span(" ".repeat(gap));
            row.spans.extend(line.spans);
        }
        start += width + GAP;
    }
    Some(shown)
}
