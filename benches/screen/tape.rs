//! [`Tape`]: the program in a pseudo-terminal of 200×50.

use std::io::{Read as _, Write};
use std::num::NonZero;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const PLAY: &str = env!("CARGO_BIN_EXE_play");
const ROWS: NonZero<u16> = NonZero::new(50).expect("not zero");
const COLUMNS: NonZero<u16> = NonZero::new(200).expect("not zero");

/// A program in a pseudo-terminal, and its output so far.
pub(crate) struct Tape {
    pub(crate) child: Box<dyn portable_pty::Child + Send + Sync>,
    pub(crate) keys: Box<dyn Write + Send>,
    pub(crate) output: mpsc::Receiver<Vec<u8>>,
    pub(crate) seen: vt100::Parser,
    all: String,
    _home: tempfile::TempDir,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Tape {
    pub(crate) fn play(args: &[&str]) -> Result<Self> {
        Self::play_with(args, "[]")
    }

    /// The same with these watched fields.
    pub(crate) fn play_with(args: &[&str], watched: &str) -> Result<Self> {
        let size = PtySize {
            rows: ROWS.get(),
            cols: COLUMNS.get(),
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size)?;
        let mut command = CommandBuilder::new(PLAY);
        command.args(args);
        command.env("TERM", "xterm-256color");
        command.env_remove("CI");
        // This terminal answers no questions.
        let home = tempfile::tempdir()?;
        std::fs::create_dir(home.path().join("bagplay"))?;
        std::fs::write(
            home.path().join("bagplay/config.toml"),
            "[tui]\ntheme = \"dark\"",
        )?;
        std::fs::write(home.path().join("bagplay/watched.json"), watched)?;
        command.env("COLORTERM", "truecolor");
        command.env("XDG_CONFIG_HOME", home.path());
        command.env("XDG_STATE_HOME", home.path());
        let child = pair.slave.spawn_command(command)?;
        let mut reader = pair.master.try_clone_reader()?;
        let (send, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            keys: pair.master.take_writer()?,
            output,
            seen: vt100::Parser::new(ROWS, COLUMNS, 0),
            all: String::new(),
            _home: home,
            _master: pair.master,
        })
    }

    /// Waits until the screen shows a text.
    pub(crate) fn wait_for(&mut self, text: &str) -> Result<()> {
        while !self.seen.screen().contents().contains(text) {
            let more = self.output.recv_timeout(Duration::from_secs(60));
            let more =
                more.with_context(|| format!("no {text}: {}", self.seen.screen().contents()))?;
            self.seen.process(&more);
        }
        Ok(())
    }

    /// Waits for the end; returns the output since.
    pub(crate) fn finish(mut self) -> Result<String> {
        while let Ok(more) = self.output.recv_timeout(Duration::from_secs(60)) {
            self.all.push_str(&String::from_utf8_lossy(&more));
        }
        self.child.wait()?;
        Ok(self.all)
    }

    /// The seconds of processor time that it has used.
    pub(crate) fn cpu(&self) -> Result<f64> {
        let id = self.child.process_id().context("it runs")?;
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .context("stat")?
            .split_whitespace()
            .collect();
        let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
        Ok(ticks / 100.0)
    }
}
