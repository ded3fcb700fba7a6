//! [`Notices`]: makes the calls of a master, on threads of their own: a node that does not answer holds up only few
//! others. The calls of one node are made in order.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use dxr::Value;

use super::registry::Notice;
use crate::ros1::rpc::client::{Peer, call};
use crate::ros1::rpc::size::size_of;
use crate::ros1::rpc::uri::RpcUri;
use crate::ros1::system::{Budget, Share, Waits};

/// How many threads there are at most.
const THREADS: usize = 16;
/// How many calls may wait for a thread. Further ones are not made.
const WAITING: usize = 1024;
/// How many bytes the parameters of the calls that wait may have together, about.
const MOST_BYTES: usize = 64 << 20;

/// The threads, started when they are needed.
#[derive(Debug)]
pub(super) struct Notices {
    threads: Mutex<[Option<Sender<Waiting>>; THREADS]>,
    bytes: Arc<Budget>,
    waits: Waits,
    /// How long a call may take.
    patience: Duration,
}

/// A call that waits, and the part of what all may take that the calls of one change have together.
type Waiting = (Notice, Arc<Share>);

/// Parameters, and their part; `None` if less is left.
type Counted = (Arc<[Value]>, Option<Arc<Share>>);

impl Notices {
    pub(super) fn new(waits: Waits, patience: Duration) -> Self {
        Self {
            threads: Mutex::default(),
            bytes: Budget::new(MOST_BYTES),
            waits,
            patience,
        }
    }

    /// Makes these calls, soon.
    pub(super) fn send(&self, notices: Vec<Notice>) {
        // Calls with the same parameters follow each other.
        let mut last: Option<Counted> = None;
        for notice in notices {
            let known = last.take();
            let known = known.filter(|(params, _)| Arc::ptr_eq(params, &notice.params));
            let (_, share) = last.insert(known.unwrap_or_else(|| {
                let size = notice.params.iter().map(size_of).sum();
                let share = self.bytes.take(size).map(Arc::new);
                (Arc::clone(&notice.params), share)
            }));
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            let at = hasher.hash_one(&notice.uri) % THREADS as u64;
            let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            let slot = &mut threads[usize::try_from(at).unwrap_or(0)];
            if slot.is_none() {
                *slot = self.start();
            }
            let sent = slot.as_ref().zip(share.clone());
            let sent = sent.map(|(thread, share)| thread.try_send((notice, share)));
            if !matches!(sent, Some(Ok(()))) {
                tracing::debug!("ROS 1 master: a call is not made: too many wait");
            }
        }
    }

    fn start(&self) -> Option<Sender<Waiting>> {
        let (send, calls) = bounded(WAITING);
        let (waits, patience) = (self.waits.clone(), self.patience);
        let thread = thread::Builder::new().name("ros1-notices".to_owned());
        thread
            .spawn(move || make_all(&calls, (&waits, patience)))
            .ok()?;
        Some(send)
    }
}

/// Makes calls until there are no more, or the node ends.
fn make_all(calls: &Receiver<Waiting>, (waits, patience): (&Waits, Duration)) {
    for (notice, _share) in calls {
        let Notice {
            uri,
            method,
            params,
        } = notice;
        if waits.is_over() {
            return;
        }
        let call = || {
            let uri: RpcUri = uri.parse()?;
            call(
                &Peer::look_up(&uri)?,
                (waits, patience),
                method,
                params.to_vec(),
            )
        };
        if let Err(error) = call() {
            tracing::debug!("ROS 1 master: {method}: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::ros1::system::waits;

    #[test]
    fn the_parameters_of_a_change_count_once() {
        let (_ender, waits) = waits().unwrap();
        // Accepts connections and answers nothing, so all calls wait.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let notices = Notices::new(waits, Duration::from_secs(3));
        let change = || {
            let params: Arc<[Value]> = [Value::String("x".repeat(MOST_BYTES / 4))].into();
            let notice = |_| Notice {
                uri: uri.clone(),
                method: "paramUpdate",
                params: Arc::clone(&params),
            };
            (0..10).map(notice).collect::<Vec<_>>()
        };
        notices.send(change());
        assert!(notices.bytes.has(MOST_BYTES / 2));
        notices.send(change());
        assert!(!notices.bytes.has(MOST_BYTES / 2));
        assert!(notices.bytes.has(MOST_BYTES / 4));
    }
}
