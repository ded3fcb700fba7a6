//! The page of performance: a template, and the figures that are put in.
//!
//! A marker of the template is one of
//! `{{ date }}`, `{{ machine }}`, `{{ runs }}` (which benchmark ran when, on what, beside what),
//! `{{ ratios }}` (all figures that are compared with a limit or a peer),
//! `{{ table BENCH }}`, `{{ table BENCH: COLUMN | COLUMN }}`, `{{ value BENCH | ROW | COLUMN }}` and `{{ plot NAME }}`.
//! The page depends on nothing but the template and the figures, so that a test can make it again.

mod plot;
pub(crate) mod table;

use super::report;
use plot::PLOTS;
use report::Summary;

/// The figures of the page, below `docs/`.
pub(crate) const FIGURES: &str = "performance/figures.json";
const TEMPLATE: &str = include_str!("template.md");

/// A file that is made from the figures. The name is relative to `docs/`.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The page and its plots. An error names a marker that cannot be replaced.
pub(crate) fn files(summary: &Summary) -> Result<Vec<File>, String> {
    let mut files = vec![File {
        name: "performance.md".into(),
        text: filled(TEMPLATE, summary)?,
    }];
    for plot in &PLOTS {
        files.extend(plot.svg(summary).map(|text| File {
            name: plot.file(),
            text,
        }));
    }
    Ok(files)
}

/// A template with its markers replaced.
pub(crate) fn filled(template: &str, summary: &Summary) -> Result<String, String> {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (marker, after) = after.split_once("}}").ok_or("a marker without an end")?;
        page.push_str(before);
        page.push_str(&replacement(marker.trim(), summary)?);
        rest = after;
    }
    Ok(page + rest)
}

fn replacement(marker: &str, summary: &Summary) -> Result<String, String> {
    let unknown = || format!("the template has an unknown marker: {marker}");
    let (word, rest) = marker.split_once(' ').unwrap_or((marker, ""));
    Ok(match word {
        "date" => table::dates(summary),
        "machine" => table::machines(summary),
        "runs" => table::runs(summary),
        "ratios" => table::ratios(summary),
        "table" => {
            let (bench, columns) = rest.split_once(':').unwrap_or((rest, ""));
            let columns = columns.split('|').map(str::trim);
            let columns: Vec<&str> = columns.filter(|it| !it.is_empty()).collect();
            table::of_bench(summary, bench.trim(), &columns)
        }
        "value" => {
            let place: Vec<&str> = rest.split('|').map(str::trim).collect();
            let [bench, row, column] = place[..] else {
                return Err(unknown());
            };
            table::value(summary, bench, row, column)
        }
        "plot" => {
            let plot = PLOTS.iter().find(|plot| plot.name == rest);
            plot.ok_or_else(unknown)?.link(summary)
        }
        _ => return Err(unknown()),
    })
}
