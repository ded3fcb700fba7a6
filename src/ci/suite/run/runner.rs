//! Running cases side by side: what is done when one of the processes has ended, or a time limit has come.

use std::fs;
use std::io;
use std::path::PathBuf;

use crossbeam_channel::{Receiver, at, bounded, never, select};

use super::command::Runner;
use super::event::Event;
use super::state::State;
use crate::ci::suite::scenario::Case;
use crate::ci::suite::shard_file::Why;
use crate::untrusted::Foreign;

/// How running ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finished<T> {
    /// Why.
    pub why: Why,
    /// How many cases have a record.
    pub cases: usize,
    /// The message that interrupted it.
    pub stopped_by: Option<T>,
}

/// Why running ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// The folder for the files of the runs cannot be made.
    #[error("{}: {error}", Foreign::path(folder))]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// What happens could not be told.
    #[error(transparent)]
    Told(io::Error),
}

impl Runner {
    /// Runs the cases in their order. Returns when all processes have ended: after a message from `stop` they are asked
    /// to end, and no others are started. If `tell` fails, it is the same.
    pub fn run<T>(
        &self,
        cases: &[&Case],
        stop: &Receiver<T>,
        tell: &mut dyn FnMut(Event<'_>) -> io::Result<()>,
    ) -> Result<Finished<T>, RunnerError> {
        fs::create_dir_all(&self.folder).map_err(|error| RunnerError::Folder {
            folder: self.folder.clone(),
            error,
        })?;
        let (ended, endings) = bounded(self.jobs.max(1));
        let (say, news) = bounded(64);
        let mut state = State::new(self, cases, ended, say);
        let (mut stop, mut stopped_by) = (stop.clone(), None);
        loop {
            state.start_more(tell);
            if state.is_over() {
                break;
            }
            let timer = state.deadline().map_or_else(never, at);
            select! {
                recv(endings) -> number => {
                    if let Ok(number) = number {
                        state.take_end(number, tell);
                    }
                }
                recv(news) -> news => {
                    if let Ok((chain, news)) = news {
                        state.take_news(chain, news, tell);
                    }
                }
                recv(stop) -> asked => {
                    if let Ok(asked) = asked {
                        state.interrupt(tell);
                        stopped_by = Some(asked);
                    }
                    // Once is enough, and a channel without a sender would be ready for ever.
                    stop = never();
                }
                recv(timer) -> _ => state.end_late_ones(),
            }
        }
        state.fold_rest(tell);
        match state.failure {
            Some(error) => Err(RunnerError::Told(error)),
            None => Ok(Finished {
                why: state.why,
                cases: state.finished,
                stopped_by,
            }),
        }
    }
}
