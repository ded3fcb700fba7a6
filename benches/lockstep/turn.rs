//! [`Turn`]: one process that drives a node, and what it tells.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// How a driver knows that it may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Bare zenoh: the answer has come.
    Bare,
    /// The player with a gate: the answer has come.
    Gated,
    /// The player in lockstep: the node has settled.
    Settled,
}

/// What a driver does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    pub(crate) way: Way,
    pub(crate) cycles: u64,
    /// Bytes of a message.
    pub(crate) size: usize,
    /// Whether `/clock` goes before each message.
    pub(crate) has_clock: bool,
    /// Whether the answers are recorded.
    pub(crate) records: bool,
    /// How long the node computes for each message.
    pub(crate) computes: Duration,
}

/// What it tells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Figures {
    pub(crate) per_second: f64,
    /// The processor time of the driver, in processors.
    pub(crate) share: f64,
    /// How many threads were looked at.
    pub(crate) threads: usize,
}

const ROLE: &str = "BAGPLAY_BENCH_ROLE";
const TURN: &str = "BAGPLAY_BENCH_TURN";
const BAG: &str = "BAGPLAY_BENCH_BAG";

impl Turn {
    /// A message.
    pub(crate) fn payload(&self) -> Vec<u8> {
        let mut payload = vec![b'a'; self.size.max(9)];
        payload[..4].copy_from_slice(&[0, 1, 0, 0]);
        let length = u32::try_from(payload.len() - 8).unwrap_or(u32::MAX);
        payload[4..8].copy_from_slice(&length.to_le_bytes());
        if let Some(last) = payload.last_mut() {
            *last = 0;
        }
        payload
    }

    /// The variables that tell a process its role in this turn.
    pub(crate) fn environment(&self, role: &str) -> [(OsString, OsString); 2] {
        let way = match self.way {
            Way::Bare => "bare",
            Way::Gated => "gated",
            Way::Settled => "settled",
        };
        let Self {
            cycles,
            size,
            has_clock,
            records,
            computes,
            ..
        } = self;
        let micros = computes.as_micros();
        let turn = format!("{way} {cycles} {size} {has_clock} {records} {micros}");
        [(ROLE.into(), role.into()), (TURN.into(), turn.into())]
    }

    /// The role of this process, its turn, and the recording. `None`: it is the benchmark itself.
    pub(crate) fn of_process() -> Result<Option<(String, Self, OsString)>> {
        let Ok(role) = std::env::var(ROLE) else {
            return Ok(None);
        };
        let text = std::env::var(TURN)?;
        let mut words = text.split(' ');
        let mut next = || words.next().context("a word is missing");
        let way = match next()? {
            "bare" => Way::Bare,
            "gated" => Way::Gated,
            _ => Way::Settled,
        };
        let turn = Self {
            way,
            cycles: next()?.parse()?,
            size: next()?.parse()?,
            has_clock: next()?.parse()?,
            records: next()?.parse()?,
            computes: Duration::from_micros(next()?.parse()?),
        };
        Ok(Some((
            role,
            turn,
            std::env::var_os(BAG).unwrap_or_default(),
        )))
    }

    /// Runs it in a process of its own.
    pub(crate) fn run(&self, bag: &Path) -> Result<Figures> {
        let output = Command::new(std::env::current_exe()?)
            .envs(self.environment("driver"))
            .env(BAG, bag)
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(output.status.success(), "{self:?}: {}", output.status);
        let text = String::from_utf8(output.stdout)?;
        let mut words = text.split_whitespace();
        let mut next = || words.next().context("a figure is missing");
        Ok(Figures {
            per_second: next()?.parse()?,
            share: next()?.parse()?,
            threads: next()?.parse()?,
        })
    }

    /// Writes the recording that it plays.
    pub(crate) fn write_recording(&self, path: &Path) -> Result<()> {
        let options = mcap::WriteOptions::new().compression(None).profile("ros2");
        let mut writer = options.create(std::io::BufWriter::new(std::fs::File::create(path)?))?;
        let schema = writer.add_schema("std_msgs/msg/String", "ros2msg", b"string data")?;
        let channel = writer.add_channel(schema, "/chatter", "cdr", &[].into())?;
        let payload = self.payload();
        for n in 0..self.cycles {
            let time = 1_700_000_000_000_000_000 + n * 5_000_000;
            let header = mcap::records::MessageHeader {
                channel_id: channel,
                sequence: 0,
                log_time: time,
                publish_time: time,
            };
            writer.write_to_known_channel(&header, &payload)?;
        }
        writer.finish()?;
        Ok(())
    }
}
