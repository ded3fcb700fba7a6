//! What is said of inputs that were not sent, and of outputs that did not come as they were published.

use super::record::{OutputPublisher, OutputTopic, Unreceived, Unsent};
use super::units::{count, shown};

impl OutputPublisher {
    /// Whether each of its messages came once and in order.
    pub fn is_regular(&self) -> bool {
        [self.lost, self.earlier, self.repeated, self.reordered] == [0; 4]
    }
}

impl Unreceived {
    /// One sentence.
    pub fn sentence(&self) -> String {
        let (topic, node, why) = (shown(&self.topic), shown(&self.node), shown(&self.why));
        format!("{topic} by {node} is not received: {why}")
    }
}

impl Unsent {
    /// One sentence.
    pub fn sentence(&self) -> String {
        let (topic, why) = (shown(&self.topic), shown(&self.why));
        let messages = self
            .messages
            .map_or_else(|| "messages".to_owned(), messages);
        format!("{messages} of {topic} could not be sent: {why}")
    }
}

impl OutputTopic {
    /// What its sequence numbers tell: one or two sentences for each publisher of which a message did not come once and
    /// in order.
    pub fn irregularities(&self) -> Vec<String> {
        let publishers = self.publishers.iter();
        let said = publishers.flat_map(|publisher| {
            let node = match publisher.node.as_str() {
                "" => "an unknown node".to_owned(),
                node => shown(node),
            };
            let of = format!("{} by {node}", shown(&self.topic));
            let numbers = [
                (publisher.lost, "lost"),
                (publisher.repeated, "received twice"),
                (publisher.reordered, "received after a later one"),
            ];
            let told = numbers.iter().filter(|(number, _)| *number > 0);
            let told = told.map(|(number, what)| match *what {
                "lost" => format!("at least {} lost", messages(*number)),
                what => format!("{} {what}", count(*number)),
            });
            let told: Vec<String> = told.collect();
            let came = (!told.is_empty()).then(|| format!("{of}: {}", told.join(", ")));
            let before = (publisher.earlier > 0).then(|| {
                let verb = if publisher.earlier == 1 {
                    "was"
                } else {
                    "were"
                };
                let number = messages(publisher.earlier);
                format!("{of}: {number} {verb} published before the first one that was received")
            });
            came.into_iter().chain(before)
        });
        said.collect()
    }
}

fn messages(number: u64) -> String {
    let noun = if number == 1 { "message" } else { "messages" };
    format!("{} {noun}", count(number))
}
