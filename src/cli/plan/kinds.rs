//! What a recorded topic is in ROS 2: an ordinary topic, or a part of a service or of an action.

/// What a topic belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind<'a> {
    /// An ordinary topic.
    Topic,
    /// The events of this service.
    Service(&'a str),
    /// The topics of this action, or the events of its services.
    Action(&'a str),
}

impl<'a> Kind<'a> {
    /// The kind of a topic with this name.
    pub(crate) fn of(topic: &'a str) -> Self {
        if let Some((action, _)) = topic.split_once("/_action/") {
            Self::Action(action)
        } else if let Some(service) = topic.strip_suffix("/_service_event") {
            Self::Service(service)
        } else {
            Self::Topic
        }
    }

    /// The service it belongs to, unless that is part of an action.
    pub(crate) fn service(self) -> Option<&'a str> {
        match self {
            Self::Service(name) => Some(name),
            _ => None,
        }
    }

    /// The action it belongs to.
    pub(crate) fn action(self) -> Option<&'a str> {
        match self {
            Self::Action(name) => Some(name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_actions_are_known_by_their_names() {
        for (topic, kind) in [
            ("/imu", Kind::Topic),
            ("/a/_service_event", Kind::Service("/a")),
            ("/n/get/_service_event", Kind::Service("/n/get")),
            ("/go/_action/feedback", Kind::Action("/go")),
            ("/go/_action/send_goal/_service_event", Kind::Action("/go")),
            ("/_service_events", Kind::Topic),
        ] {
            assert_eq!(Kind::of(topic), kind, "{topic}");
        }
    }
}
