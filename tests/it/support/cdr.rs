//! Payloads for tests, written as CDR in either byte order.

/// A payload that is being written.
#[derive(Clone, Debug)]
pub(crate) struct Cdr {
    bytes: Vec<u8>,
    is_big: bool,
    /// What padding is filled with.
    filler: u8,
}

impl Cdr {
    pub(crate) fn little() -> Self {
        Self {
            bytes: vec![0, 1, 0, 0],
            is_big: false,
            filler: 0,
        }
    }

    pub(crate) fn big() -> Self {
        Self {
            bytes: vec![0, 0, 0, 0],
            is_big: true,
            filler: 0,
        }
    }

    pub(crate) fn filled_with(self, filler: u8) -> Self {
        Self { filler, ..self }
    }

    fn number<const N: usize>(mut self, little_endian: [u8; N]) -> Self {
        while !(self.bytes.len() - 4).is_multiple_of(N) {
            self.bytes.push(self.filler);
        }
        let mut bytes = little_endian;
        if self.is_big {
            bytes.reverse();
        }
        self.bytes.extend(bytes);
        self
    }

    pub(crate) fn u8(self, value: u8) -> Self {
        self.number([value])
    }

    pub(crate) fn i16(self, value: i16) -> Self {
        self.number(value.to_le_bytes())
    }

    pub(crate) fn u32(self, value: u32) -> Self {
        self.number(value.to_le_bytes())
    }

    pub(crate) fn i64(self, value: i64) -> Self {
        self.number(value.to_le_bytes())
    }

    pub(crate) fn f32(self, value: f32) -> Self {
        self.number(value.to_le_bytes())
    }

    pub(crate) fn f64(self, value: f64) -> Self {
        self.number(value.to_le_bytes())
    }

    pub(crate) fn f64s(self, values: &[f64]) -> Self {
        values.iter().fold(self, |to, value| to.f64(*value))
    }

    /// A string with its length and its zero byte.
    pub(crate) fn text(self, text: &str) -> Self {
        let length = u32::try_from(text.len() + 1).unwrap();
        let mut to = self.u32(length);
        to.bytes.extend(text.as_bytes());
        to.bytes.push(0);
        to
    }

    /// An array of bytes with its length.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let mut to = self.u32(u32::try_from(bytes.len()).unwrap());
        to.bytes.extend(bytes);
        to
    }

    /// A header with this stamp in nanoseconds.
    pub(crate) fn header(self, stamp: u64, frame: &str) -> Self {
        let sec = u32::try_from(stamp / 1_000_000_000).unwrap();
        let nanosec = u32::try_from(stamp % 1_000_000_000).unwrap();
        self.u32(sec).u32(nanosec).text(frame)
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.bytes
    }
}
