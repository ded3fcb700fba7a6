//! Whether the bar is shown, and how it looks: terminals, the environment, flags, `config.toml`, the log.

use std::path::{Path, PathBuf};

use crate::pty::terminal_session::{
    BACKSPACE, ENTER, ESC, Setup, Shot, demo, play, play_bag, play_demo, until,
};

const ALTERNATE: &[u8] = b"\x1b[?1049h";

fn has(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|part| part == what)
}

/// A short run into nothing, started by `script` of a shell, with `"$0" "$@"` for itself.
fn short(script: &str, args: &[&str]) -> Setup {
    let program = assert_cmd::cargo::cargo_bin("play");
    let demo = demo();
    let own = [
        "-c",
        script,
        program.to_str().unwrap(),
        demo.to_str().unwrap(),
    ];
    let short = ["--wire", "null", "--end", "+0.2s"];
    Setup::of(Path::new("/bin/sh"), &[&own[..], &short, args].concat())
}

#[test]
fn without_a_terminal_to_itself_it_plays_headless_and_says_nothing_odd() {
    let plain = r#"exec "$0" "$@""#;
    for setup in [
        short(r#""$0" "$@" </dev/null"#, &[]),
        short(r#""$0" "$@" | cat"#, &[]),
        short(r#"set -m; "$0" "$@" & wait $!"#, &[]),
        short(plain, &["--no-tui"]),
        short(plain, &[]).env("CI", "true"),
        short(plain, &[]).env("TERM", "dumb"),
        short(plain, &[]).env("TERM", ""),
    ] {
        let mut tape = setup.run();
        let (code, shot) = tape.wait_end();
        assert_eq!(code, 0, "{shot}");
        assert!(!has(&tape.bytes(), ALTERNATE), "{shot}");
        assert!(shot.has("played "), "{shot}");
        for odd in ["--tui", "warning", "error", "panicked"] {
            assert!(!shot.has(odd), "{shot}");
        }
        tape.assert_restored();
    }
}

#[test]
fn a_bar_that_was_asked_for_is_shown_in_ci_and_missed_aloud() {
    let mut tape = short(r#""$0" "$@" </dev/null"#, &["--tui"]).run();
    let (code, shot) = tape.wait_end();
    assert_eq!(code, 0, "{shot}");
    assert!(shot.has("--tui: no terminal to draw on"), "{shot}");
    let tape = play_demo(&["--tui"]).env("CI", "true").run();
    tape.wait_text("PLAYING");
    tape.quit();
    // One that is empty is as good as none.
    let tape = play_demo(&[]).env("CI", "").run();
    tape.wait_text("PLAYING");
    tape.quit();
}

#[test]
fn a_mistake_in_the_configuration_names_file_and_line() {
    for (text, said) in [
        (
            &b"[tui]\n\ntime = \"noon\"\n"[..],
            "config.toml:3: unknown variant `noon`",
        ),
        (
            b"[keys]\nquit = \"hyper+q\"\n",
            "config.toml:2: `hyper+q` is no key; hint: ",
        ),
        (
            b"[keys]\nplay-paus = \"x\"\n",
            "config.toml:2: `play-paus` is no action; hint: play-pause?",
        ),
        (b"\n[keys\n", "config.toml:2: "),
        (
            b"[keys]\nquit = \"x\"\n# \xff\n",
            "config.toml: stream did not contain valid UTF-8",
        ),
    ] {
        let setup = play(&[demo().to_str().unwrap(), "--wire", "null"]).config(text);
        let mut tape = setup.run();
        let (code, shot) = tape.wait_end();
        assert_eq!(code, 2, "{shot}");
        assert!(tape.text().contains(said), "no `{said}` in\n{shot}");
        assert!(!has(&tape.bytes(), ALTERNATE), "{shot}");
        // Without a bar nobody asks for it.
        let setup = play(&[
            demo().to_str().unwrap(),
            "--wire",
            "null",
            "--no-tui",
            "--end",
            "+0.1s",
        ]);
        assert_eq!(setup.config(text).run().wait_end().0, 0);
    }
}

#[test]
fn the_configuration_binds_keys_anew_and_says_how_it_looks() {
    let config =
        "[tui]\ntime = \"seconds\"\n[keys]\nquit = \"x\"\nplay-pause = [\"K\", \"ctrl+p\"]\n";
    let mut tape = play_demo(&[]).config(config).size(160, 45).run();
    let shot = tape.wait_text("PLAYING");
    assert!(shot.has("K play/pause") && shot.has("x quit"), "{shot}");
    assert!(shot.rows[0].contains("  17600000"), "{shot}");
    tape.keys("K");
    tape.wait_text("PAUSED");
    // Neither of these does anything now, so this one does not quit and that one does not play.
    tape.keys("q \x10");
    tape.wait_text("PLAYING");
    tape.keys("?");
    let shot = tape.wait_text(" keys ");
    assert!(shot.row("stop playing and leave").contains(" x "), "{shot}");
    tape.keys("x");
    assert_eq!(tape.wait_end().0, 0);
}

/// Whether any cell is coloured, bold, reversed.
fn dress(screen: &vt100::Screen) -> (bool, bool, bool) {
    let (rows, columns) = screen.size();
    let places =
        (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
    let cells: Vec<_> = places
        .filter_map(|(row, column)| screen.cell(row, column))
        .collect();
    let is_coloured = |cell: &&vt100::Cell| {
        cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
    };
    (
        cells.iter().any(is_coloured),
        // The state is.
        screen.cell(0, 3).is_some_and(vt100::Cell::bold),
        cells.iter().any(|cell| cell.inverse()),
    )
}

#[test]
fn no_color_leaves_bold_and_reversed_and_no_sequence_that_asks_for_a_colour() {
    for (args, env, is_coloured) in [
        (&[][..], None, true),
        (&[], Some("1"), false),
        (&[], Some(""), true),
        (&["--color", "never"], None, false),
    ] {
        let mut setup = play_demo(&["--start-paused"]);
        if let Some(value) = env {
            setup = setup.env("NO_COLOR", value);
        }
        let own = args.iter().fold(setup, |setup, arg| setup.arg(arg));
        let mut tape = own.run();
        tape.wait_text("PAUSED");
        tape.wait_for("the lane", |shot| shot.has("█"));
        assert_eq!(
            tape.look(dress),
            (is_coloured, true, true),
            "{args:?} {env:?}"
        );
        tape.keys("5l?");
        tape.wait_text(" keys ");
        tape.keys("q");
        tape.wait_end();
        let bytes = String::from_utf8_lossy(&tape.bytes()).into_owned();
        assert_eq!(asks_for_colour(&bytes), is_coloured, "{bytes:?}");
    }
}

/// Whether a sequence sets a colour, other than back to the usual ones.
fn asks_for_colour(text: &str) -> bool {
    let sequences = text.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
        rest[end..].starts_with('m').then(|| &rest[..end])
    });
    let mut numbers = sequences.flat_map(|sequence| sequence.split(';'));
    numbers.any(|number| matches!(number.parse(), Ok(30..=38 | 40..=48 | 90..=97 | 100..=107)))
}

#[test]
fn a_locale_of_ascii_alone_is_believed() {
    for (locale, paused) in [("C", "= PAUSED  x1.00"), ("C.UTF-8", "PAUSED  ×1.00")] {
        let args = ["--start-paused", "--wire", "null"];
        let tape = play_bag(&demo(), &args).env("LC_ALL", locale).run();
        tape.wait_text(paused);
    }
}

#[test]
fn in_ascii_not_one_byte_is_anything_else() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("drive.mcap");
    std::fs::copy(demo(), &bag).unwrap();
    for is_configured in [false, true] {
        let args = ["--start-paused", "--clock", "--ascii"];
        let mut setup = play_bag(&bag, if is_configured { &args[..2] } else { &args });
        if is_configured {
            setup = setup.config("[tui]\nascii = true\n");
        }
        let mut tape = setup.size(140, 50).run();
        tape.wait_text("= PAUSED  x1.00");
        tape.wait_for("the lane", |shot| shot.has("####"));
        tape.keys("?");
        tape.wait_text(" keys ");
        tape.keys(&format!("?{ENTER}"));
        tape.wait_text("definition");
        tape.keys(ESC);
        tape.wait_text("q quit");
        tape.keys("3mllll))l5ztjt zr[");
        tape.wait_text("REVERSE");
        tape.keys("Mü");
        tape.wait_text("name of the mark: ");
        tape.keys(&format!("{BACKSPACE}{ENTER}"));
        tape.wait_text("q quit");
        tape.keys("r5g5");
        tape.wait_text("go to: 5");
        tape.keys(ESC);
        tape.wait_text("q quit");
        tape.resize(60, 1);
        tape.wait_for("one line", |shot| {
            shot.rows.len() == 1 && shot.has(" / 00:29.997 ")
        });
        tape.keys("q");
        tape.wait_end();
        let bytes = tape.bytes();
        let other = bytes.iter().position(|byte| !byte.is_ascii());
        let near = |at: usize| String::from_utf8_lossy(&bytes[at.saturating_sub(60)..at + 9]);
        assert_eq!(other.map(near), None);
    }
}

/// The demo with a chunk whose bytes are spoiled, and cut short.
fn damaged(folder: &Path) -> (PathBuf, PathBuf) {
    let mut bytes = std::fs::read(demo()).unwrap();
    let cut = folder.join("cut.mcap");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let chunks = mcap::Summary::read(&bytes).unwrap().unwrap().chunk_indexes;
    let middle = usize::try_from(chunks[chunks.len() / 2].chunk_start_offset).unwrap() + 1_000;
    bytes[middle..middle + 100].fill(0x55);
    let spoiled = folder.join("spoiled.mcap");
    std::fs::write(&spoiled, bytes).unwrap();
    (cut, spoiled)
}

/// A log line stands where log lines are: after its time of day, between the table and the footer.
#[track_caller]
fn assert_in_its_place(shot: &Shot, words: &str) {
    let footer = shot
        .rows
        .iter()
        .rposition(|row| row.contains(" quit"))
        .unwrap();
    for (at, row) in shot
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.contains(words))
    {
        let is_dated = row.as_bytes()[3] == b':' && row.as_bytes()[6] == b':';
        assert!(is_dated && at < footer && at + 6 >= footer, "{shot}");
    }
}

#[test]
fn what_is_logged_is_in_the_event_log_and_in_the_file_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let (cut, spoiled) = damaged(folder.path());
    for (bag, words) in [(&cut, "warning: "), (&spoiled, "warning: ")] {
        let file = folder.path().join("log");
        let args = ["--log-file", file.to_str().unwrap(), "--rate", "30"];
        let mut tape = play_bag(bag, &args).size(200, 30).run();
        tape.wait_text("router on");
        let shot = tape.wait_text(words);
        assert_in_its_place(&shot, words);
        assert_in_its_place(&shot, "router on");
        let name = bag.file_name().unwrap().to_str().unwrap();
        tape.keys("e");
        let shot = tape.wait_text("events, the newest first");
        assert!(shot.has(name) && shot.has(words), "{shot}");
        tape.keys("e");
        tape.wait_text("AT THE END");
        let logged = || std::fs::read_to_string(&file).unwrap();
        until("the file", || {
            logged().contains(words) && logged().contains(name)
        });
        assert!(
            logged().contains("router on") && !logged().contains('\x1b'),
            "{}",
            logged()
        );
        tape.keys("q");
        let (code, shot) = tape.wait_end();
        assert_eq!(code, 0, "{shot}");
        tape.assert_restored();
        // It is there for who looks afterwards too.
        let all = String::from_utf8_lossy(&tape.bytes()).into_owned();
        let (before, rest) = all.split_once("\x1b[?1049h").unwrap();
        let (_, after) = rest.split_once("\x1b[?1049l").unwrap();
        assert!(
            shot.has(words) && shot.has("played "),
            "{shot}\n{before:?}\n{after:?}"
        );
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn with_stderr_elsewhere_the_log_goes_there_and_the_screen_stays_whole() {
    let folder = tempfile::tempdir().unwrap();
    let errors = folder.path().join("errors");
    let script = format!(r#"exec "$0" "$@" 2>{}"#, errors.to_string_lossy());
    let program = assert_cmd::cargo::cargo_bin("play");
    let demo = demo();
    let args = [
        "-c",
        &script,
        program.to_str().unwrap(),
        demo.to_str().unwrap(),
    ];
    let quiet = ["--wire", "null", "-vv", "--start-paused"];
    let mut tape = Setup::of(Path::new("/bin/sh"), &[&args[..], &quiet].concat()).run();
    tape.wait_text("PAUSED");
    tape.keys("q");
    assert_eq!(tape.wait_end().0, 0);
    let said = std::fs::read_to_string(&errors).unwrap();
    assert!(
        said.contains("stopped after") && !said.contains('\x1b'),
        "{said}"
    );
}
