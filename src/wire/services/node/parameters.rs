//! [`Parameters`]: the parameters of a player's node, and the rules of `rclcpp` for reading and setting them.

use std::collections::{BTreeMap, BTreeSet};

use crate::player::{Command, Pace, State, Status};
use crate::time::{AtEnd, Speed};
use crate::wire::services::messages::parameters::{
    Descriptor, FloatRange, ListRequest, ListResponse, Parameter, ParameterValue,
};

/// A parameter that cannot be set: it shows how the run was started.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeParameter {
    /// Its name; parts are separated by dots.
    pub name: String,
    /// Its value.
    pub value: ParameterValue,
    /// Its description.
    pub description: String,
}

/// The least and the greatest rate that can be set.
const RATES: (f64, f64) = (0.001, 1000.0);
/// How many names or parameters a request may have; one with more has the response of a failure.
pub(crate) const MOST_NAMES: usize = 10_000;
/// The names of the types, by their numbers.
const TYPES: [&str; 10] = [
    "not set",
    "bool",
    "integer",
    "double",
    "string",
    "byte_array",
    "bool_array",
    "integer_array",
    "double_array",
    "string_array",
];

/// A parameter that shows the state of playback, and that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Live {
    Rate,
    Paused,
    Loop,
}

#[derive(Clone, PartialEq, Debug)]
enum Source {
    Fixed(ParameterValue),
    Live(Live),
}

/// The parameters of a node, by name.
#[derive(Clone, Debug)]
pub(crate) struct Parameters(BTreeMap<String, (Descriptor, Source)>);

impl Live {
    const ALL: [Self; 3] = [Self::Rate, Self::Paused, Self::Loop];

    const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Paused => "paused",
            Self::Loop => "loop",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Rate => {
                "Seconds of log time per second of wall time; negative backwards, infinite for as fast as possible"
            }
            Self::Paused => "Whether playback is paused",
            Self::Loop => "Whether playback starts again at the end",
        }
    }

    fn value(self, status: &Status) -> ParameterValue {
        match self {
            Self::Rate => match status.pace {
                Pace::At(speed) => speed.as_f64(),
                Pace::Max => f64::INFINITY,
                Pace::Follow => 0.0,
            }
            .into(),
            Self::Paused => matches!(status.state, State::Paused | State::Ended).into(),
            Self::Loop => (status.played.at_end == AtEnd::Loop).into(),
        }
    }

    /// The value of each before there is a player.
    fn unknown(self) -> ParameterValue {
        match self {
            Self::Rate => 0.0.into(),
            Self::Paused | Self::Loop => false.into(),
        }
    }

    /// The command that sets it; `Err` has the reason if there is none.
    fn command(self, value: &ParameterValue) -> Result<Command, String> {
        match self {
            Self::Rate => {
                let (least, greatest) = RATES;
                let rate = value.double_value;
                Speed::from_f64(rate)
                    .ok()
                    .filter(|_| (least..=greatest).contains(&rate))
                    .map(|speed| Command::SetPace(Pace::At(speed)))
                    .ok_or_else(|| {
                        format!(
                            "Parameter {{rate}} doesn't comply with floating point range: {least} to {greatest}."
                        )
                    })
            }
            Self::Paused if value.bool_value => Ok(Command::Pause),
            Self::Paused => Ok(Command::Play),
            Self::Loop if value.bool_value => Ok(Command::SetAtEnd(AtEnd::Loop)),
            Self::Loop => Ok(Command::SetAtEnd(AtEnd::Hold)),
        }
    }

    fn descriptor(self) -> Descriptor {
        let range = FloatRange {
            from_value: RATES.0,
            to_value: RATES.1,
            step: 0.0,
        };
        Descriptor {
            name: self.name().to_owned(),
            kind: self.unknown().kind,
            description: self.description().to_owned(),
            floating_point_range: (self == Self::Rate).then_some(range).into_iter().collect(),
            ..Descriptor::default()
        }
    }
}

const USE_SIM_TIME: &str = "use_sim_time";

impl Parameters {
    /// Those that every node has, those that drive playback, and `others`.
    pub(crate) fn new(others: Vec<NodeParameter>) -> Self {
        let mut all = BTreeMap::new();
        let fixed = |name: &str, value: ParameterValue, description: &str| NodeParameter {
            name: name.to_owned(),
            value,
            description: description.to_owned(),
        };
        let text = |text: &str| ParameterValue::from(text.to_owned());
        let of_events =
            |policy: &str| format!("qos_overrides./parameter_events.publisher.{policy}");
        let usual = [
            fixed(
                "start_type_description_service",
                true.into(),
                "Whether the service ~/get_type_description is there",
            ),
            fixed(&of_events("depth"), 1000.into(), ""),
            fixed(&of_events("durability"), text("volatile"), ""),
            fixed(&of_events("history"), text("keep_last"), ""),
            fixed(&of_events("reliability"), text("reliable"), ""),
            fixed(
                USE_SIM_TIME,
                false.into(),
                "Whether the node follows /clock; a player does not",
            ),
        ];
        for parameter in usual.into_iter().chain(others) {
            let NodeParameter {
                name,
                value,
                description,
            } = parameter;
            let descriptor = Descriptor {
                name: name.clone(),
                kind: value.kind,
                description,
                read_only: name != USE_SIM_TIME,
                ..Descriptor::default()
            };
            all.insert(name, (descriptor, Source::Fixed(value)));
        }
        for live in Live::ALL {
            let entry = (live.descriptor(), Source::Live(live));
            all.insert(live.name().to_owned(), entry);
        }
        Self(all)
    }

    /// The names below the prefixes, as deep as requested.
    pub(crate) fn list(&self, request: &ListRequest) -> ListResponse {
        let ListRequest { prefixes, depth } = request;
        let is_within = |name: &str| *depth == 0 || (name.matches('.').count() as u64) < *depth;
        let is_below = |name: &str, prefix: &String| {
            let below = name.strip_prefix(prefix.as_str());
            below.is_some_and(|below| {
                below.is_empty() || below.strip_prefix('.').is_some_and(is_within)
            })
        };
        let is_listed = |name: &&String| {
            if prefixes.is_empty() {
                is_within(name)
            } else {
                prefixes.iter().any(|prefix| is_below(name, prefix))
            }
        };
        let names: Vec<String> = self.0.keys().filter(is_listed).cloned().collect();
        let parents = names
            .iter()
            .filter_map(|name| Some(name.rsplit_once('.')?.0));
        let parents: BTreeSet<&str> = parents.collect();
        ListResponse {
            prefixes: parents.into_iter().map(str::to_owned).collect(),
            names,
        }
    }

    /// The values of these parameters; nothing if one of the names is unknown.
    pub(crate) fn values(&self, names: &[String], status: Option<&Status>) -> Vec<ParameterValue> {
        self.each(names, |_, source| source.value(status))
    }

    /// Their types, likewise.
    pub(crate) fn types(&self, names: &[String]) -> Vec<u8> {
        self.each(names, |descriptor, _| descriptor.kind)
    }

    /// Their descriptions, likewise.
    pub(crate) fn descriptors(&self, names: &[String]) -> Vec<Descriptor> {
        self.each(names, |descriptor, _| descriptor.clone())
    }

    fn each<T>(&self, names: &[String], of: impl Fn(&Descriptor, &Source) -> T) -> Vec<T> {
        if names.len() > MOST_NAMES {
            return Vec::new();
        }
        let found = names.iter().map(|name| {
            let (descriptor, source) = self.0.get(name)?;
            Some(of(descriptor, source))
        });
        found.collect::<Option<Vec<T>>>().unwrap_or_default()
    }

    /// Whether there is a parameter of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The command that sets a parameter, `None` if it has the value already and nothing else is possible; `Err` has
    /// the reason why it cannot be set. `refusal` says why playback cannot be driven, if it cannot.
    pub(crate) fn set(
        &self,
        parameter: &Parameter,
        refusal: Option<&str>,
    ) -> Result<Option<Command>, String> {
        let Parameter { name, value } = parameter;
        let Some((descriptor, source)) = self.0.get(name) else {
            return Err(format!(
                "parameter '{name}' cannot be set because it was not declared"
            ));
        };
        if descriptor.read_only {
            return Err(format!(
                "parameter '{name}' cannot be set because it is read-only"
            ));
        }
        if value.kind != descriptor.kind {
            let word = |kind: u8| TYPES.get(usize::from(kind)).unwrap_or(&"unknown");
            return Err(format!(
                "Wrong parameter type, parameter {{{name}}} is of type {{{}}}, setting it to {{{}}} is not allowed.",
                word(descriptor.kind),
                word(value.kind)
            ));
        }
        match source {
            Source::Fixed(fixed) if fixed == value => Ok(None),
            Source::Fixed(_) => Err(format!(
                "{name} cannot be changed: a player serves the time, and does not follow /clock"
            )),
            Source::Live(live) => match refusal {
                Some(refusal) => Err(format!("parameter '{name}' cannot be set: {refusal}")),
                None => live.command(value).map(Some),
            },
        }
    }

    /// The parameters that show the state of playback.
    pub(crate) fn live(status: &Status) -> Vec<Parameter> {
        let parameters = Live::ALL.iter().map(|live| Parameter {
            name: live.name().to_owned(),
            value: live.value(status),
        });
        parameters.collect()
    }

    /// All parameters.
    pub(crate) fn all(&self, status: Option<&Status>) -> Vec<Parameter> {
        let parameters = self.0.iter().map(|(name, (_, source))| Parameter {
            name: name.clone(),
            value: source.value(status),
        });
        parameters.collect()
    }
}

impl Source {
    fn value(&self, status: Option<&Status>) -> ParameterValue {
        match self {
            Self::Fixed(value) => value.clone(),
            Self::Live(live) => status.map_or_else(|| live.unknown(), |it| live.value(it)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Parameters {
        let fixed = |name: &str| NodeParameter {
            name: name.to_owned(),
            value: true.into(),
            description: "what it is".to_owned(),
        };
        Parameters::new(vec![fixed("play.loop"), fixed("play.a.b")])
    }

    fn list(prefixes: &[&str], depth: u64) -> Vec<String> {
        let prefixes = prefixes.iter().map(|&it| it.to_owned()).collect();
        parameters().list(&ListRequest { prefixes, depth }).names
    }

    fn set(name: &str, value: impl Into<ParameterValue>) -> Result<Option<Command>, String> {
        let parameter = Parameter {
            name: name.to_owned(),
            value: value.into(),
        };
        parameters().set(&parameter, None)
    }

    #[test]
    fn names_are_listed_by_prefix_and_depth() {
        assert_eq!(list(&[], 0).len(), 11);
        assert_eq!(
            list(&[], 1),
            [
                "loop",
                "paused",
                "rate",
                "start_type_description_service",
                "use_sim_time"
            ]
        );
        assert_eq!(list(&["play"], 0), ["play.a.b", "play.loop"]);
        assert_eq!(list(&["play"], 1), ["play.loop"]);
        assert_eq!(list(&["play"], 2), ["play.a.b", "play.loop"]);
        assert_eq!(list(&["play.loop", "rate"], 1), ["play.loop", "rate"]);
        assert_eq!(list(&["pla", "play.", ""], 0), [""; 0]);
        let all = parameters().list(&ListRequest::default());
        let parents = [
            "play",
            "play.a",
            "qos_overrides./parameter_events.publisher",
        ];
        assert_eq!(all.prefixes, parents);
    }

    #[test]
    fn one_unknown_name_empties_the_response() {
        let names = |names: &[&str]| -> Vec<String> { names.iter().map(|&it| it.into()).collect() };
        let (known, not) = (names(&["play.loop", "rate"]), names(&["rate", "none"]));
        let all = parameters();
        assert_eq!(all.values(&known, None), [true.into(), 0.0.into()]);
        assert_eq!(all.types(&known), [1, 3]);
        assert_eq!(all.values(&not, None), []);
        assert_eq!(all.types(&not), [0; 0]);
        assert_eq!(all.descriptors(&not), []);
        let [fixed, rate] = &all.descriptors(&known)[..] else {
            panic!("two descriptors");
        };
        assert!(fixed.read_only && fixed.description == "what it is");
        assert!(!rate.read_only && rate.floating_point_range.len() == 1);
        assert_eq!(all.types(&vec!["rate".to_owned(); MOST_NAMES + 1]), [0; 0]);
    }

    #[test]
    fn parameters_are_set_by_commands_or_refused_in_words() {
        let half = Pace::At(Speed::from_f64(0.5).unwrap());
        assert_eq!(set("rate", 0.5), Ok(Some(Command::SetPace(half))));
        assert_eq!(set("paused", true), Ok(Some(Command::Pause)));
        assert_eq!(set("paused", false), Ok(Some(Command::Play)));
        let looped = Command::SetAtEnd(AtEnd::Loop);
        assert_eq!(set("loop", true), Ok(Some(looped)));
        assert_eq!(set("use_sim_time", false), Ok(None));
        for rate in [0.0, -1.0, 0.0009, 1000.1, f64::NAN, f64::INFINITY] {
            let range = "Parameter {rate} doesn't comply with floating point range: 0.001 to 1000.";
            assert_eq!(set("rate", rate), Err(range.to_owned()));
        }
        let kind = "Wrong parameter type, parameter {rate} is of type {double}, \
                    setting it to {integer} is not allowed.";
        assert_eq!(set("rate", 2), Err(kind.to_owned()));
        let none = ParameterValue::default();
        assert!(set("paused", none).unwrap_err().contains("{not set}"));
        let strange = ParameterValue {
            kind: 200,
            ..ParameterValue::default()
        };
        assert!(set("paused", strange).unwrap_err().contains("{unknown}"));
        let fixed = "parameter 'play.loop' cannot be set because it is read-only";
        assert_eq!(set("play.loop", true), Err(fixed.to_owned()));
        let unknown = "parameter 'x' cannot be set because it was not declared";
        assert_eq!(set("x", true), Err(unknown.to_owned()));
        let clock = set("use_sim_time", true).unwrap_err();
        assert!(clock.contains("does not follow /clock"), "{clock}");
        let rate = Parameter {
            name: "rate".to_owned(),
            value: 0.5.into(),
        };
        let refused = "parameter 'rate' cannot be set: no";
        assert_eq!(parameters().set(&rate, Some("no")), Err(refused.to_owned()));
    }
}
