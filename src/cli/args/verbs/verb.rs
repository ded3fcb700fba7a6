//! [`Verb`]: the commands other than playing.

use clap::Subcommand;

use super::attach::AttachArgs;
use super::clock_server::ClockServerArgs;
use super::convert::ConvertArgs;
use super::ctl::CtlArgs;
use super::cut::CutArgs;
use super::find::FindArgs;
use super::info::InfoArgs;
use super::suite::SuiteArgs;

/// The commands other than playing. A bag with the name of a command is given as `./info`.
#[derive(Subcommand, Clone, Debug)]
pub enum Verb {
    /// Show the topics, times, QoS profiles and marks of recordings
    Info(InfoArgs),
    /// Write a part of recordings as a recording of its own
    Cut(CutArgs),
    /// Write recordings of ROS 1 as a recording of ROS 2
    Convert(ConvertArgs),
    /// Find messages by conditions on their fields
    Find(FindArgs),
    /// Serve a clock without a recording
    Clock(ClockServerArgs),
    /// Show the transport bar of a running player
    Attach(AttachArgs),
    /// Drive a running player, or ros2 bag play
    Ctl(CtlArgs),
    /// Run many scenarios, or a part of them, and merge the reports of all parts
    Suite(Box<SuiteArgs>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (try: play man | man -l -)
    Man,
}
