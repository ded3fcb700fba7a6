//! Waiting until what was put has left: zenoh's close does not.
//!
//! zenoh 1.10 cancels a link's sending task when the session closes, in the middle of a write if need be,
//! and undeclarations overtake data. So before anything is taken down two things are waited for: silence,
//! nothing left in the system's buffers of our links for a while, and no sending task at work at its end (the links
//! of our router are ours too: what clients get goes through it, so its receiving tasks count as well);
//! then an answer of every session with an admin space (real `rmw_zenoh` nodes and routers have one) to a query
//! that stands behind the data in the same queues. Where the system does not tell of its buffers, the query is
//! all there is.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use zenoh::Wait;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::{ConsolidationMode, QueryTarget};

use super::sockets::{SendBuffers, is_at_work};
use crate::wire::net::now::steady;
use crate::wire::net::router::RouterSlot;

/// The root of every session's admin space.
const ADMIN_SPACE: &str = "@/*/*";
/// How long the buffers must stay empty: zenoh waits for a moment now and then whether more comes.
const SILENCE: Duration = Duration::from_millis(40);
/// A sending thread that is at work for so long, and nothing comes of it, has another session's data.
const STARVED: Duration = Duration::from_secs(1);
/// No query has to end: who waits for it does.
const LONGEST: Duration = Duration::from_secs(86_400);
/// An acknowledgement may come so late without anybody being slow.
const DELAYED: Duration = Duration::from_millis(200);
/// A look takes milliseconds of a processor where the system's table of sockets is large. Whoever is slow may need it.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const LATER_EVERY: Duration = Duration::from_millis(50);
const OFTEN_FOR: Duration = Duration::from_secs(1);

/// What became of that which was put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Drained {
    /// It has left.
    Whole,
    /// Somebody took nothing for the stall timeout, or stood and then went.
    Untaken {
        /// In the system's buffers; what zenoh has queued behind them is not known.
        bytes: u64,
    },
    /// The caller did not want to wait any longer.
    CalledOff {
        /// The same.
        bytes: u64,
    },
}

/// Returns when what was put has left, when nothing has moved for `patience`, or when it is called off, which is
/// asked at each look.
pub(crate) fn drain(
    sessions: &[zenoh::Session],
    router: &RouterSlot,
    patience: Duration,
    mut is_called_off: impl FnMut() -> bool,
) -> Drained {
    let patience = patience.max(DELAYED);
    let (began, mut buffers, mut quiet_since) = (steady(), SendBuffers::default(), None);
    // When all of it had left and was asked for, and what came of that.
    let mut asked: Option<(Instant, Answers)> = None;
    loop {
        let router = router.zenoh();
        // Before the buffers are looked at, or it could have filled them since.
        let is_at_work = is_at_work(router.is_some());
        let now = steady();
        buffers.look(sessions, router.as_ref(), now);
        let is_quiet = buffers.bytes() == 0;
        quiet_since = is_quiet.then(|| quiet_since.unwrap_or(now));
        let quiet = quiet_since.map_or(Duration::ZERO, |since| now.duration_since(since));
        let is_silent = quiet >= SILENCE && (quiet >= STARVED || !is_at_work);
        // Not before: while a queue is full a query waits for room in it.
        if is_silent && asked.is_none() {
            asked = Some((now, Answers(sessions.iter().filter_map(ask).collect())));
        }
        if let Some((at, answers)) = &mut asked {
            if !is_quiet {
                *at = now;
            }
            // Who has taken all and does not answer has it all the same.
            if answers.are_in() || now.duration_since(*at) >= patience {
                return match buffers.lost() {
                    0 => Drained::Whole,
                    bytes => Drained::Untaken { bytes },
                };
            }
        }
        let bytes = buffers.bytes() + buffers.lost();
        if is_called_off() {
            return Drained::CalledOff { bytes };
        }
        if buffers.are_stuck(patience) {
            return Drained::Untaken { bytes };
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the system tells of an empty send buffer only when asked"
        )]
        thread::sleep(if now.duration_since(began) < OFTEN_FOR {
            LOOK_EVERY
        } else {
            LATER_EVERY
        });
    }
}

/// To queries, one a session, that go through the same queues as data of their priority: they prove that the data before it
/// has arrived.
#[derive(Debug)]
struct Answers(Vec<Receiver<()>>);

impl Answers {
    /// Whether all have answered, or there is nobody to ask.
    fn are_in(&self) -> bool {
        let is_in = |all: &Receiver<()>| all.try_recv() == Err(TryRecvError::Disconnected);
        self.0.iter().all(is_in)
    }
}

fn ask(zenoh: &zenoh::Session) -> Option<Receiver<()>> {
    let (answered, all) = mpsc::sync_channel::<()>(1);
    let asked = zenoh
        .get(ADMIN_SPACE)
        .priority(Priority::Data)
        .congestion_control(CongestionControl::Block)
        .target(QueryTarget::All)
        .consolidation(ConsolidationMode::None)
        .timeout(LONGEST)
        .callback(move |_| {
            // Held until zenoh drops it with the last answer.
            let _ = &answered;
        })
        .wait();
    asked.is_ok().then_some(all)
}
