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

/// Phrases that say with a picture, or with a word of this program alone, what has a plain word.
const RIDDLES: [&str; 23] = [
    " lies at",
    "0 again after",
    "again after jumps",
    "no mark further on",
    "x (asked",
    " asked)",
    "kept from running",
    "process did not run",
    "cannot be meant",
    "as fast as it is taken",
    "a closer look",
    "draw everything anew",
    "all the same",
    "the first one holds",
    "broke down",
    "cannot be had",
    "stands behind",
    "stand behind",
    "so it is with",
    "tells of no",
    "come to its end",
    "looked for: too many",
    "takes nothing\"",
];

/// What a user reads: lines of code with text in quotes, and the pages for users.
#[test]
fn texts_for_users_are_in_plain_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut look = |path: &Path, is_read: fn(&str) -> bool| {
        let text = fs::read_to_string(path).unwrap();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| is_read(line)) {
            if let Some(riddle) = RIDDLES.iter().find(|it| line.contains(**it)) {
                found.push(format!("{}:{number}: {riddle}", path.to_string_lossy()));
            }
        }
    };
    for page in ["README.md", "docs/user-guide.md", "docs/ci.md"] {
        look(&root.join(page), |_| true);
    }
    let mut folders = vec![root.join("src"), root.join("core/src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                look(&path, |line| {
                    line.contains('"') && !line.trim_start().starts_with("//")
                });
            }
        }
    }
    assert!(files > 300, "{files}");
    assert!(found.is_empty(), "{found:#?}");
}
