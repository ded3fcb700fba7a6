//! [`Cue`]: the read-ahead in the direction of play.
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, TryRecvError};

use super::message::{Key, Message};
use crate::time::{Ros, Time, TimeRange};

/// Woken.
pub type Waker = Arc<dyn Fn() + Send + Sync>;
/// dir
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// f
    Forward,
    /// r
    Reverse,
}
/// start
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartAt {
    /// at
    At(Time<Ros>),
    /// after
    After(Key),
}
/// cue at
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CueAt {
    /// from
    pub from: StartAt,
    /// direction
    pub direction: Direction,
    /// range
    pub range: TimeRange,
    /// refill
    pub refill: bool,
}
/// damage
#[derive(Clone, Debug)]
pub struct Damage {
    /// file
    pub file: std::path::PathBuf,
    /// offset
    pub offset: u64,
    /// detail
    pub detail: String,
}
impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}:{}: {}",
            self.file.display(),
            self.offset,
            self.detail
        )
    }
}
/// cued
#[derive(Clone, Debug)]
pub enum Cued {
    /// r
    Refill(Message),
    /// m
    Message(Message),
    /// d
    Damage(Damage),
}
/// poll
#[derive(Debug)]
pub enum CuePoll {
    /// i
    Item(Cued),
    /// p
    Pending,
    /// e
    End,
}
/// cue
#[derive(Debug)]
pub struct Cue(Receiver<Cued>);
/// feed
#[derive(Debug)]
pub struct CueFeed(Sender<Cued>);
impl CueFeed {
    /// push
    pub fn push(&self, item: Cued) {
        let _ = self.0.send(item);
    }
}
impl Cue {
    /// poll
    pub fn poll(&self) -> CuePoll {
        match self.0.try_recv() {
            Ok(i) => CuePoll::Item(i),
            Err(TryRecvError::Empty) => CuePoll::Pending,
            Err(TryRecvError::Disconnected) => CuePoll::End,
        }
    }
    /// hand fed
    pub fn hand_fed(items: impl IntoIterator<Item = Cued>) -> Self {
        let items: Vec<_> = items.into_iter().collect();
        let (s, r) = crossbeam_channel::bounded(items.len().max(1));
        for i in items {
            let _ = s.send(i);
        }
        Self(r)
    }
    /// channel
    pub fn channel() -> (CueFeed, Self) {
        let (s, r) = crossbeam_channel::bounded(100);
        (CueFeed(s), Self(r))
    }
}
