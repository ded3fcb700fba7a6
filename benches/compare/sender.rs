//! What sends: a process, and what the system tells about it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::bare_loop;
use crate::scenario::Scenario;

const PLAY: &str = env!("CARGO_BIN_EXE_play");
/// How often the memory of a process is looked at. The system keeps its peak, so only the last moment can be missed.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    BareLoop,
    Ros2,
    Play,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// At the times of the recording.
    Recorded,
    /// As fast as the sender can.
    Fastest,
}

/// A process that has ended.
pub(crate) struct Ended {
    pub(crate) started: Instant,
    pub(crate) processor_seconds: Option<f64>,
    pub(crate) peak_mib: Option<f64>,
}

impl Sender {
    /// All that can run here. The references come first, `play` last.
    pub(crate) fn installed() -> Vec<Self> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let has_ros2 = std::env::split_paths(&folders).any(|it| it.join("ros2").is_file());
        let ros2 = has_ros2.then_some(Self::Ros2);
        [Some(Self::BareLoop), ros2, Some(Self::Play)]
            .into_iter()
            .flatten()
            .collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BareLoop => "bare put loop",
            Self::Ros2 => "ros2 bag play",
            Self::Play => "play",
        }
    }

    fn command(
        self,
        scenario: &Scenario,
        seconds: u64,
        bag: &Path,
        pace: Pace,
        endpoint: &str,
    ) -> Result<Command> {
        Ok(match self {
            Self::BareLoop => bare_loop::command(scenario, seconds, pace, endpoint)?,
            Self::Ros2 => {
                let mut command = Command::new("ros2");
                command.args(["bag", "play", "--disable-keyboard-controls"]);
                command.arg(bag).args(["--clock", "100"]);
                if pace == Pace::Fastest {
                    command.args(["--rate", "1000"]);
                }
                let connect = format!("connect/endpoints=[{endpoint:?}]");
                command.env("RMW_IMPLEMENTATION", "rmw_zenoh_cpp");
                command.env("ZENOH_CONFIG_OVERRIDE", connect);
                command
            }
            Self::Play => {
                let mut command = Command::new(PLAY);
                command.arg(bag).args(["--clock", "100", "--no-tui"]);
                if pace == Pace::Fastest {
                    // Like the loop. Without it, a short recording is over before a subscriber is found.
                    command.args(["--rate", "max", "--wait-for-subscribers"]);
                }
                command.args(["--connect", endpoint]);
                command
            }
        })
    }

    /// Runs it to its end.
    pub(crate) fn run(
        self,
        scenario: &Scenario,
        seconds: u64,
        bag: &Path,
        pace: Pace,
        endpoint: &str,
    ) -> Result<Ended> {
        let mut command = self.command(scenario, seconds, bag, pace, endpoint)?;
        command.env("ROS_DOMAIN_ID", "0").env_remove("RUST_LOG");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
        let started = Instant::now();
        let mut process = Process(command.spawn().context(self.name())?);
        let ended = process.wait(started)?;
        let code = process.0.wait()?;
        ensure!(code.success(), "{} ended with {code}", self.name());
        Ok(ended)
    }
}

/// A process that is killed when this is dropped.
struct Process(Child);

impl Process {
    /// Waits for its end, but leaves it to the caller to reap it: until then, the system tells its processor time.
    fn wait(&mut self, started: Instant) -> Result<Ended> {
        let id = self.0.id();
        let pid = Pid::from_raw(id.try_into()?).context("a process")?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let mut peak_mib = None;
        while waitid(WaitId::Pid(pid), options)?.is_none() {
            peak_mib = peak(id).or(peak_mib);
            #[expect(clippy::disallowed_methods, reason = "it looks again and again")]
            std::thread::sleep(LOOK);
        }
        Ok(Ended {
            started,
            processor_seconds: processor_seconds(id),
            peak_mib,
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn peak(id: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

fn processor_seconds(id: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields = stat.rsplit(')').next()?.split_whitespace();
    let ticks = fields.skip(11).take(2).map_while(|it| it.parse().ok());
    let ticks: Vec<f64> = ticks.collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() / 100.0)
}
