//! The limit: a process that has all messages in memory and puts them with plain zenoh, at their times or without a
//! pause.

use std::env;
use std::num::NonZeroU64;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;

use crate::scenario::{Payloads, Scenario};
use crate::sender::Pace;
use crate::subscriber::{boxed, open_peer};

/// The variable that makes this program the loop: scenario, seconds, pace and endpoint of the router.
const ROLE: &str = "BAGPLAY_BENCH_LOOP";

pub(crate) fn command(
    scenario: &Scenario,
    seconds: u64,
    pace: Pace,
    endpoint: &str,
) -> Result<Command> {
    let pace = match pace {
        Pace::Recorded => "recorded",
        Pace::Fastest => "fastest",
    };
    let mut command = Command::new(env::current_exe()?);
    command.env(
        ROLE,
        format!("{} {seconds} {pace} {endpoint}", scenario.name),
    );
    Ok(command)
}

pub(crate) fn is_asked_for() -> bool {
    env::var_os(ROLE).is_some()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
pub(crate) fn run() -> Result<()> {
    let role = env::var(ROLE)?;
    let mut words = role.split(' ');
    let mut next = || words.next().context("a word is missing");
    let scenario = Scenario::named(next()?).context("unknown scenario")?;
    let seconds = next()?.parse()?;
    let is_paced = next()? == "recorded";
    let session = open_peer(next()?)?;

    let mut payloads = Payloads::new();
    let mut messages = Vec::new();
    for (topic, time) in scenario.schedule(seconds) {
        let payload = payloads.of(scenario.topics[topic].kind, time)?;
        messages.push((topic, time, ZBytes::from(payload.to_vec())));
    }
    let mut publishers = Vec::new();
    for topic in scenario.topics {
        let key = format!("{}/{}", topic.key(), topic.kind.type_hash());
        let publisher = session.declare_publisher(key);
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let publisher = publisher.wait().map_err(boxed)?;
        let matching = publisher.matching_listener().wait().map_err(boxed)?;
        while !publisher
            .matching_status()
            .wait()
            .map_err(boxed)?
            .matching()
        {
            matching.recv().map_err(boxed)?;
        }
        publishers.push(publisher);
    }
    // Links between peers are made after the first match through the router.
    std::thread::sleep(Duration::from_millis(500));
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    let first = messages.first().context("no messages")?.1;
    let begun = Instant::now();
    for (topic, time, payload) in messages {
        if is_paced {
            let due = begun + Duration::from_nanos(time - first);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let put = publishers[topic].put(payload).attachment(&[0_u8; 33][..]);
        put.wait().map_err(boxed)?;
    }
    // Closing a session does not wait until everything has left.
    std::thread::sleep(Duration::from_secs(1));
    Ok(())
}
