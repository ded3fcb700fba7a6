//! [`Scenario`]: the file of a scenario, read and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::case::{Case, Flag, Role};
use super::environment::Environment;
use super::error::{ScenarioError, place};
use super::keys::{Key, NOT_KEYS, OwnKey, Shape, find, nearest};
use super::matrix::Matrix;
use super::span::parse_span;
use super::stays::check_stay;
use super::value::{Refused, Scalar, Value, table};
use crate::time::Duration;
use crate::untrusted::{Foreign, read_text};

/// How long a command that resets a system may take, if nothing else is said.
const RESET_TIMEOUT: Duration = Duration::from_secs(60);

/// The file of a scenario: its cases, one for each combination of its parameters.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// XXH3-128 of the text of the file.
    pub digest: u128,
    /// At least one, in the order of the parameters' values.
    pub cases: Vec<Case>,
}

impl Scenario {
    /// Reads a file of at most 4 MiB. `name` is used if the file has no name for itself.
    pub fn read(
        file: &Path,
        name: &str,
        environment: Environment<'_>,
    ) -> Result<Self, ScenarioError> {
        let text =
            read_text(file).map_err(|error| ScenarioError::whole(file, error.to_string()))?;
        Self::parse(file, name, &text, environment)
    }

    /// The same of a text that was read before. Relative names of files in it belong to the folder of `file`.
    pub fn parse(
        file: &Path,
        name: &str,
        text: &str,
        environment: Environment<'_>,
    ) -> Result<Self, ScenarioError> {
        let at = |(span, reason): Refused| ScenarioError::at(file, text, &span, &reason);
        let root = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let reason = match error.message() {
                "duplicate key" => {
                    let key = text.get(span.clone()).unwrap_or_default();
                    format!("duplicate key `{key}`")
                }
                reason => reason.to_owned(),
            };
            at((span, reason))
        })?;
        let entries = entries(root.get_ref()).map_err(at)?;
        if !entries.has("bags") {
            return Err(ScenarioError::whole(
                file,
                "`bags` is missing: the recordings to play",
            ));
        }
        let folder = file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let matrix = Matrix::of(entries.matrix.as_ref(), folder, environment).map_err(at)?;
        let mut used = BTreeSet::new();
        let mut cases = Vec::new();
        let mut own_name = name.to_owned();
        for combination in matrix.combinations() {
            let mut parameters = matrix.parameters(&combination, &mut used);
            let mut draft = Draft::new((file, text), folder, name);
            for (key, span, value) in &entries.values {
                let refuse = |reason: String| at((span.clone(), reason));
                let value = value.filled(&mut parameters).map_err(refuse)?;
                draft.set(key, span, value).map_err(at)?;
            }
            for (name, (span, value)) in entries.env.iter().flatten() {
                let refuse = |reason: String| at((span.clone(), reason));
                let value = Value::One(value.clone())
                    .filled(&mut parameters)
                    .map_err(refuse)?;
                draft.set_variable(name, value).map_err(refuse)?;
            }
            own_name.clone_from(&draft.case.name);
            let case = draft.finish(&matrix.suffix(&combination));
            cases.push(case.map_err(|reason| ScenarioError::whole(file, reason))?);
        }
        matrix.all_used(&used).map_err(at)?;
        Ok(Self {
            file: file.to_owned(),
            name: own_name,
            digest: xxhash_rust::xxh3::xxh3_128(text.as_bytes()),
            cases,
        })
    }
}

/// What is in the file, by kinds of keys.
struct Entries<'i> {
    values: Vec<(&'static Key, Range<usize>, Value)>,
    env: Option<BTreeMap<String, (Range<usize>, Scalar)>>,
    matrix: Option<Spanned<DeValue<'i>>>,
}

impl Entries<'_> {
    fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(key, ..)| key.name == name)
    }
}

fn entries<'i>(root: &DeTable<'i>) -> Result<Entries<'i>, Refused> {
    let mut entries = Entries {
        values: Vec::new(),
        env: None,
        matrix: None,
    };
    for (name, value) in root {
        let refuse =
            |(_, reason): Refused| (name.span(), format!("`{}`: {reason}", name.get_ref()));
        let key = find(name.get_ref()).ok_or_else(|| (name.span(), unknown(name.get_ref())))?;
        match key.shape {
            Shape::Lists => entries.matrix = Some(value.clone()),
            Shape::Table => entries.env = Some(table(value)?),
            _ if value.get_ref().is_table() => {
                let reason = format!("`{}` takes {}", key.name, key.shape.words());
                return Err((name.span(), reason));
            }
            Shape::Commands if commands(value).is_some() => {
                for command in commands(value).into_iter().flatten() {
                    let read = Value::of(command)?;
                    if !matches!(read, Value::List(_)) {
                        let reason = format!("`{}` takes {}", key.name, key.shape.words());
                        return Err((command.span(), reason));
                    }
                    entries.values.push((key, command.span(), read));
                }
            }
            _ => {
                let read = Value::of(value).map_err(|refused| {
                    // Within a list the place is that of the value.
                    if value.get_ref().is_array() {
                        refused
                    } else {
                        refuse(refused)
                    }
                });
                entries.values.push((key, value.span(), read?));
            }
        }
    }
    Ok(entries)
}

/// The lists in a list.
fn commands<'v, 'i>(value: &'v Spanned<DeValue<'i>>) -> Option<&'v [Spanned<DeValue<'i>>]> {
    let list = value.get_ref().as_array()?;
    let is_nested = list.iter().any(|one| one.get_ref().is_array());
    is_nested.then_some(list.as_ref())
}

fn unknown(name: &str) -> String {
    if NOT_KEYS.contains(&name) {
        return format!(
            "`{name}` is not a key of a scenario: it is a flag of the command line alone"
        );
    }
    let shown = Foreign::text(name).at_most(60);
    match nearest(name) {
        Some(known) => format!("there is no key `{shown}`; is `{known}` meant?"),
        None => format!("there is no key `{shown}`"),
    }
}

/// A case that is being put together.
struct Draft<'a> {
    text: &'a str,
    folder: &'a Path,
    case: Case,
}

impl<'a> Draft<'a> {
    fn new((file, text): (&Path, &'a str), folder: &'a Path, name: &str) -> Self {
        let case = Case {
            name: name.to_owned(),
            scenario: file.to_owned(),
            tags: Vec::new(),
            bags: Vec::new(),
            command: Vec::new(),
            env: BTreeMap::new(),
            timeout: None,
            stays: false,
            reset: Vec::new(),
            reset_timeout: RESET_TIMEOUT,
            flags: Vec::new(),
            off: BTreeSet::new(),
        };
        Self { text, folder, case }
    }

    fn set(&mut self, key: &'static Key, span: &Range<usize>, value: Value) -> Result<(), Refused> {
        let wrong = || {
            (
                span.clone(),
                format!("`{}` takes {}", key.name, key.shape.words()),
            )
        };
        let is_optional = matches!(
            key.shape,
            Shape::Switch | Shape::Optional | Shape::OptionalList
        );
        let texts = match value {
            Value::One(Scalar::Switch(is_on)) if is_optional => {
                if is_on {
                    self.flag(key, span, None);
                } else {
                    self.case.off.insert(key.name);
                }
                return Ok(());
            }
            Value::One(Scalar::Text(_))
                if matches!(key.shape, Shape::Switch | Shape::Words | Shape::Commands) =>
            {
                return Err(wrong());
            }
            Value::One(Scalar::Text(text)) => vec![text],
            Value::List(values) if is_list(key.shape) => {
                let text = |(span, value): (Range<usize>, Scalar)| match value {
                    Scalar::Text(text) => Ok(text),
                    Scalar::Switch(_) => {
                        Err((span, format!("`{}` takes {}", key.name, key.shape.words())))
                    }
                };
                values.into_iter().map(text).collect::<Result<_, _>>()?
            }
            _ => return Err(wrong()),
        };
        let bad = texts
            .iter()
            .find(|text| text.contains('\0') || text.is_empty());
        if let Some(text) = bad {
            let why = if text.is_empty() {
                "a text is empty"
            } else {
                "a text has a zero byte"
            };
            return Err((span.clone(), format!("`{}`: {why}", key.name)));
        }
        self.take(key, span, texts)
            .map_err(|reason| (span.clone(), reason))
    }

    fn take(
        &mut self,
        key: &'static Key,
        span: &Range<usize>,
        mut texts: Vec<String>,
    ) -> Result<(), String> {
        let Some(own) = key.own else {
            for text in texts {
                let value = match key.shape {
                    Shape::File | Shape::Files => in_folder(self.folder, &text).into(),
                    _ => text.into(),
                };
                self.flag(key, span, Some(value));
            }
            return Ok(());
        };
        let case = &mut self.case;
        match own {
            OwnKey::Bags if texts.is_empty() => return Err("`bags` names no recording".into()),
            OwnKey::Bags => {
                let files = texts.iter().map(|text| in_folder(self.folder, text));
                case.bags = files.collect();
            }
            OwnKey::Command if texts.is_empty() => return Err("`command` has no word".into()),
            OwnKey::Command => case.command = texts,
            OwnKey::Name => case.name = texts.swap_remove(0),
            OwnKey::Tags => case.tags = texts,
            OwnKey::Restart => {
                case.stays = match texts.first().map(String::as_str) {
                    Some("per-case") => false,
                    Some("never") => true,
                    _ => return Err("`restart` is `per-case` or `never`".into()),
                }
            }
            OwnKey::Reset if texts.is_empty() => return Err("`reset` has no word".into()),
            OwnKey::Reset => case.reset.push(texts),
            OwnKey::ResetTimeout => {
                let span = texts.first().and_then(|text| parse_span(text));
                case.reset_timeout = span
                    .ok_or("`reset-timeout` is a span of more than zero, such as `90s` or `10m`")?;
            }
            OwnKey::Timeout => {
                let span = texts.first().and_then(|text| parse_span(text));
                case.timeout = Some(
                    span.ok_or("`timeout` is a span of more than zero, such as `90s` or `10m`")?,
                );
            }
            // These are tables, which are read elsewhere.
            OwnKey::Env | OwnKey::Matrix => {
                return Err(format!("`{}` takes {}", key.name, key.shape.words()));
            }
        }
        Ok(())
    }

    fn flag(&mut self, key: &'static Key, span: &Range<usize>, value: Option<OsString>) {
        self.case.flags.push(Flag {
            place: place(self.text, span),
            name: key.name,
            value,
            role: match key.shape {
                Shape::File | Shape::Files => Role::Read,
                Shape::Written => Role::Written,
                _ => Role::Other,
            },
        });
    }

    fn set_variable(&mut self, name: &str, value: Value) -> Result<(), String> {
        let Value::One(value) = value else {
            return Err("a variable has one value".into());
        };
        if name.is_empty() || name.contains(['=', '\0']) || value.text().contains('\0') {
            return Err("this is not a variable of an environment".into());
        }
        self.case
            .env
            .insert(name.to_owned(), value.text().to_owned());
        Ok(())
    }

    fn finish(mut self, suffix: &str) -> Result<Case, String> {
        let case = &mut self.case;
        case.name.push_str(suffix);
        if case.name.contains(char::is_control) || case.name.chars().count() > 300 {
            return Err(
                "the name of a case has at most 300 characters, and no control characters".into(),
            );
        }
        if !case.env.is_empty()
            && case
                .command
                .first()
                .is_none_or(|program| program.contains('='))
        {
            return Err("`env` is the environment of `command`: without a command, or with `=` in its name, it has no meaning".into());
        }
        check_stay(case)?;
        Ok(self.case)
    }
}

fn is_list(shape: Shape) -> bool {
    use Shape::{Commands, Files, List, OptionalList, Words};
    matches!(shape, Files | List | OptionalList | Words | Commands)
}

/// The file that a text in a scenario names.
fn in_folder(folder: &Path, text: &str) -> PathBuf {
    if text.contains("://") {
        return text.into();
    }
    folder.join(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Scenario, String> {
        let environment = |name: &str| (name == "DATA").then(|| OsString::from("/data"));
        let scenario = Scenario::parse(Path::new("suite/slam.toml"), "slam", text, &environment);
        scenario.map_err(|error| error.to_string())
    }

    fn words(case: &Case) -> Vec<String> {
        let words = case.words(
            Path::new("out"),
            &["--isolated".into(), "--lockstep".into()],
        );
        words
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_program_that_stays_has_a_network_of_its_own_and_commands_that_reset_it() {
        let stays = "bags = 'a'\ncommand = ['node']\nrestart = 'never'\n";
        let of = |keys: &str| read(&format!("{stays}{keys}")).map(|read| read.cases[0].clone());
        let case = of("").unwrap();
        assert!(case.stays && case.reset.is_empty());
        assert_eq!(case.reset_timeout, Duration::from_secs(60));
        let case = of("reset = ['a', '${dir}']\nreset-timeout = '2s'").unwrap();
        assert_eq!(case.reset, [["a", "suite"]]);
        assert_eq!(case.reset_timeout, Duration::from_secs(2));
        let case = of("reset = [['a', 'b'], ['c']]").unwrap();
        assert_eq!(case.reset, [vec!["a", "b"], vec!["c"]]);
        for (keys, why) in [
            ("isolated = false", "exclude each other"),
            ("pid = '7'", "and `pid` exclude each other"),
            ("connect = 'tcp/a:1'", "and `connect` exclude each other"),
            ("reset = []", "`reset` has no word"),
            (
                "reset = [['a'], 'b']",
                ":4:17: `reset` takes a list of words",
            ),
            ("reset = [['a'], []]", ":4:17: `reset` has no word"),
            ("reset = 'a'", "`reset` takes a list of words"),
            ("reset = [[['a']]]", "a list in a list"),
            ("reset-timeout = '0s'", "`reset-timeout` is a span"),
        ] {
            let error = of(keys).unwrap_err();
            assert!(error.contains(why), "{keys}: {error}");
        }
        for (text, why) in [
            ("bags = 'a'\nrestart = 'never'", "needs a `command`"),
            (
                "bags = 'a'\ncommand = ['a']\nreset = ['b']",
                "`reset` needs `restart",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_scenario_is_the_words_of_a_command_line() {
        let text = r#"
            bags = ["drive.mcap", "/abs/b.mcap", "s3://bags/c.mcap", "${env.DATA}/d.mcap"]
            tags = ["smoke"]
            command = ["python3", "${dir}/node.py", "--rate", "$${X}"]
            env = { LEVEL = "debug", N = 2 }
            clock = 100
            clock-topics-all = true
            lockstep = false
            gate = ["/points -> /odom by stamp", "tick 20ms -> /cmd"]
            start = "-5s"
            rate = 0.5
            expect = "expect.toml"
            golden = "golden/out.mcap"
            record = "out.mcap"
            wait-for-subscribers = true
            timeout = "2m"
        "#;
        let scenario = read(text).unwrap();
        let [case] = &scenario.cases[..] else {
            panic!("{scenario:?}")
        };
        assert_eq!(
            (scenario.name.as_str(), case.name.as_str()),
            ("slam", "slam")
        );
        assert_eq!(case.timeout, Some(crate::time::Duration::from_secs(120)));
        assert_eq!(case.tags, ["smoke"]);
        let expected = [
            "suite/drive.mcap",
            "/abs/b.mcap",
            "s3://bags/c.mcap",
            "/data/d.mcap",
            "--clock=100",
            "--clock-topics-all",
            "--expect=suite/expect.toml",
            "--gate=/points -> /odom by stamp",
            "--gate=tick 20ms -> /cmd",
            "--golden=suite/golden/out.mcap",
            "--rate=0.5",
            "--record=out/out.mcap",
            "--start=-5s",
            "--wait-for-subscribers",
            "--isolated",
            "--",
            "env",
            "LEVEL=debug",
            "N=2",
            "python3",
            "suite/node.py",
            "--rate",
            "${X}",
        ];
        assert_eq!(words(case), expected);
        let needs: Vec<&Path> = case.needs().collect();
        assert_eq!(
            needs,
            [
                Path::new("suite/expect.toml"),
                Path::new("suite/golden/out.mcap")
            ]
        );
    }

    #[test]
    fn a_switch_that_is_on_is_said_once() {
        let scenario = read("bags = '-a.mcap'\nlockstep = true\nisolated = true").unwrap();
        assert_eq!(
            words(&scenario.cases[0]),
            ["suite/-a.mcap", "--isolated", "--lockstep"]
        );
    }

    #[test]
    fn a_matrix_gives_a_case_for_each_combination() {
        let text = r#"
            name = "slam"
            bags = "${bag}.mcap"
            rate = "${rate}"
            strict = "${strict}"
            matrix = { rate = [1, "max"], bag = ["a", "b"], strict = [true, false] }
        "#;
        let scenario = read(text).unwrap();
        let names: Vec<&str> = scenario
            .cases
            .iter()
            .map(|case| case.name.as_str())
            .collect();
        assert_eq!(names.len(), 8);
        assert_eq!(names[0], "slam[bag=a,rate=1,strict=true]");
        assert_eq!(
            words(&scenario.cases[0])[..3],
            ["suite/a.mcap", "--rate=1", "--strict"]
        );
        assert_eq!(names[7], "slam[bag=b,rate=max,strict=false]");
        assert_eq!(
            words(&scenario.cases[7])[..2],
            ["suite/b.mcap", "--rate=max"]
        );
        let folders: BTreeSet<String> = scenario.cases.iter().map(Case::folder).collect();
        assert_eq!(folders.len(), 8);
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
        assert!(folders.iter().all(|folder| folder.chars().all(is_plain)));
    }

    #[test]
    fn ten_thousand_cases_are_read_and_one_more_is_refused() {
        let list = |count: usize| {
            let values: Vec<String> = (0..count).map(|at| at.to_string()).collect();
            values.join(",")
        };
        let text = |last: usize| {
            format!(
                "bags = 'a.mcap'\nstart = '${{a}}'\nend = '${{b}}'\n[matrix]\na = [{}]\nb = [{}]",
                list(100),
                list(last)
            )
        };
        assert_eq!(read(&text(100)).unwrap().cases.len(), 10_000);
        let error = read(&text(101)).unwrap_err();
        assert!(
            error.contains(":4:1: `matrix` has more than 10000 combinations"),
            "{error}"
        );
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let with_bags = |text: &str| format!("bags = 'a.mcap'\n{text}");
        for (text, reason) in [
            (
                "gates = ['/a -> /b']",
                ":2:1: there is no key `gates`; is `gate` meant?",
            ),
            ("zzz = 1", ":2:1: there is no key `zzz`"),
            (
                "junit = 'a.xml'",
                ":2:1: `junit` is not a key of a scenario: it is a flag",
            ),
            (
                "lockstep = 'yes'",
                ":2:12: `lockstep` takes `true` or `false`",
            ),
            ("rate = [1]", ":2:8: `rate` takes a text or a number"),
            ("rate = true", ":2:8: `rate` takes a text or a number"),
            ("rate = {}", ":2:1: `rate` takes a text or a number"),
            ("rate = ''", ":2:8: `rate`: a text is empty"),
            (
                "rate = 0x10",
                ":2:1: `rate`: numbers are written in decimal digits",
            ),
            (
                "start = 2026-01-01",
                ":2:1: `start`: a time is written as a text",
            ),
            (
                "gate = ['/a -> /b', 1, true]",
                ":2:24: `gate` takes a text, or a list",
            ),
            ("gate = [['/a']]", ":2:9: a list in a list"),
            (
                "command = 'ros2 run'",
                ":2:11: `command` takes a list of words",
            ),
            ("command = []", ":2:11: `command` has no word"),
            (
                "command = [\"a\\u0000\"]",
                ":2:11: `command`: a text has a zero byte",
            ),
            ("env = { A = 1 }", ": `env` is the environment of `command`"),
            ("env = 1", ":2:7: this is not a table"),
            (
                "env = { 'A=B' = 1 }\ncommand = ['x']",
                ":2:17: this is not a variable",
            ),
            (
                "timeout = '0s'",
                ":2:11: `timeout` is a span of more than zero",
            ),
            ("restart = 'sometimes'", ":2:11: `restart` is `per-case`"),
            ("name = \"a\\u0007\"", ": the name of a case has"),
            ("rate = '${rate}'", ":2:8: `matrix` has no parameter `rate`"),
            (
                "rate = '${env.NONE}'",
                ":2:8: the environment has no variable `NONE`",
            ),
            ("rate = '${rate'", ":2:8: `${` has no `}`"),
            ("matrix = 1", ":2:10: `matrix` takes a table of lists"),
            ("matrix = { a = 1 }", ": `matrix`: `a` is not a list"),
            (
                "matrix = { a = [] }",
                ": `matrix`: `a` has no values, so there would be no case",
            ),
            (
                "matrix = { a = [1, 1] }",
                ": `matrix`: `a` has a value twice",
            ),
            ("matrix = { dir = [1] }", ":2:12: a parameter has a name"),
            (
                "matrix = { a = [1] }",
                ":2:12: the parameter `a` is used nowhere; write `${a}`",
            ),
            ("rate = 1\nrate = 2", ":3:1: "),
            ("rate 1", ":2:"),
            ("größe = 1", ":2:"),
        ] {
            let error = read(&with_bags(text)).unwrap_err();
            assert!(error.starts_with("suite/slam.toml:"), "{error}");
            assert!(error.contains(reason), "{text}: {error}");
            assert!(!error.contains(char::is_control), "{error:?}");
        }
        for (text, reason) in [
            ("", "suite/slam.toml: `bags` is missing"),
            ("bags = []", ":1:8: `bags` names no recording"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn hostile_texts_are_refused_in_bounded_time() {
        let deep = format!("bags = {}", "[".repeat(100_000));
        let tables = format!("bags = {}", "{a=".repeat(100_000));
        let dotted = format!("{}a = 1", "a.".repeat(100_000));
        let wide = format!("matrix = {{ a = [{}] }}", "1,".repeat(200_000));
        let keys: Vec<String> = (0..100_000).map(|at| format!("k{at} = 1")).collect();
        let keys = keys.join("\n");
        let control = "bags = 'a'\n\"\\u001b[2J\" = 1".to_owned();
        for text in [deep, tables, dotted, wide, keys, control] {
            let error = read(&text).unwrap_err();
            assert!(!error.contains(char::is_control), "{error:?}");
            assert!(error.len() < 4_000, "{}", error.len());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_scenario_or_an_error(text in "[a-z=\\[\\]{}'\"$.\n 0-9-]{0,80}") {
            let _ = read(&text);
            let _ = read(&format!("bags = 'a'\n{text}"));
        }
    }
}
