//! [`Palette`]: the colours of each theme, for dark and for light backgrounds.
//!
//! One accent, in a few shades: what plays, the density, the read-ahead and the loop. Holes, damage and warnings have
//! a colour each, and red is left to errors. On any background that [`Background`] stands for, text has a contrast of
//! at least 4.5 and a shape of 3 (WCAG 2.1, level AA); a test measures all themes.

use ratatui::style::Color;
use serde::Deserialize;

use super::color_depth::Shade;

/// Whether text is lighter or darker than the background.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Background {
    /// From black to a dark grey.
    Dark,
    /// From white to a light grey or beige.
    Light,
}

impl Background {
    /// As `COLORFGBG` tells it, which some terminals set: two or three numbers of colours, the background last.
    pub fn of_variable(value: &str) -> Option<Self> {
        let colour: u8 = value.rsplit(';').next()?.parse().ok()?;
        match colour {
            7 | 9..=15 => Some(Self::Light),
            0..=6 | 8 => Some(Self::Dark),
            16.. => None,
        }
    }
}

/// A family of colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Family {
    #[default]
    Blue,
    /// Colours that most people who are colour-blind can tell apart (Okabe and Ito).
    Safe,
    Amber,
}

/// The colours of a screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Palette {
    pub(super) accent: Shade,
    pub(super) low_density: Shade,
    pub(super) usual_density: Shade,
    pub(super) high_density: Shade,
    pub(super) read_ahead: Shade,
    pub(super) ab_loop: Shade,
    pub(super) mark: Shade,
    pub(super) hole: Shade,
    pub(super) damage: Shade,
    pub(super) warning: Shade,
    pub(super) error: Shade,
    /// What is less important.
    pub(super) dim: Shade,
    /// Behind the selected row.
    pub(super) selected: Shade,
}

impl Palette {
    pub(super) fn new(family: Family, background: Background) -> Self {
        match (family, background) {
            (Family::Blue, Background::Dark) => BLUE_ON_DARK,
            (Family::Blue, Background::Light) => BLUE_ON_LIGHT,
            (Family::Safe, Background::Dark) => SAFE_ON_DARK,
            (Family::Safe, Background::Light) => SAFE_ON_LIGHT,
            (Family::Amber, Background::Dark) => AMBER_ON_DARK,
            (Family::Amber, Background::Light) => AMBER_ON_LIGHT,
        }
    }
}

const BLUE_ON_DARK: Palette = Palette {
    accent: Shade::new(0x5c_c8_ff, Color::LightCyan),
    low_density: Shade::new(0x3b_82_a8, Color::Blue),
    usual_density: Shade::new(0x4e_a6_d3, Color::Cyan),
    high_density: Shade::new(0xa9_e1_ff, Color::LightCyan),
    read_ahead: Shade::new(0x4e_a6_d3, Color::LightBlue),
    ab_loop: Shade::new(0xa9_e1_ff, Color::LightCyan),
    mark: Shade::new(0xd6_b8_ff, Color::LightMagenta),
    hole: Shade::new(0xff_9e_4a, Color::Yellow),
    damage: Shade::new(0xf0_8c_d8, Color::Magenta),
    warning: Shade::new(0xf2_d3_4f, Color::LightYellow),
    error: Shade::new(0xff_7b_72, Color::LightRed),
    dim: Shade::new(0x95_9c_a8, Color::DarkGray),
    selected: Shade::new(0x16_3a_50, Color::Blue),
};

const BLUE_ON_LIGHT: Palette = Palette {
    accent: Shade::new(0x08_60_a0, Color::Blue),
    low_density: Shade::new(0x4a_88_b0, Color::Cyan),
    usual_density: Shade::new(0x2b_78_ab, Color::Blue),
    high_density: Shade::new(0x0a_4a_78, Color::Blue),
    read_ahead: Shade::new(0x2b_78_ab, Color::Blue),
    ab_loop: Shade::new(0x0a_4a_78, Color::Blue),
    mark: Shade::new(0x6a_3f_b5, Color::Magenta),
    hole: Shade::new(0x9b_48_00, Color::Red),
    damage: Shade::new(0xa3_21_8a, Color::Magenta),
    warning: Shade::new(0x7a_5c_00, Color::Magenta),
    error: Shade::new(0xb8_23_2f, Color::Red),
    dim: Shade::new(0x5c_64_70, Color::DarkGray),
    selected: Shade::new(0xcf_e6_f5, Color::Gray),
};

const SAFE_ON_DARK: Palette = Palette {
    accent: Shade::new(0x56_b4_e9, Color::LightCyan),
    low_density: Shade::new(0x3b_82_a8, Color::Blue),
    usual_density: Shade::new(0x4a_9b_cb, Color::Cyan),
    high_density: Shade::new(0xb3_de_f7, Color::LightCyan),
    read_ahead: Shade::new(0x4a_9b_cb, Color::LightBlue),
    ab_loop: Shade::new(0xb3_de_f7, Color::LightCyan),
    mark: Shade::new(0x5f_d3_b0, Color::LightGreen),
    hole: Shade::new(0xe6_9f_00, Color::Yellow),
    damage: Shade::new(0xe5_a3_c8, Color::LightMagenta),
    warning: Shade::new(0xf0_e4_42, Color::LightYellow),
    error: Shade::new(0xff_8a_4c, Color::LightRed),
    ..BLUE_ON_DARK
};

const SAFE_ON_LIGHT: Palette = Palette {
    accent: Shade::new(0x00_62_9b, Color::Blue),
    mark: Shade::new(0x00_6b_56, Color::Green),
    hole: Shade::new(0x8a_5a_00, Color::Yellow),
    damage: Shade::new(0x9a_3a_78, Color::Magenta),
    warning: Shade::new(0x6b_62_00, Color::Yellow),
    error: Shade::new(0x9b_3e_00, Color::Red),
    ..BLUE_ON_LIGHT
};

const AMBER_ON_DARK: Palette = Palette {
    accent: Shade::new(0xff_b7_33, Color::LightYellow),
    low_density: Shade::new(0xa0_72_30, Color::Yellow),
    usual_density: Shade::new(0xd0_90_35, Color::Yellow),
    high_density: Shade::new(0xff_e0_a3, Color::LightYellow),
    read_ahead: Shade::new(0xd0_90_35, Color::Yellow),
    ab_loop: Shade::new(0xff_e0_a3, Color::LightYellow),
    mark: Shade::new(0xe6_d5_b8, Color::White),
    hole: Shade::new(0x5f_d0_d6, Color::LightCyan),
    damage: Shade::new(0xd9_a0_ff, Color::LightMagenta),
    warning: Shade::new(0xff_f0_7a, Color::LightYellow),
    error: Shade::new(0xff_7b_72, Color::LightRed),
    dim: Shade::new(0xa3_9a_8c, Color::DarkGray),
    selected: Shade::new(0x4a_34_12, Color::Blue),
};

const AMBER_ON_LIGHT: Palette = Palette {
    accent: Shade::new(0x8a_52_00, Color::Yellow),
    low_density: Shade::new(0x9e_73_34, Color::Yellow),
    usual_density: Shade::new(0x9a_6a_1c, Color::Yellow),
    high_density: Shade::new(0x5c_3a_00, Color::Black),
    read_ahead: Shade::new(0x9a_6a_1c, Color::Yellow),
    ab_loop: Shade::new(0x5c_3a_00, Color::Black),
    mark: Shade::new(0x6b_5a_3a, Color::Black),
    hole: Shade::new(0x00_70_7a, Color::Cyan),
    damage: Shade::new(0x7b_2f_a1, Color::Magenta),
    warning: Shade::new(0x6e_60_00, Color::Red),
    error: Shade::new(0xb8_23_2f, Color::Red),
    dim: Shade::new(0x6a_62_52, Color::DarkGray),
    selected: Shade::new(0xf5_e2_bd, Color::Gray),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::model::theme::color_depth::{ColorDepth, indexed};

    /// WCAG 2.1, relative luminance.
    fn luminance(rgb: u32) -> f64 {
        let [_, red, green, blue] = rgb.to_be_bytes().map(|channel| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.03928 {
                share / 12.92
            } else {
                ((share + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// WCAG 2.1, contrast ratio.
    fn contrast(one: u32, other: u32) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn contrast_is_that_of_the_standard() {
        assert!((contrast(0, 0xff_ff_ff) - 21.0).abs() < 1e-9);
        assert!((contrast(0x77_77_77, 0xff_ff_ff) - 4.48).abs() < 0.01);
    }

    #[test]
    fn every_theme_has_the_contrast_of_level_aa() {
        let shown = |shade: Shade, depth| match shade.color(depth) {
            Color::Indexed(index) => indexed(index),
            _ => shade.rgb,
        };
        for family in [Family::Blue, Family::Safe, Family::Amber] {
            for (background, behind) in [
                (Background::Dark, [0, 0x1e_1e_1e, 0x28_2c_34]),
                (Background::Light, [0xff_ff_ff, 0xfd_f6_e3, 0xf0_f0_f0]),
            ] {
                let Palette {
                    accent,
                    low_density,
                    usual_density,
                    high_density,
                    read_ahead,
                    ab_loop,
                    mark,
                    hole,
                    damage,
                    warning,
                    error,
                    dim,
                    selected,
                } = Palette::new(family, background);
                let text = [accent, ab_loop, mark, hole, damage, warning, error, dim];
                let text = text.map(|shade| (shade, 4.5));
                let shapes = [low_density, usual_density, high_density, read_ahead];
                let shapes = shapes.map(|shade| (shade, 3.0));
                for (shade, least) in text.into_iter().chain(shapes) {
                    for depth in [ColorDepth::Indexed, ColorDepth::True] {
                        let shown = shown(shade, depth);
                        for behind in behind {
                            let found = contrast(shown, behind);
                            let what = format!("{family:?} {:06x} on {behind:06x}", shade.rgb);
                            assert!(found >= least, "{what}, {depth:?}: {found:.2}");
                        }
                        // In the selected row counts may be errors, and lanes have a shape.
                        let found = contrast(shown, selected.rgb);
                        let what = format!("{family:?} {:06x} in the selected row", shade.rgb);
                        let least = least.min(3.5) - 1.0;
                        assert!(found >= least, "{what}, {depth:?}: {found:.2}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_variable_gives_the_background_last() {
        for (value, background) in [
            ("15;0", Some(Background::Dark)),
            ("0;15", Some(Background::Light)),
            ("0;default;7", Some(Background::Light)),
            ("7;8", Some(Background::Dark)),
            ("nonsense", None),
            ("0;99", None),
            ("", None),
        ] {
            assert_eq!(Background::of_variable(value), background, "{value}");
        }
    }
}
