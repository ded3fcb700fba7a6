//! [`Subscription`]: the subscription to one topic with one type, announced as nodes of `rmw_zenoh` announce theirs.

use std::sync::{Arc, Weak};

use zenoh::Wait;
use zenoh::key_expr::KeyExpr;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::{Locality, Sample};

use super::ordered::Ordered;
use crate::wire::dialect::interface::SubscriptionSpec;
use crate::wire::error::WireError;

/// A subscription; its token is dropped first.
#[derive(Debug)]
pub(crate) struct Subscription {
    _token: LivelinessToken,
    _subscribers: Vec<Subscriber<()>>,
    _ordered: Arc<Ordered>,
}

impl Subscription {
    /// Subscribes to what publishers of other sessions offer. Latched ones are asked for what they keep, also those
    /// that join later; it comes first, in order. If a publisher does not answer within ten seconds, or if its messages
    /// take more than 64 MiB meanwhile, what it publishes comes without that. `is_latched`: a publisher of the topic is
    /// known to be latched.
    pub(crate) fn declare(
        zenoh: &zenoh::Session,
        spec: &SubscriptionSpec,
        is_latched: bool,
        receive: impl Fn(&Sample) + Send + Sync + 'static,
    ) -> Result<Self, WireError> {
        let fail = |source| WireError::Declare {
            what: spec.key.clone(),
            source,
        };
        let key = KeyExpr::try_from(spec.key.clone()).map_err(fail)?;
        let (session, of) = (zenoh.clone(), key.clone());
        let ordered = Ordered::new(session, of, is_latched, Box::new(receive));
        let ordered = Arc::new(ordered);
        // zenoh keeps the callbacks as long as the subscriptions, which must not keep themselves alive.
        let weak = Arc::downgrade(&ordered);
        let with = |act: fn(&Arc<Ordered>, Sample)| {
            let weak = Weak::clone(&weak);
            move |sample| {
                if let Some(ordered) = weak.upgrade() {
                    act(&ordered, sample);
                }
            }
        };
        let messages = zenoh
            .declare_subscriber(key.clone())
            .callback(with(Ordered::take))
            .allowed_origin(Locality::Remote);
        let mut subscribers = vec![messages.wait().map_err(fail)?];
        let publishers = Ordered::publishers(&key);
        if is_latched {
            let heartbeats = zenoh
                .declare_subscriber(publishers.clone())
                .callback(with(|ordered, it| ordered.heard(&it)))
                .allowed_origin(Locality::Remote);
            subscribers.push(heartbeats.wait().map_err(fail)?);
        }
        let tokens = zenoh
            .liveliness()
            .declare_subscriber(publishers)
            .callback(with(|ordered, it| ordered.told(&it)))
            .history(true);
        subscribers.push(tokens.wait().map_err(fail)?);
        let token = zenoh.liveliness().declare_token(spec.token.clone());
        Ok(Self {
            _token: token.wait().map_err(fail)?,
            _subscribers: subscribers,
            _ordered: ordered,
        })
    }
}
