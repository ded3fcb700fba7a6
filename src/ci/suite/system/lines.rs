//! [`Lines`]: values as lines of JSON, of limited length.

use std::io::{self, BufReader, Read, Write};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ci::report::{LineRead, bounded_line};

/// The longest line, in bytes. No line is the record of a run.
const LONGEST: u64 = 4 << 20;

/// The values that a reader gives, a line each. It ends where the reader does, and after an error.
#[derive(Debug)]
pub struct Lines<R, T> {
    reader: Option<BufReader<R>>,
    of: PhantomData<T>,
}

impl<R: Read, T: DeserializeOwned> Lines<R, T> {
    /// Of this reader.
    pub fn new(reader: R) -> Self {
        Self {
            reader: Some(BufReader::new(reader)),
            of: PhantomData,
        }
    }

    fn read(&mut self) -> io::Result<Option<T>> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        let mut line = Vec::new();
        match bounded_line(reader, &mut line, LONGEST)? {
            LineRead::End => Ok(None),
            LineRead::TooLong => Err(io::ErrorKind::FileTooLarge.into()),
            LineRead::Whole | LineRead::Cut => Ok(serde_json::from_slice(&line)?),
        }
    }
}

impl<R: Read, T: DeserializeOwned> Iterator for Lines<R, T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<io::Result<T>> {
        let read = self.read();
        if !matches!(read, Ok(Some(_))) {
            self.reader = None;
        }
        read.transpose()
    }
}

/// Writes one value, at once.
pub fn write_line(to: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::super::told::{Over, Said, SystemOfCase, Told};
    use super::*;
    use crate::ci::child::{ChildExit, How};

    #[test]
    fn what_is_written_is_read_again() {
        let exit = ChildExit {
            name: "node".to_owned(),
            how: How::Signal(11),
            after: std::time::Duration::from_millis(1500),
            reached: None,
        };
        let all = [
            Told::System(SystemOfCase::default()),
            Told::Ended(exit.clone()),
            Told::Lost,
        ];
        let mut text = Vec::new();
        for one in &all {
            write_line(&mut text, one).unwrap();
        }
        let read: io::Result<Vec<Told>> = Lines::new(&text[..]).collect();
        assert_eq!(read.unwrap(), all);
        let mut text = Vec::new();
        write_line(&mut text, &Said::Over(Over::default())).unwrap();
        text.extend(b"{\"ended\"\n");
        let mut lines: Lines<_, Said> = Lines::new(&text[..]);
        assert_eq!(lines.next().unwrap().unwrap(), Said::Over(Over::default()));
        assert!(lines.next().unwrap().is_err() && lines.next().is_none());
    }
}
