//! A topic's card: type, schema, profiles, counts, and its message at or before the playhead.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::frame::{Overlay, text_width};
use crate::bag::Topic;
use crate::decode::{Decoded, MessageAt, PayloadFormat};
use crate::ros::Qos;
use crate::time::{Ros, Time};
use crate::tui::model::layers::Card;
use crate::tui::model::timeline::lane::LaneColumn;
use crate::tui::model::watch::{CardField, CardLine};
use crate::tui::model::{Model, time_format};
use crate::tui::view::{picture, words};
use crate::tui::watch::pin::Pin;

/// The columns of the names of fields, with the blank before them.
const NAMES: u16 = 15;
/// The most columns of a density.
const WIDEST: u16 = 100;

pub(in crate::tui::view) fn overlay(
    model: &Model,
    card: &Card,
    place: Rect,
) -> Option<Overlay<'static>> {
    let topic = model.topic(card.topic)?;
    let mut lines = topic_lines(model, card, topic);
    let width = text_width(place, card.has_pictures).saturating_sub(NAMES);
    let width = width.min(WIDEST);
    lines.extend(density_line(model, card, topic.is_latched, width));
    lines.push(Line::default());
    let (message, fields) = message(model, card);
    let selected = card.selected_index(&card.fields());
    // A player elsewhere does not tell values over time.
    let selected = selected.filter(|_| !model.facts.is_elsewhere);
    let selected = selected.and_then(|at| fields.get(at));
    let focus = selected.map(|line| lines.len() + line);
    lines.extend(message);
    if let Some(line) = focus.and_then(|focus| lines.get_mut(focus)) {
        select(model, line);
    }
    lines.push(Line::default());
    lines.extend(schema(model, topic));
    let title = words::fit_ends(
        &topic.name,
        usize::from(place.width).saturating_sub(6),
        model.appearance.glyphs.dots,
    );
    Some(Overlay {
        title,
        lines,
        hanging_indent: NAMES.into(),
        focus,
        picture: card.has_pictures.then_some(card.topic),
    })
}

/// Marks the line of the selected field.
fn select(model: &Model, line: &mut Line<'static>) {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    line.style = line.style.patch(theme.selected);
    let Some(first) = line.spans.first_mut() else {
        return;
    };
    if let Some(rest) = first.content.strip_prefix(' ') {
        first.content = format!("{}{rest}", glyphs.cursor).into();
    }
}

fn field(model: &Model, name: &str, value: impl Into<String>) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!(" {name:<14}"), model.appearance.theme.title),
        Span::raw(value.into()),
    ])
}

fn topic_lines(model: &Model, card: &Card, topic: &Topic) -> Vec<Line<'static>> {
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
        let many = format!("  {}{times}", model.appearance.glyphs.times);
        let many = if times > 1 { many.as_str() } else { "" };
        lines.push(field(model, "recorded QoS", profile(qos) + many));
    }
    if topic.offered_qos.is_empty() {
        lines.push(field(model, "recorded QoS", "not recorded"));
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
            (None, None) => "none: this protocol has no QoS profiles".to_owned(),
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
        "{} ({total} in bag), {} resent after seeks, {} late, {} dropped",
        counts.sent, counts.refilled, counts.late, counts.dropped
    );
    lines.push(field(model, "sent", sent));
    lines
}

/// The density of the topic's messages; for a latched topic a line after the first message, as the last one stays
/// valid.
fn density_line(model: &Model, card: &Card, is_latched: bool, width: u16) -> Option<Line<'static>> {
    let (theme, glyphs) = (&model.appearance.theme, &model.appearance.glyphs);
    let lane = model.overview.as_ref()?;
    let mut is_latched_before = false;
    let columns = lane.columns_of(
        card.topic.index(),
        &lane.shares(model.axis(lane.range, 0, width)),
    );
    let column = |column: LaneColumn| {
        is_latched_before |= is_latched && column.level > 0;
        let glyph = match column.level {
            0 if is_latched_before => glyphs.bar,
            level => glyphs.levels[usize::from(level.min(8))],
        };
        Span::styled(glyph, theme.density(column.density))
    };
    let title = Span::styled(format!(" {:<14}", "density"), theme.title);
    let columns = columns.into_iter().map(column);
    Some(std::iter::once(title).chain(columns).collect())
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

/// The lines of the message, and which of them are fields that can be watched, in the order of [`Card::fields`].
fn message(model: &Model, card: &Card) -> (Vec<Line<'static>>, Vec<usize>) {
    let message_line = |text: String| (vec![field(model, "message", text)], Vec::new());
    let Some(result) = &card.message else {
        return message_line("reading".into());
    };
    match &result.outcome {
        MessageAt::NoMessage => message_line("none up to this time".into()),
        MessageAt::Damaged(damage) => message_line(format!("cannot be read: {damage}")),
        MessageAt::Message {
            log_time,
            publish_time,
            header_stamp,
            bytes,
            decoded,
        } => {
            // In the time of the header's clock.
            let shown = |time: Time<Ros>| {
                let time = time.saturating_add(model.facts.clock_shift);
                model
                    .appearance
                    .time_format
                    .show_date(time, &model.facts.zone)
            };
            let age = time_format::span(result.at.saturating_since(*log_time));
            let s = if *bytes == 1 { "" } else { "s" };
            let received = format!("{}, {age} ago, {bytes} byte{s}", shown(*log_time));
            let mut lines = vec![
                field(model, "message", received),
                field(model, "published", shown(*publish_time)),
            ];
            let picture_at = lines.len();
            if card.has_pictures {
                lines.push(field(model, "picture", picture_of(model, card, *log_time)));
            }
            if let Some(stamp) = header_stamp {
                let delay = log_time.saturating_since(*stamp).as_secs_f64();
                let delay = words::number(delay);
                let text = format!("{delay} s after the stamp of its header");
                lines.push(field(model, "delay", text));
            }
            let delay_at = lines.len() - 1;
            let before = lines.len() + usize::from(decoded.problem.is_some());
            lines.extend(decoded_lines(model, decoded));
            let fields = card.fields();
            let at = |it: &CardField| match it.line {
                CardLine::Picture => picture_at,
                CardLine::Delay => delay_at,
                CardLine::Decoded(line) => before + line,
            };
            let places = fields.iter().map(at).collect();
            for it in &fields {
                let pin = Pin {
                    topic: card.topic,
                    field: it.field.clone(),
                };
                if model.watch.pins.contains(&pin)
                    && let Some(line) = lines.get_mut(at(it))
                {
                    line.push_span(Span::styled("  watched", model.appearance.theme.accent));
                }
            }
            (lines, places)
        }
    }
}

/// The picture that is shown, in words, and if it is not that of the message, which is read by itself: by how much its
/// message is earlier or later.
fn picture_of(model: &Model, card: &Card, message: Time<Ros>) -> String {
    let Some((text, time)) = picture::described(model, card.topic) else {
        return String::new();
    };
    let (by, side) = if time < message {
        (message.saturating_since(time), "earlier")
    } else {
        (time.saturating_since(message), "later")
    };
    if time == message {
        text
    } else {
        format!("{text}, of the message {} {side}", time_format::span(by))
    }
}

fn decoded_lines(model: &Model, decoded: &Decoded) -> Vec<Line<'static>> {
    let theme = &model.appearance.theme;
    let mut lines = Vec::new();
    if let Some(problem) = &decoded.problem {
        lines.push(Line::from(Span::styled(
            format!("   {problem}"),
            theme.warning,
        )));
    }
    for line in &decoded.lines {
        let indent = " ".repeat(3 + 2 * line.depth);
        let name = match decoded.format {
            _ if line.name.is_empty() => String::new(),
            PayloadFormat::Hex => format!("{}  ", line.name),
            PayloadFormat::Cdr
            | PayloadFormat::Ros1
            | PayloadFormat::Protobuf
            | PayloadFormat::Json => format!("{}: ", line.name),
        };
        lines.push(Line::from(vec![
            Span::styled(
                format!("{indent}{}", words::with_dots(model, &name)),
                theme.accent,
            ),
            Span::raw(words::with_dots(model, &line.value).into_owned()),
        ]));
    }
    if decoded.is_cut {
        lines.push(Line::from(Span::styled(
            format!("   {}", model.appearance.glyphs.dots),
            theme.dim,
        )));
    }
    lines
}

/// The recorded definition, if it is text.
fn schema(model: &Model, topic: &Topic) -> Vec<Line<'static>> {
    /// The most lines of a definition that are shown.
    const MAX_LINES: usize = 2000;
    let Some(schema) = &topic.schema else {
        return Vec::new();
    };
    let text = std::str::from_utf8(&schema.data).unwrap_or_default();
    if text.trim().is_empty() {
        return Vec::new();
    }
    let heading = Line::from(Span::styled(" definition", model.appearance.theme.title));
    let lines = text.lines().take(MAX_LINES).map(|line| {
        let line: String = line.replace('\t', "    ").chars().take(500).collect();
        Line::from(Span::styled(format!("   {line}"), Style::new()))
    });
    std::iter::once(heading).chain(lines).collect()
}
