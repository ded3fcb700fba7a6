//! [`LogQueue`]: lines for one destination, written by a thread of their own, so that logging never waits for output.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many bytes may wait: about ten thousand lines.
const MOST: usize = 1 << 20;

/// How long a flush waits for a thread that writes nothing although its destination would take a line.
const LONGEST_SILENCE: Duration = Duration::from_secs(5);
/// How often a flush looks whether a line is held up.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Writes a line; may block.
type Write = Arc<dyn Fn(&str) + Send + Sync>;

/// Lines for one destination. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LogQueue {
    queue: Arc<Queue>,
    /// Used in place of the thread, if the system provides none.
    direct: Option<Write>,
    /// Whether the destination would take more, if that is known.
    takes_more: Option<fn() -> bool>,
}

/// The lines that wait, shared with the thread that writes them.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<String>,
    /// Whether a line is being written.
    is_writing: bool,
    /// The bytes of the lines that wait.
    bytes: usize,
    /// How many lines were dropped since the last one that was queued.
    dropped: u64,
    /// How many lines were ever queued.
    taken: u64,
    /// How many of them were written.
    written: u64,
    /// How many had been written when a flush last gave up.
    given_up_at: Option<u64>,
}

impl LogQueue {
    /// Starts to write, on a thread of this name that ends with the process.
    pub(crate) fn start(name: &str, write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let (queue, write): (Arc<Queue>, Write) = (Arc::default(), Arc::new(write));
        let (of_thread, writer) = (Arc::clone(&queue), Arc::clone(&write));
        let thread = std::thread::Builder::new().name(name.into());
        let thread = thread.spawn(move || of_thread.work(&*writer));
        Self {
            queue,
            direct: thread.is_err().then_some(write),
            takes_more: None,
        }
    }

    /// The same queue, if it is known whether the destination would take more.
    pub(crate) fn asking(self, takes_more: fn() -> bool) -> Self {
        let takes_more = Some(takes_more);
        Self { takes_more, ..self }
    }

    /// Queues a line; never writes it in the calling thread. A line that finds no room is counted, and the next one
    /// that finds room is preceded by a line with that count.
    pub(crate) fn put(&self, line: String) {
        if let Some(write) = &self.direct {
            return write(&line);
        }
        let mut state = self.queue.state();
        if state.bytes.saturating_add(line.len()) > MOST && state.bytes > 0 {
            state.dropped += 1;
            return;
        }
        state.push_count_of_dropped();
        state.push(line);
        drop(state);
        self.queue.changed.notify_all();
    }

    /// Waits until all lines queued so far are written. Gives up when the destination has taken no line for `timeout`,
    /// and at once if an earlier call gave up and nothing was written since. The time during which the thread that
    /// writes does not run does not count, up to [`LONGEST_SILENCE`]. Returns whether everything was written.
    pub(crate) fn flush(&self, timeout: Duration) -> bool {
        let mut state = self.queue.state();
        let mut target = state.taken;
        loop {
            let before = state.written;
            if before >= target {
                if state.dropped == 0 {
                    return true;
                }
                state.push_count_of_dropped();
                target = state.taken;
                self.queue.changed.notify_all();
            }
            if state.given_up_at == Some(before) {
                return false;
            }
            let (mut held_up, mut silent) = (Duration::ZERO, Duration::ZERO);
            while state.written == before {
                if held_up >= timeout || silent >= LONGEST_SILENCE.max(timeout) {
                    state.given_up_at = Some(before);
                    return false;
                }
                let slice = timeout.min(LOOK_EVERY);
                let is_still = |state: &mut State| state.written == before;
                let waited = self
                    .queue
                    .changed
                    .wait_timeout_while(state, slice, is_still);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                silent += slice;
                if state.is_writing && !self.takes_more.is_some_and(|takes_more| takes_more()) {
                    held_up += slice;
                }
            }
        }
    }
}

impl State {
    fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.taken += 1;
        self.waiting.push_back(line);
    }

    fn push_count_of_dropped(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let lines = if dropped == 1 { "line is" } else { "lines are" };
            self.push(format!(
                "warning: {dropped} {lines} missing here: earlier lines were not read in time\n"
            ));
        }
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, write: &dyn Fn(&str)) {
        let mut state = self.state();
        loop {
            let Some(line) = state.waiting.pop_front() else {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.is_writing = true;
            drop(state);
            write(&line);
            state = self.state();
            state.is_writing = false;
            // A line that is being written still counts as waiting, as it is still in memory.
            state.bytes -= line.len();
            state.written += 1;
            self.changed.notify_all();
        }
    }
}

impl fmt::Debug for LogQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogQueue")
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write as _, pipe};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crossbeam_channel::bounded;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);
    const LINES: u64 = 40_000;

    #[test]
    fn a_pipe_that_nobody_reads_holds_nobody_and_dropped_lines_are_counted() {
        let (reader, writer) = pipe().unwrap();
        let queue = LogQueue::start("log", move |line| {
            (&writer).write_all(line.as_bytes()).unwrap();
        });
        for n in 0..LINES {
            queue.put(format!("{n:<99}\n"));
        }
        // The pipe has room for 64 KiB, and nothing reads it.
        assert!(!queue.flush(Duration::from_millis(1)));
        // Lines are dropped more than once if the writing thread starts late: each gap has a line with its exact count.
        let mut next = 0;
        let mut has_room = false;
        for line in BufReader::new(reader).lines().map(Result::unwrap) {
            match line.trim().parse::<u64>() {
                Ok(n) => {
                    assert_eq!(n, next, "in order, none left out silently");
                    next += 1;
                }
                Err(_) if line == "last" => break,
                Err(_) => next += dropped(&line),
            }
            if next >= 1_000 && !has_room {
                has_room = true;
                // There is room again, and the next line is preceded by the count of dropped lines.
                loop {
                    queue.put("last\n".into());
                    if queue.queue.state().dropped == 0 {
                        break;
                    }
                }
            }
        }
        assert!(next >= LINES, "{next}");
        assert!(queue.flush(TIMEOUT));
    }

    /// The count in a line about dropped lines.
    fn dropped(line: &str) -> u64 {
        let count = line
            .strip_prefix("warning: ")
            .and_then(|rest| rest.split(' ').next()?.parse().ok());
        count.unwrap_or_else(|| panic!("not a count of dropped lines: {line}"))
    }

    #[test]
    fn what_was_dropped_at_the_end_is_counted_at_the_end() {
        let (reader, writer) = pipe().unwrap();
        let queue = LogQueue::start("log", move |line| {
            (&writer).write_all(line.as_bytes()).unwrap();
        });
        queue.put(format!("{}\n", "x".repeat(2 * MOST)));
        queue.put("one more\n".into());
        let told = std::thread::spawn(move || {
            let mut lines = BufReader::new(reader).lines().map(Result::unwrap);
            (lines.next().unwrap().len(), lines.next().unwrap())
        });
        assert!(queue.flush(TIMEOUT));
        let said = "warning: 1 line is missing here: earlier lines were not read in time";
        assert_eq!(told.join().unwrap(), (2 * MOST, said.to_owned()));
    }

    #[test]
    fn a_line_that_its_destination_would_take_is_waited_for() {
        static LOOKS: AtomicUsize = AtomicUsize::new(0);
        let takes_more = || {
            LOOKS.fetch_add(1, Ordering::SeqCst);
            true
        };
        let (release, released) = bounded(1);
        let write = move |_: &str| released.recv().unwrap();
        let queue = LogQueue::start("log", write).asking(takes_more);
        queue.put("a line\n".into());
        let flushed = std::thread::spawn(move || queue.flush(Duration::from_millis(1)));
        // It has looked more often than the timeout has room for.
        while LOOKS.load(Ordering::SeqCst) < 10 {
            std::thread::yield_now();
        }
        release.send(()).unwrap();
        assert!(flushed.join().unwrap());
    }
}
