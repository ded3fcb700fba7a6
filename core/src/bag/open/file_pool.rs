//! [`Pool`]: limits how many files are open at once, however many splits a recording has.
//!
//! When another file has to be opened, the one that was opened longest ago is closed; it is opened again when it is
//! needed. A reader that is using it keeps it open until the read is done.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::read_at::{Cost, ReadAt};
use crate::untrusted::Foreign;

/// The most files that are open: far below the usual limit of 1024 per process.
const MOST_OPEN: usize = 128;

/// How many files may be open: a quarter of the limit that the system gives this process, at most [`MOST_OPEN`].
pub(crate) fn most_open() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let allowed = limit.current.and_then(|limit| usize::try_from(limit).ok());
    allowed.map_or(MOST_OPEN, |allowed| (allowed / 4).clamp(4, MOST_OPEN))
}

/// The open files of a bag.
#[derive(Debug)]
pub(crate) struct Pool {
    most: usize,
    /// The files that are open, those opened longest ago first.
    open: Mutex<VecDeque<Weak<Slot>>>,
}

/// A file that may be closed at the moment.
#[derive(Debug)]
pub(crate) struct Pooled {
    path: PathBuf,
    pool: Arc<Pool>,
    slot: Arc<Slot>,
    /// The identity of the file when it was first opened.
    identity: Identity,
}

/// Tells a file from another one with the same name, and from itself after it has grown or shrunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Identity {
    device: u64,
    inode: u64,
    length: u64,
}

impl Identity {
    fn of(file: &File) -> io::Result<Self> {
        let facts = file.metadata()?;
        Ok(Self {
            device: facts.dev(),
            inode: facts.ino(),
            length: facts.len(),
        })
    }
}

/// Device and inode of a file, in the form of [`ReadAt::identity`]; links to one file have the same.
///
/// # Errors
/// It cannot be looked at, for example because it is not there.
pub fn file_identity(path: &Path) -> io::Result<String> {
    let facts = std::fs::metadata(path)?;
    Ok(identity_text(facts.dev(), facts.ino()))
}

fn identity_text(device: u64, inode: u64) -> String {
    format!("file {device} {inode}")
}

#[derive(Debug, Default)]
struct Slot(Mutex<Option<Arc<File>>>);

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<File>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            open: Mutex::default(),
        })
    }

    /// Opens a file. It may be closed later and is then opened again when it is needed.
    pub(crate) fn open(self: &Arc<Self>, path: &Path) -> io::Result<Pooled> {
        let file = File::open(path)?;
        let identity = Identity::of(&file)?;
        let pooled = Pooled {
            path: path.to_owned(),
            pool: Arc::clone(self),
            slot: Arc::default(),
            identity,
        };
        pooled.hold(Arc::new(file));
        Ok(pooled)
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
    /// The open file. An error if it has to be opened again and is another file by now, or has another length.
    pub(crate) fn get(&self) -> io::Result<Arc<File>> {
        if let Some(file) = self.slot.lock().as_ref() {
            return Ok(Arc::clone(file));
        }
        let file = File::open(&self.path)?;
        let found = Identity::of(&file)?;
        let known = self.identity;
        if (found.device, found.inode) != (known.device, known.inode) {
            let path = Foreign::path(&self.path);
            let why = format!("{path} was replaced by another file since it was opened");
            return Err(io::Error::other(why));
        }
        if found.length != known.length {
            let (path, now, then) = (Foreign::path(&self.path), found.length, known.length);
            let why = format!("{path} has {now} bytes and had {then} when it was opened");
            return Err(io::Error::other(why));
        }
        let file = Arc::new(file);
        self.hold(Arc::clone(&file));
        Ok(file)
    }

    fn hold(&self, file: Arc<File>) {
        *self.slot.lock() = Some(file);
        self.pool.admit(&self.slot);
    }
}

impl ReadAt for Pooled {
    fn length(&self) -> u64 {
        self.identity.length
    }

    fn identity(&self) -> String {
        let Identity { device, inode, .. } = self.identity;
        identity_text(device, inode)
    }

    fn cost(&self) -> Cost {
        Cost::Local
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(&*self.get()?, buffer, offset)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_replaced_or_resized_file_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let pool = Pool::new(1);
        let path = dir.path().join("a");
        let open = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let file = pool.open(&path).unwrap();
            // The pool closes the first file when it opens another one.
            let other = dir.path().join("b");
            std::fs::write(&other, b"other").unwrap();
            let other = pool.open(&other).unwrap();
            assert!(file.slot.lock().is_none() && other.slot.lock().is_some());
            file
        };
        let said = |file: &Pooled| file.get().unwrap_err().to_string();

        let file = open(b"first");
        assert!(file.get().is_ok());
        let file = open(b"first");
        std::fs::write(dir.path().join("new"), b"other").unwrap();
        std::fs::rename(dir.path().join("new"), &path).unwrap();
        let error = said(&file);
        assert!(error.starts_with(path.to_str().unwrap()), "{error}");
        assert!(error.contains("was replaced"), "{error}");

        for now in [&b"fir"[..], b"first and more"] {
            let file = open(b"first");
            std::fs::write(&path, now).unwrap();
            let error = said(&file);
            let due = format!("has {} bytes and had 5", now.len());
            assert!(error.contains(&due), "{error}");
        }
        let file = open(b"first");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.get().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_limited_number_of_files_is_open_and_all_can_be_read() {
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
