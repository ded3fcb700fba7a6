//! The event log: its last lines, and the whole log as an overlay.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::frame::Overlay;
use crate::tui::model::log::Severity;
use crate::tui::model::{Model, log};
use crate::tui::view::words;

/// The newest lines, the last one at the bottom.
pub(in crate::tui::view) fn draw(model: &Model, place: Rect, out: &mut Buffer) {
    let height = usize::from(place.height);
    let newest = model.log.newest().take(height);
    for (row, line) in (place.y..place.bottom()).rev().zip(newest) {
        words::draw_line(model, &shown(model, line), (place.x, row), place.width, out);
    }
}

/// All lines, the newest first.
pub(in crate::tui::view) fn overlay(model: &Model) -> Overlay<'_> {
    Overlay {
        title: "events, newest first".to_owned(),
        lines: model.log.newest().map(|line| shown(model, line)).collect(),
        hanging_indent: 10,
        focus: None,
        picture: None,
    }
}

fn shown<'a>(model: &Model, (line, times): &'a (log::LogLine, u32)) -> Line<'a> {
    let theme = &model.appearance.theme;
    let zone = model.appearance.time_format.zone(&model.facts.zone);
    let time = line.at.to_zoned(zone).strftime("%H:%M:%S").to_string();
    let (label, style) = match line.severity {
        Severity::Debug => ("", theme.dim),
        Severity::Info => ("", Style::new()),
        Severity::Warning => ("warning: ", theme.warning),
        Severity::Error => ("error: ", theme.error),
    };
    let mut spans = vec![
        Span::raw(" "),
        Span::styled(time, theme.dim),
        Span::raw(" "),
        Span::styled(label, style),
        Span::styled(
            line.text.as_str(),
            if line.severity == Severity::Debug {
                theme.dim
            } else {
                Style::new()
            },
        ),
    ];
    if *times > 1 {
        spans.push(Span::styled(
            format!(" ({}{times})", model.appearance.glyphs.times),
            theme.dim,
        ));
    }
    Line::from(spans)
}
