//! [`MarkBook`]: the marks of the recordings of a run, for the bar and for services. They are read when they are first
//! asked for, and saved on a thread of its own, because the disk may be slow.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
#[cfg(feature = "tui")]
use std::time::Duration;

use bagplay::marks::{Mark, Marks};
use bagplay::time::{Ros, Time};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::app::dirs;

/// How many changes may wait for the disk.
const WAITING: usize = 256;
/// If there are this many marks, services add none.
const MAX_MARKS: usize = 5000;
/// The longest name that services may give, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// A change of the marks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MarkChange {
    Add(Mark),
    Remove(Time<Ros>),
}

impl MarkChange {
    const fn time(&self) -> Time<Ros> {
        match self {
            Self::Add(mark) => mark.time,
            Self::Remove(time) => *time,
        }
    }

    fn apply(self, marks: &mut Marks) {
        match self {
            Self::Add(mark) => marks.add(mark),
            Self::Remove(time) => {
                marks.remove(time);
            }
        }
    }

    /// Applies the change to a list in the order of time.
    fn apply_to_list(self, list: &mut Vec<Mark>) {
        let time = self.time();
        list.retain(|mark| mark.time != time);
        if let Self::Add(mark) = self {
            list.insert(list.partition_point(|other| *other < mark), mark);
        }
    }
}

/// The marks of a run. When it is dropped, everything has been written.
pub(crate) struct MarkBook {
    recordings: Vec<PathBuf>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` before they are read. The error is why they cannot be read: then the file is not changed.
    marks: Option<Result<Known, String>>,
    revision: u64,
    /// Gets all marks after a change by a service.
    watcher: Option<Watcher>,
}

/// Gets all marks after a change.
type Watcher = Arc<dyn Fn(Vec<Mark>) + Send + Sync>;

/// Marks that were read.
struct Known {
    /// With all changes, in the order of time.
    list: Vec<Mark>,
    /// As they were read.
    as_read: Marks,
    saver: Option<Saver>,
}

impl MarkBook {
    /// The marks of the recordings at these paths.
    pub(crate) fn of(recordings: Vec<PathBuf>) -> Self {
        Self {
            recordings,
            state: Mutex::default(),
        }
    }

    /// All marks, in the order of time; the error is why they cannot be read.
    pub(crate) fn list(&self) -> Result<Vec<Mark>, String> {
        self.read().known().map(|known| known.list.clone())
    }

    /// Counts the changes.
    pub(crate) fn revision(&self) -> u64 {
        self.lock().revision
    }

    /// From now on `watcher` gets all marks after each [`MarkBook::change_and_tell`].
    #[cfg(feature = "tui")]
    pub(crate) fn watch(&self, watcher: impl Fn(Vec<Mark>) + Send + Sync + 'static) {
        self.lock().watcher = Some(Arc::new(watcher));
    }

    /// Changes the marks, and saves them in the background. The error is the reason why nothing was changed.
    #[cfg(feature = "tui")]
    pub(crate) fn change(&self, change: MarkChange) -> Result<(), String> {
        self.read().change(change)
    }

    /// Changes the marks for a service, under limits, and tells the watcher.
    pub(crate) fn change_and_tell(&self, change: MarkChange) -> Result<(), String> {
        let mut state = self.read();
        state.check_limits(&change)?;
        state.change(change)?;
        let marks = state.known()?.list.clone();
        let watcher = state.watcher.clone();
        // The watcher may wait for a thread that changes marks.
        drop(state);
        if let Some(watcher) = watcher {
            watcher(marks);
        }
        Ok(())
    }

    /// Waits until everything has been written, for a limited time: before an immediate end.
    #[cfg(feature = "tui")]
    pub(crate) fn finish(&self, timeout: Duration) {
        let done = self.lock().finish();
        // Nothing is ever sent: the channel is disconnected when the thread ends.
        let _ = done.map(|done| done.recv_timeout(timeout));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state after the marks were read. The disk may be slow, so the state is not locked meanwhile.
    fn read(&self) -> MutexGuard<'_, State> {
        let state = self.lock();
        if state.marks.is_some() {
            return state;
        }
        drop(state);
        let read = Marks::read(&self.recordings, dirs::state().as_deref());
        let known = read.map(|as_read| Known {
            list: as_read.list().to_vec(),
            as_read,
            saver: None,
        });
        let mut state = self.lock();
        // Another thread may have read them first, and may have changed them since.
        state
            .marks
            .get_or_insert_with(|| known.map_err(|error| error.to_string()));
        state
    }
}

impl State {
    fn known(&mut self) -> Result<&mut Known, String> {
        match &mut self.marks {
            Some(Ok(known)) => Ok(known),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err("the marks are not read".to_owned()),
        }
    }

    /// Limits the name and the number of marks that clients add.
    fn check_limits(&mut self, change: &MarkChange) -> Result<(), String> {
        let list = &self.known()?.list;
        let MarkChange::Add(mark) = change else {
            return Ok(());
        };
        if mark.name.len() > MAX_NAME_BYTES {
            return Err(format!("the name is longer than {MAX_NAME_BYTES} bytes"));
        }
        if mark.name.contains(char::is_control) {
            return Err("the name has a control character".to_owned());
        }
        let is_there = list.iter().any(|known| known.time == mark.time);
        if list.len() >= MAX_MARKS && !is_there {
            return Err(format!("there are {MAX_MARKS} marks already"));
        }
        Ok(())
    }

    fn change(&mut self, change: MarkChange) -> Result<(), String> {
        let known = self.known()?;
        let saver = match &mut known.saver {
            Some(saver) => saver,
            none => {
                let started = Saver::start(known.as_read.clone());
                none.insert(started.map_err(|error| error.to_string())?)
            }
        };
        saver.save(change.clone())?;
        change.apply_to_list(&mut known.list);
        self.revision += 1;
        Ok(())
    }

    /// No more changes; disconnected when all have been written.
    #[cfg(feature = "tui")]
    fn finish(&mut self) -> Option<Receiver<Infallible>> {
        let saver = self.known().ok()?.saver.as_mut()?;
        saver.changes = None;
        Some(saver.done.clone())
    }
}

impl fmt::Debug for MarkBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarkBook")
            .field("recordings", &self.recordings)
            .finish_non_exhaustive()
    }
}

/// The thread that saves changes. When this is dropped, everything has been written.
struct Saver {
    changes: Option<Sender<MarkChange>>,
    #[cfg_attr(not(feature = "tui"), expect(dead_code, reason = "only the bar waits"))]
    done: Receiver<Infallible>,
    thread: Option<JoinHandle<()>>,
}

impl Saver {
    /// Saves changes of `marks`.
    fn start(marks: Marks) -> io::Result<Self> {
        let (alive, done) = bounded(0);
        let (send, changes) = bounded(WAITING);
        let thread = std::thread::Builder::new()
            .name("marks".into())
            .spawn(move || {
                let _alive: Sender<Infallible> = alive;
                save_changes(marks, &changes);
            })?;
        Ok(Self {
            changes: Some(send),
            done,
            thread: Some(thread),
        })
    }

    fn save(&self, change: MarkChange) -> Result<(), String> {
        let sent = self
            .changes
            .as_ref()
            .map(|changes| changes.try_send(change));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err("too many changes wait for the disk: this mark is not saved".to_owned()),
        }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.changes = None;
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has printed its message.
            let _ = thread.join();
        }
    }
}

/// Writes after each change, or once after several changes.
fn save_changes(mut marks: Marks, changes: &Receiver<MarkChange>) {
    while let Ok(change) = changes.recv() {
        for change in std::iter::once(change).chain(changes.try_iter()) {
            change.apply(&mut marks);
        }
        save(&mut marks);
    }
    if marks.is_changed() {
        save(&mut marks);
    }
}

fn save(marks: &mut Marks) {
    if let Err(error) = marks.save() {
        tracing::warn!("the marks are not saved: {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn mark(secs: i64, name: &str) -> Mark {
        Mark {
            time: Time::from_secs(secs),
            name: name.to_owned(),
        }
    }

    /// The book of a recording in a folder of its own.
    fn book() -> (tempfile::TempDir, PathBuf, MarkBook) {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("drive.mcap");
        let book = MarkBook::of(vec![recording.clone()]);
        (folder, recording, book)
    }

    #[test]
    fn the_list_is_what_the_file_has_afterwards() {
        let (_folder, recording, book) = book();
        let changes = [
            MarkChange::Add(mark(3, "c")),
            MarkChange::Add(mark(1, "a")),
            MarkChange::Add(mark(2, "b")),
            MarkChange::Add(mark(3, "other")),
            MarkChange::Remove(Time::from_secs(1)),
            MarkChange::Remove(Time::from_secs(9)),
        ];
        for change in changes {
            book.change_and_tell(change).unwrap();
        }
        let list = book.list().unwrap();
        assert_eq!(list, [mark(2, "b"), mark(3, "other")]);
        assert_eq!(book.revision(), 6);
        drop(book);
        assert_eq!(Marks::read(&[recording], None).unwrap().list(), list);
    }

    #[test]
    fn a_change_that_is_not_saved_is_not_made() {
        let (_folder, _, book) = book();
        book.change_and_tell(MarkChange::Add(mark(1, "a"))).unwrap();
        // The disk takes nothing, so the queue is full.
        let (full, _queue) = bounded(0);
        if let Ok(known) = book.lock().known() {
            known.saver.as_mut().unwrap().changes = Some(full);
        }
        for change in [
            MarkChange::Add(mark(2, "b")),
            MarkChange::Remove(Time::from_secs(1)),
        ] {
            assert!(book.change_and_tell(change).is_err());
        }
        assert_eq!(book.list().unwrap(), [mark(1, "a")]);
        assert_eq!(book.revision(), 1);
    }

    #[test]
    fn services_may_add_only_so_many_marks_with_names_of_one_line() {
        let (_folder, recording, book) = book();
        let list = |count| (0..count).map(|at| mark(at, "m")).collect::<Vec<_>>();
        let mut file = Marks::read(&[&recording], None).unwrap();
        file.add(mark(0, "m"));
        file.save().unwrap();
        book.list().unwrap();
        if let Ok(known) = book.lock().known() {
            known.list = list(5000);
        }
        for (refused, reason) in [
            (mark(5000, ""), "there are 5000 marks already"),
            (
                mark(1, &"x".repeat(257)),
                "the name is longer than 256 bytes",
            ),
            (mark(1, "a\nb"), "the name has a control character"),
        ] {
            let refused = book.change_and_tell(MarkChange::Add(refused));
            assert_eq!(refused, Err(reason.to_owned()));
        }
        assert_eq!(book.list().unwrap(), list(5000));
        // A mark that replaces another one is accepted, and so is a mark after one was removed.
        let changes = [
            MarkChange::Add(mark(7, &"x".repeat(256))),
            MarkChange::Remove(Time::from_secs(7)),
            MarkChange::Add(mark(5000, "")),
        ];
        for change in changes {
            book.change_and_tell(change).unwrap();
        }
        assert_eq!(book.list().unwrap().len(), 5000);
    }

    #[test]
    fn marks_that_cannot_be_read_are_not_changed() {
        let (folder, _, book) = book();
        let file = folder.path().join("drive.mcap.marks.yaml");
        fs::write(&file, "marks: 7").unwrap();
        let reason = book.list().unwrap_err();
        assert!(reason.contains("drive.mcap.marks.yaml"), "{reason}");
        for change in [MarkChange::Add(mark(1, "")), MarkChange::Remove(Time::ZERO)] {
            assert_eq!(book.change_and_tell(change), Err(reason.clone()));
        }
        drop(book);
        assert_eq!(fs::read_to_string(&file).unwrap(), "marks: 7");
    }

    #[cfg(feature = "tui")]
    #[test]
    fn a_watcher_gets_all_marks_after_a_change_by_a_service() {
        let (_folder, _, book) = book();
        let (tell, told) = bounded(4);
        book.watch(move |marks| tell.send(marks).unwrap());
        book.change(MarkChange::Add(mark(1, "a"))).unwrap();
        assert!(told.is_empty());
        book.change_and_tell(MarkChange::Add(mark(2, "b"))).unwrap();
        assert_eq!(told.try_recv(), Ok(vec![mark(1, "a"), mark(2, "b")]));
    }
}
