//! The house rules that no compiler checks: who may import whom, and how long a file may be.
//!
//! Reads the `use` lines and paths of every file in `src/` against the table of
//! `docs/architecture.md`; what a test module at a file's end imports does not count.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Room → the rooms it may import. `main` is the binary with its folder `app`.
const MAY_IMPORT: [(&str, &[&str]); 11] = [
    ("time", &[]),
    ("bag", &["time"]),
    ("decode", &["time", "bag"]),
    ("output", &["bag", "time"]),
    ("player", &["time", "bag", "output"]),
    ("wire", &["time", "bag", "decode", "output", "player"]),
    ("tui", &["time", "player", "bag", "decode"]),
    ("cli", &["time", "bag", "player", "wire"]),
    ("ci", &["time", "bag", "player", "wire"]),
    (
        "lib",
        &[
            "time", "bag", "decode", "output", "player", "wire", "tui", "cli", "ci",
        ],
    ),
    (
        "main",
        &[
            "time", "bag", "decode", "output", "player", "wire", "tui", "cli", "ci",
        ],
    ),
];
/// Crates that only one room knows.
const ONLY_IN: [(&str, &str); 7] = [
    ("zenoh", "wire"),
    ("zenoh_ext", "wire"),
    ("ratatui", "tui"),
    ("crossterm", "tui"),
    ("tui_input", "tui"),
    ("clap", "cli"),
    ("anyhow", "main"),
];
const LONGEST: usize = 400;

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// `{path}` in an error's text shows a path as it is, and clippy does not see it.
#[test]
fn errors_show_paths_escaped() {
    let mut files = Vec::new();
    rust_files(&src(), &mut files);
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for part in text.split("#[error(").skip(1) {
            let (words, rest) = part.split_once(")]").unwrap_or((part, ""));
            let fields = rest.split("#[error(").next().unwrap_or(rest);
            let fields = fields.split(['}', ';']).next().unwrap_or(fields);
            for field in fields.lines().filter(|line| line.contains(": PathBuf")) {
                let name = field.trim().trim_start_matches("pub ");
                let name = name.split(':').next().unwrap_or(name);
                if words.contains(&format!("{{{name}")) {
                    found.push(format!("{}: {{{name}}}", file.to_string_lossy()));
                }
            }
            if words.contains("{0}") && fields.lines().any(|line| line.contains("(PathBuf")) {
                found.push(format!("{}: {{0}}", file.to_string_lossy()));
            }
        }
    }
    assert!(found.is_empty(), "use `bag::Foreign::path`: {found:?}");
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every source file: its path below `src/`, its room, its lines without the test module.
fn sources() -> Vec<(PathBuf, String, Vec<String>)> {
    let mut files = Vec::new();
    rust_files(&src(), &mut files);
    files.sort();
    let read = |path: PathBuf| {
        let below = path.strip_prefix(src()).unwrap().to_path_buf();
        let first = below
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy();
        let room = match first.trim_end_matches(".rs") {
            "app" => "main".to_owned(),
            room => room.to_owned(),
        };
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap();
        (below, room, code.lines().map(str::to_owned).collect())
    };
    files.into_iter().map(read).collect()
}

/// The path segments that follow `prefix` wherever it starts a path in the line.
fn heads<'a>(line: &'a str, prefix: &str) -> Vec<&'a str> {
    let starts = line.match_indices(prefix).filter(|(at, _)| {
        !line[..*at]
            .ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':')
    });
    let head = |(at, _): (usize, &str)| {
        let rest = &line[at + prefix.len()..];
        &rest[..rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len())]
    };
    starts.map(head).collect()
}

fn is_code(line: &str) -> bool {
    !line.trim_start().starts_with("//")
}

#[test]
fn imports_keep_to_the_table() {
    let mut broken = Vec::new();
    for (path, room, lines) in sources() {
        let (_, allowed) = MAY_IMPORT
            .iter()
            .find(|(name, _)| *name == room)
            .expect("every room is in the table");
        for line in lines.iter().filter(|line| is_code(line)) {
            if line.contains("super::super::") {
                broken.push(format!(
                    "{}: climbs out of its room: {line}",
                    path.to_string_lossy()
                ));
            }
            let crate_root = if room == "main" {
                "bagplay::"
            } else {
                "crate::"
            };
            for head in heads(line, crate_root)
                .into_iter()
                .filter(|head| *head != room && *head != "app")
            {
                let is_room = MAY_IMPORT.iter().any(|(name, _)| *name == head);
                if !is_room {
                    broken.push(format!(
                        "{}: imports through the crate root: {line}",
                        path.to_string_lossy()
                    ));
                } else if !allowed.contains(&head) {
                    broken.push(format!(
                        "{}: {room} may not import {head}: {line}",
                        path.to_string_lossy()
                    ));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn no_file_imports_from_the_face_of_its_own_room() {
    let mut broken = Vec::new();
    for (path, room, lines) in sources() {
        let is_face = path.ends_with("mod.rs") || path.components().count() == 1;
        for line in lines.iter().filter(|line| is_code(line) && !is_face) {
            // A folder within a room names the room's files from the root, never what its face hands on.
            let is_nested = path.components().count() > 2;
            let own_face = format!("use crate::{room}::");
            let names_a_file = |rest: &str| is_nested && rest.starts_with(char::is_lowercase);
            let from_own_face = line
                .strip_prefix(&own_face)
                .is_some_and(|rest| !names_a_file(rest));
            let from_face = heads(line, "use super::")
                .into_iter()
                .any(|head| head.is_empty() || head.starts_with(char::is_uppercase));
            if from_own_face || (from_face && path.components().count() == 2) {
                broken.push(format!("{}: {line}", path.to_string_lossy()));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "import from the file that defines it:\n{}",
        broken.join("\n")
    );
}

#[test]
fn only_one_room_knows_each_foreign_crate() {
    let mut broken = BTreeSet::new();
    for (path, room, lines) in sources() {
        for (name, home) in ONLY_IN {
            let knows = |line: &&String| {
                is_code(line)
                    && (line.contains(&format!("{name}::"))
                        || line.trim() == format!("use {name};"))
            };
            let is_main_story = room == "main" && name != "zenoh" && name != "zenoh_ext";
            if room != home && !is_main_story && lines.iter().any(|line| knows(&line)) {
                broken.insert(format!(
                    "{}: {name} belongs to {home}",
                    path.to_string_lossy()
                ));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "{}",
        broken.into_iter().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn no_file_is_longer_than_one_idea() {
    let long: Vec<_> = sources()
        .into_iter()
        .filter(|(_, _, lines)| lines.len() > LONGEST)
        .collect();
    let named: Vec<_> = long
        .iter()
        .map(|(path, _, lines)| format!("{}: {} lines", path.to_string_lossy(), lines.len()))
        .collect();
    assert!(
        named.is_empty(),
        "over {LONGEST} lines without tests:\n{}",
        named.join("\n")
    );
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|(_, _, lines)| !lines[0].starts_with("//! "))
        .map(|(path, ..)| path)
        .collect();
    assert!(
        silent.is_empty(),
        "no module text at the head of {silent:?}"
    );
}

#[test]
fn the_table_is_the_one_that_the_documentation_shows() {
    let page = fs::read_to_string(src().with_file_name("docs").join("architecture.md")).unwrap();
    for (room, allowed) in MAY_IMPORT
        .iter()
        .filter(|(room, _)| !matches!(*room, "lib" | "main"))
    {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{room}` |")))
            .unwrap_or_else(|| panic!("no row for {room}"));
        let cell = row.split('|').nth(3).unwrap_or_default();
        let mut shown: Vec<&str> = cell
            .split(',')
            .map(|name| name.trim().trim_matches('`'))
            .filter(|name| *name != "nothing")
            .collect();
        let mut table = allowed.to_vec();
        shown.sort_unstable();
        table.sort_unstable();
        assert_eq!(
            shown, table,
            "{room}: the table in docs/architecture.md differs"
        );
    }
}
