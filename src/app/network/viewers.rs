//! [`Viewers`]: the server for viewers of a run, if one is requested.

use bagplay::bag::Bag;
use bagplay::cli::{Exit, Plan, PlayArgs};
use bagplay::player::Transport;
#[cfg(feature = "foxglove")]
use bagplay::viewer::{Offer, ViewerAddress, ViewerServer};

use super::output::PlayOutput;
use crate::app::failure::Failure;

/// The server for viewers. When it is dropped, it has ended.
#[cfg(feature = "foxglove")]
#[derive(Debug)]
pub(crate) struct Viewers {
    server: ViewerServer,
}

/// This build has no server for viewers.
#[cfg(not(feature = "foxglove"))]
#[derive(Debug)]
pub(crate) enum Viewers {}

/// Begins to serve viewers, if that is requested; the output then sends to them, too.
#[cfg(feature = "foxglove")]
pub(crate) fn serve(
    args: &PlayArgs,
    (bag, plan): (&Bag, &Plan),
    transport: &Transport,
    out: PlayOutput,
) -> Result<(Option<Viewers>, PlayOutput), Failure> {
    let Some(address) = &args.viewers.foxglove else {
        return Ok((None, out));
    };
    let address: ViewerAddress = address
        .parse()
        .map_err(|error| Failure::new(Exit::Usage, anyhow::anyhow!("--foxglove: {error}")))?;
    let chosen = plan.chosen.iter();
    let topics: Vec<_> = chosen.map(|it| (it.id, it.name.as_str())).collect();
    let offer = Offer {
        bag,
        topics: &topics,
        recording: plan.options.recording,
        control: plan.options.control,
    };
    let started = ViewerServer::start(&address, &offer, transport);
    let (server, output) = started.map_err(|error| {
        let error = if error.is_port_in_use() {
            anyhow::anyhow!("{error}; hint: --foxglove PORT uses another port, 0 a free one")
        } else {
            error.into()
        };
        Failure::new(Exit::Failed, error)
    })?;
    let (address, url) = (server.address(), server.app_url());
    tracing::info!("viewers connect to ws://{address}; the Foxglove app: {url}");
    if !address.is_loopback() {
        tracing::warn!(
            "whoever can reach {address} can see what is played, and control the player"
        );
    }
    Ok((Some(Viewers { server }), out.with_viewers(output)))
}

/// The same, in a build without such a server.
#[cfg(not(feature = "foxglove"))]
pub(crate) fn serve(
    args: &PlayArgs,
    _: (&Bag, &Plan),
    _: &Transport,
    out: PlayOutput,
) -> Result<(Option<Viewers>, PlayOutput), Failure> {
    if args.viewers.foxglove.is_some() {
        let error =
            anyhow::anyhow!("--foxglove: this program was built without the server for viewers");
        return Err(Failure::new(Exit::Usage, error));
    }
    Ok((None, out))
}

impl Viewers {
    /// Ends the server; returns how often viewers had connected.
    pub(crate) fn end(self) -> u64 {
        #[cfg(feature = "foxglove")]
        return self.server.connected();
        #[cfg(not(feature = "foxglove"))]
        match self {}
    }
}
