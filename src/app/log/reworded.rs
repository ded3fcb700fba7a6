//! What a library logs and users are told, in the words of this program.

/// The module of crate `foxglove` that says for which viewer a queue is full: at level `info`, at most once in 30 s.
pub(super) const SLOW_VIEWERS: &str = "foxglove::websocket::connected_client::send_lossy";

/// The warning for a slow viewer; `None` if the module `target` says anything else.
pub(super) fn slow_viewer(target: &str, text: &str) -> Option<String> {
    let said = (target == SLOW_VIEWERS).then_some(text)?;
    let viewer = said
        .strip_prefix("outbox for client ")?
        .strip_suffix(" full")?;
    Some(format!(
        "viewer {viewer} does not keep up: the oldest messages that wait for it are dropped"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_viewer_is_named() {
        let said = "outbox for client 127.0.0.1:40000 full";
        let warning = slow_viewer(SLOW_VIEWERS, said).unwrap();
        assert!(warning.starts_with("viewer 127.0.0.1:40000 does not keep up: "));
        assert_eq!(slow_viewer("foxglove::websocket::server", said), None);
        assert_eq!(slow_viewer(SLOW_VIEWERS, "anything else"), None);
    }
}
