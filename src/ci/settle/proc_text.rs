//! The text of files in `/proc`, as `proc(5)` describes it: parsed in place.

use super::look::{Ran, State};

/// `nanosleep` and `clock_nanosleep` in `/proc/PID/task/TID/syscall`; numbers differ between processors.
const SLEEPS: &[&[u8]] = if cfg!(target_arch = "x86_64") {
    &[b"35", b"230"]
} else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
    &[b"101", b"115"]
} else {
    &[]
};
/// Other calls that a stop by a signal turns into this one go on as this one: only `wchan` tells which it was.
const RESTARTED: &[u8] = if cfg!(target_arch = "x86_64") {
    b"219"
} else {
    b"128"
};

/// Where `/proc/PID/task/TID/syscall` says that a thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Nowhere: it runs or is about to.
    Runs,
    Sleeps,
    Elsewhere,
    /// The file `wchan` may tell.
    Unknown,
}

/// The fields of a `stat` file that are needed here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stat {
    pub(super) state: State,
    /// The process group.
    pub(super) group: u32,
}

/// A line of `schedstat`: time on a processor, time of waiting for one, slices.
pub(super) fn ran(text: &[u8]) -> Option<Ran> {
    let mut numbers = text.trim_ascii().split(|byte| *byte == b' ').map(number);
    let (nanos, _, slices) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some(Ran { nanos, slices })
}

/// The line of `/proc/loadavg`: how many threads run or are runnable, in front of the slash of the fourth field.
pub(super) fn runnable(text: &[u8]) -> Option<u64> {
    let field = text.split(|byte| *byte == b' ').nth(3)?;
    number(field.split(|byte| *byte == b'/').next()?)
}

/// A line of `stat`. The second field is a name in brackets, which may hold spaces and brackets itself.
pub(super) fn stat(text: &[u8]) -> Option<Stat> {
    let after_name = text.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = text
        .get(after_name..)?
        .trim_ascii()
        .split(|byte| *byte == b' ');
    let state = match fields.next()? {
        b"S" | b"I" | b"P" => State::Waits,
        b"D" => State::WaitsForDevice,
        b"T" | b"t" => State::Stopped,
        b"Z" | b"X" | b"x" => State::Ended,
        [_] => State::Runs,
        _ => return None,
    };
    let group = fields.nth(1).and_then(number);
    let group = group.and_then(|group| u32::try_from(group).ok());
    Some(Stat {
        state,
        // Of a process whose group is outside of this PID namespace.
        group: group.unwrap_or(0),
    })
}

/// A line of `syscall`.
pub(super) fn place(text: &[u8]) -> Place {
    match text.trim_ascii().split(|byte| *byte == b' ').next() {
        Some(b"running") => Place::Runs,
        Some(call) if SLEEPS.contains(&call) => Place::Sleeps,
        Some(call) if SLEEPS.is_empty() || call == RESTARTED => Place::Unknown,
        Some(_) => Place::Elsewhere,
        None => Place::Unknown,
    }
}

/// The text of `wchan`, the function of the system in which a thread waits: whether there is one. `0`: the thread runs,
/// is runnable or was woken, or this process may not know.
pub(super) fn waits_in(function: &[u8]) -> bool {
    !matches!(function.trim_ascii(), b"" | b"0")
}

/// Whether a thread that waits there sleeps; `None` if it cannot be told where it waits.
pub(super) fn sleeps_in(function: &[u8]) -> Option<bool> {
    let contains = |name: &[u8]| function.windows(name.len()).any(|part| part == name);
    waits_in(function).then(|| contains(b"nanosleep") || contains(b"nsleep"))
}

/// The process of a thread, from its `status`.
pub(super) fn process_of(status: &[u8]) -> Option<u32> {
    let mut lines = status.split(|byte| *byte == b'\n');
    let value = lines.find_map(|line| line.strip_prefix(b"Tgid:"))?;
    u32::try_from(number(value.trim_ascii())?).ok()
}

/// The numbers of a text, which are separated by spaces or line ends.
pub(super) fn ids(text: &[u8]) -> impl Iterator<Item = u32> {
    text.split(u8::is_ascii_whitespace)
        .filter_map(|part| u32::try_from(number(part)?).ok())
}

fn number(digits: &[u8]) -> Option<u64> {
    let digit = |value: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    };
    (!digits.is_empty())
        .then(|| digits.iter().try_fold(0, digit))
        .flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_a_real_system_are_read() {
        let line = ran(b"38602609 359246 115\n").unwrap();
        assert_eq!((line.nanos, line.slices), (38_602_609, 115));
        assert_eq!(runnable(b"1.99 0.80 0.30 3/96 6785\n"), Some(3));
        let line = stat(b"30558 (a) R) (b) S 30550 30549 14659 0 -1 4194304 2850").unwrap();
        assert_eq!((line.state, line.group), (State::Waits, 30549));
        for (letter, state) in [
            ("R", State::Runs),
            ("D", State::WaitsForDevice),
            ("t", State::Stopped),
            ("Z", State::Ended),
            ("?", State::Runs),
        ] {
            let text = format!("1 (x) {letter} 0 1 1");
            assert_eq!(stat(text.as_bytes()).unwrap().state, state, "{letter}");
        }
        assert_eq!(place(b"running\n"), Place::Runs);
        assert_eq!(place(b"-1 0x7f 0x7f\n"), place(b"0 0x3 0x55 0x2000\n"));
        assert_eq!(sleeps_in(b"hrtimer_nanosleep"), Some(true));
        assert_eq!(sleeps_in(b"futex_do_wait"), Some(false));
        assert_eq!(sleeps_in(b"0"), None);
        assert_eq!(process_of(b"Name:\tx\nTgid:\t12\nPid:\t13\n"), Some(12));
        assert_eq!(ids(b"12 13\n14\n").collect::<Vec<_>>(), [12, 13, 14]);
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn calls_that_sleep_are_told_from_others() {
        assert_eq!(place(b"230 0x1 0x1 0x7f 0x0\n"), Place::Sleeps);
        assert_eq!(place(b"35 0x1\n"), Place::Sleeps);
        assert_eq!(place(b"23 0x1\n"), Place::Elsewhere);
        assert_eq!(place(b"219 0x1\n"), Place::Unknown);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = (ran(&text), runnable(&text), stat(&text), place(&text), sleeps_in(&text), process_of(&text));
            prop_assert!(ids(&text).count() <= text.len());
        }
    }
}
