//! One table of the figures of all benchmarks, and the page of performance.
//!
//! `cargo bench --bench z_summary [-- --docs]`. Reads the files that the benchmarks have written (see
//! `benches/report/`), prints one table (name, this, limit or peer, ratio), says which benchmarks have no figures, and
//! writes `summary.json` beside those files. Cargo runs benchmarks in the order of their names, so `cargo bench` ends
//! with this table. With `--docs` it also writes `docs/performance.md`, its plots and `docs/performance/figures.json`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod page;
#[path = "../report/mod.rs"]
mod report;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use page::table::{Cells, number, rows};
use report::{Run, Summary, folder, write_json};

const MANIFEST: &str = include_str!("../../Cargo.toml");
const NAME: &str = "z_summary";
const WRITES_DOCS: &str = "--docs";

fn main() -> Result<(), Box<dyn Error>> {
    let summary = gather(&folder())?;
    print(&summary);
    write_json(&folder().join("summary.json"), &summary)?;
    if std::env::args().any(|arg| arg == WRITES_DOCS) {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        write_json(&docs.join(page::FIGURES), &summary)?;
        for file in page::files(&summary)? {
            std::fs::write(docs.join(&file.name), file.text)?;
            println!("docs/{}", file.name);
        }
    }
    Ok(())
}

/// The runs in a folder, and the benchmarks that have none there.
fn gather(folder: &Path) -> Result<Summary, Box<dyn Error>> {
    let mut runs = Vec::new();
    let names = std::fs::read_dir(folder).into_iter().flatten();
    for entry in names {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".json") && name != "summary.json" {
            let text = std::fs::read_to_string(&path)?;
            let run: Run =
                serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
            runs.push(run);
        }
    }
    runs.sort_by(|a, b| a.bench.cmp(&b.bench));
    let measured: BTreeSet<_> = runs.iter().map(|run| run.bench.as_str()).collect();
    let missing = benches().filter(|name| !measured.contains(name));
    let missing = missing.map(str::to_owned).collect();
    Ok(Summary { runs, missing })
}

/// The names of the benchmarks in the manifest, without this one.
fn benches() -> impl Iterator<Item = &'static str> {
    let after = MANIFEST.split("[[bench]]").skip(1);
    let names = after.filter_map(|text| text.split('"').nth(1));
    names.filter(|name| *name != NAME)
}

fn print(summary: &Summary) {
    let mut lines = vec![Cells {
        name: "name".into(),
        this: "this".into(),
        reference: "limit or peer".into(),
        ratio: "ratio".into(),
    }];
    lines.extend(rows(summary, |figure| figure.better.is_some()));
    let width = |of: fn(&Cells) -> &str| {
        let lengths = lines.iter().map(|row| of(row).chars().count());
        lengths.max().unwrap_or(0)
    };
    let (name, this) = (width(|it| &it.name), width(|it| &it.this));
    let reference = width(|it| &it.reference);
    for row in &lines {
        let line = format!(
            "{:<name$}  {:>this$}  {:<reference$}  {:>6}",
            row.name, row.this, row.reference, row.ratio
        );
        println!("{}", line.trim_end());
    }
    for run in &summary.runs {
        let seconds = number(run.meanwhile.seconds);
        let Run {
            bench,
            when,
            commit,
            ..
        } = run;
        println!("{bench}: {when}, commit {commit}, {seconds} s");
    }
    if !summary.missing.is_empty() {
        println!("no figures of: {}", summary.missing.join(", "));
    }
}
