//! How large a pool of shared memory the system allows.

use rustix::fs::statvfs;
use rustix::process::{Resource, getrlimit};

use crate::wire::error::WireError;

/// The size of a pool: 128 MiB, or less where the system has less.
pub(super) const MOST: u64 = 128 << 20;
/// A smaller pool has room for a few chunks only, and most of the messages would go through sockets: 16 MiB.
const LEAST: u64 = 16 << 20;
/// Where shared memory is on Linux.
const DIRECTORY: &str = "/dev/shm";

/// The size of a pool for which the system has room, and of `most` bytes at most. zenoh locks the whole pool in memory,
/// at both ends.
pub(super) fn size_up_to(most: u64) -> Result<u64, WireError> {
    let lacks = |reason| WireError::SharedMemory {
        reason,
        source: None,
    };
    let facts = statvfs(DIRECTORY)
        .map_err(|error| lacks(format!("{DIRECTORY} cannot be used: {error}")))?;
    let free = facts.f_bavail.saturating_mul(facts.f_frsize);
    let lockable = if may_lock_all() {
        None
    } else {
        getrlimit(Resource::Memlock).current
    };
    let size = size_within(free, lockable.unwrap_or(u64::MAX));
    size.map(|size| size.min(most)).map_err(lacks)
}

/// The size, or what there is too little of.
fn size_within(free: u64, lockable: u64) -> Result<u64, String> {
    let all = [
        (free, format!("free in {DIRECTORY}")),
        (
            lockable,
            "of memory that may be locked (ulimit -l)".to_owned(),
        ),
    ];
    match all.iter().find(|(room, _)| room / 2 < LEAST) {
        Some((room, what)) => {
            let (room, needed) = (room >> 20, LEAST >> 19);
            Err(format!("{room} MiB {what}, {needed} are needed"))
        }
        None => Ok(MOST.min(free / 2).min(lockable / 2)),
    }
}

/// Whether the limit of memory that may be locked does not hold for this process. In a container it often holds for
/// root, too.
#[cfg(target_os = "linux")]
fn may_lock_all() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK))
}

#[cfg(not(target_os = "linux"))]
fn may_lock_all() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[cfg(target_os = "linux")]
    #[test]
    fn all_memory_may_be_locked_with_the_capability_for_it_whoever_the_user_is() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let mut lines = status.lines();
        let effective = lines.find_map(|line| line.strip_prefix("CapEff:")).unwrap();
        let effective = u64::from_str_radix(effective.trim(), 16).unwrap();
        // CAP_IPC_LOCK is number 14.
        assert_eq!(may_lock_all(), effective & (1 << 14) != 0);
    }

    #[test]
    fn the_pool_is_half_of_what_there_is_and_has_bounds() {
        for (free, lockable, expected) in [
            (1000 * MIB, u64::MAX, Ok(128 * MIB)),
            (256 * MIB, 256 * MIB, Ok(128 * MIB)),
            (64 * MIB, u64::MAX, Ok(32 * MIB)),
            (1000 * MIB, 32 * MIB, Ok(16 * MIB)),
            (
                1000 * MIB,
                8 * MIB,
                Err("8 MiB of memory that may be locked (ulimit -l), 32 are needed"),
            ),
            (
                7 * MIB,
                u64::MAX,
                Err("7 MiB free in /dev/shm, 32 are needed"),
            ),
            (0, 0, Err("0 MiB free in /dev/shm, 32 are needed")),
            (
                1000 * MIB,
                MIB,
                Err("1 MiB of memory that may be locked (ulimit -l), 32 are needed"),
            ),
        ] {
            let size = size_within(free, lockable);
            assert_eq!(size, expected.map_err(str::to_owned), "{free} {lockable}");
        }
    }
}
