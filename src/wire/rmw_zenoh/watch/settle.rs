//! Waiting for the nodes that are there when this process joins the network.
//!
//! A router does not forward the tokens of one peer to another. They come over the direct links between peers, which
//! are opened one after the other. A router with an admin space (those of `rmw_zenoh` have one) lists the peers that
//! are linked to it. So a session first waits for links to these peers, then for their tokens.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use zenoh::Wait;
use zenoh::sample::SampleKind;
use zenoh::session::LinkEvent;

use crate::wire::dialect::notation::Notation;
use crate::wire::net::answers::Answers;
use crate::wire::net::now::steady;

/// How often tokens are asked for while a new link cannot be used yet.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// Links to listed peers are awaited until none of them has come for this long: a peer in another network cannot be
/// reached.
const NO_LINK_FOR: Duration = Duration::from_millis(300);
/// A query does not reach a peer that was linked a moment before. If no session has answered with tokens, linked peers
/// are asked again for this long, because most peers of a router are ROS nodes.
const NO_TOKENS_FOR: Duration = Duration::from_millis(300);
/// The longest answer of a router that is read: 1 MiB, of which a link takes some hundred bytes.
const LONGEST_ANSWER: usize = 1 << 20;
/// The longest id of a zenoh session, in hexadecimal digits.
const LONGEST_ID: usize = 32;

/// Waits until this session has links to the peers that its routers list, and until their tokens have arrived, because
/// decisions made directly afterwards (Humble or not, whether to wait for a route) need them. Ends as soon as all have
/// answered, after `patience` at most. Returns whether another session has tokens, as far as is known then.
pub(crate) fn settle(session: &zenoh::Session, notation: &Notation, patience: Duration) -> bool {
    let began = steady();
    let left = || patience.saturating_sub(steady().duration_since(began));
    let peers = wait_for_peers(session, left);
    let linked = steady();
    loop {
        let left = left();
        let is_asked_of_all = peers == 0 || steady().duration_since(linked) >= NO_TOKENS_FOR;
        match ask(session, notation, left) {
            Outcome::All { has_others: true } => return true,
            Outcome::All { .. } if is_asked_of_all => {
                tracing::debug!("no other session has liveliness tokens");
                return false;
            }
            Outcome::All { .. } => wait_to_ask_again(),
            Outcome::NobodyAsked if !left.is_zero() => wait_to_ask_again(),
            Outcome::NobodyAsked => {
                tracing::debug!("there is no other session with liveliness tokens");
                return false;
            }
            Outcome::Late => {
                tracing::debug!("some sessions have not sent their liveliness tokens yet");
                return true;
            }
        }
    }
}

fn wait_to_ask_again() {
    #[expect(
        clippy::disallowed_methods,
        reason = "zenoh does not tell when a new link can be used"
    )]
    std::thread::sleep(ASK_EVERY);
}

/// The outcome of a query for tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// All sessions that were asked.
    All {
        /// Whether one of them has a token.
        has_others: bool,
    },
    /// Not all of them in time.
    Late,
    /// No session was asked, as far as can be seen: zenoh reports a link a moment before it sends anything on it, and
    /// answers a query itself until then.
    NobodyAsked,
}

fn ask(session: &zenoh::Session, notation: &Notation, patience: Duration) -> Outcome {
    let (open, answers) = Answers::pending();
    let is_answered = Arc::new(AtomicBool::new(false));
    let answered = Arc::clone(&is_answered);
    let own = session.zid().to_string();
    let of = notation.clone();
    let get = session
        .liveliness()
        .get(notation.all_tokens())
        .timeout(patience)
        .callback(move |reply| {
            open.hold();
            let is_of_other = |key: &str| of.session_of(key) != Some(own.as_str());
            if reply
                .result()
                .is_ok_and(|sample| is_of_other(sample.key_expr().as_str()))
            {
                answered.store(true, Ordering::Relaxed);
            }
        })
        .wait();
    if get.is_ok() && answers.are_complete() {
        return if is_answered.load(Ordering::Relaxed) {
            Outcome::All { has_others: true }
        } else {
            Outcome::NobodyAsked
        };
    }
    if get.is_ok() && !answers.wait(patience) {
        Outcome::Late
    } else {
        // If the session is closed, there is nothing to wait for.
        Outcome::All {
            has_others: is_answered.load(Ordering::Relaxed),
        }
    }
}

/// Waits for links to the peers that are linked to a router of this session; returns how many have one.
fn wait_for_peers(session: &zenoh::Session, left: impl Fn() -> Duration) -> usize {
    let linked = Arc::new((Mutex::new(BTreeSet::new()), Condvar::new()));
    let changed = Arc::clone(&linked);
    // These events come when a link can be used; those of transports come before.
    let info = session.info();
    let listener = info.link_events_listener().history(true);
    let listener = listener.callback(move |event: LinkEvent| {
        let zid = event.link().zid().to_string();
        let mut linked = changed.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event.kind() {
            SampleKind::Put => linked.insert(zid),
            SampleKind::Delete => linked.remove(&zid),
        };
        changed.1.notify_all();
    });
    let Ok(_listener) = listener.wait() else {
        return 0;
    };
    let peers = peers_of_routers(session, &left);
    let (links, changed) = &*linked;
    let mut links = links.lock().unwrap_or_else(PoisonError::into_inner);
    while !peers.is_subset(&links) {
        let missing = peers.difference(&links).count();
        let none_came = |links: &mut BTreeSet<String>| peers.difference(links).count() >= missing;
        let waited = changed.wait_timeout_while(links, NO_LINK_FOR.min(left()), none_came);
        let (now, ended) = waited.unwrap_or_else(PoisonError::into_inner);
        if ended.timed_out() {
            tracing::debug!("some peers of the zenoh router are not linked yet");
            return peers.intersection(&now).count();
        }
        links = now;
    }
    peers.len()
}

/// The other peers that the routers of this session say are linked to them.
fn peers_of_routers(session: &zenoh::Session, left: impl Fn() -> Duration) -> BTreeSet<String> {
    let own = session.zid().to_string();
    let (open, answers) = Answers::pending();
    // By router: what its first answer lists.
    let found = Arc::new(Mutex::new(BTreeMap::new()));
    for router in session.info().routers_zid().wait() {
        let (open, told) = (open.clone(), Arc::clone(&found));
        let get = session.get(format!("@/{router}/router")).timeout(left());
        let get = get.callback(move |reply| {
            open.hold();
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Ok(sample), Entry::Vacant(first)) = (reply.result(), told.entry(router)) {
                first.insert(peers_in(&sample.payload().to_bytes()));
            }
        });
        // A router that cannot be asked is as one that lists nothing.
        drop(get.wait());
    }
    drop(open);
    answers.wait(left());
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    let listed = std::mem::take(&mut *found).into_values().flatten();
    listed.filter(|peer| *peer != own).collect()
}

/// The peers in what a router says of itself; none if it is too long.
fn peers_in(answer: &[u8]) -> Vec<String> {
    let answer = Some(answer).filter(|it| it.len() <= LONGEST_ANSWER);
    let answer: Value = answer
        .and_then(|it| serde_json::from_slice(it).ok())
        .unwrap_or_default();
    let sessions = answer.get("sessions").and_then(Value::as_array);
    let peers = sessions.into_iter().flatten();
    let peers = peers
        .filter(|session| session.get("whatami").and_then(Value::as_str) == Some("peer"))
        .filter_map(|session| session.get("peer")?.as_str());
    let peers = peers.filter(|peer| peer.len() <= LONGEST_ID);
    peers.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_found_in_the_answer_of_a_router() {
        let answer = serde_json::json!({
            "zid": "r",
            "sessions": [
                { "peer": "a", "whatami": "peer", "links": [] },
                { "peer": "b", "whatami": "client" },
                { "peer": 5, "whatami": "peer" },
                { "peer": "c".repeat(LONGEST_ID + 1), "whatami": "peer" },
                { "whatami": "peer" },
                "d",
            ],
        });
        assert_eq!(peers_in(answer.to_string().as_bytes()), ["a"]);
        let too_long = " ".repeat(LONGEST_ANSWER) + &answer.to_string();
        for other in ["", "{}", "{\"sessions\":5}", "[", &too_long] {
            assert!(peers_in(other.as_bytes()).is_empty(), "{}", other.len());
        }
    }
}
