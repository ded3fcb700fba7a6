//! Pictures of image topics, in terminals with and without graphics protocols.

use crate::pty::terminal_session::{
    ENTER, ESC, Frame, SERIAL_LINE, TerminalSession, has, play_bag,
};
use crate::support::images;
use crate::support::mcaps::Files;
use crate::support::patience::until;

/// How an image begins in the protocol of kitty.
const KITTY: &str = "\x1b_Gq=2,i=";

/// Goes to the card of the image topic.
fn show_image(session: &mut TerminalSession) {
    open_card(session);
    session.wait_text("64x48 16UC1");
}

fn open_card(session: &mut TerminalSession) {
    session.wait_text("PAUSED");
    session.keys("/depth");
    session.wait_text("(1 of 4: depth)");
    session.keys(&format!("{ENTER}{ENTER}"));
}

#[test]
fn the_picture_of_an_image_topic_is_shown_and_watched() {
    let files = Files::of([images::file()]);
    let bag = &files.paths[0];
    let state = tempfile::tempdir().unwrap();
    let run = || {
        let args = ["--start-paused", "--start", "+5", "--wire", "null"];
        let session = play_bag(bag, &args).size(120, 40);
        session
            .env("XDG_STATE_HOME", state.path().to_str().unwrap())
            .env("COLORTERM", "truecolor")
            .run()
    };
    let blocks = |frame: &Frame| frame.rows.iter().filter(|row| row.contains("▀▀▀▀")).count();
    let mut session = run();
    show_image(&mut session);
    session.wait_for("a picture", |frame| blocks(frame) > 15);
    session.keys(&format!("w{ESC}{ESC}"));
    session.wait_for("the pane", |frame| {
        frame.has("/camera/depth picture") && (3..40).contains(&blocks(frame))
    });
    session.keys("q");
    session.wait_end();
    let mut again = run();
    again.wait_for("the pane", |frame| {
        frame.has("/camera/depth picture") && blocks(frame) > 3
    });
    again.keys("q");
    again.wait_end();
}

/// The first frame tells that the line is slow.
#[test]
fn on_a_slow_line_pictures_are_left_out() {
    let files = Files::of([images::file()]);
    let session = play_bag(
        &files.paths[0],
        &["--start-paused", "--wire", "null", "--loop"],
    );
    let session = session.size(120, 40).env("COLORTERM", "truecolor");
    let mut session = session.line_rate(SERIAL_LINE).run();
    open_card(&mut session);
    session.wait_text("no picture: the line to this terminal is too slow");
    session.keys(" ");
    session.wait_text("PLAYING");
    for answer in ["PAUSED", "PLAYING"].repeat(4) {
        let bytes = session.bytes_in_front_of_answer(" ", answer);
        assert!(
            bytes * 10 < SERIAL_LINE as usize * 3,
            "{answer}: {bytes} bytes"
        );
    }
    session.keys("q");
    session.wait_end();
}

/// The protocol is that which the terminal reports; each picture is sent once.
#[test]
fn a_terminal_that_knows_a_graphics_protocol_gets_pictures_by_it() {
    let files = Files::of([images::file()]);
    let bag = &files.paths[0];
    for (config, answer, begins) in [
        ("", "\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t", KITTY),
        ("", "\x1b[?62;4;22c\x1b[6;20;10t", "\x1bP"),
        (
            "[tui]\npictures = \"iterm2\"",
            "\x1b[6;20;10t",
            "\x1b]1337;File=",
        ),
        (
            "[tui]\npictures = \"blocks\"",
            "\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t",
            "▀",
        ),
    ] {
        let mut session = play_bag(bag, &["--start-paused", "--wire", "null"])
            .size(120, 40)
            .config(config)
            .graphics(answer)
            .env("COLORTERM", "truecolor")
            .run();
        show_image(&mut session);
        until("a picture", || has(&session.bytes(), begins.as_bytes()));
        session.keys("q");
        session.wait_end();
        let bytes = session.bytes();
        let first = KITTY.as_bytes();
        let sent = bytes.windows(first.len()).filter(|part| *part == first);
        assert_eq!(sent.count(), usize::from(begins == KITTY), "{begins:?}");
    }
}

/// The first keys count, and the terminal has its modes when the bar is left.
#[test]
fn a_terminal_that_answers_nothing_is_drawn_on_and_restored() {
    let files = Files::of([images::file()]);
    let bag = &files.paths[0];
    let mut session = play_bag(bag, &["--start-paused", "--wire", "null"])
        .size(120, 40)
        .config("[tui]\ntheme = \"dark\"")
        .silent()
        .run();
    show_image(&mut session);
    session.wait_for("a picture", |frame| frame.has("▀"));
    session.keys("q");
    session.wait_end();
    session.assert_restored();
}

#[test]
fn pictures_can_be_switched_off() {
    let files = Files::of([images::file()]);
    let bag = &files.paths[0];
    let mut session = play_bag(bag, &["--start-paused", "--wire", "null"])
        .size(120, 40)
        .config("[tui]\npictures = \"off\"")
        .run();
    session.wait_text("PAUSED");
    session.keys("/depth");
    session.wait_text("(1 of 4: depth)");
    session.keys(&format!("{ENTER}{ENTER}"));
    session.wait_text("encoding: \"16UC1\"");
    session.wait_for("no picture", |frame| {
        !frame.has("▀") && !frame.has("picture  ")
    });
    session.keys("q");
    session.wait_end();
}
