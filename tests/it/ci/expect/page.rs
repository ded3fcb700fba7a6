//! The page of the schema agrees with the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use bagplay::ci::judge::expect::Expectations;

use super::parse;

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(root.join("docs/expectations.md")).unwrap()
}

#[test]
fn every_example_is_read() {
    let page = page();
    let blocks: Vec<_> = page.split("```toml\n").skip(1).collect();
    assert!(blocks.len() > 8, "{}", blocks.len());
    for block in blocks {
        let (text, _) = block.split_once("```").unwrap();
        assert!(parse(text).names().count() > 0);
    }
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_known() {
    let page = page();
    let mut documented: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut heading = "";
    for line in page.lines() {
        if line.starts_with('#') {
            heading = line.trim_start_matches('#').trim().trim_matches('`');
        }
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let key = cells
            .get(1)
            .and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`'));
        if let Some(key) = key {
            assert_eq!(cells.len(), 6, "key, meaning, default, example: {line}");
            assert!(cells[2..5].iter().all(|cell| !cell.is_empty()), "{line}");
            assert!(documented.entry(heading).or_default().insert(key), "{line}");
        }
    }
    let known = Expectations::tables().iter();
    let known: BTreeMap<_, BTreeSet<_>> = known
        .map(|(name, keys)| (*name, keys.iter().copied().collect()))
        .collect();
    assert_eq!(documented, known);
}
