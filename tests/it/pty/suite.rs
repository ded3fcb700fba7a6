//! The table of a suite on a terminal. What the suite runs is a script that waits for a file.

use std::fs;
use std::path::Path;

use crate::pty::terminal_session::{TerminalCommand, demo};
use crate::support::scripts::write_program;

const WAITS: &str = r#"#!/bin/sh
for word; do
    case $word in --report=*) report=${word#--report=} ;; esac
done
while [ ! -e go ]; do sleep 0.05; done
printf '{"schema":1,"name":"run","ended":"complete","exit_code":0,"checks":[{"name":"a","kind":"run","verdict":"passed","reason":""}]}' >"$report"
"#;

#[test]
fn each_run_has_a_line_while_it_runs() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str| place.path().join(name);
    write_program(&file("waits"), WAITS, 0o755);
    fs::create_dir(file("suite")).unwrap();
    fs::copy(demo(), file("suite/demo.mcap")).unwrap();
    for name in ["first-case", "second-case"] {
        let text = "bags = 'demo.mcap'\ncommand = ['node']";
        fs::write(file(&format!("suite/{name}.toml")), text).unwrap();
    }
    let script = r#"cd "$1" && exec "$0" suite suite --runner ./waits -j 2"#;
    let program = assert_cmd::cargo::cargo_bin("play");
    let words = [
        "-c",
        script,
        program.to_str().unwrap(),
        place.path().to_str().unwrap(),
    ];
    let mut session = TerminalCommand::of(Path::new("/bin/sh"), &words).run();
    session.wait_for("a line for each run, and one for all", |frame| {
        ["first-case", "second-case", "0 of 2 cases"]
            .iter()
            .all(|words| frame.has(words))
    });
    fs::write(file("go"), "").unwrap();
    let (code, frame) = session.wait_end();
    assert_eq!(code, 0, "{frame}");
    assert!(frame.has("[2/2] passed"), "{frame}");
    assert!(!frame.has("of 2 cases"), "{frame}");
    session.assert_restored();
}
