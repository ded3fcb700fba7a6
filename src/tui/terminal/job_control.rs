//! Job control: whether this process may use the terminal, and whether a stopped process would be continued.
//!
//! Everything is read from `/proc`. There a session or group outside of this process's PID namespace is 0, as in a
//! container that was entered from outside. (The system calls return 0 for these, too, but `rustix` has no number for
//! it and panics.) Where this cannot be determined, the answers are those for an ordinary terminal.

use std::io::{self, IsTerminal};

/// Whether there is a terminal for drawing and for keys, and this process is in its foreground.
pub fn has_usable_terminal() -> bool {
    has_terminal() && !is_dumb() && is_in_foreground()
}

/// Whether there is a terminal that cannot move its cursor, or does not say that it can.
pub fn has_dumb_terminal() -> bool {
    has_terminal() && is_dumb()
}

#[expect(
    clippy::disallowed_methods,
    reason = "it is asked what it is; nothing is written"
)]
fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Whether this process is in the foreground of the terminal: a background process that uses it is stopped.
pub fn is_in_foreground() -> bool {
    match rustix::termios::tcgetpgrp(io::stdin()) {
        Ok(_) => ProcessStat::of("self").is_none_or(|own| own.group == own.foreground),
        Err(_) => true,
    }
}

/// Whether a shell would continue a stopped process: one in the same session and of another group. The system ignores
/// ctrl-Z if there is none.
pub fn has_shell() -> bool {
    ProcessStat::of("self").is_none_or(|own| own.has_shell(|pid| ProcessStat::of(&pid.to_string())))
}

/// Whether using the terminal does not stop this process: it is in the foreground, or no shell would continue it.
pub fn may_use_terminal() -> bool {
    is_in_foreground() || !has_shell()
}

/// The relations of a process to others, by their numbers; 0 for those outside of this namespace.
#[derive(Clone, Copy, Debug)]
struct ProcessStat {
    parent: i32,
    group: i32,
    session: i32,
    /// The foreground group of the terminal; -1 without a terminal.
    foreground: i32,
}

impl ProcessStat {
    /// `None` if there is no such process, or it cannot be read.
    fn of(pid: &str) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses a line as described in `proc_pid_stat(5)`.
    fn parse(stat: &str) -> Option<Self> {
        // These fields and the state follow the name, which may contain any character.
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut numbers = rest.split(' ').skip(1).map(str::parse);
        let [parent, group, session, _terminal, foreground] =
            std::array::from_fn(|_| numbers.next()?.ok());
        Some(Self {
            parent: parent?,
            group: group?,
            session: session?,
            foreground: foreground?,
        })
    }

    /// The group is orphaned (POSIX), unless its first process has a parent in the same session: follows the parents to
    /// where another group begins.
    fn has_shell(self, of: impl Fn(i32) -> Option<Self>) -> bool {
        let mut parent = self.parent;
        while let Some(its) = of(parent) {
            if its.session != self.session {
                return false;
            }
            if its.group != self.group {
                return true;
            }
            parent = its.parent;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::ProcessStat;

    #[test]
    fn a_stat_line_is_parsed_after_the_name() {
        let line = "71 (a ) S 9) R 63 64 65 34817 66 4194304 99 0";
        let read = ProcessStat::parse(line).unwrap();
        let numbers = (read.parent, read.group, read.session, read.foreground);
        assert_eq!(numbers, (63, 64, 65, 66));
        for broken in [
            "",
            "71 (play) R",
            "71 (play) R 1 2 3",
            "71 (play) R 1 x 3 4 5",
        ] {
            assert!(ProcessStat::parse(broken).is_none(), "{broken}");
        }
    }

    #[test]
    fn a_shell_is_a_parent_of_another_group_in_the_same_session() {
        // Each process as (number, parent, group, session); the last one is asked about.
        type Processes<'a> = &'a [(i32, i32, i32, i32)];
        let table: [(&str, Processes<'_>, bool); 9] = [
            (
                "a job of a shell",
                &[(20, 1, 20, 20), (30, 20, 30, 20)],
                true,
            ),
            (
                "in a script that is a job",
                &[(20, 1, 20, 20), (30, 20, 30, 20), (31, 30, 30, 20)],
                true,
            ),
            (
                "its own session",
                &[(20, 1, 20, 20), (30, 20, 30, 30)],
                false,
            ),
            (
                "a script in its own session",
                &[(20, 1, 20, 20), (30, 20, 30, 30), (31, 30, 30, 30)],
                false,
            ),
            ("the shell is gone", &[(1, 0, 1, 1), (30, 1, 30, 20)], false),
            ("the first of all", &[(1, 0, 1, 1)], false),
            ("a container's shell", &[(1, 0, 1, 1), (30, 1, 30, 1)], true),
            // Entered from outside: the parent's session, or the own session, or everything is invisible.
            (
                "a parent of outside",
                &[(20, 0, 0, 0), (30, 20, 30, 30)],
                false,
            ),
            (
                "everything of outside",
                &[(20, 0, 0, 0), (30, 20, 0, 0)],
                false,
            ),
        ];
        for (case, processes, expected) in table {
            let of = |pid| {
                let &(_, parent, group, session) = processes.iter().find(|it| it.0 == pid)?;
                Some(ProcessStat {
                    parent,
                    group,
                    session,
                    foreground: group,
                })
            };
            let own = of(processes.last().unwrap().0).unwrap();
            assert_eq!(own.has_shell(of), expected, "{case}");
        }
    }
}
