//! [`Pool`]: how many files are open at a time, however many a recording was split into.
//!
//! The file that was opened longest ago is closed when another one has to be opened, and opened again
//! when it is asked for. Whoever is reading it meanwhile keeps it open until the read is done.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// How many files are open at most: far below the usual limit of 1024 a process.
const MOST_OPEN: usize = 128;

/// How many files may be open: a quarter of what the system allows this process, and not more than
/// [`MOST_OPEN`].
pub(super) fn most_open() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let allowed = limit.current.and_then(|limit| usize::try_from(limit).ok());
    allowed.map_or(MOST_OPEN, |allowed| (allowed / 4).clamp(4, MOST_OPEN))
}

/// The open files of a bag.
#[derive(Debug)]
pub(super) struct Pool {
    most: usize,
    /// Those that are open, the longest open first.
    open: Mutex<VecDeque<Weak<Slot>>>,
}

/// A file that may be closed at the moment.
#[derive(Debug)]
pub(super) struct Pooled {
    path: PathBuf,
    pool: Arc<Pool>,
    slot: Arc<Slot>,
}

#[derive(Debug, Default)]
struct Slot(Mutex<Option<Arc<File>>>);

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<File>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            open: Mutex::default(),
        })
    }

    /// Opens a file, now and whenever it is needed.
    pub(super) fn open(self: &Arc<Self>, path: &Path) -> io::Result<Pooled> {
        let file = Pooled {
            path: path.to_owned(),
            pool: Arc::clone(self),
            slot: Arc::default(),
        };
        file.get()?;
        Ok(file)
    }

    fn admit(&self, slot: &Arc<Slot>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push_back(Arc::downgrade(slot));
        let mut closing = Vec::new();
        while open.len() > self.most {
            closing.extend(open.pop_front().and_then(|slot| slot.upgrade()));
        }
        drop(open);
        for slot in closing {
            *slot.lock() = None;
        }
    }
}

impl Pooled {
    /// The file, open.
    pub(super) fn get(&self) -> io::Result<Arc<File>> {
        if let Some(file) = self.slot.lock().as_ref() {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(File::open(&self.path)?);
        *self.slot.lock() = Some(Arc::clone(&file));
        self.pool.admit(&self.slot);
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn no_more_than_so_many_are_open_and_all_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let pool = Pool::new(2);
        let files: Vec<Pooled> = (0..5_u8)
            .map(|i| {
                let path = dir.path().join(i.to_string());
                std::fs::write(&path, [i]).unwrap();
                pool.open(&path).unwrap()
            })
            .collect();
        let open = || files.iter().filter(|it| it.slot.lock().is_some()).count();
        assert_eq!(open(), 2);
        for (i, file) in (0..5_u8).zip(&files) {
            let mut bytes = Vec::new();
            let mut file: &File = &file.get().unwrap();
            file.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, [i]);
            assert!(open() <= 2);
        }
    }
}
