//! [`Subscription`]: the subscription to one topic with one type, as a node of `rmw_zenoh` makes it.

use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::sample::{Locality, Sample};
use zenoh_ext::{AdvancedSubscriber, AdvancedSubscriberBuilderExt, HistoryConfig, RecoveryConfig};

use crate::ros::{Durability, Qos, Reliability};
use crate::wire::dialect::interface::SubscriptionSpec;
use crate::wire::error::WireError;

/// A subscription; its token is dropped first.
#[derive(Debug)]
pub(crate) struct Subscription {
    _token: LivelinessToken,
    _subscriber: AdvancedSubscriber<()>,
}

impl Subscription {
    /// Subscribes to what publishers of other sessions offer with this profile. What latched ones have published before
    /// is fetched and comes first, also of those that join later. As for any subscriber of `rmw_zenoh`, that is certain
    /// only if the link to the publisher was complete before: else what it publishes meanwhile may come first, and
    /// hides what is older.
    pub(crate) fn declare(
        zenoh: &zenoh::Session,
        spec: &SubscriptionSpec,
        offered: &Qos,
        receive: impl Fn(&Sample) + Send + Sync + 'static,
    ) -> Result<Self, WireError> {
        let declare = |source| WireError::Declare {
            what: spec.key.clone(),
            source,
        };
        // Everything that publishers keep: their number is theirs to limit.
        let history = HistoryConfig::default().detect_late_publishers();
        let builder = zenoh
            .declare_subscriber(spec.key.clone())
            .callback(move |sample| receive(&sample))
            .history(history)
            .allowed_origin(Locality::Remote);
        let is_latched = offered.durability == Durability::TransientLocal;
        let builder = if is_latched && offered.reliability == Reliability::Reliable {
            let lost_ones = RecoveryConfig::default().heartbeat();
            builder.subscriber_detection().recovery(lost_ones)
        } else if is_latched {
            builder.subscriber_detection()
        } else {
            builder
        };
        let subscriber = builder.wait().map_err(declare)?;
        let token = zenoh.liveliness().declare_token(spec.token.clone());
        Ok(Self {
            _token: token.wait().map_err(declare)?,
            _subscriber: subscriber,
        })
    }
}
