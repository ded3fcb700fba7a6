//! [`Gid`]: the identity of an endpoint, as ROS 2 shows it: XXH3-128 of its liveliness token.

use std::fmt;

use xxhash_rust::xxh3::xxh3_128;

/// The identity of an endpoint. Remote nodes compute the same value from its token.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// The identity that belongs to a token, given as its complete key.
    pub fn of(token: &str) -> Self {
        // rmw writes the low half first, each half little-endian: together the whole number in little-endian.
        Self(xxh3_128(token.as_bytes()).to_le_bytes())
    }
}

impl fmt::Display for Gid {
    /// Shows it as `ros2 topic info --verbose` does: bytes in hexadecimal, separated by dots.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, byte) in self.0.iter().enumerate() {
            let dot = if n == 0 { "" } else { "." };
            write!(f, "{dot}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_hash_of_rmw_zenoh() {
        for (token, hex) in [
            ("a", "1f4e961eb632c6e63468f15a70af6fa9"),
            ("abcdefghijklmnop", "30632ff13f158e3e4b8c1b9b80fc581f"),
            (
                "@ros2_lv/0/aeba417f86191db88a1d8d201838fa03/0/0/NN/%/%/rosbag2_player",
                "1eb4e23efbb6b8edd8b65d72a7ec25e2",
            ),
        ] {
            let expected = u128::from_str_radix(hex, 16).unwrap().to_be_bytes();
            assert_eq!(Gid::of(token), Gid(expected), "{token}");
        }
    }

    #[test]
    fn is_shown_as_ros_2_shows_it() {
        let mut gid = Gid([0; 16]);
        (gid.0[0], gid.0[15]) = (1, 0xfa);
        assert_eq!(
            gid.to_string(),
            "01.00.00.00.00.00.00.00.00.00.00.00.00.00.00.fa"
        );
    }
}
