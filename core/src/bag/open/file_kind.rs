//! The first bytes by which an MCAP file, a zstd frame and some other formats are recognised.
//!
//! Used when files are opened, and at the end of MCAP files, which is the same magic. This file reads nothing: callers
//! pass the bytes.

use mcap::MAGIC;

/// The first bytes of a zstd frame.
pub(crate) const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// How many bytes from the start of a file [`foreign`] looks at.
pub(crate) const HEAD: u64 = 24;

/// What a file that begins with `head` is, and a hint what to do with it; `None` if it is an MCAP file.
pub(crate) fn foreign(head: &[u8]) -> Option<(&'static str, &'static str)> {
    if head.starts_with(MAGIC) {
        return None;
    }
    Some(match head {
        [] => ("an empty file", "the recording was never written"),
        h if h.starts_with(&MAGIC[..5]) => (
            "an MCAP file of an unknown version",
            "a newer version of this program may read it",
        ),
        h if h.starts_with(b"#ROSBAG") => {
            ("a ROS 1 bag", "`mcap convert in.bag out.mcap` converts it")
        }
        h if h.starts_with(b"SQLite format 3") => (
            "a rosbag2 sqlite3 database",
            "`ros2 bag convert` converts it to the mcap storage",
        ),
        h if h.starts_with(b"version https://git-lfs") => (
            "a git-lfs pointer",
            "`git lfs pull` fetches the recording itself",
        ),
        _ => ("unknown bytes", "name an .mcap file"),
    })
}
