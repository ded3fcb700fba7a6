//! Draws a picture into cells of the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::words;
use crate::bag::TopicId;
use crate::picture::{Picture, PixelSize};
use crate::time::{Ros, Time};
use crate::tui::model::layout::{Detail, Size};
use crate::tui::model::theme::color_depth::ColorDepth;
use crate::tui::model::{Model, time_format};
use crate::tui::pictures::found::{PictureAt, PictureSlot};
use crate::tui::pictures::style::PictureStyle;

/// From dark to bright, on a dark background.
const SHADES: &[u8] = b" .:-=+*#%@";

/// Draws the picture of a topic in the middle of `place`, or in words why there is none.
pub(super) fn draw(model: &Model, topic: TopicId, place: Rect, out: &mut Buffer) {
    // A terminal may have no rows.
    let place = place.intersection(out.area);
    if place.is_empty() {
        return;
    }
    let glyphs = &model.appearance.glyphs;
    let is_left_out = model.detail == Detail::Reduced;
    match found(model, topic, place).filter(|_| !is_left_out) {
        Some(PictureAt::Picture {
            encoded: Some(encoded),
            ..
        }) => encoded.draw(place, out),
        Some(PictureAt::Picture { picture, .. }) => draw_in_cells(model, picture, place, out),
        other => {
            let text = match other {
                Some(PictureAt::Problem(problem)) => problem,
                Some(_) => "no picture up to this time",
                None if is_left_out => "no picture: the line to this terminal is too slow",
                None => "reading",
            };
            let text = words::fit(text, place.width.into(), glyphs.dots);
            out.set_stringn(
                place.x,
                place.y,
                text,
                place.width.into(),
                model.appearance.theme.dim,
            );
        }
    }
}

/// The picture in words: its size, its encoding and its age; empty if there is none.
pub(super) fn in_words(model: &Model, topic: TopicId) -> String {
    described(model, topic).map_or_else(String::new, |(text, log_time)| {
        let age = time_format::span(model.playhead().saturating_since(log_time));
        format!("{text}, {age} ago")
    })
}

/// The size and the encoding of the picture, and when its message was received; `None` if there is no picture.
pub(super) fn described(model: &Model, topic: TopicId) -> Option<(String, Time<Ros>)> {
    let PictureAt::Picture {
        picture, log_time, ..
    } = found(model, topic, Rect::ZERO)?
    else {
        return None;
    };
    let encoding = crate::untrusted::Foreign::text(&picture.encoding).at_most(40);
    Some((format!("{} {encoding}", picture.recorded), *log_time))
}

fn found(model: &Model, topic: TopicId, place: Rect) -> Option<&PictureAt> {
    let cells = Size {
        width: place.width,
        height: place.height,
    };
    model.pictures.as_ref()?.of(PictureSlot { topic, cells })
}

/// Two pixels in each cell, or a character for both.
fn draw_in_cells(model: &Model, picture: &Picture, place: Rect, out: &mut Buffer) {
    let room = PixelSize {
        width: place.width.into(),
        height: u32::from(place.height) * 2,
    };
    let pixels = picture.pixels.fitted(room);
    let size = pixels.size();
    let columns = u16::try_from(size.width).unwrap_or(u16::MAX);
    let rows = u16::try_from(size.height.div_ceil(2)).unwrap_or(u16::MAX);
    let left = place.x + place.width.saturating_sub(columns) / 2;
    for (y, row) in (place.y..place.bottom()).zip(0..rows) {
        for (x, column) in (left..place.right()).zip(0..columns) {
            let (upper, lower) = (u32::from(row) * 2, u32::from(row) * 2 + 1);
            let upper = pixels.at(column.into(), upper);
            let lower = (lower < size.height).then(|| pixels.at(column.into(), lower));
            let cell = &mut out[(x, y)];
            if let PictureStyle::Blocks(depth) = &model.appearance.pictures {
                let mut style = Style::new().fg(color(*depth, upper));
                if let Some(lower) = lower {
                    style = style.bg(color(*depth, lower));
                }
                cell.set_symbol("▀").set_style(style);
            } else {
                let shade = SHADES[shade(upper, lower.unwrap_or_default())];
                cell.set_char(shade.into());
            }
        }
    }
}

fn color(depth: ColorDepth, [red, green, blue]: [u8; 3]) -> ratatui::style::Color {
    depth.color(u32::from_be_bytes([0, red, green, blue]))
}

/// The index of the shade of two pixels, by the brightness of ITU-R BT.601.
fn shade(upper: [u8; 3], lower: [u8; 3]) -> usize {
    let brightness = |[red, green, blue]: [u8; 3]| {
        299 * usize::from(red) + 587 * usize::from(green) + 114 * usize::from(blue)
    };
    let most = 2 * 255 * 1000;
    (brightness(upper) + brightness(lower)) * (SHADES.len() - 1) / most
}
