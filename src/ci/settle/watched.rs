//! [`Process`] and [`Thread`] of a set, with the files that are read of them.

use super::error::LookError;
use super::look::{Ran, Seen, State, ThreadId};
use super::members;
use super::proc_file::{Keep, ProcFile};
use super::proc_text::{self, Place};

/// A process of the set that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gone {
    /// Its number (PID).
    pub process: u32,
    /// The name of its first thread.
    pub name: String,
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) id: u32,
    pub(super) name: String,
    stat: ProcFile,
    /// The folder of its threads.
    pub(super) folder: ProcFile,
    /// How many links the folder has if the set is complete; 0 if it cannot tell.
    pub(super) links: u64,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) id: ThreadId,
    pub(super) name: String,
    schedstat: ProcFile,
    stat: ProcFile,
    /// Where it stands, if this process may know.
    syscall: Option<ProcFile>,
    wchan: Option<ProcFile>,
    /// How much it had run when the last proof found it waiting. If it has run no more, it still waits for the same, or
    /// was woken and has no processor yet.
    waited_at: Option<Ran>,
    pub(super) children: Option<ProcFile>,
    /// What `children` said before the threads were listed last.
    pub(super) had_children: Vec<u8>,
    /// How much the thread had run before `children` was last read again and had not changed: if the thread has not run
    /// since, it has started no process. `None`: `children` was not read again.
    pub(super) had_children_at: Option<Ran>,
}

impl Process {
    pub(super) fn open(id: u32, keep: &mut Keep) -> Result<Option<Self>, LookError> {
        let first = ThreadId {
            process: id,
            thread: id,
        };
        let name = members::name_of(first)?.unwrap_or_default();
        let stat = ProcFile::open(first, "stat", keep)?;
        let folder = ProcFile::open(first, "..", keep)?;
        Ok(stat.zip(folder).map(|(stat, folder)| Self {
            id,
            name: String::from_utf8_lossy(&name).into_owned(),
            stat,
            folder,
            links: 0,
        }))
    }

    /// `None` if the process still exists: it only left the group.
    pub(super) fn close(self, keep: &mut Keep) -> Result<Option<Gone>, LookError> {
        let exists = self.folder.links()?.is_some_and(|links| links > 3)
            || state_in(&self.stat)? != State::Ended;
        self.stat.close(keep);
        self.folder.close(keep);
        Ok((!exists).then_some(Gone {
            process: self.id,
            name: self.name,
        }))
    }
}

impl Thread {
    /// `None` if it has ended.
    pub(super) fn open(
        id: ThreadId,
        has_children: bool,
        keep: &mut Keep,
    ) -> Result<Option<Self>, LookError> {
        let name = members::name_of(id)?.unwrap_or_default();
        let (Some(schedstat), Some(stat)) = (
            ProcFile::open(id, "schedstat", keep)?,
            ProcFile::open(id, "stat", keep)?,
        ) else {
            return Ok(None);
        };
        let is_other = id.process != members::own()?.process;
        let children = if has_children && is_other {
            ProcFile::open(id, "children", keep)?
        } else {
            None
        };
        Ok(Some(Self {
            id,
            name: String::from_utf8_lossy(&name).into_owned(),
            schedstat,
            stat,
            syscall: ProcFile::open(id, "syscall", keep)?,
            wchan: ProcFile::open(id, "wchan", keep)?,
            waited_at: None,
            children,
            had_children: Vec::new(),
            had_children_at: None,
        }))
    }

    pub(super) fn close(self, keep: &mut Keep) {
        let others = [self.syscall, self.wchan, self.children];
        for file in [self.schedstat, self.stat]
            .into_iter()
            .chain(others.into_iter().flatten())
        {
            file.close(keep);
        }
    }

    #[cfg(test)]
    pub(super) fn is_kept(&self) -> bool {
        self.schedstat.is_kept()
    }

    pub(super) fn ran(&self) -> Result<Option<Ran>, LookError> {
        let mut buffer = [0; 96];
        let Some(text) = self.schedstat.read(&mut buffer)? else {
            return Ok(None);
        };
        let ran = proc_text::ran(text);
        ran.map(Some).ok_or_else(|| self.schedstat.malformed())
    }

    pub(super) fn state(&self) -> Result<State, LookError> {
        state_in(&self.stat)
    }

    pub(super) fn read_state(&self, seen: &mut Seen) -> Result<(), LookError> {
        seen.state = Some(self.state()?);
        Ok(())
    }

    /// The same, from a file that takes half as long to read if the thread has not run since a proof found it waiting.
    /// `seen` has how much it had run at the look before: if it has run since, the proof fails in any case.
    ///
    /// `wchan` names where the thread waits only if it was not woken. `syscall` cannot be read for this: for a thread
    /// that was woken for another processor it still says where it waited, until that processor takes it.
    pub(super) fn read_state_again(&self, seen: &mut Seen) -> Result<(), LookError> {
        let mut buffer = [0; 256];
        if self.waited_at == Some(seen.ran)
            && let Some(wchan) = &self.wchan
            && let Some(text) = wchan.read(&mut buffer)?
            && proc_text::waits_in(text)
        {
            seen.state = Some(State::Waits);
            return Ok(());
        }
        self.read_state(seen)
    }

    /// Takes over what a proof has found: the state of `seen` was read between `before` and `seen.ran`.
    pub(super) fn keep_wait(&mut self, before: Ran, seen: &Seen) {
        let waits = seen.state == Some(State::Waits) && before == seen.ran;
        self.waited_at = waits.then_some(seen.ran);
    }

    /// Whether it stands in `nanosleep`, if that can be told, and whether it stands nowhere because it runs.
    pub(super) fn sleeps(&self) -> Result<(Option<bool>, bool), LookError> {
        let mut buffer = [0; 256];
        if let Some(syscall) = &self.syscall
            && let Some(text) = syscall.read(&mut buffer)?
        {
            match proc_text::place(text) {
                Place::Runs => return Ok((None, true)),
                Place::Sleeps => return Ok((Some(true), false)),
                Place::Elsewhere => return Ok((Some(false), false)),
                Place::Unknown => {}
            }
        }
        let text = match &self.wchan {
            Some(wchan) => wchan.read(&mut buffer)?,
            None => None,
        };
        Ok((text.and_then(proc_text::sleeps_in), false))
    }

    pub(super) fn read_place(&self, seen: &mut Seen) -> Result<(), LookError> {
        let (sleeps, runs) = self.sleeps()?;
        seen.sleeps = sleeps;
        if runs {
            // More exact than its state: a thread may be marked as waiting before it leaves its processor.
            seen.state = Some(State::Runs);
        }
        Ok(())
    }
}

fn state_in(stat: &ProcFile) -> Result<State, LookError> {
    let mut buffer = [0; 512];
    match stat.read(&mut buffer)? {
        None => Ok(State::Ended),
        Some(text) => proc_text::stat(text)
            .map(|stat| stat.state)
            .ok_or_else(|| stat.malformed()),
    }
}
