//! Models drawn for snapshots: as text at several sizes, and as styles.

use std::fmt::Write as _;

use bagplay::tui::{Model, Size};
use ratatui::style::{Color, Modifier, Style};

use super::demo_model::*;

/// The sizes of the main classes.
pub(crate) const CLASSES: [(u16, u16); 4] = [(200, 50), (120, 40), (80, 24), (40, 12)];

/// Several frames, each under its title.
#[derive(Default)]
pub(crate) struct Frames(pub(crate) String);

impl Frames {
    pub(crate) fn add(&mut self, title: &str, model: &Model, size: Size) {
        let line = "=".repeat(
            usize::from(size.width)
                .saturating_sub(title.len() + 4)
                .max(3),
        );
        writeln!(self.0, "== {title} {line}\n{}", picture(model, size)).unwrap();
    }

    pub(crate) fn of_sizes(model: &Model, steps: &[(u16, u16)]) -> String {
        let mut frames = Self::default();
        for (width, height) in steps {
            frames.add(&format!("{width}x{height}"), model, size(*width, *height));
        }
        frames.0
    }
}

/// Every row as runs of one style each, without blank runs of the default style.
pub(crate) fn styles(model: &Model, size: Size) -> String {
    let (buffer, _) = drawn(model, size);
    let mut text = String::new();
    for row in 0..size.height {
        let mut runs: Vec<(String, String)> = Vec::new();
        for column in 0..size.width {
            let cell = &buffer[(column, row)];
            let style = named(cell.style());
            match runs.last_mut() {
                Some((last, text)) if *last == style => text.push_str(cell.symbol()),
                _ => runs.push((style, cell.symbol().to_owned())),
            }
        }
        let shown = runs
            .iter()
            .filter(|(style, text)| !style.is_empty() || !text.trim().is_empty());
        let shown = shown.map(|(style, text)| {
            let gap = if style.is_empty() { "" } else { " " };
            format!(
                "{style}{gap}{:?}",
                if style.contains("reversed") {
                    text
                } else {
                    text.trim()
                }
            )
        });
        writeln!(text, "{row:2}: {}", shown.collect::<Vec<_>>().join(", ")).unwrap();
    }
    text
}

fn named(style: Style) -> String {
    let mut words = Vec::new();
    for (what, color) in [("fg", style.fg), ("bg", style.bg)] {
        if let Some(color) = color.filter(|color| *color != Color::Reset) {
            words.push(format!("{what}:{color}"));
        }
    }
    for (name, modifier) in [
        ("bold", Modifier::BOLD),
        ("dim", Modifier::DIM),
        ("reversed", Modifier::REVERSED),
    ] {
        if style.add_modifier.contains(modifier) {
            words.push(name.to_owned());
        }
    }
    words.join(" ")
}
