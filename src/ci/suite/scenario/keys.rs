//! The keys of a scenario: those of its own, and the flags of `play` that may stand in it under their names.

/// What a key takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// `true` or `false`; `false` is the same as no key.
    Switch,
    /// One text or number.
    Value,
    /// `true`, or one text or number.
    Optional,
    /// One text or number, or a list of them.
    List,
    /// A list of words.
    Words,
    /// A list of words, or a list of such lists.
    Commands,
    /// `true`, one text or number, or a list of them.
    OptionalList,
    /// The name of a file that is read, relative to the folder of the scenario.
    File,
    /// One such name, or a list of them.
    Files,
    /// The name of a file that is written, relative to the folder of the run.
    Written,
    /// A table of texts or numbers.
    Table,
    /// A table of lists of texts, numbers or switches.
    Lists,
}

impl Shape {
    /// In words, for messages and documents.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Switch => "`true` or `false`",
            Self::Value => "a text or a number",
            Self::Optional => "`true`, a text or a number",
            Self::List => "a text, or a list of texts",
            Self::Words => "a list of words",
            Self::Commands => "a list of words, or a list of such lists",
            Self::OptionalList => "`true`, a text, or a list of texts",
            Self::File | Self::Written => "the name of a file",
            Self::Files => "the name of a file, or a list of such names",
            Self::Table => "a table of texts",
            Self::Lists => "a table of lists",
        }
    }
}

/// A key of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// Its name; of a flag that of its long form, without the hyphens.
    pub name: &'static str,
    /// What it takes.
    pub shape: Shape,
    /// What it means.
    pub help: &'static str,
    /// Which key it is, if it does not stand for a flag.
    pub(super) own: Option<OwnKey>,
}

/// The keys that are no flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum OwnKey {
    Bags,
    Command,
    Env,
    Matrix,
    Name,
    Reset,
    ResetTimeout,
    Restart,
    Tags,
    Timeout,
}

const fn key(name: &'static str, shape: Shape, help: &'static str) -> Key {
    Key {
        name,
        shape,
        help,
        own: None,
    }
}

const fn own(own: OwnKey, name: &'static str, shape: Shape, help: &'static str) -> Key {
    Key {
        own: Some(own),
        ..key(name, shape, help)
    }
}

/// The keys that are no flags.
pub const OWN_KEYS: &[Key] = &[
    own(
        OwnKey::Bags,
        "bags",
        Shape::Files,
        "The recordings; always needed. A URL is kept as it is",
    ),
    own(
        OwnKey::Command,
        "command",
        Shape::Words,
        "The program under test and its arguments, one word each",
    ),
    own(
        OwnKey::Env,
        "env",
        Shape::Table,
        "Environment variables of the program under test",
    ),
    own(
        OwnKey::Matrix,
        "matrix",
        Shape::Lists,
        "Parameters and their values: there is one case for each combination. `${NAME}` stands for the value",
    ),
    own(
        OwnKey::Name,
        "name",
        Shape::Value,
        "The name of the scenario [default: its path below the folder of the suite, without `.toml`]",
    ),
    own(
        OwnKey::Reset,
        "reset",
        Shape::Commands,
        "With `restart = \"never\"`: commands that are run before each run on a system, except the first",
    ),
    own(
        OwnKey::ResetTimeout,
        "reset-timeout",
        Shape::Value,
        "The longest wall time of each of them [default: `60s`]",
    ),
    own(
        OwnKey::Restart,
        "restart",
        Shape::Value,
        "When `play suite` starts the program under test again: `per-case`, which is the default, or `never`",
    ),
    own(
        OwnKey::Tags,
        "tags",
        Shape::List,
        "Words that `--filter tag:WORD` selects",
    ),
    own(
        OwnKey::Timeout,
        "timeout",
        Shape::Value,
        "The longest wall time of a case, such as `90s` or `10m`; after that it is ended and has failed with exit code 4",
    ),
];

/// The flags of `play` that may be keys.
pub const FLAG_KEYS: &[Key] = &[
    key("actions", Shape::List, "As the flag"),
    key("any-type-hash", Shape::Switch, "As the flag"),
    key(
        "aside",
        Shape::Value,
        "Prefix for recorded topics that the program publishes, too; without it they are not played",
    ),
    key(
        "cgroup",
        Shape::Value,
        "Processes under test that run already; not beside a `command`",
    ),
    key(
        "clock",
        Shape::Optional,
        "Rate of `/clock` in hertz; `true`: 40",
    ),
    key("clock-start", Shape::Value, "As the flag"),
    key("clock-state", Shape::Switch, "As the flag"),
    key(
        "clock-topics",
        Shape::List,
        "Topics that have `/clock` before each message",
    ),
    key(
        "clock-topics-all",
        Shape::Switch,
        "`/clock` before each message of any topic",
    ),
    key("congestion", Shape::Value, "As the flag"),
    key("connect", Shape::List, "As the flag"),
    key("delay", Shape::Value, "As the flag"),
    key("domain-id", Shape::Value, "As the flag"),
    key("end", Shape::Value, "The last time to play"),
    key("exclude-actions", Shape::List, "As the flag"),
    key("exclude-regex", Shape::Value, "As the flag"),
    key("exclude-services", Shape::List, "As the flag"),
    key("exclude-topics", Shape::List, "Topics that are not played"),
    key("expect", Shape::Files, "Files with expectations"),
    key("gate", Shape::List, "Gates: `/points -> /odom by stamp`"),
    key(
        "gate-timeout",
        Shape::Value,
        "How long a gate waits for an answer",
    ),
    key(
        "golden",
        Shape::File,
        "The recording with the outputs that are expected",
    ),
    key(
        "golden-rules",
        Shape::File,
        "Tolerances of the comparison, by topic and field",
    ),
    key(
        "grace",
        Shape::Value,
        "Time between TERM and KILL for the program under test",
    ),
    key(
        "in-flight",
        Shape::Value,
        "Unanswered questions per gate while playback goes on",
    ),
    key(
        "isolated",
        Shape::Switch,
        "A router of its own; in a suite `true` for a scenario with a `command` unless it is set",
    ),
    key("listen", Shape::List, "As the flag"),
    key(
        "lockstep",
        Shape::Switch,
        "Wait until the processes under test have settled; in a suite on Linux `true` unless it is set",
    ),
    key("message-order", Shape::Value, "As the flag"),
    key("no-refill", Shape::Switch, "As the flag"),
    key("node-name", Shape::Value, "As the flag"),
    key("on-disconnect", Shape::Value, "As the flag"),
    key(
        "on-miss",
        Shape::Value,
        "What a gate without an answer means: `fail`, `count`, `count:MAX`",
    ),
    key("pid", Shape::List, "Processes under test that run already"),
    key(
        "playback-duration",
        Shape::Value,
        "How much of the recording to play",
    ),
    key("playback-until-nsec", Shape::Value, "As the flag"),
    key("playback-until-sec", Shape::Value, "As the flag"),
    key("precise", Shape::Switch, "As the flag"),
    key("prefix", Shape::Value, "As the flag"),
    key("qos-profile-overrides-path", Shape::File, "As the flag"),
    key("rate", Shape::Value, "The rate, or `max`"),
    key("read-ahead", Shape::Value, "As the flag"),
    key("realtime", Shape::Switch, "As the flag"),
    key("record", Shape::Written, "Where the outputs are recorded"),
    key(
        "record-inputs",
        Shape::Switch,
        "Also record the played messages",
    ),
    key("record-topics", Shape::List, "The topics that are recorded"),
    key("regex", Shape::Value, "As the flag"),
    key("remap", Shape::List, "Topics with other names: `/a:=/b`"),
    key(
        "repeat",
        Shape::Value,
        "How often the case is played; all outputs must be equal",
    ),
    key("ros-distro", Shape::Value, "As the flag"),
    key("services", Shape::List, "As the flag"),
    key(
        "settle",
        Shape::Value,
        "Wall time without an output after which the run is over",
    ),
    key(
        "settle-limit",
        Shape::Value,
        "The longest time for one settling",
    ),
    key("shm", Shape::Value, "As the flag"),
    key("skip-empty", Shape::Value, "As the flag"),
    key(
        "source-stamp",
        Shape::Value,
        "What source timestamps show: `log` or `wall`",
    ),
    key(
        "spread",
        Shape::Switch,
        "Pace bursts that a subscriber cannot keep",
    ),
    key("stall-timeout", Shape::Value, "As the flag"),
    key("start", Shape::Value, "The first time to play"),
    key("start-offset", Shape::Value, "As the flag"),
    key("strict", Shape::Switch, "Fail on damage, loss and bursts"),
    key("strict-clock", Shape::Switch, "As the flag"),
    key(
        "tail",
        Shape::Value,
        "Log time for which the clock goes on after the last message",
    ),
    key("topics", Shape::List, "The topics that are played"),
    key("transcode", Shape::Value, "As the flag"),
    key(
        "wait-for-nodes",
        Shape::List,
        "Nodes that have to have joined before the start",
    ),
    key(
        "wait-for-subscribers",
        Shape::OptionalList,
        "Topics that need a subscriber before the start (`TOPIC=N`: N subscribers); `true`: all",
    ),
    key(
        "wait-timeout",
        Shape::Value,
        "Time limit of `wait-for-subscribers` and `wait-for-nodes`",
    ),
    key("wire", Shape::List, "As the flag"),
    key("zenoh-config", Shape::File, "As the flag"),
];

/// Flags of `play` that are not keys: what is shown and where reports go is said on the command line, a scenario is one
/// run without a person, and the other flags of `ros2 bag play` have a form of their own here.
pub const NOT_KEYS: &[&str] = &[
    "ascii",
    "begin-at",
    "bridge-namespace",
    "color",
    "disable-keyboard-controls",
    "disable-loan-message",
    "extrapolate",
    "follow",
    "follow-offset",
    "follow-state",
    "follow-timeout",
    "follow-to-end",
    "format",
    "foxglove",
    "held-system",
    "help",
    "html",
    "input",
    "junit",
    "log-file",
    "log-level",
    "loop",
    "loop-range",
    "markdown",
    "no-tui",
    "order",
    "progress-bar-separation-lines",
    "progress-bar-update-rate",
    "publish-service-requests",
    "quiet",
    "read-ahead-queue-size",
    "report",
    "run-dir",
    "scenario",
    "send-actions-as-client",
    "service-requests-source",
    "start-paused",
    "storage",
    "storage-config-file",
    "tui",
    "update-golden",
    "use-sim-time",
    "verbose",
    "version",
    "wait-for-all-acked",
];

/// The key with this name.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    let mut keys = OWN_KEYS.iter().chain(FLAG_KEYS);
    keys.find(|key| key.name == name)
}

/// The key whose name is most like this one, if it is like it at all.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    // Similarity is computed in the square of the length.
    let name: String = name.chars().take(64).collect();
    let name = name.trim_start_matches('-').replace('_', "-");
    let names = OWN_KEYS.iter().chain(FLAG_KEYS).map(|key| key.name);
    let likeness = names.map(|known| (strsim::jaro_winkler(known, &name), known));
    let (likeness, known) = likeness.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (likeness > 0.75).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_stand_in_one_table_alone() {
        for names in [OWN_KEYS, FLAG_KEYS] {
            assert!(names.is_sorted_by_key(|key| key.name));
        }
        assert!(NOT_KEYS.is_sorted());
        let mut all: Vec<&str> = OWN_KEYS
            .iter()
            .chain(FLAG_KEYS)
            .map(|key| key.name)
            .collect();
        all.extend(NOT_KEYS);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn a_name_that_is_mistyped_is_recognised() {
        for (typed, meant) in [
            ("gates", Some("gate")),
            ("lock-step", Some("lockstep")),
            ("bag", Some("bags")),
            ("in_flight", Some("in-flight")),
            ("--expect", Some("expect")),
            ("comand", Some("command")),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed), meant, "{typed}");
        }
    }
}
