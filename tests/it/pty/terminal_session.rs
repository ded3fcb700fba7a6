//! [`TerminalSession`]: the binary in a pseudo-terminal, with simulated keys and mouse and a parsed screen.
//! [`Listener`]: an independent subscriber.
//!
//! Every wait is for a frame or a message, with a deadline that is reached only on failure. Complete frames alone are
//! checked, and all frames since the last input are, so no test misses a frame that was soon replaced.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use bagplay::bag::Bag;
use bagplay::time::TimeRange;
use crossbeam_channel::{Receiver, bounded, never};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use zenoh::Wait;

use crate::support::network::{free_endpoint, peer, peer_with_admin_space};
use crate::support::patience::{Patience, instant, look_again};

pub(crate) use crate::support::patience::until;

/// The sequences that begin and end a frame.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// How many bytes a second a serial line of 57,600 baud takes: far less than thirty frames.
pub(crate) const SERIAL_LINE: u32 = 5_760;
pub(crate) const LEFT: &str = "\x1b[D";
pub(crate) const RIGHT: &str = "\x1b[C";
pub(crate) const UP: &str = "\x1b[A";
pub(crate) const DOWN: &str = "\x1b[B";
pub(crate) const HOME: &str = "\x1b[H";
pub(crate) const END_KEY: &str = "\x1b[F";
pub(crate) const ENTER: &str = "\r";
/// The escape key, and a report of focus, which has no effect: with the byte of the key alone, a letter sent soon after
/// it is read as that letter with `alt`.
pub(crate) const ESC: &str = "\x1b\x1b[I";
/// The byte of the escape key alone.
pub(crate) const ESC_BYTE: &str = "\x1b";
pub(crate) const BACKSPACE: &str = "\x7f";

pub(crate) fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/demo.mcap")
}

/// The range of the demo.
pub(crate) fn demo_range() -> TimeRange {
    static RANGE: OnceLock<TimeRange> = OnceLock::new();
    *RANGE.get_or_init(|| Bag::open(&[demo()]).unwrap().range().unwrap())
}

/// Nanoseconds from the demo's start.
pub(crate) fn since_start(nanos: i64) -> i64 {
    nanos - demo_range().start().as_nanos()
}

/// The time of a click on a column of the bar, with the whole demo on 120 columns.
pub(crate) fn clicked(column: u16) -> i64 {
    let span = demo_range().duration().as_nanos();
    let offset = i64::from(column) - 1;
    match offset {
        0 => 0,
        117 => span,
        _ => span * offset / 118 + 1,
    }
}

/// A command before it runs.
pub(crate) struct TerminalCommand {
    command: CommandBuilder,
    home: tempfile::TempDir,
    size: (u16, u16),
    endpoint: Option<String>,
    /// What the terminal answers to a question for its background.
    background: &'static str,
    /// What it answers to questions for graphics protocols and for the size of a character.
    graphics: &'static str,
    /// Whether it answers nothing at all.
    is_silent: bool,
    /// How many bytes a second the line to it takes, if there is a limit.
    line_rate: Option<u32>,
}

/// What a terminal with a dark background answers to a question for it; and one that knows no such question.
pub(crate) const DARK_BACKGROUND: &str = "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\";
pub(crate) const NO_BACKGROUND: &str = "";

/// The questions for the background, and for the kind of terminal, which every terminal answers.
const BACKGROUND_QUERY: &[u8] = b"\x1b]11;?";
pub(crate) const KIND_QUERY: &[u8] = b"\x1b[c";
const KIND: &str = "\x1b[?62;22c";
/// The question for the state of the terminal, which comes last, and its answer.
const STATUS_QUERY: &[u8] = b"\x1b[5n";
const STATUS: &str = "\x1b[0n";

/// `play` with these arguments.
pub(crate) fn play(args: &[&str]) -> TerminalCommand {
    TerminalCommand::of(&assert_cmd::cargo::cargo_bin("play"), args)
}

/// `play` with the demo and these arguments, as the router of its own network, which [`TerminalSession::listener`]
/// hears.
pub(crate) fn play_demo(args: &[&str]) -> TerminalCommand {
    play_bag(&demo(), args)
}

/// The same with another recording.
pub(crate) fn play_bag(bag: &Path, args: &[&str]) -> TerminalCommand {
    let endpoint = free_endpoint();
    let network = [bag.to_str().unwrap(), "--listen", &endpoint];
    let mut command = play(&[&network, args].concat());
    command.endpoint = Some(endpoint);
    command
}

impl TerminalCommand {
    /// Any program, with a home directory of its own and 120 × 30 cells.
    pub(crate) fn of(program: &Path, args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(home.path());
        for name in [
            "CI",
            "COLORFGBG",
            "COLORTERM",
            "NO_COLOR",
            "ROS_DOMAIN_ID",
            "RUST_LOG",
        ] {
            command.env_remove(name);
        }
        command.env("HOME", home.path());
        command.env("XDG_CONFIG_HOME", home.path().join("config"));
        command.env("XDG_STATE_HOME", home.path().join("state"));
        command.env("TERM", "xterm-256color");
        command.env("TZ", "UTC");
        Self {
            command,
            home,
            size: (120, 30),
            endpoint: None,
            background: DARK_BACKGROUND,
            graphics: "",
            is_silent: false,
            line_rate: None,
        }
    }

    pub(crate) fn arg(mut self, arg: &str) -> Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn size(mut self, columns: u16, rows: u16) -> Self {
        self.size = (columns, rows);
        self
    }

    /// On a terminal that answers this to a question for its background.
    pub(crate) fn background(mut self, answer: &'static str) -> Self {
        self.background = answer;
        self
    }

    /// On a terminal that answers this to questions for graphics protocols and for the size of a character.
    #[cfg(feature = "pictures")]
    pub(crate) fn graphics(mut self, answer: &'static str) -> Self {
        self.graphics = answer;
        self
    }

    /// On a terminal that answers no question, before [`TerminalSession::answer`].
    pub(crate) fn silent(mut self) -> Self {
        self.is_silent = true;
        self
    }

    /// On a line that takes so many bytes a second.
    pub(crate) fn line_rate(mut self, bytes_a_second: u32) -> Self {
        self.line_rate = Some(bytes_a_second);
        self
    }

    /// With this `config.toml`.
    pub(crate) fn config(self, text: impl AsRef<[u8]>) -> Self {
        let folder = self.home.path().join("config/bagplay");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
        self
    }

    pub(crate) fn run(self) -> TerminalSession {
        let pair = native_pty_system().openpty(size(self.size)).unwrap();
        let before = termios(&*pair.master);
        let (columns, rows) = self.size;
        let output = Arc::new(Output::new(columns, rows));
        let mut out = pair.master.try_clone_reader().unwrap();
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let (shared, keyboard) = (Arc::clone(&output), Arc::clone(&writer));
        let (background, graphics) = (self.background, self.graphics);
        let is_silent = Arc::new(AtomicBool::new(self.is_silent));
        let says_nothing = Arc::clone(&is_silent);
        let withheld = Arc::new(Mutex::new(String::new()));
        let unsaid = Arc::clone(&withheld);
        let byte_time = (self.line_rate).map(|rate| Duration::from_secs(1) / rate);
        let reader = std::thread::spawn(move || {
            let mut buffer = vec![0; if byte_time.is_some() { 64 } else { 8192 }];
            let mut asked: Vec<u8> = Vec::new();
            let mut has_begun = false;
            let mut taken_at = instant();
            while let Ok(read @ 1..) = out.read(&mut buffer) {
                if let Some(byte_time) = byte_time {
                    // The line is busy for so long.
                    let time = byte_time * u32::try_from(read).unwrap();
                    taken_at = taken_at.max(instant()) + time;
                    let _ = never::<()>().recv_deadline(taken_at);
                }
                shared.append(&buffer[..read]);
                asked.extend_from_slice(&buffer[..read]);
                // Frames end with a question, too.
                has_begun |= has(&asked, END);
                let mut answer = String::new();
                for at in 0..asked.len() {
                    let (before, question) = asked.split_at(at);
                    if question.starts_with(KIND_QUERY) {
                        let is_asked = has(before, BACKGROUND_QUERY);
                        answer += if is_asked { background } else { "" };
                        answer += KIND;
                    } else if question.starts_with(STATUS_QUERY) {
                        answer += if has_begun { "" } else { graphics };
                        answer += STATUS;
                    }
                }
                if !answer.is_empty() {
                    let mut unsaid = unsaid.lock().unwrap();
                    if says_nothing.load(Ordering::Relaxed) {
                        *unsaid += &answer;
                    } else {
                        let mut keyboard = keyboard.lock().unwrap();
                        match keyboard.write_all(answer.as_bytes()) {
                            // The program has ended, and nobody has the other end open.
                            Err(error)
                                if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {}
                            written => written.unwrap(),
                        }
                    }
                }
                // The beginning of a question may be there.
                let kept = if answer.is_empty() {
                    256
                } else {
                    begun(&asked)
                };
                asked.drain(..asked.len().saturating_sub(kept));
            }
            shared.end();
        });
        let child = pair.slave.spawn_command(self.command).unwrap();
        TerminalSession {
            writer,
            child,
            master: pair.master,
            slave: Some(pair.slave),
            output,
            reader: Some(reader),
            is_silent,
            withheld,
            before,
            code: None,
            _home: self.home,
            endpoint: self.endpoint,
        }
    }
}

pub(crate) fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// How many of the last bytes begin the question that comes with each frame.
fn begun(asked: &[u8]) -> usize {
    let lengths = (1..STATUS_QUERY.len()).rev();
    let is_begun = |length: &usize| asked.ends_with(&STATUS_QUERY[..*length]);
    lengths.into_iter().find(is_begun).unwrap_or_default()
}

fn size((cols, rows): (u16, u16)) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

/// All settings of the terminal, as text that can be compared.
fn termios(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().expect("a terminal"))
}

/// A frame as text.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) rows: Vec<String>,
    pub(crate) is_alternate: bool,
}

impl Frame {
    pub(crate) fn has(&self, words: &str) -> bool {
        self.rows.iter().any(|row| row.contains(words))
    }

    /// Whether it is a frame of the bar that contains these words.
    pub(crate) fn shows(&self, words: &str) -> bool {
        self.is_alternate && self.has(words)
    }

    /// The row that contains these words.
    pub(crate) fn row(&self, words: &str) -> &str {
        let row = self.rows.iter().find(|row| row.contains(words));
        row.unwrap_or_else(|| panic!("no `{words}` in\n{self}"))
    }

    /// The time from the start that the header shows, in milliseconds.
    pub(crate) fn elapsed(&self) -> Option<i64> {
        let head = self.rows.iter().find_map(|row| row.split_once(" / 00:"))?.0;
        let (_, time) = head.rsplit_once('+')?;
        let (minutes, seconds) = time.split_once(':')?;
        let (seconds, millis) = seconds.split_once('.')?;
        let number = |text: &str| text.parse::<i64>().ok();
        Some((number(minutes)? * 60 + number(seconds)?) * 1000 + number(millis)?)
    }

    /// The number of the bar's row, from 0.
    pub(crate) fn bar(&self) -> u16 {
        let is_bar = |row: &String| {
            row.trim_end()
                .ends_with(['┤', '●', '◆', '⟩', '─', '━', '╌'])
                && row.starts_with(['├', '●', '◆', '⟨', '─', '━', '╌'])
        };
        let at = self.rows.iter().position(is_bar);
        u16::try_from(at.unwrap_or_else(|| panic!("no bar in\n{self}"))).unwrap()
    }
}

impl std::fmt::Display for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let edge = "-".repeat(40);
        let which = if self.is_alternate {
            "alternate"
        } else {
            "primary"
        };
        writeln!(f, "{edge} {which} screen")?;
        for row in &self.rows {
            writeln!(f, "{}", row.trim_end())?;
        }
        f.write_str(&edge)
    }
}

struct Output {
    screen: Mutex<Screen>,
    changed: Condvar,
}

struct Screen {
    parser: vt100::Parser,
    /// All bytes that were written.
    bytes: Vec<u8>,
    /// How many of them were parsed; the others are parsed when a test looks for them.
    parsed: usize,
    has_ended: bool,
}

impl Output {
    fn new(columns: u16, rows: u16) -> Self {
        let of = |length| NonZeroU16::new(length).unwrap();
        Self {
            screen: Mutex::new(Screen {
                parser: vt100::Parser::new(of(rows), of(columns), 1000),
                bytes: Vec::new(),
                parsed: 0,
                has_ended: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Screen> {
        self.screen
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The screen, advanced to the newest frame.
    fn newest(&self) -> MutexGuard<'_, Screen> {
        let mut screen = self.lock();
        while screen.advance() {}
        screen
    }

    fn append(&self, read: &[u8]) {
        self.lock().bytes.extend_from_slice(read);
        self.changed.notify_all();
    }

    fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }
}

/// How many of the bytes come before the start of the next frame.
fn before_next_frame(bytes: &[u8]) -> usize {
    let begin = bytes.windows(BEGIN.len()).position(|part| part == BEGIN);
    begin.unwrap_or_else(|| {
        // The last bytes may be a part of the sequence that begins a frame.
        let is_part = |length: &usize| bytes.ends_with(&BEGIN[..*length]);
        bytes.len() - (1..BEGIN.len()).rev().find(is_part).unwrap_or(0)
    })
}

impl Screen {
    /// Advances to the next complete frame; returns whether there was one.
    fn advance(&mut self) -> bool {
        let new = &self.bytes[self.parsed..];
        let end = new.windows(END.len()).position(|part| part == END);
        let length = match end {
            Some(end) => end + END.len(),
            None if self.has_ended => new.len(),
            None => before_next_frame(new),
        };
        self.parser.process(&new[..length]);
        self.parsed += length;
        length > 0
    }

    fn frame(&self) -> Frame {
        let screen = self.parser.screen();
        let (_, columns) = screen.size();
        Frame {
            rows: screen.rows(0, columns.get()).collect(),
            is_alternate: screen.alternate_screen(),
        }
    }
}

/// A program in a terminal. It is killed when this is dropped.
pub(crate) struct TerminalSession {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    slave: Option<Box<dyn SlavePty + Send>>,
    output: Arc<Output>,
    reader: Option<std::thread::JoinHandle<()>>,
    is_silent: Arc<AtomicBool>,
    /// What it would have answered if it were not silent.
    withheld: Arc<Mutex<String>>,
    before: String,
    code: Option<u32>,
    _home: tempfile::TempDir,
    endpoint: Option<String>,
}

impl TerminalSession {
    /// Presses keys, as their bytes.
    pub(crate) fn keys(&mut self, keys: &str) {
        drop(self.output.newest());
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Presses keys; returns how many bytes come from then on to the start of the first frame of the bar that contains
    /// these words.
    #[track_caller]
    pub(crate) fn bytes_in_front_of_answer(&mut self, keys: &str, words: &str) -> usize {
        // Nothing is read meanwhile.
        let screen = self.output.newest();
        self.writer
            .lock()
            .unwrap()
            .write_all(keys.as_bytes())
            .unwrap();
        let before = screen.bytes.len();
        drop(screen);
        self.wait_text(words);
        let screen = self.output.lock();
        let shown = &screen.bytes[before..screen.parsed];
        let mut starts = shown.windows(BEGIN.len());
        starts.rposition(|part| part == BEGIN).unwrap_or_default()
    }

    /// From now on the terminal answers no question, or each.
    pub(crate) fn set_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::Relaxed);
    }

    /// The terminal gives the answers that it has withheld, and from now on answers each question.
    pub(crate) fn answer(&self) {
        let mut withheld = self.withheld.lock().unwrap();
        self.set_silent(false);
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(withheld.as_bytes()).unwrap();
        withheld.clear();
    }

    fn mouse(&mut self, button: u8, column: u16, row: u16, end: char) {
        self.keys(&format!("\x1b[<{button};{};{}{end}", column + 1, row + 1));
    }

    /// Presses the left button, at a column and a row from 0.
    pub(crate) fn press(&mut self, column: u16, row: u16) {
        self.mouse(0, column, row, 'M');
    }

    /// Moves with the left button down.
    pub(crate) fn drag(&mut self, column: u16, row: u16) {
        self.mouse(32, column, row, 'M');
    }

    /// Moves without a button.
    pub(crate) fn hover(&mut self, column: u16, row: u16) {
        self.mouse(35, column, row, 'M');
    }

    /// Which mouse events the terminal reports.
    pub(crate) fn mouse_mode(&self) -> vt100::MouseProtocolMode {
        self.inspect_screen(vt100::Screen::mouse_protocol_mode)
    }

    /// Releases the left button.
    pub(crate) fn release(&mut self, column: u16, row: u16) {
        self.mouse(0, column, row, 'm');
    }

    /// Presses and releases the left button.
    pub(crate) fn click(&mut self, column: u16, row: u16) {
        self.press(column, row);
        self.release(column, row);
    }

    /// Drags with the right button.
    pub(crate) fn right_drag(&mut self, from: u16, to: u16, row: u16) {
        self.mouse(2, from, row, 'M');
        self.mouse(34, to, row, 'M');
        self.mouse(2, to, row, 'm');
    }

    /// Turns the wheel, up is −1.
    pub(crate) fn wheel(&mut self, turn: i8, column: u16, row: u16) {
        self.mouse(if turn < 0 { 64 } else { 65 }, column, row, 'M');
    }

    /// Resizes the terminal.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let of = |length| NonZeroU16::new(length).unwrap();
        let mut screen = self.output.newest();
        screen.parser.screen_mut().set_size(of(rows), of(columns));
        self.master.resize(size((columns, rows))).unwrap();
    }

    /// The newest frame.
    pub(crate) fn frame(&self) -> Frame {
        self.output.newest().frame()
    }

    /// The first frame that matches, of those since the last input or the last match.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, mut is_it: impl FnMut(&Frame) -> bool) -> Frame {
        let mut patience = Patience::new();
        let mut screen = self.output.lock();
        loop {
            let frame = screen.frame();
            if is_it(&frame) {
                return frame;
            }
            while !screen.advance() {
                let slice = patience.slice().filter(|_| !screen.has_ended);
                let Some(slice) = slice else {
                    panic!("never saw {what}, but\n{frame}");
                };
                let waited = self.output.changed.wait_timeout(screen, slice);
                screen = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            }
        }
    }

    /// The first frame of the bar that contains these words.
    #[track_caller]
    pub(crate) fn wait_text(&self, words: &str) -> Frame {
        self.wait_for(&format!("`{words}`"), |frame| frame.shows(words))
    }

    /// The first frame of the bar with this time from the start, in milliseconds.
    #[track_caller]
    pub(crate) fn wait_elapsed(&self, millis: i64) -> Frame {
        self.wait_for(&format!("{millis} ms"), |frame| {
            frame.elapsed() == Some(millis)
        })
    }

    /// The text on the screen, with lines that are wrapped at the edge as one.
    pub(crate) fn text(&self) -> String {
        self.inspect_screen(vt100::Screen::contents)
    }

    /// All bytes that were written so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.output.newest().bytes.clone()
    }

    /// Inspects the parser's own screen, for colours and modes.
    pub(crate) fn inspect_screen<T>(&self, inspect: impl FnOnce(&vt100::Screen) -> T) -> T {
        inspect(self.output.newest().parser.screen())
    }

    pub(crate) fn pid(&self) -> Pid {
        let pid = self.child.process_id().unwrap();
        Pid::from_raw(pid.try_into().unwrap()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        drop(self.output.newest());
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until the program is stopped, as by ctrl-Z.
    #[track_caller]
    pub(crate) fn wait_stopped(&self) {
        let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
        until("a stopped process", || {
            let status = waitpid(Some(self.pid()), options).unwrap();
            status.is_some_and(|(_, status)| {
                assert!(status.stopped(), "it has ended:\n{}", self.frame());
                true
            })
        });
    }

    /// The terminal, for its settings.
    pub(crate) fn terminal(&self) -> &dyn MasterPty {
        &*self.master
    }

    /// Checks that the terminal is as it was before the program.
    #[track_caller]
    pub(crate) fn assert_restored(&self) {
        let modes = |screen: &vt100::Screen| {
            (
                (screen.alternate_screen(), screen.hide_cursor()),
                (screen.bracketed_paste(), screen.application_cursor()),
                screen.mouse_protocol_mode(),
                screen.mouse_protocol_encoding(),
            )
        };
        let usual = (
            (false, false),
            (false, false),
            vt100::MouseProtocolMode::None,
            vt100::MouseProtocolEncoding::Default,
        );
        assert_eq!(self.inspect_screen(modes), usual, "modes are left on");
        let bytes = String::from_utf8_lossy(&self.bytes()).into_owned();
        let (kept, back) = (bytes.matches("\x1b[22;0t"), bytes.matches("\x1b[23;0t"));
        assert_eq!(kept.count(), back.count(), "the window keeps a title");
        assert_eq!(termios(&*self.master), self.before, "termios has changed");
    }

    /// Checks that the terminal is set up for the bar.
    #[track_caller]
    pub(crate) fn assert_taken(&self) {
        let modes = |screen: &vt100::Screen| {
            (
                (screen.alternate_screen(), screen.hide_cursor()),
                screen.bracketed_paste(),
                screen.mouse_protocol_mode(),
                screen.mouse_protocol_encoding(),
            )
        };
        let taken = (
            (true, true),
            true,
            vt100::MouseProtocolMode::AnyMotion,
            vt100::MouseProtocolEncoding::Sgr,
        );
        assert_eq!(self.inspect_screen(modes), taken);
        assert_ne!(termios(&*self.master), self.before, "not in raw mode");
    }

    /// Waits for the end; returns the exit code and the last frame.
    #[track_caller]
    pub(crate) fn wait_end(&mut self) -> (u32, Frame) {
        let mut patience = Patience::new();
        while self.code.is_none() {
            self.code = self
                .child
                .try_wait()
                .unwrap()
                .map(|status| status.exit_code());
            let is_over = patience.slice().is_none();
            assert!(!is_over, "it has not ended:\n{}", self.frame());
            look_again();
        }
        // The reader ends when the other end is closed; then all output has been read.
        let restored = termios(&*self.master);
        drop(self.slave.take());
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        assert_eq!(restored, self.before, "termios has changed");
        (self.code.unwrap(), self.frame())
    }

    /// Quits by the key; returns the last frame.
    #[track_caller]
    pub(crate) fn quit(mut self) -> Frame {
        self.keys("q");
        let (code, frame) = self.wait_end();
        assert_eq!(code, 0, "{frame}");
        self.assert_restored();
        frame
    }

    /// Another session on the network.
    #[track_caller]
    pub(crate) fn peer(&self) -> zenoh::Session {
        peer(self.endpoint.as_deref().expect("a router"))
    }

    /// A subscriber on the network, once it has received the clock.
    #[track_caller]
    pub(crate) fn listener(&self) -> Listener {
        let listener = Listener::on(self.endpoint.as_deref().expect("a router"), &self.output);
        listener.wait("a first clock", Received::is_clock);
        listener
    }
}

impl Drop for TerminalSession {
    fn drop(&mut self) {
        if self.code.is_none() {
            // It may have ended already.
            let _ = kill_process(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// A message as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) topic: String,
    pub(crate) payload: Vec<u8>,
}

impl Received {
    pub(crate) fn is_clock(&self) -> bool {
        self.topic == "/clock"
    }

    /// The time at its start: that of a clock message, or of a header.
    pub(crate) fn stamp(&self) -> i64 {
        let word = |at: usize| u32::from_le_bytes(self.payload[at..at + 4].try_into().unwrap());
        i64::from(word(4)) * 1_000_000_000 + i64::from(word(8))
    }
}

/// A subscriber of all topics, on a session of its own.
pub(crate) struct Listener {
    _subscriber: zenoh::pubsub::Subscriber<()>,
    _network: zenoh::Session,
    received: Receiver<Received>,
    /// The output of the program, for error messages.
    output: Arc<Output>,
}

impl Listener {
    fn on(endpoint: &str, output: &Arc<Output>) -> Self {
        let network = peer_with_admin_space(endpoint);
        let (sender, received) = bounded(1_000_000);
        let forward = move |sample: zenoh::sample::Sample| {
            let key = sample.key_expr().as_str();
            // Domain, topic, type, hash.
            let topic = key.split_once('/').and_then(|(_, rest)| {
                let (rest, _) = rest.rsplit_once('/')?;
                Some(rest.rsplit_once('/')?.0.to_owned())
            });
            if let Some(topic) = topic {
                let payload = sample.payload().to_bytes().into_owned();
                let topic = format!("/{topic}");
                let _ = sender.try_send(Received { topic, payload });
            }
        };
        let subscriber = network.declare_subscriber("0/**").callback(forward);
        Self {
            _subscriber: subscriber.wait().expect("a subscriber"),
            _network: network,
            received,
            output: Arc::clone(output),
        }
    }

    /// All messages up to the first that matches, including it.
    #[track_caller]
    pub(crate) fn until(
        &self,
        what: &str,
        mut is_it: impl FnMut(&Received) -> bool,
    ) -> Vec<Received> {
        let mut patience = Patience::new();
        let mut all: Vec<Received> = Vec::new();
        loop {
            let Some(slice) = patience.slice() else {
                let last: Vec<_> = all
                    .iter()
                    .rev()
                    .take(5)
                    .map(|received| (&received.topic, received.stamp()))
                    .collect();
                let frame = self.output.newest().frame();
                panic!(
                    "never received {what}; the last of {}: {last:?}\n{frame}",
                    all.len()
                );
            };
            let Ok(received) = self.received.recv_timeout(slice) else {
                continue;
            };
            let is_last = is_it(&received);
            all.push(received);
            if is_last {
                return all;
            }
        }
    }

    /// The first message that matches.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_it: impl FnMut(&Received) -> bool) -> Received {
        self.until(what, is_it).pop().unwrap()
    }

    /// The next message of this topic.
    #[track_caller]
    pub(crate) fn next(&self, topic: &str) -> Received {
        self.wait(topic, |received| received.topic == topic)
    }

    /// All messages until the clock has shown this time, since the recording's start, for `ticks` in a row: whatever
    /// was sent before has been received by then.
    #[track_caller]
    pub(crate) fn until_held(&self, nanos: i64, ticks: usize) -> Vec<Received> {
        let mut held = 0;
        let mut last = 0;
        let what = format!("a clock that is held at {nanos}");
        let all = self.until(&what, |received| {
            if received.is_clock() {
                last = since_start(received.stamp());
                held = if last == nanos { held + 1 } else { 0 };
            }
            held >= ticks
        });
        all.into_iter()
            .filter(|received| !received.is_clock())
            .collect()
    }

    /// The time since the recording's start that the clock shows for some ticks in a row.
    #[track_caller]
    pub(crate) fn held(&self) -> i64 {
        let (mut held, mut last) = (0, i64::MIN);
        self.until("a clock that is held", |received| {
            if received.is_clock() {
                held = if received.stamp() == last {
                    held + 1
                } else {
                    0
                };
                last = received.stamp();
            }
            held >= 4
        });
        since_start(last)
    }

    /// Discards all messages that were received so far.
    pub(crate) fn discard(&self) {
        self.received.try_iter().for_each(drop);
    }
}

/// The demo's messages of some topics, read by the `mcap` crate.
pub(crate) struct Recorded {
    /// Topic, time since the start, payload; in order.
    messages: Vec<(String, i64, Vec<u8>)>,
}

impl Recorded {
    pub(crate) fn of(topics: &[&str]) -> Self {
        let bytes = std::fs::read(demo()).unwrap();
        let all = mcap::MessageStream::new(&bytes)
            .unwrap()
            .map(Result::unwrap);
        let mut messages: Vec<_> = all
            .filter(|message| topics.contains(&message.channel.topic.as_str()))
            .map(|message| {
                let at = since_start(message.log_time.try_into().unwrap());
                (message.channel.topic.clone(), at, message.data.to_vec())
            })
            .collect();
        messages.sort_by_key(|(_, at, _)| *at);
        Self { messages }
    }

    /// When the messages of a topic from one time to the other were recorded, both ends included.
    pub(crate) fn times(&self, topic: &str, from: i64, to: i64) -> Vec<i64> {
        let mut times = Vec::new();
        for (of, at, _) in &self.messages {
            if of == topic && (from..=to).contains(at) {
                times.push(*at);
            }
        }
        times
    }

    /// The time of the first message of any of the topics after a time.
    pub(crate) fn after(&self, time: i64) -> i64 {
        let next = self.messages.iter().find(|(_, at, _)| *at > time);
        next.expect("a message").1
    }

    /// When a received message was recorded.
    #[track_caller]
    pub(crate) fn time(&self, received: &Received) -> i64 {
        let is_it = |(topic, _, payload): &&(String, i64, Vec<u8>)| {
            *topic == received.topic && *payload == received.payload
        };
        let found = self.messages.iter().find(is_it);
        found
            .unwrap_or_else(|| panic!("{} was never recorded like this", received.topic))
            .1
    }

    /// When the received messages of a topic were recorded.
    #[track_caller]
    pub(crate) fn received(&self, all: &[Received], topic: &str) -> Vec<i64> {
        let of_it = all.iter().filter(|received| received.topic == topic);
        of_it.map(|received| self.time(received)).collect()
    }
}
