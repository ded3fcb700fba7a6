//! [`alerts`]: the warnings and errors that ROS nodes report themselves.

use super::expression::syntax::Expression;

/// How bad an alert is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// `WARN` in `/rosout` or `/diagnostics`.
    Warning,
    /// `ERROR` or more in `/rosout`; `ERROR` or `STALE` in `/diagnostics`.
    Error,
}

const ALERTS: [(Severity, &str); 4] = [
    (Severity::Error, "/rosout level >= ERROR show msg"),
    (
        Severity::Error,
        "/diagnostics status[].level >= ERROR show status[].name, status[].message",
    ),
    (Severity::Warning, "/rosout level >= WARN show msg"),
    (
        Severity::Warning,
        "/diagnostics status[].level >= WARN show status[].name, status[].message",
    ),
];

/// Expressions for what ROS nodes report in `/rosout` and `/diagnostics`, of ROS 1 and ROS 2, the worst first: as the
/// first that a message satisfies counts, it tells how bad the message is. For
/// [`Conditions::that_fit`](super::Conditions::that_fit), because a recording may have neither topic.
pub fn alerts() -> Vec<(Severity, Expression)> {
    let parsed = ALERTS.map(|(severity, text)| {
        let expression = text.parse().expect("the expression is valid");
        (severity, expression)
    });
    parsed.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_alerts_come_first() {
        let alerts = alerts();
        assert_eq!(alerts.len(), ALERTS.len());
        assert!(alerts.is_sorted_by(|a, b| a.0 >= b.0));
    }
}
