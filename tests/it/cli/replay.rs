//! Runs with verdicts as processes: which exit code each case has. No program under test is needed for these.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::Child;

use bagplay::bag::Bag;
use bagplay::ci::outputs::file_digest;
use predicates::prelude::*;
use predicates::str::contains;
use rustix::fs::{Mode, OFlags, open};
use serde_json::Value;

use crate::cli::{demo, json, play, play_process, signal};
use crate::support::mcaps::make_pipe;
use crate::support::patience::until;
use crate::support::ros1::{ChannelSpec, ros1_file};

/// `play` at full speed with a recording of the outputs, in a folder, on a network of its own.
fn run(folder: &Path, bag: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    let mut play = play();
    play.env_remove("GITHUB_STEP_SUMMARY")
        .current_dir(folder)
        .arg(bag)
        .args(["--isolated", "--rate", "max", "--record", "out.mcap"])
        .args(["--run-dir", "run", "--format", "json"])
        .args(more);
    play.assert()
}

/// The first half of a recording.
fn cut(folder: &Path) -> std::path::PathBuf {
    let cut = folder.join("cut.mcap");
    let bytes = std::fs::read(demo()).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    cut
}

#[test]
fn damage_of_what_is_played_is_said_and_with_strict_has_the_exit_code_of_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let bag = cut(dir.path());
    let lenient = run(dir.path(), &bag, &[]).code(0);
    let report = json(&lenient.get_output().stdout);
    let said = "1 damaged place in the recording";
    assert_eq!(report["notes"][0], said, "{report}");
    let strict = run(dir.path(), &bag, &["--strict"]).code(3);
    let report = json(&strict.get_output().stdout);
    assert_eq!(report["exit_code"], 3);
    let check = &report["checks"][0];
    assert_eq!(check["kind"], "recording");
    assert_eq!(check["reason"], format!("{said} (--strict)"));
    let whole = run(dir.path(), &demo(), &["--strict"]).code(0);
    assert!(!json(&whole.get_output().stdout).to_string().contains(said));
}

#[test]
fn inputs_that_cannot_be_sent_are_named_and_with_strict_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("old.mcap");
    let channels = [
        ChannelSpec::ros1("/n", "p/Number", "int32 n\n"),
        ChannelSpec::ros1("/odd", "p/Odd", "q/Missing x\n"),
    ];
    let messages: [(usize, u64, &[u8]); 3] = [(0, 10, &[1, 0, 0, 0]), (0, 20, &[1]), (1, 30, &[1])];
    fs::write(&bag, ros1_file(&channels, &messages)).unwrap();
    let report = |flags: &[&str], code| {
        let run = run(dir.path(), &bag, flags).code(code);
        json(&run.get_output().stdout)
    };
    let lenient = report(&["--record-inputs"], 0);
    let unsent = &lenient["unsent"];
    assert_eq!(
        (&unsent[0]["topic"], &unsent[0]["messages"]),
        (&"/odd".into(), &1.into())
    );
    assert_eq!(
        (&unsent[1]["topic"], &unsent[1]["messages"]),
        (&"/n".into(), &1.into())
    );
    let why = "the payload is not a valid p/Number: at byte 0 of it, needed 4, left 1";
    assert_eq!(unsent[1]["why"], why);
    let said = format!("1 message of /n could not be sent: {why}");
    let notes = lenient["notes"].as_array().unwrap();
    assert!(notes.contains(&said.clone().into()), "{notes:?}");
    let input = &lenient["inputs"][0];
    assert_eq!(
        (&input["messages"], &input["type_name"]),
        (&1.into(), &"p/msg/Number".into())
    );
    let recorded = Bag::open(&[dir.path().join("out.mcap")]).unwrap();
    assert_eq!(
        (recorded.topics().len(), recorded.message_count()),
        (1, Some(1))
    );
    let strict = report(&["--strict"], 3);
    let check = &strict["checks"][0];
    assert_eq!(
        (&check["kind"], &check["verdict"]),
        (&"recording".into(), &"error".into())
    );
    let reason = check["reason"].as_str().unwrap();
    assert!(reason.contains("1 message of /odd could not be sent: ") && reason.contains(&said));
}

#[test]
fn played_messages_are_in_the_recording_if_that_is_asked_for_and_change_no_digest() {
    let dir = tempfile::tempdir().unwrap();
    let report = |more: &[&str]| {
        let run = run(dir.path(), &demo(), more).code(0);
        json(&run.get_output().stdout)
    };
    let file = dir.path().join("out.mcap");
    let without = report(&[]);
    assert_eq!(Bag::open(&[&file]).unwrap().message_count(), Some(0));
    let with = report(&["--record-inputs"]);
    assert_eq!(with["digest"], without["digest"]);
    assert_eq!(with["files"]["inputs and outputs"], "with-inputs.mcap");
    let outputs = dir.path().join("run/outputs.mcap");
    assert_eq!(Bag::open(&[outputs]).unwrap().message_count(), Some(0));
    let (recorded, played) = (Bag::open(&[&file]).unwrap(), Bag::open(&[demo()]).unwrap());
    for input in with["inputs"].as_array().unwrap() {
        let of_input = |bag: &Bag| {
            let mut topics = bag.topics().iter();
            let topic = topics.find(|it| input["topic"] == it.name.as_str());
            let topic = topic.unwrap_or_else(|| panic!("no {input}")).clone();
            (topic.schema, topic.offered_qos, topic.message_count)
        };
        assert_eq!(of_input(&recorded), of_input(&played), "{input}");
        let (schema, ..) = of_input(&played);
        assert_eq!(input["type_name"], schema.unwrap().name.as_str());
    }
    assert_eq!(
        recorded.topics().len(),
        with["inputs"].as_array().unwrap().len()
    );
}

#[test]
fn a_report_says_what_took_effect_what_was_read_and_how_late_messages_were() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["demo.mcap", "golden.mcap"] {
        fs::copy(demo(), dir.path().join(name)).unwrap();
    }
    fs::write(
        dir.path().join("expect.toml"),
        "[[expect]]\ntopic = '/none'\ncount = 0\n",
    )
    .unwrap();
    let scenario = "bags = 'demo.mcap'\nrate = 20\nplayback-duration = 2\nexpect = 'expect.toml'\nisolated = true\n\
                    golden = 'golden.mcap'\n";
    fs::write(dir.path().join("run.toml"), scenario).unwrap();
    let report = |words: &[&str]| {
        let mut play = play();
        play.env_remove("GITHUB_STEP_SUMMARY")
            .current_dir(dir.path())
            .args(words);
        json(&play.assert().get_output().stdout)
    };
    let of_file = report(&[
        "--scenario",
        "run.toml",
        "--run-dir",
        "run",
        "--format",
        "json",
    ]);
    let words: Vec<&str> = of_file["effective_command_line"].as_array().unwrap()[1..]
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    assert!(
        !words.iter().any(|word| word.starts_with("--scenario")),
        "{words:?}"
    );
    let read = |report: &Value| {
        let files = report["read_files"].as_array().unwrap().clone();
        let file = |file: &Value| {
            let digest = file["xxh3_128"].as_str().unwrap().to_owned();
            (file["what"].as_str().unwrap().to_owned(), digest)
        };
        files.iter().map(file).collect::<Vec<_>>()
    };
    let digest = |name: &str| {
        let file = dir.path().join(name);
        file_digest(&file, || true).unwrap().unwrap()
    };
    let expected = |what: &str, name: &str| (what.to_owned(), digest(name));
    let [scenario, expect, golden] = [
        expected("scenario", "run.toml"),
        expected("expect", "expect.toml"),
        expected("golden", "golden.mcap"),
    ];
    assert_eq!(read(&of_file), [scenario, expect.clone(), golden.clone()]);
    let lateness = &of_file["lateness"];
    assert!(lateness["count"].as_u64() > Some(0), "{lateness}");
    assert!(lateness["max"].as_f64() >= lateness["p50"].as_f64());
    let versions = of_file["versions"].as_object().unwrap();
    assert_eq!(versions["bagplay"], env!("CARGO_PKG_VERSION"));
    assert!(versions["zenoh"].as_str().unwrap().starts_with("1."));
    // The words are those of a run that does the same.
    let again = report(&words);
    assert_eq!(again["inputs"], of_file["inputs"]);
    assert_eq!(again["checks"], of_file["checks"]);
    assert_eq!(read(&again), [expect, golden]);
    let unpaced = report(&[
        "demo.mcap",
        "--isolated",
        "--rate",
        "max",
        "--run-dir",
        "max",
        "--format",
        "json",
    ]);
    assert!(unpaced["lateness"].is_null(), "nothing was due at a time");
}

#[test]
fn a_run_that_cannot_begin_leaves_no_folder_or_has_its_reports() {
    let dir = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let mut play = play();
        play.env_remove("GITHUB_STEP_SUMMARY")
            .current_dir(dir.path());
        play.arg(demo()).args(more).assert()
    };
    let folder = dir.path().join("bagplay-run-demo");
    // The command line is wrong.
    let nothing = ["--isolated", "--", "no-such-program"];
    run(&nothing)
        .code(2)
        .stderr(contains("no-such-program").and(contains("is not found")));
    assert!(!folder.exists());
    let unwritable = ["--isolated", "--junit", "/dev/null/x.xml", "--", "true"];
    run(&unwritable).code(2);
    assert!(!folder.exists());
    // The machine is in the way.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("tcp/{}", taken.local_addr().unwrap());
    run(&["--listen", &listen, "--report", "report.json", "--", "true"])
        .code(1)
        .stderr(contains("in use").and(contains(".rs:").not()));
    let report = json(&fs::read(dir.path().join("report.json")).unwrap());
    assert_eq!(
        (&report["exit_code"], &report["ended"]),
        (&1.into(), &"failed".into())
    );
    let reason = report["checks"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("Address already in use"), "{report}");
    assert!(folder.exists());
}

#[test]
fn the_reports_name_a_recording_that_could_not_be_copied() {
    let dir = tempfile::tempdir().unwrap();
    let mut play = play();
    play.env_remove("GITHUB_STEP_SUMMARY")
        .current_dir(dir.path())
        .arg(demo())
        .args([
            "--isolated",
            "--rate",
            "max",
            "--record",
            "/dev/full",
            "--report",
            "report.json",
        ])
        .assert()
        .code(1)
        .stderr(contains("/dev/full cannot be written"));
    let report = json(&fs::read(dir.path().join("report.json")).unwrap());
    assert_eq!(report["exit_code"], 1);
    let checks = report["checks"].as_array().unwrap();
    let named = checks.iter().any(|check| {
        let reason = check["reason"].as_str().unwrap();
        check["verdict"] == "error" && reason.contains("/dev/full")
    });
    assert!(named, "{report}");
}

#[test]
fn what_has_no_end_is_refused_in_a_run_with_verdicts() {
    for flags in [
        "--follow",
        "--loop",
        "--loop-range +1s..+2s",
        "--start-paused",
        "--order topic",
    ] {
        for verdict in [
            "--gate a->b",
            "--record x.mcap",
            "--lockstep --pid 1",
            "--repeat 2",
        ] {
            let flag = flags.split(' ').next().unwrap();
            play()
                .arg(demo())
                .args(flags.split(' '))
                .args(verdict.split(' '))
                .assert()
                .code(2)
                .stderr(contains(flag).and(contains("in a run with verdicts")));
        }
    }
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    make_pipe(&dir.path().join("pipe"));
    for (flag, file, why) in [
        ("--junit", "file/junit.xml", "File exists"),
        ("--html", "folder", "is a directory"),
        ("--report", "/proc/none/report.json", "No such file"),
        ("--report", "/proc/report.json", "written: No such file"),
        ("--markdown", "pipe", "nobody reads this pipe"),
    ] {
        run(dir.path(), &demo(), &[flag, file])
            .code(2)
            .stderr(contains(flag).and(contains(file)).and(contains(why)))
            .stderr(contains(".report-").not());
    }
    let outputs = dir.path().join("run/outputs.mcap");
    assert!(!outputs.exists(), "something was played");
}

#[test]
fn what_cannot_be_read_is_in_the_reports_too() {
    let dir = tempfile::tempdir().unwrap();
    let junk = dir.path().join("junk.mcap");
    fs::write(&junk, "no recording").unwrap();
    let bag = demo();
    for (bag, more, code) in [(&junk, &[][..], 3), (&bag, &["--golden", "junk.mcap"], 1)] {
        let reports = ["--report", "report.json", "--junit", "junit.xml"];
        fs::write(dir.path().join("out.mcap"), "earlier").unwrap();
        let run = run(dir.path(), bag, &[&reports[..], more].concat());
        run.code(code).stderr(contains("junk.mcap"));
        assert!(!dir.path().join("out.mcap").exists(), "of an earlier run");
        let report = json(&fs::read(dir.path().join("report.json")).unwrap());
        assert_eq!(report["exit_code"], code);
        assert_eq!(report["checks"][0]["name"], "the run begins");
        let junit = fs::read_to_string(dir.path().join("junit.xml")).unwrap();
        assert!(
            junit.contains("errors=\"1\"") && junit.contains("junk.mcap"),
            "{junit}"
        );
        for file in ["report.json", "junit.xml"] {
            fs::remove_file(dir.path().join(file)).unwrap();
        }
    }
    let folder = dir.path().join("bag");
    fs::create_dir(&folder).unwrap();
    fs::copy(&junk, folder.join("junk.mcap")).unwrap();
    for (bag, file) in [(&junk, "junk.mcap"), (&folder, "bag/junk.mcap")] {
        let refused = "would overwrite the recording";
        let run = run(dir.path(), bag, &["--report", file]);
        run.code(3).stderr(contains(refused));
        let kept = fs::read_to_string(dir.path().join(file)).unwrap();
        assert_eq!(kept, "no recording");
    }
}

#[test]
fn a_report_goes_through_a_pipe_to_its_reader() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    make_pipe(&pipe);
    // It stands open for writing too, so that the reader waits for nobody.
    let both_ends = std::fs::File::options().read(true).write(true).open(&pipe);
    let both_ends = both_ends.unwrap();
    let mut reader = std::fs::File::open(&pipe).unwrap();
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    run(dir.path(), &demo(), &["--report", "pipe"]).code(0);
    drop(both_ends);
    assert_eq!(json(read.join().unwrap().as_bytes())["exit_code"], 0);
}

/// A run whose report is longer than its pipe holds, and the reader of the pipe: a read of it does not wait.
fn run_into_pipe(folder: &Path, more: &[&str]) -> (Child, fs::File) {
    let pipe = folder.join("pipe");
    make_pipe(&pipe);
    // Not inherited: otherwise the program itself would keep the pipe open for reading.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let reader = open(&pipe, flags, Mode::empty()).unwrap();
    let mut run = play_process();
    run.current_dir(folder)
        .env_remove("GITHUB_STEP_SUMMARY")
        .arg(demo())
        .args(["--isolated", "--rate", "max", "--run-dir", "run"])
        .args(["--report", "pipe", "--log-file", "log"])
        .args(more);
    (run.spawn().unwrap(), reader.into())
}

/// The log says that the reader of the pipe is waited for.
fn wait_for_silence(folder: &Path) {
    let log = folder.join("log");
    until("the line on the reader", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("pipe, which does not read"))
    });
}

#[test]
fn a_signal_ends_a_run_whose_report_nobody_takes() {
    let dir = tempfile::tempdir().unwrap();
    let (child, _reader) = run_into_pipe(dir.path(), &[]);
    wait_for_silence(dir.path());
    signal("-TERM", &child);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(143));
    let said = String::from_utf8(ended.stderr).unwrap();
    let why = "pipe cannot be written: its reader does not read";
    assert!(said.contains(why) && said.contains("passed: "), "{said}");
}

#[test]
fn the_time_limit_ends_a_run_whose_report_nobody_takes() {
    let ended_after = |limit: &str| {
        let dir = tempfile::tempdir().unwrap();
        let (child, _reader) = run_into_pipe(dir.path(), &["--timeout", limit]);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(1));
        String::from_utf8(ended.stderr).unwrap()
    };
    // A limit that is over before the report is written ends the run, too.
    let mut all = ["3", "10", "60"].into_iter().map(ended_after);
    assert!(all.any(|said| said.contains("its reader does not read")));
}

#[test]
fn the_files_of_repetitions_are_where_the_report_says() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--repeat", "2", "--record-inputs"];
    let run = run(dir.path(), &demo(), &more).code(0);
    let report = json(&run.get_output().stdout);
    let folder = Path::new(report["folder"].as_str().unwrap());
    assert_eq!(folder, dir.path().join("run").canonicalize().unwrap());
    let files = report["files"].as_object().unwrap();
    assert_eq!(files["outputs"], "run-1/outputs.mcap");
    assert_eq!(files["inputs and outputs"], "run-1/with-inputs.mcap");
    for name in files.values() {
        let file = folder.join(name.as_str().unwrap());
        assert!(file.is_file(), "{name}");
    }
}

#[test]
fn a_reader_that_closes_its_pipe_is_said_to_have_lost_the_report() {
    let dir = tempfile::tempdir().unwrap();
    let (child, reader) = run_into_pipe(dir.path(), &[]);
    wait_for_silence(dir.path());
    drop(reader);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8(ended.stderr).unwrap();
    let why = "pipe cannot be written: its reader has closed it";
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_slow_reader_gets_all_of_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let (child, mut reader) = run_into_pipe(dir.path(), &["--format", "json"]);
    wait_for_silence(dir.path());
    let running = std::thread::spawn(move || child.wait_with_output().unwrap());
    let mut text = Vec::new();
    until("the end of the report", || {
        let mut more = [0; 512];
        match reader.read(&mut more) {
            Ok(0) => return true,
            Ok(length) => text.extend(&more[..length]),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
        false
    });
    let ended = running.join().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let (read, printed) = (json(&text), json(&ended.stdout));
    assert_eq!(read["timeline"], printed["timeline"]);
}

#[test]
fn a_report_goes_where_its_link_leads_also_after_a_run_that_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (link, file) = (dir.path().join("latest.json"), dir.path().join("r.json"));
    fs::write(&file, "earlier").unwrap();
    std::os::unix::fs::symlink("r.json", &link).unwrap();
    let mut killed = play_process();
    killed
        .current_dir(dir.path())
        .env_remove("GITHUB_STEP_SUMMARY")
        .arg(demo())
        .args(["--isolated", "--rate", "0.01", "--run-dir", "killed"])
        .args(["--report", "latest.json"]);
    let mut killed = killed.spawn().unwrap();
    until("the run", || {
        fs::read(&file).is_ok_and(|text| text.is_empty())
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    run(dir.path(), &demo(), &["--report", "latest.json"]).code(0);
    assert!(link.is_symlink());
    assert_eq!(json(&fs::read(&file).unwrap())["exit_code"], 0);
}

#[test]
fn a_report_on_standard_output_comes_after_what_its_file_has() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("all.txt");
    fs::write(&path, "before\n").unwrap();
    let file = fs::File::options().append(true).open(&path).unwrap();
    let mut run = play_process();
    run.current_dir(dir.path())
        .env_remove("GITHUB_STEP_SUMMARY")
        .arg(demo())
        .args(["--isolated", "--rate", "max", "--run-dir", "run"])
        .args(["--report", "/dev/stdout"])
        .stdout(file);
    assert_eq!(run.status().unwrap().code(), Some(0));
    let text = fs::read_to_string(&path).unwrap();
    let report = text.strip_prefix("before\n").unwrap();
    assert_eq!(json(report.as_bytes())["exit_code"], 0);
}

#[test]
fn a_second_signal_leaves_no_reports_of_an_earlier_run() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["report.json", "junit.xml", "out.mcap"] {
        fs::write(dir.path().join(file), "earlier").unwrap();
    }
    let reports = ["--report", "report.json", "--junit", "junit.xml"];
    run(
        dir.path(),
        &demo(),
        &[&reports[..], &["--golden", "none"]].concat(),
    )
    .code(2);
    let no_program = ["--", "./none"];
    run(dir.path(), &demo(), &[&reports[..], &no_program].concat()).code(2);
    let kept = fs::read_to_string(dir.path().join("junit.xml")).unwrap();
    assert_eq!(kept, "earlier", "nothing was begun");
    let ready = dir.path().join("ready");
    let mut run = play_process();
    run.current_dir(dir.path())
        .env_remove("GITHUB_STEP_SUMMARY")
        .arg(demo())
        .args(["--isolated", "--rate", "0.01", "--run-dir", "second"])
        .args(["--record", "out.mcap", "--grace", "60"])
        .args(reports)
        .args([
            "--",
            "sh",
            "-c",
            "trap '' TERM; >\"$0\"; while :; do sleep 1; done",
        ])
        .arg(&ready);
    let child = run.spawn().unwrap();
    // They are removed when the run begins.
    let results = ["report.json", "junit.xml", "out.mcap"];
    let has_results = || results.iter().any(|file| dir.path().join(file).exists());
    until("the run", || {
        dir.path().join("second/outputs.mcap").exists() && ready.exists() && !has_results()
    });
    signal("-INT", &child);
    until("the end that the program ignores", || {
        signal("-INT", &child);
        !Path::new(&format!("/proc/{}/exe", child.id())).exists()
    });
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("ended at once by a second signal"), "{said}");
    assert!(!has_results());
}

#[test]
fn folders_of_reports_are_made_and_reports_replace_earlier_ones_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a/b/report.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "earlier").unwrap();
    run(
        dir.path(),
        &demo(),
        &["--report", "a/b/report.json", "--junit", "c/junit.xml"],
    )
    .code(0);
    assert_eq!(json(&std::fs::read(&file).unwrap())["exit_code"], 0);
    let names = |folder: &str| {
        let entries = std::fs::read_dir(dir.path().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names("a/b"), ["report.json"], "no temporary file is left");
    assert_eq!(names("c"), ["junit.xml"]);
}

#[test]
fn a_signal_ends_a_run_whose_recording_is_digested() {
    let dir = tempfile::tempdir().unwrap();
    let bag = dir.path().join("bag");
    std::fs::create_dir(&bag).unwrap();
    std::fs::copy(demo(), bag.join("demo.mcap")).unwrap();
    // It takes no place on the disk, and minutes to read.
    let large = std::fs::File::create(bag.join("large.bin")).unwrap();
    large.set_len(1 << 40).unwrap();
    let mut run = play_process();
    run.current_dir(dir.path())
        .env_remove("GITHUB_STEP_SUMMARY")
        .args(["bag", "--isolated", "--rate", "max", "--run-dir", "run"])
        .args(["--format", "json"]);
    let child = run.spawn().unwrap();
    let outputs = dir.path().join("run/outputs.mcap");
    // Recorded to the end: the run is over.
    until("the end of the run", || {
        std::fs::read(&outputs).is_ok_and(|bytes| bytes.len() > 100)
    });
    signal("-INT", &child);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let report = json(&ended.stdout);
    assert_eq!(report["ended"], "interrupted");
    assert_eq!(report["recordings"].as_array().unwrap().len(), 2);
    assert!(report["recordings"][1]["xxh3_128"].is_null(), "{report}");
}

#[test]
fn a_golden_recording_that_cannot_be_read_is_an_error_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("g.mcap"), "version https://git-lfs").unwrap();
    let refused = run(dir.path(), &demo(), &["--golden", "g.mcap"]).code(1);
    refused.stderr(contains("--golden: ").and(contains("g.mcap")));
    assert!(!dir.path().join("out.mcap").exists());
}

#[test]
fn a_golden_recording_that_is_no_file_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("g.mcap");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let refused = run(
        dir.path(),
        &demo(),
        &["--golden", "g.mcap", "--update-golden"],
    )
    .code(2);
    refused.stderr(contains("--golden: g.mcap is no file"));
    assert!(!fs::symlink_metadata(&socket).unwrap().is_file());
}

#[test]
fn what_is_not_recorded_cannot_be_expected() {
    let dir = tempfile::tempdir().unwrap();
    for (topic, flags) in [
        ("/timer", &["--record-topics", "/answer"][..]),
        ("/rosout", &[]),
        ("/clock", &[]),
    ] {
        let text = format!("[[expect]]\ntopic = '{topic}'\nabsent = true\n");
        fs::write(dir.path().join("e.toml"), text).unwrap();
        let more = [&["--expect", "e.toml"], flags].concat();
        let refused = run(dir.path(), &demo(), &more).code(2);
        refused.stderr(contains(format!("e.toml: {topic} is not recorded")));
    }
    assert!(!dir.path().join("run").exists());
}

#[test]
fn a_run_in_which_nothing_is_played_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    let none = ["--topics", "/imu", "--exclude-topics", "/imu"];
    let refused = run(dir.path(), &demo(), &none).code(2);
    refused.stderr(contains("nothing to play: no topic is selected"));
    // Between two messages.
    let range = ["--topics", "/diagnostics", "--start", "+1", "--end", "+1.1"];
    let report = run(dir.path(), &demo(), &range).code(2);
    let report = json(&report.get_output().stdout);
    assert_eq!(report["exit_code"], 2);
    assert_eq!(report["checks"][0]["reason"], "no message was played");
    let rules = ["--golden-rules", "rules.toml"];
    let refused = run(dir.path(), &demo(), &rules).code(2);
    refused.stderr(contains("--golden-rules needs --golden"));
}

#[test]
fn messages_in_flight_need_a_gate() {
    let dir = tempfile::tempdir().unwrap();
    let refused = run(dir.path(), &demo(), &["--in-flight", "4"]).code(2);
    refused.stderr(contains("--gate"));
}
