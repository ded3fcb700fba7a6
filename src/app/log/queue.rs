//! [`LogQueue`]: lines for one destination, written by a thread of their own, so that logging never waits for output.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many bytes may wait: about ten thousand lines.
const MOST: usize = 1 << 20;

/// Writes a line; may block.
type Write = Arc<dyn Fn(&str) + Send + Sync>;

/// Lines for one destination. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LogQueue {
    line: Arc<Line>,
    /// Used in place of the thread, if the system provides none.
    direct: Option<Write>,
}

/// The queue of lines.
#[derive(Default)]
struct Line {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<String>,
    /// The bytes of the lines that wait.
    bytes: usize,
    /// How many lines were dropped since the last one that was queued.
    missed: u64,
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
        let (line, write): (Arc<Line>, Write) = (Arc::default(), Arc::new(write));
        let (feed, writer) = (Arc::clone(&line), Arc::clone(&write));
        let thread = std::thread::Builder::new().name(name.into());
        let thread = thread.spawn(move || feed.work(&*writer));
        Self {
            line,
            direct: thread.is_err().then_some(write),
        }
    }

    /// Queues a line; never writes it in the calling thread. A line that finds no room is counted, and the next one
    /// that finds room is preceded by a line with that count.
    pub(crate) fn put(&self, line: String) {
        if let Some(write) = &self.direct {
            return write(&line);
        }
        let mut state = self.line.state();
        if state.bytes.saturating_add(line.len()) > MOST && state.bytes > 0 {
            state.missed += 1;
            return;
        }
        state.tell_missed();
        state.push(line);
        drop(state);
        self.line.changed.notify_all();
    }

    /// Waits until all lines queued so far are written. Gives up after `patience` without progress, and at once if an
    /// earlier call gave up and nothing was written since. Returns whether everything was written.
    pub(crate) fn flush(&self, patience: Duration) -> bool {
        let mut state = self.line.state();
        let mut target = state.taken;
        loop {
            let before = state.written;
            if before >= target {
                if state.missed == 0 {
                    return true;
                }
                state.tell_missed();
                target = state.taken;
                self.line.changed.notify_all();
            }
            if state.given_up_at == Some(before) {
                return false;
            }
            let is_still = |state: &mut State| state.written == before;
            let waited = self
                .line
                .changed
                .wait_timeout_while(state, patience, is_still);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.written == before {
                state.given_up_at = Some(before);
                return false;
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

    fn tell_missed(&mut self) {
        let missed = std::mem::take(&mut self.missed);
        if missed > 0 {
            let lines = if missed == 1 { "line is" } else { "lines are" };
            self.push(format!(
                "warning: {missed} {lines} missing here: what came before was not taken in time\n"
            ));
        }
    }
}

impl Line {
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
            drop(state);
            write(&line);
            state = self.state();
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

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);
    const LINES: u64 = 40_000;

    #[test]
    fn a_pipe_that_nobody_reads_holds_nobody_and_what_is_missing_is_counted() {
        let (reader, writer) = pipe().unwrap();
        let outlet = LogQueue::start("log", move |line| {
            (&writer).write_all(line.as_bytes()).unwrap();
        });
        for n in 0..LINES {
            outlet.put(format!("{n:<99}\n"));
        }
        // The pipe has room for 64 KiB, and nothing reads it.
        assert!(!outlet.flush(Duration::from_millis(1)));
        let mut lines = BufReader::new(reader).lines().map(Result::unwrap);
        let mut next = 0;
        let gap = loop {
            let line = lines.next().unwrap();
            match line.trim().parse::<u64>() {
                Ok(n) => assert_eq!(n, next, "in order, none left out silently"),
                Err(_) => break line,
            }
            next += 1;
            if next == 1_000 {
                // There is room again, and the next line is preceded by the count of dropped lines.
                while outlet.line.state().missed != 0 {
                    outlet.put("last\n".into());
                }
            }
        };
        let missed: u64 = gap
            .strip_prefix("warning: ")
            .and_then(|rest| rest.split(' ').next()?.parse().ok())
            .unwrap();
        assert!(missed >= LINES - next, "{gap}");
        assert_eq!(lines.next().unwrap(), "last");
        assert!(outlet.flush(PATIENCE));
    }

    #[test]
    fn what_is_missing_at_the_end_is_told_at_the_end() {
        let (reader, writer) = pipe().unwrap();
        let outlet = LogQueue::start("log", move |line| {
            (&writer).write_all(line.as_bytes()).unwrap();
        });
        outlet.put(format!("{}\n", "x".repeat(2 * MOST)));
        outlet.put("one more\n".into());
        let told = std::thread::spawn(move || {
            let mut lines = BufReader::new(reader).lines().map(Result::unwrap);
            (lines.next().unwrap().len(), lines.next().unwrap())
        });
        assert!(outlet.flush(PATIENCE));
        let said = "warning: 1 line is missing here: what came before was not taken in time";
        assert_eq!(told.join().unwrap(), (2 * MOST, said.to_owned()));
    }
}
