//! The page of performance is what its generator makes of the committed figures.

use std::fs;
use std::path::Path;

#[path = "../../benches/z_summary/page/mod.rs"]
mod page;
#[path = "../../benches/report/mod.rs"]
mod report;

use report::{Figure, Series, Summary};

/// A run with figures and a plot.
fn summary() -> Summary {
    let machine = serde_json::json!({
        "cores": 2, "processor": "P", "memory_gib": 24.0, "kernel": "6.1"
    });
    let meanwhile = serde_json::json!({
        "seconds": 3.0, "load": [0.5, 1.0], "steal_percent": 0.1, "waiting_percent": null
    });
    let run = serde_json::json!({
        "bench": "lateness", "arguments": ["4"], "when": "2026-11-25T10:00:00Z", "commit": "abc",
        "machine": machine, "meanwhile": meanwhile,
        "figures": [
            Figure::compared("loop", "p50", 20.0, "µs"),
            Figure::lower("player", "p50", 1_234.5, "µs").against("limit: loop", 20.0),
            Figure::lower("player", "of a core", 0.0, "%"),
        ],
        "series": [Series::new("lateness", "a < b", [[0.5, 0.0], [0.99, 20.0]])],
    });
    Summary {
        runs: vec![serde_json::from_value(run).unwrap()],
        missing: vec!["time".into()],
    }
}

#[test]
fn the_page_is_made_of_the_committed_figures() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let figures = fs::read_to_string(docs.join(page::FIGURES)).unwrap();
    let figures: Summary = serde_json::from_str(&figures).unwrap();
    let files = page::files(&figures).unwrap();
    assert_eq!(files[0].name, "performance.md");
    for file in &files {
        let committed = fs::read_to_string(docs.join(&file.name)).unwrap();
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("performance.made");
        fs::write(&made, &file.text).unwrap();
        assert!(
            committed == file.text,
            "docs/{} has to be what is in {}; `cargo bench --bench z_summary -- --docs` writes it",
            file.name,
            made.to_string_lossy()
        );
    }
}

#[test]
fn a_table_has_units_in_its_head_and_ratios_in_brackets() {
    let page = page::filled("{{ table lateness }}\n", &summary()).unwrap();
    assert_eq!(
        page,
        "| | p50, µs | of a core, % |\n\
         |---|---|---|\n\
         | loop | 20.0 | – |\n\
         | player | 1,234 (61.73) | 0 |\n"
    );
}

#[test]
fn markers_are_replaced_and_unknown_ones_refused() {
    let filled = |template| page::filled(template, &summary());
    assert_eq!(
        filled("a {{ date }} b {{ value lateness | loop | p50 }}").unwrap(),
        "a 2026-11-25 b 20.0 µs"
    );
    assert_eq!(
        filled("{{ table time }}").unwrap(),
        "There are no figures of `time`."
    );
    assert!(
        filled("{{ tables lateness }}")
            .unwrap_err()
            .contains("tables")
    );
    assert!(filled("{{ plot nothing }}").is_err());
    assert!(filled("{{ date").is_err());
}

#[test]
fn a_plot_is_xml_with_a_line_for_each_series() {
    let files = page::files(&summary()).unwrap();
    let plots: Vec<_> = files
        .iter()
        .filter(|it| it.text.starts_with("<svg "))
        .collect();
    let [plot] = plots[..] else {
        panic!("{} plots", plots.len())
    };
    let document = roxmltree::Document::parse(&plot.text).unwrap();
    let lines: Vec<_> = document
        .descendants()
        .filter(|it| it.has_tag_name("polyline"))
        .collect();
    assert_eq!(lines.len(), 1);
    let points = lines[0].attribute("points").unwrap();
    assert!(
        !points.contains("NaN") && !points.contains("inf"),
        "{points}"
    );
    assert!(document.descendants().any(|it| it.text() == Some("a < b")));
}
