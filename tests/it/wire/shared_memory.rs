//! Large messages through memory that is shared with subscribers. All sessions are of this process, which does not
//! matter: zenoh shares memory between two sessions over the link between them, wherever they are.

use std::time::Duration;

use bagplay::bag::{Bag, ChunkBuffer, Cues, Selection};
use bagplay::output::{Occasion, Output};
use bagplay::player::{Options, Pace, Player, Source};
use bagplay::wire::{
    Congestion, Drained, Protocol, SendOrder, Session, SharedMemoryUse, WireError, WireEvent,
    WireOptions, WireOutput,
};
use bytes::Bytes;
use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use mcap::Compression;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use zenoh::sample::Sample;

use crate::support::mcaps::{Note, Spec, bag};
#[cfg(feature = "cli")]
use crate::support::network::start_player;
use crate::support::network::{
    Events, Pipe, free_endpoint, message, node, number, open, open_beside, options, payload,
    played, router, subscribe, try_take,
};
use crate::support::patience::{PATIENCE, until};

/// From here on a message is shared.
const SHARED: usize = 8 << 10;
const LARGE: usize = 1_000_000;
/// More than the memory holds.
const IMAGES: u32 = 200;

/// What a node says that takes part in shared memory.
const SHARES: [(&str, &str); 2] = [
    ("transport/shared_memory/enabled", "true"),
    (
        "transport/shared_memory/transport_optimization/enabled",
        "false",
    ),
];

/// A node that takes part in shared memory, or not.
fn peer(endpoint: &str, shares: bool) -> zenoh::Session {
    let settings: &[_] = if shares { &SHARES } else { &[] };
    node("\"peer\"", endpoint, settings)
}

fn is_shared(sample: &Sample) -> bool {
    sample.payload().as_shm().is_some()
}

/// A buffer of the shared memory as the owner of a payload.
struct Owner(Box<dyn ChunkBuffer>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// A message of this size, in the memory that the session shares.
fn in_shared_memory(session: &Session, number: u32, size: usize) -> Bytes {
    let memory = session.chunk_memory().unwrap().expect("shared memory");
    let mut buffer = memory.take(size).expect("room");
    (*buffer).as_mut().copy_from_slice(&payload(number, size));
    Bytes::from_owner(Owner(buffer))
}

/// How many runs a test makes at most until one loses no message.
const RUNS: usize = 5;

/// Asserts that one of at most [`RUNS`] runs loses no message. zenoh drops a shared message on its way if no thread has
/// confirmed for 100 ms that this process holds it: where threads get no processor for that long, a run may lose
/// messages, and returns `None`.
#[track_caller]
fn one_loses_nothing<T>(run: impl FnMut() -> Option<T>) -> T {
    let mut runs = std::iter::repeat_with(run).take(RUNS);
    runs.find_map(|result| result)
        .expect("a run without a lost message")
}

/// The message with this number, which must be the next one unless it was lost.
#[track_caller]
fn numbered(samples: &Receiver<Sample>, n: u32) -> Option<Sample> {
    let sample = try_take(samples)?;
    let got = number(sample.payload());
    assert!(got >= n, "{got} instead of {n}");
    (got == n).then_some(sample)
}

/// Whether this process may lock as much memory as these tests need. If not, it cannot be both ends of shared memory,
/// and these tests check nothing; see docs/testing.md.
fn may_lock() -> bool {
    const ENOUGH: u64 = 1 << 30;
    let sets = capabilities(None).expect("its own capabilities");
    let limit = getrlimit(Resource::Memlock).current;
    let may = sets.effective.contains(CapabilitySet::IPC_LOCK)
        || limit.is_none_or(|limit| limit >= ENOUGH);
    if !may {
        eprintln!("not tested: this process may not lock enough memory");
    }
    may
}

/// A player that shares memory, with one topic.
fn player(order: SendOrder, stall_timeout: u64) -> (Session, Events, WireOutput, String) {
    let (session, events, endpoint) = router(|options| {
        options.shared_memory = SharedMemoryUse::On;
        options.stall_timeout = Duration::from_secs(stall_timeout);
        options.order = order;
    });
    let topics = [played(0, "/image", None)];
    let (output, _) = session.advertise(&topics, None).unwrap();
    (session, events, output, endpoint)
}

#[test]
fn large_messages_are_shared_with_the_subscribers_that_take_part() {
    if !may_lock() {
        return;
    }
    for order in [SendOrder::AllTopics, SendOrder::PerTopic] {
        one_loses_nothing(|| {
            let (session, events, mut output, endpoint) = player(order, 60);
            let (node, other) = (peer(&endpoint, true), peer(&endpoint, false));
            let (_subscriber, shared) = subscribe(&node, "0/image/**");
            let (_other_subscriber, copied) = subscribe(&other, "0/image/**");
            events.wait_for_match();
            // Each subscriber has a route when one of these reaches it.
            until("routes to both", || {
                output.message(&message(0, payload(0, 8)), Occasion::Due);
                !shared.is_empty() && !copied.is_empty()
            });
            let sizes = [(100, true), (SHARED, true), (LARGE, true), (LARGE, false)];
            for (n, (size, is_inside)) in (1..).zip(sizes) {
                let payload = if is_inside {
                    in_shared_memory(&session, n, size)
                } else {
                    payload(n, size)
                };
                output.message(&message(0, payload), Occasion::Due);
            }
            output.finish();
            for (samples, expected) in
                [(&shared, [false, true, true, false]), (&copied, [false; 4])]
            {
                let large = std::iter::from_fn(|| try_take(samples));
                let mut large = large.filter(|sample| number(sample.payload()) > 0);
                for (n, (size, _)) in (1..).zip(sizes) {
                    let sample = large.next();
                    let sample = sample.filter(|sample| number(sample.payload()) == n);
                    let is_expected_shared = expected[n as usize - 1];
                    if sample.is_none() && is_expected_shared {
                        return None;
                    }
                    let sample = sample.expect("a message through a socket");
                    assert!(*sample.payload().to_bytes() == payload(n, size)[..], "{n}");
                    assert_eq!(is_shared(&sample), is_expected_shared, "{n}");
                }
            }
            Some(())
        });
    }
}

#[test]
fn a_second_session_sends_from_the_memory_of_the_first() {
    if !may_lock() {
        return;
    }
    one_loses_nothing(|| {
        let (session, events, mut output, endpoint) = player(SendOrder::AllTopics, 60);
        let options = WireOptions {
            protocol: Protocol::PlainKeys,
            shared_memory: SharedMemoryUse::On,
            ..WireOptions::default()
        };
        let (second, second_events) = open_beside(&session, &options);
        let topics = [played(0, "/image", None)];
        let (mut plain, _) = second.advertise(&topics, None).unwrap();
        let node = peer(&endpoint, true);
        let (_subscriber, samples) = subscribe(&node, "0/image/**");
        let (_plain_subscriber, plain_samples) = subscribe(&node, "image");
        events.wait_for_match();
        second_events.wait_for_match();
        for n in 0..3 {
            let image = message(0, in_shared_memory(&session, n, LARGE));
            output.message(&image, Occasion::Due);
            plain.message(&image, Occasion::Due);
            for samples in [&samples, &plain_samples] {
                let sample = numbered(samples, n)?;
                assert!(is_shared(&sample), "{n}");
                assert!(*sample.payload().to_bytes() == payload(n, LARGE)[..], "{n}");
            }
        }
        Some(())
    });
}

/// Each message is a descriptor of a few bytes on the link, so all are put although the subscriber takes nothing. What
/// it has not taken for long is still there when it does.
#[test]
fn what_a_stuck_subscriber_takes_late_is_whole() {
    if !may_lock() {
        return;
    }
    one_loses_nothing(|| {
        let (session, events, mut output, endpoint) = player(SendOrder::AllTopics, 60);
        let pipe = Pipe::to(&endpoint);
        let node = pipe.peer_that_shares_memory();
        let (_subscriber, samples) = subscribe(&node, "0/image/**");
        events.wait_for_match();
        pipe.block();
        for n in 0..50 {
            let payload = in_shared_memory(&session, n, LARGE);
            output.message(&message(0, payload), Occasion::Due);
        }
        // Longer than zenoh lets a buffer exist that no process vouches for.
        let mut taken: Vec<Sample> = Vec::new();
        while let Ok(sample) = samples.recv_timeout(Duration::from_secs(1)) {
            taken.push(sample);
        }
        // What the pipe had read already.
        assert!(taken.len() < 50);
        drop(pipe);
        for n in taken.len()..50 {
            taken.push(numbered(&samples, u32::try_from(n).unwrap())?);
        }
        for (n, sample) in (0..50).zip(taken) {
            assert!(is_shared(&sample));
            assert!(*sample.payload().to_bytes() == payload(n, LARGE)[..], "{n}");
        }
        Some(())
    });
}

/// Plays all messages; how many of them arrived through shared memory, or `None` if one was lost. The subscriber keeps
/// all until the last is there.
fn play(
    session: &Session,
    output: WireOutput,
    samples: &Receiver<Sample>,
    bag: &Bag,
) -> (WireOutput, Option<usize>) {
    let player = Player::new();
    let cues = Cues::new(bag.clone(), Selection::all(bag), 64 << 20, player.waker());
    let cues = cues.with_memory(session.chunk_memory().unwrap());
    let options = Options {
        pace: Pace::Max,
        ..Options::new(bag.range().unwrap())
    };
    let running = player.start(options, Source::of(cues), output).unwrap();
    let kept = (0..IMAGES).map(|n| numbered(samples, n));
    let kept: Option<Vec<Sample>> = kept.collect();
    let (_, output) = running.join().unwrap();
    let shared = kept.map(|kept| {
        assert!(kept.iter().all(|sample| sample.payload().len() == LARGE));
        kept.iter().filter(|sample| is_shared(sample)).count()
    });
    (output, shared)
}

#[test]
fn a_subscriber_that_keeps_more_than_the_memory_gets_the_rest_as_copies() {
    if !may_lock() {
        return;
    }
    let image = |n: u32| Note::new(0, n.into(), payload(n, LARGE));
    let chunks = (0..IMAGES / 4).map(|c| (c * 4..c * 4 + 4).map(image).collect());
    let spec = Spec::new(chunks.collect()).compression(Some(Compression::Lz4));
    let recording = bag(&spec.write());
    let said = |events: &Events| {
        let is_full = |event: &WireEvent| event.to_string().contains("shared memory has no room");
        events.drain().iter().filter(|event| is_full(event)).count()
    };
    let (first, second) = one_loses_nothing(|| {
        let (session, events, output, endpoint) = player(SendOrder::AllTopics, 60);
        let node = peer(&endpoint, true);
        let (_subscriber, samples) = subscribe(&node, "0/image/**");
        events.wait_for_match();
        let (output, first) = play(&session, output, &samples, &recording);
        let first = (first?, said(&events));
        // All of it has been dropped, so there is room again.
        let (_, second) = play(&session, output, &samples, &recording);
        Some((first, (second?, said(&events))))
    });
    // The memory is 128 MiB.
    for (shared, _) in [first, second] {
        assert!((100..=134).contains(&shared), "{shared}");
    }
    assert_eq!((first.1, second.1), (1, 0));
}

#[test]
fn memory_is_shared_if_the_option_or_the_configuration_says_so() {
    if !may_lock() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.json5");
    for (option, configured, expected) in [
        (SharedMemoryUse::Auto, None, false),
        (SharedMemoryUse::Auto, Some("{enabled:true}"), true),
        (SharedMemoryUse::Auto, Some("{enabled:false}"), false),
        // zenoh's default.
        (SharedMemoryUse::Auto, Some("{}"), true),
        (SharedMemoryUse::On, None, true),
        (SharedMemoryUse::On, Some("{enabled:false}"), true),
        (SharedMemoryUse::Off, Some("{enabled:true}"), false),
    ] {
        let endpoint = free_endpoint();
        if let Some(configured) = configured {
            let text = format!(
                "{{mode:\"router\",listen:{{endpoints:[{endpoint:?}]}},scouting:{{multicast:{{enabled:false}}}},\
                 transport:{{shared_memory:{configured}}}}}"
            );
            std::fs::write(&file, text).unwrap();
        }
        let (session, _) = open(&WireOptions {
            shared_memory: option,
            config_file: configured.map(|_| file.clone()),
            ..options(&[endpoint], &[])
        });
        let is_shared = session.chunk_memory().unwrap().is_some();
        assert_eq!(is_shared, expected, "{option:?} {configured:?}");
    }
}

#[test]
fn no_memory_is_shared_when_the_first_of_several_messages_is_kept() {
    let asked = WireOptions {
        shared_memory: SharedMemoryUse::On,
        congestion: Congestion::BlockFirst,
        ..options(&[], &[])
    };
    let refused = Session::open(&asked, drop).unwrap_err();
    assert!(matches!(refused, WireError::SharedMemoryAndBlockFirst));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.json5");
    let endpoint = free_endpoint();
    let text = format!(
        "{{mode:\"router\",listen:{{endpoints:[{endpoint:?}]}},scouting:{{multicast:{{enabled:false}}}}}}"
    );
    std::fs::write(&file, text).unwrap();
    let (session, _) = open(&WireOptions {
        shared_memory: SharedMemoryUse::Auto,
        config_file: Some(file),
        ..asked
    });
    assert!(session.chunk_memory().unwrap().is_none());
}

/// The files of shared memory that a process has mapped.
#[cfg(feature = "cli")]
fn shared_files(process: &std::process::Child) -> Vec<std::path::PathBuf> {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", process.id())).unwrap_or_default();
    let files = maps.lines().filter_map(|line| line.split_once("/dev/shm/"));
    files
        .map(|(_, name)| std::path::Path::new("/dev/shm").join(name))
        .collect()
}

#[cfg(feature = "cli")]
#[test]
fn what_a_killed_player_had_shared_is_removed_by_the_next() {
    if !may_lock() {
        return;
    }
    let endpoint = free_endpoint();
    let start = |shm: &str| start_player(&["--listen", &endpoint, "--shm", shm, "--loop"]);
    let mut killed = start("on");
    let mut pool = Vec::new();
    until("a pool", || {
        let size = |file: &std::path::PathBuf| std::fs::metadata(file).map_or(0, |it| it.len());
        pool = shared_files(&killed);
        pool.retain(|file| size(file) >= 4 << 20);
        !pool.is_empty()
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut next = start("off");
    until("an empty place", || pool.iter().all(|file| !file.exists()));
    next.kill().unwrap();
    next.wait().unwrap();
}

/// The memory ends with the session, so the end waits for what a subscriber has not read, although nothing is in a
/// socket.
#[test]
fn the_end_waits_until_the_messages_have_been_dropped() {
    if !may_lock() {
        return;
    }
    one_loses_nothing(|| {
        let (session, events, mut output, endpoint) = player(SendOrder::AllTopics, 60);
        let node = peer(&endpoint, true);
        let (_subscriber, samples) = subscribe(&node, "0/image/**");
        events.wait_for_match();
        for n in 0..20 {
            let payload = in_shared_memory(&session, n, LARGE);
            output.message(&message(0, payload), Occasion::Due);
        }
        let read: Option<Vec<Sample>> = (0..20).map(|n| numbered(&samples, n)).collect();
        let read = read?;
        let (look, looks) = bounded(0);
        let draining = std::thread::spawn(move || {
            let drained = session.drain(|| {
                // An error means that enough have been counted.
                let _ = look.send(());
                false
            });
            (drained, session)
        });
        // Many more than the wait for empty sockets takes: it would be over.
        let seen = (0..200).take_while(|_| {
            let look = looks.recv_timeout(PATIENCE);
            assert_ne!(look, Err(RecvTimeoutError::Timeout));
            look.is_ok()
        });
        let seen = seen.count();
        let shared = read.iter().filter(|sample| is_shared(sample)).count();
        drop((looks, read));
        let (drained, session) = draining.join().unwrap();
        assert_eq!((drained, seen, shared), (Drained::Whole, 200, 20));
        drop((output, session));
        Some(())
    });
}

#[test]
fn a_subscriber_that_keeps_messages_is_not_waited_for_without_end() {
    if !may_lock() {
        return;
    }
    one_loses_nothing(|| {
        let (session, events, mut output, endpoint) = player(SendOrder::AllTopics, 1);
        let node = peer(&endpoint, true);
        let (_subscriber, samples) = subscribe(&node, "0/image/**");
        events.wait_for_match();
        let payload = in_shared_memory(&session, 0, LARGE);
        output.message(&message(0, payload), Occasion::Due);
        let kept = numbered(&samples, 0)?;
        let bytes = LARGE as u64;
        assert_eq!(session.drain(|| false), Drained::Untaken { bytes });
        assert_eq!(session.drain(|| true), Drained::CalledOff { bytes });
        drop(kept);
        assert_eq!(session.drain(|| false), Drained::Whole);
        Some(())
    });
}
