//! The help: all keys and gestures, from the tables, in one column or two.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::frame::Overlay;
use crate::tui::input::bindings::{Action, BINDINGS, Binding, GESTURES, rows};
use crate::tui::model::Model;

/// The gap between two columns.
const GAP: usize = 3;

pub(in crate::tui::view) fn overlay(model: &Model, place: Rect) -> Overlay<'static> {
    let keys = key_width(model);
    let (left, right) = halves(groups(model, keys));
    let widest = |lines: &[Line<'_>]| lines.iter().map(Line::width).max().unwrap_or(0);
    let start = widest(&left) + GAP;
    let lines = if start + widest(&right) + 3 <= place.width.into() {
        side_by_side(left, right, start)
    } else {
        left.into_iter().chain(right).collect()
    };
    Overlay {
        title: "keys".to_owned(),
        lines,
        hanging_indent: keys + 3,
        focus: None,
        picture: None,
    }
}

/// What an action does.
fn text(model: &Model, row: &Binding) -> &'static str {
    if row.action == Action::Quit && model.facts.is_elsewhere {
        "leave; the player goes on"
    } else {
        row.help
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

/// Each group with its title, followed by a blank line.
fn groups(model: &Model, width: usize) -> Vec<Vec<Line<'static>>> {
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
        let mut lines = vec![title(name)];
        let shown = rows
            .iter()
            .map(|row| line(keys(model, row.action), text(model, row)));
        lines.extend(shown);
        lines.push(Line::default());
        groups.push(lines);
    }
    let mut lines = vec![title("Mouse")];
    let gestures = GESTURES.iter();
    lines.extend(gestures.map(|(gesture, help)| line((*gesture).to_owned(), help)));
    groups.push(lines);
    groups
}

/// Splits as evenly as whole groups allow.
fn halves(groups: Vec<Vec<Line<'static>>>) -> (Vec<Line<'static>>, Vec<Line<'static>>) {
    let all: usize = groups.iter().map(Vec::len).sum();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for group in groups {
        if right.is_empty() && left.len() + group.len() / 2 < all / 2 {
            left.extend(group);
        } else {
            right.extend(group);
        }
    }
    (left, right)
}

fn side_by_side(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    start: usize,
) -> Vec<Line<'static>> {
    let rows = left.len().max(right.len());
    let mut left = left.into_iter();
    let mut right = right.into_iter();
    let row = |_| {
        let mut line = left.next().unwrap_or_default();
        let gap = start.saturating_sub(line.width());
        line.spans.push(Span::raw(" ".repeat(gap)));
        line.spans.extend(right.next().unwrap_or_default().spans);
        line
    };
    (0..rows).map(row).collect()
}
