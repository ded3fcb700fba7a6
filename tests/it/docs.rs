//! The documentation agrees with the tables in the code.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use bagplay::tui::{BINDINGS, GESTURES, Keys};

/// The keys and gestures as the user guide has them.
fn keys() -> String {
    let mut text = String::new();
    for (title, rows) in BINDINGS {
        writeln!(text, "| {title} | name | |\n|---|---|---|").unwrap();
        for row in *rows {
            let keys = Keys::parse(row.keys).unwrap();
            let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            writeln!(
                text,
                "| {} | `{}` | {} |",
                keys.join(" "),
                row.name,
                row.help
            )
            .unwrap();
        }
        writeln!(text).unwrap();
    }
    writeln!(text, "| Mouse | |\n|---|---|").unwrap();
    for (gesture, help) in GESTURES {
        writeln!(text, "| {gesture} | {help} |").unwrap();
    }
    text
}

#[test]
fn the_guide_lists_every_key_and_gesture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(root.join("docs/user-guide.md")).unwrap();
    let (_, rest) = guide.split_once("<!-- keys -->\n").unwrap();
    let (listed, _) = rest.split_once("<!-- /keys -->").unwrap();
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("keys.md");
    fs::write(&made, keys()).unwrap();
    assert!(
        listed == keys(),
        "docs/user-guide.md: between the `keys` comments goes what is in {}",
        made.to_string_lossy()
    );
}
