//! Costs against a size: the table, the figures, the lines of the plot, and the slopes.

use super::process::PLAYING;
use super::report::{Figure, Report, Series};

/// What was measured at one size.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
}

impl Cost {
    pub(crate) fn new(name: &'static str, value: f64, unit: &'static str) -> Self {
        Self { name, unit, value }
    }
}

/// The costs of one part of the benchmark, by size.
pub(crate) struct Curves {
    part: &'static str,
    rows: Vec<(u64, Vec<Cost>)>,
}

impl Curves {
    pub(crate) fn new(part: &'static str) -> Self {
        Self {
            part,
            rows: Vec::new(),
        }
    }

    /// The sizes of a part are added in rising order.
    pub(crate) fn add(&mut self, size: u64, costs: &[Cost]) {
        if self.rows.is_empty() {
            print!("{:<22}", format!("by {}", self.part));
            for cost in costs {
                print!("{:>30}", format!("{}, {}", cost.name, cost.unit));
            }
            println!();
        }
        print!("{:<22}", self.label(size));
        for cost in costs {
            print!("{:>30.2}", cost.value);
        }
        println!();
        self.rows.push((size, costs.to_vec()));
    }

    /// Prints the slopes, and adds everything to the report.
    pub(crate) fn finish(self, report: &mut Report) {
        for (size, costs) in &self.rows {
            for cost in costs {
                let row = self.label(*size);
                report.add(Figure::lower(&row, cost.name, cost.value, cost.unit));
            }
        }
        let Some((_, costs)) = self.rows.last() else {
            return;
        };
        let by = format!("by {}", self.part);
        print!("{:<22}", format!("slope {by}"));
        for (at, cost) in costs.iter().enumerate() {
            let points = self.points(at);
            if let [.., before, last] = points.as_slice() {
                let slope = slope(*before, *last);
                print!("{slope:>30.2}");
                let column = format!("slope of {}", cost.name);
                report.add(Figure::compared(&by, &column, slope, ""));
            }
            if cost.name == PLAYING {
                report.draw(Series::new("growth-memory", &by, points));
            } else if cost.unit != "MiB" {
                let scale = if self.part == "size" { 1e6 } else { 1.0 };
                let points = points
                    .into_iter()
                    .map(|[size, value]| [size * scale, value]);
                let plot = format!("growth-{}", self.part);
                report.draw(Series::new(&plot, cost.name, points));
            }
        }
        println!("\n");
    }

    #[expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
    fn points(&self, at: usize) -> Vec<[f64; 2]> {
        let rows = self.rows.iter();
        rows.filter_map(|(size, costs)| Some([*size as f64, costs.get(at)?.value]))
            .collect()
    }

    fn label(&self, size: u64) -> String {
        let number = if size < 1_000 {
            size.to_string()
        } else {
            format!("{},{:03}", size / 1_000, size % 1_000)
        };
        match self.part {
            "size" if size >= 1_000 => format!("{} GB", size / 1_000),
            "size" => format!("{size} MB"),
            part if size == 1 => format!("1 {}", part.trim_end_matches('s')),
            part => format!("{number} {part}"),
        }
    }
}

/// How the second value grows with the first: the exponent of the power that goes through both points.
fn slope(before: [f64; 2], last: [f64; 2]) -> f64 {
    (last[1] / before[1]).ln() / (last[0] / before[0]).ln()
}
