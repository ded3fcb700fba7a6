//! [`Matrix`]: the parameters of a scenario, and the product of their values.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::DeValue;

use super::environment::Environment;
use super::value::{Parameters, Refused, Scalar, Value};
use crate::untrusted::Foreign;

/// The most cases of one scenario.
pub const MOST_CASES: usize = 10_000;

/// The parameters of a scenario, sorted by their names.
pub(super) struct Matrix<'a> {
    axes: Vec<Axis>,
    folder: &'a Path,
    environment: Environment<'a>,
}

struct Axis {
    name: String,
    place: Range<usize>,
    values: Vec<Scalar>,
}

impl<'a> Matrix<'a> {
    pub(super) fn of(
        table: Option<&Spanned<DeValue<'_>>>,
        folder: &'a Path,
        environment: Environment<'a>,
    ) -> Result<Self, Refused> {
        let mut axes = Vec::new();
        let mut cases = 1_usize;
        if let Some(table) = table {
            let wrong = || (table.span(), "`matrix` takes a table of lists".to_owned());
            for (name, values) in table.get_ref().as_table().ok_or_else(wrong)? {
                let one = Axis::of(name, values)?;
                cases = cases.saturating_mul(one.values.len());
                if cases > MOST_CASES {
                    let reason = format!("`matrix` has more than {MOST_CASES} combinations");
                    return Err((table.span(), reason));
                }
                axes.push(one);
            }
        }
        Ok(Self {
            axes,
            folder,
            environment,
        })
    }

    /// Every combination of values, as indexes into them; one without parameters.
    pub(super) fn combinations(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for axis in &self.axes {
            let with_each = |before: &Vec<usize>| {
                let before = before.clone();
                (0..axis.values.len()).map(move |at| [before.as_slice(), &[at]].concat())
            };
            all = all.iter().flat_map(with_each).collect();
        }
        all
    }

    /// What is added to the name of a case.
    pub(super) fn suffix(&self, combination: &[usize]) -> String {
        if self.axes.is_empty() {
            return String::new();
        }
        let part =
            |(axis, at): (&Axis, &usize)| format!("{}={}", axis.name, axis.values[*at].text());
        let parts: Vec<String> = self.axes.iter().zip(combination).map(part).collect();
        format!("[{}]", parts.join(","))
    }

    /// The parameters of one combination; `used` gets the names of those that are asked for.
    pub(super) fn parameters<'m>(
        &'m self,
        combination: &'m [usize],
        used: &'m mut BTreeSet<usize>,
    ) -> Combination<'m> {
        Combination {
            matrix: self,
            chosen: combination,
            used,
        }
    }

    /// A parameter that is used nowhere would give the same case several times.
    pub(super) fn all_used(&self, used: &BTreeSet<usize>) -> Result<(), Refused> {
        let mut unused = self
            .axes
            .iter()
            .enumerate()
            .filter(|(at, _)| !used.contains(at));
        unused.next().map_or(Ok(()), |(_, axis)| {
            let name = &axis.name;
            let reason = format!("the parameter `{name}` is used nowhere; write `${{{name}}}` where its value belongs");
            Err((axis.place.clone(), reason))
        })
    }
}

impl Axis {
    fn of(
        name: &Spanned<toml::de::DeString<'_>>,
        values: &Spanned<DeValue<'_>>,
    ) -> Result<Axis, Refused> {
        let is_word = |it: char| it.is_alphanumeric() || it == '_' || it == '-';
        if name.get_ref().is_empty()
            || !name.get_ref().chars().all(is_word)
            || name.get_ref() == "dir"
        {
            let reason = "a parameter has a name of letters, digits, `_` and `-`, other than `dir`";
            return Err((name.span(), reason.into()));
        }
        let refuse = |reason: &str| {
            (
                values.span(),
                format!("`matrix`: `{}` {reason}", name.get_ref()),
            )
        };
        let Value::List(list) = Value::of(values)? else {
            return Err(refuse("is not a list of values"));
        };
        if list.is_empty() {
            return Err(refuse("has no values, so there would be no case"));
        }
        let values: Vec<Scalar> = list.into_iter().map(|(_, value)| value).collect();
        let texts: BTreeSet<&str> = values.iter().map(Scalar::text).collect();
        if texts.len() < values.len() {
            return Err(refuse("has a value twice"));
        }
        Ok(Axis {
            name: name.get_ref().clone().into_owned(),
            place: name.span(),
            values,
        })
    }
}

/// The parameters of one case: those of the matrix, the folder of the scenario, and the environment.
pub(super) struct Combination<'m> {
    matrix: &'m Matrix<'m>,
    chosen: &'m [usize],
    used: &'m mut BTreeSet<usize>,
}

impl Parameters for Combination<'_> {
    fn value(&mut self, name: &str) -> Result<Scalar, String> {
        if name == "dir" {
            let folder = self.matrix.folder.to_str();
            let folder = folder.ok_or("`${dir}`: the path of the folder is not UTF-8")?;
            return Ok(Scalar::Text(folder.to_owned()));
        }
        if let Some(variable) = name.strip_prefix("env.") {
            let value =
                (self.matrix.environment)(variable).and_then(|value| value.into_string().ok());
            let shown = Foreign::text(variable).at_most(60);
            return value.map(Scalar::Text).ok_or_else(|| {
                format!("the environment has no variable `{shown}`, or it is not UTF-8")
            });
        }
        let at = self.matrix.axes.iter().position(|axis| axis.name == name);
        let Some(at) = at else {
            let shown = Foreign::text(name).at_most(60);
            return Err(format!(
                "`matrix` has no parameter `{shown}`; there are also `${{dir}}` and `${{env.NAME}}`, and `$${{` for the characters themselves"
            ));
        };
        self.used.insert(at);
        Ok(self.matrix.axes[at].values[self.chosen[at]].clone())
    }
}
