//! The house rules that no compiler checks: which module may import which, and how long a file may be.
//!
//! Reads the `use` lines and paths of every file in `src/` and `core/src/` against the table of
//! `docs/architecture.md`; what a test module at a file's end imports does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Room → the rooms it may import. `main` is the binary with its folder `app`.
const MAY_IMPORT: [(&str, &[&str]); 23] = [
    ("time", &[]),
    ("time_slice", &[]),
    ("untrusted", &[]),
    ("clock", &["time"]),
    ("ros", &["untrusted"]),
    ("marks", &["time", "untrusted"]),
    ("bag", &["time", "time_slice", "ros", "untrusted"]),
    ("mcap_write", &["time", "bag"]),
    (
        "cut",
        &["time", "bag", "mcap_write", "ros", "transcode", "untrusted"],
    ),
    ("decode", &["time", "bag", "ros", "untrusted"]),
    ("transcode", &["bag", "ros", "untrusted"]),
    ("find", &["time", "bag", "decode", "ros", "untrusted"]),
    ("picture", &["bag", "decode", "untrusted"]),
    ("output", &["bag", "time"]),
    ("player", &["time", "time_slice", "bag", "output"]),
    ("viewer", &["time", "bag", "output", "player"]),
    (
        "wire",
        &[
            "time",
            "clock",
            "ros",
            "untrusted",
            "bag",
            "output",
            "player",
            "transcode",
        ],
    ),
    (
        "ros1",
        &[
            "time",
            "ros",
            "untrusted",
            "bag",
            "output",
            "player",
            "transcode",
        ],
    ),
    (
        "tui",
        &[
            "time",
            "untrusted",
            "ros",
            "marks",
            "bag",
            "decode",
            "find",
            "picture",
            "player",
        ],
    ),
    (
        "cli",
        &[
            "time",
            "ros",
            "untrusted",
            "marks",
            "bag",
            "cut",
            "decode",
            "find",
            "player",
            "transcode",
            "wire",
            "ros1",
            "ci",
        ],
    ),
    (
        "ci",
        &[
            "time",
            "clock",
            "ros",
            "untrusted",
            "bag",
            "mcap_write",
            "decode",
            "find",
            "output",
            "player",
            "transcode",
            "wire",
        ],
    ),
    ("lib", &EVERY_ROOM),
    ("main", &EVERY_ROOM),
];
const EVERY_ROOM: [&str; 20] = [
    "time",
    "untrusted",
    "clock",
    "ros",
    "marks",
    "bag",
    "mcap_write",
    "cut",
    "decode",
    "transcode",
    "find",
    "picture",
    "output",
    "player",
    "viewer",
    "wire",
    "ros1",
    "tui",
    "cli",
    "ci",
];
/// Crates that only one room may use.
const ONLY_IN: [(&str, &str); 12] = [
    ("zenoh", "wire"),
    ("zenoh_ext", "wire"),
    ("foxglove", "viewer"),
    ("dxr", "ros1"),
    ("httparse", "ros1"),
    ("md5", "ros1"),
    ("ratatui_image", "tui"),
    ("ratatui", "tui"),
    ("crossterm", "tui"),
    ("tui_input", "tui"),
    ("clap", "cli"),
    ("anyhow", "main"),
];
const LONGEST: usize = 400;
/// The most columns of a line of a comment; rows of tables may be wider.
const WIDEST: usize = 120;
/// How many files and folders a folder of a room may have.
const MOST_ENTRIES: usize = 12;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folders of the sources of both packages.
fn src() -> [PathBuf; 2] {
    ["src", "core/src"].map(|folder| root().join(folder))
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

/// `{path}` in an error's text shows a path as it is, and clippy does not see it.
#[test]
fn errors_show_paths_escaped() {
    let mut files = Vec::new();
    for folder in src() {
        rust_files(&folder, &mut files);
    }
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
    assert!(
        found.is_empty(),
        "use `untrusted::Foreign::path`: {found:?}"
    );
}

/// Every source file: its path below `src/` or `core/src/`, its room, its lines without the test module.
fn sources() -> Vec<(PathBuf, String, Vec<String>)> {
    src().iter().flat_map(|folder| sources_in(folder)).collect()
}

fn sources_in(folder: &Path) -> Vec<(PathBuf, String, Vec<String>)> {
    let mut files = Vec::new();
    rust_files(folder, &mut files);
    files.sort();
    let read = |path: PathBuf| {
        let below = path.strip_prefix(folder).unwrap().to_path_buf();
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
                    "{}: uses `super::super::`: {line}",
                    path.to_string_lossy()
                ));
            }
            let is_hand_over = path == Path::new("lib.rs");
            let without_texts: String = line.split('"').step_by(2).collect();
            if without_texts.contains("bagplay_core") && !is_hand_over {
                broken.push(format!(
                    "{}: names the core by its package: {line}",
                    path.to_string_lossy()
                ));
            }
            let crate_root = if room == "main" {
                "bagplay::"
            } else {
                "crate::"
            };
            for head in heads(&without_texts, crate_root)
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

/// The lint `unsafe_code` is denied, so each exception names it.
#[test]
fn unsafe_code_is_in_one_file() {
    let has_unsafe = |lines: &[String]| lines.iter().any(|line| line.contains("(unsafe_code"));
    let files = sources().into_iter();
    let files = files.filter(|(_, _, lines)| has_unsafe(lines));
    let files: Vec<PathBuf> = files.map(|(path, ..)| path).collect();
    assert_eq!(files, [Path::new("time_slice.rs")]);
}

#[test]
fn the_core_has_the_rooms_before_the_viewer() {
    let [_, core] = src();
    let entries = fs::read_dir(core).unwrap();
    let entries: BTreeSet<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    let rooms = MAY_IMPORT.iter().map(|(room, _)| *room);
    let mut above: BTreeSet<String> = rooms
        .take_while(|room| *room != "viewer")
        .map(str::to_owned)
        .collect();
    above.insert("lib".to_owned());
    assert_eq!(entries, above);
}

#[test]
fn no_file_imports_from_the_mod_file_of_its_own_room() {
    let sources = sources();
    let modules: BTreeSet<Vec<String>> = sources.iter().map(|(path, ..)| module(path)).collect();
    let is_module = |path: &[&str]| {
        modules.contains(&path.iter().map(|&part| part.to_owned()).collect::<Vec<_>>())
    };
    let mut broken = Vec::new();
    for (path, room, lines) in &sources {
        if path.ends_with("mod.rs") || path.components().count() == 1 {
            continue;
        }
        let folder = if room == "main" { "app" } else { room.as_str() };
        let is_nested = path.components().count() > 2;
        for name in lines
            .iter()
            .filter(|line| is_code(line))
            .filter_map(|line| line.strip_prefix("use "))
            .flat_map(|tree| names(tree.trim_end_matches(';')))
        {
            let first = match name.split("::").collect::<Vec<_>>()[..] {
                ["crate", room, first, ..] if room == folder => first,
                // For a nested file this is the folder in between, not the room.
                ["super", first, ..] if !is_nested => first,
                _ => continue,
            };
            if !is_module(&[folder, first.trim()]) {
                broken.push(format!("{}: {name}", path.to_string_lossy()));
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
fn each_restricted_crate_is_used_by_one_room_only() {
    let mut broken = BTreeSet::new();
    for (path, room, lines) in sources() {
        for (name, home) in ONLY_IN {
            let uses = |line: &&String| {
                is_code(line)
                    && (line.contains(&format!("{name}::"))
                        || line.trim() == format!("use {name};"))
            };
            let is_binary = room == "main" && name != "zenoh" && name != "zenoh_ext";
            if room != home && !is_binary && lines.iter().any(|line| uses(&line)) {
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
fn no_file_is_longer_than_the_limit() {
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
fn comments_are_wrapped() {
    let is_comment = |line: &str| {
        let line = line.trim_start();
        line.starts_with("//") && !line.trim_start_matches(['/', '!', ' ']).starts_with('|')
    };
    let wide: Vec<_> = sources()
        .into_iter()
        .flat_map(|(path, _, lines)| {
            let wide = |line: &&String| is_comment(line) && line.chars().count() > WIDEST;
            let wide: Vec<String> = lines.iter().filter(wide).cloned().collect();
            wide.into_iter()
                .map(move |line| format!("{}: {line}", path.to_string_lossy()))
        })
        .collect();
    assert!(
        wide.is_empty(),
        "comments over {WIDEST} columns:\n{}",
        wide.join("\n")
    );
}

#[test]
fn every_file_begins_with_a_module_text() {
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
fn the_import_table_equals_the_one_in_the_documentation() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
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

#[test]
fn no_folder_has_more_entries_than_the_limit() {
    let mut folders: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for (path, ..) in sources() {
        for entry in path
            .ancestors()
            .filter(|entry| entry.components().count() > 1)
        {
            let folder = entry.parent().unwrap().to_path_buf();
            folders
                .entry(folder)
                .or_default()
                .insert(entry.to_path_buf());
        }
    }
    let full: Vec<_> = folders
        .iter()
        .filter(|(_, entries)| entries.len() > MOST_ENTRIES)
        .map(|(folder, entries)| format!("{}: {} entries", folder.to_string_lossy(), entries.len()))
        .collect();
    assert!(full.is_empty(), "more than {MOST_ENTRIES}: {full:?}");
}

/// The module that a file is: `["bag", "walk", "cursor"]`. The binary's modules are those of `app`.
fn module(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let mut parts: Vec<String> = path
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if matches!(
        parts.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        parts.pop();
    }
    parts
}

/// The paths of a `use` tree, one for each name: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn names(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let inner = &rest[..rest.rfind('}').unwrap_or(rest.len())];
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let filled = parts.into_iter().filter(|part| !part.trim().is_empty());
    filled
        .flat_map(names)
        .map(|name| format!("{}{name}", prefix.trim()))
        .collect()
}

/// Which files a file imports: by the longest path of each `use` that is a file.
fn imports(
    own: &[String],
    is_mod_file: bool,
    lines: &[String],
    files: &BTreeMap<Vec<String>, PathBuf>,
) -> BTreeSet<Vec<String>> {
    let code: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| is_code(line))
        .collect();
    let code = code.join("\n");
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("use ") {
        let line = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        if !(line.is_empty() || line.starts_with("pub")) {
            continue;
        }
        let tree = code[at + 4..].split(';').next().unwrap_or_default();
        for name in names(tree) {
            let mut segments = name.split("::").map(str::trim).peekable();
            let mut base = own.to_vec();
            match segments.peek() {
                Some(&"crate") => {
                    segments.next();
                    base.clear();
                }
                Some(&("super" | "self")) => {
                    while let Some(&step) = segments
                        .peek()
                        .filter(|step| ["super", "self"].contains(step))
                    {
                        segments.next();
                        if step == "super" {
                            base.pop();
                        }
                    }
                }
                _ if is_mod_file => {}
                _ => continue,
            }
            let mut full = base;
            full.extend(segments.map(str::to_owned));
            while !full.is_empty() && !files.contains_key(&full) {
                full.pop();
            }
            // A `mod.rs` re-exports names of its own folder; that is no import.
            let is_own_folder = is_mod_file && full.starts_with(own);
            if !full.is_empty() && full != own && !is_own_folder {
                found.insert(full);
            }
        }
    }
    found
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let sources = sources();
    let files: BTreeMap<Vec<String>, PathBuf> = sources
        .iter()
        .map(|(path, ..)| (module(path), path.clone()))
        .collect();
    let mut left: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = sources
        .iter()
        .map(|(path, _, lines)| {
            let is_mod_file = path.ends_with("mod.rs");
            let own = module(path);
            let imports = imports(&own, is_mod_file, lines, &files);
            (own, imports)
        })
        .collect();
    // A file that imports none of the remaining files is in no circle.
    loop {
        let free: BTreeSet<Vec<String>> = left
            .iter()
            .filter(|(_, imports)| !imports.iter().any(|name| left.contains_key(name)))
            .map(|(name, _)| name.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        left.retain(|name, _| !free.contains(name));
    }
    // A file that none of the remaining files imports is in no circle either: it only leads to one.
    loop {
        let imported: BTreeSet<Vec<String>> = left.values().flatten().cloned().collect();
        let before = left.len();
        left.retain(|name, _| imported.contains(name));
        if left.len() == before {
            break;
        }
    }
    let circle: Vec<String> = left
        .iter()
        .map(|(name, imports)| {
            let within = imports.iter().filter(|name| left.contains_key(*name));
            let within: Vec<String> = within.map(|name| name.join("::")).collect();
            format!("{} imports {}", name.join("::"), within.join(", "))
        })
        .collect();
    assert!(circle.is_empty(), "in circles:\n{}", circle.join("\n"));
}

/// Part of `wire` → the parts of it that it may import. A dialect is `rmw_zenoh` or `dialect::plain`.
const MAY_IMPORT_IN_WIRE: [(&str, &[&str]); 2] = [
    ("net", &["net", "error", "event", "options"]),
    (
        "publish",
        &[
            "publish",
            "net",
            "clock",
            "error",
            "event",
            "options",
            "dialect::interface",
        ],
    ),
];

#[test]
fn the_network_and_the_publishers_know_no_dialect() {
    let sources = sources();
    let files: BTreeMap<Vec<String>, PathBuf> = sources
        .iter()
        .map(|(path, ..)| (module(path), path.clone()))
        .collect();
    let mut broken = Vec::new();
    for (part, allowed) in MAY_IMPORT_IN_WIRE {
        let own = ["wire".to_owned(), part.to_owned()];
        let of_part = |(own_name, _): &(&Vec<String>, _)| own_name.starts_with(&own);
        let mut count = 0;
        for (name, path) in files.iter().filter(of_part) {
            count += 1;
            let (_, _, lines) = sources.iter().find(|(other, ..)| other == path).unwrap();
            let is_mod_file = path.ends_with("mod.rs");
            for import in imports(name, is_mod_file, lines, &files) {
                let is_allowed = import[0] != "wire" || {
                    let import = import[1..].join("::");
                    let is_in =
                        |one: &&str| import == **one || import.starts_with(&format!("{one}::"));
                    allowed.iter().any(is_in)
                };
                if !is_allowed {
                    broken.push(format!("{}: {}", path.to_string_lossy(), import.join("::")));
                }
            }
        }
        assert!(count > 0, "no files in wire/{part}");
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn use_trees_are_split_into_paths() {
    let tree = "crate::{a, b::{c, d as e},\n    f}";
    assert_eq!(
        names(tree),
        ["crate::a", "crate::b::c", "crate::b::d as e", "crate::f"]
    );
}
