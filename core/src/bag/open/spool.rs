//! [`spool`]: unpacks a recording that was compressed as a whole (`.mcap.zstd`) into a temporary file without a name.
//!
//! Reading a recording needs random access, but a zstd stream can only be read from its start. So it is unpacked once,
//! in pieces of 128 KiB, into the directory for temporary files (`TMPDIR`). The file is removed when the process ends.
//! If the stream breaks, what was unpacked before the break is kept: a truncated recording can be played.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use mcap::MAGIC;
use zstd::stream::read::Decoder;

use crate::bag::damage::{Damage, DamageKind};
use crate::untrusted::Foreign;

/// How many bytes any stream may unpack to.
const ALWAYS: u64 = 64 << 20;
/// A larger result may be at most this many times the compressed size: no recording compresses that well with zstd.
const MOST_TIMES: u64 = 1_000;
const PIECE: usize = 128 << 10;
const OTHER: &str =
    "only an MCAP recording compressed with zstd may be named .mcap.zstd; rename the file";
const AGAIN: &str = "copy it again from where it was recorded";

/// Why a compressed recording cannot be unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// The file cannot be opened, or is not a regular file.
    #[error("{}: cannot be opened", Foreign::path(path))]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file contains no recording.
    #[error(
        "{}: not a compressed MCAP recording: {found}; hint: {hint}",
        Foreign::path(path)
    )]
    NotMcap {
        /// The file.
        path: PathBuf,
        /// What it contains.
        found: String,
        /// What to do.
        hint: &'static str,
    },
    /// It unpacks to more than any recording would.
    #[error(
        "{}: unpacks to more than {limit} bytes; hint: if that is right, unpack it with `zstd -d`",
        Foreign::path(path)
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How many bytes it may unpack to.
        limit: u64,
    },
    /// The unpacked recording cannot be stored.
    #[error(
        "{}: cannot unpack {} there; hint: let TMPDIR name another directory, with enough space",
        Foreign::path(dir),
        Foreign::path(path)
    )]
    Store {
        /// The directory for temporary files.
        dir: PathBuf,
        /// The file that was to be unpacked.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The progress callback ended the work.
    #[error("{}: unpacking was stopped", Foreign::path(path))]
    Stopped {
        /// The file.
        path: PathBuf,
    },
}

/// An unpacked recording.
#[derive(Debug)]
pub struct Spooled {
    /// The unpacked recording, positioned at its start, with random access. It is deleted when it is closed.
    pub file: File,
    /// Its length in bytes.
    pub bytes: u64,
    /// If the stream broke: where, in bytes from the start of the compressed file.
    pub damage: Option<Damage>,
}

/// Called with the bytes read so far and the bytes in all; returns whether to go on.
type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// Unpacks a `.mcap.zstd` into a temporary file. After each piece, `on_progress` is called with the number of bytes of
/// the compressed file read so far and its size; it may end the work.
pub fn spool(path: &Path, on_progress: Progress<'_>) -> Result<Spooled, SpoolError> {
    spool_into(&env::temp_dir(), path, on_progress)
}

fn spool_into(dir: &Path, path: &Path, on_progress: Progress<'_>) -> Result<Spooled, SpoolError> {
    let fail = |source| SpoolError::Open {
        path: path.to_owned(),
        source,
    };
    // Checked before opening, because opening a pipe waits for its other end.
    let kind = fs::metadata(path).map_err(fail)?;
    if !kind.is_file() {
        return Err(fail(io::Error::other("not a file")));
    }
    let packed = File::open(path).map_err(fail)?;
    let of = packed.metadata().map_err(fail)?.len();
    let unpacking = Unpacking {
        path,
        dir,
        of,
        limit: limit(of),
    };
    let mut input = Decoder::new(packed).map_err(fail)?;
    // Checked before anything is stored: the first bytes show whether it is a recording.
    unpacking.expect_magic(&mut input)?;
    let mut file = tempfile::tempfile_in(dir).map_err(|source| unpacking.store(source))?;
    let (bytes, damage) = unpacking.unpack(&mut input, &mut file, on_progress)?;
    file.rewind().map_err(|source| unpacking.store(source))?;
    Ok(Spooled {
        file,
        bytes,
        damage,
    })
}

/// How many bytes a compressed file of this size may unpack to.
fn limit(of: u64) -> u64 {
    of.saturating_mul(MOST_TIMES).max(ALWAYS)
}

/// The unpacking of one file.
#[derive(Debug)]
struct Unpacking<'a> {
    path: &'a Path,
    dir: &'a Path,
    /// The size of the compressed file, in bytes.
    of: u64,
    /// How many bytes it may unpack to.
    limit: u64,
}

type Input = Decoder<'static, BufReader<File>>;

impl Unpacking<'_> {
    /// Reads the magic at the front.
    fn expect_magic(&self, input: &mut Input) -> Result<(), SpoolError> {
        let refuse = |found: String, hint| {
            let path = self.path.to_owned();
            Err(SpoolError::NotMcap { path, found, hint })
        };
        let head = input.get_mut().fill_buf();
        if head.is_ok_and(|head| head.starts_with(MAGIC)) {
            return refuse("it is not compressed".into(), "let its name end in .mcap");
        }
        let mut first = [0; MAGIC.len()];
        match input.read_exact(&mut first) {
            Ok(()) if first == MAGIC => Ok(()),
            Ok(()) => refuse("it unpacks to something else".into(), OTHER),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                refuse("it ends before anything is unpacked".into(), AGAIN)
            }
            Err(error) => refuse(format!("it cannot be unpacked: {error}"), OTHER),
        }
    }

    /// Unpacks what follows the magic, to the end or to where the stream breaks. Returns the number of bytes, including
    /// the magic, and the damage if the stream broke.
    fn unpack(
        &self,
        input: &mut Input,
        out: &mut File,
        on_progress: Progress<'_>,
    ) -> Result<(u64, Option<Damage>), SpoolError> {
        let mut piece = vec![0; PIECE];
        let mut filled = MAGIC.len();
        piece[..filled].copy_from_slice(MAGIC);
        let mut bytes = 0_u64;
        loop {
            bytes = bytes.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
            if bytes > self.limit {
                return Err(SpoolError::TooLarge {
                    path: self.path.to_owned(),
                    limit: self.limit,
                });
            }
            out.write_all(&piece[..filled])
                .map_err(|source| self.store(source))?;
            let read = input.get_mut().stream_position().unwrap_or(self.of);
            if on_progress(read, self.of).is_break() {
                let path = self.path.to_owned();
                return Err(SpoolError::Stopped { path });
            }
            filled = match input.read(&mut piece) {
                Ok(0) => return Ok((bytes, None)),
                Ok(filled) => filled,
                Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                Err(error) => {
                    let offset = input.get_mut().stream_position().unwrap_or(self.of);
                    return Ok((bytes, Some(self.damage(offset, bytes, &error))));
                }
            };
        }
    }

    fn damage(&self, offset: u64, bytes: u64, error: &io::Error) -> Damage {
        let (kind, what) = if error.raw_os_error().is_some() {
            (DamageKind::Unreadable, format!("cannot be read ({error})"))
        } else if error.kind() == ErrorKind::UnexpectedEof {
            (DamageKind::Compression, "is cut off".to_owned())
        } else {
            (DamageKind::Compression, format!("is broken ({error})"))
        };
        let detail = format!("the zstd stream {what}, {bytes} bytes were unpacked before it");
        Damage {
            file: self.path.into(),
            offset,
            kind,
            detail,
        }
    }

    fn store(&self, source: io::Error) -> SpoolError {
        SpoolError::Store {
            dir: self.dir.to_owned(),
            path: self.path.to_owned(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::untrusted::FileName;

    /// Random bytes after the magic of a recording. zstd cannot compress them, so each piece of the stream unpacks to a
    /// piece of the recording.
    fn recording(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let noise = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.to_be_bytes()[0]
        });
        MAGIC.iter().copied().chain(noise).take(length).collect()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    struct Place {
        temp: tempfile::TempDir,
        path: PathBuf,
    }

    fn place(bytes: &[u8]) -> Place {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("b_0.mcap.zstd");
        fs::write(&path, bytes).unwrap();
        Place { temp, path }
    }

    fn unpack(bytes: &[u8]) -> Result<(Vec<u8>, Option<Damage>), SpoolError> {
        let place = place(bytes);
        let mut seen = vec![];
        let mut on_progress = |read, of| {
            seen.push((read, of));
            ControlFlow::Continue(())
        };
        let mut spooled = spool_into(place.temp.path(), &place.path, &mut on_progress)?;
        let of = bytes.len() as u64;
        assert!(seen.is_sorted() && seen.iter().all(|(read, all)| *read <= of && *all == of));
        let files = fs::read_dir(place.temp.path()).unwrap().count();
        assert_eq!(files, 1, "the unpacked file has no name");
        let mut out = Vec::new();
        spooled.file.read_to_end(&mut out).unwrap();
        assert_eq!(out.len() as u64, spooled.bytes);
        if let Some(damage) = &spooled.damage {
            assert_eq!(damage.file, FileName::from(&place.path));
            assert!(
                damage.offset <= of && damage.detail.contains(&out.len().to_string()),
                "{damage}"
            );
        }
        Ok((out, spooled.damage))
    }

    #[test]
    fn a_stream_of_any_number_of_frames_is_unpacked() {
        let whole = recording(1_000_000);
        assert_eq!(unpack(&packed(&whole)).unwrap(), (whole.clone(), None));
        let frames: Vec<u8> = whole.chunks(300_000).flat_map(packed).collect();
        // Parallel compressors put skippable frames between the others.
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let frames = [&skippable, &frames[..], &skippable, &packed(&[])].concat();
        assert_eq!(unpack(&frames).unwrap(), (whole, None));
        assert_eq!(unpack(&packed(MAGIC)).unwrap(), (MAGIC.to_vec(), None));
    }

    #[test]
    fn a_cut_stream_gives_the_bytes_before_the_cut() {
        let whole = recording(1_000_000);
        let stream = packed(&whole);
        let mut last = 0;
        for keep in [300_000, 600_000, stream.len() - 1] {
            let (out, damage) = unpack(&stream[..keep]).unwrap();
            assert_eq!(out, whole[..out.len()]);
            // Blocks are 128 KiB.
            assert!(
                out.len() > last && out.len() + (129 << 10) > keep,
                "{keep}: {}",
                out.len()
            );
            last = out.len();
            let damage = damage.unwrap();
            assert_eq!(
                (damage.kind, damage.offset),
                (DamageKind::Compression, keep as u64)
            );
            assert!(
                damage.detail.starts_with("the zstd stream is cut off, "),
                "{damage}"
            );
        }
    }

    #[test]
    fn a_broken_stream_gives_the_bytes_before_the_damage() {
        let whole = recording(400_000);
        let stream = packed(&whole);
        let mut garbled = stream.clone();
        garbled[200_000..200_100].fill(7);
        let (out, damage) = unpack(&garbled).unwrap();
        assert_eq!(out[..190_000], whole[..190_000]);
        assert!(
            damage
                .unwrap()
                .detail
                .starts_with("the zstd stream is broken (")
        );
        let (out, damage) = unpack(&[&stream, &b"and then something else"[..]].concat()).unwrap();
        assert_eq!(out, whole);
        assert_eq!(damage.unwrap().offset, stream.len() as u64);
    }

    #[test]
    fn a_file_that_is_no_compressed_recording_is_refused_before_it_is_unpacked() {
        let stream = packed(&recording(100));
        for (bytes, said) in [
            (&b""[..], "it ends before anything is unpacked"),
            (&stream[..5], "it ends before anything is unpacked"),
            (&packed(&MAGIC[..7]), "it ends before anything is unpacked"),
            (&packed(&[]), "it ends before anything is unpacked"),
            (b"these are notes", "it cannot be unpacked: "),
            (&packed(b"these are notes"), "it unpacks to something else"),
            (&recording(100), "it is not compressed"),
        ] {
            let error = unpack(bytes).unwrap_err();
            assert!(matches!(error, SpoolError::NotMcap { .. }), "{error}");
            let text = error.to_string();
            assert!(
                text.contains(said) && text.contains("hint: "),
                "{said}: {text}"
            );
            assert!(text.contains("b_0.mcap.zstd: "), "{text}");
        }
    }

    #[test]
    fn a_path_that_cannot_be_opened_is_an_error_that_names_it() {
        let place = place(b"");
        let folder = place.temp.path();
        for path in [folder, &folder.join("nowhere"), Path::new("/dev/zero")] {
            let error = spool(path, &mut |_, _| ControlFlow::Continue(())).unwrap_err();
            assert!(matches!(error, SpoolError::Open { .. }), "{error}");
            assert!(error.to_string().contains(&Foreign::path(path).to_string()));
        }
    }

    #[test]
    fn a_stream_that_unpacks_beyond_the_limit_is_refused() {
        let zeros = vec![0; usize::try_from(ALWAYS).unwrap()];
        let bomb = packed(&[MAGIC, &zeros[..]].concat());
        let error = unpack(&bomb).unwrap_err();
        assert!(
            matches!(error, SpoolError::TooLarge { limit: ALWAYS, .. }),
            "{error}"
        );
        assert_eq!((limit(0), limit(67_108)), (ALWAYS, ALWAYS));
        assert_eq!((limit(67_109), limit(u64::MAX)), (67_109_000, u64::MAX));
    }

    /// Unpacks 300 kB into `out`, with a limit of `limit` bytes.
    fn unpack_limited(out: &mut File, limit: u64) -> Result<u64, SpoolError> {
        let stream = packed(&recording(300_000));
        let place = place(&stream);
        let unpacking = Unpacking {
            path: &place.path,
            dir: Path::new("/some/tmp"),
            of: stream.len() as u64,
            limit,
        };
        let mut input = Decoder::new(File::open(&place.path).unwrap()).unwrap();
        unpacking.expect_magic(&mut input)?;
        let unpacked = unpacking.unpack(&mut input, out, &mut |_, _| ControlFlow::Continue(()));
        unpacked.map(|(bytes, _)| bytes)
    }

    #[test]
    fn no_byte_beyond_the_limit_is_written() {
        let mut out = tempfile::tempfile().unwrap();
        assert_eq!(unpack_limited(&mut out, 300_000).unwrap(), 300_000);
        let mut out = tempfile::tempfile().unwrap();
        let error = unpack_limited(&mut out, 299_999).unwrap_err();
        assert!(matches!(error, SpoolError::TooLarge { .. }), "{error}");
        assert!(out.metadata().unwrap().len() <= 299_999);
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_folder_and_has_a_hint() {
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        let error = unpack_limited(&mut full, u64::MAX).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("/some/tmp: ") && text.contains("hint: let TMPDIR"),
            "{text}"
        );
        let source = std::error::Error::source(&error).unwrap();
        let source: &io::Error = source.downcast_ref().unwrap();
        assert_eq!(source.kind(), ErrorKind::StorageFull);

        let place = place(&packed(&recording(100)));
        let gone = place.temp.path().join("gone");
        let error = spool_into(&gone, &place.path, &mut |_, _| ControlFlow::Continue(()));
        let error = error.unwrap_err();
        assert!(
            matches!(&error, SpoolError::Store { dir, .. } if *dir == gone),
            "{error}"
        );
    }

    #[test]
    fn unpacking_stops_when_its_callback_breaks() {
        let place = place(&packed(&recording(1_000_000)));
        let mut left = 3;
        let error = spool(&place.path, &mut |_, _| {
            left -= 1;
            if left == 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert!(matches!(error, Err(SpoolError::Stopped { .. })));
        assert_eq!(left, 0);
    }
}
