//! [`TtyInput`]: reads what the terminal sends, and separates answers to questions from events.
//!
//! The reader of crossterm drops the answers, so only its types are used here.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use crossterm::event::Event;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::SIGWINCH;
use terminput_crossterm::to_crossterm;

use crate::tui::terminal::job_control::may_use_terminal;
use crate::tui::terminal::line::Answer;

/// Answers the question for the state of the terminal.
const STATUS: &[u8] = b"\x1b[0n";
/// The answer to the question for its kind begins and ends so.
const KIND_START: &[u8] = b"\x1b[?";
const KIND_END: u8 = b'c';

/// How long the rest of a sequence may take after its first byte; the escape key sends nothing else.
const REST_OF_SEQUENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

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
            let rest = self.parser.has_escape().then_some(&REST_OF_SEQUENCE);
            let is_there = match self.poll(rest) {
                Ok((is_there, is_resized)) => {
                    if is_resized && drain(&self.resized)? {
                        let (columns, rows) = crossterm::terminal::size()?;
                        self.parser.events.push_back(Event::Resize(columns, rows));
                    }
                    is_there
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
            } else if rest.is_some() {
                self.parser.finish();
            }
        }
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
            if self.has_escape() && *byte == b'\x1b' {
                self.finish();
            }
            self.begun.push(*byte);
            if let Some(answer) = self.answer() {
                answered(answer);
                self.begun.clear();
            } else if !self.has_escape() {
                self.parse();
            }
        }
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
        self.begun == b"\x1b"
    }

    /// Nothing follows what was begun.
    fn finish(&mut self) {
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
                \x1b[0n\x1b[?6c\x1b";
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

    #[test]
    fn input_without_an_end_is_dropped() {
        let mut parser = Parser::default();
        parser.push(b"\x1b[200~", &mut |_| ());
        parser.push(&vec![b'a'; LONGEST], &mut |_| ());
        assert!(parser.begun.len() < LONGEST);
    }
}
