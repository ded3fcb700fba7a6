//! Figures as text: tables in Markdown, and the cells of the one table of all benchmarks.

use std::collections::BTreeSet;

use super::report::{Figure, Run, Summary};

/// What stands where there is no figure.
const NONE: &str = "–";

/// A row of the table of all benchmarks.
pub(crate) struct Cells {
    pub(crate) name: String,
    pub(crate) this: String,
    pub(crate) reference: String,
    pub(crate) ratio: String,
}

/// The figures of all benchmarks that are chosen.
pub(crate) fn rows(summary: &Summary, is_chosen: fn(&Figure) -> bool) -> Vec<Cells> {
    let figures = |run: &Run| {
        let chosen = run.figures.iter().filter(|figure| is_chosen(figure));
        chosen.map(|it| cells(&run.bench, it)).collect::<Vec<_>>()
    };
    summary.runs.iter().flat_map(figures).collect()
}

fn cells(bench: &str, figure: &Figure) -> Cells {
    let Figure { row, column, .. } = figure;
    let reference = figure.reference.as_ref();
    Cells {
        name: format!("{bench}: {row}, {column}"),
        this: with_unit(figure.value, &figure.unit),
        reference: reference.map_or(String::new(), |it| {
            format!("{} ({})", with_unit(it.value, &figure.unit), it.what)
        }),
        ratio: reference.map_or(String::new(), |it| format!("{:.2}", it.ratio)),
    }
}

/// All figures with a limit or a peer.
pub(super) fn ratios(summary: &Summary) -> String {
    let rows = rows(summary, |figure| figure.reference.is_some());
    let rows = rows.into_iter().map(|it| {
        let Cells {
            name,
            this,
            reference,
            ratio,
        } = it;
        vec![name, this, reference, ratio]
    });
    markdown(&["", "this", "limit or peer", "ratio"], rows)
}

/// The figures of a benchmark by row and column, with ratios in brackets. `columns`: those that are shown; none: all.
pub(super) fn of_bench(summary: &Summary, bench: &str, columns: &[&str]) -> String {
    let Some(run) = run(summary, bench) else {
        return format!("There are no figures of `{bench}`.");
    };
    let is_shown = |it: &&Figure| columns.is_empty() || columns.contains(&it.column.as_str());
    let figures: Vec<&Figure> = run.figures.iter().filter(is_shown).collect();
    let columns = in_order(figures.iter().map(|it| it.column.as_str()));
    // A unit that all figures of a column have is in its head.
    let unit = |column: &str| {
        let of_column = figures.iter().filter(|it| it.column == column);
        let units = in_order(of_column.map(|it| it.unit.as_str()));
        (units.len() == 1).then(|| units[0])
    };
    let head: Vec<String> = columns
        .iter()
        .map(|column| match unit(column) {
            Some(unit) if !unit.is_empty() => format!("{column}, {unit}"),
            _ => (*column).to_owned(),
        })
        .collect();
    let cell = |row: &str, column: &str| {
        let is_it = |it: &&&Figure| it.row == row && it.column == column;
        let Some(figure) = figures.iter().find(is_it) else {
            return NONE.to_owned();
        };
        let value = match unit(column) {
            Some(_) => number(figure.value),
            None => with_unit(figure.value, &figure.unit),
        };
        match &figure.reference {
            Some(reference) => format!("{value} ({:.2})", reference.ratio),
            None => value,
        }
    };
    let rows = in_order(figures.iter().map(|it| it.row.as_str()));
    let rows = rows.into_iter().map(|row| {
        let cells = columns.iter().map(|column| cell(row, column));
        [row.to_owned()].into_iter().chain(cells).collect()
    });
    let head: Vec<&str> = [""]
        .into_iter()
        .chain(head.iter().map(String::as_str))
        .collect();
    markdown(&head, rows)
}

/// One figure with its unit.
pub(super) fn value(summary: &Summary, bench: &str, row: &str, column: &str) -> String {
    let mut figures = run(summary, bench).into_iter().flat_map(|run| &run.figures);
    let figure = figures.find(|it| it.row == row && it.column == column);
    figure.map_or(NONE.to_owned(), |it| with_unit(it.value, &it.unit))
}

pub(super) fn dates(summary: &Summary) -> String {
    let days = summary.runs.iter().map(|run| run.when.get(..10));
    let days: BTreeSet<&str> = days.flatten().collect();
    match (days.first(), days.last()) {
        (Some(first), Some(last)) if first == last => (*first).to_owned(),
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => NONE.to_owned(),
    }
}

pub(super) fn machines(summary: &Summary) -> String {
    let machines = summary.runs.iter().map(|Run { machine, .. }| {
        format!(
            "{} cores ({}), {} GiB, Linux {}",
            machine.cores, machine.processor, machine.memory_gib, machine.kernel
        )
    });
    machines
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
        .join("; ")
}

/// Which benchmark ran when, of which commit, and what the machine did beside.
pub(super) fn runs(summary: &Summary) -> String {
    let percent = |it: Option<f64>| it.map_or(NONE.to_owned(), |it| format!("{it:.1}"));
    let rows = summary.runs.iter().map(|run| {
        let [begin, end] = run.meanwhile.load;
        let words = [&[run.bench.clone()][..], &run.arguments].concat();
        vec![
            format!("`{}`", words.join(" ")),
            run.when.replace('T', " ").replace('Z', ""),
            format!("`{}`", run.commit),
            number(run.meanwhile.seconds.round()),
            format!("{begin:.1} / {end:.1}"),
            percent(run.meanwhile.waiting_percent),
            percent(run.meanwhile.steal_percent),
        ]
    });
    let head = [
        "benchmark, arguments",
        "end (UTC)",
        "commit",
        "takes, s",
        "load before / after",
        "a thread waits for a core, % of the time",
        "taken by the host, %",
    ];
    markdown(&head, rows)
}

fn run<'a>(summary: &'a Summary, bench: &str) -> Option<&'a Run> {
    summary.runs.iter().find(|run| run.bench == bench)
}

fn markdown(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| {
        let cells = cells.iter().map(|cell| cell.replace('|', "\\|"));
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let head = head.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
    let rule = format!("|{}", "---|".repeat(head.len()));
    let lines = [line(head), rule].into_iter().chain(rows.map(line));
    // An empty first cell of the head is `| |`.
    lines.collect::<Vec<_>>().join("\n").replace("|  |", "| |")
}

/// Without repetitions, in the order in which they come first.
fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn with_unit(value: f64, unit: &str) -> String {
    format!("{} {unit}", number(value))
}

/// Three digits or so; thousands are separated.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        0.0 | 100.0.. => 0,
        10.0.. => 1,
        0.1.. => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}
