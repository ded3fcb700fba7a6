//! The transport bar and a viewer of the same run.

use crate::pty::terminal_session::{demo_range, play_demo};
use crate::support::network;
use crate::viewer::client::{Client, PAUSED, PLAYING};

#[test]
fn the_bar_and_a_viewer_show_the_same_whoever_changes_it() {
    let endpoint = network::free_endpoint();
    let (_, port) = endpoint.rsplit_once(':').unwrap();
    let mut session = play_demo(&["--start-paused", "--foxglove", port]).run();
    session.wait_text("PAUSED");
    let mut viewer = Client::connect(port.parse().unwrap());
    viewer.state("the pause", |state| state.status == PAUSED);
    session.keys(" ");
    viewer.state("that it plays", |state| state.status == PLAYING);
    session.keys(" ");
    viewer.state("the pause of the bar", |state| state.status == PAUSED);
    let start = demo_range().start().to_mcap();
    viewer.ask(false, 0.5, Some(start + 10_000_000_000));
    session.wait_text("‖ PAUSED  ×0.50");
    session.wait_elapsed(10_000);
    viewer.ask(true, 0.5, None);
    session.wait_text("▶ PLAYING  ×0.50");
    session.quit();
}
