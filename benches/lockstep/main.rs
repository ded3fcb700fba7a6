//! How fast playback goes that waits for a node: with a gate and in lockstep, compared with a loop that puts a message
//! and waits for the answer.
//!
//! `cargo bench --bench lockstep [-- ROUNDS]` (default 7); with `recorded` only what recording the answers costs. Each
//! turn is a process of its own that starts a node, a third process. All use zenoh as `play --isolated` does: a router
//! in the process that sends, peers with links to each other. The node answers each message with one of the same size.
//! Turns alternate, and the figures are medians over the rounds, the ratios those of the turns of one round.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod driver;
mod node;
#[path = "../report/mod.rs"]
mod report;
mod turn;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use report::{Figure, Report};
use turn::{Figures, Turn, Way};

fn main() -> Result<()> {
    if let Some((role, turn, bag)) = Turn::of_process()? {
        match role.as_str() {
            "node" => return node::run(turn.computes),
            "driver" => {
                let Figures {
                    per_second,
                    share,
                    threads,
                } = driver::run(&turn, Path::new(&bag))?;
                println!("{per_second} {share} {threads}");
                return Ok(());
            }
            other => bail!("unknown role {other}"),
        }
    }
    let rounds = std::env::args()
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(7);
    let dir = tempfile::tempdir()?;
    let bag = dir.path().join("bag.mcap");
    if std::env::args().any(|arg| arg == "recorded") {
        let mut report = Report::begin("lockstep-recorded");
        recording(rounds, &bag, &mut report)?;
        return Ok(report.write()?);
    }
    let mut report = Report::begin("lockstep");
    for (size, name) in [(200, "200 B"), (10_000, "10 kB"), (1_000_000, "1 MB")] {
        compare(rounds, size, &bag, &mut |row, rate, reference| {
            let Some((what, value, ratio)) = reference else {
                return report.add(Figure::compared(row, name, rate, "1/s"));
            };
            let figure = Figure::higher(row, name, rate, "1/s");
            report.add(figure.against_by_ratio(&format!("limit: {what}"), value, ratio));
        })?;
    }
    waiting(rounds, &bag, &mut report)?;
    Ok(report.write()?)
}

/// All ways with messages of this size, each with the first one as its measure.
fn compare(
    rounds: usize,
    size: usize,
    bag: &Path,
    add: &mut impl FnMut(&str, f64, Option<(&str, f64, f64)>),
) -> Result<()> {
    let bare = Turn {
        way: Way::Bare,
        cycles: if size > 100_000 { 1_000 } else { 5_000 },
        size,
        has_clock: false,
        records: false,
        computes: Duration::ZERO,
    };
    bare.write_recording(bag)?;
    let gated = Turn {
        way: Way::Gated,
        ..bare
    };
    let settled = Turn {
        way: Way::Settled,
        has_clock: true,
        ..bare
    };
    let turns = [
        ("bare put and answer", bare),
        ("gate", gated),
        (
            "gate, recorded",
            Turn {
                records: true,
                ..gated
            },
        ),
        (
            "gate, /clock before each message",
            Turn {
                has_clock: true,
                ..gated
            },
        ),
        ("lockstep, /clock before each message", settled),
        (
            "lockstep, recorded",
            Turn {
                records: true,
                ..settled
            },
        ),
    ];
    println!(
        "messages of {size} bytes: cycles a second, ratio to the first row; processors; threads"
    );
    let mut figures: [Vec<Figures>; 6] = Default::default();
    for _ in 0..rounds {
        for ((_, turn), figures) in turns.iter().zip(&mut figures) {
            figures.push(turn.run(bag)?);
        }
    }
    let rate_of = |of: &[Figures]| median(of.iter().map(|it| it.per_second));
    let limit = (turns[0].0, rate_of(&figures[0]));
    for (at, ((name, _), of)) in turns.iter().zip(&figures).enumerate() {
        let ratios = of
            .iter()
            .zip(&figures[0])
            .map(|(a, b)| a.per_second / b.per_second);
        let (rate, ratio) = (rate_of(of), median(ratios));
        let reference = (limit.0, limit.1, ratio);
        add(name, rate, Some(reference).filter(|_| at > 0));
        println!(
            "{name:<40}{rate:>8.0}{ratio:>7.2}{:>7.2}{:>5}",
            median(of.iter().map(|it| it.share)),
            of[0].threads,
        );
    }
    for (without, with) in [(1, 2), (4, 5)] {
        let ratios = figures[with]
            .iter()
            .zip(&figures[without])
            .map(|(a, b)| a.per_second / b.per_second);
        println!(
            "{:<40}{:>15.3}",
            format!("{}, to that without", turns[with].0),
            median(ratios)
        );
    }
    Ok(())
}

/// What it costs to record the answers. The order of the two turns changes from round to round.
fn recording(rounds: usize, bag: &Path, report: &mut Report) -> Result<()> {
    println!("cycles a second, recorded to not recorded: median and quartiles of {rounds} rounds");
    for (way, size) in [
        (Way::Gated, 200),
        (Way::Gated, 10_000),
        (Way::Settled, 200),
        (Way::Settled, 10_000),
    ] {
        let without = Turn {
            way,
            // So many that what is done once, such as the look-up of a definition, counts little.
            cycles: if way == Way::Gated { 15_000 } else { 5_000 },
            size,
            has_clock: way == Way::Settled,
            records: false,
            computes: Duration::ZERO,
        };
        let with = Turn {
            records: true,
            ..without
        };
        without.write_recording(bag)?;
        let mut ratios = Vec::new();
        for round in 0..rounds {
            let (first, second) = if round.is_multiple_of(2) {
                (without, with)
            } else {
                (with, without)
            };
            let (first, second) = (first.run(bag)?.per_second, second.run(bag)?.per_second);
            ratios.push(if round.is_multiple_of(2) {
                second / first
            } else {
                first / second
            });
        }
        ratios.sort_by(f64::total_cmp);
        let at = |share: usize| ratios.get(rounds * share / 4).copied().unwrap_or(f64::NAN);
        println!(
            "{way:?}, {size} bytes: {:.3} ({:.3} to {:.3})",
            at(2),
            at(1),
            at(3)
        );
        let row = format!("{way:?}, {size} bytes");
        for (column, quarter) in [("median", 2), ("lower quartile", 1), ("upper quartile", 3)] {
            report.add(Figure::higher(&row, column, at(quarter), "×"));
        }
    }
    Ok(())
}

/// How much of a processor is used while a node computes.
fn waiting(rounds: usize, bag: &Path, report: &mut Report) -> Result<()> {
    println!(
        "in lockstep with a node that computes: cycles a second, time lost for each, processors"
    );
    for (millis, cycles) in [(1, 1_000), (3, 500), (10, 200), (100, 30)] {
        let turn = Turn {
            way: Way::Settled,
            cycles,
            size: 200,
            has_clock: true,
            records: true,
            computes: Duration::from_millis(millis),
        };
        turn.write_recording(bag)?;
        let figures: Vec<Figures> = (0..rounds.min(3))
            .map(|_| turn.run(bag))
            .collect::<Result<_>>()?;
        let rate = median(figures.iter().map(|it| it.per_second));
        #[expect(clippy::cast_precision_loss, reason = "a few milliseconds")]
        let lost = 1e3 / rate - millis as f64;
        let share = median(figures.iter().map(|it| it.share));
        println!(
            "{:<40}{rate:>8.0}{lost:>7.2} ms{share:>7.3}",
            format!("{millis} ms")
        );
        let row = format!("a node that computes for {millis} ms");
        report.add(Figure::higher(&row, "cycles", rate, "1/s"));
        report.add(Figure::lower(&row, "lost for each", lost, "ms"));
        report.add(Figure::lower(&row, "of a processor", share * 100.0, "%"));
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
