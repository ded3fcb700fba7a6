//! The node: a process with the threads and the topics of a ROS 2 node on `rmw_zenoh_cpp`, without ROS.
//!
//! It is a peer of zenoh. `/clock` is received on one thread and `/chatter` on another, an executor answers each
//! message of `/chatter` with one of the same size on `/answer`, and other threads wait.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use bagplay::wire::decode_clock;
use xxhash_rust::xxh3::xxh3_128;
use zenoh::Wait;
use zenoh::qos::CongestionControl;

const STRING: &str = "std_msgs::msg::dds_::String_/RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
/// How many threads wait for nothing, so that there are at least 14.
const OTHERS: usize = 8;

/// The key of a topic in a domain.
pub(crate) fn key(domain: u32, topic: &str) -> String {
    format!("{domain}/{topic}/{STRING}")
}

/// A session of a node: a peer that finds others by the router.
pub(crate) fn session(settings: &[(&str, &str)]) -> Result<zenoh::Session> {
    let mut config = zenoh::Config::default();
    let usual = [
        ("scouting/multicast/enabled", "false"),
        (
            "scouting/gossip/target",
            r#"{router: ["router", "peer"], peer: ["router"]}"#,
        ),
        (
            "scouting/gossip/autoconnect",
            r#"{router: [], peer: ["router", "peer"]}"#,
        ),
        (
            "scouting/gossip/autoconnect_strategy",
            r#"{peer: {to_router: "always", to_peer: "greater-zid"}}"#,
        ),
        // Not in the configuration of `rmw_zenoh` and of the player, either.
        ("transport/shared_memory/enabled", "false"),
    ];
    for (key, value) in usual.iter().chain(settings) {
        config
            .insert_json5(key, value)
            .map_err(|error| anyhow!("{key}: {error}"))?;
    }
    zenoh::open(config).wait().map_err(|error| anyhow!(error))
}

/// Answers until its process is ended, each message after it has computed for this long.
pub(crate) fn run(computes: Duration) -> Result<()> {
    let domain: u32 = std::env::var("ROS_DOMAIN_ID")?.parse()?;
    // As `rmw_zenoh_cpp` reads it.
    let overrides = std::env::var("ZENOH_CONFIG_OVERRIDE")?;
    let pairs: Vec<(&str, &str)> = overrides
        .split(';')
        .filter_map(|it| it.split_once('='))
        .collect();
    let session = session(&pairs)?;
    let zid = session.zid().to_string();
    let token = |entity: u32, kind: &str, topic: &str| {
        format!(
            "@ros2_lv/{domain}/{zid}/0/{entity}/{kind}/%/%/bench_node/%{topic}/{STRING}/::,10:,:,:,,"
        )
    };
    let publisher = session
        .declare_publisher(key(domain, "answer"))
        .congestion_control(CongestionControl::Block)
        .wait();
    let publisher = publisher.map_err(|error| anyhow!(error))?;
    let of_answer = token(1, "MP", "answer");
    let gid = xxh3_128(of_answer.as_bytes()).to_le_bytes();
    let (ready, messages) = channel();
    let _executor = thread::Builder::new()
        .name("executor".into())
        .spawn(move || {
            executes(&messages, computes, |payload, sequence| {
                let mut attachment = i64::to_le_bytes(sequence).to_vec();
                attachment.extend(0_i64.to_le_bytes());
                attachment.push(16);
                attachment.extend(gid);
                let put = publisher.put(payload).attachment(attachment).wait();
                put.is_ok()
            });
        })?;
    let shown = AtomicI64::new(0);
    let declare = |topic: &str, on_sample: Box<dyn Fn(&zenoh::sample::Sample) + Send + Sync>| {
        let all = format!("{domain}/{topic}/**");
        let declared = session
            .declare_subscriber(all)
            .callback(move |sample| on_sample(&sample))
            .wait();
        declared.map_err(|error| anyhow!(error))
    };
    let _clock = declare(
        "clock",
        Box::new(move |sample| {
            let time = decode_clock(&sample.payload().to_bytes());
            shown.store(
                time.map_or(0, bagplay::time::Time::as_nanos),
                Ordering::Release,
            );
        }),
    )?;
    let _chatter = declare(
        "chatter",
        Box::new(move |sample| {
            let _ = ready.send(sample.payload().to_bytes().into_owned());
        }),
    )?;
    let mut tokens = Vec::new();
    for token in [of_answer, token(2, "MS", "chatter")] {
        let declared = session.liveliness().declare_token(token).wait();
        tokens.push(declared.map_err(|error| anyhow!(error))?);
    }
    for _ in 0..OTHERS {
        thread::spawn(|| {
            loop {
                thread::park();
            }
        });
    }
    loop {
        thread::park();
    }
}

fn executes(
    messages: &Receiver<Vec<u8>>,
    computes: Duration,
    mut answer: impl FnMut(Vec<u8>, i64) -> bool,
) {
    for (sequence, payload) in (1..).zip(messages) {
        let began = Instant::now();
        while began.elapsed() < computes {
            std::hint::spin_loop();
        }
        if !answer(payload, sequence) {
            return;
        }
    }
}
