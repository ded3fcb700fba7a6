//! [`RosArgs`]: flags of `ros2 bag play` that scripts use and that have no equivalent here. Each is accepted where it
//! changes nothing, has its original meaning where that is possible, or is refused with advice.

#![expect(clippy::struct_excessive_bools, reason = "a flag is a bool")]

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// As `ros2 bag play` of Humble to Rolling has them.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Compatibility with ros2 bag play")]
pub struct RosArgs {
    /// Recording to play, the same as BAG; `mcap` may follow it
    #[arg(short, long, value_name = "BAG", hide_short_help = true)]
    pub input: Vec<PathBuf>,
    /// Storage of the recording; only mcap is supported
    #[arg(short, long, value_name = "ID", value_parser = parse_storage, hide_short_help = true)]
    pub storage: Vec<String>,
    /// Which services and actions.
    #[command(flatten)]
    pub kinds: KindSelection,
    /// Do not read keys: no transport bar, and no Enter for --start-paused
    #[arg(long, conflicts_with = "tui", hide_short_help = true)]
    pub disable_keyboard_controls: bool,
    /// 0 hides the progress line; other rates have no effect
    #[arg(
        long,
        value_name = "HZ",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub progress_bar_update_rate: Option<i64>,
    /// No effect
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub progress_bar_separation_lines: Option<u64>,
    /// No effect: the read-ahead is limited in bytes, see --read-ahead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    pub read_ahead_queue_size: Option<u64>,
    /// No effect: reading MCAP has no settings
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub storage_config_file: Option<PathBuf>,
    /// No effect: the end waits until everything is sent, see --stall-timeout
    #[arg(
        long,
        value_name = "MS",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub wait_for_all_acked: Option<i64>,
    /// No effect: messages are never loaned
    #[arg(long, hide_short_help = true)]
    pub disable_loan_message: bool,
    /// No effect: services are never called
    #[arg(long, value_enum, value_name = "SOURCE", hide_short_help = true)]
    pub service_requests_source: Option<RequestsSource>,
    /// Refused: services are never called
    #[arg(long, hide_short_help = true)]
    pub publish_service_requests: bool,
    /// Refused: actions are never called
    #[arg(long, hide_short_help = true)]
    pub send_actions_as_client: bool,
}

/// Of which services and actions the recorded events are taken.
#[derive(Args, Clone, Debug, Default)]
pub struct KindSelection {
    /// Of recorded service events, those of these services only
    #[arg(long, value_name = "SERVICE", hide_short_help = true)]
    pub services: Vec<String>,
    /// Without the recorded events of these services
    #[arg(long, value_name = "SERVICE", hide_short_help = true)]
    pub exclude_services: Vec<String>,
    /// Of recorded topics and events of actions, those of these actions only
    #[arg(long, value_name = "ACTION", hide_short_help = true)]
    pub actions: Vec<String>,
    /// Without the recorded topics and events of these actions
    #[arg(long, value_name = "ACTION", hide_short_help = true)]
    pub exclude_actions: Vec<String>,
}

/// Whose recorded requests `ros2 bag play` would send.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
#[value(rename_all = "snake_case")]
pub enum RequestsSource {
    /// The server's.
    ServiceIntrospection,
    /// The client's.
    ClientIntrospection,
}

impl RosArgs {
    /// Why these flags are refused, and what to do instead.
    pub(crate) fn refused(&self) -> Option<&'static str> {
        if self.publish_service_requests {
            Some(
                "--publish-service-requests: play calls no services; hint: without this flag, recorded service events are \
                 played as topics (/NAME/_service_event), or send the requests with ros2 bag play",
            )
        } else if self.send_actions_as_client {
            Some(
                "--send-actions-as-client: play calls no actions; hint: without this flag, what was recorded of actions is \
                 played as topics (/NAME/_action/…), or send the goals with ros2 bag play",
            )
        } else {
            None
        }
    }
}

fn parse_storage(id: &str) -> Result<String, &'static str> {
    match id {
        "mcap" => Ok(id.into()),
        _ => {
            Err("only mcap is supported; hint: `ros2 bag convert` writes other recordings as MCAP")
        }
    }
}
