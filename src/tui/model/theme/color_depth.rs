//! [`ColorDepth`]: how many colours a terminal shows, and a colour for each number.

use ratatui::style::Color;
use serde::Deserialize;

/// How many colours a terminal shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
pub enum ColorDepth {
    /// The sixteen colours that the terminal itself defines.
    #[serde(rename = "16")]
    Sixteen,
    /// The palette of 256 colours of xterm.
    #[serde(rename = "256")]
    Indexed,
    /// Any colour.
    #[serde(rename = "truecolor")]
    True,
}

impl ColorDepth {
    /// What the environment says of the terminal (`COLORTERM` and `TERM`).
    pub fn of_terminal() -> Self {
        let variable = |name| std::env::var(name).unwrap_or_default();
        Self::of_variables(&variable("COLORTERM"), &variable("TERM"))
    }

    /// `COLORTERM` is set by terminals with any colour, but some set it to their name, and ssh does not pass it on. So
    /// `TERM` counts, too.
    fn of_variables(colorterm: &str, term: &str) -> Self {
        /// Parts of values of terminals with any colour.
        const TRUE: [&str; 8] = [
            "truecolor",
            "24bit",
            "-direct",
            "kitty",
            "alacritty",
            "foot",
            "ghostty",
            "wezterm",
        ];
        let says = |part: &&str| colorterm.contains(*part) || term.contains(*part);
        if TRUE.iter().any(says) {
            Self::True
        } else if colorterm.contains("256") || term.contains("256") {
            Self::Indexed
        } else {
            Self::Sixteen
        }
    }
}

impl ColorDepth {
    /// The colour for `0xRRGGBB` on a terminal. The sixteen colours of a terminal are not known; it has one of 256.
    pub(crate) fn color(self, rgb: u32) -> Color {
        match self {
            Self::Sixteen | Self::Indexed => Color::Indexed(nearest_index(rgb)),
            Self::True => Color::from_u32(rgb),
        }
    }
}

/// A colour of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shade {
    /// As `0xRRGGBB`.
    pub(super) rgb: u32,
    /// The one of the sixteen colours that takes its place.
    pub(super) ansi: Color,
}

impl Shade {
    pub(super) const fn new(rgb: u32, ansi: Color) -> Self {
        Self { rgb, ansi }
    }

    /// The colour for a terminal.
    pub(super) fn color(self, depth: ColorDepth) -> Color {
        match depth {
            ColorDepth::Sixteen => self.ansi,
            ColorDepth::Indexed | ColorDepth::True => depth.color(self.rgb),
        }
    }
}

/// The levels of red, green and blue in the cube of xterm's palette.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The colour `index` of xterm's palette, as `0xRRGGBB`; of the first sixteen, which each terminal defines itself,
/// black.
pub(super) fn indexed(index: u8) -> u32 {
    let channels = match index {
        0..=15 => [0; 3],
        16..=231 => {
            let at = index - 16;
            [at / 36, at / 6 % 6, at % 6].map(|level| CUBE[usize::from(level)])
        }
        232.. => [8 + 10 * (index - 232); 3],
    };
    let [red, green, blue] = channels;
    u32::from_be_bytes([0, red, green, blue])
}

/// The nearest colour of xterm's palette that is the same on all terminals.
fn nearest_index(rgb: u32) -> u8 {
    let distance = |index: &u8| {
        let differences = indexed(*index)
            .to_be_bytes()
            .into_iter()
            .zip(rgb.to_be_bytes());
        differences
            .map(|(one, other)| u32::from(one.abs_diff(other)).pow(2))
            .sum::<u32>()
    };
    (16..=255).min_by_key(distance).unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_the_most_colours_that_either_variable_says() {
        for (colorterm, term, depth) in [
            ("truecolor", "xterm", ColorDepth::True),
            ("24bit", "screen-256color", ColorDepth::True),
            ("", "xterm-direct", ColorDepth::True),
            ("", "xterm-24bit", ColorDepth::True),
            ("", "xterm-kitty", ColorDepth::True),
            ("", "xterm-256color", ColorDepth::Indexed),
            ("gnome-terminal", "xterm-256color", ColorDepth::Indexed),
            ("rxvt", "rxvt", ColorDepth::Sixteen),
            ("", "xterm", ColorDepth::Sixteen),
            ("", "", ColorDepth::Sixteen),
        ] {
            let found = ColorDepth::of_variables(colorterm, term);
            assert_eq!(found, depth, "{colorterm} {term}");
        }
    }

    #[test]
    fn a_colour_of_the_palette_is_its_own_nearest() {
        for index in 16..=255 {
            let rgb = indexed(index);
            assert_eq!(indexed(nearest_index(rgb)), rgb, "{index}");
        }
        assert_eq!(indexed(208), 0xff_87_00);
        assert_eq!(indexed(244), 0x80_80_80);
        assert_eq!(nearest_index(0xfe_88_01), 208);
    }
}
