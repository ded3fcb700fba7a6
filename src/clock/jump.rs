//! Jumps: what happened to a clock's time ([`JumpEvent`]), who wants to know ([`JumpFilter`]) and for how
//! long ([`JumpHandle`]).
//!
//! A handler is called before the jump and after it, in the order of registration, on the thread that
//! moved the time, while no lock is held. On a backward jump other threads' `now()` waits until the handlers
//! are done (requirement T50), so their thread waits for nobody, neither in them nor between them: whatever
//! is not ours runs in `contained`. What they may do says [`Clock::on_jump`](super::handle::Clock::on_jump).

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, Weak};
use std::{fmt, mem};

use super::sync::{AtomicBool, AtomicU64, Mutex, Ordering};
use crate::clock::source::keep_alive::Life;
use crate::clock::state::core::Core;
use crate::clock::state::handler_gate::Place;
use crate::time::{Duration, Ros, Speed, Time};

/// What kind of jump it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JumpKind {
    /// The first value of an active source: until then the time was zero, which means none (T20, T21).
    Started,
    /// The source stepped forwards. Ticks are steps too; a filter says which ones count.
    Forward,
    /// The source stepped back. A sleep also ends with it, before and after being the same, where time that goes
    /// on by itself turns to run backwards.
    Backward,
    /// A source took over from the system clock.
    Activated,
    /// The system clock took over from the source.
    Deactivated,
}

/// One jump of a ROS clock (requirement T51).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JumpEvent {
    /// What happened.
    pub kind: JumpKind,
    /// The time before it; zero if there was none.
    pub before: Time<Ros>,
    /// The time after it; zero if a source became active that has not said anything yet.
    pub after: Time<Ros>,
}

impl JumpEvent {
    /// From before to after, held at ±292 years; also where the clock changed and the number means little.
    pub const fn delta(self) -> Duration {
        self.after.saturating_since(self.before)
    }

    /// Whether another clock took over, so that times before and after do not compare. The first value is
    /// that, too, where the machine's clock was shown until then ([`Fallback`](crate::clock::state::change::Fallback)).
    pub const fn is_clock_change(self) -> bool {
        let left_the_fallback =
            matches!(self.kind, JumpKind::Started) && self.before.as_nanos() != 0;
        left_the_fallback || matches!(self.kind, JumpKind::Activated | JumpKind::Deactivated)
    }

    /// Whether it is from one value of the source to another.
    pub(crate) const fn is_step(self) -> bool {
        matches!(self.kind, JumpKind::Forward | JumpKind::Backward)
    }

    /// What a step of the source between two of its values is; nothing if they are the same.
    pub(crate) fn step(before: Time<Ros>, after: Time<Ros>) -> Option<Self> {
        let kind = match after.cmp(&before) {
            std::cmp::Ordering::Less => JumpKind::Backward,
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => JumpKind::Forward,
        };
        Some(Self {
            kind,
            before,
            after,
        })
    }
}

/// A source that turns round: its factor changes sign (requirement T53).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reversal {
    /// The time at which it turns.
    pub at: Time<Ros>,
    /// The factor from here on.
    pub speed: Speed,
}

/// Before or after the jump takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// The clock still shows the time before.
    Before,
    /// The clock shows the time after, to this thread.
    After,
}

/// Which jumps a handler is called for: any that one of its parts asks for, once each (T52).
///
/// ```
/// use bagplay::time::Duration;
/// use bagplay::clock::JumpFilter;
/// let filter = JumpFilter::new().min_backward(Duration::from_nanos(1)).clock_changes();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct JumpFilter {
    min_forward: Option<Duration>,
    min_backward: Option<Duration>,
    clock_changes: bool,
    start: bool,
}

/// A filter that could never match, or a threshold that is not positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidFilter {
    /// Thresholds are distances; leave one out to not be called for that direction.
    #[error("a jump threshold of {0} is not positive\nhint: leave it out to ignore that direction")]
    NotPositive(Duration),
    /// It asks for nothing.
    #[error("the jump filter asks for nothing")]
    Empty,
}

impl JumpFilter {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            min_forward: None,
            min_backward: None,
            clock_changes: false,
            start: false,
        }
    }

    /// Every jump, tick or not.
    pub const fn any() -> Self {
        let least = Duration::from_nanos(1);
        Self::new()
            .min_forward(least)
            .min_backward(least)
            .clock_changes()
            .start()
    }

    /// Steps forwards by `least` or more; positive.
    #[must_use]
    pub const fn min_forward(mut self, least: Duration) -> Self {
        self.min_forward = Some(least);
        self
    }

    /// Steps back by `least` or more; positive. Time that runs backwards by itself
    /// ([`Extrapolation`](crate::clock::state::extrapolate::Extrapolation)) makes none: see [`on_reverse`](super::handle::Clock::on_reverse).
    #[must_use]
    pub const fn min_backward(mut self, least: Duration) -> Self {
        self.min_backward = Some(least);
        self
    }

    /// A source taking over from the system clock or giving back to it; also with its first value, where the
    /// machine's clock was shown until then.
    #[must_use]
    pub const fn clock_changes(mut self) -> Self {
        self.clock_changes = true;
        self
    }

    /// The first value of an active source.
    #[must_use]
    pub const fn start(mut self) -> Self {
        self.start = true;
        self
    }

    /// Whether a handler with this filter is called for `event`.
    pub fn matches(self, event: JumpEvent) -> bool {
        let reaches =
            |least: Option<Duration>, way: Duration| least.is_some_and(|least| way >= least);
        match event.kind {
            JumpKind::Started => self.start || (self.clock_changes && event.is_clock_change()),
            JumpKind::Forward => reaches(self.min_forward, event.delta()),
            JumpKind::Backward => reaches(self.min_backward, -event.delta()),
            JumpKind::Activated | JumpKind::Deactivated => self.clock_changes,
        }
    }

    pub(crate) fn check(self) -> Result<Self, InvalidFilter> {
        let thresholds = [self.min_forward, self.min_backward];
        if let Some(bad) = thresholds
            .into_iter()
            .flatten()
            .find(|least| *least <= Duration::ZERO)
        {
            return Err(InvalidFilter::NotPositive(bad));
        }
        if self == Self::new() {
            return Err(InvalidFilter::Empty);
        }
        Ok(self)
    }
}

/// Keeps a handler registered, and what brings the clock its time; dropping it ends that. A call that is under way is
/// not waited for. A handler that owns its own handle for good keeps both, and the source, for ever.
#[must_use = "dropping the handle removes the handler"]
#[derive(Debug)]
pub struct JumpHandle {
    handler: Arc<Handler>,
    core: Weak<Core>,
    _life: Arc<Life>,
}

impl JumpHandle {
    pub(crate) const fn new(handler: Arc<Handler>, core: Weak<Core>, life: Arc<Life>) -> Self {
        Self {
            handler,
            core,
            _life: life,
        }
    }

    /// How many calls of the handler have panicked.
    pub fn panics(&self) -> u64 {
        self.handler.panics.load(Ordering::Relaxed)
    }
}

impl Drop for JumpHandle {
    fn drop(&mut self) {
        self.handler.is_gone.store(true, Ordering::Release);
        if let Some(core) = self.core.upgrade() {
            core.remove(&self.handler);
        }
    }
}

/// What handlers are told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    Jump(JumpEvent),
    Reversal(Reversal),
    Tick(Time<Ros>),
}

/// What a handler wants to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    Jumps(JumpFilter),
    Reversals,
    Ticks,
}

pub(crate) struct Handler {
    wanted: Wanted,
    place: Arc<Place>,
    is_gone: AtomicBool,
    panics: AtomicU64,
    call: Mutex<Box<dyn FnMut(Phase, Notice) + Send>>,
}

#[cfg(not(model))]
thread_local! {
    static HANDLING: Cell<u32> = const { Cell::new(0) };
    static SERVING: RefCell<Vec<HubId>> = const { RefCell::new(Vec::new()) };
}

#[cfg(model)]
loom::thread_local! {
    static HANDLING: Cell<u32> = Cell::new(0);
    static SERVING: RefCell<Vec<HubId>> = RefCell::new(Vec::new());
}

/// Tells the hubs of a process apart.
pub(crate) type HubId = u64;

/// This thread brings all clocks of a hub their time, until it is dropped.
#[derive(Debug)]
pub(crate) struct Serving(());

impl Serving {
    pub(crate) fn of(hub: HubId) -> Self {
        SERVING.with(|hubs| hubs.borrow_mut().push(hub));
        Self(())
    }

    /// Whether a clock of the hub that waits in this thread waits for it in vain.
    pub(crate) fn is_here(hub: HubId) -> bool {
        SERVING.with(|hubs| hubs.borrow().contains(&hub))
    }

    /// The same; also a thread that has ended but for what it still has to drop.
    pub(crate) fn may_be_here(hub: HubId) -> bool {
        let is_here = SERVING.try_with(|hubs| hubs.borrow().contains(&hub));
        is_here.unwrap_or(true)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        SERVING.with(|hubs| hubs.borrow_mut().pop());
    }
}

/// Whether this thread runs handlers, of whichever clock. It then waits for no clock's handlers, so that they
/// cannot wait for each other in a circle.
pub(crate) fn is_handling() -> bool {
    HANDLING.with(Cell::get) > 0
}

/// This thread runs handlers, until it is dropped.
#[derive(Debug)]
pub(crate) struct Handlers(());

impl Handlers {
    pub(crate) fn run() -> Self {
        HANDLING.with(|depth| depth.set(depth.get() + 1));
        Self(())
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        HANDLING.with(|depth| depth.set(depth.get() - 1));
    }
}

/// Runs what others wrote. Whether it came back: a panic in it ends here, as does one in what that leaves behind.
pub(crate) fn contained(call: impl FnOnce()) -> bool {
    let Err(panic) = catch_unwind(AssertUnwindSafe(call)) else {
        return true;
    };
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        mem::forget(another);
    }
    false
}

impl Handler {
    #[track_caller]
    pub(crate) fn new(wanted: Wanted, call: Box<dyn FnMut(Phase, Notice) + Send>) -> Self {
        Self {
            wanted,
            place: Place::here(),
            is_gone: AtomicBool::new(false),
            panics: AtomicU64::new(0),
            call: Mutex::new(call),
        }
    }

    /// Where it was registered.
    pub(crate) fn place(&self) -> Arc<Place> {
        Arc::clone(&self.place)
    }

    pub(crate) fn wants(&self, notice: Notice) -> bool {
        match (self.wanted, notice) {
            (Wanted::Jumps(filter), Notice::Jump(event)) => filter.matches(event),
            (Wanted::Reversals, Notice::Reversal(_)) | (Wanted::Ticks, Notice::Tick(_)) => true,
            _ => false,
        }
    }

    pub(crate) fn run(&self, phase: Phase, notice: Notice) {
        if self.is_gone.load(Ordering::Acquire) {
            return;
        }
        let mut call = self.call.lock().unwrap_or_else(PoisonError::into_inner);
        let came_back = contained(|| call(phase, notice));
        drop(call);
        if !came_back {
            self.panics.fetch_add(1, Ordering::Relaxed);
            // Subscribers of the log are not ours either.
            contained(|| {
                tracing::error!(
                    "a handler of {notice:?} panicked; the others are called all the same"
                );
            });
        }
    }
}

/// Wherever the last of it goes, often on a thread that others wait for.
impl Drop for Handler {
    fn drop(&mut self) {
        let call = self.call.get_mut().unwrap_or_else(PoisonError::into_inner);
        let call = mem::replace(call, Box::new(|_, _| {}));
        contained(|| drop(call));
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler")
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}
