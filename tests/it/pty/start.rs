//! Whether the bar is shown, and how it looks: terminals, the environment, flags, `config.toml`, the log.

use std::path::Path;

use crate::pty::damage::damaged;
use crate::pty::terminal_session::{
    BACKSPACE, DARK_BACKGROUND, ENTER, ESC, Frame, NO_BACKGROUND, TerminalCommand, demo, has, play,
    play_bag, play_demo, until,
};
use crate::support::network;

const ALTERNATE: &[u8] = b"\x1b[?1049h";

/// A short run without a network, started by a shell script in which `"$0" "$@"` is the command.
fn short(script: &str, args: &[&str]) -> TerminalCommand {
    let program = assert_cmd::cargo::cargo_bin("play");
    let demo = demo();
    let own = [
        "-c",
        script,
        program.to_str().unwrap(),
        demo.to_str().unwrap(),
    ];
    let short = ["--wire", "null", "--end", "+0.2s"];
    TerminalCommand::of(Path::new("/bin/sh"), &[&own[..], &short, args].concat())
}

#[test]
fn without_a_terminal_of_its_own_it_plays_without_the_bar() {
    let plain = r#"exec "$0" "$@""#;
    for command in [
        short(r#""$0" "$@" </dev/null"#, &[]),
        short(r#""$0" "$@" | cat"#, &[]),
        short(r#"set -m; "$0" "$@" & wait $!"#, &[]),
        short(plain, &["--no-tui"]),
        short(plain, &[]).env("CI", "true"),
        short(plain, &[]).env("TERM", "dumb"),
        short(plain, &[]).env("TERM", ""),
    ] {
        let mut session = command.run();
        let (code, frame) = session.wait_end();
        assert_eq!(code, 0, "{frame}");
        assert!(!has(&session.bytes(), ALTERNATE), "{frame}");
        assert!(frame.has("played "), "{frame}");
        for odd in ["--tui", "warning", "error", "panicked"] {
            assert!(!frame.has(odd), "{frame}");
        }
        session.assert_restored();
    }
    let mut session = short(plain, &[]).env("TERM", "dumb").run();
    let (_, frame) = session.wait_end();
    let why = "no transport bar: the terminal cannot move its cursor (TERM)";
    assert!(frame.has(why), "{frame}");
}

#[test]
fn tui_shows_the_bar_in_ci_and_warns_if_there_is_no_terminal() {
    let mut session = short(r#""$0" "$@" </dev/null"#, &["--tui"]).run();
    let (code, frame) = session.wait_end();
    assert_eq!(code, 0, "{frame}");
    assert!(frame.has("--tui: no terminal to draw on"), "{frame}");
    let session = play_demo(&["--tui"]).env("CI", "true").run();
    session.wait_text("PLAYING");
    session.quit();
    // An empty value counts as unset.
    let session = play_demo(&[]).env("CI", "").run();
    session.wait_text("PLAYING");
    session.quit();
}

/// In CI, a line every ten seconds, though there is a terminal; nothing with `-q`.
#[test]
fn in_ci_progress_is_lines_that_nothing_overwrites() {
    let waits = ["--wait-for-subscribers", "/imu", "/odom"];
    let run = |args: &[&str], ci| play_demo(args).env("CI", ci).run();
    let playing = run(&["--loop"], "true");
    let waiting = run(&waits, "1");
    let none = run(&["--loop", "--progress-bar-update-rate", "0"], "true");
    let quiet = run(&["--loop", "-q"], "true");
    let drawn = run(&["--loop", "--no-tui"], "");
    playing.wait_for("a line of progress", |frame| frame.has("playing ×1 00:"));
    let frame = waiting.wait_for("what is waited for", |frame| frame.has("waiting ×1 "));
    assert!(
        frame.has(" s left for subscribers of /odom, /imu  00:00.0 / 00:29.9"),
        "{frame}"
    );
    assert!(
        has(&drawn.bytes(), b"\x1b["),
        "where it is no CI job, it is redrawn"
    );
    for session in [&playing, &waiting, &none, &quiet] {
        assert!(!has(&session.bytes(), b"\x1b["), "{}", session.frame());
    }
    assert!(!none.text().contains("playing"), "{}", none.frame());
    assert_eq!(quiet.text().trim(), "");
}

/// With plain keys a subscriber is one by its route alone.
#[test]
fn the_bar_counts_down_while_it_waits_for_subscribers() {
    let args = [
        "--wire",
        "zenoh",
        "--wait-for-subscribers",
        "/imu",
        "/odom",
        "--wait-timeout",
        "60",
    ];
    let session = play_demo(&args).run();
    let frame = session.wait_text("WAITING FOR SUBSCRIBERS");
    let left = |frame: &Frame| {
        let words = frame.row(" s left").to_owned();
        let before = words.split(" s left").next().unwrap().to_owned();
        let seconds = before.split_whitespace().last().unwrap();
        seconds.parse::<u32>().unwrap()
    };
    assert!(
        frame.has("for /imu, /odom") && frame.has("… /imu"),
        "{frame}"
    );
    let first = left(&frame);
    assert!(first > 40, "{frame}");
    session.wait_for("a later second", |frame| {
        frame.has(" s left") && left(frame) < first
    });
    let peer = session.peer();
    let _imu = network::subscribe(&peer, "imu");
    session.wait_for("one that is missing", |frame| {
        frame.has("s left  for /odom") && !frame.has("… /imu")
    });
    let _odom = network::subscribe(&peer, "odom");
    let frame = session.wait_text("PLAYING");
    assert!(!frame.has(" s left"), "{frame}");
    session.quit();
}

#[test]
fn an_error_in_the_configuration_names_file_and_line() {
    for (text, expected) in [
        (
            &b"[tui]\n\ntime = \"noon\"\n"[..],
            "config.toml:3: unknown variant `noon`",
        ),
        (
            b"[keys]\nquit = \"hyper+q\"\n",
            "config.toml:2: `hyper+q` is not a key; hint: ",
        ),
        (
            b"[keys]\nplay-paus = \"x\"\n",
            "config.toml:2: `play-paus` is not an action; hint: play-pause?",
        ),
        (b"\n[keys\n", "config.toml:2: "),
        (
            b"[keys]\nquit = \"x\"\n# \xff\n",
            "config.toml: stream did not contain valid UTF-8",
        ),
    ] {
        let command = play(&[demo().to_str().unwrap(), "--wire", "null"]).config(text);
        let mut session = command.run();
        let (code, frame) = session.wait_end();
        assert_eq!(code, 2, "{frame}");
        assert!(
            session.text().contains(expected),
            "no `{expected}` in\n{frame}"
        );
        assert!(!has(&session.bytes(), ALTERNATE), "{frame}");
        // Without the bar the file is not read.
        let command = play(&[
            demo().to_str().unwrap(),
            "--wire",
            "null",
            "--no-tui",
            "--end",
            "+0.1s",
        ]);
        assert_eq!(command.config(text).run().wait_end().0, 0);
    }
}

#[test]
fn an_unknown_theme_is_a_warning_with_the_themes_that_exist() {
    let config = "[tui]\ntheme = \"dusk\"\ntime = \"utc\"\n";
    let command = play_demo(&["--start-paused"]).config(config).size(160, 45);
    let session = command.run();
    session.wait_text("PAUSED");
    session.wait_text("UTC");
    let frame = session.quit();
    let expected = "config.toml:2: there is no theme `dusk`, so `auto` is used; hint: auto, dark,";
    assert!(frame.has(expected), "{frame}");
}

#[test]
fn the_configuration_sets_keys_and_time_format() {
    let config =
        "[tui]\ntime = \"seconds\"\n[keys]\nquit = \"x\"\nplay-pause = [\"K\", \"ctrl+p\"]\n";
    let mut session = play_demo(&[]).config(config).size(160, 45).run();
    let frame = session.wait_text("PLAYING");
    assert!(frame.has("K play/pause") && frame.has("x quit"), "{frame}");
    assert!(frame.rows[0].contains("  17600000"), "{frame}");
    session.keys("K");
    session.wait_text("PAUSED");
    // `q` and space have no action now; ctrl-P plays.
    session.keys("q \x10");
    session.wait_text("PLAYING");
    session.keys("?");
    let frame = session.wait_text(" keys ");
    assert!(
        frame.row("stop playing and quit").contains(" x "),
        "{frame}"
    );
    session.keys("x");
    assert_eq!(session.wait_end().0, 0);
}

/// Whether any cell is coloured, bold, reversed.
fn styles_in_use(screen: &vt100::Screen) -> (bool, bool, bool) {
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
        // The state of playback is bold.
        screen.cell(0, 3).is_some_and(vt100::Cell::bold),
        cells.iter().any(|cell| cell.inverse()),
    )
}

#[test]
fn no_color_leaves_bold_and_reversed_text_only() {
    for (args, env, is_coloured) in [
        (&[][..], None, true),
        (&[], Some("1"), false),
        (&[], Some(""), true),
        (&["--color", "never"], None, false),
    ] {
        let mut command = play_demo(&["--start-paused"]);
        if let Some(value) = env {
            command = command.env("NO_COLOR", value);
        }
        let own = args.iter().fold(command, |command, arg| command.arg(arg));
        let mut session = own.run();
        session.wait_text("PAUSED");
        session.wait_for("the lane", |frame| frame.has("█"));
        assert_eq!(
            session.inspect_screen(styles_in_use),
            // A selected row is reversed only if it cannot have a background.
            (is_coloured, true, !is_coloured),
            "{args:?} {env:?}"
        );
        session.keys("5l?");
        session.wait_text(" keys ");
        session.keys("q");
        session.wait_end();
        let bytes = String::from_utf8_lossy(&session.bytes()).into_owned();
        assert_eq!(sets_a_colour(&bytes), is_coloured, "{bytes:?}");
    }
}

#[test]
fn the_theme_follows_the_background_of_the_terminal() {
    let light = "\x1b]11;rgb:ffff/ffff/e7e7\x07";
    // In true colour, with this setting, answer and variable.
    let playhead = |theme: &str, answer, variable: &str| {
        let session = play_demo(&["--start-paused", "--wire", "null"])
            .config(format!("[tui]\ntheme = \"{theme}\""))
            .background(answer)
            .env("COLORFGBG", variable)
            .env("COLORTERM", "truecolor")
            .run();
        let row = session.wait_for("the bar", |frame| frame.shows("├●")).bar();
        session.inspect_screen(|screen| screen.cell(row, 1).map(vt100::Cell::fgcolor))
    };
    let dark = playhead("dark", light, "0;15");
    let bright = playhead("light", DARK_BACKGROUND, "15;0");
    assert_ne!(dark, bright);
    for (answer, variable, expected) in [
        (DARK_BACKGROUND, "", dark),
        (light, "", bright),
        // The terminal knows better than a variable that another one may have set.
        (light, "15;0", bright),
        (NO_BACKGROUND, "0;15", bright),
        (NO_BACKGROUND, "", dark),
    ] {
        assert_eq!(
            playhead("auto", answer, variable),
            expected,
            "{answer:?} {variable}"
        );
    }
    let rgb = |colour| matches!(colour, Some(vt100::Color::Rgb(..)));
    assert!(rgb(dark) && rgb(playhead("amber", light, "")));
}

/// As many colours are used as the terminal says it has.
#[test]
fn the_number_of_colours_follows_the_terminal() {
    for (term, variable, is_of_depth) in [
        (
            "xterm",
            "truecolor",
            (|colour| matches!(colour, vt100::Color::Rgb(..))) as fn(_) -> _,
        ),
        ("xterm-256color", "", |colour| {
            matches!(colour, vt100::Color::Idx(16..))
        }),
        ("xterm", "", |colour| {
            matches!(colour, vt100::Color::Idx(0..16))
        }),
    ] {
        let session = play_demo(&["--start-paused", "--wire", "null"])
            .background(DARK_BACKGROUND)
            .env("TERM", term)
            .env("COLORTERM", variable)
            .run();
        let row = session.wait_for("the bar", |frame| frame.shows("├●")).bar();
        let playhead =
            session.inspect_screen(|screen| screen.cell(row, 1).map(vt100::Cell::fgcolor));
        assert!(playhead.is_some_and(is_of_depth), "{term}: {playhead:?}");
    }
}

/// The terminal answers once a message has arrived, and the bar has the colours of that answer only if it still waits
/// for it. It waits for a second: on a machine that does not get there in that time, another run does.
#[test]
fn playing_begins_before_the_terminal_has_answered() {
    let light = "\x1b]11;rgb:ffff/ffff/e7e7\x07";
    let state_color = |background, answers_late: bool| {
        let endpoint = network::free_endpoint();
        let listens = format!("[{endpoint:?}]");
        let router = network::node("\"router\"", "", &[("listen/endpoints", &listens)]);
        let (_imu, arrived) = network::subscribe(&router, "imu");
        let demo = demo();
        let args = [demo.to_str().unwrap(), "--connect", &endpoint];
        let command = play(&[&args[..], &["--wire", "zenoh", "--loop"]].concat())
            .background(background)
            .env("COLORTERM", "truecolor");
        let session = if answers_late {
            let session = command.silent().run();
            network::take(&arrived);
            session.answer();
            session
        } else {
            command.run()
        };
        session.wait_text("PLAYING");
        session.inspect_screen(|screen| screen.cell(0, 3).map(vt100::Cell::fgcolor))
    };
    let expected = state_color(light, false);
    assert_ne!(expected, state_color(DARK_BACKGROUND, false));
    until("a message before the answer", || {
        state_color(light, true) == expected
    });
}

/// Whether a sequence sets a colour other than the default.
fn sets_a_colour(text: &str) -> bool {
    let sequences = text.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
        rest[end..].starts_with('m').then(|| &rest[..end])
    });
    let mut numbers = sequences.flat_map(|sequence| sequence.split(';'));
    numbers.any(|number| matches!(number.parse(), Ok(30..=38 | 40..=48 | 90..=97 | 100..=107)))
}

#[test]
fn the_locale_c_selects_ascii() {
    for (locale, paused) in [("C", "= PAUSED  x1.00"), ("C.UTF-8", "PAUSED  ×1.00")] {
        let args = ["--start-paused", "--wire", "null"];
        let session = play_bag(&demo(), &args).env("LC_ALL", locale).run();
        session.wait_text(paused);
    }
}

#[test]
fn in_ascii_every_byte_is_ascii() {
    let folder = tempfile::tempdir().unwrap();
    let bag = folder.path().join("drive.mcap");
    std::fs::copy(demo(), &bag).unwrap();
    for is_configured in [false, true] {
        let args = ["--start-paused", "--clock", "--ascii"];
        let mut command = play_bag(&bag, if is_configured { &args[..2] } else { &args });
        if is_configured {
            command = command.config("[tui]\nascii = true\n");
        }
        let mut session = command.size(140, 50).run();
        session.wait_text("= PAUSED  x1.00");
        session.wait_for("the lane", |frame| frame.has("####"));
        session.keys("?");
        session.wait_text(" keys ");
        session.keys(&format!("?{ENTER}"));
        session.wait_text("definition");
        session.keys(ESC);
        session.wait_text("q quit");
        session.keys("3mllll))l5ztjt zr[");
        session.wait_text("REVERSE");
        session.keys("Mü");
        session.wait_text("name of the mark");
        session.keys(&format!("{BACKSPACE}{ENTER}"));
        session.wait_text("q quit");
        session.keys("r5g5");
        session.wait_text("go to: 5");
        session.keys(ESC);
        session.wait_text("q quit");
        session.resize(60, 1);
        session.wait_for("one line", |frame| {
            frame.rows.len() == 1 && frame.has(" / 00:29.997 ")
        });
        session.keys("q");
        session.wait_end();
        let bytes = session.bytes();
        let other = bytes.iter().position(|byte| !byte.is_ascii());
        let near = |at: usize| String::from_utf8_lossy(&bytes[at.saturating_sub(60)..at + 9]);
        assert_eq!(other.map(near), None);
    }
}

/// Checks that log lines are in the log area: after their time of day, between the table and the footer.
#[track_caller]
fn assert_in_the_log_area(frame: &Frame, words: &str) {
    let footer = frame
        .rows
        .iter()
        .rposition(|row| row.contains(" quit"))
        .unwrap();
    for (at, row) in frame
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.contains(words))
    {
        let is_dated = row.as_bytes()[3] == b':' && row.as_bytes()[6] == b':';
        assert!(is_dated && at < footer && at + 6 >= footer, "{frame}");
    }
}

#[test]
fn log_lines_go_to_the_event_log_and_the_file_only() {
    let folder = tempfile::tempdir().unwrap();
    let (cut, spoiled) = damaged(folder.path());
    for (bag, words) in [(&cut, "warning: "), (&spoiled, "warning: ")] {
        let file = folder.path().join("log");
        let args = ["--log-file", file.to_str().unwrap(), "--rate", "30"];
        let mut session = play_bag(bag, &args).size(200, 30).run();
        session.wait_text("router on");
        let frame = session.wait_text(words);
        assert_in_the_log_area(&frame, words);
        assert_in_the_log_area(&frame, "router on");
        let name = bag.file_name().unwrap().to_str().unwrap();
        session.keys("e");
        let frame = session.wait_text("events, newest first");
        assert!(frame.has(name) && frame.has(words), "{frame}");
        session.keys("e");
        session.wait_text("AT THE END");
        let logged = || std::fs::read_to_string(&file).unwrap();
        until("the file", || {
            logged().contains(words) && logged().contains(name)
        });
        assert!(
            logged().contains("router on") && !logged().contains('\x1b'),
            "{}",
            logged()
        );
        session.keys("q");
        let (code, frame) = session.wait_end();
        assert_eq!(code, 0, "{frame}");
        session.assert_restored();
        // The warning is printed again after the bar has closed.
        let all = String::from_utf8_lossy(&session.bytes()).into_owned();
        let (before, rest) = all.split_once("\x1b[?1049h").unwrap();
        let (_, after) = rest.split_once("\x1b[?1049l").unwrap();
        assert!(
            frame.has(words) && frame.has("played "),
            "{frame}\n{before:?}\n{after:?}"
        );
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_redirected_stderr_gets_the_log() {
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
    let mut session =
        TerminalCommand::of(Path::new("/bin/sh"), &[&args[..], &quiet].concat()).run();
    session.wait_text("PAUSED");
    session.keys("q");
    assert_eq!(session.wait_end().0, 0);
    let written = std::fs::read_to_string(&errors).unwrap();
    assert!(
        written.contains("stopped after") && !written.contains('\x1b'),
        "{written}"
    );
}
