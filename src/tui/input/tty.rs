//! [`TtyInput`]: reads what the terminal sends, and separates answers to questions from events.
//!
//! The reader of crossterm drops the answers, so only its types are used here.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crossterm::event::Event;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::SIGWINCH;
use terminput_crossterm::to_crossterm;

use crate::tui::pacing::wall_now;
use crate::tui::terminal::job_control::may_use_terminal;
use crate::tui::terminal::line::Answer;

/// Answers the question for the state of the terminal.
const STATUS: &[u8] = b"\x1b[0n";
/// The answer to the question for its kind begins and ends so.
const KIND_START: &[u8] = b"\x1b[?";
const KIND_END: u8 = b'c';

const ESCAPE: u8 = b'\x1b';
/// What introduces a string after an escape: DCS, OSC and APC. Terminals answer some questions so, perhaps when nobody
/// waits for the answer any more.
const STRINGS: &[u8] = b"P]_";
/// One of the ends of a string; the other one is an escape and a backslash.
const BELL: u8 = b'\x07';

/// How long the rest of a sequence may take after its first byte; the escape key sends nothing else.
const REST_OF_SEQUENCE: Duration = Duration::from_millis(50);
/// How long a string may take. What has no end then is dropped, so that keys count again.
const WHOLE_STRING: Duration = Duration::from_secs(1);
/// The same in bytes.
const LONGEST_STRING: usize = 4096;

/// The interval of looking whether a job in the background is in the foreground again.
const IN_THE_BACKGROUND: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Longer input that is not complete, such as a paste without an end, is dropped.
const LONGEST: usize = 1 << 20;

/// The input of the terminal.
#[derive(Debug)]
pub(super) struct TtyInput {
    /// The terminal, if it is not the standard input.
    tty: Option<File>,
    /// Readable after a change of the terminal's size.
    resized: UnixStream,
    parser: Parser,
    /// When a string has begun that has no end yet.
    string_since: Option<Instant>,
}

impl TtyInput {
    pub(super) fn open() -> io::Result<Self> {
        let tty = (!io::stdin().is_terminal()).then(|| File::open("/dev/tty"));
        let (resized, signalled) = UnixStream::pair()?;
        resized.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGWINCH, signalled)?;
        Ok(Self {
            tty: tty.transpose()?,
            resized,
            parser: Parser::default(),
            string_since: None,
        })
    }

    /// Waits for the next event. `answered` is called for each answer before it.
    ///
    /// # Errors
    /// If the terminal cannot be read any more.
    pub(super) fn read(&mut self, answered: &mut dyn FnMut(Answer)) -> io::Result<Event> {
        loop {
            if let Some(event) = self.parser.events.pop_front() {
                return Ok(event);
            }
            let rest = self.rest();
            let timeout = rest.and_then(|rest| Timespec::try_from(rest).ok());
            let (is_there, is_resized) = match self.poll(timeout.as_ref()) {
                Ok((is_there, is_resized)) => {
                    if is_resized && drain(&self.resized)? {
                        let (columns, rows) = crossterm::terminal::size()?;
                        self.parser.events.push_back(Event::Resize(columns, rows));
                    }
                    (is_there, is_resized)
                }
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if is_there && !may_use_terminal() {
                // Reading would stop this process again, perhaps with a signal that is to end it.
                let mut none: [PollFd<'_>; 0] = [];
                let _ = poll(&mut none, Some(&IN_THE_BACKGROUND));
            } else if is_there {
                let mut buffer = [0; 1024];
                let read = match rustix::io::read(self.fd(), &mut buffer) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                    read => read?,
                };
                self.parser.push(&buffer[..read], answered);
            } else if rest.is_some() && !is_resized {
                self.parser.finish();
            }
        }
    }

    /// How long to wait for the rest of what has begun; `None`: however long.
    fn rest(&mut self) -> Option<Duration> {
        let awaited = self.parser.awaited();
        if awaited != Some(Awaited::End) {
            self.string_since = None;
            return awaited.map(|_| REST_OF_SEQUENCE);
        }
        let now = wall_now();
        let since = *self.string_since.get_or_insert(now);
        Some(WHOLE_STRING.saturating_sub(now.saturating_duration_since(since)))
    }

    /// Whether the next event is there already.
    pub(super) fn is_next_there(&self) -> bool {
        const AT_ONCE: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let is_there = self
            .poll(Some(&AT_ONCE))
            .is_ok_and(|(is_there, _)| is_there);
        !self.parser.events.is_empty() || is_there
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.tty
            .as_ref()
            .map_or(rustix::stdio::stdin(), File::as_fd)
    }

    /// Waits for input and for a change of the size; returns which of them there are.
    fn poll(&self, timeout: Option<&Timespec>) -> rustix::io::Result<(bool, bool)> {
        let tty = self.fd();
        let mut fds = [
            PollFd::new(&tty, PollFlags::IN),
            PollFd::new(&self.resized, PollFlags::IN),
        ];
        poll(&mut fds, timeout)?;
        let [is_there, is_resized] = fds.map(|fd| !fd.revents().is_empty());
        Ok((is_there, is_resized))
    }
}

/// Reads everything that is there; `false` if there is nothing.
fn drain(mut stream: &UnixStream) -> io::Result<bool> {
    let mut buffer = [0; 64];
    let mut is_any = false;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(is_any),
            Ok(_) => is_any = true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(is_any),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What may follow soon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Awaited {
    /// The rest of a sequence, unless a key was pressed.
    Rest,
    /// The end of a string.
    End,
}

/// Splits input into sequences.
#[derive(Debug, Default)]
struct Parser {
    /// The beginning of a sequence.
    begun: Vec<u8>,
    events: VecDeque<Event>,
}

impl Parser {
    /// Takes input; `answered` is called for each answer in it.
    fn push(&mut self, bytes: &[u8], answered: &mut dyn FnMut(Answer)) {
        for byte in bytes {
            if self.is_in_string() && self.push_to_string(*byte) {
                continue;
            }
            if self.has_escape() && *byte == ESCAPE {
                self.finish();
            }
            self.begun.push(*byte);
            if let Some(answer) = self.answer() {
                answered(answer);
                self.begun.clear();
            } else if self.awaited().is_none() {
                self.parse();
            }
        }
    }

    /// Takes a byte of the string that was begun, and drops the string at its end. `false`: the byte is of no string,
    /// and the string was dropped without an end, or was a key.
    fn push_to_string(&mut self, byte: u8) -> bool {
        let is_key = self.begun.len() == 2;
        if self.begun.ends_with(&[ESCAPE]) {
            self.begun.clear();
            if byte != b'\\' {
                self.begun.push(ESCAPE);
            }
            return byte == b'\\';
        }
        match byte {
            BELL => self.begun.clear(),
            b' '..=b'~' | 0x80.. if self.begun.len() < LONGEST_STRING => self.begun.push(byte),
            ESCAPE if !is_key => self.begun.push(byte),
            _ => {
                self.finish();
                return false;
            }
        }
        true
    }

    /// Whether a string was begun, or a key was pressed that begins in the same way.
    fn is_in_string(&self) -> bool {
        matches!(self.begun[..], [ESCAPE, introducer, ..] if STRINGS.contains(&introducer))
    }

    /// What may follow soon what was begun.
    fn awaited(&self) -> Option<Awaited> {
        if self.is_in_string() && self.begun.len() > 2 && !self.begun.ends_with(&[ESCAPE]) {
            return Some(Awaited::End);
        }
        (self.has_escape() || self.is_in_string()).then_some(Awaited::Rest)
    }

    /// The answer, if what was begun is one.
    fn answer(&self) -> Option<Answer> {
        if self.begun == STATUS {
            return Some(Answer::Status);
        }
        let rest = self.begun.strip_prefix(KIND_START)?;
        let (end, parameters) = rest.split_last()?;
        let is_parameter = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
        (*end == KIND_END && parameters.iter().all(is_parameter)).then_some(Answer::Kind)
    }

    /// Whether there is an escape of which it is not known whether more follows.
    fn has_escape(&self) -> bool {
        self.begun == [ESCAPE]
    }

    /// Nothing follows what was begun.
    fn finish(&mut self) {
        if self.is_in_string() && self.begun.len() > 2 {
            let is_key = self.begun.ends_with(&[ESCAPE]);
            self.begun.clear();
            self.begun.extend(is_key.then_some(ESCAPE));
        }
        self.parse();
        self.begun.clear();
    }

    fn parse(&mut self) {
        match terminput::Event::parse_from(&self.begun) {
            Ok(None) if self.begun.len() < LONGEST => return,
            Ok(Some(event)) => self.events.extend(to_crossterm(event)),
            // Too long, or unknown.
            Ok(None) | Err(_) => {}
        }
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use proptest::prelude::*;

    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(code, modifiers))
    }

    fn plain(code: KeyCode) -> Event {
        key(code, KeyModifiers::NONE)
    }

    proptest! {
        #[test]
        fn answers_are_found_in_any_input_however_it_is_cut(
            cuts in prop::collection::vec(1_usize..6, 0..40),
        ) {
            let input = b"q\x1b[0n\x1b[A\x1b[0n\x1b[?62;22c\x1b[0n\x1b[200~a\nb\x1b[201~\x1b[0n\xc3\xa9\x1bx\x1b[1;2C\
                \x1b[0n\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\\x1b[?6c\x1bP>|name 1.0\x1b\\\x1b_Gi=31;OK\x1b\\\
                \x1b]10;rgb:0/0/0\x07\
                \x1b";
            let (mut parser, mut answers, mut rest) = (Parser::default(), Vec::new(), &input[..]);
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                parser.push(now, &mut |answer| answers.push(answer));
                rest = later;
            }
            parser.push(rest, &mut |answer| answers.push(answer));
            parser.finish();
            let (status, kind) = (Answer::Status, Answer::Kind);
            prop_assert_eq!(answers, [status, status, kind, status, status, status, kind]);
            let expected = [
                plain(KeyCode::Char('q')),
                plain(KeyCode::Up),
                Event::Paste("a\nb".into()),
                plain(KeyCode::Char('é')),
                key(KeyCode::Char('x'), KeyModifiers::ALT),
                key(KeyCode::Right, KeyModifiers::SHIFT),
                plain(KeyCode::Esc),
            ];
            prop_assert_eq!(Vec::from(parser.events), expected);
        }

        #[test]
        fn no_input_is_too_much(input in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut parser = Parser::default();
            parser.push(&input, &mut |_| ());
            prop_assert!(parser.begun.len() <= input.len());
        }
    }

    #[test]
    fn two_escapes_are_two_keys() {
        let mut parser = Parser::default();
        parser.push(b"\x1b\x1b", &mut |answer| panic!("{answer:?}"));
        assert!(parser.has_escape());
        parser.finish();
        let escape = plain(KeyCode::Esc);
        assert_eq!(Vec::from(parser.events), [escape.clone(), escape]);
    }

    /// A letter that comes with the byte of the escape key is that letter with alt; anything that begins with an escape
    /// leaves the key as it is.
    #[test]
    fn a_report_separates_the_escape_key_from_a_letter() {
        let events = |input: &[u8]| {
            let mut parser = Parser::default();
            parser.push(input, &mut |answer| panic!("{answer:?}"));
            Vec::from(parser.events)
        };
        let letter = KeyCode::Char('q');
        assert_eq!(events(b"\x1bq"), [key(letter, KeyModifiers::ALT)]);
        let separate = [plain(KeyCode::Esc), Event::FocusGained, plain(letter)];
        assert_eq!(events(b"\x1b\x1b[Iq"), separate);
    }

    fn after(input: &[u8]) -> (Parser, Vec<Event>) {
        let mut parser = Parser::default();
        parser.push(input, &mut |answer| panic!("{answer:?}"));
        let events = parser.events.drain(..).collect();
        (parser, events)
    }

    #[test]
    fn a_key_that_begins_as_a_string_is_a_key_if_nothing_follows() {
        for (input, letter) in [(b"\x1b]", ']'), (b"\x1bP", 'P'), (b"\x1b_", '_')] {
            let (mut parser, events) = after(input);
            assert_eq!(events, []);
            assert_eq!(parser.awaited(), Some(Awaited::Rest));
            parser.finish();
            let Some(Event::Key(key)) = parser.events.pop_front() else {
                panic!("no key");
            };
            assert_eq!(key.code, KeyCode::Char(letter));
            assert!(key.modifiers.contains(KeyModifiers::ALT));
            // What is no text cannot be of a string.
            let (_, events) = after(&[input, &b"\x1b[A\r"[..]].concat());
            assert_eq!(events.len(), 3, "{events:?}");
            assert_eq!(events[1..], [plain(KeyCode::Up), plain(KeyCode::Enter)]);
        }
    }

    #[test]
    fn a_string_without_an_end_leaves_the_keys() {
        let (mut parser, events) = after(b"\x1b]11;rgb:1e1e");
        assert_eq!(events, []);
        assert_eq!(parser.awaited(), Some(Awaited::End));
        parser.finish();
        assert!(parser.begun.is_empty() && parser.events.is_empty());
        let interrupt = key(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for (input, expected) in [
            (&b"\x1b]11;rgb\x03"[..], &[interrupt][..]),
            (
                b"\x1b]11;rgb\x1b[Aq",
                &[plain(KeyCode::Up), plain(KeyCode::Char('q'))],
            ),
            (
                b"\x1bP1\x1b]11;rgb:0/0/0\x07q",
                &[plain(KeyCode::Char('q'))],
            ),
            (
                b"\x1b]11;rgb\x1b\x1b[A",
                &[plain(KeyCode::Esc), plain(KeyCode::Up)],
            ),
        ] {
            assert_eq!(after(input).1, expected, "{input:?}");
        }
        let (mut parser, events) = after(b"\x1b]11;rgb\x1b");
        assert_eq!(
            (parser.awaited(), events),
            (Some(Awaited::Rest), Vec::new())
        );
        parser.finish();
        assert_eq!(Vec::from(parser.events), [plain(KeyCode::Esc)]);
        let long = [b"\x1b]", &[b'a'; LONGEST_STRING][..], b"q"].concat();
        assert_eq!(after(&long).1.last(), Some(&plain(KeyCode::Char('q'))));
    }

    #[test]
    fn input_without_an_end_is_dropped() {
        let mut parser = Parser::default();
        parser.push(b"\x1b[200~", &mut |_| ());
        parser.push(&vec![b'a'; LONGEST], &mut |_| ());
        assert!(parser.begun.len() < LONGEST);
    }
}
