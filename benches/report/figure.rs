//! The figures of benchmarks as plain values, in the form of their JSON files.

use serde::{Deserialize, Serialize};

/// One measured value. Row and column are its place in the table of its benchmark.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) row: String,
    pub(crate) column: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
    /// `None`: it was measured for comparison alone, and says nothing about this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) better: Option<Better>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<Reference>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Better {
    Lower,
    Higher,
}

/// What a figure is compared with, measured in the same run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Reference {
    /// `limit: …` for what the machine can do at best, `peer: …` for another program.
    pub(crate) what: String,
    pub(crate) value: f64,
    /// The figure divided by the reference.
    pub(crate) ratio: f64,
}

/// A line of a plot.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Series {
    /// The plot that it belongs to, as in the list of plots of the page.
    pub(crate) plot: String,
    pub(crate) name: String,
    pub(crate) points: Vec<[f64; 2]>,
}

/// One run of a benchmark: the content of its file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) bench: String,
    /// What was given on the command line.
    pub(crate) arguments: Vec<String>,
    /// The time of its end (UTC).
    pub(crate) when: String,
    /// `git describe`, with `-dirty` if files differed from the commit.
    pub(crate) commit: String,
    pub(crate) machine: Machine,
    pub(crate) meanwhile: Meanwhile,
    pub(crate) figures: Vec<Figure>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) series: Vec<Series>,
}

/// The machine, without its name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
}

/// What else the machine did during a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Meanwhile {
    pub(crate) seconds: f64,
    /// The load average of one minute, at the begin and at the end. The benchmark itself is part of the second.
    pub(crate) load: [f64; 2],
    /// How much processor time the host of a virtual machine gave to others, in percent of all processor time.
    pub(crate) steal_percent: Option<f64>,
    /// For how much of the time a thread waited for a processor, in percent.
    pub(crate) waiting_percent: Option<f64>,
}

/// All runs, in the order of their names, and the benchmarks without figures.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) runs: Vec<Run>,
    pub(crate) missing: Vec<String>,
}

impl Figure {
    /// A value of which less is better.
    pub(crate) fn lower(row: &str, column: &str, value: f64, unit: &str) -> Self {
        Self {
            better: Some(Better::Lower),
            ..Self::compared(row, column, value, unit)
        }
    }

    /// A value of which more is better.
    pub(crate) fn higher(row: &str, column: &str, value: f64, unit: &str) -> Self {
        Self {
            better: Some(Better::Higher),
            ..Self::compared(row, column, value, unit)
        }
    }

    /// A value that others are compared with.
    pub(crate) fn compared(row: &str, column: &str, value: f64, unit: &str) -> Self {
        Self {
            row: row.to_owned(),
            column: column.to_owned(),
            value: rounded(value),
            unit: unit.to_owned(),
            better: None,
            reference: None,
        }
    }

    /// Compares it with a value that was measured in the same run.
    pub(crate) fn against(self, what: &str, value: f64) -> Self {
        let ratio = self.value / value;
        self.against_by_ratio(what, value, ratio)
    }

    /// The same, with a ratio that is not the quotient of both values, such as a median of ratios.
    pub(crate) fn against_by_ratio(self, what: &str, value: f64, ratio: f64) -> Self {
        let reference = Reference {
            what: what.to_owned(),
            value: rounded(value),
            ratio: rounded(ratio),
        };
        Self {
            // Without a finite ratio, as after a division by zero, there is nothing to show.
            reference: Some(reference).filter(|it| it.ratio.is_finite()),
            ..self
        }
    }
}

impl Series {
    pub(crate) fn new(plot: &str, name: &str, points: impl IntoIterator<Item = [f64; 2]>) -> Self {
        Self {
            plot: plot.to_owned(),
            name: name.to_owned(),
            points: points.into_iter().map(|it| it.map(rounded)).collect(),
        }
    }
}

/// Five significant digits: no figure here is more exact than that.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
