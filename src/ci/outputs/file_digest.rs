//! [`file_digest`]: the digest by which a report names what was played.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

/// XXH3-128 of the bytes of a file, in hexadecimal digits. It reads the whole file, as long as `is_wanted`, which is
/// asked after each MiB; `None` if it was not any more.
pub fn file_digest(path: &Path, mut is_wanted: impl FnMut() -> bool) -> io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; 1 << 20];
    while is_wanted() {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(format!("{:032x}", hasher.digest128()))),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(file.path(), &bytes).unwrap();
        let expected = xxhash_rust::xxh3::xxh3_128(&bytes);
        assert_eq!(
            file_digest(file.path(), || true).unwrap(),
            Some(format!("{expected:032x}"))
        );
        let mut asked = 0;
        let once = file_digest(file.path(), || {
            asked += 1;
            asked == 1
        });
        assert_eq!((once.unwrap(), asked), (None, 2));
        assert!(file_digest(Path::new("no such file"), || true).is_err());
    }
}
