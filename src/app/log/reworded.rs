//! Messages of libraries that users are to see, as warnings in the words of this program.

#[cfg(feature = "foxglove")]
use bagplay::viewer::{QUEUE_FULL_TARGET, slow_viewer_warning};
use tracing_subscriber::filter::Targets;

/// Adds the targets of such messages to a filter, if it lets warnings of this program through.
#[cfg(feature = "foxglove")]
pub(super) fn admit(filter: Targets) -> Targets {
    use tracing::Level;
    use tracing_subscriber::filter::LevelFilter;

    let is_shown = |target: &str| filter.would_enable(target, &Level::WARN);
    let level = if super::OURS.into_iter().any(is_shown) {
        LevelFilter::INFO
    } else {
        LevelFilter::OFF
    };
    filter.with_target(QUEUE_FULL_TARGET, level)
}

/// The warning in place of a text that a library logs; `None` if it stays as it is.
#[cfg(feature = "foxglove")]
pub(super) fn warning(target: &str, text: &str) -> Option<String> {
    let text = (target == QUEUE_FULL_TARGET).then_some(text)?;
    slow_viewer_warning(text)
}

/// No library has such messages.
#[cfg(not(feature = "foxglove"))]
pub(super) fn admit(filter: Targets) -> Targets {
    filter
}

/// The same.
#[cfg(not(feature = "foxglove"))]
pub(super) const fn warning(_: &str, _: &str) -> Option<String> {
    None
}
