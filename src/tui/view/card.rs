//! A topic's card: type, schema, profiles, counts, and its message at or before the playhead.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::overlay::Sheet;
use super::words;
use crate::bag::Topic;
use crate::decode::{Decoded, PayloadFormat};
use crate::ros::Qos;
use crate::time::{Ros, Time};
use crate::tui::model::layers::{Card, Found};
use crate::tui::model::{Model, time_format};

pub(super) fn sheet(model: &Model, card: &Card, place: Rect) -> Option<Sheet<'static>> {
    let topic = model.topic(card.topic)?;
    let mut lines = about(model, card, topic);
    let width = place.width.saturating_sub(20).min(100);
    lines.extend(span(model, card, topic.is_latched, width));
    lines.push(Line::default());
    lines.extend(message(model, card));
    lines.push(Line::default());
    lines.extend(schema(model, topic));
    let title = words::fit_ends(
        &topic.name,
        usize::from(place.width).saturating_sub(6),
        model.look.glyphs.dots,
    );
    Some(Sheet {
        title,
        lines,
        hang: 15,
    })
}

fn field(model: &Model, name: &str, value: impl Into<String>) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!(" {name:<14}"), model.look.theme.title),
        Span::raw(value.into()),
    ])
}

fn about(model: &Model, card: &Card, topic: &Topic) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let or_none = |text: &str| {
        if text.is_empty() {
            "none".to_owned()
        } else {
            text.to_owned()
        }
    };
    let schema = topic.schema.as_ref().map_or("", |schema| &schema.encoding);
    lines.push(field(model, "type", or_none(topic.type_name())));
    let encodings = format!("{}, schema {}", or_none(&topic.encoding), or_none(schema));
    lines.push(field(model, "encoding", encodings));
    if let Some(hash) = &topic.type_hash {
        lines.push(field(model, "hash", hash.clone()));
    }
    for (qos, times) in profiles(topic) {
        let many = format!("  {}{times}", model.look.glyphs.times);
        let many = if times > 1 { many.as_str() } else { "" };
        lines.push(field(model, "recorded QoS", profile(qos) + many));
    }
    if topic.offered_qos.is_empty() {
        lines.push(field(model, "recorded QoS", "none"));
    }
    let row = model.rows.iter().find(|row| row.id == card.topic);
    if let Some(row) = row {
        let offered = match (&row.left_out, &row.offered) {
            (Some(reason), _) => format!("not played: {reason}"),
            (None, Some(qos)) => format!(
                "{}{}",
                profile(qos),
                if row.is_muted { ", muted" } else { "" }
            ),
            (None, None) => "none on this wire".to_owned(),
        };
        lines.push(field(model, "offered QoS", offered));
        if row.name != topic.name {
            lines.push(field(model, "published as", row.name.clone()));
        }
    }
    let counts = model
        .counts
        .get(card.topic.index())
        .copied()
        .unwrap_or_default();
    let total = topic
        .message_count
        .map_or_else(|| "?".to_owned(), |total| total.to_string());
    let sent = format!(
        "{} ({total} in bag), {} again after jumps, {} late, {} not taken",
        counts.sent, counts.refilled, counts.late, counts.dropped
    );
    lines.push(field(model, "sent", sent));
    lines
}

/// Where its messages lie in the recording; for a latched topic also where the last one is.
fn span(model: &Model, card: &Card, is_latched: bool, width: u16) -> Option<Line<'static>> {
    let glyphs = &model.look.glyphs;
    let lane = model.overview.as_ref()?;
    let mut stands = false;
    let levels = lane.levels(lane.range, width, 1, |topic| topic == card.topic.index());
    let glyph = |level: u16| {
        stands |= is_latched && level > 0;
        match level {
            0 if stands => glyphs.bar,
            level => glyphs.levels[usize::from(level.min(8))],
        }
    };
    let lies: String = levels.into_iter().map(glyph).collect();
    Some(Line::from(vec![
        Span::styled(format!(" {:<14}", "lies at"), model.look.theme.title),
        Span::styled(lies, model.look.theme.lane),
    ]))
}

/// The recorded profiles, each once, with the number of publishers.
fn profiles(topic: &Topic) -> Vec<(&Qos, usize)> {
    let mut profiles: Vec<(&Qos, usize)> = Vec::new();
    for qos in &topic.offered_qos {
        match profiles.iter_mut().find(|(known, _)| *known == qos) {
            Some((_, times)) => *times += 1,
            None => profiles.push((qos, 1)),
        }
    }
    profiles
}

fn profile(qos: &Qos) -> String {
    format!("{qos}, {}", qos.history)
}

fn message(model: &Model, card: &Card) -> Vec<Line<'static>> {
    let said = |text: String| vec![field(model, "message", text)];
    let Some(peeked) = &card.message else {
        return said("is being read".into());
    };
    match &peeked.found {
        Found::Nothing => said("none up to here".into()),
        Found::Damaged(damage) => said(format!("cannot be read: {damage}")),
        Found::Message {
            log_time,
            publish_time,
            bytes,
            said,
        } => {
            // In the time of the header's clock.
            let shown = |time: Time<Ros>| {
                let time = time.saturating_add(model.facts.clock_shift);
                model.look.face.show_date(time, &model.facts.zone)
            };
            let age = time_format::span(peeked.at.saturating_since(*log_time));
            let s = if *bytes == 1 { "" } else { "s" };
            let received = format!("{}, {age} ago, {bytes} byte{s}", shown(*log_time));
            let mut lines = vec![
                field(model, "message", received),
                field(model, "published", shown(*publish_time)),
            ];
            lines.extend(said_lines(model, said));
            lines
        }
    }
}

fn said_lines(model: &Model, said: &Decoded) -> Vec<Line<'static>> {
    let theme = &model.look.theme;
    let mut lines = Vec::new();
    if let Some(problem) = &said.problem {
        lines.push(Line::from(Span::styled(
            format!("   {problem}"),
            theme.hold,
        )));
    }
    for line in &said.lines {
        let indent = " ".repeat(3 + 2 * line.depth);
        let name = match said.format {
            _ if line.name.is_empty() => String::new(),
            PayloadFormat::Hex => format!("{}  ", line.name),
            PayloadFormat::Cdr | PayloadFormat::Ros1 | PayloadFormat::Json => {
                format!("{}: ", line.name)
            }
        };
        lines.push(Line::from(vec![
            Span::styled(format!("{indent}{name}"), theme.accent),
            Span::raw(line.value.clone()),
        ]));
    }
    if said.is_cut {
        lines.push(Line::from(Span::styled(
            format!("   {}", model.look.glyphs.dots),
            theme.dim,
        )));
    }
    lines
}

/// The recorded definition, if it is text.
fn schema(model: &Model, topic: &Topic) -> Vec<Line<'static>> {
    /// The limit of what is shown; nobody reads more here.
    const MOST: usize = 2000;
    let Some(schema) = &topic.schema else {
        return Vec::new();
    };
    let text = std::str::from_utf8(&schema.data).unwrap_or_default();
    if text.trim().is_empty() {
        return Vec::new();
    }
    let heading = Line::from(Span::styled(" definition", model.look.theme.title));
    let lines = text.lines().take(MOST).map(|line| {
        let line: String = line.replace('\t', "    ").chars().take(500).collect();
        Line::from(Span::styled(format!("   {line}"), Style::new()))
    });
    std::iter::once(heading).chain(lines).collect()
}
