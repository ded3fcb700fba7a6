//! [`MouseReports`]: which mouse events the terminal reports. A frame carries the sequence that changes it.

/// Which mouse events the terminal reports, in coordinates of any size (mode 1006).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum MouseReports {
    /// None: the terminal selects text.
    #[default]
    Off,
    /// Buttons, drags and the wheel (mode 1002).
    Buttons,
    /// Every move, too (mode 1003).
    Moves,
}

impl MouseReports {
    /// The sequence that selects it, whatever was selected before.
    pub(crate) const fn sequence(self) -> &'static str {
        match self {
            Self::Off => "\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l",
            Self::Buttons => "\x1b[?1003l\x1b[?1000h\x1b[?1002h\x1b[?1006h",
            Self::Moves => "\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1006h",
        }
    }
}
