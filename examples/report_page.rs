//! Writes the page that shows a run, or a suite of runs, from its records.
//!
//! `cargo run --example report_page -- report.json page.html`; a file named `*.ndjson` has one record per line.

#![expect(clippy::print_stdout, reason = "an example")]

use std::env;
use std::fs;
use std::path::Path;

use bagplay::ci::report::{Outcome, read_run, read_runs, to_html, to_text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let [records, page] = arguments.as_slice() else {
        return Err("usage: report_page RECORDS PAGE".into());
    };
    let records = Path::new(records);
    let runs = if records
        .extension()
        .is_some_and(|extension| extension == "ndjson")
    {
        read_runs(records)?
    } else {
        vec![read_run(records)?]
    };
    fs::write(page, to_html(&runs))?;
    print!("{}", to_text(&runs));
    println!("exit code: {}", Outcome::of_all(&runs).exit_code);
    Ok(())
}
