//! [`Settling`]: the rule by which threads count as settled. It reads no file and no clock.
//!
//! | the last look | what it showed | next |
//! |---|---|---|
//! | how much all have run | nothing to compare it with | the same again after 50 µs |
//! | the same, 50 µs after another | a thread has run since then, or threads came or went | the same again after a pause |
//! | the same, after a longer pause | the same | the same again after 50 µs |
//! | the same | no thread has run for 50 µs | the proof |
//! | the same | nothing else runs on the machine | the proof |
//! | the proof | a thread runs, waits for a device, is stopped, or sleeps in a callback | a look at that thread alone, after a pause |
//! | the proof | a thread has run, or threads came or went | how much all have run, after a pause |
//! | the proof | neither, and no thread has run for 50 µs or nothing else runs on the machine | settled |
//! | the proof | neither, too early while other threads of the machine run | how much all have run, after a pause |
//! | at one thread | it is as it was | the same again after a pause |
//! | at one thread | it is not any more, or gone | how much all have run |
//!
//! The states of the proof are read between two readings of how much the threads have run, and those must be equal. One
//! reading of the states alone is no proof: a thread read early may be woken by one read late, which then sleeps, so
//! that both were seen asleep. But what neither got a processor nor left one between the two readings was either
//! running all the time, and was seen so, or was not running at all and woke no other thread.
//!
//! A thread that wakes up every millisecond runs in every pause of two. So a look 50 µs later follows a long pause.
//!
//! While nothing else runs on the machine, no message is on its way in a thread of the system, so the looks need not be
//! 50 µs apart. That alone does not prove that the threads sleep: one that was woken for another processor is not
//! counted until that processor takes it, but its state is runnable.
//!
//! A thread that has run since the mark and now stands in `nanosleep` sleeps in a callback. One that usually stands
//! there when something is sent sleeps by itself (a loop with a rate). It may run at one mark, so marks are counted. A
//! thread that is runnable and has got no processor since the last look of a mark shows nothing: a mark looks again
//! until each thread was found waiting once, or was found running after it had got a processor often enough.

mod known;

use std::collections::HashMap;
use std::time::Duration;

use self::known::Known;
use super::look::{How, Look, Ran, Seen, ThreadId, Why};

/// The least time between two looks that must be equal: when the machine is busy, what was sent on loopback may be on
/// its way in a thread of the system for some time.
const APART: Duration = Duration::from_micros(50);
/// The longest pause, unless a look takes so long that this would be too often.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);
/// A pause is at most this share of the time since the beginning, so that settling ends little later than it could.
const PAUSE_SHARE: u32 = 8;
/// A pause may be as long as this many looks, so that looks take a small share of a processor.
const LOOKS_PER_PAUSE: u32 = 40;
/// How many looks a mark takes at most, even if new threads are started all the time.
const MOST_MARK_LOOKS: u32 = 200;

/// What follows from a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// All threads have dealt with what was sent.
    Settled,
    /// Nothing can be said yet.
    LookAgain {
        /// What to read.
        how: How,
        /// How long to wait before.
        pause: Duration,
    },
    /// The limit has passed. Further looks may follow; they begin again.
    NeverSettles {
        /// The thread that was most often in the way; `None` if threads come and go and none of them is left.
        thread: Option<ThreadId>,
        /// What it did when it last was.
        why: Why,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// There is no look to compare with.
    Begun,
    /// No thread has run since the look that ended at `since`.
    Still { since: Duration },
    /// A thread is in the way.
    Waiting,
}

/// Decides from looks whether threads have settled, and how to look next.
#[derive(Debug)]
pub struct Settling {
    /// In the order of the last look.
    threads: Vec<Known>,
    phase: Phase,
    began: Duration,
    limit: Duration,
    /// How long a look of [`How::Ran`] takes; the maximum if there was none.
    look_takes: Duration,
    /// Settled since the last mark, so that the next mark holds.
    is_settled: bool,
    /// How many looks the next mark has taken so far.
    mark_looks: u32,
    /// Later looks are compared with the last one.
    begins_anew: bool,
    /// The next look is after a long pause.
    pauses_long: bool,
}

impl Default for Settling {
    fn default() -> Self {
        Self::new()
    }
}

impl Settling {
    /// Knows no threads yet; the first [`Settling::mark`] brings them.
    pub fn new() -> Self {
        Self {
            threads: Vec::new(),
            phase: Phase::Begun,
            began: Duration::ZERO,
            limit: Duration::MAX,
            look_takes: Duration::MAX,
            is_settled: true,
            mark_looks: 0,
            begins_anew: true,
            pauses_long: false,
        }
    }

    /// Something is about to be sent: where the threads stand now is where they stand by themselves.
    ///
    /// For the look see [`Settling::learn`]; it may also be the proof after which the threads have settled. If the
    /// threads have not settled since the last mark, that mark stays: they may still work on what was sent after it.
    /// Returns `None` when the mark holds, otherwise the pause before another look, because a new thread is running.
    /// After 200 looks the mark holds in any case: a thread about which nothing is known counts as one that does not
    /// sleep by itself. Pauses become longer, so that a thread without a processor may get one before.
    pub fn mark(&mut self, look: &Look<'_>) -> Option<Duration> {
        let pause = self.learn(look);
        let pause = pause.filter(|_| self.mark_looks < MOST_MARK_LOOKS);
        let pause = pause.map(|pause| (pause * self.mark_looks).clamp(pause, LONGEST_PAUSE));
        self.mark_looks = pause.map_or(0, |_| self.mark_looks + 1);
        self.is_settled &= pause.is_some();
        pause
    }

    /// Nothing has been sent that the threads have not dealt with: learns where they stand by themselves. The more such
    /// looks there are, the surer it is.
    ///
    /// `look` is one of [`How::Ran`] whose threads have [`Seen::sleeps`], or [`Runs`](super::State::Runs) if they stand
    /// nowhere; at least those of [`Settling::asks_where`]. Returns a pause after which to look again if a new thread
    /// is running. Changes nothing if something was sent.
    pub fn learn(&mut self, look: &Look<'_>) -> Option<Duration> {
        if !self.is_settled {
            return None;
        }
        self.follow(look.threads);
        let mut is_complete = true;
        for (known, seen) in self.threads.iter_mut().zip(look.threads) {
            is_complete &= known.learn(seen);
        }
        (!is_complete).then_some(APART)
    }

    /// Whether a mark would hold now: the threads have settled since the last one.
    pub fn takes_marks(&self) -> bool {
        self.is_settled
    }

    /// Begins to settle at an instant. After `limit` a look that finds a reason why the threads have not settled is
    /// the last one.
    pub fn begin(&mut self, now: Duration, limit: Duration) {
        self.phase = Phase::Begun;
        (self.began, self.limit) = (now, limit);
        for known in &mut self.threads {
            known.blamed = 0;
        }
        self.is_settled = false;
    }

    /// Whether a thread may have run since the mark, if it has run this much. `index` is its place in the last look:
    /// true if another thread was there.
    pub fn has_run(&self, index: usize, thread: ThreadId, ran: Ran) -> bool {
        let known = self.threads.get(index);
        known.is_none_or(|known| {
            known.thread != thread || known.ran != ran || known.marked != Some(ran)
        })
    }

    /// Whether a look for a mark has to read where a thread stands that has run this much. `index` is as for
    /// [`Settling::has_run`].
    pub fn asks_where(&self, index: usize, thread: ThreadId, ran: Ran) -> bool {
        let is_unknown = self.threads.get(index).is_some_and(Known::is_unknown);
        is_unknown || self.has_run(index, thread, ran)
    }

    /// Whether the look that was taken last is the one with which later ones are compared. When the threads have
    /// settled, they have dealt with everything that had been sent when the last such look began.
    pub fn begins_anew(&self) -> bool {
        self.begins_anew
    }

    /// Takes a look that was made as the last step asked; the first one is of [`How::Ran`].
    pub fn take(&mut self, look: &Look<'_>) -> Step {
        self.begins_anew = false;
        let paused_long = std::mem::take(&mut self.pauses_long);
        if let How::Suspect(thread) = look.how {
            return self.take_suspect(look, thread);
        }
        let is_new = self.follow(look.threads);
        let moved = self.compare(look.threads) | is_new | look.is_new_list;
        if is_new {
            self.look_takes = Duration::MAX;
        }
        if look.how == How::Ran {
            // The shortest one: others were interrupted.
            let takes = look.ended.saturating_sub(look.began);
            self.look_takes = self.look_takes.min(takes);
        }
        let busy = self.blame_busy(look.threads);
        if let Some(thread) = busy {
            self.phase = Phase::Waiting;
            return self.wait(How::Suspect(thread), look.ended);
        }
        if moved {
            self.compares_with(look);
            return match look.how {
                How::Ran if look.is_idle => again(How::Proof, Duration::ZERO),
                _ if paused_long && look.ended.saturating_sub(self.began) < self.limit => {
                    again(How::Ran, APART)
                }
                _ => self.wait(How::Ran, look.ended),
            };
        }
        let Phase::Still { since } = self.phase else {
            self.compares_with(look);
            return looks_on(look, APART);
        };
        let left = APART.saturating_sub(look.began.saturating_sub(since));
        if look.how != How::Proof {
            return looks_on(look, left);
        }
        let is_complete = look.threads.iter().all(|seen| seen.state.is_some());
        if (look.is_idle || left.is_zero()) && is_complete {
            self.is_settled = true;
            self.phase = Phase::Begun;
            return Step::Settled;
        }
        self.wait(How::Ran, look.ended)
    }

    fn compares_with(&mut self, look: &Look<'_>) {
        self.phase = Phase::Still { since: look.ended };
        self.begins_anew = true;
    }

    fn take_suspect(&mut self, look: &Look<'_>, thread: ThreadId) -> Step {
        let index = self.threads.iter().position(|known| known.thread == thread);
        let seen = look.threads.first().filter(|seen| seen.thread == thread);
        let known = index.and_then(|index| self.threads.get_mut(index));
        if let (Some(known), Some(seen)) = (known, seen)
            && let Some(why) = known.in_the_way(seen)
        {
            known.blame(why);
            return self.wait(How::Suspect(thread), look.ended);
        }
        self.phase = Phase::Begun;
        again(How::Ran, Duration::ZERO)
    }

    /// Takes over which threads there are. True if some came or went.
    fn follow(&mut self, seen: &[Seen]) -> bool {
        let is_same = self.threads.len() == seen.len()
            && (self.threads.iter().zip(seen)).all(|(known, seen)| known.thread == seen.thread);
        if is_same {
            return false;
        }
        let before = self.threads.drain(..).map(|known| (known.thread, known));
        let before: HashMap<_, _> = before.collect();
        self.threads.extend(seen.iter().map(|seen| {
            let known = before.get(&seen.thread).copied();
            known.unwrap_or(Known::new(seen))
        }));
        true
    }

    /// Takes over how much the threads have run. True if one has run since the last look.
    fn compare(&mut self, seen: &[Seen]) -> bool {
        let has_look = self.phase != Phase::Begun;
        let mut moved = false;
        for (known, seen) in self.threads.iter_mut().zip(seen) {
            if known.ran != seen.ran {
                known.ran = seen.ran;
                if has_look {
                    known.blame(Why::RunsAgain);
                    moved = true;
                }
            }
        }
        moved
    }

    /// The first thread whose state shows that it is not settled.
    fn blame_busy(&mut self, seen: &[Seen]) -> Option<ThreadId> {
        let mut pairs = self.threads.iter_mut().zip(seen);
        pairs.find_map(|(known, seen)| {
            known.blame(known.in_the_way(seen)?);
            Some(known.thread)
        })
    }

    /// A pause before the next look, unless the limit has passed.
    fn wait(&mut self, how: How, now: Duration) -> Step {
        let waited = now.saturating_sub(self.began);
        if waited >= self.limit {
            self.phase = Phase::Begun;
            let blamed = self.threads.iter().filter(|known| known.blamed > 0);
            let worst = blamed.max_by_key(|known| known.blamed);
            return Step::NeverSettles {
                thread: worst.map(|known| known.thread),
                why: worst.map_or(Why::IsNew, |known| known.why),
            };
        }
        let longest = match how {
            How::Ran if self.look_takes < Duration::MAX => {
                LONGEST_PAUSE.max(self.look_takes * LOOKS_PER_PAUSE)
            }
            _ => LONGEST_PAUSE,
        };
        let pause = (waited / PAUSE_SHARE).clamp(APART, longest);
        self.pauses_long = pause > APART;
        again(how, pause)
    }
}

/// After a look at how much all have run that found no change: the proof, or the same look again after `left`.
fn looks_on(look: &Look<'_>, left: Duration) -> Step {
    if look.is_idle || left.is_zero() {
        return again(How::Proof, Duration::ZERO);
    }
    again(How::Ran, left)
}

fn again(how: How, pause: Duration) -> Step {
    Step::LookAgain { how, pause }
}
