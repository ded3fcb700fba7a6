//! The outcomes of all senders in a scenario, as a table and as figures.

use crate::outcome::Outcome;
use crate::report::{Figure, QUANTILES, Report, Series};
use crate::scenario::Scenario;
use crate::sender::{Pace, Sender};

/// A line of the table.
struct Line {
    name: &'static str,
    pace: Pace,
    unit: &'static str,
    is_lower_better: bool,
    of: fn(&Outcome) -> f64,
    /// Whether it can be compared with the loop: that has read everything before it begins.
    has_limit: bool,
}

const fn line(
    name: &'static str,
    pace: Pace,
    unit: &'static str,
    of: fn(&Outcome) -> f64,
    has_limit: bool,
) -> Line {
    let is_lower_better = true;
    Line {
        name,
        pace,
        unit,
        is_lower_better,
        of,
        has_limit,
    }
}

const LINES: [Line; 9] = [
    line(
        "lateness p50",
        Pace::Recorded,
        "ms",
        |it| it.late_at(0.5),
        true,
    ),
    line(
        "lateness p99",
        Pace::Recorded,
        "ms",
        |it| it.late_at(0.99),
        true,
    ),
    line(
        "start to first message",
        Pace::Recorded,
        "s",
        |it| it.seconds_to_first,
        false,
    ),
    line(
        "processor time per second",
        Pace::Recorded,
        "s",
        |it| it.processor,
        false,
    ),
    line(
        "peak memory",
        Pace::Recorded,
        "MiB",
        |it| it.peak_mib,
        false,
    ),
    line("lost", Pace::Recorded, "messages", |it| it.lost, false),
    Line {
        is_lower_better: false,
        ..line(
            "full speed",
            Pace::Fastest,
            "msg/s",
            |it| it.messages_per_second,
            true,
        )
    },
    Line {
        is_lower_better: false,
        ..line(
            "full speed, bytes",
            Pace::Fastest,
            "MB/s",
            |it| it.megabytes_per_second,
            true,
        )
    },
    line(
        "lost at full speed",
        Pace::Fastest,
        "messages",
        |it| it.lost,
        false,
    ),
];

pub(crate) struct Measured {
    scenario: &'static str,
    /// Each sender with its outcomes, in the order of the turns.
    outcomes: Vec<(Sender, Vec<(Pace, Outcome)>)>,
}

impl Measured {
    pub(crate) fn new(scenario: &Scenario, senders: &[Sender]) -> Self {
        Self {
            scenario: scenario.name,
            outcomes: senders.iter().map(|it| (*it, Vec::new())).collect(),
        }
    }

    pub(crate) fn add(&mut self, sender: Sender, pace: Pace, outcome: Outcome) {
        let own = self.outcomes.iter_mut().find(|(it, _)| *it == sender);
        if let Some((_, outcomes)) = own {
            outcomes.push((pace, outcome));
        }
    }

    pub(crate) fn print(&self) {
        print!("{:<36}", self.scenario);
        for (sender, _) in &self.outcomes {
            print!("{:>16}", sender.name());
        }
        println!();
        for line in &LINES {
            print!("{:<36}", format!("{}, {}", line.name, line.unit));
            for (sender, _) in &self.outcomes {
                match self.median(*sender, line) {
                    Some(value) => print!("{value:>16.3}"),
                    None => print!("{:>16}", "–"),
                }
            }
            println!();
        }
    }

    pub(crate) fn report(&self, report: &mut Report) {
        for line in &LINES {
            let row = format!("{}: {}", self.scenario, line.name);
            let limit = self.median(Sender::BareLoop, line);
            let peer = self.median(Sender::Ros2, line);
            for (sender, value) in [(Sender::BareLoop, limit), (Sender::Ros2, peer)] {
                if let Some(value) = value {
                    report.add(Figure::compared(&row, sender.name(), value, line.unit));
                }
            }
            let Some(value) = self.median(Sender::Play, line) else {
                continue;
            };
            let figure = if line.is_lower_better {
                Figure::lower
            } else {
                Figure::higher
            };
            let figure = figure(&row, Sender::Play.name(), value, line.unit);
            // The peer, if it is there, says more than the loop.
            report.add(match (peer, limit) {
                (Some(peer), _) => figure.against("peer: ros2 bag play", peer),
                (None, Some(limit)) => figure.against("limit: bare put loop", limit),
                (None, None) => figure,
            });
        }
        for (sender, outcomes) in &self.outcomes {
            let paced: Vec<&Outcome> = of_pace(outcomes, Pace::Recorded).collect();
            let at = |share| median(paced.iter().map(|it| it.late_at(share)));
            let points = QUANTILES.map(|share| [share, at(share).unwrap_or(f64::NAN)]);
            let plot = format!("compare-{}", self.scenario);
            report.draw(Series::new(&plot, sender.name(), points));
        }
    }

    fn median(&self, sender: Sender, line: &Line) -> Option<f64> {
        let (_, outcomes) = self.outcomes.iter().find(|(it, _)| *it == sender)?;
        let is_meant = sender != Sender::BareLoop || line.has_limit;
        let values = of_pace(outcomes, line.pace).map(line.of);
        median(values.filter(|it| is_meant && it.is_finite()))
    }
}

fn of_pace(outcomes: &[(Pace, Outcome)], pace: Pace) -> impl Iterator<Item = &Outcome> {
    let of_pace = outcomes.iter().filter(move |(it, _)| *it == pace);
    of_pace.map(|(_, outcome)| outcome)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
