//! The documentation agrees with the tables in the code.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use bagplay::tui::{BINDINGS, Binding, GESTURES, Glyphs, InAttach, Keys, SYMBOLS};

/// The keys of a row, as the user guide has them.
fn keys_of(row: &Binding) -> String {
    let keys = Keys::parse(row.keys).unwrap();
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(" ")
}

/// The keys and gestures as the user guide has them.
fn keys() -> String {
    let mut text = String::new();
    for (title, rows) in BINDINGS {
        writeln!(text, "| {title} | name | |\n|---|---|---|").unwrap();
        for row in *rows {
            let keys = keys_of(row);
            writeln!(text, "| {keys} | `{}` | {} |", row.name, row.help).unwrap();
        }
        writeln!(text).unwrap();
    }
    writeln!(text, "| Mouse | |\n|---|---|").unwrap();
    for (gesture, help) in GESTURES {
        writeln!(text, "| {gesture} | {help} |").unwrap();
    }
    text
}

/// The keys that do something else in `play attach`, or nothing.
fn keys_in_attach() -> String {
    let mut text = "| key | in `play attach` |\n|---|---|\n".to_owned();
    for row in BINDINGS.iter().flat_map(|(_, rows)| rows.iter()) {
        let keys = keys_of(row);
        match row.in_attach {
            InAttach::Same => {}
            InAttach::Means(help) => writeln!(text, "| {keys} | {help} |").unwrap(),
            InAttach::Refused(why) => writeln!(text, "| {keys} | refused: {why} |").unwrap(),
        }
    }
    text
}

/// The symbols of the screen.
fn symbols() -> String {
    let mut text = String::new();
    for (title, symbols) in SYMBOLS {
        writeln!(text, "| {title} | with `--ascii` | |\n|---|---|---|").unwrap();
        for symbol in *symbols {
            let [shown, plain] = [Glyphs::UNICODE, Glyphs::ASCII].map(|it| symbol.text(&it));
            writeln!(text, "| `{shown}` | `{plain}` | {} |", symbol.meaning).unwrap();
        }
        writeln!(text).unwrap();
    }
    text
}

/// Compares what is between two comments of the guide with what was made of the tables.
fn check(name: &str, made: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/user-guide.md")).unwrap();
    let (_, rest) = guide.split_once(&format!("<!-- {name} -->\n")).unwrap();
    let (listed, _) = rest.split_once(&format!("<!-- /{name} -->")).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.md"));
    fs::write(&file, made).unwrap();
    assert!(
        listed == made,
        "docs/user-guide.md: between the `{name}` comments goes what is in {}",
        file.to_string_lossy()
    );
}

#[test]
fn the_guide_lists_every_key_and_gesture() {
    check("keys", &keys());
}

#[test]
fn the_guide_lists_the_keys_that_differ_in_attach() {
    check("keys-in-attach", &keys_in_attach());
}

#[test]
fn the_guide_explains_every_symbol() {
    check("symbols", &symbols());
}
