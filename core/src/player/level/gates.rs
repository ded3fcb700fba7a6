//! [`GateHandle`]: the gates of a player. Any thread opens and closes them; the machine reads them before
//! everything that it sends.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bag::Waker;

/// A condition outside the machine that playback waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gate {
    /// The required subscribers are there.
    Subscribers,
    /// The connection to the network is up.
    Path,
    /// The delay before the start is over.
    Delay,
    /// What was sent has been answered. An output that waits for answers closes it while it takes a message or the
    /// clock.
    Answer,
    /// The clock that is followed is known. The machine closes this gate by itself, only while it follows a clock.
    Lead,
}

const ALL: [Gate; 5] = [
    Gate::Subscribers,
    Gate::Path,
    Gate::Delay,
    Gate::Answer,
    Gate::Lead,
];

impl Gate {
    /// The gate with this [`Gate::name`].
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|gate| gate.name() == name)
    }

    /// One word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Subscribers => "subscribers",
            Self::Path => "path",
            Self::Delay => "delay",
            Self::Answer => "answer",
            Self::Lead => "lead",
        }
    }
}

/// The gates that are closed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Gates(u8);

impl Gates {
    /// None closed.
    pub const OPEN: Self = Self(0);

    const fn bit(gate: Gate) -> u8 {
        1 << gate as u8
    }

    /// With `gate` closed as well.
    #[must_use]
    pub const fn close(self, gate: Gate) -> Self {
        Self(self.0 | Self::bit(gate))
    }

    /// With `gate` open.
    #[must_use]
    pub const fn open(self, gate: Gate) -> Self {
        Self(self.0 & !Self::bit(gate))
    }

    /// The gates that are closed, one by one.
    pub fn iter(self) -> impl Iterator<Item = Gate> {
        ALL.into_iter().filter(move |gate| self.is_closed(*gate))
    }

    /// Whether `gate` is closed.
    pub const fn is_closed(self, gate: Gate) -> bool {
        self.0 & Self::bit(gate) != 0
    }

    /// Whether playback may pass.
    pub const fn is_open(self) -> bool {
        self.0 == 0
    }

    /// Whether steps may pass: they wait for answers, but neither for subscribers nor for a clock that is followed.
    pub const fn lets_steps_pass(self) -> bool {
        self.open(Gate::Subscribers)
            .open(Gate::Delay)
            .open(Gate::Lead)
            .is_open()
    }

    /// Whether steps are refused instead of waiting: what is sent without a connection is lost.
    pub const fn refuses_steps(self) -> bool {
        self.is_closed(Gate::Path)
    }
}

/// Opens and closes the gates of a player from any thread, without waiting for the player.
///
/// The machine reads the gates before each message, each clock message and the end, and after each of them. So when
/// [`GateHandle::close`] returns, at most the one thing goes out whose sending had begun; if an output closes a gate
/// while it takes a message or the clock, nothing goes out after that. Position and clock then stay at the time of
/// that message until all gates are open; if only [`Gate::Subscribers`] is closed and nothing is left to play, playback
/// ends.
#[derive(Clone)]
pub struct GateHandle {
    /// In the lowest byte the gates that are closed; above, how often [`Gate::Path`] was opened.
    level: Arc<AtomicU64>,
    wake: Option<Waker>,
}

/// The level of the gates at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Level(u64);

impl Level {
    /// The gates that are closed.
    pub(crate) fn gates(self) -> Gates {
        Gates(self.0.to_le_bytes()[0])
    }

    /// How often the path came back.
    pub(crate) fn path_returns(self) -> u64 {
        self.0 >> u8::BITS
    }
}

impl GateHandle {
    /// Gates that are open; `wake` is called when one of them changes.
    pub(crate) fn new(wake: Option<Waker>) -> Self {
        Self {
            level: Arc::default(),
            wake,
        }
    }

    /// Closes a gate.
    pub fn close(&self, gate: Gate) {
        let bit = u64::from(Gates::bit(gate));
        if self.level.fetch_or(bit, Ordering::SeqCst) & bit == 0 {
            self.changed();
        }
    }

    /// Opens a gate.
    pub fn open(&self, gate: Gate) {
        let bit = u64::from(Gates::bit(gate));
        let returns = if gate == Gate::Path { 1 << u8::BITS } else { 0 };
        let open = |level: u64| {
            let is_closed = level & bit != 0;
            is_closed.then(|| (level & !bit).wrapping_add(returns))
        };
        let opened = self
            .level
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, open);
        if opened.is_ok() {
            self.changed();
        }
    }

    /// The gates that are closed now.
    pub fn closed(&self) -> Gates {
        self.level().gates()
    }

    /// Closes all of these gates.
    pub(crate) fn close_all(&self, gates: Gates) {
        for gate in ALL.into_iter().filter(|gate| gates.is_closed(*gate)) {
            self.close(gate);
        }
    }

    #[inline]
    pub(crate) fn level(&self) -> Level {
        Level(self.level.load(Ordering::SeqCst))
    }

    fn changed(&self) {
        if let Some(wake) = &self.wake {
            wake();
        }
    }
}

impl fmt::Debug for GateHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GateHandle").field(&self.closed()).finish()
    }
}
